"""``linkstep lower``: print a schedule as a runtime's file, verified, and say how the runtime picks it up."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import nullcontext, redirect_stdout
from fractions import Fraction
from pathlib import Path
from typing import Any

from linkstep.cli._common import (
    DEFAULT,
    Command,
    add_bandwidth,
    add_collective,
    add_faults,
    add_json,
    print_fields,
    print_json,
    read,
    schedule_of,
)
from linkstep.cli._progress import progress_bar
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.progress import Progress
from linkstep.core.units import format_size, parse_size
from linkstep.costs import cost_of
from linkstep.files import SUFFIXES, check_writable, write_atomically
from linkstep.files.disk import is_standard_output, to_path
from linkstep.lowering import MAX_SCRATCH, TARGETS, Lowered, Target, check_fits, lower
from linkstep.lowering.registration import (
    algorithm_call,
    check_module_path,
    module_beside,
    plan_of,
    plans_of,
    registration,
)
from linkstep.selector import Rule, Selector, check_selector_path, source_beside, update_selector

_SHOWN = 16
"""Names of hosts that are printed; --json has all."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology or schedule file")
    add_collective(parser)
    add_bandwidth(parser)
    add_faults(parser)
    parser.add_argument("--to", required=True, choices=tuple(TARGETS), help="the runtime")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write: .xml, .json of mscclpp")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--inplace", action="store_true", help="input and output share memory")
    place.add_argument("--out-of-place", action="store_false", dest="inplace", help="they do not: the default")
    parser.add_argument("--proto", default="Simple", choices=["Simple", "LL", "LL128"], help="default: Simple")
    parser.add_argument("--channels", type=int, metavar="C", help="channels of each link; default: the fewest that fit")
    parser.add_argument("--instances", type=int, default=1, metavar="I", help="cut messages into I, sent side by side")
    parser.add_argument("--chunks", type=int, metavar="P", help="chunks of a shard; default: the fewest that do")
    parser.add_argument(
        "--gather",
        metavar="BYTES",
        help="send pieces of BYTES or less, when the data is --max-bytes, together with others of their step and link; "
        "default: what pays, four or more of 512B for cpu, else none",
    )
    parser.add_argument("--min-bytes", default="0B", metavar="BYTES", help="smallest data to use it for; default: 0B")
    parser.add_argument(
        "--max-bytes",
        metavar="BYTES",
        help="largest data to use it for; default: 1TiB, or less where msccl or mscclpp could allocate more than 1GiB "
        "of scratch; mscclpp stays below 4GiB",
    )
    parser.add_argument(
        "--selector",
        metavar="FILE",
        help="add the file to a selector, which says what serves which size; made if new; for mscclpp, also write the "
        "Python that registers its plans, beside it",
    )
    add_json(parser)


def parse_bytes(text: str, option: str) -> int:
    """Return the bytes that an option asks for; LinkstepError if they are not whole."""
    size = parse_size(text)
    if size.denominator != 1:
        raise LinkstepError(f"{option} must be whole bytes, not {text}")
    return int(size)


def _check_output(name: str, target: Target) -> None:
    """Raise if the file's name is for another format, or no file can be written there."""
    path = to_path(name)
    suffix = path.suffix.lower()
    if suffix in (*SUFFIXES, ".xml") and suffix != target.suffix:
        raise FileError(f"{name}: a file for {target.name} is named {path.stem}{target.suffix}, not {suffix}")
    check_writable(name)


def _verify(lowered: Lowered, progress: Progress) -> None:
    """Raise unless the verifier, which knows nothing of how the file was made, proves it right."""
    from linkstep.verification import verify_text

    report = verify_text(lowered.text, lowered.target.name, progress=progress)
    if report.errors:  # a bug of ours: better no file than a wrong one
        raise LinkstepError(f"not written, the verifier refutes it ({report.errors[0]}): please report this")
    if not report.is_verified:
        raise LinkstepError(f"not written: it {report.unknowns[0].message}")


def _environment(target: Target, path: Path) -> str | None:
    if not target.environment:
        return None
    return target.environment.format(file=shlex.quote(str(path)), folder=shlex.quote(str(path.parent)))


