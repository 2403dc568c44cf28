"""``linkstep wire``: the cabling plan of a topology."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import BinaryIO

from linkstep.cabling import wire
from linkstep.cli._command import Command
from linkstep.cli._fabric_options import add_bandwidth
from linkstep.cli._output import add_json, print_table, print_text, show_json
from linkstep.cli._progress import busy
from linkstep.cli._topology_argument import add_faults, read
from linkstep.core.errors import FileError
from linkstep.files import check_writable, to_path, write_atomically
from linkstep.reports.cabling import CROSS_CONNECT, CablingReport

HEAD = ("cable", "from", "port", "to", "port", "kind", "panel", "panel")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology or schedule file")
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
            str(row.cable), row.from_, row.from_port_name or str(row.from_port), row.to,
            row.to_port_name or str(row.to_port), row.kind,
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
        whole = None if given.whole is None else given.whole.topology
        report = CablingReport.of(wire(given.topology, whole), given.topology, given.faults)
    if args.output is not None:
        text = _plan(report, Path(args.output).suffix.lower(), args.cross_connects)
        write_atomically(args.output, lambda file: _write(file, text))
    summary = f"{report.num_duplex} duplex cables, {len(report.cables) - report.num_duplex} simplex fibres"
    summary += f"; {report.nodes} servers, {report.degree} ports each"
    if show_json(report, args):
        return 0
    if args.output is not None:
        print_text(f"wrote {args.output}: {summary}, checked against the topology", indent="  ")
    else:
        _print(report, args.cross_connects)
        print()
        print_text(f"{summary}; the plan is checked against the topology", indent="  ")
    return 0


COMMAND = Command(
    name="wire",
    example="linkstep wire 'Torus(4,4)' --names hosts.txt -o cables.csv",
    add_arguments=_add_arguments,
    run=_run,
)
