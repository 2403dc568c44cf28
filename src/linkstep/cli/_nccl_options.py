"""The options of nccl-tests that ``linkstep run`` takes too: ``-b 8 -e 1G -f 2 -n 20 -w 5``.

Sizes mean what they do there: suffixes are powers of 1024, a sweep goes from ``-b`` by the factor ``-f`` as far as
``-e`` and ends before it if no step meets it. Without ``-f`` the factor is 2; nccl-tests would add 1 MiB at a time.
"""

from __future__ import annotations

import argparse
import re

from linkstep.core.errors import LinkstepError
from linkstep.core.units import write_size

_SIZE = re.compile(r"(\d{1,18})([KMGT]?)", re.ASCII | re.IGNORECASE)
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
FACTOR = 2


def _size(text: str) -> int:
    """Read a size as nccl-tests does.

    >>> _size("8"), _size("1G"), _size("32m")
    (8, 1073741824, 33554432)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise argparse.ArgumentTypeError(f"sizes of nccl-tests are written 8, 64K, 32M or 1G, not {text!r:.60}")
    return int(match[1]) << _POWERS[match[2].upper()]


def _factor(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and int(text) >= 2):
        raise argparse.ArgumentTypeError(f"the factor must be a whole number from 2, not {text!r:.60}")
    return int(text)


def add_nccl_sizes(parser: argparse.ArgumentParser) -> None:
    """Add ``-b``, ``-e`` and ``-f``."""
    group = parser.add_argument_group("sizes as nccl-tests has them", "K, M and G are powers of 1024")
    group.add_argument("-b", "--minbytes", type=_size, metavar="SIZE", help="the first size of a sweep")
    group.add_argument("-e", "--maxbytes", type=_size, metavar="SIZE", help="no size is larger; default: that of -b")
    group.add_argument("-f", "--stepfactor", type=_factor, metavar="F", help=f"between sizes; default: {FACTOR}")


def nccl_sizes(args: argparse.Namespace) -> tuple[tuple[int, ...], str] | None:
    """Return the sizes that ``-b``, ``-e`` and ``-f`` ask for, and the ``--sizes`` that they are; None without them.

    >>> nccl_sizes(argparse.Namespace(minbytes=8, maxbytes=100, stepfactor=None, size=None, sizes=None))
    ((8, 16, 32, 64), '8B:64B:x2')
    """
    given = {"-b": args.minbytes, "-e": args.maxbytes, "-f": args.stepfactor}
    named = [name for name, value in given.items() if value is not None]
    if not named:
        return None
    if args.size is not None or args.sizes is not None:
        other = "--size" if args.size is not None else "--sizes"
        raise LinkstepError(f"{named[0]} says which sizes to run, and so does {other}: leave out one of them")
    if args.minbytes is None:
        raise LinkstepError(f"{named[0]} goes with -b, the first size, as in -b 8 -e 1G -f 2")
    last, factor = args.minbytes if args.maxbytes is None else args.maxbytes, args.stepfactor or FACTOR
    if args.minbytes > last:
        raise LinkstepError(f"-b must be at most -e, not {args.minbytes} and {last} bytes")
    found = [args.minbytes]
    while found[-1] * factor <= last:
        found.append(found[-1] * factor)
    ends = [write_size(size) for size in (found[0], found[-1])]
    return tuple(found), ends[0] if len(found) == 1 else f"{ends[0]}:{ends[1]}:x{factor}"
