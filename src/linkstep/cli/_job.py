"""``linkstep find --job``: the row of the frontier on which an iteration of a model takes the least time, and why."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from linkstep.cli._common import print_table
from linkstep.cli._progress import progress_bar
from linkstep.core.errors import LinkstepError
from linkstep.core.units import format_time
from linkstep.costs import Fabric
from linkstep.search import Answer, Choice
from linkstep.simulation.training import Job, Outcome, load_model, rank_choices

_PARTS = (("compute", "compute"), ("exposed allreduce", "exposed_allreduce"), ("all-to-all", "all_to_all"))
"""What an iteration is made of: the name and the property."""


@dataclass(frozen=True)
class JobChoice:
    """A job and the rows of a frontier by the time of its iteration, the best first."""

    job: Job
    ranked: tuple[Outcome, ...]

    @property
    def best(self) -> Choice | None:
        """The row that serves the job best."""
        return self.ranked[0].choice if self.ranked else None

    @property
    def time(self) -> Fraction | None:
        """Seconds of an iteration on it."""
        return self.ranked[0].time if self.ranked else None


def read_job(args: argparse.Namespace) -> Job:
    """Return the job of ``--job`` for the servers asked for; refuse options that it does not go with."""
    if args.sizes is not None or args.all_to_all:
        other = "--sizes" if args.sizes is not None else "--all-to-all"
        raise LinkstepError(f"--job says what is communicated: leave out {other}")
    return load_model(args.job).job(args.nodes)


def choose(job: Job, answer: Answer, fabric: Fabric) -> JobChoice:
    """Rank the rows of an answer by a job."""
    with progress_bar("job", " topologies") as bar:
        return JobChoice(job, rank_choices(job, answer, fabric, progress=bar))


def reason(found: JobChoice) -> str:
    """Say which part of the iteration dominates, and by what the next row loses."""
    best, done = found.ranked[0], found.ranked[0].iteration
    shares = {name: float(getattr(done, member) / done.time) for name, member in _PARTS}
    dominant = max(shares, key=lambda name: shares[name])
    said = ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share)
    text = f"{said}: {dominant} dominates"
    others = [outcome for outcome in found.ranked[1:] if outcome.name != best.name] or list(found.ranked[1:])
    if not others:
        return f"{text}; there is no other row"
    return f"{text}; {_against(best, others[0])}"


def _against(best: Outcome, other: Outcome) -> str:
    """Say what an iteration takes on another row, and where the difference comes from."""
    more = other.time - best.time
    there = "with the next schedule on the same wires" if other.name == best.name else f"on {other.name}"
    if not more:
        return f"{there} it takes the same"
    least = "" if other.is_reached else "at least "
    changes = {name: getattr(other.iteration, member) - getattr(best.iteration, member) for name, member in _PARTS[1:]}
    where = max(changes, key=lambda name: changes[name])
    return f"{there} it takes {least}{format_time(more)} more, by its {where}"


def print_job(found: JobChoice) -> None:
    """Print the rows by the time of an iteration, and the reason for the first."""
    rows = [
        (
            outcome.name,
            f"{'' if outcome.is_reached else '>='}{format_time(outcome.time)}",
            *(format_time(getattr(outcome.iteration, member)) for _, member in _PARTS),
        )
        for outcome in found.ranked
    ]
    print()
    print_table(("an iteration of " + found.job.model, "takes", *(name for name, _ in _PARTS)), rows, right=range(1, 5))
    print(f"{reason(found)}")


def job_facts(found: JobChoice) -> dict[str, Any]:
    """Return the ranking for ``--json``."""
    from linkstep.cli._train_sim import outcome_facts

    return {
        "job": {
            "model": found.job.model,
            "reason": reason(found) if found.ranked else None,
            "rows": [outcome_facts(outcome) for outcome in found.ranked],
        }
    }
