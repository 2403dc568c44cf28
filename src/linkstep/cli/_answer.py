"""How an answer of ``linkstep find`` is shown: the table, what is said below it, and the same for ``--json``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from typing import Any

from linkstep.baselines import Baseline
from linkstep.cli._common import both_halves, fabric_values, print_table
from linkstep.core.collective import Collective
from linkstep.core.text import shortened
from linkstep.core.units import format_time
from linkstep.costs import Cost, Fabric, bandwidth_bound, bound_if_quick
from linkstep.recipe.names import LONG
from linkstep.search import Answer, Choice
from linkstep.search.scoring import ROUNDS
from linkstep.search.windows import Window

_SMALL_TREE = 64
_WIRING_LINKS = 10_000
"""Up to this many links, rows that are not bandwidth-optimal are compared with what their wirings allow."""


def name_of(choice: Choice) -> str:
    """Return what a table calls a topology; what has no short name yet, since it was just found, without its middle."""
    return shortened(choice.recipe.short, LONG)


def _bound_time(answer: Answer, fabric: Fabric, size: str) -> Fraction:
    return fabric.time(answer.bound + answer.bound, Collective.ALLREDUCE, size)


def _wiring_bandwidth(choice: Choice) -> Fraction | None:
    """Return the least T_B that allgather and reduce-scatter both can have on a row's wiring; None if that takes long.

    Of a vertex-transitive graph without parallel links or self-loops it is (N-1)/N: no set of nodes has fewer links out
    than a node has. Where T_B is that, it is the bound too. Rows of the catalog are not looked at: they take no work.
    """
    recipe, least = choice.recipe, bandwidth_bound(choice.num_nodes)
    if choice.is_bandwidth_optimal or (recipe.is_vertex_transitive and choice.is_simple):
        return least
    if choice.origin or recipe.num_nodes * recipe.degree > _WIRING_LINKS:
        return None
    topology = copy(recipe).topology()  # of a copy: a recipe holds what it builds
    halves = [bound_if_quick(topology, half) for half in (Collective.ALLGATHER, Collective.REDUCE_SCATTER)]
    found = [half.cost.bandwidth for half in halves if half is not None]
    return max(found) if len(found) == len(halves) else None


def _notes(choice: Choice, answer: Answer) -> str:
    bandwidth, least = choice.worse_half.bandwidth, _wiring_bandwidth(choice) or Fraction(0)
    by_wiring = least > bandwidth_bound(choice.num_nodes)
    notes = (
        (choice.origin, bool(choice.origin)),
        ("at most", not choice.is_exact),
        ("bandwidth-optimal", choice.is_bandwidth_optimal),
        ("bandwidth-optimal on its wiring", by_wiring and bandwidth == least),
        (f"T_B at least {float(least):.4f} on its wiring", by_wiring and bandwidth > least),
        ("Moore-optimal", choice.worse_half.steps == answer.bound.steps),
    )
    return ", ".join(word for word, holds in notes if holds)


def _ours(b: Baseline) -> Cost | None:
    """Return what each half of our schedule costs on a baseline's wires.

    Not of large trees: their nodes differ, so that to say it takes a while; ``linkstep baselines`` does.
    """
    return b.ours if b.recipe.is_regular or b.num_nodes <= _SMALL_TREE else None


def _schedules(b: Baseline, time: Fraction, fabric: Fabric, size: str) -> str:
    """Say which schedule a baseline has, and what ours takes on the same wires, where it is faster."""
    cost = _ours(b)
    ours = time if cost is None else fabric.time(cost + cost, Collective.ALLREDUCE, size)
    if cost is None or ours >= time:
        return b.name
    return f"{b.name}; our schedule on it: {cost.steps} steps, {float(cost.bandwidth):.4f} M/B, {format_time(ours)}"


def print_answer(answer: Answer, fabric: Fabric, size: str) -> None:
    """Print the rows of the frontier, the bound, and what is wired today."""
    best = _bound_time(answer, fabric, size)

    def line(
        name: str, halves: tuple[Cost, Cost], time: Fraction, hops: int | None, flow: Fraction | None,
        reached: bool, notes: str = "",
    ) -> tuple[str, ...]:  # fmt: skip
        steps, bandwidth = both_halves(halves)
        flows = ("-", "-")
        if flow is not None:
            most, least = ("", "") if reached else ("<=", ">=")
            took = format_time(fabric.all_to_all_time(flow, answer.num_nodes, size))
            flows = f"{most}{float(flow):.2e}", f"{least}{took}"
        over = f"{float(time / best):.2f}x"
        return name, steps, bandwidth, format_time(time), over, "-" if hops is None else str(hops), *flows, notes

    head = ("topology", "T_L", "T_B", f"allreduce {size}", "bound", "diameter", "f", f"all-to-all {size}", "")
    rows = []
    for choice in answer.frontier:
        time = fabric.time(choice.allreduce_cost, Collective.ALLREDUCE, size)
        flow = choice.flow, choice.is_flow_reached
        halves = choice.reduce_scatter, choice.cost
        rows.append(line(name_of(choice), halves, time, choice.diameter, *flow, _notes(choice, answer)))
    rows.append(line("no graph beats", (answer.bound,) * 2, best, answer.bound.steps, answer.flow_bound, True))
    for b in answer.baselines:
        halves, time = b.halves_at(fabric, size), b.allreduce_time(fabric, size)
        notes = _schedules(b, time, fabric, size)
        rows.append(line(f"today: {b.recipe.short}", halves, time, None, b.flow, b.is_flow_reached, notes))
    print_table(head, rows, right=range(1, 8))


def why_nothing(answer: Answer, max_steps: int | None) -> str:
    """Say why there is no row."""
    if max_steps is None or answer.fewest_steps is None:
        return "nothing found: allow links one way, or another number of servers or ports"
    both = " bidirectional" if answer.bidirectional else ""
    return (
        f"nothing found with --max-steps {max_steps}: no{both} topology of {answer.num_nodes} servers with "
        f"{answer.degree} ports takes fewer than {answer.bound.steps} steps (the Moore bound); the best known takes "
        f"{answer.fewest_steps}"
    )


def print_paper(answer: Answer, fabric: Fabric, size: str) -> None:
    """Say where twice the allgather, which the paper counts, is not what an allreduce costs."""
    for choice in answer.frontier:
        if choice.cost != choice.reduce_scatter:
            twice = fabric.time(choice.cost + choice.cost, Collective.ALLREDUCE, size)
            time = fabric.time(choice.allreduce_cost, Collective.ALLREDUCE, size)
            print(
                f"{choice.recipe.short}: the paper counts 2 (T_L + T_B) of its allgather, {format_time(twice)}; its "
                f"reduce-scatter costs {choice.reduce_scatter}, so an allreduce takes {format_time(time)}"
            )


def options_of(choice: Choice) -> str:
    """Return the options of ``linkstep schedule`` that make a choice's schedule."""
    if choice.method == "arrival":
        steps = dict.fromkeys((choice.reduce_scatter.steps, choice.cost.steps))
        return f" --method arrival --steps {','.join(map(str, steps))} --rounds {ROUNDS}"
    return f" --method {choice.method}" if choice.recipe.parts else ""


