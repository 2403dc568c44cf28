"""Plots of frontiers: every point, the paper's, the bound, times; and no text on another."""

import sys
from dataclasses import replace
from fractions import Fraction

import pytest

from linkstep.baselines import usual_baselines
from linkstep.core.errors import FileError, LinkstepError
from linkstep.costs import Cost, Fabric
from linkstep.pictures.frontier import plot_frontier
from linkstep.recipe import parse
from linkstep.search import Answer, Choice, find
from support.pictures import overlapping, texts

FABRIC = Fabric.of("10us", "100Gbps", 4)


def row(steps, bandwidth, recipe="Torus(4,4)"):
    half = Cost(steps, Fraction(bandwidth))
    return Choice(parse(recipe), "bfb", half, half)


def answer(*rows, baselines=()):
    return Answer(16, 4, False, rows, tuple(baselines), Cost(2, Fraction(15, 16)), Fraction(1, 8), 2)


TODAY = {str(today.recipe): today for today in usual_baselines(16, 4, directed=True)}
LONG = ",".join(map(str, range(1, 101)))


CROWDED = answer(
    *(row(5 + k, 2 - Fraction(k, 1000), f"Cayley(Z{500 + k},{{{LONG}}})") for k in range(20)),
    baselines=[
        replace(TODAY["Torus(4,4)"], cost=Cost(6, Fraction(199, 100))),
        TODAY["DoubleBinaryTree(16)"],
    ],
)


@pytest.mark.slow
def test_says_what_is_found_and_what_it_takes(tmp_path):
    found, paper = find(64, 4, directed=True), find(64, 4, directed=True, families="paper")
    plot_frontier(found, tmp_path / "f.svg", paper=paper, fabric=FABRIC, size="1MB")
    said = texts(tmp_path / "f.svg")
    assert "N = 64 servers, d = 4 ports, one-way fibres: what an allreduce costs" in said
    axes = {"T_L of both halves, steps (times alpha), log scale", "T_B of both halves, in M/B"}
    assert axes | {"allreduce of 1MB, us"} < set(said)
    assert {"found", "from the paper's bases", "today", "no graph beats"} < set(said)
    assert {str(f.recipe) for f in paper.frontier} < set(said)
    for f in found.frontier:
        assert any(text.startswith(f.recipe.short[:20]) for text in said)
        assert f"{float(FABRIC.time(f.allreduce_cost, 'allreduce', '1MB')) * 1e6:,.1f}" in said
        assert f"{float(f.allreduce_cost.bandwidth):.4f}" in said
    marks = [str(k) for k in range(1, len(found.frontier) + 1)]
    assert all(said.count(mark) >= 2 for mark in [*marks, "a"])  # at the point and in the table


def test_without_times_and_paper(tmp_path):
    plot_frontier(find(16, 4, directed=True), tmp_path / "f.svg")
    said = texts(tmp_path / "f.svg")
    assert "us" not in said and "from the paper's bases" not in said
    assert "double binary tree" not in said  # which has a time but no cost


@pytest.mark.slow
@pytest.mark.parametrize("what", [(47, 3), (2, 1), CROWDED, answer()], ids=["47", "2", "crowded", "none"])
def test_no_text_lies_on_another(tmp_path, what):
    what = find(*what) if isinstance(what, tuple) else what
    paper = find(what.num_nodes, what.degree, families="paper")

    def draw(path):
        plot_frontier(what, path, paper=paper, fabric=FABRIC, size="100MB")

    assert overlapping(draw, tmp_path) == []
    if what is CROWDED:
        assert overlapping(lambda path: plot_frontier(what, path), tmp_path) == []


def test_long_recipes_are_shortened(tmp_path):
    plot_frontier(find(47, 3, directed=True), tmp_path / "f.svg")
    assert max(len(text) for text in texts(tmp_path / "f.svg")) < 80


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_same_answer_same_bytes(tmp_path, suffix):
    for name in ("a", "b"):
        plot_frontier(find(16, 4, directed=True), tmp_path / f"{name}{suffix}", fabric=FABRIC, size="1MB")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(LinkstepError, match="needs matplotlib"):
        plot_frontier(CROWDED, tmp_path / "f.svg")


def test_rejects_other_endings(tmp_path):
    with pytest.raises(FileError, match=r"must end in \.svg or \.png"):
        plot_frontier(CROWDED, tmp_path / "f.pdf")
