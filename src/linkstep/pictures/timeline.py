"""Pictures of timelines: what each lane did when, and when a link was idle though it had more to carry.

Up to 128 lanes each has a row. Of more, those of the critical path, the busiest and those that waited the longest have
one, below a strip that shows what part of all was busy. Not here: what makes a timeline (``linkstep.timelines``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.text import counted, shortened
from linkstep.files import AnyPath
from linkstep.pictures.style import BLACK, INK, PALE, PALETTE, SKY, SOFT, Fill, save_picture, shades
from linkstep.simulation import Simulation
from linkstep.timelines import Timeline, timeline_of
from linkstep.timelines.simulated import DONE, MESSAGE

_MOST_ROWS = 128
"""Of more lanes than this, only some have a row."""
_BUSIEST, _WAITING = 40, 20
"""How many of those: the busiest, and of the rest those that waited the longest."""
_CRITICAL = 20
"""And how many that the critical path goes over, in its order."""
_STRIP = 8
"""Rows that the strip is high."""
_GAP = 2
_NUMBERED, _MOST_EDGES = 700, 3000
"""Up to this many bars, each has its round written on it where it fits, and a white edge."""
_LIGHT = PALETTE[3:6]
_UNITS = (("us", 1e6, 0.01), ("ms", 1e3, 10.0), ("s", 1.0, float("inf")))
"""Names of units, how many are a second, and the seconds up to which each is used."""


@dataclass(frozen=True)
class _Rows:
    """Which lanes have a row, at which height; ``heads`` are texts that stand above some of them."""

    at: dict[int, int]
    heads: dict[int, str]
    strip: bool

    @property
    def bottom(self) -> int:
        """The height of the last row, counted downwards from 0."""
        return max(self.at.values(), default=0)


@dataclass(frozen=True)
class _Look:
    """How a timeline is drawn: its unit of time, the class of every span, and what classes are called."""

    unit: str
    scale: float
    of: NDArray[np.int64]
    """The class of each span: the number of a colour."""
    names: list[str]
    number: list[Any]
    """What is written on each bar; None for nothing."""
    things: str
    """What lanes are called: links or lanes."""

    @property
    def is_of_messages(self) -> bool:
        """Whether colours are rounds of messages on links."""
        return self.things == "links"

    @classmethod
    def of_timeline(cls, timeline: Timeline) -> _Look:
        """Colour messages by their rounds, and other spans by their kinds."""
        spans = timeline.spans
        unit, scale = next((name, scale) for name, scale, most in _UNITS if _length(timeline) <= most)
        nothing = np.full(len(spans), None, object)
        if "round" in spans.details and set(spans.kind.tolist()) <= {MESSAGE}:
            rounds = spans.details["round"].astype(np.int64)
            names = [f"round {k}" for k in range(1, int(rounds.max(initial=0)) + 1)]
            return cls(unit, scale, rounds - 1, names, rounds.tolist(), "links")
        kinds = list(dict.fromkeys(spans.kind.tolist()))
        of = np.array([kinds.index(kind) for kind in spans.kind.tolist()], np.int64)
        return cls(unit, scale, of, kinds, spans.details.get("step", nothing).tolist(), "lanes")


def _length(timeline: Timeline) -> float:
    return max([timeline.end, *(instant.time for instant in timeline.instants)])


def _rows(timeline: Timeline, things: str) -> _Rows:
    n, spans = len(timeline.lanes), timeline.spans
    if n <= _MOST_ROWS:
        return _Rows({lane: lane for lane in range(n)}, {}, strip=False)
    busy = np.bincount(spans.lane, spans.end - spans.start, n).round(12)
    last = np.zeros(n)
    np.maximum.at(last, spans.lane, spans.end)
    waited = (last - busy).round(12)
    path = list(dict.fromkeys(spans.lane[list(timeline.critical)].tolist()))
    part = f", the first {_CRITICAL} of {len(path)} {things}" if len(path) > _CRITICAL else ""
    rest = np.setdiff1d(np.arange(n), path[:_CRITICAL])
    busiest = rest[np.lexsort((rest, -busy[rest]))[:_BUSIEST]]
    others = np.setdiff1d(rest, busiest)
    waiting = others[np.lexsort((others, -waited[others]))[:_WAITING]]
    groups = [
        (f"the critical path{part}", path[:_CRITICAL]),
        (f"the {busiest.size} busiest {'others' if path else things}", sorted(busiest.tolist())),
        (f"of the others, the {waiting.size} that waited the longest", sorted(waiting.tolist())),
    ]
    at, heads, y = dict[int, int](), {0: f"part of all {n} {things} that is busy"}, _STRIP + 2 * _GAP
    for head, lanes in groups:
        if lanes:
            heads[y] = head
            at |= {lane: y + k for k, lane in enumerate(lanes)}
            y += len(lanes) + _GAP
    return _Rows(at, heads, strip=True)


def busy_lanes(timeline: Timeline) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the times at which spans start or end, and how many there are from each on: lanes, if none overlap."""
    moments = np.concatenate([timeline.spans.start, timeline.spans.end])
    change = np.repeat([1, -1], len(timeline.spans))
    times, which = np.unique(moments, return_inverse=True)
    return times, np.cumsum(np.bincount(which.reshape(-1), change, times.size)).round().astype(np.int64)


