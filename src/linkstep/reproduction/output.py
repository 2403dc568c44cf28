"""Exhibits as files: LABEL.csv with every cell exactly, LABEL.svg, and LABEL.md, the comparison for people to read.

LABEL.md is written last and ends with the inputs it was made from, so that a later run knows what is complete and
unchanged and need not be made again. Not here: the page of all results (``report``).
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from linkstep._version import __version__
from linkstep.core.errors import FileError
from linkstep.files import AnyPath, to_path, write_atomically
from linkstep.pictures.style import check_matplotlib
from linkstep.reproduction.charts import Chart, draw_chart
from linkstep.reproduction.exhibit import Exhibit, ExhibitResult
from linkstep.reproduction.figures import Cell, CellKind, Mark, Value, Verdict, read_value, show, write_value
from linkstep.reproduction.inputs import digest

COLUMNS = (
    "item", "quantity", "unit", "paper", "paper_bases", "paper_bases_verdict", "linkstep", "linkstep_verdict", "kind",
    "why", "mark",
)  # fmt: skip
_INPUTS = re.compile(r"^<!-- made by linkstep \S+, inputs ([0-9a-f]{64}) -->$", re.M)
_SAID = {Verdict.SAME: "same", Verdict.BETTER: "**better**", Verdict.DIFFERS: "differs"}


@dataclass(frozen=True)
class ShownExhibit:
    """An exhibit with what was found, just now or by an earlier run."""

    exhibit: Exhibit
    result: ExhibitResult
    is_new: bool


def prepare(folder: AnyPath) -> Path:
    """Return the folder to write to, made where it is missing; raise before any work if it cannot be written to."""
    check_matplotlib()
    path = to_path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise FileError(f"{folder}: is a file, and exhibits are written to a folder") from None
    except OSError as error:
        raise FileError(f"{folder}: cannot be made: {(error.strerror or str(error)).lower()}") from None
    probe = path / ".linkstep-probe"
    write_atomically(probe, lambda file: None)
    probe.unlink(missing_ok=True)
    return path


def fingerprint(exhibit: Exhibit, testbed: bool = False) -> str:
    """Return the SHA-256 of what an exhibit is made from: its row, runs on a testbed, the package's files and data."""
    words = (exhibit.label, exhibit.title, exhibit.method, exhibit.missing, "testbed" if testbed else "")
    return hashlib.sha256("\n".join((__version__, *words, digest())).encode()).hexdigest()


def write(exhibit: Exhibit, result: ExhibitResult, folder: Path, testbed: bool = False) -> None:
    """Write the files of an exhibit, LABEL.md last; ``testbed`` says whether runs on a testbed are in it."""
    write_atomically(folder / f"{exhibit.name}.csv", lambda file: _put(file, csv_text(result.cells)))
    draw(exhibit, result, folder / f"{exhibit.name}.svg")
    picture = "" if result.picture is None else f"![{exhibit.title}]({exhibit.name}.svg)\n\n"
    parts = [
        f"# {exhibit.label}: {exhibit.title}\n\n{picture}{comparison(exhibit, result)}",
        f"All figures, exactly: [{exhibit.name}.csv]({exhibit.name}.csv).\n",
        f"<!-- made by linkstep {__version__}, inputs {fingerprint(exhibit, testbed)} -->\n",
    ]
    write_atomically(folder / f"{exhibit.name}.md", lambda file: _put(file, "\n".join(parts)))


def draw(exhibit: Exhibit, result: ExhibitResult, path: Path) -> None:
    """Draw the picture of an exhibit, if it has one, to a .svg or .png file."""
    if isinstance(result.picture, Chart):
        draw_chart(result.picture, f"{exhibit.label}: {exhibit.title}", path)
    elif result.picture is not None:
        result.picture(path)


def _put(file: BinaryIO, text: str) -> None:
    file.write(text.encode())


def csv_text(cells: Sequence[Cell]) -> str:
    """Return cells as CSV, with a line of names."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in cells:
        values = (one.bases, one.bases_verdict, one.ours, one.ours_verdict)
        columns = [
            one.item,
            one.quantity,
            one.unit,
            one.paper or "",
            *map(write_value, values),
            one.kind,
            one.why,
            one.mark,
        ]
        writer.writerow(columns)
    return text.getvalue()


def read_cells(path: Path) -> tuple[Cell, ...]:
    """Return the cells of a file that ``csv_text`` made."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return tuple(_read_cell(line) for line in csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot be read: {error}") from None
    except (KeyError, ValueError) as error:
        raise FileError(f"{path}: is no table of an exhibit: {error}; remove it to have it made again") from None


