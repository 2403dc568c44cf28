"""Selectors: files that say what serves which size; windows apart, errors of one line, changes one after the other."""

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep.cli import main
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError, LinkstepError
from linkstep.selector import Rule, Selector, source_beside, update_selector

SMALL = Rule("allreduce", None, 65536, "K_{4,4}", "bfb")
LARGE = Rule("allreduce", 10**6, None, "files/ring.xml", dialect="cpu")
GATHER = Rule("allgather", 1, 10, "K_5")


def test_rules_are_found_by_size():
    selector = Selector((LARGE, SMALL, GATHER))
    assert selector.rules == (GATHER, SMALL, LARGE)
    assert selector.rule_for("allreduce", 0) == selector.rule_for(Collective.ALLREDUCE, 65536) == SMALL
    assert selector.rule_for("allreduce", 10**6) == selector.rule_for("allreduce", 10**15) == LARGE
    for collective, size, there in (
        ("allreduce", 65537, "there are 0 to 65536 bytes, 1000000 bytes and more"),
        ("allgather", 11, "there are 1 to 10 bytes"),
        ("reduce", 1, "there is none for any size"),
    ):
        with pytest.raises(LinkstepError) as caught:
            selector.rule_for(collective, size)
        assert str(caught.value) == f"no rule of the selector serves {collective} of {size} bytes: {there}"


def test_files_read_back(tmp_path):
    path = tmp_path / "sel.json"
    Selector((SMALL, LARGE, GATHER)).save(path)
    again = Selector.load(path)
    assert again == Selector((SMALL, LARGE, GATHER))
    assert again.path_of(LARGE) == tmp_path / "files" / "ring.xml"
    assert again.path_of(SMALL) is None
    assert json.loads(path.read_text())["rules"][1] == {
        "collective": "allreduce", "min_bytes": None, "max_bytes": 65536, "source": "K_{4,4}", "method": "bfb",
        "dialect": None,
    }  # fmt: skip


def test_numbers_of_a_search_read_back(tmp_path):
    """They are left out where there are none."""
    path = tmp_path / "sel.json"
    searched = Rule("allreduce", None, 9, "Pi_{2,9}", "arrival", steps=(4, 5), rounds=0, chunks=6, seed=3)
    for rules in ((SMALL,), (searched, LARGE)):
        Selector(rules).save(path)
        assert Selector.load(path) == Selector(rules)
        assert json.loads(path.read_text())["version"] == 3
    assert json.loads(path.read_text())["rules"][0] == {
        "collective": "allreduce", "min_bytes": None, "max_bytes": 9, "source": "Pi_{2,9}", "method": "arrival",
        "dialect": None, "steps": [4, 5], "rounds": 0, "chunks_per_shard": 6, "seed": 3,
    }  # fmt: skip


def test_a_file_by_hand_needs_little(tmp_path):
    (tmp_path / "s.json").write_text(
        '{"format": "linkstep-selector", "version": 1, "rules": [{"collective": "allreduce", "source": "K_5"}]}'
    )
    assert Selector.load(tmp_path / "s.json").rules == (Rule("allreduce", None, None, "K_5"),)


@pytest.mark.parametrize(
    ("form", "version", "names"),
    [
        ("linkstep/selector", 3, ("min_bytes", "max_bytes", "chunks_per_shard")),
        ("linkstep-selector", 2, ("smallest", "largest", "chunks")),
    ],
)
def test_members_of_both_forms(tmp_path, form, version, names):
    rule = {"collective": "allreduce", "source": "K_5", **dict(zip(names, (1, 9, 2), strict=True))}
    (tmp_path / "s.json").write_text(json.dumps({"format": form, "version": version, "rules": [rule]}))
    assert Selector.load(tmp_path / "s.json").rules == (Rule("allreduce", 1, 9, "K_5", chunks=2),)


@given(st.lists(st.tuples(st.integers(0, 30), st.none() | st.integers(0, 30)), max_size=4))
def test_windows_lie_apart(windows):
    rules = tuple(Rule("reduce", a, b, "K_5") for a, b in windows if b is None or a <= b)
    counts = [sum(rule.serves(size) for rule in rules) for size in range(40)]
    if max(counts) > 1:
        with pytest.raises(LinkstepError, match="two rules serve reduce of"):
            Selector(rules)
        return
    selector = Selector(rules)
    for size, count in enumerate(counts):
        if count:
            assert selector.rule_for("reduce", size).serves(size)


