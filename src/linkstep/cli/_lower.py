"""``linkstep lower``: print a schedule as a runtime's file, verified, and say how the runtime picks it up."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout

from linkstep.assembly import assemble
from linkstep.cli._collective_options import DEFAULT, add_collective, schedule_of
from linkstep.cli._command import Command
from linkstep.cli._fabric_options import add_bandwidth
from linkstep.cli._output import add_json, print_fields, show_json
from linkstep.cli._progress import progress_bar
from linkstep.cli._quantities import size_option
from linkstep.cli._topology_argument import add_faults, read
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.progress import Progress
from linkstep.core.units import format_size, parse_bytes
from linkstep.files import SUFFIXES, check_writable
from linkstep.files.disk import is_standard_output, to_path
from linkstep.lowering import MAX_SCRATCH, TARGETS, Lowered, Target, check_fits, lower
from linkstep.lowering.registration import module_beside
from linkstep.lowering.saving import check_selectable, save_lowered
from linkstep.reports.lowering import LoweringReport

_SHOWN = 16
"""Names of hosts that are printed; --json has all."""
_CODE = ("environment", "registered by", "run by")
"""Fields to copy into a shell or program: they are printed on one line."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology or schedule file")
    add_collective(parser)
    add_bandwidth(parser)
    add_faults(parser, ranks=True)
    parser.add_argument("--to", required=True, choices=tuple(TARGETS), help="the runtime")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write: .xml, .json of mscclpp")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--inplace", action="store_true", help="input and output share memory")
    place.add_argument("--out-of-place", action="store_false", dest="inplace", help="they do not: the default")
    parser.add_argument("--proto", default="Simple", choices=["Simple", "LL", "LL128"], help="default: Simple")
    parser.add_argument("--channels", type=int, metavar="C", help="channels of each link; default: the fewest that fit")
    parser.add_argument("--instances", type=int, default=1, metavar="I", help="cut messages into I, sent side by side")
    parser.add_argument(
        "--chunks", type=int, metavar="P", help="equal chunks of each shard; default: the fewest that do"
    )
    parser.add_argument(
        "--gather",
        type=size_option,
        metavar="BYTES",
        help="send pieces of BYTES or less, when the data is --max-bytes, together with others of their step and link; "
        "default: what pays, four or more of 512B for cpu, else none",
    )
    parser.add_argument(
        "--min-bytes", type=size_option, default="0B", metavar="BYTES", help="smallest data to use it for; default: 0B"
    )
    parser.add_argument(
        "--max-bytes",
        type=size_option,
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


def _check_output(name: str, target: Target) -> None:
    """Raise if the file's name is for another format, or no file can be written there."""
    path = to_path(name)
    suffix = path.suffix.lower()
    if suffix in (*SUFFIXES, ".xml") and suffix != target.suffix:
        raise FileError(f"{name}: a file for {target.name} is named {path.stem}{target.suffix}, not {suffix}")
    check_writable(name)


def _verify(lowered: Lowered, progress: Progress) -> None:
    """Raise unless the verifier, which knows nothing of how the file was made, proves it right."""
    from linkstep.verification import verify_program, verify_text

    if lowered.target in TARGETS.added:  # its files have no reader here
        report = verify_program(assemble(lowered), progress)
    else:
        report = verify_text(lowered.text, lowered.target.name, progress=progress)
    if report.errors:  # a bug of ours: better no file than a wrong one
        raise LinkstepError(f"not written, the verifier refutes it ({report.errors[0]}): please report this")
    if not report.is_verified:
        raise LinkstepError(f"not written: it {report.unknowns[0].message}")


def _lower(args: argparse.Namespace) -> Lowered:
    smallest = parse_bytes(args.min_bytes, "--min-bytes")
    largest = None if args.max_bytes is None else parse_bytes(args.max_bytes, "--max-bytes")
    gather = None if args.gather is None else parse_bytes(args.gather, "--gather")
    _check_output(args.output, TARGETS[args.to])
    if args.selector is not None:
        check_selectable(TARGETS[args.to], args.output, args.selector)
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


def _warn(report: LoweringReport, asked: int | None) -> None:
    """Say on standard error where the window is not what was asked for, and where it costs much scratch."""
    warnings = []
    size, largest = format_size(report.scratch_bytes, binary=True), format_size(report.max_bytes, binary=True)
    if asked is not None and report.max_bytes < asked:
        end = f"{report.max_bytes} bytes, not at --max-bytes"
        warnings.append(f"the sizes of {report.target} are 32 bits: the window ends at {end}")
    if (report.scratch_at_start or report.scratch_by_allocation) and report.scratch_bytes > MAX_SCRATCH:
        start, large = "when it starts", f"where the send buffer lies in an allocation of {largest} or more"
        why = f"{report.target} allocates {size} of scratch on a rank {start if report.scratch_at_start else large}"
        warnings.append(f"{why}; a smaller --max-bytes needs less")
    for warning in warnings:
        print(f"linkstep: warning: {warning}", file=sys.stderr)


def _run(args: argparse.Namespace) -> int:
    lowered = _lower(args)
    with progress_bar("verify", " parts") as bar:
        _verify(lowered, bar)
    save_lowered(lowered, args.output, args.selector)
    report = LoweringReport.of(lowered, args.output, args.selector)
    _warn(report, None if args.max_bytes is None else parse_bytes(args.max_bytes, "--max-bytes"))
    # Where the file goes to standard output, nothing else does.
    with redirect_stdout(sys.stderr) if is_standard_output(args.output) else nullcontext():
        if not show_json(report, args):
            _print(args.topology, report)
    return 0


def _print(name: str, report: LoweringReport) -> None:
    place = "in place" if report.inplace else "out of place"
    is_read = TARGETS[report.target] not in TARGETS.added
    proven = "and verified" if is_read else "and verified as a program: linkstep does not read such files back"
    print(f"{report.recipe or name}: {report.collective}, {place}, lowered to {report.target} {proven}")
    fields = [
        ("runtime", report.runtime),
        ("schedule", str(report.cost)),
        ("data in", f"{report.chunks} chunks"),
        ("scratch", _scratch(report)),
        ("messages", f"{report.messages} over {report.channels} channel{'s' * (report.channels > 1)}"),
    ]
    if report.threadblocks is not None:
        fields.append(("a rank", f"at most {report.threadblocks} threadblocks"))
        fused = f", {report.fused} of them receive and forward" if report.fused else ""
        fields.append(("instructions", f"{report.instructions} in all{fused}"))
    print_fields(fields)
    print("the runtime picks it up if")
    print_fields(_conditions(report), verbatim=_CODE)
    print(f"saved to {report.output}")
    if report.selector:
        size = f"{report.min_bytes} to {report.max_bytes} bytes"
        print(f"{report.selector} selects it for {report.collective} of {size}")
        if TARGETS[report.target].registers:
            module = module_beside(report.selector)
            print(f"{module} registers it: call register(rank) before the communicator is made")


def _scratch(report: LoweringReport) -> str:
    if not report.scratch_chunks:
        return "none"
    if report.scratch_at_start:
        return f"{format_size(report.scratch_bytes, binary=True)} on a rank, allocated when the runtime starts"
    if report.scratch_by_allocation:
        share = report.scratch_share
        of = f"{share} of" if share < 1 else "as much as" if share == 1 else f"{share} times"
        most = f"{format_size(report.scratch_bytes, binary=True)} on a rank"
        counted = format_size(report.max_bytes, binary=True)
        return f"at most {most}: {of} the allocation that holds the send buffer, counted up to {counted}"
    return f"at most {report.scratch_share} of a call's data on a rank"


def _listed(names: Sequence[str]) -> str:
    return ", ".join((*names[:_SHOWN], *["..."] * (len(names) > _SHOWN)))


def _conditions(report: LoweringReport) -> list[tuple[str, str]]:
    """Return what must hold at run time; where it does not, runtimes fall back to other algorithms without a word."""
    target = TARGETS[report.target]
    unit = "bytes" if target.alignment > 1 else "elements"
    found = [("ranks", str(report.ranks))]
    if report.rank_labels or report.rank_nodes is not None:
        numbers = [str(node) for node in report.rank_nodes or ()]
        what, names = ("", report.rank_labels) if report.rank_labels else ("nodes ", numbers)
        found.append(("hosts", f"rank 0, 1, ... on {what}{_listed(names[: report.ranks])}"))
        if len(names) > report.ranks:
            one = "node " if what and len(names) == report.ranks + 1 else what
            found.append(("forward", f"{one}{_listed(names[report.ranks :])}"))
    if report.root is not None:
        blind = "" if target.compares_root else ": the runtime does not compare it, so make no calls with another root"
        found.append(("root", f"{report.root}{blind}"))
    if report.environment is not None:
        found.append(("environment", report.environment))
    if report.shares_folder:
        others = "other files are there, and the runtime parses them all"
        found.append(("", f"{others}: mkdir a directory for this one, mv it there, and name that directory"))
    if report.collective in target.uncalled:
        plan = f"mscclpp.ExecutionPlan({report.output_path!r}, rank)"
        found.append(("run by", f"mscclpp.Executor with {plan}"))
        found.append(("", "no NCCL call asks for it"))
    elif target.registers:
        found.append(("registered by", report.registration or ""))
        found.append(("", "given to AlgorithmCollectionBuilder; --selector FILE.json writes the Python for that"))
    if target.loader:
        found.append(("loaded by", target.loader))
    found.append(("data in all", f"a multiple of {report.divisible_by} {unit}"))
    if target.selects:
        found.append(("size", f"{report.min_bytes} to {report.max_bytes} bytes, both included"))
        buffers = "in place" if report.inplace else "separate input and output"
        found.append(("buffers", buffers))
    return found


COMMAND = Command(
    name="lower",
    example="linkstep lower 'Torus(4,4)' --to rccl -o allreduce.xml",
    add_arguments=_add_arguments,
    run=_run,
)
