"""``linkstep profile``: a model file with measured layer times, from a PyTorch model run here or from a trace."""

from __future__ import annotations

import argparse
from pathlib import Path

from linkstep.cli._command import Command
from linkstep.cli._output import add_json, print_table, show_json
from linkstep.cli._progress import busy
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.text import shortened
from linkstep.core.units import format_time
from linkstep.files import check_writable
from linkstep.reports.profile import ProfileReport
from linkstep.simulation.training import Layer, save_layers
from linkstep.simulation.training.torchprofile import EXAMPLES, FAILURES, describe_failure, load_trained, measure
from linkstep.simulation.training.traces import read_trace


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", nargs="?", metavar="FILE.py:CALLABLE",
        help="what returns (model, loss): loss(model) runs the forward pass and returns the loss; or an example: "
        f"{', '.join(EXAMPLES)}",
    )  # fmt: skip
    parser.add_argument(
        "--trace", metavar="FILE", help="read a trace of PyTorch's profiler instead (.json or .json.gz)"
    )
    parser.add_argument(
        "-n",
        "--repetitions",
        type=int,
        default=5,
        metavar="R",
        help="calls that are measured, of which times are medians; default: 5",
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the model file to write, a .json file")
    add_json(parser)


def _check(args: argparse.Namespace) -> None:
    if (args.model is None) == (args.trace is None):
        raise LinkstepError("give FILE.py:CALLABLE to measure a model, or --trace to read a trace, and not both")
    if not 1 <= args.repetitions <= 10_000:
        raise LinkstepError(f"--repetitions must lie in [1, 10000], not {args.repetitions}")
    if Path(args.output).suffix.lower() != ".json":
        raise FileError(f"{args.output}: the name of a model file must end in .json")
    check_writable(args.output)


def _layers(args: argparse.Namespace) -> tuple[list[tuple[Layer, int]], str]:
    """Return layers and where they are from."""
    if args.trace is not None:
        return read_trace(args.trace), f"a trace of PyTorch's profiler, {Path(args.trace).name}"
    model, loss_of = load_trained(args.model)
    with busy(f"measuring {args.model}"):
        try:
            found = measure(model, loss_of, repetitions=args.repetitions)
        except LinkstepError:
            raise
        except FAILURES as error:
            raise LinkstepError(f"{args.model}: its loss fails: {describe_failure(error)}") from None
    return found, f"{args.model} measured here, medians of {args.repetitions}"


def _run(args: argparse.Namespace) -> int:
    _check(args)
    layers, source = _layers(args)
    name = shortened(Path(args.output).stem, 200)
    save_layers(args.output, name, layers, source=source)
    report = ProfileReport.of(args.output, source, layers)
    if show_json(report, args):
        return 0
    rows = [
        (row.name, f"{row.parameters:,}", format_time(row.forward_seconds), format_time(row.backward_seconds))
        for row in report.rows
    ]
    times = format_time(report.forward_seconds), format_time(report.backward_seconds)
    rows.append(("in all", f"{report.parameters:,}", *times))
    print_table(("layer", "parameters", "forward", "backward"), rows, right=(1, 2, 3))
    print(f"saved to {args.output}; next: linkstep train-sim {args.output} --nodes 8")
    return 0


COMMAND = Command(
    name="profile",
    example="linkstep profile train.py:make -o model.json",
    add_arguments=_add_arguments,
    run=_run,
)
