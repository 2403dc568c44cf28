"""``linkstep find``: which topology to wire for N servers with d ports each."""

from __future__ import annotations

import argparse
import csv
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from linkstep.cli._common import Command, add_json, print_json, print_table
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.units import format_time, parse_size
from linkstep.costs import Cost, Fabric
from linkstep.recipe import parse
from linkstep.recipe.explanation import explain
from linkstep.search import Answer, Found, Workload, find, pick


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("nodes", type=int, metavar="NODES", help="how many servers")
    parser.add_argument("degree", type=int, metavar="DEGREE", help="ports on each")
    parser.add_argument("--bidirectional", action="store_true", help="only topologies whose links all go both ways")
    parser.add_argument("--max-steps", type=int, metavar="T", help="leave out what takes more steps than this")
    parser.add_argument(
        "--families",
        choices=["all", "paper"],
        default="all",
        help="start from everything linkstep knows (default) or from the paper's bases alone",
    )
    parser.add_argument("--alpha", default="10us", metavar="TIME", help="latency of a hop; default: 10us")
    parser.add_argument(
        "--bandwidth", default="100Gbps", metavar="RATE", help="of a server, all ports; default: 100Gbps"
    )
    parser.add_argument("--size", default="1MB", metavar="BYTES", help="of the allreduce; default: 1MB")
    parser.add_argument(
        "--sizes",
        type=Path,
        metavar="FILE",
        help="pick by a job's collectives: a CSV of collective,size,count lines or a JSON list of such objects, "
        "where collective is allreduce or all-to-all",
    )
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


def _row(found: Found, answer: Answer, fabric: Fabric, size: str) -> dict[str, Any]:
    time, bound = (
        fabric.time(found.cost + found.cost, "allreduce", size),
        fabric.time(answer.bound + answer.bound, "allreduce", size),
    )
    return {
        "recipe": found.recipe,
        "method": found.method,
        "steps": found.cost.steps,
        "bandwidth": found.cost.bandwidth,
        "allreduce_seconds": float(time),
        "allreduce_over_bound": float(time / bound),
        "diameter": found.diameter,
        "all_to_all_bound": found.flow,
        "bandwidth_optimal": found.is_bandwidth_optimal,
        "moore_optimal": found.is_moore_optimal,
        "bidirectional": found.is_bidirectional,
    }


def _flow(flow: Fraction | None) -> str:
    return "-" if flow is None else f"{float(flow):.2e}"


def _bandwidth(bandwidth: Fraction) -> str:
    return f"{float(bandwidth):.4f}"


def _print(answer: Answer, fabric: Fabric, size: str) -> None:
    def line(
        name: str, cost: Cost | None, time: Fraction, diameter: str, flow: Fraction | None, notes: str
    ) -> tuple[str, ...]:
        over = time / fabric.time(answer.bound + answer.bound, "allreduce", size)
        steps, bandwidth = ("-", "-") if cost is None else (str(cost.steps), _bandwidth(cost.bandwidth))
        return name, steps, bandwidth, format_time(time), f"{float(over):.2f}x", diameter, _flow(flow), notes

    head = ("topology", "T_L", "T_B", f"allreduce {size}", "bound", "diameter", "all-to-all", "")
    rows = []
    for found in answer.frontier:
        notes = [
            w
            for w, yes in (("bandwidth-optimal", found.is_bandwidth_optimal), ("Moore-optimal", found.is_moore_optimal))
            if yes
        ]
        diameter = "-" if found.diameter is None else str(found.diameter)
        time = fabric.time(found.cost + found.cost, "allreduce", size)
        rows.append(line(found.recipe, found.cost, time, diameter, found.flow, ", ".join(notes)))
    best = fabric.time(answer.bound + answer.bound, "allreduce", size)
    rows.append(line("no graph beats", answer.bound, best, str(answer.bound.steps), answer.flow_bound, ""))
    rows += [
        line(f"today: {b.name}", b.cost, b.allreduce_time(fabric, size), "-", b.flow, "") for b in answer.baselines
    ]
    print_table(head, rows, right=range(1, 7))


def _run(args: argparse.Namespace) -> int:
    fabric = Fabric.of(args.alpha, args.bandwidth, max(args.degree, 1))
    parse_size(args.size)
    if args.max_steps is not None and args.max_steps < 1:
        raise LinkstepError(f"--max-steps must be at least 1, not {args.max_steps}")
    workload = read_workload(args.sizes) if args.sizes else Workload.of(args.size)
    answer = find(
        args.nodes, args.degree, families=args.families, bidirectional=args.bidirectional, max_steps=args.max_steps
    )
    best = pick(answer, fabric, workload)
    if args.plot:
        from linkstep.pictures.frontier import plot_frontier

        limits = {"bidirectional": args.bidirectional, "max_steps": args.max_steps}
        paper = None if args.families == "paper" else find(args.nodes, args.degree, families="paper", **limits)
        plot_frontier(answer, args.plot, paper=paper, fabric=fabric, size=args.size)
    if args.json:
        print_json(_json(answer, fabric, args.size, best, workload))
        return 0
    both = ", links both ways" if args.bidirectional else ""
    print(f"{args.nodes} servers, {args.degree} ports each{both}; alpha {args.alpha}, {args.bandwidth} a server")
    print("T_L in steps (times alpha), T_B in M/B; all-to-all: most flow a pair can get, a link being 1\n")
    _print(answer, fabric, args.size)
    if best is None:
        print("\nnothing found: allow more steps or links one way")
        return 0
    time = workload.time(fabric, args.nodes, best.cost, best.flow)
    what = f"the job in {args.sizes}" if args.sizes else f"an allreduce of {args.size}"
    print(f"\nbest for {what}: {best.recipe}, {format_time(time or 0)}")
    if args.explain:
        print()
        print("\n".join(explain(parse(best.recipe), best.method)))
    else:
        print(f"next: linkstep schedule '{best.recipe}' --collective allreduce -o allreduce.npz")
    if args.plot:
        print(f"plotted to {args.plot}")
    return 0


def _json(answer: Answer, fabric: Fabric, size: str, best: Found | None, workload: Workload) -> dict[str, Any]:
    return {
        "nodes": answer.num_nodes,
        "degree": answer.degree,
        "frontier": [_row(found, answer, fabric, size) for found in answer.frontier],
        "bounds": {
            "steps": answer.bound.steps,
            "bandwidth": answer.bound.bandwidth,
            "all_to_all_bound": answer.flow_bound,
            "allreduce_seconds": float(fabric.time(answer.bound + answer.bound, "allreduce", size)),
        },
        "baselines": [
            {
                "name": b.name,
                "steps": b.cost and b.cost.steps,
                "bandwidth": b.cost and b.cost.bandwidth,
                "allreduce_seconds": float(b.allreduce_time(fabric, size)),
                "all_to_all_bound": b.flow,
            }
            for b in answer.baselines
        ],
        "best": None
        if best is None
        else {
            "recipe": best.recipe,
            "seconds": float(workload.time(fabric, answer.num_nodes, best.cost, best.flow) or 0),
        },
    }


COMMAND = Command(
    name="find",
    help="find the best topologies for N servers with d ports each",
    example="linkstep find 1024 4 --size 100MB --explain",
    add_arguments=_add_arguments,
    run=_run,
)
