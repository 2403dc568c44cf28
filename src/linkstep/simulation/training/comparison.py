"""Topologies beside each other by the time that an iteration of a job takes on them, and which of ``find``'s is best.

What is compared: the best of ``find``, shifted rings, a 2D torus, double binary trees, and what no topology beats. Not
here: simulating one (``streams``), and finding topologies (``linkstep.search``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any

from linkstep.baselines import Baseline
from linkstep.core.arguments import check_callable, check_kind
from linkstep.core.errors import LinkstepError
from linkstep.core.frames import frame_of_rows
from linkstep.core.notebook import html_rows
from linkstep.core.progress import Progress
from linkstep.core.units import format_time
from linkstep.costs import Cost, Fabric, FabricLike, as_fabric, bandwidth_bound
from linkstep.families.circulant import circulant
from linkstep.search import Answer, Choice
from linkstep.search.ranking import SECONDS, RankedChoice, rank
from linkstep.simulation.training.job import Job
from linkstep.simulation.training.network import (
    Network,
    baseline_network,
    bound_network,
    choice_network,
    costed_network,
)
from linkstep.simulation.training.objective import Training
from linkstep.simulation.training.streams import Iteration, best_iteration
from linkstep.throughput import exact_all_to_all

PAPER_JUMPS = (1, 3)
"""Of the shifted rings in the paper's all-to-all times (docs/paper/paper-map.md); ours, spread further, do better."""
PAPER_NODES = 4096
"""Up to this many, the throughput of those is worked out."""
BOUND, OURS, TODAY = "bound", "ours", "today"


@dataclass(frozen=True)
class Outcome:
    """A topology and the best iteration of a job on it."""

    network: Network
    iteration: Iteration
    role: str
    """``OURS``, ``TODAY`` or ``BOUND``."""
    choice: Choice | None = None
    is_reached: bool = True
    """Whether its all-to-all throughput is proven to be reached; if not, the iteration takes at least so long."""

    @property
    def name(self) -> str:
        """The topology."""
        return self.network.name

    @property
    def time(self) -> Fraction:
        """Seconds of an iteration."""
        return self.iteration.time

    def _row_(self) -> dict[str, Any]:
        done = self.iteration
        return {
            "topology": self.name, "role": self.role, "seconds": float(done.time), "compute": float(done.compute),
            "allreduce": float(done.allreduce), "exposed_allreduce": float(done.exposed_allreduce),
            "all_to_all": float(done.all_to_all),
        }  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """What an iteration takes on ours, on what people use today, and at least."""

    job: Job
    ours: Outcome
    today: tuple[Outcome, ...]
    bound: Outcome

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All of them, in the order of tables and plots."""
        return (self.ours, *self.today, self.bound)

    def to_frame(self) -> Any:
        """Return a row for each topology, as a DataFrame of pandas or polars; times in seconds."""
        return frame_of_rows(self.outcomes)

    def __repr__(self) -> str:
        times = ", ".join(f"{one.name} {format_time(float(one.time))}" for one in self.outcomes[:3])
        return f"<Comparison of {self.job.model} on {len(self.outcomes)} topologies: {times}>"

    def _repr_html_(self) -> str:
        return html_rows(f"an iteration of {self.job.model}", [one._row_() for one in self.outcomes])


def rank_choices(
    job: Job, answer: Answer, fabric: FabricLike, seconds: float = SECONDS, progress: Progress | None = None
) -> tuple[Outcome, ...]:
    """Return the frontier by the time of an iteration, the best first; its time is proven to be reached.

    Rows whose all-to-all throughput is only bounded, and that cannot win, are in the list with what that says.
    """
    training, fabric = Training(check_kind("job", job, Job)), as_fabric(fabric)
    check_kind("answer", answer, Answer)
    check_callable("progress", progress)
    found = rank(answer.frontier, training, fabric, seconds, progress)
    return tuple(_outcome(one, training, fabric) for one in found)


def _outcome(one: RankedChoice, training: Training, fabric: Fabric) -> Outcome:
    network, iteration = choice_network(one.choice, fabric), training.iteration(one.choice, fabric)
    return Outcome(network, iteration, OURS, one.choice, one.is_reached)


def compare(
    job: Job, answer: Answer, fabric: FabricLike, seconds: float = SECONDS, progress: Progress | None = None
) -> Comparison:
    """Simulate the job on the best row of an answer, on what people use today, and on a network of bounds.

    >>> from linkstep.search import find
    >>> from linkstep.simulation.training.model_files import load_model
    >>> found = compare(load_model("resnet18").job(8), find(8, 4), Fabric.of("10us", "100Gbps", 4))
    >>> found.today[0].name, found.today[0].time > found.ours.time >= found.bound.time
    ('ShiftedRing(4,8)', True)
    """
    fabric = as_fabric(fabric)
    ranked = rank_choices(job, answer, fabric, seconds, progress)
    if not ranked:
        raise LinkstepError(
            f"nothing found for {answer.num_nodes} servers with {answer.degree} ports: take other numbers"
        )
    today = tuple(Outcome(network, best_iteration(job, network), TODAY) for network in _today(job, answer, fabric))
    bound = bound_network(answer, fabric)
    return Comparison(job, ranked[0], today, Outcome(bound, best_iteration(job, bound), BOUND))


def _today(job: Job, answer: Answer, fabric: Fabric) -> Iterator[Network]:
    """List the networks of what people use today: those whose all-to-all throughput is known, where that counts."""
    for baseline in _wanted(answer.baselines):
        known = baseline.with_flow() if job.num_all_to_alls else baseline
        if known.is_flow_reached or not job.num_all_to_alls:
            yield baseline_network(known, fabric)
    nodes = answer.num_nodes
    fits = answer.degree == 2 * len(PAPER_JUMPS) and 7 <= nodes <= PAPER_NODES and gcd(nodes, PAPER_JUMPS[1]) == 1
    if job.num_all_to_alls and fits:
        flow = exact_all_to_all(circulant(nodes, PAPER_JUMPS))
        if flow is not None:
            round_twice = Cost(nodes - 1, bandwidth_bound(nodes))
            name = f"C({nodes},{{1,3}}), the paper's rings"
            yield costed_network(name, nodes, round_twice + round_twice, flow, fabric)


def _wanted(baselines: tuple[Baseline, ...]) -> list[Baseline]:
    """Return shifted rings, the 2D torus that is nearest to a square, and double binary trees, where there are any."""
    kinds: dict[str, list[Baseline]] = {"ShiftedRing": [], "Torus": [], "DoubleBinaryTree": []}
    for baseline in sorted(baselines, key=lambda one: max(one.recipe.args)):
        family = baseline.recipe.family.name
        if family in kinds and (family != "Torus" or len(baseline.recipe.args) == 2):
            kinds[family].append(baseline)
    return [found[0] for found in kinds.values() if found]
