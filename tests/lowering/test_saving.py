"""Lowered files and the selectors that count them in: all is written, or nothing."""

import pytest

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.lowering import TARGETS, lower
from linkstep.lowering.saving import check_selectable, save_lowered
from linkstep.selector import Selector


def lowered(to, collective="allgather", **window):
    return lower(linkstep.schedule("K_3", collective).schedule, to, **window)


def test_a_file_alone(tmp_path):
    made = lowered("msccl")
    save_lowered(made, tmp_path / "a.xml")
    assert (tmp_path / "a.xml").read_text() == made.text
    assert [path.name for path in tmp_path.iterdir()] == ["a.xml"]


@pytest.mark.parametrize("to", ["msccl", "mscclpp"])
def test_a_selector_gains_a_rule(tmp_path, to):
    """The runtime that knows only what a program registers gets a module besides."""
    target, selector = TARGETS[to], tmp_path / "selector.json"
    for name, window in (("small", {"max_bytes": 1024}), ("large", {"min_bytes": 1025, "max_bytes": 4096})):
        path = tmp_path / f"{name}{target.suffix}"
        check_selectable(target, path, selector)
        save_lowered(lowered(to, **window), path, selector)
    rules = Selector.load(selector).rules
    assert [(rule.source, rule.dialect) for rule in rules] == [(f"{n}{target.suffix}", to) for n in ("small", "large")]
    modules = list(tmp_path.glob("*.py"))
    assert len(modules) == target.registers
    assert all(f"{n}{target.suffix}" in module.read_text() for n in ("small", "large") for module in modules)


def test_sizes_that_another_file_serves(tmp_path):
    selector = tmp_path / "selector.json"
    save_lowered(lowered("msccl", max_bytes=1024), tmp_path / "a.xml", selector)
    before = selector.read_bytes()
    with pytest.raises(LinkstepError, match="1024"):
        save_lowered(lowered("msccl", min_bytes=1024), tmp_path / "b.xml", selector)
    assert not (tmp_path / "b.xml").exists() and selector.read_bytes() == before
