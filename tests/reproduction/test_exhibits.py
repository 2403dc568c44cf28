"""Every label: its stored figures against the paper's, and those that are quick made again."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from linkstep.reproduction import EXHIBITS
from linkstep.reproduction.exhibit import Result
from linkstep.reproduction.figures import Kind, Verdict, check_explained, tally
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
]
ALL = [pytest.param(exhibit, id=exhibit.label) for exhibit in EXHIBITS]


def test_every_label_has_a_row():
    assert sorted(exhibit.label for exhibit in EXHIBITS) == sorted(LABELS)
    assert len({exhibit.name for exhibit in EXHIBITS}) == len(EXHIBITS)


@cache
def table(exhibit):
    path = RESULTS / f"{exhibit.name}.csv"
    if not path.exists():
        pytest.skip(f"{path.name} is not stored: linkstep reproduce --all --output docs/results writes it")
    return read_cells(path)


@pytest.mark.parametrize("exhibit", ALL)
def test_differences_are_explained(exhibit):
    cells = table(exhibit)
    check_explained(tuple(one for one in cells if one.kind is not Kind.MEASURED))
    assert any(one.kind is Kind.COMPARED for one in cells)


# How many figures of each label are the paper's, better, or differ for a reason that the row gives.
DIFFERENCES = {
    "table:toposummary": 2,  # DBJ(4,1) and the circulant conjecture
    "tab:expansiontechniques": 0,
    "fig:asymptotictrend": 0,
    "tab:ourtopologies": 0,
    "tab:exampledistreg": 0,
    "fig:genkautzbwtime": 0,
    "fig:sccltacclbfs": 0,
    "table:paretooptimal": 4,  # the circulant's all-to-all three times, and shifted rings
    "fig:smalltraining": 3,  # which models, and their compute times, are not in the paper's text
    "fig:simmoetraining": 0,
    "fig:simmoetimeline": 0,
}


@pytest.mark.parametrize("exhibit", [param for param in ALL if param.id in DIFFERENCES])
def test_most_figures_are_the_papers(exhibit):
    counts = tally(tuple(one for one in table(exhibit) if one.kind is Kind.COMPARED))
    assert counts[Verdict.DIFFERS] <= DIFFERENCES[exhibit.label]
    assert counts[Verdict.SAME] + counts[Verdict.BETTER] > 0


def stable(cells):
    return [replace(one, why="") for one in cells if one.kind is not Kind.MEASURED]


@pytest.mark.slow
@pytest.mark.parametrize("exhibit", [param for param in ALL if param.values[0].is_quick])
def test_quick_ones_are_as_stored(exhibit):
    assert stable(exhibit.compute().cells) == stable(table(exhibit))


@pytest.mark.slow
def test_the_page_of_results_is_up_to_date(monkeypatch):
    """What ``linkstep reproduce --all --output docs/results --report docs/results.md`` writes, from stored figures."""
    monkeypatch.chdir(ROOT)
    shown = [Shown(exhibit, Result(table(exhibit)), is_new=False) for exhibit in EXHIBITS]
    assert write_page(shown, Path("docs/results"), Path("docs/results.md")) == Path("docs/results.md").read_text()
