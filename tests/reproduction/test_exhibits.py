"""Every label: its stored figures against the paper's, and made again: the quick ones in CI, the others by hand."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from linkstep.reproduction import EXHIBITS, exhibit_labelled
from linkstep.reproduction.exhibit import ExhibitResult
from linkstep.reproduction.figures import (
    ABOUT,
    EXACTLY,
    CellKind,
    Direction,
    Mark,
    Verdict,
    compare,
    tally,
)
from linkstep.reproduction.output import ShownExhibit, read_cells, read_notes
from linkstep.reproduction.report import write_page
from support.figures import unexplained

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "paper" / "results"
LABELS = [
    "table:toposummary",
    "tab:expansiontechniques",
    "fig:asymptotictrend",
    "table:paretooptimal",
    "tab:allourtopos",
    "tab:ourtopologies",
    "tab:exampledistreg",
    "fig:comparisonwithringdbt",
    "fig:opttopodiffn",
    "fig:genkautzbwtime",
    "tab:sccltacclbfs",
    "fig:sccltacclbfs",
    "fig:supercomp",
    "fig:hypercubecompare",
    "fig:arexptres",
    "fig:rs_ag_results",
    "fig:latencyfit",
    "fig:betafit",
    "fig:smalltraining",
    "fig:gpt2training",
    "fig:simmoetraining",
    "fig:simmoetimeline",
    "fig:notationexample",
    "fig:linegraph",
    "fig:degreeexample",
    "fig:shortestpath-illustration",
    "fig:BFBringallgather",
    "fig:diamondtopo",
    "fig:modifieddbjg",
]
ALL = [pytest.param(exhibit, id=exhibit.label) for exhibit in EXHIBITS]


def test_every_label_has_a_row():
    assert sorted(exhibit.label for exhibit in EXHIBITS) == sorted(LABELS)
    assert len({exhibit.name for exhibit in EXHIBITS}) == len(EXHIBITS)


@cache
def table(exhibit):
    return read_cells(RESULTS / f"{exhibit.name}.csv")


@pytest.mark.parametrize("exhibit", ALL)
def test_differences_are_explained(exhibit):
    cells = table(exhibit)
    assert not unexplained(one for one in cells if one.kind is not CellKind.MEASURED)
    assert any(one.kind is CellKind.COMPARED for one in cells)


# How many figures are the same as the paper's and differ from it, from its bases; are the same, better and differ, of
# what linkstep has; and agree but carry a mark, which keeps them from counting.
COUNTS = {
    "table:toposummary": (194, 5, 33, 0, 2, 0),  # self-loops, the circulant conjecture, members with more than a family
    "tab:expansiontechniques": (51, 3, 14, 4, 0, 0),  # small bases on which an expansion keeps more than it promises
    "fig:asymptotictrend": (0, 0, 0, 0, 0, 8),
    "tab:exampledistreg": (105, 0, 10, 5, 0, 0),
    "table:paretooptimal": (37, 6, 1, 5, 0, 9),  # the printed name's all-to-all three times; times of rings and trees
    "tab:allourtopos": (112, 1, 6, 20, 0, 5),  # the same name
    "tab:ourtopologies": (16, 0, 8, 0, 0, 0),
    "fig:genkautzbwtime": (8, 0, 0, 0, 0, 1),
    "fig:opttopodiffn": (0, 0, 0, 0, 0, 4),
    "fig:comparisonwithringdbt": (5, 1, 2, 3, 1, 2),  # double binary trees; where find has less than Pi_{4,N}
    "fig:supercomp": (6, 3, 0, 0, 0, 2),  # measured on Frontera
    "tab:sccltacclbfs": (0, 0, 0, 0, 0, 0),  # measured here and there
    "fig:sccltacclbfs": (0, 0, 0, 0, 0, 24),
    "fig:arexptres": (1, 4, 1, 0, 3, 3),  # from here on: measured on GPUs, predicted here
    "fig:rs_ag_results": (0, 0, 0, 0, 0, 16),
    "fig:hypercubecompare": (0, 6, 0, 0, 0, 1),
    "fig:latencyfit": (16, 0, 0, 0, 2, 2),
    "fig:betafit": (24, 0, 0, 0, 2, 2),
    "fig:smalltraining": (0, 4, 0, 0, 0, 0),
    "fig:gpt2training": (0, 2, 0, 0, 0, 0),
    "fig:simmoetraining": (10, 5, 8, 3, 1, 7),
    "fig:simmoetimeline": (0, 0, 0, 0, 0, 3),
    "fig:notationexample": (4, 0, 0, 0, 0, 0),  # from here on: illustrations, what their captions say
    "fig:linegraph": (6, 0, 0, 0, 0, 0),
    "fig:degreeexample": (6, 0, 0, 0, 0, 0),
    "fig:shortestpath-illustration": (9, 0, 0, 0, 0, 0),
    "fig:BFBringallgather": (8, 0, 0, 0, 0, 0),
    "fig:diamondtopo": (3, 0, 0, 0, 0, 0),
    "fig:modifieddbjg": (4, 0, 0, 0, 0, 0),
}


@pytest.mark.parametrize("exhibit", ALL)
def test_figures_against_the_papers(exhibit):
    found = tally(one for one in table(exhibit) if one.kind is CellKind.COMPARED)
    assert (*found.bases.values(), *found.ours.values(), found.marked) == COUNTS[exhibit.label]


@pytest.mark.parametrize("exhibit", ALL)
def test_only_our_own_topologies_are_better(exhibit):
    for one in table(exhibit):
        assert one.bases_verdict is not Verdict.BETTER, one
        assert not (one.bases_verdict is Verdict.DIFFERS and one.ours_verdict is Verdict.BETTER), one


# Which figures agree without confirming much, and why.
MARKED = {
    "fig:asymptotictrend": {Mark.CIRCULAR},  # costs and their limit are of one theorem
    "fig:latencyfit": {Mark.CIRCULAR},  # alpha and epsilon of the fabric that is simulated
    "fig:betafit": {Mark.CIRCULAR},  # B likewise
    "fig:arexptres": {Mark.CIRCULAR, Mark.WORDS},  # predicted by the paper's fit of these measurements; "matches"
    "fig:rs_ag_results": {Mark.WORDS},
    "fig:hypercubecompare": {Mark.WORDS},  # "roughly the same"
    "fig:sccltacclbfs": {Mark.WORDS},
    "fig:genkautzbwtime": {Mark.WORDS},
    "fig:opttopodiffn": {Mark.WORDS},
    "fig:supercomp": {Mark.WORDS},  # "matches", "hardly changes"
    "fig:simmoetimeline": {Mark.WORDS},
    "fig:simmoetraining": {Mark.CHOSEN},  # width and capacity factor
    "table:paretooptimal": {Mark.CHOSEN},  # the topology that fits a row, and the paper's rings
    "tab:allourtopos": {Mark.CHOSEN},
    "fig:comparisonwithringdbt": {Mark.CHOSEN},  # the paper's rings
}


@pytest.mark.parametrize("exhibit", ALL)
def test_what_agrees_without_confirming_is_marked(exhibit):
    assert {one.mark for one in table(exhibit)} - {Mark.NONE} == MARKED.get(exhibit.label, set())


def test_fitting_back_what_was_put_in_is_circular():
    for label in ("fig:latencyfit", "fig:betafit"):
        fitted = [one for one in table(exhibit_labelled(label)) if one.item == "fit"]
        assert len(fitted) == 4 and all(one.mark is Mark.CIRCULAR for one in fitted)


def test_shares_that_settings_were_chosen_after_are_marked():
    cells = table(exhibit_labelled("fig:simmoetraining"))
    shares = [one for one in cells if one.quantity.startswith("all-to-all in an iteration")]
    assert len(shares) == 3 and all(one.mark is Mark.CHOSEN for one in shares)


def test_the_row_of_1024_nodes_by_name_and_by_figures():
    """L^3(C(16,{3,4})) is below the printed throughput; L^3(DBJMod(4,2)) fits every figure of the row."""
    for label, figures in (("table:paretooptimal", 8), ("tab:allourtopos", 4)):
        cells = [one for one in table(exhibit_labelled(label)) if one.paper is not None]
        meant = [one for one in cells if one.item == "L^3(DBJMod(4,2)), probably meant by L^3(C(16,{3,4}))"]
        assert len(meant) == figures and all(one.bases_verdict is Verdict.SAME for one in meant)
        flow = {one.item: one for one in cells if one.quantity == "all-to-all throughput f"}
        assert flow["L^3(C(16,{3,4}))"].bases_verdict is Verdict.DIFFERS
        found = flow[meant[0].item].bases
        assert Fraction("8.1190e-4") < found.least <= Fraction("8.12e-4") <= found.most < Fraction("8.1275e-4")
        assert all("probably wrong, not the number" in one.why for one in cells if one.item == "L^3(C(16,{3,4}))" and
                   one.bases_verdict is Verdict.DIFFERS)  # fmt: skip


def test_experts_at_all_six_sizes():
    """fig:simmoetraining: the sizes of tab:allourtopos; at 1024 nodes with the likely topology and with the printed."""
    cells = [one for one in table(exhibit_labelled("fig:simmoetraining")) if one.kind is CellKind.COMPARED]
    near = [one.item for one in cells if one.quantity == "iteration within 5% of the bound"]
    assert [int(item.rpartition(" ")[2]) for item in near] == [32, 64, 128, 256, 512, 1024]
    item, over = "switch-c-2048, N = 1024", " over ours"
    found = {
        name: [round(float(one.bases), 2) for one in cells if one.item == name and one.quantity.endswith(over)]
        for name in (item, f"{item}, L^3(C(16,{{3,4}})) as printed")
    }
    assert list(found.values()) == [[26.61, 8.56, 3.33, 1.69], [25.65, 8.46, 3.21, 1.67]]


@pytest.mark.parametrize("exhibit", ALL)
def test_stored_verdicts_are_those_of_the_stored_figures(exhibit):
    """A value that rounds to the printed figure is the same, and no other is; what theorems say is exact."""
    within = EXACTLY if exhibit.label in ("tab:expansiontechniques", "fig:asymptotictrend") else None
    for one in table(exhibit):
        if one.paper is not None and not one.paper.startswith("~"):
            for value, verdict in ((one.bases, one.bases_verdict), (one.ours, one.ours_verdict)):
                is_same = compare(one.paper, value, Direction.NEITHER, within) is Verdict.SAME
                assert is_same == (verdict is Verdict.SAME), one


def test_tab_sccltacclbfs():
    """All that the table prints of the two solvers is quoted; BFB and exact synthesis were faster wherever both ran."""
    cells = table(exhibit_labelled("tab:sccltacclbfs"))
    quoted = [one for one in cells if one.quantity.startswith(("SCCL", "TACCL"))]
    assert len(quoted) == 12 * 12 and all(one.paper and one.ours is None for one in quoted)
    measured = [one for one in cells if one.kind is CellKind.MEASURED]
    assert len(measured) == 12 + 9 * 4  # exact synthesis up to 36 nodes, 1 to 4 chunks
    assert all(one.ours_verdict in (Verdict.SAME, Verdict.BETTER) for one in measured)


@pytest.mark.parametrize("exhibit", ALL)
def test_a_slack_is_marked_and_for_percentages_only(exhibit):
    marked = [one for one in table(exhibit) if one.paper is not None and one.paper.startswith("~")]
    assert all(one.unit == "%" for one in marked)
    for one in marked:
        for value, verdict in ((one.bases, one.bases_verdict), (one.ours, one.ours_verdict)):
            if value is not None:
                assert (abs(Fraction(value) - Fraction(one.paper[1:])) <= ABOUT) == (verdict is Verdict.SAME), one


TABLES_OF_WORDS = ("table:toposummary", "tab:expansiontechniques")


@pytest.mark.parametrize("exhibit", [param for param in ALL if param.id not in TABLES_OF_WORDS])
def test_a_picture_is_stored(exhibit):
    text = (RESULTS / f"{exhibit.name}.svg").read_text(encoding="utf-8")
    assert exhibit.label in text


def stable(cells):
    return [replace(one, why="") for one in cells if one.kind is not CellKind.MEASURED]


def marked(param):
    """Return a label with the mark of how long it takes to make again."""
    marks = [pytest.mark.slow] if param.values[0].is_quick else [pytest.mark.slow, pytest.mark.long]
    return pytest.param(*param.values, id=param.id, marks=marks)


@pytest.mark.parametrize("exhibit", [marked(param) for param in ALL])
def test_made_again_they_are_as_stored(exhibit):
    assert stable(exhibit.compute().cells) == stable(table(exhibit))


def page(exhibit):
    return (RESULTS / f"{exhibit.name}.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_of_results_is_up_to_date(monkeypatch):
    """What ``linkstep reproduce --all`` writes to docs/paper/, from stored figures."""
    monkeypatch.chdir(ROOT)
    shown = [
        ShownExhibit(exhibit, ExhibitResult(table(exhibit), notes=read_notes(page(exhibit))), is_new=False)
        for exhibit in EXHIBITS
    ]
    assert (
        write_page(shown, Path("docs/paper/results"), Path("docs/paper/results.md"))
        == Path("docs/paper/results.md").read_text()
    )
