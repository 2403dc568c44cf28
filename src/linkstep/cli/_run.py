"""``linkstep run``: run a collective for real, by MPI or torch, check its results and measure it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from linkstep.argument import TopologyArgument, host_names, with_faults, with_names
from linkstep.cli._collective_options import DEFAULT, schedule_of
from linkstep.cli._command import Command
from linkstep.cli._commands import nearest
from linkstep.cli._fabric_options import add_fabric, fabric_of
from linkstep.cli._nccl_options import add_nccl_sizes, nccl_sizes
from linkstep.cli._output import add_json, show_json
from linkstep.cli._progress import busy
from linkstep.cli._quantities import add_size, note, seconds_option, sizes_option
from linkstep.cli._run_table import csv_rows, text_rows
from linkstep.cli._timeline import add_timeline, check_timeline, save_timeline, saved_line
from linkstep.cli._topology_argument import add_faults, read
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.core.units import parse_sizes
from linkstep.engines.bench.job import BenchJob, OnRow, run_job, tell_mistake
from linkstep.engines.bench.launch import check_memory, is_rank, launch_job
from linkstep.engines.bench.measure import TYPES, Measurement, actual_sizes, check_type
from linkstep.engines.bench.preparation import (
    BenchResult,
    Preparation,
    check_reachable,
    check_wires,
    devices_of,
    prepare,
    wiring_of,
)
from linkstep.engines.plans.source import Source, checked, first_collective, sources_of, sources_of_file
from linkstep.engines.testbed import Testbed
from linkstep.engines.testbed import load as load_testbed
from linkstep.engines.transports.arrays import OPERATIONS
from linkstep.engines.transports.engine import ENGINES, engine_named
from linkstep.engines.transports.transport import TIMEOUT
from linkstep.recipe import Recipe
from linkstep.reports.run import RunReport, RunRow

_SIZE = "1MiB"
MOST_WARMUPS = 10**6


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topology", nargs="?", metavar="RECIPE|FILE",
        help="a recipe, a topology, schedule or selector file, or a runtime's file; default: the testbed's cables",
    )  # fmt: skip
    parser.add_argument("--collective", choices=tuple(Collective), help="default: the file's own, else allreduce")
    parser.add_argument("--root", default="0", metavar="HOST", help="of a broadcast or a reduce; default: the first")
    sizes = parser.add_mutually_exclusive_group()
    add_size(sizes, _SIZE, fill=False)
    sizes.add_argument(
        "--sizes", type=sizes_option, metavar="A:B", help="a sweep in powers of two, such as 1KiB:64MiB, or a list"
    )
    parser.add_argument("--engine", choices=tuple(ENGINES), default="mpi", help="default: mpi")
    parser.add_argument("--ranks", type=int, metavar="N", help="how many ranks; default: as many as there are hosts")
    parser.add_argument("--type", choices=TYPES, default="float32", help="of the elements; default: float32")
    parser.add_argument("--op", choices=OPERATIONS, default="sum", help="of a reduction; default: sum")
    parser.add_argument(
        "-n", "--repetitions", type=int, metavar="R",
        help="calls of each size that are measured; default: what three seconds allow",
    )  # fmt: skip
    parser.add_argument(
        "-w", "--warmups", type=int, default=0, metavar="W",
        help="calls of each size before those that are measured, besides the three that check and estimate; default: 0",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=seconds_option, default=TIMEOUT, metavar="TIME",
        help=f"silence that is a failure, such as 30s; default: {TIMEOUT:g}s",
    )  # fmt: skip
    parser.add_argument(
        "--hosts", metavar="FILE|A,B,...", help="the host of each node: ranks are found by where they run"
    )
    parser.add_argument("--no-own", action="store_false", dest="own", help="do not measure the engine's own collective")
    parser.add_argument("--testbed", metavar="NAME", help="run on the hosts of a testbed, over its cables")
    add_nccl_sizes(parser)
    add_fabric(parser)
    add_faults(parser, ranks=True)
    add_timeline(parser, "what each rank does in the last repetition of the largest size", "--trace")
    parser.add_argument("--csv", action="store_true", help="print CSV instead of text")
    add_json(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw time over size to a .svg or .png file")


def _sources(args: argparse.Namespace, bed: Testbed | None) -> tuple[list[Source], str, Sequence[str] | None]:
    """Return where programs come from, the name of that, and the names of hosts."""
    if args.topology is None:
        if bed is None:
            raise LinkstepError("name a recipe or a file to run, or a testbed with --testbed")
        wired = with_names(TopologyArgument(wiring_of(bed)), args.names)
        given = with_faults(wired, tuple(args.faults), Fraction(bed.rate))
        return sources_of(_what(given, args)), given.topology.name or bed.name, given.topology.labels
    served = sources_of_file(args.topology)
    args.is_later_rank = engine_named(args.engine).rank_of(os.environ) not in (None, "0")
    if served is not None:
        if args.faults:
            raise LinkstepError(f"{args.topology} runs as it is: faults are those of a recipe or a topology")
        names = None if args.names is None else host_names(args.names, served[0].num_nodes, "--names")
        return served, args.topology, names
    given = read(args.topology, args)
    what = _what(given, args)
    return sources_of(what), given.topology.name or args.topology, given.topology.labels


def _what(given: TopologyArgument, args: argparse.Namespace) -> Topology | Recipe | Schedule:
    """Return what programs are made from."""
    if given.schedule is not None:
        return checked(given.schedule, args.topology)
    if given.ranks is not None:
        return schedule_of(given, args.collective, args.root).schedule
    return given.topology if given.recipe is None else given.recipe


def _collective(args: argparse.Namespace, sources: list[Source]) -> Collective:
    """Return what is asked for, else what the file is for."""
    if args.collective is not None:
        return Collective(args.collective)
    return first_collective(sources) or DEFAULT


def _asked_sizes(args: argparse.Namespace) -> tuple[int, ...]:
    """Return the sizes, as nccl-tests writes them or as we do."""
    found = nccl_sizes(args)
    if found is None:
        return parse_sizes(args.sizes or args.size or _SIZE)
    sizes, sweep = found
    note("sizes of nccl-tests", f"--sizes {sweep}")
    return sizes


def _check_options(args: argparse.Namespace) -> tuple[int, ...]:
    """Return the sizes, once it is known that nothing else is wrong with the options."""
    sizes = _asked_sizes(args)
    check_type(args.type, args.engine)
    if args.repetitions is not None and args.repetitions < 1:
        raise LinkstepError(f"--repetitions must be at least 1, not {args.repetitions}")
    if not 0 <= args.warmups <= MOST_WARMUPS:
        raise LinkstepError(f"--warmups must lie in [0, {MOST_WARMUPS}], not {args.warmups}")
    if args.plot:
        from linkstep.pictures import check_drawable

        check_drawable(args.plot)
    if args.trace is not None:
        check_timeline(args.trace)
    if args.plot and args.trace is not None and Path(args.plot) == args.trace:
        raise LinkstepError(f"--plot and --trace must be two files, not both {args.plot}")
    return sizes


def _root(labels: Sequence[str] | None, num_ranks: int, text: str) -> int:
    """Return the rank of a root, by its host's name or by its number; labels are those of the ranks, others after."""
    if labels is not None and text in labels[:num_ranks]:
        return list(labels).index(text)
    if text.isdecimal() and text.isascii() and len(text) <= 10 and int(text) < num_ranks:
        return int(text)
    close = None if labels is None else nearest(text, labels[:num_ranks])
    hint = f"; did you mean {close!r}?" if close else ""
    raise LinkstepError(f"--root must be one of the {num_ranks} hosts, not {text!r}{hint}")


