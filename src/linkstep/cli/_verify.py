"""``linkstep verify``: prove a runtime's file right, ours or foreign, or show where it is wrong."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from linkstep.cli._common import Command, add_json, print_json
from linkstep.verification import CAPACITIES, DIALECTS, verify_file


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="MSCCL XML, an MSCCL++ plan (JSON) or our CPU XML")
    parser.add_argument("--dialect", choices=DIALECTS, help="the runtime it is for (default: any that accepts it)")
    parser.add_argument(
        "--capacity",
        choices=CAPACITIES,
        default="1",
        help="messages a connection of MSCCL XML has room for; default: 1, which is stricter than the runtimes",
    )
    add_json(parser)


def _run(args: argparse.Namespace) -> int:
    report = verify_file(args.file, args.dialect, args.capacity)
    code = 0 if report.is_verified else 1
    if args.json:
        facts = {"file": args.file, "verified": report.is_verified} | asdict(report)
        print_json(facts)
        return code
    what = f"{report.collective} of {report.ranks} ranks, {report.chunks} chunks, {report.instructions} instructions"
    if report.is_verified:
        print(f"{args.file}: verified {what}, for {', '.join(report.dialects)}")
    else:
        print(f"linkstep: {args.file} is refuted as {report.dialect}: {what}", file=sys.stderr)
    for finding in report.findings:
        print(f"  {finding}", file=sys.stderr if finding.severity == "error" else sys.stdout)
    return code


COMMAND = Command(
    name="verify",
    help="prove that a runtime file (MSCCL XML, MSCCL++ JSON, CPU XML) is right, or show what it does wrong",
    example="linkstep verify allreduce.xml --dialect rccl",
    add_arguments=_add_arguments,
    run=_run,
)
