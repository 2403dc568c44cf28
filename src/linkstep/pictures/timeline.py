"""Pictures of simulations: when each link was busy, and when it was idle though it had more to carry.

Up to 128 links each has a row. Of more, the busiest and those that waited the longest have one, below a strip that
shows what part of all links was busy. Not here: how a simulation runs (``linkstep.simulation``).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.text import shortened
from linkstep.files import AnyPath
from linkstep.pictures.style import (
    BLACK,
    INK,
    PALE,
    PALETTE,
    SKY,
    SOFT,
    Fill,
    node_names,
    save_picture,
    shades,
)
from linkstep.simulation.machine import Simulation

_MOST_ROWS = 128
"""Of more links than this, only some have a row."""
_BUSIEST, _WAITING = 40, 20
"""How many of those: the busiest, and of the rest those that waited the longest."""
_STRIP = 8
"""Rows that the strip is high."""
_GAP = 2
_NUMBERED, _MOST_EDGES = 700, 3000
"""Up to this many bars, each has its round written on it where it fits, and a white edge."""
_LIGHT = PALETTE[3:6]


def link_spans(simulation: Simulation) -> list[tuple[int, int, float, float]]:
    """Return (link, round, start, end) for every time a link was busy, sorted."""
    columns = (simulation.sent_link, simulation.sent_round, simulation.sent_start, simulation.sent_end)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


@dataclass(frozen=True)
class _Rows:
    """Which links have a row, at which height; ``heads`` are texts that stand above some of them."""

    at: dict[int, int]
    heads: dict[int, str]
    strip: bool

    @property
    def bottom(self) -> int:
        """The height of the last row, counted downwards from 0."""
        return max(self.at.values(), default=0)


def _rows(simulation: Simulation) -> _Rows:
    n = simulation.topology.num_links
    if n <= _MOST_ROWS:
        return _Rows({link: link for link in range(n)}, {}, strip=False)
    busy = simulation.busy.round(12)
    last = np.zeros(n)
    np.maximum.at(last, simulation.sent_link, simulation.sent_end)
    waited = (last - busy).round(12)
    busiest = np.lexsort((np.arange(n), -busy))[:_BUSIEST]
    rest = np.setdiff1d(np.arange(n), busiest)
    waiting = rest[np.lexsort((rest, -waited[rest]))[:_WAITING]]
    first = _STRIP + 2 * _GAP
    second = first + busiest.size + _GAP
    at = {link: first + k for k, link in enumerate(sorted(busiest.tolist()))}
    at |= {link: second + k for k, link in enumerate(sorted(waiting.tolist()))}
    heads = {
        0: f"part of all {n} links that is busy",
        first: f"the {busiest.size} busiest links",
        second: f"of the others, the {waiting.size} that waited the longest",
    }
    return _Rows(at, heads, strip=True)


def busy_links(simulation: Simulation) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the times at which links start or stop, and how many are busy from each on."""
    moments = np.concatenate([simulation.sent_start, simulation.sent_end])
    change = np.repeat([1, -1], simulation.sent_start.size)
    times, which = np.unique(moments, return_inverse=True)
    return times, np.cumsum(np.bincount(which.reshape(-1), change, times.size)).round().astype(np.int64)


def draw_timeline(simulation: Simulation, axes: Any, name: str = "") -> None:
    """Draw on a matplotlib axes when each link was busy: a row for each link, a colour for each round.

    A message's round is one more than the messages that had to come before it, one after the other: its step, unless a
    schedule sends it later than it could. Where a link is pale it is idle and waits for something to carry; where it is
    white it has carried everything.
    """
    rows, spans = _rows(simulation), link_spans(simulation)
    rounds = max((span[1] for span in spans), default=0)
    axes.set_ylim(rows.bottom + 0.6, -1.6 if rows.heads else -0.6)
    axes.set_xlim(0, max(simulation.time, simulation.predicted or 0) * 1.02e6 or 1)
    _draw_bars(axes, rows, [span for span in spans if span[0] in rows.at], rounds)
    if rows.strip:
        _draw_strip(axes, simulation)
    for y, text in rows.heads.items():
        axes.text(0, y - 0.7, text, fontsize=8, color=INK, va="bottom")
    names = [shortened(node, 14) for node in node_names(simulation.topology)]
    ends = list(zip(simulation.topology.tail.tolist(), simulation.topology.head.tolist(), strict=True))
    ticks = {y: f"{names[ends[link][0]]} to {names[ends[link][1]]}" for link, y in rows.at.items()}
    ticks |= {0: "100%", _STRIP: "0%"} if rows.strip else {}
    axes.set_yticks(list(ticks), list(ticks.values()), fontsize=7)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("time, us")
    axes.set_ylabel("link")
    program, topology = simulation.program, simulation.topology
    what = f"{program.collective} for {program.dialect}, {rounds} round{'s' * (rounds != 1)}"
    what += f"; {len(rows.at)} of {topology.num_links} links" if rows.strip else ""
    axes.set_title(f"{shortened(name or topology.name or 'topology', 60)}: {what}", fontsize=10)
    _draw_legend(simulation, axes, rounds)


