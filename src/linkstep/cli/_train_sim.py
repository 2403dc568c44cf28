"""``linkstep train-sim``: how long an iteration of training takes on topologies, ours and those in use today."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path

from linkstep.cli._command import Command
from linkstep.cli._directed_option import add_directed, is_directed
from linkstep.cli._fabric_options import add_fabric, fabric_of, pricing_of
from linkstep.cli._output import add_json, print_table, print_text, show_json
from linkstep.cli._progress import progress_bar
from linkstep.cli._quantities import add_seconds, size_option
from linkstep.cli._timeline import add_timeline, check_timeline, save_timeline, saved_line
from linkstep.core.errors import LinkstepError
from linkstep.core.units import format_size, format_time, parse_fraction, parse_size
from linkstep.reports.training import TrainingReport
from linkstep.search import find
from linkstep.search.ranking import SECONDS
from linkstep.search.spot import Spot
from linkstep.simulation.training import Comparison, Model, compare, load_model, model_names
from linkstep.timelines import timeline_of


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        help=f"a model file as linkstep profile writes it, or one of {', '.join(model_names())}",
    )
    parser.add_argument("--nodes", type=int, required=True, metavar="N", help="how many servers")
    parser.add_argument("--degree", type=int, default=4, metavar="D", help="ports on each; default: 4")
    add_directed(parser)
    add_fabric(parser)
    add_hardware(parser)
    add_seconds(parser, "on the all-to-all throughput of each topology where it is not known yet", SECONDS)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the parts of the times to a .svg or .png file")
    add_timeline(parser, "the iteration on our topology")
    add_json(parser)


def add_hardware(parser: argparse.ArgumentParser) -> None:
    """Add ``--batch``, ``--utilisation`` and ``--memory``: what a server does and has, in place of the file's."""
    parser.add_argument("--batch", type=int, metavar="B", help="samples a server trains on; default: the model's")
    parser.add_argument("--utilisation", metavar="PART", help="of peak FLOP/s, such as 0.4; default: the model's")
    parser.add_argument(
        "--memory", type=size_option, metavar="BYTES", help="of a server, such as 80GB; default: the model's"
    )


def read_model(name: str, args: argparse.Namespace) -> Model:
    """Return a model with what the options of ``add_hardware`` change."""
    model = load_model(name)
    if args.batch is not None:
        model = model.with_batch(args.batch)
    utilisation = None if args.utilisation is None else parse_fraction(args.utilisation, "--utilisation")
    memory = None if args.memory is None else parse_size(args.memory)
    return model.with_hardware(utilisation=utilisation, memory=memory)


def _ratio(value: Fraction, base: Fraction) -> str:
    return f"{float(value) / float(base):.2f}x" if base else "-"


def _print(report: TrainingReport) -> None:
    ours = report.ours
    rows = [
        (
            row.name, format_time(row.seconds), _ratio(row.seconds, ours.seconds),
            format_time(row.compute_seconds), format_time(row.exposed_allreduce_seconds),
            format_time(row.all_to_all_seconds), _ratio(row.all_to_all_seconds, ours.all_to_all_seconds),
            format_size(row.bucket),
        )
        for row in report.rows
    ]  # fmt: skip
    head = ("topology", "iteration", "of ours", "compute", "exposed allreduce", "all-to-all", "of ours", "bucket")
    print_table(head, rows, right=range(1, 8), drop=(7, 3, 6))
    over = float(report.over_bound)
    print()
    print_text(f"{ours.name}: {over:.1%} above what no topology of {report.nodes} servers beats")


def _print_head(report: TrainingReport) -> None:
    fabric = report.fabric
    batch = "" if report.batch is None else f", a batch of {report.batch} on each"
    print_text(f"{report.model}: {report.parameters:,} parameters on {report.nodes} servers{batch}")
    print_text(f"{report.degree} ports on each, alpha {fabric.alpha}, {fabric.rates}; {_compute_line(report)}")
    print_text(
        f"{format_size(report.gradient_bytes)} of gradients are averaged, {report.all_to_alls} all-to-alls; "
        f"{format_size(report.memory_bytes)} of parameters, gradients and optimizer state on a server"
    )
    print()


def _compute_line(report: TrainingReport) -> str:
    if report.peak_flops is None or report.is_measured:
        return "compute times as measured"
    return f"{float(report.peak_flops) / 1e12:g} TFLOP/s, of which {float(report.utilisation):.0%} is reached"


def _check(args: argparse.Namespace) -> None:
    """Refuse what cannot work before searching."""
    if not args.seconds > 0:
        raise LinkstepError(f"--seconds must be more than 0, not {args.seconds:g}")
    if args.plot is not None:
        from linkstep.pictures.style import check_drawable  # here: most calls draw nothing

        check_drawable(args.plot)
    if args.timeline is not None:
        check_timeline(args.timeline)
    if args.plot is not None and args.plot == args.timeline:
        raise LinkstepError(f"--plot and --timeline must be two files, not both {args.plot}")


def _save_timeline(found: Comparison, path: Path) -> None:
    name = f"{found.job.model} on {found.ours.name}, N = {found.job.num_nodes}"
    timeline = timeline_of(found.ours.iteration, name)

    def draw() -> None:
        from linkstep.pictures.training import draw_iteration

        draw_iteration(timeline, path)

    save_timeline(path, timeline, draw)


def _run(args: argparse.Namespace) -> int:
    _check(args)
    fabric = fabric_of(args, args.degree)
    model = read_model(args.model, args)
    job = model.job(args.nodes)
    with progress_bar("find", " tries") as bar:
        answer = find(args.nodes, args.degree, directed=is_directed(args), spot=Spot(), fabric=fabric, progress=bar)
    with progress_bar("train-sim", " topologies") as bar:
        found = compare(job, answer, fabric, args.seconds, progress=bar)
    if args.plot is not None:
        from linkstep.pictures.training import plot_comparison

        plot_comparison(found, args.plot)
    if args.timeline is not None:
        _save_timeline(found, args.timeline)
    plot, timeline = (path and str(path) for path in (args.plot, args.timeline))
    report = TrainingReport.of(found, model, args.degree, pricing_of(args), plot, timeline)
    if show_json(report, args):
        return 0
    _print_head(report)
    _print(report)
    if args.plot is not None:
        print(f"plotted to {args.plot}")
    if args.timeline is not None:
        print(saved_line(args.timeline))
    return 0


COMMAND = Command(
    name="train-sim",
    example="linkstep train-sim gpt2-medium --nodes 64 --degree 4 --plot parts.svg",
    add_arguments=_add_arguments,
    run=_run,
)
