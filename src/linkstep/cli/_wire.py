"""``linkstep wire``: the cabling plan of a topology."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import BinaryIO

from linkstep.cabling import wire
from linkstep.cli._command import Command
from linkstep.cli._fabric_options import add_bandwidth
from linkstep.cli._output import add_json, print_json, print_table
from linkstep.cli._progress import busy
from linkstep.cli._topology_argument import add_faults, add_names, read
from linkstep.core.errors import FileError
from linkstep.files import check_writable, to_path, write_atomically
from linkstep.reports.cabling import CROSS_CONNECT, CablingReport

HEAD = ("cable", "from", "port", "to", "port", "kind", "panel", "panel")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology or schedule file")
    add_names(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write the plan to a .csv or .json file")
    parser.add_argument(
        "--cross-connects",
        action="store_true",
        help="list what a patch panel or optical switch connects instead: input and output of each fibre",
    )
    add_bandwidth(parser)
    add_faults(parser)
    add_json(parser)


def _rows(report: CablingReport) -> list[tuple[str, ...]]:
    return [
        (
            str(row.cable), row.from_, str(row.from_port), row.to, str(row.to_port), row.kind,
            str(row.panel_from), str(row.panel_to),
        )
        for row in report.cables
    ]  # fmt: skip


def _write(file: BinaryIO, text: str) -> None:
    file.write(text.encode())


def _check_output(name: str) -> None:
    if to_path(name).suffix.lower() not in (".csv", ".json"):
        raise FileError(f"{name}: the name of a plan must end in .csv or .json")
    check_writable(name)


def _plan(report: CablingReport, suffix: str, cross_connects: bool) -> str:
    """Return the text of a plan's file."""
    if suffix == ".json":
        return json.dumps(report.to_json(), indent=1) + "\n"
    return report.cross_connects_csv() if cross_connects else report.to_csv()


def _print(report: CablingReport, cross_connects: bool) -> None:
    if cross_connects:
        print_table(CROSS_CONNECT, [(str(a), str(b)) for a, b in report.cross_connects])
    else:
        print_table(HEAD, _rows(report))


def _run(args: argparse.Namespace) -> int:
    if args.output is not None:
        _check_output(args.output)
    given = read(args.topology, args)
    with busy("planning cables"):
        report = CablingReport.of(wire(given.topology), given.topology, given.faults)
    if args.output is not None:
        text = _plan(report, Path(args.output).suffix.lower(), args.cross_connects)
        write_atomically(args.output, lambda file: _write(file, text))
    summary = f"{report.num_duplex} duplex cables, {len(report.cables) - report.num_duplex} simplex fibres"
    summary += f"; {report.servers} servers, {report.ports} ports each"
    if args.json:
        print_json(report.to_json())
    elif args.output is not None:
        print(f"wrote {args.output}: {summary}, checked against the topology")
    else:
        _print(report, args.cross_connects)
        print(f"\n{summary}; the plan is checked against the topology")
    return 0


COMMAND = Command(
    name="wire",
    help="print the cabling plan of a topology: which port goes where",
    example="linkstep wire 'Torus(4,4)' --names hosts.txt -o cables.csv",
    add_arguments=_add_arguments,
    run=_run,
)
