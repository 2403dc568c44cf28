"""A job of search: what one process does in one go, always with the same result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from linkstep.core.errors import LinkstepError
from linkstep.groups.tables import MAX_ORDER

MAX_DEGREE = 16
LISTED = "member"
"""The method that searches for nothing and takes what there is: more ports than other servers too."""


@dataclass(frozen=True)
class SweepJob:
    """A piece of a search: the same job always gives the same entries."""

    num_nodes: int
    degree: int
    bidirectional: bool
    seed: int = 0
    budget: int = 10**6
    """How many graphs to evaluate; never a time, so that a job gives the same on every machine."""
    method: str = "cayley"
    """The name of a row of ``linkstep.search.sweep.methods``."""


def list_jobs(
    nodes: Iterable[int], degrees: Iterable[int], kinds: Iterable[bool], seeds: Iterable[int], budget: int, method: str
) -> list[SweepJob]:
    """List a job for each seed, size, degree and kind (duplex or not) of which there can be graphs.

    >>> [(job.num_nodes, job.degree) for job in list_jobs([3, 5], [2, 4], [True], [0], 100, "cayley")]
    [(3, 2), (5, 2), (5, 4)]
    """
    choices = product(seeds, nodes, degrees, kinds)
    return [SweepJob(n, d, kind, seed, budget, method) for seed, n, d, kind in choices if d < n or method == LISTED]


def check_job(job: SweepJob) -> None:
    """Raise unless graphs of this N and d can be searched for."""
    if not 1 <= job.degree <= MAX_DEGREE:
        raise LinkstepError(f"the search takes a degree in [1, {MAX_DEGREE}], not {job.degree}")
    least = 1 if job.method == LISTED else job.degree
    if not least < job.num_nodes <= MAX_ORDER:
        rule = f"{'1' if job.method == LISTED else 'degree'} < nodes <= {MAX_ORDER}"
        raise LinkstepError(f"the search takes {rule}, not {job.num_nodes} nodes of degree {job.degree}")
    if job.budget < 1 or not 0 <= job.seed < 2**32:
        raise LinkstepError(f"budget must be positive and seed in [0, 2^32), not {job.budget} and {job.seed}")