def _predicted(result: BenchResult, args: argparse.Namespace, bed: Testbed | None) -> BenchResult:
    """Return a result with predicted times: by what the options say, else by the testbed, else without."""
    if any(option is not None for option in (args.fabric, args.alpha, args.bandwidth, args.host_bandwidth)):
        return result.predicted(fabric_of(args, 1 if bed is None else bed.topology.degree))
    return result if bed is None else result.predicted_on(bed)


def _prepared(
    args: argparse.Namespace, sizes: tuple[int, ...], bed: Testbed | None, timeout: float, started: bool
) -> tuple[BenchJob, Preparation, str]:  # fmt: skip
    """Return what every rank is to do, what it was made from, and its name.

    Processes that others ``started`` are nodes, in this order; those that are started here are ranks and forwarders.
    """
    if bed is not None:
        check_reachable(bed)
    sources, name, labels = _sources(args, bed)
    collective, num_ranks, num_nodes = _collective(args, sources), sources[0].num_ranks, sources[0].num_nodes
    if args.ranks not in (None, num_ranks):
        raise LinkstepError(f"{name} is for {num_ranks} ranks, not the {args.ranks} of --ranks")
    nodes = sources[0].order or range(num_nodes)
    labels = None if labels is None else [labels[node] for node in nodes]
    root = _root(labels, num_ranks, args.root)
    hosts = None if args.hosts is None else host_names(args.hosts, num_nodes, "--hosts")
    sizes = actual_sizes(sizes, collective, num_ranks, args.type)
    if not started:
        check_memory(num_nodes, max(sizes))
    with busy("compiling plans"):
        prepared = prepare(sources, collective, sizes, root, name)
    if bed is not None:
        check_wires(prepared, bed)
    job = BenchJob(
        compiled=prepared.compiled, collective=collective, sizes=sizes, engine=args.engine, type_name=args.type,
        operation=args.op, root=root, repetitions=args.repetitions, warmups=args.warmups, timeout=timeout,
        own=args.own, labels=labels,
        hosts=None if hosts is None else [hosts[node] for node in nodes], nodes=sources[0].order, is_by_node=started,
        devices=None if bed is None else devices_of(bed, nodes), trace=args.trace is not None,
    )  # fmt: skip
    return job, prepared, name


