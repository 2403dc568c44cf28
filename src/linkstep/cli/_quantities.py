"""Options that are quantities: sizes, times, rates, and the seconds a search may take.

Each is read where it enters, and what was understood is what commands print: ``1mb`` is 1MB from there on. Where a unit
was left open a line on standard error says how it was read, once, whatever the number of ranks.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from linkstep.core.errors import UnitError
from linkstep.core.units import (
    ReadQuantity,
    WrittenSize,
    WrittenSizes,
    format_time,
    read_bandwidth,
    read_duration,
    read_time,
)

_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "RANK")
"""Variables that tell a process its rank."""


def note(written: str, understood: str) -> None:
    """Say on standard error how something was read; of many ranks, the first says it."""
    if next((os.environ[name] for name in _RANKS if name in os.environ), "0") == "0":
        print(f"linkstep: {written.strip()} read as {understood}", file=sys.stderr)


def _reader(read: Callable[[str], ReadQuantity], text: str) -> ReadQuantity:
    try:
        found = read(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if found.is_guess:
        note(text, found.text)
    return found


def time_option(text: str) -> str:
    """Read a time, such as ``10us``; return it as it is printed."""
    return _reader(read_time, text).text


def rate_option(text: str) -> str:
    """Read a rate, such as ``100Gbps`` or ``100G``; return it as it is printed."""
    return _reader(read_bandwidth, text).text


def seconds_option(text: str) -> float:
    """Read how long a search may take, such as ``5``, ``5s`` or ``2m``; return seconds."""
    return float(_reader(read_duration, text).value)


def size_option(text: str) -> WrittenSize:
    """Read a size, such as ``1MB``, ``1M`` or ``1048576``."""
    if isinstance(text, WrittenSize):  # a default, which argparse reads too
        return text
    try:
        size = WrittenSize(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if size.is_guess:
        note(text, size)
    return size


def sizes_option(text: str) -> str:
    """Read a sweep of sizes, such as ``1KiB:1GiB``; what is none is returned as it is, since it may name a file."""
    try:
        sizes = WrittenSizes(text)
    except UnitError:
        return text
    if sizes.is_guess:
        note(text, sizes)
    return sizes


def add_seconds(parser: argparse.ArgumentParser, what: str, default: float | None, *aliases: str) -> None:
    """Add ``--seconds``, the time to spend, which is the same in every command; ``what`` says on what."""
    otherwise = "" if default is None else f"; default: {format_time(default)}"
    parser.add_argument(
        "--seconds", *aliases, type=seconds_option, default=default, metavar="TIME",
        help=f"time to spend {what}, such as 5, 500ms or 2m{otherwise}",
    )  # fmt: skip


def add_size(parser: argparse._ActionsContainer, default: str, more: str = "", *, fill: bool = True) -> None:
    """Add ``--size``, which is M in every command; without ``fill``, None where it is not given."""
    parser.add_argument(
        "--size", type=size_option, default=default if fill else None, metavar="BYTES",
        help=f"M, the bytes of data on each server, such as 64MB{more}; default: {default}",
    )  # fmt: skip


def add_seed(parser: argparse.ArgumentParser, what: str = "the search") -> None:
    """Add ``--seed``: the same seed, the same answer."""
    parser.add_argument("--seed", type=int, default=0, metavar="K", help=f"of {what}; default: 0")
