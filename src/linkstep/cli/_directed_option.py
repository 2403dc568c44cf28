"""The option that allows one-way fibres, the same in every command that looks for wirings."""

from __future__ import annotations

import argparse
import sys

KIND_WORDS = {"duplex": "duplex cables", "directed": "one-way fibres"}
"""What a report's ``kind`` is called."""


def add_directed(parser: argparse.ArgumentParser, *, older: bool = True) -> None:
    """Add ``--directed``; ``--bidirectional``, which asked for what is the default now, is taken where it was."""
    parser.add_argument(
        "--directed", action="store_true",
        help="allow one-way fibres: a port's two fibres, split, go to different servers; default: duplex cables",
    )  # fmt: skip
    if older:
        parser.add_argument("--bidirectional", action="store_true", help=argparse.SUPPRESS)


def is_directed(args: argparse.Namespace) -> bool:
    """Return whether one-way fibres are allowed; say so where the older option is given."""
    directed: bool = args.directed
    if args.bidirectional:
        from linkstep.core.errors import LinkstepError  # here: hardly any call has both

        if directed:
            raise LinkstepError("--bidirectional asks for duplex cables, --directed allows others: leave out one")
        print("linkstep: --bidirectional is the default now, and goes with the next release", file=sys.stderr)
    return directed
