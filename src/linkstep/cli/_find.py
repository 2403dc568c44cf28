"""``linkstep find``: which topology to wire for N servers with d ports each."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from linkstep.cli._answer import options_of, print_answer, print_paper, print_windows, short_name, why_nothing
from linkstep.cli._command import Command
from linkstep.cli._fabric_options import add_fabric, fabric_of, pricing_of
from linkstep.cli._output import add_json, print_json, time_text
from linkstep.cli._progress import progress_bar
from linkstep.cli._topology_argument import exists
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError, UnitError
from linkstep.core.units import parse_size, parse_sizes
from linkstep.costs import Fabric
from linkstep.recipe.explanation import explain
from linkstep.reports.find import BestChoice, FindReport
from linkstep.reports.pricing import FabricText
from linkstep.reports.training import JobRanking
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
    parser.add_argument(
        "--bidirectional", action="store_true", help="only topologies whose links are all duplex (both ways)"
    )
    parser.add_argument("--max-steps", type=int, metavar="T", help="leave out what takes more steps than this")
    parser.add_argument(
        "--families",
        choices=FAMILIES,
        default="all",
        help="start from everything linkstep knows (default) or from the paper's bases alone",
    )
    add_fabric(parser)
    parser.add_argument("--size", default="1MB", metavar="BYTES", help="of the data on a server; default: 1MB")
    parser.add_argument(
        "--all-to-all",
        action="store_true",
        help="rank by all-to-all throughput, proven for every row, not by allreduce",
    )
    parser.add_argument(
        "--sizes",
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
    parser.add_argument(
        "--seconds", type=float, default=Spot.seconds, metavar="S",
        help="search about so long for sizes that the catalog does not have; 0: not at all; default: %(default)g",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="of that search; default: 0")
    parser.add_argument("--keep", action="store_true", help="add what it finds to your own catalog, for the next time")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="plot the frontier to a .png or .svg file")
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
    with progress_bar("find", " tries") as bar:
        answer = find(
            args.nodes, args.degree, families=args.families, bidirectional=args.bidirectional,
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
    if args.plot:
        _plot(args, answer, fabric)
    new = [choice for choice in answer.frontier if choice.origin == FOUND]
    kept = keep_choices(new) if args.keep and new else None
    best = None if ranked.best is None else BestChoice.of(ranked.best, ranked.seconds, asked.workload, fabric)
    report = FindReport.of(answer, pricing_of(args), best, found, args.selector, ranked.job)
    if args.json:
        print_json(report.to_json())
        return 0
    _print_head(args, report.fabric)
    print_answer(report)
    if ranked.best is None or report.best is None:
        print(f"\n{why_nothing(report, args.max_steps, args.bidirectional)}")
        return 0
    if report.job is not None:
        from linkstep.cli._job import print_job

        print_job(report.job)
    time = time_text(report.best.seconds, report.best.at_most)
    print(f"\nbest for {asked.words}: {short_name(report.best.name)}, {time}")
    _print_how(args, ranked.best)
    if new:
        _print_new(kept)
    _print_more(args, report)
    return 0


def _print_head(args: argparse.Namespace, fabric: FabricText) -> None:
    both = ", duplex links" if args.bidirectional else ""
    wires = f"alpha {fabric.alpha}, {fabric.rates}{fabric.besides}"
    print(f"{args.nodes} servers, {args.degree} ports each{both}; {wires}")
    print("T_L in steps (times alpha), T_B in M/B, of each half of an allreduce (reduce-scatter + allgather if they")
    print("differ); f: what every pair can get at once in an all-to-all, a link being 1 (<=: a bound)\n")


def _print_new(kept: Path | None) -> None:
    """Say that rows were found just now, and where they are kept."""
    if kept is not None:
        print(f"kept in {kept}: the next time it is known")
    else:
        print("found just now, and not in the catalog: --keep adds it to yours; more --seconds may find better")


def _print_more(args: argparse.Namespace, report: FindReport) -> None:
    """Print what options ask for besides the answer, and which files were written."""
    if args.families == "paper":
        print_paper(report)
    if report.windows:
        print()
        print_windows(report)
    if args.selector is not None:
        print(f"saved to {args.selector}")
    if args.plot:
        print(f"plotted to {args.plot}")


def _plot(args: argparse.Namespace, answer: Answer, fabric: Fabric) -> None:
    from linkstep.pictures.frontier import plot_frontier

    limits = {"bidirectional": args.bidirectional, "max_steps": args.max_steps}
    paper = None if args.families == "paper" else find(args.nodes, args.degree, families="paper", **limits)
    plot_frontier(answer, args.plot, paper=paper, fabric=fabric, size=args.size)


def _print_how(args: argparse.Namespace, best: Choice) -> None:
    """Say how the best row is constructed, or the command that makes its schedule."""
    if args.explain:
        print()
        print("\n".join(explain(best.recipe, best.method)))
        return
    how, collective = "" if args.all_to_all else options_of(best), _collective(args)
    print(f"next: linkstep schedule '{best.recipe.short}'{how} --collective {collective} -o {collective}.npz")


COMMAND = Command(
    name="find",
    help="find the best topologies for N servers with d ports each",
    example="linkstep find 1024 4 --size 100MB --explain",
    add_arguments=_add_arguments,
    run=_run,
)