def _read_cell(line: dict[str, str]) -> Cell:
    return Cell(
        line["item"], line["quantity"], line["unit"], line["paper"] or None, read_value(line["paper_bases"]),
        Verdict(line["paper_bases_verdict"]), read_value(line["linkstep"]), Verdict(line["linkstep_verdict"]),
        line["why"], CellKind(line["kind"]), Mark(line["mark"]),
    )  # fmt: skip


def stored(exhibit: Exhibit, folder: Path, testbed: bool = False) -> ExhibitResult | None:
    """Return what an earlier run wrote of an exhibit, or None if it is incomplete or its inputs have changed.

    What holds runs on a testbed is kept where they are not asked for, but not the other way round.
    """
    known = {fingerprint(exhibit, with_runs) for with_runs in (True, False) if with_runs or not testbed}
    page, table = folder / f"{exhibit.name}.md", folder / f"{exhibit.name}.csv"
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    found = _INPUTS.search(text)
    if found is None or found[1] not in known or not table.exists():
        return None
    if f"({exhibit.name}.svg)" in text and not (folder / f"{exhibit.name}.svg").exists():
        return None
    return ExhibitResult(read_cells(table), notes=read_notes(text))


def read_notes(text: str) -> tuple[str, ...]:
    """Return the notes of a LABEL.md."""
    return tuple(re.findall(r"^- (.*)$", text.partition("Notes:\n")[2], re.M))


def make(exhibits: Sequence[Exhibit], folder: Path | None, testbed: bool = False) -> Iterator[ShownExhibit]:
    """Yield exhibits as they are found: from the folder where they are there and unchanged, else computed and written.

    Without a folder all are computed and nothing is written. Testbeds are built only with ``testbed``.
    """
    for exhibit in exhibits:
        runs = testbed and exhibit.emulate is not None
        known = None if folder is None else stored(exhibit, folder, runs)
        if known is not None:
            yield ShownExhibit(exhibit, known, is_new=False)
            continue
        result = _computed(exhibit, runs)
        if folder is not None:
            write(exhibit, result, folder, runs)
        yield ShownExhibit(exhibit, result, is_new=True)


def _computed(exhibit: Exhibit, testbed: bool) -> ExhibitResult:
    """Compute an exhibit, with its runs on a testbed or with a note of what was left out and how to ask for it."""
    result = exhibit.compute()
    if exhibit.emulate is None:
        return result
    if testbed:
        return replace(result, cells=(*result.cells, *exhibit.emulate()))
    left_out = f"Left out: {exhibit.emulates}. `linkstep reproduce {exhibit.label} --emulate` adds them."
    return replace(result, notes=(*result.notes, left_out))


def comparison(exhibit: Exhibit, result: ExhibitResult) -> str:
    """Return the comparison with the paper as Markdown: how it was made, tables, notes."""
    parts = [f"{exhibit.method}\n"]
    if exhibit.missing:
        parts.append(f"Not made again here: {exhibit.missing}\n")
    if compared := result.of_kind(CellKind.COMPARED):
        parts.append(table(compared))
    if measured := result.of_kind(CellKind.MEASURED):
        parts += ["Measured on this machine, different on every run:\n", table(measured)]
    if result.notes:
        parts.append("Notes:\n\n" + "".join(f"- {note}\n" for note in result.notes))
    return "\n".join(parts)


def table(cells: Sequence[Cell]) -> str:
    """Return cells as a Markdown table; columns that are empty throughout are left out."""
    columns = {
        "": [one.item for one in cells],
        "figure": [f"{one.quantity} [{one.unit}]" if one.unit else one.quantity for one in cells],
        "paper": [one.paper or "-" for one in cells],
        "paper's bases": [_value(one, one.bases, one.bases_verdict) for one in cells],
        "linkstep": [_value(one, one.ours, one.ours_verdict) for one in cells],
        "why": [one.why for one in cells],
    }
    kept = {name: values for name, values in columns.items() if any(v not in ("-", "") for v in values)}
    lines = ["| " + " | ".join(kept) + " |", "|" + "---|" * len(kept)]
    lines += ["| " + " | ".join(v.replace("|", "\\|") for v in row) + " |" for row in zip(*kept.values(), strict=True)]
    return "\n".join(lines) + "\n"


def _value(one: Cell, value: Value, verdict: Verdict) -> str:
    """Return a value with how it stands against the paper's figure, and the mark of one that confirms little."""
    said = ", ".join([_SAID[verdict], *([f"*{one.mark}*"] if one.mark else [])]) if verdict else ""
    return show(value, one.paper) + (f" ({said})" if said else "")
