"""``linkstep schedule``: make a schedule for a topology, check it, save it."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import Any

from linkstep.cli._common import Command, Given, add_json, print_fields, print_json, read
from linkstep.cli._progress import progress_bar
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import COLLECTIVES, Schedule
from linkstep.core.topology import Topology
from linkstep.correctness import check
from linkstep.costs import Cost, bandwidth_bound, cost_of, moore_steps
from linkstep.files import check_savable, save
from linkstep.methods.bfb import Certificate, bfb_allgather, bfb_certificate
from linkstep.methods.transform import allreduce, from_root, reverse


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology file")
    parser.add_argument("--collective", choices=COLLECTIVES, default="allgather", help="default: allgather")
    parser.add_argument("--root", type=int, default=0, metavar="NODE", help="of a broadcast or a reduce; default: 0")
    parser.add_argument(
        "--method",
        choices=["best", "expand", "bfb"],
        default="best",
        help="expand the base's schedule as the recipe says, or breadth-first broadcast on the result; "
        "default: BFB if it is no worse in steps and bandwidth",
    )
    parser.add_argument("--chunks", type=int, metavar="P", help="cut each shard into exactly P equal chunks (BFB)")
    parser.add_argument(
        "--size", metavar="BYTES", help="bytes in all, such as 1MB: decides where links differ in latency (BFB)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="save the schedule (.npz, or .json to read it)")
    add_json(parser)


@dataclass(frozen=True)
class Wanted:
    """What schedule to make; ``method`` is best, expand or bfb."""

    collective: str = "allgather"
    root: int = 0
    method: str = "best"
    chunks: int | None = None
    size: str | None = None


def _by_bfb(topology: Topology, wanted: Wanted) -> Schedule:
    def gather(on: Topology) -> Schedule:
        with progress_bar("schedule") as bar:
            return bfb_allgather(on, wanted.chunks, size=wanted.size, progress=bar)

    if wanted.collective == "allgather":
        return gather(topology)
    if wanted.collective == "broadcast":
        return from_root(gather(topology), wanted.root)
    scatter = replace(reverse(gather(topology.transpose())), topology=topology)
    if wanted.collective == "reduce":
        return from_root(scatter, wanted.root)
    return scatter if wanted.collective == "reduce-scatter" else allreduce(scatter, gather(topology))


def _method(given: Given, certificate: Certificate, wanted: Wanted) -> str:
    """Choose between the recipe's own schedule and BFB."""
    only_bfb = given.recipe is None or wanted.chunks or wanted.size
    if wanted.method == "expand" and only_bfb:
        raise LinkstepError("--method expand needs a recipe, and neither --chunks nor --size")
    if wanted.method != "best" or only_bfb:
        return "expand" if wanted.method == "expand" else "bfb"
    assert given.recipe is not None
    expanded, found = given.recipe.cost, certificate.cost
    return "bfb" if found.steps <= expanded.steps and found.bandwidth <= expanded.bandwidth else "expand"


def make_schedule(given: Given, wanted: Wanted) -> tuple[Schedule, str, Certificate]:
    """Make and check a schedule; return it with the method that was better and the certificate of BFB."""
    if not 0 <= wanted.root < given.topology.num_nodes:
        raise LinkstepError(f"--root must be a node in [0, {given.topology.num_nodes}), not {wanted.root}")
    with progress_bar("cost") as bar:
        certificate = bfb_certificate(given.topology, progress=bar)
    method = _method(given, certificate, wanted)
    if method == "expand":
        assert given.recipe is not None
        schedule = given.recipe.build(wanted.collective, wanted.root)
    else:
        schedule = _by_bfb(given.topology, wanted)
    check(schedule)
    return schedule, method, certificate


def _run(args: argparse.Namespace) -> int:
    given = read(args.topology)
    if args.output:
        check_savable(Schedule, args.output)
    wanted = Wanted(args.collective, args.root, args.method, args.chunks, args.size)
    schedule, method, certificate = make_schedule(given, wanted)
    if args.output:
        save(schedule, args.output)
    facts = _facts(given, schedule, certificate, method) | {"file": args.output}
    if args.json:
        print_json(facts)
    else:
        _print(args.topology, facts)
    return 0


def _facts(given: Given, schedule: Schedule, certificate: Certificate, method: str) -> dict[str, Any]:
    topology, cost = given.topology, cost_of(schedule)
    passes = 2 if schedule.collective == "allreduce" else 1
    rooted = schedule.collective in ("broadcast", "reduce")
    bound = Cost(
        passes * moore_steps(topology.num_nodes, topology.degree), passes * bandwidth_bound(topology.num_nodes)
    )
    optimal = None if rooted else cost.bandwidth == bound.bandwidth
    return {
        "recipe": topology.name or None,
        "collective": schedule.collective,
        "method": method,
        "steps": cost.steps,
        "bandwidth": cost.bandwidth,
        "unit": schedule.unit,
        "rows": schedule.num_rows,
        "moore_bound": bound.steps,
        "bandwidth_bound": None if rooted else bound.bandwidth,
        "moore_optimal": cost.steps == bound.steps,
        "bandwidth_optimal": optimal,
        "limited_by": certificate.explain_bandwidth() if optimal is False and method == "bfb" else None,
        "best_bfb_allgather": {"steps": certificate.cost.steps, "bandwidth": certificate.cost.bandwidth},
    }


def _print(name: str, facts: dict[str, Any]) -> None:
    how = "breadth-first broadcast" if facts["method"] == "bfb" else "expanded from its base"
    print(f"{facts['recipe'] or name}: {facts['collective']} by {how}, checked")
    moore = "Moore-optimal" if facts["moore_optimal"] else f"not Moore-optimal (bound {facts['moore_bound']})"
    fields = [
        ("T_L", f"{facts['steps']} steps, {moore}"),
        ("T_B", f"{facts['bandwidth']} = {float(facts['bandwidth']):.4f} M/B"),
    ]
    if facts["bandwidth_optimal"] is not None:
        reached = "yes" if facts["bandwidth_optimal"] else f"no (bound {facts['bandwidth_bound']})"
        fields.append(("bandwidth-optimal", reached))
    if facts["limited_by"]:
        fields.append(("  limited by", facts["limited_by"]))
    fields += [("chunks a shard", str(facts["unit"])), ("rows", str(facts["rows"]))]
    print_fields(fields)
    if facts["file"]:
        print(f"saved to {facts['file']}")


COMMAND = Command(
    name="schedule",
    help="make a schedule for a topology, check it and save it",
    example="linkstep schedule 'Torus(8,8)' --collective allreduce -o allreduce.npz",
    add_arguments=_add_arguments,
    run=_run,
)
