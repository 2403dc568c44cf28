"""``linkstep find --job``: the row of the frontier on which an iteration of a model takes the least time, and why."""

from __future__ import annotations

import argparse

from linkstep.cli._output import print_table, print_text
from linkstep.cli._progress import progress_bar
from linkstep.core.errors import LinkstepError
from linkstep.core.units import format_time
from linkstep.costs import Fabric
from linkstep.reports.training import JobRanking
from linkstep.search import Answer
from linkstep.simulation.training import Job, Outcome, load_model, rank_choices


def read_job(args: argparse.Namespace) -> Job:
    """Return the job of ``--job`` for the servers asked for; refuse options that it does not go with."""
    if args.sizes is not None or args.all_to_all:
        other = "--sizes" if args.sizes is not None else "--all-to-all"
        raise LinkstepError(f"--job says what is communicated: leave out {other}")
    return load_model(args.job).job(args.nodes)


def rank(job: Job, answer: Answer, fabric: Fabric) -> tuple[Outcome, ...]:
    """Rank the rows of an answer by a job, the best first."""
    with progress_bar("job", " topologies") as bar:
        return rank_choices(job, answer, fabric, progress=bar)


def print_job(ranking: JobRanking) -> None:
    """Print the rows by the time of an iteration, and the reason for the first."""
    rows = [
        (
            row.name,
            f"{'' if row.reached else '>='}{format_time(row.seconds)}",
            format_time(row.compute_seconds),
            format_time(row.exposed_allreduce_seconds),
            format_time(row.all_to_all_seconds),
        )
        for row in ranking.rows
    ]
    head = ("an iteration of " + ranking.model, "takes", "compute", "exposed allreduce", "all-to-all")
    print()
    print_table(head, rows, right=range(1, 5))
    if ranking.reason is not None:
        print_text(ranking.reason)