def draw_timeline(what: Timeline | Simulation, axes: Any, name: str = "") -> None:
    """Draw on a matplotlib axes what each lane did when: a row for each, a colour for each round or kind.

    A message's round is one more than the messages that had to come before it, one after the other: its step, unless a
    schedule sends it later than it could. Where a link is pale it is idle and waits for something to carry; where it is
    white it has carried everything. The critical path has dark edges.
    """
    timeline = _timeline(what, name)
    look = _Look.of_timeline(timeline)
    rows = _rows(timeline, look.things)
    axes.set_ylim(rows.bottom + 0.6, -1.6 if rows.heads else -0.6)
    axes.set_xlim(0, _length(timeline) * look.scale * 1.02 or 1)
    _draw_bars(axes, timeline, rows, look)
    if rows.strip:
        _draw_strip(axes, timeline, look)
    for y, text in rows.heads.items():
        axes.text(0, y - 0.7, text, fontsize=8, color=INK, va="bottom")
    names = _lane_names(timeline)
    ticks = {y: names[lane] for lane, y in rows.at.items()}
    ticks |= {0: "100%", _STRIP: "0%"} if rows.strip else {}
    axes.set_yticks(list(ticks), list(ticks.values()), fontsize=7)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"time, {look.unit}")
    if look.is_of_messages:
        axes.set_ylabel("link")
    what_more = f", {counted(len(look.names), 'round')}" if look.is_of_messages else ""
    what_more += f"; {len(rows.at)} of {len(timeline.lanes)} {look.things}" if rows.strip else ""
    axes.set_title(f"{shortened(timeline.title, 90)}{what_more}", fontsize=10)
    _draw_legend(timeline, axes, look)


def _timeline(what: Timeline | Simulation, name: str) -> Timeline:
    return what if isinstance(what, Timeline) else timeline_of(what, shortened(name, 60))


def _lane_names(timeline: Timeline) -> list[str]:
    """Return what rows are called: lanes, with their groups where two lanes have one name, and links by their ends."""
    count = Counter(lane.name for lane in timeline.lanes)
    found = []
    for k, lane in enumerate(timeline.lanes):
        ends = lane.name.removeprefix(f"link {k}: ")
        if ends != lane.name:
            found.append(" to ".join(shortened(end, 14) for end in ends.split(" to ")))
        else:
            found.append(shortened(lane.name if count[lane.name] == 1 else f"{lane.group}, {lane.name}", 32))
    return found


def _draw_bars(axes: Any, timeline: Timeline, rows: _Rows, look: _Look) -> None:
    """Draw when lanes are busy, a bar for each span, on what is pale until a lane has done its last."""
    from matplotlib.collections import PolyCollection

    spans = timeline.spans
    last: dict[int, float] = {}
    bars: defaultdict[int, list[Any]] = defaultdict(list)
    shown = np.flatnonzero(np.isin(spans.lane, list(rows.at)))
    columns = (shown, spans.lane[shown], look.of[shown], spans.start[shown], spans.end[shown])
    drawn = list(zip(*(column.tolist() for column in columns), strict=True))
    for _, lane, which, start, end in drawn:
        bars[which].append(_bar(start, end, rows.at[lane], look))
        last[lane] = max(last.get(lane, 0), end)
    pale = [_bar(0, end, rows.at[lane], look) for lane, end in last.items()]
    axes.add_collection(PolyCollection(pale, facecolors=PALE, linewidths=0), autolim=False)
    edge = 0.4 if len(drawn) <= _MOST_EDGES else 0.0
    colours = shades(len(look.names))
    for which, colour in enumerate(colours):
        style: Any = {"facecolors": [colour], "edgecolors": "white", "linewidths": edge}
        axes.add_collection(PolyCollection(bars[which], **style), autolim=False)
    critical = set(timeline.critical)
    path = [_bar(start, end, rows.at[lane], look) for span, lane, _, start, end in drawn if span in critical]
    axes.add_collection(PolyCollection(path, facecolors="none", edgecolors=BLACK, linewidths=0.9), autolim=False)
    if len(drawn) <= _NUMBERED:
        wide = axes.get_xlim()[1] / 40
        for span, lane, which, start, end in drawn:
            if (end - start) * look.scale >= wide and look.number[span] is not None:
                place = (start + end) / 2 * look.scale, rows.at[lane]
                _write_number(axes, place, str(look.number[span]), colours[which])


