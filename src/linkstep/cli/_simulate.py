"""``linkstep simulate``: run a lowered schedule on a simulated fabric, instruction by instruction."""

from __future__ import annotations

import argparse
from typing import Any

from linkstep.cli._common import Command, add_json, print_fields, print_json, read
from linkstep.cli._lower import add_schedule_arguments, schedule_of
from linkstep.cost import Fabric, cost_of
from linkstep.errors import LinkstepError
from linkstep.lower import program_of
from linkstep.simulate import Simulation, draw_timeline, simulate
from linkstep.units import format_time, parse_time

TALLEST = 40


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_schedule_arguments(parser)
    parser.add_argument("--alpha", default="10us", metavar="TIME", help="latency of a hop; default: 10us")
    parser.add_argument("--bandwidth", default="100Gbps", metavar="RATE", help="B of a node; default: 100Gbps")
    parser.add_argument("--size", default="1MB", metavar="BYTES", help="the data in all; default: 1MB")
    parser.add_argument("--reduction", metavar="RATE", help="how fast a node adds up; default: infinitely")
    parser.add_argument("--instruction", default="0s", metavar="TIME", help="overhead an instruction; default: none")
    parser.add_argument("--channels", type=int, default=1, metavar="C", help="channels a link; default: 1")
    parser.add_argument("--instances", type=int, default=1, metavar="I", help="cut messages into I; default: 1")
    parser.add_argument("--timeline", metavar="FILE", help="draw when each link is busy, to a .svg or .png file")
    add_json(parser)


def _facts(done: Simulation, args: argparse.Namespace) -> dict[str, Any]:
    schedule = done.program.plan.schedule
    return {
        "recipe": schedule.topology.name or None,
        "collective": schedule.collective,
        "size": args.size,
        "alpha": args.alpha,
        "bandwidth": args.bandwidth,
        "cost": str(cost_of(schedule)),
        "predicted_seconds": done.predicted,
        "simulated_seconds": done.time,
        "loss": done.loss,
        "instructions": done.program.num_instructions,
        "timeline": args.timeline,
    }


def _run(args: argparse.Namespace) -> int:
    schedule = schedule_of(read(args.topology), args.collective, args.root)
    topology = schedule.topology
    if topology.num_nodes == 1:
        raise LinkstepError("one node alone has nothing to send")
    fabric = Fabric.of(args.alpha, args.bandwidth, topology.degree, args.reduction)
    program = program_of(schedule, channels=args.channels, instances=args.instances)
    done = simulate(program, fabric, args.size, instruction_time=float(parse_time(args.instruction)))
    if args.timeline:
        from linkstep.plot import save_figure

        height = min(max(3.0, 1.5 + topology.num_links / 6), TALLEST)
        save_figure(lambda axes: draw_timeline(done, axes), args.timeline, (9, height))
    facts = _facts(done, args)
    if args.json:
        print_json(facts)
        return 0
    print(f"{facts['recipe'] or args.topology}: {facts['collective']} of {args.size}, simulated")
    change = f"{abs(done.loss):.1%} {'slower' if done.loss > 0 else 'faster'}" if abs(done.loss) > 5e-4 else "the same"
    print_fields(
        [
            ("schedule", f"{facts['cost']} = {format_time(done.predicted)}"),
            ("simulated", f"{format_time(done.time)}, {change}"),
            ("instructions", str(facts["instructions"])),
        ]
    )
    if args.timeline:
        print(f"drawn to {args.timeline}")
    return 0


COMMAND = Command(
    name="simulate",
    help="run a lowered schedule on a simulated fabric, instruction by instruction",
    example="linkstep simulate 'Torus(4,4)' --size 16MB --timeline links.svg",
    add_arguments=_add_arguments,
    run=_run,
)
