"""``linkstep warm``: compile all kernels now, in parallel, so that no command has to wait for that."""

from __future__ import annotations

import argparse
import os

from linkstep.cli._command import Command
from linkstep.cli._output import add_json, show_json
from linkstep.cli._progress import progress_bar
from linkstep.core.errors import LinkstepError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=int, metavar="W", help="processes that compile; default: one a core")
    add_json(parser)


def _run(args: argparse.Namespace) -> int:
    if args.workers is not None and args.workers < 1:
        raise LinkstepError(f"--workers must be at least 1, not {args.workers}")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise LinkstepError("NUMBA_DISABLE_JIT is set, so that nothing is compiled: unset it")
    from linkstep.reports.warm import WarmReport  # here: they import all that has kernels
    from linkstep.warming import warm

    with progress_bar("compiling", " kernels") as bar:
        report = WarmReport.of(warm(args.workers, bar))
    if report.folder is None:
        raise LinkstepError("no folder for compiled kernels can be written: name one in NUMBA_CACHE_DIR")
    if show_json(report, args):
        return 0
    there = report.kernels - report.compiled
    beside = f", {there} were there" if there else ""
    print(
        f"{report.compiled} kernels compiled{beside}, in {report.elapsed_seconds:.0f} s by {report.processes} processes"
    )
    print(f"kept in {report.folder}")
    return 0


COMMAND = Command(
    name="warm",
    example="linkstep warm",
    add_arguments=_add_arguments,
    run=_run,
)
