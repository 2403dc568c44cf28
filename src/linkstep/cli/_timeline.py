"""``--timeline`` and ``--trace``: what was simulated or recorded, drawn or for another tool, by the file's ending."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from linkstep.cli._output import TIMELINE_OPTION
from linkstep.core.errors import FileError
from linkstep.files import check_writable, to_path
from linkstep.timelines import EXPORTS, Timeline, export_of, export_timeline
from linkstep.timelines.exports import in_words


def add_timeline(parser: argparse.ArgumentParser, what: str, option: str = "--timeline") -> None:
    """Add an option for the file of a timeline; its help says ``what`` that shows."""
    formats = ", ".join(f"{export.ending} ({export.title})" for export in EXPORTS.values())
    parser.set_defaults(**{TIMELINE_OPTION: option.removeprefix("--")})
    parser.add_argument(
        option, type=Path, metavar="FILE", help=f"{what}: drawn to a .svg or .png file, or written to {formats}"
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


def save_timeline(path: Path, timeline: Timeline, draw: Callable[[], None] | None = None) -> None:
    """Export a timeline, or draw it, by ``draw`` if that is given, as the ending of the file's name asks."""
    if export_of(path) is not None:
        export_timeline(timeline, path)
    elif draw is not None:
        draw()
    else:
        from linkstep.pictures.timeline import save_timeline as draw_timeline  # here: most calls draw nothing

        draw_timeline(timeline, path)


def saved_line(path: Path) -> str:
    """Return the line that says where it is."""
    return f"{'drawn' if export_of(path) is None else 'written'} to {path}"
