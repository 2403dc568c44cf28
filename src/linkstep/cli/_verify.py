"""``linkstep verify``: prove runtimes' files right, ours or foreign, or show where they are wrong."""

from __future__ import annotations

import argparse
import sys

from linkstep.cli._command import Command
from linkstep.cli._output import add_json, print_text, ranks_text, show_json
from linkstep.cli._progress import progress_bar
from linkstep.cli._terminal import LONGEST
from linkstep.core.errors import LinkstepError
from linkstep.core.text import cut
from linkstep.reports.verification import UnreadableFile, VerificationReport, VerifiedFile
from linkstep.verification import CAPACITIES, DIALECTS, Names, verify_file

_CODES = {"verified": 0, "refuted": 1, "unknown": 3}
_UNREADABLE = 2
_WORST_FIRST = (_UNREADABLE, _CODES["refuted"], _CODES["unknown"], _CODES["verified"])
_HEADLINES = {
    "verified": "{file}: verified {what}, for {dialects}",
    "refuted": "linkstep: {file} is refuted as {dialect}: {what}",
    "unknown": "linkstep: {file} cannot be verified as {dialect}: {what}",
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="an MSCCL++ plan (JSON), MSCCL XML or our CPU XML")
    parser.add_argument(
        "--dialect",
        choices=DIALECTS,
        help="the runtime it is for (default: any that accepts it); rccl is for releases of RCCL before 2026, which "
        "removed MSCCL",
    )
    parser.add_argument(
        "--capacity",
        choices=CAPACITIES,
        default="1",
        help="messages that a connection of MSCCL XML holds; default: 1, which is stricter than the runtimes",
    )
    add_json(parser)


def _print(report: VerifiedFile) -> None:
    ranks = ranks_text(report.ranks, report.forwarders)
    what = f"{report.collective} of {ranks}, {report.chunks} chunks, {report.instructions} instructions"
    line = _HEADLINES[report.status].format(
        file=report.file, what=what, dialect=report.dialect, dialects=", ".join(report.dialects)
    )
    if report.verified:
        print_text(line, indent="  ")
    else:
        print(line, file=sys.stderr)
    for finding in report.findings:
        print(cut(f"  {finding}", LONGEST), file=sys.stdout if finding.severity == "warning" else sys.stderr)


def _run(args: argparse.Namespace) -> int:
    """Judge every file; the exit code is the worst: 2 unreadable, 1 refuted, 3 cannot be verified, 0 verified."""
    codes, reports, names = set[int](), list[VerifiedFile | UnreadableFile](), Names()
    for file in args.files:
        try:
            with progress_bar(f"verifying {file}", " stages") as update:
                found = names.check(file, verify_file(file, args.dialect, args.capacity, update))
        except LinkstepError as error:
            print(f"linkstep: {error}", file=sys.stderr)
            codes.add(_UNREADABLE)
            reports.append(UnreadableFile.of(file, str(error)))
            continue
        report = VerifiedFile.of(file, found)
        codes.add(_CODES[report.status])
        reports.append(report)
        if not args.json:
            _print(report)
    show_json(VerificationReport(tuple(reports)), args)
    return next(code for code in _WORST_FIRST if code in codes)


COMMAND = Command(
    name="verify",
    example="linkstep verify allreduce.xml allgather.xml --dialect msccl",
    add_arguments=_add_arguments,
    run=_run,
)