def _facts(lowered: Lowered, args: argparse.Namespace) -> dict[str, Any]:
    placement, blocks, target = lowered.placement, lowered.blocks, lowered.target
    path = Path(args.output).absolute()
    plan = plan_of(lowered, str(path)) if target.registers else None
    return {
        "recipe": placement.schedule.topology.name or None,
        "collective": placement.collective,
        "to": target.name,
        "runtime": target.note,
        "file": args.output,
        "path": str(path),
        "ranks": placement.num_ranks,
        "hosts": placement.schedule.topology.labels,
        "root": None if placement.root < 0 else placement.root,
        "inplace": placement.inplace,
        "chunks": placement.num_chunks,
        "channels": placement.num_channels,
        "messages": len(placement.messages),
        "threadblocks": None if blocks is None else max(len(several) for several in blocks.ranks),
        "instructions": None if blocks is None else blocks.num_instructions,
        "fused": None if blocks is None else blocks.num_fused,
        "scratch_chunks": lowered.scratch_chunks,
        "scratch_bytes": lowered.scratch_bytes,
        "scratch_at_start": target.scratch_at_start,
        "scratch_by_allocation": target.scratch_by_allocation,
        "scratch_share": str(lowered.scratch_share),
        "name": lowered.name or None,
        "registration": None if plan is None else algorithm_call(plan, path),
        "cost": str(cost_of(placement.schedule)),
        "min_bytes": lowered.window.smallest,
        "max_bytes": lowered.window.largest,
        "environment": _environment(target, path),
        "shares_folder": target.reads_folder and _has_others(path),
        "selector": args.selector,
        "divisible_by": lowered.multiple,
    }


def _has_others(path: Path) -> bool:
    """Whether the file's directory holds other files."""
    return any(other.name != path.name and other.is_file() for other in path.parent.iterdir())


def _lower(args: argparse.Namespace) -> Lowered:
    smallest = parse_bytes(args.min_bytes, "--min-bytes")
    largest = None if args.max_bytes is None else parse_bytes(args.max_bytes, "--max-bytes")
    gather = None if args.gather is None else parse_bytes(args.gather, "--gather")
    _check_output(args.output, TARGETS[args.to])
    if args.selector is not None:
        check_selector_path(args.selector)
        source_beside(args.selector, args.output)
        if TARGETS[args.to].registers:
            check_module_path(module_beside(args.selector))
    given = read(args.topology, args)
    if given.schedule is None:
        check_fits(
            args.to, given.topology, args.collective or DEFAULT, proto=args.proto, channels=args.channels,
            instances=args.instances, chunks=args.chunks,
        )  # fmt: skip
    schedule = schedule_of(given, args.collective, args.root).schedule
    with progress_bar("lower", " parts") as bar:
        return lower(
            schedule, args.to, inplace=args.inplace, proto=args.proto, channels=args.channels, instances=args.instances,
            chunks=args.chunks, gather=gather, min_bytes=smallest, max_bytes=largest, progress=bar,
        )  # fmt: skip


def _warn(facts: dict[str, Any], asked: int | None) -> None:
    """Say on standard error where the window is not what was asked for, and where it costs much scratch."""
    warnings = []
    size, largest = format_size(facts["scratch_bytes"], binary=True), format_size(facts["max_bytes"], binary=True)
    if asked is not None and facts["max_bytes"] < asked:
        end = f"{facts['max_bytes']} bytes, not at --max-bytes"
        warnings.append(f"the sizes of {facts['to']} are 32 bits: the window ends at {end}")
    if (facts["scratch_at_start"] or facts["scratch_by_allocation"]) and facts["scratch_bytes"] > MAX_SCRATCH:
        start, large = "when it starts", f"where the send buffer lies in an allocation of {largest} or more"
        why = f"{facts['to']} allocates {size} of scratch on a rank {start if facts['scratch_at_start'] else large}"
        warnings.append(f"{why}; a smaller --max-bytes needs less")
    for warning in warnings:
        print(f"linkstep: warning: {warning}", file=sys.stderr)


def _run(args: argparse.Namespace) -> int:
    lowered = _lower(args)
    with progress_bar("verify", " parts") as bar:
        _verify(lowered, bar)
    if args.selector is None:
        _write(lowered, args)
    else:
        update_selector(args.selector, lambda selector: _write_selected(lowered, args, selector))
    facts = _facts(lowered, args)
    _warn(facts, None if args.max_bytes is None else parse_bytes(args.max_bytes, "--max-bytes"))
    # Whoever reads the file from standard output reads nothing else there.
    with redirect_stdout(sys.stderr) if is_standard_output(args.output) else nullcontext():
        if args.json:
            print_json(facts)
        else:
            _print(args.topology, facts)
    return 0


def _write(lowered: Lowered, args: argparse.Namespace) -> None:
    write_atomically(args.output, lambda file: file.writelines([lowered.text.encode()]))


