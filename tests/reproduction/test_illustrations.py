"""The paper's illustrations: every figure of their captions is found again, and each is drawn by its command."""

from fractions import Fraction

import pytest

from linkstep.cli import main
from linkstep.reproduction.figures import CellKind, Verdict
from linkstep.reproduction.illustrations import EXHIBITS, _balanced
from support.pictures import overlapping, texts

WRITTEN = {
    "fig:notationexample": {"a", "b", "c", "d", "2 (1/2)"},
    "fig:linegraph": {"K_{2,2}", "L(K_{2,2})", "ca", "bd", "3 (1/2)", "(c) broadcast from ca"},
    "fig:degreeexample": {"UniRing(1,4)*2", "a1", "a2", "4 (1/2)", "(d) broadcast from a2"},
    "fig:shortestpath-illustration": {"v1: 2/3", "v1: 1/3, v2: 1/3", "v2: 2/3", "v1: 1", "v2: 1"},
    "fig:BFBringallgather": {"BiRing(2,5)", "BiRing(2,6)", "3 (1/2)"},
    "fig:diamondtopo": {"Diamond", "N = 8, d = 2", "7"},
    "fig:modifieddbjg": {"DBJ(2,3)", "DBJMod(2,3)", "(b) modified"},
}


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.label)
def test_captions_hold(exhibit):
    cells = exhibit.compute().of_kind(CellKind.COMPARED)
    compared = [one for one in cells if one.paper is not None]
    assert compared and all(one.bases_verdict is Verdict.SAME for one in compared)


@pytest.mark.slow
@pytest.mark.parametrize("label", WRITTEN)
def test_drawn_by_a_command(label, tmp_path, capsys):
    assert main(["reproduce", label, "--output", str(tmp_path)]) == 0
    assert f"{label}: " in capsys.readouterr().out
    found = texts(tmp_path / f"{label.replace(':', '-')}.svg")
    assert WRITTEN[label] <= set(found)
    assert any(text.startswith(f"{label}: ") for text in found)
    exhibit = next(one for one in EXHIBITS if one.label == label)
    assert not overlapping(exhibit.compute().picture, tmp_path)


def test_every_illustration_is_here():
    assert [exhibit.label for exhibit in EXHIBITS] == list(WRITTEN)


def test_the_example_has_one_solution():
    """Of u2: w1 can only bring v1's shard and w3 only v2's, so that equal loads leave w2 a third of each."""
    load, parts = _balanced("u2")
    assert load == Fraction(2, 3)
    assert sum(x for (v, _), x in parts.items() if v == "v1") == 1
