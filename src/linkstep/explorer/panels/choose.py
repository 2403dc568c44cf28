"""The choose view's data: what ``linkstep find`` says, and what a page needs to follow its sliders at once.

An allreduce takes steps times alpha and T_B times M/B: the page works that out of ``facts`` for any size, alpha and B.
What is a pipeline has a cost for each depth, of which the page takes the fastest. Where a fabric has more than alpha
and B (a limit of hosts, say) times are worked out here, for a list of sizes. Not here: the search, and what its answer
says (``linkstep.reports.find``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from linkstep.baselines import Baseline
from linkstep.core.collective import Collective
from linkstep.core.progress import Progress
from linkstep.core.units import parse_size
from linkstep.costs import Cost, Fabric
from linkstep.explorer.document import Panel
from linkstep.recipe import Recipe
from linkstep.reports.find import BestChoice, FindReport
from linkstep.reports.pricing import Pricing
from linkstep.reports.training import IterationRow, JobRanking
from linkstep.reports.view import to_members
from linkstep.scheduling import METHODS
from linkstep.search import Answer, Choice, Workload, pick
from linkstep.search.windows import windows
from linkstep.simulation.training import Job, Outcome, compare, model_names, rank_choices

SMALLEST, LARGEST = 2**10, 2**30
"""The sizes between which windows are said and times are drawn."""
RANKINGS = (str(Collective.ALLREDUCE), str(Collective.ALL_TO_ALL), "job")
"""What rows can be ranked by: one call, or an iteration of a training job."""

_COUNTED_LINKS = 20_000
"""Up to this many links, those of a wiring are counted; of more, its ports are, some of which may be idle."""
_DEPTH_NODES = 1024
"""Up to this many nodes, pipelines of a reduce-scatter and an allgather are offered beside those through roots.

