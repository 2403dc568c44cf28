"""Long work that survives being killed: what is found is logged at once, and what the log has is not done again.

``build`` runs jobs of search, ``rescore`` recomputes the figures of a catalog's entries, ``narrow`` takes longer
over their all-to-all throughput. ``verify`` logs nothing: it only looks whether what entries say is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from fractions import Fraction
from functools import partial
from pathlib import Path

from linkstep.core.progress import Progress
from linkstep.search.catalog import best_entries, read_entries
from linkstep.search.entry import Entry
from linkstep.search.scoring import check_entry, entry_of, is_wide, narrowed, rescored, score_best, with_flow
from linkstep.search.sweep.job import SweepJob, check_job
from linkstep.search.sweep.log import done_jobs, log_entries, log_lines, marker, open_log
from linkstep.search.sweep.methods import SCORED_WHOLE, check_method, recipes_of
from linkstep.search.sweep.pools import check_executor, over_all

_WORTH_PROCESSES = 32
"""Entries from which on starting processes takes less time than they save."""


def search(job: SweepJob) -> list[Entry]:
    """Return the best entries found: those that no other found dominates."""
    check_job(job)
    recipes = recipes_of(job)
    if job.method in SCORED_WHOLE:
        return best_entries(with_flow(entry_of(recipe)) for recipe in recipes)
    return [with_flow(entry) for entry in best_entries(score_best(recipes))]


def build(
    path: Path,
    jobs: Iterable[SweepJob],
    *,
    executor: str = "processes",
    workers: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Run the jobs that the log at ``path`` does not have yet and append what they find; return how many ran.

    One worker runs them here, one after the other; more run side by side in processes, or over MPI.
    """
    wanted = list(jobs)
    for job in wanted:
        check_job(job)
        check_method(job)
    check_executor(executor, workers)
    before = done_jobs(path)
    todo = [job for job in wanted if marker(job) not in before]
    report = progress or (lambda done, total: None)
    results = over_all(search, todo, executor=executor, workers=workers)  # first: there may be no MPI
    with open_log(path) as log, closing(results):
        for done, (job, entries) in enumerate(results, 1):
            log_entries(log, job, entries)
            report(done, len(todo))
    return len(todo)


def rescore(
    path: Path, entries: Iterable[Entry], *, workers: int | None = None, progress: Progress | None = None
) -> int:
    """Recompute the figures of entries, unless the log at ``path`` has them; return for how many that was done."""
    return _work_out(rescored, path, entries, workers, progress)


def narrow(
    path: Path,
    entries: Iterable[Entry],
    gap: Fraction,
    seconds: float,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Bring the all-to-all throughput of entries that know it less well within ``gap``; return how many those were.

    No entry takes much longer than ``seconds``, and what the log at ``path`` has already is not worked out again.
    """
    wide = [entry for entry in entries if is_wide(entry, gap)]
    return _work_out(partial(narrowed, gap=gap, seconds=seconds), path, wide, workers, progress)


def verify(entries: Sequence[Entry], *, workers: int | None = None, progress: Progress | None = None) -> None:
    """Rebuild entries from their recipes and recompute all figures; raise for the first that says something else."""
    report = progress or (lambda done, total: None)
    few = 1 if len(entries) < _WORTH_PROCESSES else None
    with closing(over_all(check_entry, entries, workers=workers or few)) as results:
        for done, _ in enumerate(results, 1):
            report(done, len(entries))


def _work_out(
    work: Callable[[Entry], Entry], path: Path, entries: Iterable[Entry], workers: int | None, progress: Progress | None
) -> int:
    before = {entry.recipe for entry in read_entries(path)} if path.exists() else set()
    todo = [entry for entry in entries if entry.recipe not in before]
    report = progress or (lambda done, total: None)
    results = over_all(work, todo, workers=workers)
    with open_log(path) as log, closing(results):
        for done, (_, entry) in enumerate(results, 1):
            log_lines(log, [entry.line()])
            report(done, len(todo))
    return len(todo)
