"""Files of exhibits: complete or absent, resumed where nothing changed, and read back as they were."""

from dataclasses import replace
from fractions import Fraction

import pytest

from linkstep.core.errors import FileError
from linkstep.reproduction import figures, output
from linkstep.reproduction.charts import Bars, Chart, ChartPanel, Curve
from linkstep.reproduction.exhibit import Exhibit, ExhibitResult
from linkstep.reproduction.figures import CellKind, Interval, Mark, cell
from linkstep.reproduction.output import csv_text, fingerprint, make, prepare, read_cells, stored, write
from linkstep.reproduction.report import write_page

CELLS = (
    cell(
        "N = 8",
        "T_B",
        unit="M/B",
        paper="0.875",
        bases=Fraction(7, 8),
        ours=Fraction(3, 4),
        better=figures.Direction.LESS,
    ),
    cell("a, b | c", "f", paper="2", bases=Interval(Fraction(3), Fraction(4)), why='it "differs"'),
    cell("N = 7", "alpha", unit="us", paper="13", ours=13, mark=Mark.CIRCULAR),
    cell("N = 9", "time", unit="us", bases=0.1, kind=CellKind.POINT),
    cell("N = 8", "seconds", unit="s", ours=1.5, kind=CellKind.MEASURED),
)
PANELS = (
    ChartPanel(
        "lines",
        "N",
        "us",
        (Curve("one", [1, 10], [1, 2], is_marked=True), Curve("bound", [1, 10], [1, 1], is_bound=True)),
        log_x=True,
    ),
    ChartPanel("bars", "", "ms", names=("a", "b"), bars=(Bars("x", [1, 2]), Bars("y", [2, None])), is_stacked=True),
)
CALLS = []


def compute():
    CALLS.append(1)
    return ExhibitResult(CELLS, Chart(PANELS), ("a note",))


EXHIBIT = Exhibit("fig:made", "Made up", compute, "By hand.", "nothing")


@pytest.fixture
def folder(tmp_path):
    CALLS.clear()
    return prepare(tmp_path / "new" / "results")


def test_files_and_what_they_say(folder):
    (shown,) = make([EXHIBIT], folder)
    assert shown.is_new
    assert sorted(path.name for path in folder.iterdir()) == ["fig-made.csv", "fig-made.md", "fig-made.svg"]
    assert read_cells(folder / "fig-made.csv") == CELLS
    text = (folder / "fig-made.md").read_text()
    assert "| N = 8 | T_B [M/B] | 0.875 | 0.8750 (same) | 0.7500 (**better**) |" in text
    assert 'a, b \\| c | f | 2 | 3 to 4 (differs) | - | it "differs" |' in text
    assert "| N = 7 | alpha [us] | 13 | - | 13 (same, *circular*) |  |" in text
    assert "Not made again here: nothing" in text and "- a note" in text
    assert "different on every run" in text and "N = 9" not in text


@pytest.mark.slow
def test_resumes(folder):
    first, second = list(make([EXHIBIT], folder)), list(make([EXHIBIT], folder))
    assert (len(CALLS), first[0].is_new, second[0].is_new) == (1, True, False)
    assert second[0].result.cells == CELLS and second[0].result.notes == ("a note",)
    for name in ("fig-made.csv", "fig-made.svg", "fig-made.md"):
        (folder / name).unlink()
        assert stored(EXHIBIT, folder) is None
        list(make([EXHIBIT], folder))
    assert len(CALLS) == 4


def test_made_again_when_inputs_change(folder, monkeypatch):
    list(make([EXHIBIT], folder))
    changed = replace(EXHIBIT, title="Other")
    assert fingerprint(changed) != fingerprint(EXHIBIT)
    assert stored(changed, folder) is None
    monkeypatch.setattr(output, "__version__", "99.0")
    assert stored(EXHIBIT, folder) is None


RUNS = []


def plain():
    return ExhibitResult(CELLS, notes=("a note",))


def run():
    RUNS.append(1)
    return (cell("N = 8", "on wires", unit="ms", ours=2.5, kind=CellKind.MEASURED),)


WIRED = Exhibit("fig:wired", "Wired", plain, "By hand.", emulate=run, emulates="a run on wires, a minute")


def test_no_testbed_is_built_unasked(folder):
    RUNS.clear()
    (shown,) = make([WIRED], folder)
    assert RUNS == [] and shown.result.cells == CELLS
    note = "Left out: a run on wires, a minute. `linkstep reproduce fig:wired --emulate` adds them."
    assert shown.result.notes == ("a note", note)
    assert note in (folder / "fig-wired.md").read_text()


def test_a_testbed_that_is_asked_for(folder):
    """What was written without it does not do; what was written with it is kept, asked for or not."""
    RUNS.clear()
    list(make([WIRED], folder))
    (shown,) = make([WIRED], folder, testbed=True)
    assert (len(RUNS), shown.is_new, shown.result.notes) == (1, True, ("a note",))
    assert shown.result.cells == (*CELLS, *run())
    again = [next(make([WIRED], folder, testbed=asked)) for asked in (True, False)]
    assert [one.is_new for one in again] == [False, False] and again[0].result.cells == shown.result.cells


def test_an_exhibit_without_a_testbed_is_kept_when_one_is_asked_for(folder):
    other = Exhibit("fig:plain", "Plain", plain, "By hand.")
    assert [next(make([other], folder, testbed=asked)).is_new for asked in (False, True)] == [True, False]


def test_a_failure_leaves_what_is_whole(folder, monkeypatch):
    list(make([EXHIBIT], folder))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fail(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(output, "draw_chart", fail)
    with pytest.raises(KeyboardInterrupt):
        write(EXHIBIT, compute(), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_that_cannot_be(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(FileError, match="is a file, and exhibits are written to a folder"):
        prepare(file)
    with pytest.raises(FileError, match="cannot be made: not a directory"):
        prepare(file / "below")


def test_a_table_that_is_none(folder):
    path = folder / "fig-made.csv"
    path.write_text("item\nx\n")
    with pytest.raises(FileError, match="is no table of an exhibit"):
        read_cells(path)


def test_page_holds_no_measured_times(folder):
    shown = list(make([EXHIBIT], folder))
    text = write_page(shown, folder, folder.parent / "page.md")
    assert "| `fig:made` | Made up | 1 | 1 | 0 | 1 | 0 | 1 |" in text  # both columns, and what is marked
    assert "| all | | 1 | 1 | 0 | 1 | 0 | 1 |" in text
    assert "- *circular*: " in text and "13 (same, *circular*)" in text and "\n- a note\n" in text
    assert "![Made up](results/fig-made.svg)" in text
    assert "1.5" not in text and "seconds" not in text


def test_csv_has_exact_values():
    assert "N = 8,T_B,M/B,0.875,7/8,same,3/4,better,compared," in csv_text(CELLS)