Of 67 and more none is as fast as one through roots, as far as has been looked at: up to 1500 nodes.
"""


def best_choice(answer: Answer, pricing: Pricing, rank_by: str = RANKINGS[0]) -> Choice | None:
    """Return the row whose call of ``rank_by`` takes the least time; None where there is none."""
    workload = Workload.of(pricing.size, all_to_all=rank_by == Collective.ALL_TO_ALL)
    return pick(answer, pricing.fabric_for(answer.degree), workload)


def choose_panel(
    answer: Answer,
    pricing: Pricing,
    *,
    rank_by: str = RANKINGS[0],
    job: Job | None = None,
    shown: Mapping[str, int] | None = None,
    progress: Progress | None = None,
) -> Panel:
    """Return the panel of an answer; ``shown`` says which panel of its document shows a wiring, by the wiring's name.

    With a ``job`` rows are ranked by its iterations, else by ``rank_by``.
    """
    fabric = pricing.fabric_for(answer.degree)
    workload = Workload.of(pricing.size, all_to_all=rank_by == Collective.ALL_TO_ALL)
    ranked = () if job is None else rank_choices(job, answer, fabric, progress=progress)
    choice = ranked[0].choice if ranked else None if job is not None else best_choice(answer, pricing, rank_by)
    seconds = ranked[0].time if ranked else None if choice is None else workload.seconds(choice, fabric)
    best = None if choice is None else BestChoice.of(choice, seconds, workload, fabric)
    found = windows(answer, fabric, (SMALLEST, LARGEST)) if answer.frontier else ()
    ranking = None if job is None else JobRanking.of(job, ranked)
    report = FindReport.of(answer, pricing, best, found, job=ranking)
    text = report.fabric
    data: dict[str, Any] = {
        "facts": report.to_json(),
        "rank_by": "job" if job is not None else rank_by,
        "fabric": {
            "alpha": text.alpha,
            "bandwidth": text.bandwidth,
            "exact_alpha": str(fabric.alpha),
            "exact_bandwidth": str(fabric.bandwidth),
            "words": f"alpha {text.alpha}, {text.rates}{text.besides}",
        },
        "size": {"text": pricing.size, "exact": str(parse_size(pricing.size))},
        "times": None if is_plain(fabric) else _times(answer, fabric, parse_size(pricing.size)),
        "methods": {name: METHODS[name].title for name in dict.fromkeys(row.method for row in answer.frontier)},
        "cables": [_cables(row.recipe, row.is_bidirectional) for row in answer.frontier],
        "today": [
            {"name": row.recipe.short, "cables": _cables(row.recipe, row.is_duplex), "pipeline": _pipeline(row)}
            for row in answer.baselines
        ],
        "job": _compared(job, answer, fabric, ranked) if job is not None and ranked else None,
        "jobs": model_names(),
        "shown": dict(shown or {}),
    }
    return Panel("choose", f"{answer.num_nodes} servers with {answer.degree} ports", data)


def is_plain(fabric: Fabric) -> bool:
    """Whether a fabric is alpha and B and nothing else, so that costs are all that times need.

    >>> is_plain(Fabric.of("10us", "100Gbps", 4)), is_plain(Fabric.of("10us", "100Gbps", 4, overhead="1us"))
    (True, False)
    """
    return fabric == Fabric(fabric.alpha, fabric.node_bandwidth, fabric.degree)


def _cables(recipe: Recipe, is_duplex: bool) -> dict[str, Any]:
    """Return how many duplex cables or one-way links a wiring has, or, of a large one, at most."""
    links, is_counted = recipe.num_nodes * recipe.degree, recipe.num_nodes * recipe.degree <= _COUNTED_LINKS
    if is_counted:
        topology = recipe.topology(keep=False)
        links = int((topology.tail != topology.head).sum())
    return {"count": links // 2 if is_duplex else links, "is_duplex": is_duplex, "is_at_most": not is_counted}


def _pipeline(row: Baseline) -> dict[str, Any] | None:
    """Return the costs of a pipeline's allreduces; None of what has one cost.

    Through roots, k pieces take k - 1 steps more than one, each a k-th as long: ``steps`` and ``t_b`` are of one.
    """
    rooted, args = row.row.rooted, row.recipe.args
    if row.cost is not None:
        return None
    depths = row.row.depths(args) if row.num_nodes <= _DEPTH_NODES or rooted is None else ()
    halves = [row.row.cost(args, depth) for depth in depths]
    found: dict[str, Any] = {"costs": [_cost(half + half) for half in halves]}
    if rooted is not None:
        up, down = rooted.halves(args, 1)
        found["through_roots"] = _cost(up + down) | {"most_pieces": rooted.most_pieces}
    return found


def _cost(cost: Cost) -> dict[str, Any]:
    return {"steps": cost.steps, "t_b": str(cost.bandwidth)}


def _compared(job: Job, answer: Answer, fabric: Fabric, ranked: Sequence[Outcome]) -> dict[str, Any]:
    """Return a job's iterations: on each row, None where not known, on what is run today, and on a net of bounds."""
    known = {_identity(one.choice): one for one in ranked if one.choice is not None}
    ours = [known.get(_identity(row)) for row in answer.frontier]
    found = compare(job, answer, fabric)
    return {
        "frontier": [None if one is None else to_members(IterationRow.of(one)) for one in ours],
        "today": [to_members(IterationRow.of(one)) for one in found.today],
        "bound": to_members(IterationRow.of(found.bound)),
    }


def _identity(choice: Choice) -> tuple[str, str, Cost]:
    """Return what tells a row from others of its wiring; throughput may have been measured since."""
    return str(choice.recipe), choice.method, choice.allreduce_cost


def _times(answer: Answer, fabric: Fabric, size: Fraction) -> dict[str, Any]:
    """Return seconds for a list of sizes: each row's own, those of today's, of our schedule there, and the bound's."""
    powers = [Fraction(SMALLEST << k) for k in range((LARGEST // SMALLEST).bit_length())]
    sizes = sorted({*powers, size})

    def allreduce(cost: Cost) -> list[float]:
        return _each(lambda one: fabric.time(cost, Collective.ALLREDUCE, one), sizes)

    def exchange(flow: Fraction | None) -> list[float] | None:
        return None if flow is None else _each(lambda one: fabric.all_to_all_time(flow, answer.num_nodes, one), sizes)

    both = answer.bound + answer.bound
    return {
        "sizes": [str(one) for one in sizes],
        "frontier": [
            {"allreduce": allreduce(row.allreduce_cost), "all_to_all": exchange(row.flow)} for row in answer.frontier
        ],
        "today": [
            {
                "allreduce": _each(lambda one, row=row: row.allreduce_time(fabric, one), sizes),  # type: ignore[misc]
                "all_to_all": exchange(row.flow),
            }
            for row in answer.baselines
        ],
        "bound": {"allreduce": allreduce(both), "all_to_all": exchange(answer.flow_bound)},
    }


def _each(seconds: Callable[[Fraction], Fraction], sizes: Sequence[Fraction]) -> list[float]:
    return [float(seconds(size)) for size in sizes]
