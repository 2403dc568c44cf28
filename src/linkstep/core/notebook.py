"""How topologies and schedules look in a notebook: a small table, and a picture where one is readable.

Not here: the picture itself, which is drawn only if matplotlib is installed, and costs; rooms above fill these in
(``linkstep.core.shown``).
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable
from typing import TYPE_CHECKING

from linkstep.core.errors import LinkstepError
from linkstep.core.shown import SHOWN

if TYPE_CHECKING:
    from linkstep.core.schedule import Schedule
    from linkstep.core.topology import Topology

MAX_DRAWN = 64
"""Topologies of more nodes are not drawn unasked."""


def html_table(title: str, fields: Iterable[tuple[str, object]]) -> str:
    """Return a table with a line for each field; all text is escaped.

    >>> html_table("<b>", [("N", 4)])
    '<table><caption>&lt;b&gt;</caption><tr><th>N</th><td>4</td></tr></table>'
    """
    lines = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>" for name, value in fields
    )
    return f"<table><caption>{html.escape(title)}</caption>{lines}</table>"


def cost_text(schedule: Schedule) -> str:
    """Return T_L and T_B of a schedule."""
    return str(SHOWN["cost"](schedule))


def svg_of(topology: Topology) -> str | None:
    """Return a picture of a topology; None if it is too large or there is nothing to draw it with."""
    if topology.num_nodes > MAX_DRAWN:
        return None
    try:
        return str(SHOWN["picture"](topology))
    except LinkstepError:  # matplotlib is not installed
        return None


def html_picture(svg: str | None) -> str:
    """Return the picture as an image, so that its styles and ids stay its own; nothing if there is none."""
    if svg is None:
        return ""
    return f'<img src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">'
