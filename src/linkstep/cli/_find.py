"""``linkstep find``: which topology to wire for N servers with d ports each."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from linkstep.argument import exists
from linkstep.cli._answer import (
    print_answer,
    print_comparisons,
    print_details,
    print_head,
    print_next,
    print_paper,
    print_windows,
    short_name,
    why_nothing,
)
from linkstep.cli._command import Command
from linkstep.cli._directed_option import add_directed, is_directed
from linkstep.cli._fabric_options import SIZE, add_fabric, fabric_of, pricing_of
from linkstep.cli._output import Style, add_json, print_line, print_text, show_json, time_text
from linkstep.cli._progress import progress_bar
from linkstep.cli._quantities import add_seconds, add_seed, add_size, sizes_option
from linkstep.cli._signals import one_stop
from linkstep.cli._sizes import plot_sizes, print_sizes
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError, UnitError
from linkstep.core.units import parse_size, parse_sizes
from linkstep.costs import Fabric
from linkstep.recipe.explanation import explain
from linkstep.reports.find import BestChoice, FindReport
from linkstep.reports.training import JobRanking
from linkstep.scheduling import METHODS
from linkstep.search import Answer, Choice, Workload, find, pick
from linkstep.search.choice import FOUND
from linkstep.search.finders import FAMILIES
from linkstep.search.spot import Spot, keep_choices
from linkstep.search.windows import selector_of, windows
from linkstep.search.workload import load_workload
from linkstep.selector import check_selector_path

if TYPE_CHECKING:
    from linkstep.simulation.training import Job


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("nodes", type=int, metavar="NODES", help="how many servers")
    parser.add_argument("degree", type=int, metavar="DEGREE", help="ports on each")
    add_directed(parser)
    parser.add_argument("--max-steps", type=int, metavar="T", help="leave out allreduces of more steps than this")
    parser.add_argument(
        "--families",
        choices=FAMILIES,
        default="all",
        help="start from everything linkstep knows (default) or from the paper's bases alone",
    )
    add_fabric(parser)
    add_size(parser, SIZE)
    parser.add_argument(
        "--all-to-all",
        action="store_true",
        help="rank by all-to-all throughput, proven for every row, not by allreduce",
    )
    parser.add_argument(
        "--sizes",
        type=sizes_option,
        metavar="A:B|FILE",
        help="from 1KiB:1GiB, say which is the fastest at which size; from a file, pick by a job's collectives: a CSV "
        "of collective,size,count lines or a JSON list of such objects, where collective is allreduce or all-to-all",
    )
    parser.add_argument(
        "--job", metavar="MODEL",
        help="pick by the simulated iteration time of a model: a model file, or a name that linkstep train-sim knows",
    )  # fmt: skip
    parser.add_argument(
        "--selector", metavar="FILE", help="with --sizes A:B: save which serves which size, for an engine to choose by"
    )
    add_seconds(parser, "on a search where the catalog does not have this size (0: none)", Spot.seconds)
    add_seed(parser, "that search")
    parser.add_argument("--keep", action="store_true", help="add what it finds to your own catalog, for the next time")
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="draw the frontier, or with --sizes A:B times over sizes, to a .svg or .png file",
    )
    parser.add_argument("--all", action="store_true", help="list all that is wired today, not six rows of it")
    parser.add_argument("--explain", action="store_true", help="say how the best one is constructed, step by step")
    add_json(parser)


def _sweep(text: str | None) -> tuple[int, ...] | None:
    """Return the sizes that --sizes lists; None if it names a file, or is not given."""
    if text is None or Path(text).suffix.lower() in (".csv", ".json") or exists(text):
        return None
    try:
        return parse_sizes(text)
    except UnitError as error:
        raise UnitError(f"--sizes names no file that exists, and as a range of sizes: {error}") from None


def _check(args: argparse.Namespace, sizes: tuple[int, ...] | None) -> None:
    """Refuse what cannot work before searching."""
    if args.selector is not None:
        if sizes is None:
            raise LinkstepError("--selector says which serves which size: give --sizes too, such as 1KiB:1GiB")
        check_selector_path(args.selector)
    if parse_size(args.size) <= 0:
        raise LinkstepError(f"--size must be positive, not {args.size}")
    if args.max_steps is not None and args.max_steps < 1:
        raise LinkstepError(f"--max-steps must be at least 1, not {args.max_steps}")
    if args.plot:
        from linkstep.pictures.style import check_drawable  # here: most calls draw nothing

        check_drawable(args.plot)


@dataclass(frozen=True)
class _Asked:
    """What rows are ranked by, in words too: one collective, a job's collectives, or an iteration of a model."""

    workload: Workload
    sizes: tuple[int, ...] | None
    """Of which the fastest is asked for."""
    job: Job | None
    words: str

    @classmethod
    def of(cls, args: argparse.Namespace, sizes: tuple[int, ...] | None) -> _Asked:
        """Read the files that options name."""
        if args.job is not None:
            from linkstep.cli._job import read_job  # here: most calls have none

            job = read_job(args)
            return cls(Workload.of(args.size), None, job, f"training {job.model}")
        if args.sizes is not None and sizes is None:
            return cls(load_workload(Path(args.sizes)), None, None, f"the job in {args.sizes}")
        workload = Workload.of(args.size, all_to_all=args.all_to_all)
        return cls(workload, sizes, None, f"an {_collective(args)} of {args.size}")