def _window_times(window: Window, fabric: Fabric) -> list[Fraction]:
    cost = window.choice.allreduce_cost
    return [fabric.time(cost, Collective.ALLREDUCE, size) for size in (window.smallest, window.largest)]


def print_windows(found: Sequence[Window], fabric: Fabric) -> None:
    """Print which row is the fastest at which sizes."""
    rows = []
    for window in found:
        first, last = (format_time(time) for time in _window_times(window, fabric))
        name, cost = window.choice.recipe.short, str(window.choice.allreduce_cost)
        rows.append((str(window.smallest), str(window.largest), name, cost, first, last))
    print_table(("from bytes", "to bytes", "fastest allreduce", "cost", "takes", "to"), rows, right=(0, 1, 4, 5))


def _row(choice: Choice, answer: Answer, fabric: Fabric, size: str) -> dict[str, Any]:
    time, bound = fabric.time(choice.allreduce_cost, Collective.ALLREDUCE, size), _bound_time(answer, fabric, size)
    return {
        "recipe": str(choice.recipe),
        "name": choice.recipe.short,
        "method": choice.method,
        "origin": choice.origin or None,
        "exact": choice.is_exact,
        "steps": choice.cost.steps,
        "bandwidth": choice.cost.bandwidth,
        "reduce_scatter_steps": choice.reduce_scatter.steps,
        "reduce_scatter_bandwidth": choice.reduce_scatter.bandwidth,
        "allreduce_seconds": float(time),
        "allreduce_over_bound": float(time / bound),
        "diameter": choice.diameter,
        "all_to_all": choice.flow if choice.is_flow_reached else None,
        "all_to_all_bound": None if choice.is_flow_reached else choice.flow,
        "all_to_all_seconds": choice.flow and float(fabric.all_to_all_time(choice.flow, choice.num_nodes, size)),
        "bandwidth_optimal": choice.is_bandwidth_optimal,
        "wiring_bandwidth_bound": _wiring_bandwidth(choice),
        "moore_optimal": choice.worse_half.steps == answer.bound.steps,
        "bidirectional": choice.is_bidirectional,
    }


