"""``linkstep check``: prove a schedule file right, or show where it is wrong."""

from __future__ import annotations

import argparse
import shlex
import sys

from linkstep.cli._command import Command
from linkstep.cli._fabric_options import SIZE, add_fabric, fabric_of, pricing_of
from linkstep.cli._output import add_json, print_text, show_json, wiring_fields
from linkstep.cli._progress import busy
from linkstep.cli._quantities import add_size
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError, ScheduleError
from linkstep.core.units import format_time, parse_size
from linkstep.correctness import CHECKS
from linkstep.costs import Cost
from linkstep.files import is_runtime_file, load_schedule, wrong_kind
from linkstep.reports.check import CheckReport, RefutationReport


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a schedule (.npz or .json)")
    parser.add_argument("--collective", choices=sorted(CHECKS), help="check it as this, whatever the file says it is")
    add_size(parser, SIZE)
    add_fabric(parser)
    add_json(parser)


def _refuse_programs(file: str) -> None:
    """Raise if the file is a runtime's: another command proves those."""
    if is_runtime_file(file):
        use = f"`linkstep verify {shlex.quote(file)}` proves it"
        raise wrong_kind(file, "a schedule") or FileError(f"{file} is a runtime's file, not a schedule: {use}")


def _run(args: argparse.Namespace) -> int:
    fabric_of(args, 1)
    parse_size(args.size)
    _refuse_programs(args.file)
    with busy(f"reading {args.file}"):
        schedule = load_schedule(args.file)
    collective = Collective(args.collective or schedule.collective)
    try:
        with busy("following every chunk"):
            CHECKS[collective](schedule)
    except ScheduleError as error:
        if not show_json(RefutationReport.of(args.file, schedule, collective, error), args):
            print(f"linkstep: {args.file} is not a valid {collective}: {error}", file=sys.stderr)
        return 1
    with busy("looking for the wiring's tightest cut"):
        report = CheckReport.of(args.file, schedule, collective, pricing_of(args))
    if not show_json(report, args):
        _print(report)
    return 0


def _print(report: CheckReport) -> None:
    optimal = ", bandwidth-optimal" if report.bandwidth_optimal else ""
    nodes = f"N={report.nodes}" + ("" if report.ranks == report.nodes else f" ({report.ranks} take part)")
    print_text(
        f"{report.file}: valid {report.collective} on {report.topology or 'an unnamed topology'}, {nodes}, "
        f"{report.num_rows} rows: {Cost(report.steps, report.t_b)}{optimal}, "
        f"{format_time(report.seconds)} for {report.size} ({report.fabric})"
    )
    for name, text in wiring_fields(report.wiring_bound):
        print_text(f"{name}: {text}")


COMMAND = Command(
    name="check",
    example="linkstep check allgather.npz",
    add_arguments=_add_arguments,
    run=_run,
)
