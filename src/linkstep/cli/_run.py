"""``linkstep run``: run a collective for real, by MPI or torch, check its results and measure it."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from fractions import Fraction

from linkstep.cli._collective_options import DEFAULT, schedule_of
from linkstep.cli._command import Command
from linkstep.cli._fabric_options import add_fabric, fabric_of
from linkstep.cli._output import add_json, print_json, print_table, ranks_text
from linkstep.cli._progress import busy, progress_bar
from linkstep.cli._topology_argument import TopologyArgument, add_faults, host_names, read, with_faults
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.core.units import format_time, parse_sizes, parse_time, write_size
from linkstep.engines.bench.job import BenchJob, run_job, tell_mistake
from linkstep.engines.bench.launch import is_rank, launch_job
from linkstep.engines.bench.measure import TYPES, actual_sizes, check_type
from linkstep.engines.bench.preparation import BenchResult, Preparation, check_wires, devices_of, prepare, wiring_of
from linkstep.engines.plans.source import Source, checked, first_collective, sources_of, sources_of_file
from linkstep.engines.testbed import Testbed
from linkstep.engines.testbed import load as load_testbed
from linkstep.engines.transports.arrays import OPERATIONS
from linkstep.engines.transports.engine import ENGINES
from linkstep.engines.transports.transport import TIMEOUT
from linkstep.recipe import Recipe
from linkstep.reports.run import RunReport
from linkstep.reports.view import to_members

_SIZE = "1MiB"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topology", nargs="?", metavar="RECIPE|FILE",
        help="a recipe, a topology, schedule or selector file, or a runtime's file; default: the testbed's cables",
    )  # fmt: skip
    parser.add_argument("--collective", choices=tuple(Collective), help="default: the file's own, else allreduce")
    parser.add_argument("--root", default="0", metavar="HOST", help="of a broadcast or a reduce; default: the first")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--size", metavar="BYTES", help=f"the data in all; default: {_SIZE}")
    sizes.add_argument("--sizes", metavar="A:B", help="a sweep in powers of two, such as 1KiB:64MiB, or a list")
    parser.add_argument("--engine", choices=tuple(ENGINES), default="mpi", help="default: mpi")
    parser.add_argument("--ranks", type=int, metavar="N", help="how many ranks; default: as many as there are hosts")
    parser.add_argument("--type", choices=TYPES, default="float32", help="of the elements; default: float32")
    parser.add_argument("--op", choices=OPERATIONS, default="sum", help="of a reduction; default: sum")
    parser.add_argument("--repetitions", type=int, metavar="R", help="of each size; default: what three seconds allow")
    parser.add_argument(
        "--timeout", default=f"{TIMEOUT:g}s", metavar="TIME", help=f"silence that is a failure; default: {TIMEOUT:g}s"
    )
    parser.add_argument(
        "--hosts", metavar="FILE|A,B,...", help="the host of each node: ranks are found by where they run"
    )
    parser.add_argument("--no-own", action="store_false", dest="own", help="do not measure the engine's own collective")
    parser.add_argument("--testbed", metavar="NAME", help="run on the hosts of a testbed, over its cables")
    add_fabric(parser)
    add_faults(parser, ranks=True)
    parser.add_argument("--csv", action="store_true", help="print CSV instead of text")
    add_json(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw time over size to a .svg or .png file")


def _sources(args: argparse.Namespace, bed: Testbed | None) -> tuple[list[Source], str, Sequence[str] | None]:
    """Return where programs come from, the name of that, and the names of hosts."""
    if args.topology is None:
        if bed is None:
            raise LinkstepError("name a recipe or a file to run, or a testbed with --testbed")
        given = with_faults(TopologyArgument(wiring_of(bed)), tuple(args.faults), Fraction(bed.rate))
        return sources_of(_what(given, args)), given.topology.name or bed.name, given.topology.labels
    served = sources_of_file(args.topology)
    if served is not None:
        if args.faults:
            raise LinkstepError(f"{args.topology} runs as it is: faults are those of a recipe or a topology")
        return served, args.topology, None
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


def _check_options(args: argparse.Namespace) -> tuple[int, ...]:
    """Return the sizes, once it is known that nothing else is wrong with the options."""
    sizes = parse_sizes(args.sizes or args.size or _SIZE)
    check_type(args.type, args.engine)
    if args.repetitions is not None and args.repetitions < 1:
        raise LinkstepError(f"--repetitions must be at least 1, not {args.repetitions}")
    if args.plot:
        from linkstep.pictures import check_drawable

        check_drawable(args.plot)
    return sizes


def _root(labels: Sequence[str] | None, num_ranks: int, text: str) -> int:
    """Return the rank of a root, by its host's name or by its number; labels are those of the ranks, others after."""
    if labels is not None and text in labels[:num_ranks]:
        return list(labels).index(text)
    if text.isdecimal() and text.isascii() and len(text) <= 10 and int(text) < num_ranks:
        return int(text)
    raise LinkstepError(f"--root must be one of the {num_ranks} hosts, not {text!r}")


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
    sources, name, labels = _sources(args, bed)
    collective, num_ranks, num_nodes = _collective(args, sources), sources[0].num_ranks, sources[0].num_nodes
    if args.ranks not in (None, num_ranks):
        raise LinkstepError(f"{name} is for {num_ranks} ranks, not the {args.ranks} of --ranks")
    nodes = sources[0].order or range(num_nodes)
    labels = None if labels is None else [labels[node] for node in nodes]
    root = _root(labels, num_ranks, args.root)
    hosts = None if args.hosts is None else host_names(args.hosts, num_nodes, "--hosts")
    sizes = actual_sizes(sizes, collective, num_ranks, args.type)
    with busy("compiling plans"):
        prepared = prepare(sources, collective, sizes, root)
    if bed is not None:
        check_wires(prepared, bed)
    job = BenchJob(
        compiled=prepared.compiled, collective=collective, sizes=sizes, engine=args.engine, type_name=args.type,
        operation=args.op, root=root, repetitions=args.repetitions, timeout=timeout, own=args.own, labels=labels,
        hosts=None if hosts is None else [hosts[node] for node in nodes], nodes=sources[0].order, is_by_node=started,
        devices=None if bed is None else devices_of(bed, nodes),
    )  # fmt: skip
    return job, prepared, name


