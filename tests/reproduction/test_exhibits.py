"""Every label: its stored figures against the paper's, and made again: the quick ones in CI, the others by hand."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from linkstep.reproduction import EXHIBITS, exhibit_labelled
from linkstep.reproduction.exhibit import Result
from linkstep.reproduction.figures import ABOUT, EXACTLY, Better, Kind, Verdict, check_explained, compare, tally
from linkstep.reproduction.output import Shown, read_cells
from linkstep.reproduction.report import write_page

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
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
    check_explained(tuple(one for one in cells if one.kind is not Kind.MEASURED))
    assert any(one.kind is Kind.COMPARED for one in cells)


# How many figures of each label agree with the paper's or improve on them, and how many differ for a reason it gives.
AGREE_AND_DIFFER = {
    "table:toposummary": (194, 5),  # self-loops, the circulant conjecture, and members that have more than their family
    "tab:expansiontechniques": (51, 3),  # small bases on which an expansion keeps more than it promises
    "fig:asymptotictrend": (8, 0),
    "tab:exampledistreg": (105, 0),
    "table:paretooptimal": (38, 6),  # the circulant's all-to-all three times, and the times of rings and trees
    "tab:allourtopos": (113, 1),  # the same circulant
    "tab:ourtopologies": (16, 0),
    "fig:genkautzbwtime": (9, 0),
    "fig:opttopodiffn": (4, 0),
    "fig:comparisonwithringdbt": (7, 1),  # allreduce on double binary trees
    "fig:supercomp": (8, 3),  # measured on Frontera
    "tab:sccltacclbfs": (0, 0),  # measured here and there
    "fig:sccltacclbfs": (24, 0),
    "fig:arexptres": (5, 3),  # from here on: measured on GPUs, predicted here
    "fig:rs_ag_results": (16, 0),
    "fig:hypercubecompare": (1, 6),
    "fig:latencyfit": (18, 2),
    "fig:betafit": (26, 2),
    "fig:smalltraining": (1, 3),
    "fig:gpt2training": (0, 2),
    "fig:simmoetraining": (14, 0),
    "fig:simmoetimeline": (3, 0),
    "fig:notationexample": (4, 0),  # from here on: illustrations, what their captions say
    "fig:linegraph": (6, 0),
    "fig:degreeexample": (6, 0),
    "fig:shortestpath-illustration": (9, 0),
    "fig:BFBringallgather": (8, 0),
    "fig:diamondtopo": (3, 0),
    "fig:modifieddbjg": (4, 0),
}


@pytest.mark.parametrize("exhibit", ALL)
def test_figures_against_the_papers(exhibit):
    counts = tally(tuple(one for one in table(exhibit) if one.kind is Kind.COMPARED))
    found = counts[Verdict.SAME] + counts[Verdict.BETTER], counts[Verdict.DIFFERS]
    assert found == AGREE_AND_DIFFER[exhibit.label]


@pytest.mark.parametrize("exhibit", ALL)
def test_stored_verdicts_are_those_of_the_stored_figures(exhibit):
    """A value that rounds to the printed figure is the same, and no other is; what theorems say is exact."""
    within = EXACTLY if exhibit.label in ("tab:expansiontechniques", "fig:asymptotictrend") else None
    for one in table(exhibit):
        if one.paper is not None and not one.paper.startswith("~"):
            for value, verdict in ((one.bases, one.bases_verdict), (one.ours, one.ours_verdict)):
                is_same = compare(one.paper, value, Better.NEITHER, within) is Verdict.SAME
                assert is_same == (verdict is Verdict.SAME), one


def test_tab_sccltacclbfs():
    """All that the table prints of the two solvers is quoted; BFB and exact synthesis were faster wherever both ran."""
    cells = table(exhibit_labelled("tab:sccltacclbfs"))
    quoted = [one for one in cells if one.quantity.startswith(("SCCL", "TACCL"))]
    assert len(quoted) == 12 * 12 and all(one.paper and one.ours is None for one in quoted)
    measured = [one for one in cells if one.kind is Kind.MEASURED]
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
    return [replace(one, why="") for one in cells if one.kind is not Kind.MEASURED]


def marked(param):
    """Return a label with the mark of how long it takes to make again."""
    marks = [pytest.mark.slow] if param.values[0].is_quick else [pytest.mark.slow, pytest.mark.long]
    return pytest.param(*param.values, id=param.id, marks=marks)


@pytest.mark.parametrize("exhibit", [marked(param) for param in ALL])
def test_made_again_they_are_as_stored(exhibit):
    assert stable(exhibit.compute().cells) == stable(table(exhibit))


@pytest.mark.slow
def test_the_page_of_results_is_up_to_date(monkeypatch):
    """What ``linkstep reproduce --all --output docs/results --report docs/results.md`` writes, from stored figures."""
    monkeypatch.chdir(ROOT)
    shown = [Shown(exhibit, Result(table(exhibit)), is_new=False) for exhibit in EXHIBITS]
    assert write_page(shown, Path("docs/results"), Path("docs/results.md")) == Path("docs/results.md").read_text()
