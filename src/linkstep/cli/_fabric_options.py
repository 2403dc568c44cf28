"""Options that say for which data and which fabric times are: ``--size``, ``--alpha``, ``--bandwidth`` and others."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from linkstep.cli._quantities import rate_option, time_option
from linkstep.core.errors import LinkstepError
from linkstep.core.units import WrittenSize
from linkstep.costs import Fabric, load_fabric
from linkstep.costs.usual import ALPHA, BANDWIDTH
from linkstep.reports.pricing import Pricing

SIZE = WrittenSize("1MB")
"""Of the data that times are for, unless another is asked for."""


class _FabricOption(argparse.Action):
    """``--fabric`` says what ``--alpha`` and ``--bandwidth`` would: it goes with neither of them."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        setattr(namespace, self.dest, values)
        others = [name for name in ("alpha", "bandwidth") if getattr(namespace, name, None) is not None]
        if namespace.fabric is not None and others:
            parser.error(f"--fabric names a file that says alpha and bandwidth: leave out --{' and --'.join(others)}")


class _FabricFileOption(_FabricOption):
    """``--fabric``: what the file says, with its name as ``fabric_file``."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        try:
            fabric = load_fabric(values)
        except LinkstepError as error:
            raise argparse.ArgumentError(self, str(error)) from None
        namespace.fabric_file = values
        super().__call__(parser, namespace, fabric, option)


def add_bandwidth(parser: argparse.ArgumentParser) -> None:
    """Add ``--bandwidth``, B of a node, of which a link has B/d where nothing says otherwise; and ``--fabric``."""
    parser.add_argument(
        "--bandwidth", action=_FabricOption, type=rate_option, metavar="RATE",
        help=f"B: what a server sends over all its ports together, such as 100G or 12.5GB/s; default: {BANDWIDTH}",
    )  # fmt: skip
    parser.add_argument(
        "--fabric", action=_FabricFileOption, metavar="FILE",
        help="take what a step and a byte take from a fabric file, as linkstep fit writes it",
    )  # fmt: skip


def add_fabric(parser: argparse.ArgumentParser) -> None:
    """Add ``--alpha``, ``--bandwidth``, ``--host-bandwidth`` and ``--fabric``: what a step and a byte take."""
    parser.add_argument(
        "--alpha", action=_FabricOption, type=time_option, metavar="TIME",
        help=f"latency of a step, such as 5us; default: {ALPHA}",
    )  # fmt: skip
    add_bandwidth(parser)
    parser.add_argument(
        "--host-bandwidth", type=rate_option, metavar="RATE",
        help="what all ports of a host carry together, in and out each; default: as much as they do apart",
    )  # fmt: skip


def pricing_of(args: argparse.Namespace) -> Pricing:
    """Return for which data and fabric times are, by ``--size`` and the options of ``add_fabric``: read once, kept.

    A file describes wires, so that a link has its rate whatever the number of ports; ``--bandwidth`` is for all ports.
    """
    if not hasattr(args, "pricing"):
        args.pricing = _read_pricing(args)
    pricing: Pricing = args.pricing
    return pricing


def _read_pricing(args: argparse.Namespace) -> Pricing:
    size, file = getattr(args, "size", None) or SIZE, getattr(args, "fabric", None)
    given = {name: getattr(args, name, None) for name in ("alpha", "bandwidth", "host_bandwidth")}
    fabric = Fabric.of(
        given["alpha"] or ALPHA, given["bandwidth"] or BANDWIDTH, 1, getattr(args, "reduction", None),
        host_bandwidth=given["host_bandwidth"],
    )  # fmt: skip
    if file is not None:
        fabric = replace(
            file,
            reduction_bandwidth=fabric.reduction_bandwidth or file.reduction_bandwidth,
            host_bandwidth=fabric.host_bandwidth or file.host_bandwidth,
        )
    return Pricing(size, fabric, file is not None, {name: text for name, text in given.items() if text})


def fabric_of(args: argparse.Namespace, degree: int) -> Fabric:
    """Return the fabric that ``add_fabric``'s options describe, for nodes with this many ports."""
    return pricing_of(args).fabric_for(degree)