def _bar(start: float, end: float, y: int, look: _Look) -> list[tuple[float, float]]:
    """Return the corners of a bar from one time to another, in the row at this height."""
    a, b = start * look.scale, end * look.scale
    return [(a, y - 0.4), (b, y - 0.4), (b, y + 0.4), (a, y + 0.4)]


def _write_number(axes: Any, place: tuple[float, float], text: str, colour: Any) -> None:
    """Write a bar's round or step on it, for those who do not see the colours apart."""
    dark = sum(colour[:3]) < 1.6 if isinstance(colour, tuple) else colour not in _LIGHT
    style: Any = {"fontsize": 6, "ha": "center", "va": "center", "color": "white" if dark else INK}
    axes.text(*place, text, in_layout=False, **style)


def _draw_strip(axes: Any, timeline: Timeline, look: _Look) -> None:
    """Draw above the rows what part of all lanes is busy, from 0 to 100%."""
    times, busy = busy_lanes(timeline)
    height = _STRIP * (1 - busy / len(timeline.lanes))
    axes.fill_between(times * look.scale, height, _STRIP, step="post", color=SKY, linewidth=0)
    end = max([timeline.end, *(instant.time for instant in timeline.instants if instant.name == DONE)]) * look.scale
    axes.plot([0, end], [0, 0], color=SOFT, linewidth=0.5, linestyle=(0, (1, 2)))
    axes.plot([0, end], [_STRIP, _STRIP], color=SOFT, linewidth=0.5)


def _draw_legend(timeline: Timeline, axes: Any, look: _Look) -> None:
    """Say which colour is which round or kind and what pale means, and draw the instants of the timeline."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize
    from matplotlib.patches import Patch

    count = len(look.names)
    colours = shades(count)
    marks: list[Any] = []
    if 0 < count <= len(PALETTE) or not look.is_of_messages:
        marks = [Patch(color=colour, label=name) for name, colour in zip(look.names, colours, strict=True)]
    elif count:
        scale = ScalarMappable(Normalize(0.5, count + 0.5), ListedColormap(colours))
        place: Any = {"shrink": 0.5, "aspect": 40, "pad": 0.02}
        bar = axes.figure.colorbar(scale, ax=axes, label="round", **place)
        bar.set_ticks([k for k in range(1, count + 1) if (k - 1) % max(1, count // 8) == 0])
        bar.outline.set_visible(False)
    marks.append(Patch(color=PALE, label=f"idle, with more to {'carry' if look.is_of_messages else 'do'}"))
    if timeline.critical:
        marks.append(Patch(facecolor="none", edgecolor=BLACK, label="critical path"))
    for instant in timeline.instants:
        style: Any = {"color": BLACK, "linewidth": 1}
        if instant.name != DONE:
            style = {"color": BLACK, "linestyle": (0, (1.2, 1.8)), "linewidth": 1.5}
        marks.append(axes.axvline(instant.time * look.scale, label=instant.name, **style))
    axes.figure.legend(handles=marks, loc="outside lower center", ncols=5, frameon=False, fontsize=8)


def timeline_size(what: Timeline | Simulation) -> tuple[float, float]:
    """Return the width and height in inches at which a timeline is readable."""
    return 9.0, max(3.0, 1.9 + _rows(_timeline(what, ""), "lanes").bottom / 6)


def save_timeline(what: Timeline | Simulation, path: AnyPath | None, name: str = "") -> Any:
    """Draw a timeline of the size that suits it, into a .svg or .png file if there is a path; return the figure."""
    timeline = _timeline(what, name)
    return save_picture(_fill(timeline), path, timeline_size(timeline))


def _fill(timeline: Timeline) -> Fill:
    def fill(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        draw_timeline(timeline, figure.add_subplot())

    return fill
