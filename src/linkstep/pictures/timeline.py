"""Pictures of simulations: when each link was busy, and when it was idle though it had more to carry."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from linkstep.simulation.machine import Simulation

_MOST_NAMES = 128
"""Pictures with more links than this have no link names."""
_FEW_ROUNDS = 10
_IDLE, _PREDICTED = "#f4d9d6", "#d7263d"


def link_spans(simulation: Simulation) -> list[tuple[int, int, float, float]]:
    """Return (link, round, start, end) for every time a link was busy, sorted."""
    columns = (simulation.sent_link, simulation.sent_round, simulation.sent_start, simulation.sent_end)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def _shades(num_rounds: int) -> list[Any]:
    """Return a colour for each round: unlike ones if few, else from dark to light."""
    from matplotlib import colormaps

    if num_rounds <= _FEW_ROUNDS:
        return [f"C{k}" for k in range(num_rounds)]
    return list(colormaps["viridis"](np.linspace(0, 0.95, num_rounds)))


def draw_timeline(simulation: Simulation, axes: Any, name: str = "") -> None:
    """Draw on a matplotlib axes when each link was busy: a row a link, a colour a round.

    A message's round is one more than the messages that had to come before it, one after the other: its step, unless a
    schedule sends it later than it could. Where a link is pale it is idle and waits for something to carry; where it is
    white it has carried everything.
    """
    topology, spans = simulation.topology, link_spans(simulation)
    rounds = max((span[1] for span in spans), default=0)
    shades = _shades(rounds)
    last: dict[int, float] = {}
    bars: defaultdict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for link, round, start, end in spans:
        bars[round, link].append((start * 1e6, (end - start) * 1e6))
        last[link] = max(last.get(link, 0), end)
    for link, end in sorted(last.items()):
        axes.broken_barh([(0, end * 1e6)], (link - 0.4, 0.8), facecolors=_IDLE, linewidth=0)
    for (round, link), some in sorted(bars.items()):
        axes.broken_barh(some, (link - 0.4, 0.8), facecolors=shades[round - 1], edgecolor="white", linewidth=0.3)
    _draw_ends(simulation, axes)
    if topology.num_links <= _MOST_NAMES:
        names = [f"{u} to {w}" for u, w in zip(topology.tail.tolist(), topology.head.tolist(), strict=True)]
        axes.set_yticks(range(topology.num_links), names, fontsize=7)
    axes.set_ylim(topology.num_links - 0.5, -0.5)
    axes.set_xlim(0, max(simulation.time, simulation.predicted or 0) * 1.02e6 or 1)
    axes.set_xlabel("microseconds")
    axes.set_ylabel("link")
    program = simulation.program
    what = f"{program.collective} for {program.dialect}, {rounds} rounds by colour"
    axes.set_title(f"{name or topology.name or 'topology'}: {what}", fontsize=10)


def _draw_ends(simulation: Simulation, axes: Any) -> None:
    from matplotlib.patches import Patch

    done = axes.axvline(simulation.time * 1e6, color="black", linewidth=1, label="done")
    marks = [Patch(color=_IDLE, label="idle, with more to carry"), done]
    if simulation.predicted is not None:
        marks.append(
            axes.axvline(simulation.predicted * 1e6, color=_PREDICTED, linestyle=":", label="what the schedule costs")
        )
    axes.figure.legend(handles=marks, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
