"""``linkstep find``: which topology to wire for N servers with d ports each."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from pathlib import Path
from typing import Any

from linkstep.baselines import Baseline
from linkstep.cli._common import (
    Command,
    add_fabric,
    add_json,
    exists,
    fabric_of,
    fabric_values,
    print_json,
    print_table,
)
from linkstep.cli._progress import progress_bar
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError, LinkstepError, UnitError
from linkstep.core.text import shortened
from linkstep.core.units import format_time, parse_size, parse_sizes
from linkstep.costs import Cost, Fabric, bandwidth_bound, bound_if_quick
from linkstep.recipe.explanation import explain
from linkstep.recipe.names import LONG
from linkstep.search import Answer, Choice, Workload, find, pick
from linkstep.search.choice import FOUND
from linkstep.search.finders import FAMILIES
from linkstep.search.scoring import ROUNDS
from linkstep.search.spot import Spot, keep_choices
from linkstep.search.windows import Window, selector_of, windows
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


_SMALL_TREE = 64
_WIRING_LINKS = 10_000
"""Up to this many links, rows that are not bandwidth-optimal are compared with what their wirings allow."""


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


def _bound_time(answer: Answer, fabric: Fabric, size: str) -> Fraction:
    return fabric.time(answer.bound + answer.bound, Collective.ALLREDUCE, size)


def _name(choice: Choice) -> str:
    """Return what a table calls a topology; what has no short name yet, since it was just found, without its middle."""
    return shortened(choice.recipe.short, LONG)


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


def _both(halves: tuple[Cost, Cost]) -> tuple[str, str]:
    """Return steps and bandwidth of the two halves of an allreduce, once where they are the same."""
    first, second = halves
    steps = str(second.steps) if first.steps == second.steps else f"{first.steps}+{second.steps}"
    bandwidth = f"{float(second.bandwidth):.4f}"
    return steps, bandwidth if first.bandwidth == second.bandwidth else f"{float(first.bandwidth):.4f}+{bandwidth}"


def _print(answer: Answer, fabric: Fabric, size: str) -> None:
    best = _bound_time(answer, fabric, size)

    def line(
        name: str, halves: tuple[Cost, Cost], time: Fraction, hops: int | None, flow: Fraction | None,
        reached: bool, notes: str = "",
    ) -> tuple[str, ...]:  # fmt: skip
        steps, bandwidth = _both(halves)
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
        rows.append(line(_name(choice), halves, time, choice.diameter, *flow, _notes(choice, answer)))
    rows.append(line("no graph beats", (answer.bound,) * 2, best, answer.bound.steps, answer.flow_bound, True))
    for b in answer.baselines:
        half, time = b.cost_at(fabric, size), b.allreduce_time(fabric, size)
        notes = _schedules(b, time, fabric, size)
        rows.append(line(f"today: {b.recipe.short}", (half, half), time, None, b.flow, b.is_flow_reached, notes))
    print_table(head, rows, right=range(1, 8))


def _schedules(b: Baseline, time: Fraction, fabric: Fabric, size: str) -> str:
    """Say which schedule a baseline has, and what ours takes on the same wires, where it is faster.

    Not of large trees: their nodes differ, so that to say it takes a while; ``linkstep baselines`` does.
    """
    if not b.recipe.is_regular and b.num_nodes > _SMALL_TREE:
        return b.name
    ours = None if b.ours is None else fabric.time(b.ours + b.ours, Collective.ALLREDUCE, size)
    if b.ours is None or ours is None or ours >= time:
        return b.name
    return f"{b.name}; our schedule on it: {b.ours.steps} steps, {float(b.ours.bandwidth):.4f} M/B, {format_time(ours)}"


def _baseline_json(b: Baseline, fabric: Fabric, size: str) -> dict[str, Any]:
    half, ours = b.cost_at(fabric, size), b.ours
    return {
        "name": b.name,
        "recipe": str(b.recipe),
        "steps": half.steps,
        "bandwidth": half.bandwidth,
        "allreduce_seconds": float(b.allreduce_time(fabric, size)),
        "all_to_all": b.flow if b.is_flow_reached else None,
        "all_to_all_bound": None if b.is_flow_reached else b.flow,
        "our_steps": ours and ours.steps,
        "our_bandwidth": ours and ours.bandwidth,
        "our_allreduce_seconds": ours and float(fabric.time(ours + ours, Collective.ALLREDUCE, size)),
    }


def _nothing(answer: Answer, max_steps: int | None) -> str:
    """Say why there is no row."""
    if max_steps is None or answer.fewest_steps is None:
        return "nothing found: allow links one way, or another number of servers or ports"
    both = " bidirectional" if answer.bidirectional else ""
    return (
        f"nothing found with --max-steps {max_steps}: no{both} topology of {answer.num_nodes} servers with "
        f"{answer.degree} ports takes fewer than {answer.bound.steps} steps (the Moore bound); the best known takes "
        f"{answer.fewest_steps}"
    )


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
            max_steps=args.max_steps, spot=Spot(args.seconds, args.seed), progress=bar,
        )  # fmt: skip
    if args.all_to_all or workload.all_to_all:
        with progress_bar("all-to-all", " topologies") as bar:
            answer = answer.ranked_by_all_to_all(progress=bar)
    trained = None if args.job is None else jobs.choose(training, answer, fabric)
    if trained is not None:
        best, time = trained.best, trained.time
    else:
        best = pick(answer, fabric, workload)
        time = None if best is None else workload.time(fabric, args.nodes, best.allreduce_cost, best.flow)
    found = windows(answer, fabric, sizes) if sizes and answer.frontier else ()
    if args.selector is not None and found:
        selector_of(found).save(args.selector)
    if args.plot:
        from linkstep.pictures.frontier import plot_frontier

        limits = {"bidirectional": args.bidirectional, "max_steps": args.max_steps}
        paper = None if args.families == "paper" else find(args.nodes, args.degree, families="paper", **limits)
        plot_frontier(answer, args.plot, paper=paper, fabric=fabric, size=args.size)
    new = [choice for choice in answer.frontier if choice.origin == FOUND]
    kept = keep_choices(new) if args.keep and new else None
    if args.json:
        more = {} if trained is None else jobs.job_facts(trained)
        print_json(_json(answer, fabric, args, best, time) | _windows_json(found, fabric, args) | more)
        return 0
    both = ", links both ways" if args.bidirectional else ""
    print(f"{args.nodes} servers, {args.degree} ports each{both}; {_fabric_line(args)}")
    print("T_L in steps (times alpha), T_B in M/B, of each half of an allreduce (reduce-scatter + allgather if they")
    print("differ); f: what every pair can get at once in an all-to-all, a link being 1 (<=: a bound)\n")
    _print(answer, fabric, args.size)
    if best is None:
        print(f"\n{_nothing(answer, args.max_steps)}")
        return 0
    collective = Collective.ALL_TO_ALL if args.all_to_all else Collective.ALLREDUCE
    what = f"the job in {args.sizes}" if job else f"an {collective} of {args.size}"
    if trained is not None:
        jobs.print_job(trained)
        what = f"training {trained.job.model}"
    print(f"\nbest for {what}: {_name(best)}, {format_time(time or 0)}")
    if args.explain:
        print()
        print("\n".join(explain(best.recipe, best.method)))
    else:
        how = "" if args.all_to_all else _how(best)
        print(f"next: linkstep schedule '{best.recipe.short}'{how} --collective {collective} -o {collective}.npz")
    if kept is not None:
        print(f"kept in {kept}: the next time it is known")
    elif new:
        print("found just now, and not in the catalog: --keep adds it to yours; more --seconds may find better")
    if args.families == "paper":
        _print_paper(answer, fabric, args.size)
    if found:
        print()
        _print_windows(found, fabric)
    if args.selector is not None:
        print(f"saved to {args.selector}")
    if args.plot:
        print(f"plotted to {args.plot}")
    return 0


def _print_paper(answer: Answer, fabric: Fabric, size: str) -> None:
    """Say where twice the allgather, which the paper counts, is not what an allreduce costs."""
    for choice in answer.frontier:
        if choice.cost != choice.reduce_scatter:
            twice = fabric.time(choice.cost + choice.cost, Collective.ALLREDUCE, size)
            time = fabric.time(choice.allreduce_cost, Collective.ALLREDUCE, size)
            print(
                f"{choice.recipe.short}: the paper counts 2 (T_L + T_B) of its allgather, {format_time(twice)}; its "
                f"reduce-scatter costs {choice.reduce_scatter}, so an allreduce takes {format_time(time)}"
            )


def _how(choice: Choice) -> str:
    """Return the options of ``linkstep schedule`` that make a choice's schedule."""
    if choice.method == "arrival":
        steps = dict.fromkeys((choice.reduce_scatter.steps, choice.cost.steps))
        return f" --method arrival --steps {','.join(map(str, steps))} --rounds {ROUNDS}"
    return f" --method {choice.method}" if choice.recipe.parts else ""