def _write_selected(lowered: Lowered, args: argparse.Namespace, selector: Selector) -> Selector:
    """Write the file once it is known that no other rule serves its sizes, and return the new selector."""
    window, source = lowered.window, source_beside(args.selector, args.output)
    changed = selector.with_rule(
        Rule(
            lowered.placement.collective,
            window.smallest,
            window.largest,
            source,
            dialect=lowered.target.name,
            inplace=lowered.placement.inplace if lowered.target.registers else None,
        )
    )
    module = registration(plans_of(changed, plan_of(lowered, source))) if lowered.target.registers else None
    _write(lowered, args)
    if module is not None:
        write_atomically(module_beside(args.selector), lambda file: file.writelines([module.encode()]))
    return changed


def _print(name: str, facts: dict[str, Any]) -> None:
    place = "in place" if facts["inplace"] else "out of place"
    print(f"{facts['recipe'] or name}: {facts['collective']}, {place}, lowered to {facts['to']} and verified")
    fields = [
        ("runtime", facts["runtime"]),
        ("schedule", facts["cost"]),
        ("data in", f"{facts['chunks']} chunks"),
        ("scratch", _scratch(facts)),
        ("messages", f"{facts['messages']} over {facts['channels']} channel{'s' * (facts['channels'] > 1)}"),
    ]
    if facts["threadblocks"] is not None:
        fields.append(("a rank", f"at most {facts['threadblocks']} threadblocks"))
        fused = f", {facts['fused']} of them receive and forward" if facts["fused"] else ""
        fields.append(("instructions", f"{facts['instructions']} in all{fused}"))
    print_fields(fields)
    print("the runtime picks it up if")
    print_fields(_conditions(facts))
    print(f"saved to {facts['file']}")
    if facts["selector"]:
        size = f"{facts['min_bytes']} to {facts['max_bytes']} bytes"
        print(f"{facts['selector']} selects it for {facts['collective']} of {size}")
        if TARGETS[facts["to"]].registers:
            module = module_beside(facts["selector"])
            print(f"{module} registers it: call register(rank) before the communicator is made")


def _scratch(facts: dict[str, Any]) -> str:
    if not facts["scratch_chunks"]:
        return "none"
    if facts["scratch_at_start"]:
        return f"{format_size(facts['scratch_bytes'], binary=True)} on a rank, allocated when the runtime starts"
    if facts["scratch_by_allocation"]:
        share = Fraction(facts["scratch_share"])
        of = f"{share} of" if share < 1 else "as much as" if share == 1 else f"{share} times"
        most = f"{format_size(facts['scratch_bytes'], binary=True)} on a rank"
        counted = format_size(facts["max_bytes"], binary=True)
        return f"at most {most}: {of} the allocation that holds the send buffer, counted up to {counted}"
    return f"at most {facts['scratch_share']} of a call's data on a rank"


def _conditions(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what must hold at run time; where it does not, runtimes fall back to other algorithms without a word."""
    target = TARGETS[facts["to"]]
    unit = "bytes" if target.alignment > 1 else "elements"
    found = [("ranks", str(facts["ranks"]))]
    if facts["hosts"] is not None:
        shown = ", ".join(facts["hosts"][:_SHOWN])
        found.append(("hosts", f"rank 0, 1, ... on {shown}{', ...' if facts['ranks'] > _SHOWN else ''}"))
    if facts["root"] is not None:
        blind = "" if target.compares_root else ": the runtime does not compare it, so make no calls with another root"
        found.append(("root", f"{facts['root']}{blind}"))
    if facts["environment"] is not None:
        found.append(("environment", facts["environment"]))
    if facts["shares_folder"]:
        found.append(("", "other files are there, and the runtime parses them all: mkdir a directory for this one,"))
        found.append(("", "mv it there, and name that directory"))
    if facts["collective"] in target.uncalled:
        plan = f"mscclpp.ExecutionPlan({facts['path']!r}, rank)"
        found.append(("run by", f"mscclpp.Executor with {plan}: no NCCL call asks for it"))
    elif target.registers:
        found.append(("registered by", facts["registration"]))
        found.append(("", "given to AlgorithmCollectionBuilder; --selector FILE.json writes the Python for that"))
    if target.loader:
        found.append(("loaded by", target.loader))
    found.append(("data in all", f"a multiple of {facts['divisible_by']} {unit}"))
    if target.selects:
        found.append(("size", f"{facts['min_bytes']} to {facts['max_bytes']} bytes, both included"))
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
