"""``--timeline``: what was simulated as a picture, or for another tool, by the ending of the file's name."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from linkstep.core.errors import FileError
from linkstep.files import check_writable, to_path
from linkstep.timelines import EXPORTS, Timeline, export_of, export_timeline
from linkstep.timelines.exports import in_words


def add_timeline(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--timeline``, whose help says ``what`` it shows."""
    formats = ", ".join(f"{export.ending} ({export.title})" for export in EXPORTS.values())
    parser.add_argument(
        "--timeline", type=Path, metavar="FILE", help=f"{what}: drawn to a .svg or .png file, or written to {formats}"
    )


def check_timeline(path: Path) -> None:
    """Raise if no timeline can be written there: to ask before long work."""
    if export_of(path) is not None:
        check_writable(path)
        return
    from linkstep.pictures.style import SUFFIXES, check_drawable  # here: most calls draw nothing

    if to_path(path).suffix.lower() not in SUFFIXES:
        raise FileError(f"{path}: the name of a timeline must end in {in_words([*SUFFIXES, *EXPORTS])}")
    check_drawable(path)


def save_timeline(path: Path, timeline: Callable[[], Timeline], draw: Callable[[], None]) -> None:
    """Export a timeline, or draw it, as the ending of the file's name asks."""
    if export_of(path) is None:
        draw()
    else:
        export_timeline(timeline(), path)


def saved_line(path: Path) -> str:
    """Return the line that says where it is."""
    return f"{'drawn' if export_of(path) is None else 'written'} to {path}"