def _fabric_line(args: argparse.Namespace) -> str:
    values = fabric_values(args, args.degree)
    call = "" if values["overhead"] == "0s" else f", {values['overhead']} a call"
    return f"alpha {values['alpha']}, {values['bandwidth']} a server{call}"


def _window_times(window: Window, fabric: Fabric) -> list[Fraction]:
    cost = window.choice.allreduce_cost
    return [fabric.time(cost, Collective.ALLREDUCE, size) for size in (window.smallest, window.largest)]


def _print_windows(found: Sequence[Window], fabric: Fabric) -> None:
    rows = []
    for window in found:
        first, last = (format_time(time) for time in _window_times(window, fabric))
        name, cost = window.choice.recipe.short, str(window.choice.allreduce_cost)
        rows.append((str(window.smallest), str(window.largest), name, cost, first, last))
    print_table(("from bytes", "to bytes", "fastest allreduce", "cost", "takes", "to"), rows, right=(0, 1, 4, 5))


def _windows_json(found: Sequence[Window], fabric: Fabric, args: argparse.Namespace) -> dict[str, Any]:
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


def _json(
    answer: Answer, fabric: Fabric, args: argparse.Namespace, best: Choice | None, time: Fraction | None
) -> dict[str, Any]:
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


COMMAND = Command(
    name="find",
    help="find the best topologies for N servers with d ports each",
    example="linkstep find 1024 4 --size 100MB --explain",
    add_arguments=_add_arguments,
    run=_run,
)