def rule(**members):
    return json.dumps(
        {"format": "linkstep-selector", "version": 1, "rules": [{"collective": "reduce", "source": "K_5"} | members]}
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": "linkstep-selector", "version": 1}', "rules must be a list, not None"),
        ('{"format": "linkstep-selector", "version": 1, "rules": [1]}', "rule 1 must be an object, not 1"),
        ('{"format": "linkstep-selector", "version": 1, "rules": [{}]}', "rule 1 has no 'collective'"),
        (rule(collective="gossip"), "rule 1: collective must be one of "),
        (rule(smallest=1.5), "rule 1: a window of sizes must be whole bytes from 0, not 1.5"),
        (rule(largest=-1), "rule 1: a window of sizes must be whole bytes from 0, not -1"),
        (rule(smallest=2, largest=1), "rule 1: a window must go from the smaller size to the larger, not 2 to 1 bytes"),
        (rule(source=""), "rule 1: the source of a rule must be one line of text, not ''"),
        (rule(method=1), "rule 1: the method of a rule must be one line of text, not 1"),
        (rule(steps=0), "rule 1: the steps of a rule must be a whole number from 1, or two of them, not 0"),
        (rule(steps=[1, 2, 3]), "rule 1: the steps of a rule must be a whole number from 1, or two of them, not "),
        (rule(rounds=-1), "rule 1: the rounds of a rule must be a whole number from 0, not -1"),
        (rule(chunks=True), "rule 1: the chunks of a rule must be a whole number from 1, not True"),
        (rule(seed=None), "rule 1: the seed of a rule must be a whole number from 0, not None"),
        ('{"format": "linkstep-selector", "version": 3}', "written by a newer linkstep (version 3)"),
        (rule(dialect=["x"]), "rule 1: the dialect of a rule must be one line of text, not ['x']"),
        ('{"format": "linkstep-fabric", "version": 1}', " is a fabric, not a selector file: "),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        Selector.load(path)
    assert str(caught.value).startswith((f"{path}: {message}", f"{path}{message}"))


def test_overlaps_name_both():
    with pytest.raises(LinkstepError) as caught:
        Selector((SMALL, Rule("allreduce", 65536, 70000, "K_5")))
    assert str(caught.value) == (
        "two rules serve allreduce of 65536 bytes: K_{4,4} (0 to 65536 bytes) and K_5 (65536 to 70000 bytes); "
        "give them windows apart"
    )


def test_a_rule_replaces_one_of_its_source():
    selector = Selector((SMALL, GATHER)).with_rule(Rule("allreduce", 5, 6, "K_{4,4}"))
    assert selector.rules == (GATHER, Rule("allreduce", 5, 6, "K_{4,4}"))


def test_changes_come_one_after_the_other(tmp_path):
    path = tmp_path / "s.json"

    def add(k: int) -> None:
        update_selector(path, lambda selector: selector.with_rule(Rule("reduce", k, k, f"K_{k + 2}")))

    threads = [threading.Thread(target=add, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found.least for found in Selector.load(path).rules] == list(range(6))
    assert [file.name for file in tmp_path.iterdir()] == ["s.json"]
    before = path.read_bytes()
    with pytest.raises(LinkstepError, match="two rules serve"):
        update_selector(path, lambda selector: selector.with_rule(Rule("reduce", 0, 9, "K_9")))
    assert path.read_bytes() == before


def test_names_of_files(tmp_path):
    assert source_beside(tmp_path / "s.json", tmp_path / "files" / "a.xml") == "files/a.xml"
    assert source_beside(tmp_path / "here" / "s.json", tmp_path / "a.xml") == "../a.xml"


def test_a_file_that_would_be_read_as_a_recipe_is_refused(capsys, tmp_path):
    plan, rules = tmp_path / "K_4", tmp_path / "s.json"
    assert main(["lower", "K_4", "--to", "mscclpp", "-o", str(plan), "--selector", str(rules)]) == 2
    assert "end like x.json, x.xml" in capsys.readouterr().err
    assert not plan.exists() and not rules.exists()
    with pytest.raises(FileError, match=r"s\.xml: the name of a selector must end in \.json"):
        Selector(()).save(tmp_path / "s.xml")
    with pytest.raises(FileError, match="there is no folder"):
        Selector(()).save(tmp_path / "none" / "s.json")
    assert Selector((), Path("x")) == Selector((), Path("y"))