def _run(args: argparse.Namespace) -> int:
    sizes = _check_options(args)
    timeout = args.timeout
    bed = None if args.testbed is None else load_testbed(args.testbed)
    started = is_rank(args.engine)
    try:
        job, prepared, name = _prepared(args, sizes, bed, timeout, started)
    except LinkstepError as error:
        if started:
            tell_mistake(args.engine, timeout, str(error))
        raise
    result = BenchResult(name, args.engine, args.type, args.op, args.testbed, prepared)
    on_row = _row_shown(args, result, bed, job.sizes)
    if started:
        rank, rows = run_job(job, on_row)
        code = 1 if any(row.wrong for row in rows) else 0
    else:
        rank, (code, rows) = 0, launch_job(job, bed, on_row)
    if rank == 0 and rows:
        result = _predicted(replace(result, rows=rows), args, bed)
        if args.trace is not None:
            save_timeline(args.trace, result.trace(job.labels))
        _finish(RunReport.of(result, args.trace and str(args.trace)), args)
    return code


def _row_shown(args: argparse.Namespace, result: BenchResult, bed: Testbed | None, sizes: Sequence[int]) -> OnRow:
    """Return what to call with a row when it is measured: it is shown at once, but JSON is printed in the end."""
    prepared, whole = result.prepared, RunReport.of(result)
    methods = {prepared.method_of(source) or "-" for source in prepared.sources}
    several = methods if len(methods) > 1 else ()
    show = None if args.json else csv_rows() if args.csv else text_rows(sizes, several)

    def on_row(number: int, row: Measurement) -> None:
        if show is not None:
            part = replace(prepared, sources=prepared.sources[number : number + 1])
            [measured] = _predicted(replace(result, prepared=part, rows=[row]), args, bed).rows
            show(replace(whole, rows=(RunRow.of(measured, prepared.method_of(part.sources[0])),)))

    return on_row


def _finish(report: RunReport, args: argparse.Namespace) -> None:
    """Draw, save and print what was measured in all."""
    if args.plot:
        from linkstep.pictures.runs import plot_runs

        plot_runs([report.to_json()], args.plot)
    if show_json(report, args) or args.csv:
        return
    if args.plot:
        print(f"drawn to {args.plot}")
    if args.trace is not None:
        print(saved_line(args.trace))


COMMAND = Command(
    name="run",
    example="linkstep run 'K_{4,4}' --sizes 1KiB:16MiB --engine mpi",
    add_arguments=_add_arguments,
    run=_run,
)