def _draw_bars(axes: Any, rows: _Rows, spans: list[tuple[int, int, float, float]], rounds: int) -> None:
    """Draw when links are busy, a bar for each message, on what is pale until a link has carried its last."""
    from matplotlib.collections import PolyCollection

    last: dict[int, float] = {}
    bars: defaultdict[int, list[Any]] = defaultdict(list)
    for link, round, start, end in spans:
        bars[round].append(_bar(start, end, rows.at[link]))
        last[link] = max(last.get(link, 0), end)
    pale = [_bar(0, end, rows.at[link]) for link, end in last.items()]
    axes.add_collection(PolyCollection(pale, facecolors=PALE, linewidths=0), autolim=False)
    edge = 0.4 if len(spans) <= _MOST_EDGES else 0.0
    for round, colour in enumerate(shades(rounds), 1):
        look: Any = {"facecolors": [colour], "edgecolors": "white", "linewidths": edge}
        axes.add_collection(PolyCollection(bars[round], **look), autolim=False)
    if len(spans) <= _NUMBERED:
        _number_bars(axes, rows, spans, shades(rounds))


def _bar(start: float, end: float, y: int) -> list[tuple[float, float]]:
    """Return the corners of a bar from one time to another, in the row at this height."""
    a, b = start * 1e6, end * 1e6
    return [(a, y - 0.4), (b, y - 0.4), (b, y + 0.4), (a, y + 0.4)]


def _number_bars(axes: Any, rows: _Rows, spans: list[tuple[int, int, float, float]], colours: list[Any]) -> None:
    """Write each bar's round on it where it fits, for those who do not see the colours apart."""
    wide = axes.get_xlim()[1] / 40
    for link, round, start, end in spans:
        if (end - start) * 1e6 >= wide:
            colour = colours[round - 1]
            dark = sum(colour[:3]) < 1.6 if isinstance(colour, tuple) else colour not in _LIGHT
            look: Any = {"fontsize": 6, "ha": "center", "va": "center", "color": "white" if dark else INK}
            axes.text((start + end) / 2 * 1e6, rows.at[link], str(round), in_layout=False, **look)


def _draw_strip(axes: Any, simulation: Simulation) -> None:
    """Draw above the rows what part of all links is busy, from 0 to 100%."""
    times, busy = busy_links(simulation)
    height = _STRIP * (1 - busy / simulation.topology.num_links)
    axes.fill_between(times * 1e6, height, _STRIP, step="post", color=SKY, linewidth=0)
    axes.plot([0, simulation.time * 1e6], [0, 0], color=SOFT, linewidth=0.5, linestyle=(0, (1, 2)))
    axes.plot([0, simulation.time * 1e6], [_STRIP, _STRIP], color=SOFT, linewidth=0.5)


def _draw_legend(simulation: Simulation, axes: Any, rounds: int) -> None:
    """Say which colour is which round and what pale means, and draw when all is done."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize
    from matplotlib.patches import Patch

    colours = shades(rounds)
    marks: list[Any] = []
    if 0 < rounds <= len(PALETTE):
        marks = [Patch(color=colour, label=f"round {k}") for k, colour in enumerate(colours, 1)]
    elif rounds:
        scale = ScalarMappable(Normalize(0.5, rounds + 0.5), ListedColormap(colours))
        place: Any = {"shrink": 0.5, "aspect": 40, "pad": 0.02}
        bar = axes.figure.colorbar(scale, ax=axes, label="round", **place)
        bar.set_ticks([k for k in range(1, rounds + 1) if (k - 1) % max(1, rounds // 8) == 0])
        bar.outline.set_visible(False)
    marks.append(Patch(color=PALE, label="idle, with more to carry"))
    marks.append(axes.axvline(simulation.time * 1e6, color=BLACK, linewidth=1, label="done"))
    if simulation.predicted is not None:
        look: Any = {"color": BLACK, "linestyle": (0, (1.2, 1.8)), "linewidth": 1.5}
        marks.append(axes.axvline(simulation.predicted * 1e6, label="what the schedule costs", **look))
    axes.figure.legend(handles=marks, loc="outside lower center", ncols=5, frameon=False, fontsize=8)


def timeline_size(simulation: Simulation) -> tuple[float, float]:
    """Return the width and height in inches at which a timeline is readable."""
    return 9.0, max(3.0, 1.9 + _rows(simulation).bottom / 6)


def save_timeline(simulation: Simulation, path: AnyPath | None, name: str = "") -> Any:
    """Draw a timeline of the size that suits it, into a .svg or .png file if there is a path; return the figure."""
    return save_picture(_fill(simulation, name), path, timeline_size(simulation))


def _fill(simulation: Simulation, name: str) -> Fill:
    def fill(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        draw_timeline(simulation, figure.add_subplot(), name)

    return fill