def _baseline_json(b: Baseline, fabric: Fabric, size: str) -> dict[str, Any]:
    (first, half), ours = b.halves_at(fabric, size), _ours(b)
    return {
        "name": b.name,
        "recipe": str(b.recipe),
        "steps": half.steps,
        "bandwidth": half.bandwidth,
        "reduce_scatter_steps": first.steps,
        "reduce_scatter_bandwidth": first.bandwidth,
        "allreduce_seconds": float(b.allreduce_time(fabric, size)),
        "all_to_all": b.flow if b.is_flow_reached else None,
        "all_to_all_bound": None if b.is_flow_reached else b.flow,
        "our_steps": ours and ours.steps,
        "our_bandwidth": ours and ours.bandwidth,
        "our_allreduce_seconds": ours and float(fabric.time(ours + ours, Collective.ALLREDUCE, size)),
    }


def answer_facts(
    answer: Answer, fabric: Fabric, args: argparse.Namespace, best: Choice | None, time: Fraction | None
) -> dict[str, Any]:
    """Return the answer for ``--json``."""
    bound = _bound_time(answer, fabric, args.size)
    return {
        "nodes": answer.num_nodes,
        "degree": answer.degree,
        **fabric_values(args, args.degree),
        "size": args.size,
        "frontier": [_row(choice, answer, fabric, args.size) for choice in answer.frontier],
        "fewest_steps": answer.fewest_steps,
        "bounds": {
            "steps": answer.bound.steps,
            "bandwidth": answer.bound.bandwidth,
            "all_to_all_bound": answer.flow_bound,
            "allreduce_seconds": float(bound),
        },
        "baselines": [_baseline_json(b, fabric, args.size) for b in answer.baselines],
        "best": None
        if best is None
        else {
            "recipe": str(best.recipe),
            "name": best.recipe.short,
            "method": best.method,
            "seconds": float(time or 0),
        },
    }


def windows_facts(found: Sequence[Window], fabric: Fabric, args: argparse.Namespace) -> dict[str, Any]:
    """Return which row is the fastest at which sizes for ``--json``."""
    rows = []
    for window in found:
        first, last = _window_times(window, fabric)
        rows.append(
            {
                "smallest": window.smallest,
                "largest": window.largest,
                "recipe": str(window.choice.recipe),
                "name": window.choice.recipe.short,
                "method": window.choice.method,
                "steps": window.choice.allreduce_cost.steps,
                "bandwidth": window.choice.allreduce_cost.bandwidth,
                "smallest_seconds": float(first),
                "largest_seconds": float(last),
            }
        )
    return {"windows": rows, "selector": args.selector if found else None}
