"""The page of all results: the paper, linkstep with the paper's bases, and linkstep, label by label.

It holds only figures that are the same on every run; what was measured is in the files of each exhibit.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from linkstep.reproduction.figures import Cell, CellKind, Verdict, tally
from linkstep.reproduction.output import ShownExhibit, table

HEAD = """# Results

Every table and figure of the paper that can be made again here, written by

```sh
linkstep reproduce --all --output {folder} --report {page}
```

Columns: **paper**, the printed figure; **paper's bases**, the same found here from the paper's own families, expansions
and schedules (as `linkstep find --families paper`); **linkstep**, what linkstep has today. A value is *same* where it
rounds to the printed figure. In linkstep's column it is *better* where it improves on the figure. All else *differs*,
in either direction, with the reason. A `~` marks percentages that the paper measured or calls approximate: there *same*
means within 5 points. Ranges are those of flows between what is reached and what is proven, or over several sizes, as
the row says.

Some figures agree without confirming much. They carry a mark and are not counted as the same:

- *circular*: the paper's own value, its theorem, or its fit of the same measurements was put in and comes out again;
- *chosen after*: a setting was chosen after this figure, such as a capacity factor that the paper does not state;
- *words*: the paper prints no number, and a sentence is what is compared ("matches" as 0%, say).

Figures that are not the same on every run, such as times measured on this machine, are left out here and are in the
files that the command writes; those on emulated wires were measured once and are stored ([measured.md](measured.md)).
The paper's own measurements (12 servers with A100 GPUs behind an optical patch panel, and Frontera) cannot be repeated
here: such figures are beside what the paper's own fabric (alpha, bandwidth) predicts. SCCL and TACCL were not
measured here: their figures are the paper's. SCCL can be, from a checkout of it (`python -m benchmarks.sccl FOLDER`).
"""


def write_page(shown: Sequence[ShownExhibit], folder: Path, page: Path) -> str:
    """Return the page for exhibits whose files are in a folder; pictures are linked relative to the page."""
    near = Path(os.path.relpath(folder, page.parent)).as_posix()
    parts = [HEAD.format(folder=folder.as_posix(), page=page.as_posix()), _summary(shown)]
    for one in shown:
        exhibit, result = one.exhibit, one.result
        compared = result.of_kind(CellKind.COMPARED)
        body = [f"## {exhibit.label}\n\n{exhibit.title}. {exhibit.method}\n"]
        if exhibit.missing:
            body.append(f"Not made again here: {exhibit.missing}\n")
        body.append(f"`linkstep reproduce {exhibit.label}`\n")
        if (folder / f"{exhibit.name}.svg").exists():
            body.append(f"![{exhibit.title}]({near}/{exhibit.name}.svg)\n")
        if compared:
            body.append(table(compared))
        if result.notes:
            body.append("".join(f"- {note}\n" for note in result.notes))
        parts.append("\n".join(body))
    return "\n".join(parts)


def _summary(shown: Sequence[ShownExhibit]) -> str:
    """Return the table of counts, each column by itself: a figure with both values is counted in both."""
    lines = [
        "| label | what | paper's bases: same | differs | linkstep: same | better | differs | marked |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in shown:
        counts = _counts(one.result.of_kind(CellKind.COMPARED))
        lines.append(f"| `{one.exhibit.label}` | {one.exhibit.title} | {' | '.join(map(str, counts))} |")
    total = _counts(tuple(cell for one in shown for cell in one.result.of_kind(CellKind.COMPARED)))
    lines.append(f"| all | | {' | '.join(map(str, total))} |")
    return "\n".join(lines) + "\n\n" + _COUNTED


_COUNTED = (
    "Counted are figures that the paper states, in each column by itself; *marked* are those that agree and carry one\n"
    "of the marks above. A marked figure that differs is counted as one that differs.\n"
)


def _counts(cells: tuple[Cell, ...]) -> tuple[int, ...]:
    found = tally(cells)
    ours = (found.ours[verdict] for verdict in (Verdict.SAME, Verdict.BETTER, Verdict.DIFFERS))
    return (found.bases[Verdict.SAME], found.bases[Verdict.DIFFERS], *ours, found.marked)
