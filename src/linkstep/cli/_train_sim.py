"""``linkstep train-sim``: how long an iteration of training takes on topologies, ours and those in use today."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from linkstep.cli._common import Command, add_fabric, add_json, fabric_of, fabric_values, print_json, print_table
from linkstep.cli._progress import progress_bar
from linkstep.core.errors import LinkstepError
from linkstep.core.units import format_size, format_time, parse_fraction, parse_size
from linkstep.search import find
from linkstep.search.ranking import SECONDS
from linkstep.search.spot import Spot
from linkstep.simulation.training import Comparison, Model, Outcome, compare, load_model, model_names


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        help=f"a model file as linkstep profile writes it, or one of {', '.join(model_names())}",
    )
    parser.add_argument("--nodes", type=int, required=True, metavar="N", help="how many servers")
    parser.add_argument("--degree", type=int, default=4, metavar="D", help="ports on each; default: 4")
    parser.add_argument("--bidirectional", action="store_true", help="only topologies whose links all go both ways")
    add_fabric(parser)
    add_hardware(parser)
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, metavar="S",
        help="for the all-to-all throughput of a topology, where it is not known yet; default: %(default)g",
    )  # fmt: skip
    parser.add_argument("--plot", type=Path, metavar="FILE", help="plot the parts of the times to a .png or .svg file")
    parser.add_argument(
        "--timeline", type=Path, metavar="FILE", help="draw the iteration on our topology to a .png or .svg file"
    )
    add_json(parser)


def add_hardware(parser: argparse.ArgumentParser) -> None:
    """Add ``--batch``, ``--utilisation`` and ``--memory``: what a server does and has, in place of the file's."""
    parser.add_argument("--batch", type=int, metavar="B", help="samples a server trains on; default: the model's")
    parser.add_argument("--utilisation", metavar="PART", help="of peak FLOP/s, such as 0.4; default: the model's")
    parser.add_argument("--memory", metavar="BYTES", help="of a server, such as 80GB; default: the model's")


def read_model(name: str, args: argparse.Namespace) -> Model:
    """Return a model with what the options of ``add_hardware`` change."""
    model = load_model(name)
    if args.batch is not None:
        model = model.with_batch(args.batch)
    utilisation = None if args.utilisation is None else parse_fraction(args.utilisation, "--utilisation")
    memory = None if args.memory is None else parse_size(args.memory)
    return model.with_hardware(utilisation=utilisation, memory=memory)


def outcome_facts(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome for ``--json``."""
    done, choice = outcome.iteration, outcome.choice
    return {
        "name": outcome.name,
        "recipe": None if choice is None else str(choice.recipe),
        "method": None if choice is None else choice.method,
        "role": outcome.role,
        "seconds": float(outcome.time),
        "compute_seconds": float(done.compute),
        "exposed_allreduce_seconds": float(done.exposed_allreduce),
        "allreduce_seconds": float(done.allreduce),
        "all_to_all_seconds": float(done.all_to_all),
        "bucket_bytes": int(done.bucket),
        "all_to_all": outcome.network.flow,
        "reached": outcome.is_reached,
    }


def _ratio(value: float, base: float) -> str:
    return f"{value / base:.2f}x" if base else "-"


def _print(found: Comparison) -> None:
    ours, bound = found.ours, found.bound
    rows = []
    for outcome in found.outcomes:
        done = outcome.iteration
        rows.append(
            (
                outcome.name, format_time(outcome.time), _ratio(float(outcome.time), float(ours.time)),
                format_time(done.compute), format_time(done.exposed_allreduce), format_time(done.all_to_all),
                _ratio(float(done.all_to_all), float(ours.iteration.all_to_all)), format_size(done.bucket),
            )
        )  # fmt: skip
    head = ("topology", "iteration", "of ours", "compute", "exposed allreduce", "all-to-all", "of ours", "bucket")
    print_table(head, rows, right=range(1, 8))
    over = float(ours.time / bound.time - 1)
    print(f"\n{ours.name}: {over:.1%} above what no topology of {found.job.num_nodes} servers beats")


def _head(found: Comparison, model: Model, args: argparse.Namespace) -> None:
    job, values = found.job, fabric_values(args, args.degree)
    batch = "" if job.batch is None else f", a batch of {job.batch} on each"
    print(f"{job.model}: {model.num_parameters:,} parameters on {job.num_nodes} servers{batch}")
    print(
        f"{args.degree} ports on each, alpha {values['alpha']}, {values['bandwidth']} a server; {_compute_line(model)}"
    )
    print(
        f"{format_size(job.gradient_bytes)} of gradients are averaged, {job.num_all_to_alls} all-to-alls; "
        f"{format_size(job.memory)} of parameters, gradients and optimizer state on a server\n"
    )


def _compute_line(model: Model) -> str:
    hardware = model.hardware
    if model.is_measured or hardware.peak_flops is None:
        return "compute times as measured"
    return f"{float(hardware.peak_flops) / 1e12:g} TFLOP/s, of which {float(hardware.utilisation):.0%} is reached"


def _check(args: argparse.Namespace) -> None:
    """Refuse what cannot work before searching."""
    if not args.seconds > 0:
        raise LinkstepError(f"--seconds must be more than 0, not {args.seconds:g}")
    for path in (args.plot, args.timeline):
        if path is not None:
            from linkstep.pictures.style import check_drawable  # here: most calls draw nothing

            check_drawable(path)
    if args.plot is not None and args.plot == args.timeline:
        raise LinkstepError(f"--plot and --timeline must be two files, not both {args.plot}")


def _run(args: argparse.Namespace) -> int:
    _check(args)
    fabric = fabric_of(args, args.degree)
    model = read_model(args.model, args)
    job = model.job(args.nodes)
    with progress_bar("find", " tries") as bar:
        answer = find(
            args.nodes, args.degree, bidirectional=args.bidirectional, spot=Spot(), fabric=fabric, progress=bar
        )
    with progress_bar("train-sim", " topologies") as bar:
        found = compare(job, answer, fabric, args.seconds, progress=bar)
    if args.plot is not None:
        from linkstep.pictures.training import plot_comparison

        plot_comparison(found, args.plot)
    if args.timeline is not None:
        from linkstep.pictures.training import draw_iteration

        draw_iteration(found.ours.iteration, args.timeline, f"{job.model} on {found.ours.name}, N = {job.num_nodes}")
    if args.json:
        print_json(_facts(found, model, args))
        return 0
    _head(found, model, args)
    _print(found)
    for path, done in ((args.plot, "plotted"), (args.timeline, "drawn")):
        if path is not None:
            print(f"{done} to {path}")
    return 0


def _facts(found: Comparison, model: Model, args: argparse.Namespace) -> dict[str, Any]:
    job = found.job
    return {
        "model": job.model,
        "parameters": model.num_parameters,
        "nodes": job.num_nodes,
        "degree": args.degree,
        **fabric_values(args, args.degree),
        "batch": None if job.batch is None else float(job.batch),
        "gradient_bytes": float(job.gradient_bytes),
        "all_to_alls": job.num_all_to_alls,
        "memory_bytes": float(job.memory),
        "rows": [outcome_facts(outcome) for outcome in found.outcomes],
        "plot": args.plot and str(args.plot),
        "timeline": args.timeline and str(args.timeline),
    }


COMMAND = Command(
    name="train-sim",
    help="simulate an iteration of training on topologies, ours and those in use today",
    example="linkstep train-sim switch-base-256 --nodes 256 --degree 4 --plot parts.svg --timeline streams.svg",
    add_arguments=_add_arguments,
    run=_run,
)
