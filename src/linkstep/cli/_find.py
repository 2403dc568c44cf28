"""``linkstep find``: which topology to wire for N servers with d ports each."""

from __future__ import annotations

import argparse
import csv
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from linkstep.cli._answer import (
    answer_facts,
    name_of,
    options_of,
    print_answer,
    print_paper,
    print_windows,
    why_nothing,
    windows_facts,
)
from linkstep.cli._common import (
    Command,
    add_fabric,
    add_json,
    exists,
    fabric_of,
    fabric_values,
    print_json,
)
from linkstep.cli._progress import progress_bar
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError, LinkstepError, UnitError
from linkstep.core.units import format_time, parse_size, parse_sizes
from linkstep.costs import Fabric
from linkstep.recipe.explanation import explain
from linkstep.search import Answer, Choice, Workload, find, pick
from linkstep.search.choice import FOUND
from linkstep.search.finders import FAMILIES
from linkstep.search.spot import Spot, keep_choices
from linkstep.search.windows import selector_of, windows
from linkstep.selector import check_selector_path


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("nodes", type=int, metavar="NODES", help="how many servers")
    parser.add_argument("degree", type=int, metavar="DEGREE", help="ports on each")
    parser.add_argument("--bidirectional", action="store_true", help="only topologies whose links all go both ways")
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


def read_workload(path: Path) -> Workload:
    """Read a job's collectives: ``collective,size,count`` lines, or a JSON list of objects with these keys."""
    try:
        text = path.read_text()
        rows: list[Any] = json.loads(text) if path.suffix == ".json" else list(csv.DictReader(text.splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot be read: {error}") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise FileError(f"{path}: is not JSON: {error}") from None
    found: dict[str, list[tuple[Fraction, Fraction]]] = {"allreduce": [], "all-to-all": []}
    if not isinstance(rows, list) or not rows:
        raise FileError(f"{path}: must be a list of collectives: collective, size, count")
    for number, row in enumerate(rows, 1):
        try:
            size, count = parse_size(row["size"]), Fraction(str(row.get("count") or 1))
            found[row["collective"]].append((size, count))
        except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError):
            raise FileError(
                f"{path}: entry {number} must have collective (allreduce or all-to-all), size (such as 25MB) and count"
            ) from None
    return Workload(tuple(found["allreduce"]), tuple(found["all-to-all"]))


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


def _run(args: argparse.Namespace) -> int:
    fabric = fabric_of(args, args.degree)
    sizes = _sweep(args.sizes)
    _check(args, sizes)
    if args.job is not None:
        from linkstep.cli import _job as jobs  # here: most calls have none

        training = jobs.read_job(args)
    job = args.sizes is not None and sizes is None
    workload = read_workload(Path(args.sizes)) if job else Workload.of(args.size, all_to_all=args.all_to_all)
    with progress_bar("find", " tries") as bar:
        answer = find(
            args.nodes, args.degree, families=args.families, bidirectional=args.bidirectional,
            max_steps=args.max_steps, spot=Spot(args.seconds, args.seed), fabric=fabric, progress=bar,
        )  # fmt: skip
    if args.all_to_all or workload.all_to_all:
        with progress_bar("all-to-all", " topologies") as bar:
            answer = answer.ranked_by_all_to_all(progress=bar)
    trained = None if args.job is None else jobs.choose(training, answer, fabric)
    if trained is not None:
        best, time = trained.best, trained.time
    else:
        best = pick(answer, fabric, workload)
        time = None if best is None else workload.seconds(best, fabric)
    found = windows(answer, fabric, sizes) if sizes and answer.frontier else ()
    if args.selector is not None and found:
        selector_of(found).save(args.selector)
    if args.plot:
        _plot(args, answer, fabric)
    new = [choice for choice in answer.frontier if choice.origin == FOUND]
    kept = keep_choices(new) if args.keep and new else None
    if args.json:
        more = {} if trained is None else jobs.job_facts(trained)
        print_json(answer_facts(answer, fabric, args, best, time) | windows_facts(found, fabric, args) | more)
        return 0
    both = ", links both ways" if args.bidirectional else ""
    print(f"{args.nodes} servers, {args.degree} ports each{both}; {_fabric_line(args)}")
    print("T_L in steps (times alpha), T_B in M/B, of each half of an allreduce (reduce-scatter + allgather if they")
    print("differ); f: what every pair can get at once in an all-to-all, a link being 1 (<=: a bound)\n")
    print_answer(answer, fabric, args.size)
    if best is None:
        print(f"\n{why_nothing(answer, args.max_steps)}")
        return 0
    collective = Collective.ALL_TO_ALL if args.all_to_all else Collective.ALLREDUCE
    what = f"the job in {args.sizes}" if job else f"an {collective} of {args.size}"
    if trained is not None:
        jobs.print_job(trained)
        what = f"training {trained.job.model}"
    print(f"\nbest for {what}: {name_of(best)}, {format_time(time or 0)}")
    _print_how(args, best, collective)
    if kept is not None:
        print(f"kept in {kept}: the next time it is known")
    elif new:
        print("found just now, and not in the catalog: --keep adds it to yours; more --seconds may find better")
    if args.families == "paper":
        print_paper(answer, fabric, args.size)
    if found:
        print()
        print_windows(found, fabric)
    if args.selector is not None:
        print(f"saved to {args.selector}")
    if args.plot:
        print(f"plotted to {args.plot}")
    return 0


def _plot(args: argparse.Namespace, answer: Answer, fabric: Fabric) -> None:
    from linkstep.pictures.frontier import plot_frontier

    limits = {"bidirectional": args.bidirectional, "max_steps": args.max_steps}
    paper = None if args.families == "paper" else find(args.nodes, args.degree, families="paper", **limits)
    plot_frontier(answer, args.plot, paper=paper, fabric=fabric, size=args.size)


def _print_how(args: argparse.Namespace, best: Choice, collective: Collective) -> None:
    """Say how the best row is constructed, or the command that makes its schedule."""
    if args.explain:
        print()
        print("\n".join(explain(best.recipe, best.method)))
        return
    how = "" if args.all_to_all else options_of(best)
    print(f"next: linkstep schedule '{best.recipe.short}'{how} --collective {collective} -o {collective}.npz")


def _fabric_line(args: argparse.Namespace) -> str:
    values = fabric_values(args, args.degree)
    call = "" if values["overhead"] == "0s" else f", {values['overhead']} a call"
    return f"alpha {values['alpha']}, {values['bandwidth']} a server{call}"


COMMAND = Command(
    name="find",
    help="find the best topologies for N servers with d ports each",
    example="linkstep find 1024 4 --size 100MB --explain",
    add_arguments=_add_arguments,
    run=_run,
)
