"""``linkstep lower``: print a schedule as a runtime's file, verified, and say how the runtime picks it up."""

from __future__ import annotations

import argparse
from typing import Any

from linkstep.cli._common import Command, add_json, print_fields, print_json, read, schedule_of
from linkstep.cli._progress import progress_bar
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import COLLECTIVES
from linkstep.core.units import parse_size
from linkstep.costs import cost_of
from linkstep.files import write_atomically
from linkstep.lowering import MAX_BYTES, TARGETS, Lowered, lower

_ENVIRONMENT = {
    "msccl": "MSCCL_XML_FILES={file} NCCL_ALGO=MSCCL,RING,TREE",
    "msccl-azure": "MSCCL_ALGO_DIR={folder}",
    "rccl": "MSCCL_ALGO_DIR={folder} RCCL_MSCCL_FORCE_ENABLE=1",
}


def add_schedule_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names a schedule: RECIPE|FILE, and for those that hold none the collective and its root."""
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology or schedule file")
    parser.add_argument("--collective", choices=COLLECTIVES, help="default: the file's own, else allreduce")
    parser.add_argument("--root", type=int, default=0, metavar="NODE", help="of a broadcast or a reduce; default: 0")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_schedule_arguments(parser)
    parser.add_argument("--to", required=True, choices=tuple(TARGETS), help="the runtime")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write: .xml, .json of mscclpp")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--inplace", action="store_true", help="input and output share memory")
    place.add_argument("--out-of-place", action="store_false", dest="inplace", help="they do not: the default")
    parser.add_argument("--proto", default="Simple", choices=["Simple", "LL", "LL128"], help="default: Simple")
    parser.add_argument("--channels", type=int, metavar="C", help="channels a link; default: the fewest that fit")
    parser.add_argument("--instances", type=int, default=1, metavar="I", help="cut messages into I, sent side by side")
    parser.add_argument("--chunks", type=int, metavar="P", help="chunks a shard; default: the fewest that do")
    parser.add_argument(
        "--gather",
        metavar="BYTES",
        help="send pieces of BYTES or less, when the data is --max-bytes, together with others of their step and link; "
        "default: what pays, four or more of 512B for cpu, else none",
    )
    parser.add_argument("--min-bytes", default="0B", metavar="BYTES", help="smallest data to use it for; default: 0B")
    parser.add_argument("--max-bytes", metavar="BYTES", help="largest data to use it for; default: 1TiB")
    add_json(parser)


def _bytes(text: str, option: str) -> int:
    size = parse_size(text)
    if size.denominator != 1:
        raise LinkstepError(f"{option} must be whole bytes, not {text}")
    return int(size)


def _verify(lowered: Lowered) -> None:
    """Raise if the verifier, which knows nothing of how the file was made, refutes it."""
    from linkstep.verification import verify_text

    errors = verify_text(lowered.text, lowered.target.name).errors
    if errors:  # a bug of ours: better no file than a wrong one
        raise LinkstepError(f"not written, the verifier refutes it ({errors[0]}): please report this")


def _facts(lowered: Lowered, args: argparse.Namespace) -> dict[str, Any]:
    plan, program = lowered.placement, lowered.blocks
    topology = plan.schedule.topology
    folder = args.output.rpartition("/")[0] or "."
    environment = _ENVIRONMENT.get(args.to)
    return {
        "recipe": topology.name or None,
        "collective": plan.schedule.collective,
        "to": args.to,
        "file": args.output,
        "ranks": plan.num_ranks,
        "root": None if plan.root < 0 else plan.root,
        "inplace": plan.inplace,
        "chunks": plan.num_chunks,
        "channels": plan.num_channels,
        "messages": len(plan.messages),
        "threadblocks": None if program is None else max(len(blocks) for blocks in program.ranks),
        "instructions": None if program is None else program.num_instructions,
        "fused": None if program is None else program.num_fused,
        "scratch_chunks": max(s for _, _, s in (plan.sizes if program is None else program.sizes)),
        "cost": str(cost_of(plan.schedule)),
        "min_bytes": lowered.window[0],
        "max_bytes": lowered.window[1],
        "environment": None if environment is None else environment.format(file=args.output, folder=folder),
        "divisible_by": plan.num_chunks * (16 if args.to == "mscclpp" else 1),
    }


def _run(args: argparse.Namespace) -> int:
    window = (
        _bytes(args.min_bytes, "--min-bytes"),
        MAX_BYTES if args.max_bytes is None else _bytes(args.max_bytes, "--max-bytes"),
    )
    schedule = schedule_of(read(args.topology), args.collective, args.root).schedule
    gather = None if args.gather is None else _bytes(args.gather, "--gather")
    with progress_bar("lower and verify", " passes") as bar:
        bar(0, 2)
        lowered = lower(
            schedule, args.to, inplace=args.inplace, proto=args.proto, channels=args.channels, instances=args.instances,
            chunks=args.chunks, gather=gather, min_bytes=window[0], max_bytes=window[1],
        )  # fmt: skip
        bar(1, 2)
        _verify(lowered)
    write_atomically(args.output, lambda file: file.writelines([lowered.text.encode()]))
    facts = _facts(lowered, args)
    if args.json:
        print_json(facts)
    else:
        _print(args.topology, facts)
    return 0


def _print(name: str, facts: dict[str, Any]) -> None:
    place = "in place" if facts["inplace"] else "out of place"
    print(f"{facts['recipe'] or name}: {facts['collective']}, {place}, lowered to {facts['to']} and verified")
    fields = [
        ("schedule", facts["cost"]),
        ("data in", f"{facts['chunks']} chunks, {facts['scratch_chunks']} more of scratch"),
        ("messages", f"{facts['messages']} over {facts['channels']} channel{'s' * (facts['channels'] > 1)}"),
    ]
    if facts["threadblocks"] is not None:
        fields.append(("a rank", f"at most {facts['threadblocks']} threadblocks"))
        fused = f", {facts['fused']} of them receive and send on" if facts["fused"] else ""
        fields.append(("instructions", f"{facts['instructions']} in all{fused}"))
    print_fields(fields)
    print("the runtime picks it up if")
    print_fields(_conditions(facts))
    print(f"saved to {facts['file']}")


def _conditions(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what must hold at run time, or the runtime falls back without a word."""
    unit = "bytes" if facts["to"] == "mscclpp" else "elements"
    found = [("ranks", str(facts["ranks"]))]
    if facts["root"] is not None:
        blind = "" if facts["to"] == "cpu" else ", which it does not look at: let no other call be"
        found.append(("root", f"{facts['root']}{blind}"))
    if facts["environment"] is not None:
        found.append(("environment", facts["environment"]))
    if facts["to"] == "mscclpp":
        found.append(("loaded by", f"mscclpp::ExecutionPlan({facts['file']!r}, rank)"))
    if facts["to"] == "cpu":
        found.append(("loaded by", "an interpreter of docs/cpu-xml.md"))
    found.append(("data in all", f"a multiple of {facts['divisible_by']} {unit}"))
    if facts["to"] != "cpu":
        found.append(("size", f"{facts['min_bytes']} to {facts['max_bytes']} bytes"))
        buffers = "in place" if facts["inplace"] else "separate input and output"
        found.append(("buffers", buffers))
    return found


COMMAND = Command(
    name="lower",
    help="lower a schedule to a runtime's file: MSCCL XML, MSCCL++ JSON, CPU XML",
    example="linkstep lower 'Torus(4,4)' --collective allreduce --to rccl -o allreduce.xml",
    add_arguments=_add_arguments,
    run=_run,
)
