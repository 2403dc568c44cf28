"""An order of a program's events in which all ends, or the circle of events that wait for each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkstep._kernels.verify import _topological_order
from linkstep.programs.events import Ints, Plan, grouped
from linkstep.programs.findings import Findings


@dataclass(frozen=True)
class Task:
    """What a program is to do: its collective, over how many ranks and chunks, and the words for its parts."""

    collective: str
    num_ranks: int
    chunks: int
    scratch: Ints
    root: int = -1
    part: str = "tb"


def witness(plan: Plan, event: int) -> tuple[int, int | None, int | None]:
    """Return (rank, threadblock, step) of an event; None where there is none."""
    rank, tb, step = (int(x) for x in plan.place[event])
    return rank, (tb if tb >= 0 else None), (step if step >= 0 else None)


def name(task: Task, plan: Plan, event: int) -> str:
    """Return the words for an event's place."""
    rank, tb, step = witness(plan, event)
    if step is None:
        return f"the caller of rank {rank} before or after the run"
    return f"rank {rank}{'' if tb is None else f' {task.part} {tb}'} step {step}"


def find_order(task: Task, plan: Plan, findings: Findings) -> Ints | None:
    """Return an order of the events in which all ends, or report a cycle of events that wait for each other."""
    n, edges = plan.num_events, np.concatenate([plan.edges, plan.waits])
    pred_ptr, pred = grouped(edges[:, 1], edges[:, 0], n)
    order: Ints = _topological_order(pred_ptr, *grouped(edges[:, 0], edges[:, 1], n))
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
    names = list(dict.fromkeys(name(task, plan, e) for e in cycle))
    shown = ", which waits for ".join(names[1:5] + (["..."] if len(names) > 5 else []) + names[:1])
    findings.error("deadlock", f"waits for {shown}", *witness(plan, cycle[0]))
    return None
