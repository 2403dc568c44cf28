"""How values look in a notebook: a small table, and of a topology a picture where one is readable.

Not here: the picture itself, which is drawn only if matplotlib is installed, and costs; rooms above fill these in
(``linkstep.core.above``).
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from linkstep.core.above import ABOVE
from linkstep.core.errors import LinkstepError

if TYPE_CHECKING:
    from linkstep.core.schedule import Schedule
    from linkstep.core.topology import Topology

MAX_DRAWN = 64
"""Topologies of more nodes are not drawn unasked."""
MAX_ROWS = 20
"""The rows of a longer table are not all shown."""


def html_table(title: str, fields: Iterable[tuple[str, object]]) -> str:
    """Return a table with a line for each field; all text is escaped.

    >>> html_table("<b>", [("N", 4)])
    '<table><caption>&lt;b&gt;</caption><tr><th>N</th><td>4</td></tr></table>'
    """
    lines = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>" for name, value in fields
    )
    return f"<table><caption>{html.escape(title)}</caption>{lines}</table>"


def html_rows(title: str, rows: Sequence[Mapping[str, object]], total: int | None = None) -> str:
    """Return a table of rows with a head, the first of many; all text is escaped. ``total`` counts rows not given.

    >>> html_rows("two", [{"N": 4}, {"N": "<"}])
    '<table><caption>two</caption><tr><th>N</th></tr><tr><td>4</td></tr><tr><td>&lt;</td></tr></table>'
    """
    shown, count = rows[:MAX_ROWS], len(rows) if total is None else total
    head = "".join(f"<th>{html.escape(name)}</th>" for name in (shown[0] if shown else ()))
    lines = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell_text(cell))}</td>' for cell in row.values())}</tr>" for row in shown
    )
    more = f"<tr><td>... {count - len(shown)} more</td></tr>" if count > len(shown) else ""
    return f"<table><caption>{html.escape(title)}</caption><tr>{head}</tr>{lines}{more}</table>"


def cell_text(cell: object) -> str:
    """Return what a table shows of a value: nothing for None, a float in six digits.

    >>> cell_text(None), cell_text(1 / 3)
    ('', '0.333333')
    """
    return "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def cost_text(schedule: Schedule) -> str:
    """Return T_L and T_B of a schedule."""
    return str(ABOVE["cost"](schedule))


def svg_of(topology: Topology) -> str | None:
    """Return a picture of a topology; None if it is too large or there is nothing to draw it with."""
    if topology.num_nodes > MAX_DRAWN:
        return None
    try:
        return str(ABOVE["picture"](topology))
    except LinkstepError:  # matplotlib is not installed
        return None


def html_picture(svg: str | None) -> str:
    """Return the picture as an image, so that its styles and ids stay its own; nothing if there is none."""
    if svg is None:
        return ""
    return f'<img src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">'
