"""Whether a program ends: an order of its events, or the cycle of events that wait for each other."""

from __future__ import annotations

import numpy as np

from linkstep._kernels.verify import _topological_order
from linkstep.programs.columns import Ints, grouped
from linkstep.programs.events import Events
from linkstep.programs.findings import Findings

_NAMES_SHOWN = 5


def cycle_words(names: list[str]) -> str:
    """Return the words for what waits in a cycle, of which the first is the one that is blamed."""
    shown = names[1:_NAMES_SHOWN] + ["..."] * (len(names) > _NAMES_SHOWN) + names[:1]
    return f"waits for {', which waits for '.join(shown)}"


def find_order(events: Events, findings: Findings) -> Ints | None:
    """Return an order of the events in which all become complete, or report events that wait for each other."""
    n, edges = events.num_events, np.concatenate([events.time_edges, events.capacity])
    before, after = edges.T
    pred_ptr, pred = grouped(after, before, n)
    order: Ints = _topological_order(pred_ptr, *grouped(before, after, n))
    if order.size == n:
        return order
    done = np.zeros(n, bool)
    done[order] = True
    event = int(np.flatnonzero(~done)[0])
    seen: dict[int, int] = {}
    path: list[int] = []
    while event not in seen:
        seen[event] = len(path)
        path.append(event)
        event = next(int(p) for p in pred[pred_ptr[event] : pred_ptr[event + 1]] if not done[p])
    cycle = path[seen[event] :]
    names = list(dict.fromkeys(events.describe(e) for e in cycle))
    findings.error("deadlock", cycle_words(names), *events.place(cycle[0]))
    return None