def _run(args: argparse.Namespace) -> int:
    sizes = _check_options(args)
    timeout = float(parse_time(args.timeout))
    bed = None if args.testbed is None else load_testbed(args.testbed)
    started = is_rank(args.engine)
    try:
        job, prepared, name = _prepared(args, sizes, bed, timeout, started)
    except LinkstepError as error:
        if started:
            tell_mistake(args.engine, timeout, str(error))
        raise
    if started:
        with progress_bar("run", " sizes") as bar:
            rank, rows = run_job(job, bar)
        code = 1 if any(row.wrong for row in rows) else 0
    else:
        with busy(f"running {prepared.num_nodes} ranks"):
            rank, (code, rows) = 0, launch_job(job, bed)
    if rank == 0 and rows:
        result = BenchResult(name, args.engine, args.type, args.op, args.testbed, prepared, rows)
        _show(RunReport.of(_predicted(result, args, bed)), args)
    return code


def _show(report: RunReport, args: argparse.Namespace) -> None:
    if args.plot:
        from linkstep.pictures.runs import plot_runs

        plot_runs([report.to_json()], args.plot)
    if args.json:
        print_json(report.to_json())
    elif args.csv:
        _print_csv(report)
    else:
        _print(report)
        if args.plot:
            print(f"drawn to {args.plot}")


def _print_csv(report: RunReport) -> None:
    rows = [to_members(row) for row in report.rows]
    for row in rows:
        row["cables"] = None if row["cables"] is None else "{:.4f}-{:.4f}".format(*row["cables"])
    writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _rate(rate: float) -> str:
    for unit, scale in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if rate >= scale:
            return f"{rate / scale:.3g}{unit}"
    return f"{rate:.3g}B/s"


def _print(report: RunReport) -> None:
    rows = report.rows
    op = f", {report.operation}" if report.collective.reduces else ""
    cost = "" if report.cost is None else f", {report.cost}"
    ranks = ranks_text(report.ranks, report.forwarders)
    print(f"{report.what}: {report.collective} by {report.engine}, {ranks}, {report.type_}{op}{cost}")
    if report.unswitched:
        print("links that open later or close were there all the time: nothing is switched in a run")
    head = ["size", "count", "min", "median", "p99", "algbw", "busbw", "wrong"]
    table = [
        [write_size(row.size), str(row.count), format_time(row.min_), format_time(row.median), format_time(row.p99),
         _rate(row.algbw), _rate(row.busbw), str(row.wrong)]
        for row in rows
    ]  # fmt: skip
    if rows[0].own_median is not None:
        head += [f"{report.engine}'s own", "over ours"]
        for cells, row in zip(table, rows, strict=True):
            assert row.own_median is not None
            cells += [format_time(row.own_median), f"{row.own_median / row.median:.2f}x"]
    if rows[0].predicted is not None:
        head += ["predicted", "of it"]
        for cells, row in zip(table, rows, strict=True):
            assert row.predicted is not None
            cells += [format_time(row.predicted), f"{row.predicted / row.median:.0%}"]
    if rows[0].cables is not None:
        head.append("cables carried")
        for cells, row in zip(table, rows, strict=True):
            assert row.cables is not None
            cells.append("{:.3f} to {:.3f} of the schedule's bytes".format(*row.cables))
    print_table(head, table, right=range(len(head)))


COMMAND = Command(
    name="run",
    help="run a collective by MPI or torch, here or under mpiexec, torchrun or Slurm; check and measure it",
    example="linkstep run 'K_{4,4}' --collective allreduce --sizes 1KiB:16MiB --engine mpi",
    add_arguments=_add_arguments,
    run=_run,
)