@dataclass(frozen=True)
class _Ranked:
    """The row that serves best, its seconds, and how it was ranked where that was by a job."""

    best: Choice | None
    seconds: Fraction | None
    job: JobRanking | None = None

    @classmethod
    def of(cls, asked: _Asked, answer: Answer, fabric: Fabric) -> _Ranked:
        """Rank an answer by what was asked for."""
        if asked.job is not None:
            from linkstep.cli._job import rank

            ranked = rank(asked.job, answer, fabric)
            ranking = JobRanking.of(asked.job, ranked)
            return cls(ranked[0].choice, ranked[0].time, ranking) if ranked else cls(None, None, ranking)
        best = pick(answer, fabric, asked.workload)
        if best is None:
            return cls(None, None)
        return cls(best, asked.workload.seconds(best, fabric))


def _collective(args: argparse.Namespace) -> Collective:
    return Collective.ALL_TO_ALL if args.all_to_all else Collective.ALLREDUCE


def _search(args: argparse.Namespace, asked: _Asked, fabric: Fabric) -> Answer:
    with progress_bar("find", " tries") as bar, one_stop():
        answer = find(
            args.nodes, args.degree, families=args.families, directed=is_directed(args),
            max_steps=args.max_steps, spot=Spot(args.seconds, args.seed), fabric=fabric, progress=bar,
        )  # fmt: skip
    if args.all_to_all or asked.workload.all_to_all:
        with progress_bar("all-to-all", " topologies") as bar:
            answer = answer.ranked_by_all_to_all(progress=bar)
    return answer


def _run(args: argparse.Namespace) -> int:
    fabric = fabric_of(args, args.degree)
    sizes = _sweep(args.sizes)
    _check(args, sizes)
    asked = _Asked.of(args, sizes)
    answer = _search(args, asked, fabric)
    ranked = _Ranked.of(asked, answer, fabric)
    found = windows(answer, fabric, asked.sizes) if asked.sizes and answer.frontier else ()
    if args.selector is not None and found:
        selector_of(found).save(args.selector)
    new = [choice for choice in answer.frontier if choice.origin == FOUND]
    kept = keep_choices(new) if args.keep and new else None
    best = None if ranked.best is None else BestChoice.of(ranked.best, ranked.seconds, asked.workload, fabric)
    report = FindReport.of(answer, pricing_of(args), best, found, asked.sizes or (), args.selector, ranked.job)
    if args.plot:
        _plot(args, answer, fabric, report)
    if show_json(report, args):
        return 0
    print_head(report)
    print_answer(report, args.all)
    print()
    if ranked.best is None or report.best is None:
        print_text(why_nothing(report, args.max_steps))
        return 0
    if report.job is not None:
        from linkstep.cli._job import print_job

        print_job(report.job)
        print()
    _print_best(args, report, report.best, asked)
    _print_more(args, report)
    if args.explain:
        _print_how(report, ranked.best)
    if new:
        _print_new(kept)
    print()
    print_next(ranked.best, answer.frontier, args.all_to_all)
    return 0


def _print_best(args: argparse.Namespace, report: FindReport, best: BestChoice, asked: _Asked) -> None:
    """Say which row is the best, and how it compares."""
    time = time_text(best.seconds, best.seconds_at_most)
    print_line(f"best for {asked.words}: {short_name(best.name)}, {time}", Style.BOLD)
    is_one_allreduce = asked.job is None and asked.workload == Workload.of(args.size)
    print_comparisons(report, is_one_allreduce)


def _print_new(kept: Path | None) -> None:
    """Say that rows were found just now, and where they are kept."""
    if kept is not None:
        print_text(f"kept in {kept}: the next time it is known")
    else:
        print_text("found just now, and not in the catalog: --keep adds it to yours; more --seconds may find better")


def _print_more(args: argparse.Namespace, report: FindReport) -> None:
    """Print what options ask for besides the answer, and which files were written."""
    if args.families == "paper":
        print_paper(report)
    if report.windows:
        print()
        print_windows(report)
        print()
        print_sizes(report.sizes)
    if args.selector is not None:
        print(f"saved to {args.selector}")
    if args.plot:
        print(f"plotted to {args.plot}")


def _plot(args: argparse.Namespace, answer: Answer, fabric: Fabric, report: FindReport) -> None:
    """Draw times over sizes where a range of them was asked for, else the frontier."""
    if report.sizes:
        title = f"allreduce of {answer.num_nodes} servers with {answer.degree} ports, {report.kind} wiring"
        plot_sizes(report.sizes, title, args.plot)
        return
    from linkstep.pictures.frontier import plot_frontier

    limits = {"directed": is_directed(args), "max_steps": args.max_steps}
    paper = None if args.families == "paper" else find(args.nodes, args.degree, families="paper", **limits)
    plot_frontier(answer, args.plot, paper=paper, fabric=fabric, size=args.size)


def _print_how(report: FindReport, best: Choice) -> None:
    """Say how the best row is constructed, and what the table leaves out of it."""
    print()
    for line in explain(best.recipe, best.allreduce_cost, METHODS[best.method].title):
        print_text(line, indent="   ")
    for row in report.frontier:
        if (row.recipe, row.method) == (str(best.recipe), best.method):
            print_details(row)


COMMAND = Command(
    name="find",
    example="linkstep find 64 4 --size 100MB --explain",
    add_arguments=_add_arguments,
    run=_run,
)
