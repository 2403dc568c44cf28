"""``linkstep report``: a page as one file, to open offline, print and mail."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from linkstep.argument import exists, read_argument
from linkstep.cli._command import Command
from linkstep.cli._explore import THINGS, is_wiring, sorted_out
from linkstep.cli._fabric_options import SIZE, add_fabric, pricing_of
from linkstep.cli._output import print_text
from linkstep.cli._progress import busy, progress_bar
from linkstep.cli._quantities import add_size
from linkstep.cli._signals import one_stop
from linkstep.cli._topology_argument import add_faults, read
from linkstep.core.errors import LinkstepError
from linkstep.core.text import counted, cut
from linkstep.core.units import format_size, parse_size
from linkstep.explorer import Document, document_of, write_document
from linkstep.explorer.documents import of_argument, plan_panel
from linkstep.explorer.reporting import check_reportable
from linkstep.files import kind_of
from linkstep.search import find

_LONGEST = 120
"""Characters of a title."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "things", nargs="+", metavar=THINGS,
        help="what to show: recipes, files of any kind that linkstep knows, N servers with d ports",
    )  # fmt: skip
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the page to write, a .html file")
    parser.add_argument(
        "--compare",
        metavar="RECIPE|FILE",
        help="show what to unplug and to plug to come from the one thing to this plan",
    )
    parser.add_argument("--open", action="store_true", help="open it in the browser")
    add_size(parser, SIZE)
    add_fabric(parser)
    add_faults(parser)


def _document(thing: str | tuple[int, int], args: argparse.Namespace) -> Document:
    """Return the document of one thing; options of wirings are heeded for all that are one."""
    pricing = pricing_of(args)
    if isinstance(thing, tuple):
        with progress_bar("find", " tries") as bar, one_stop():
            answer = find(*thing, fabric=pricing.fabric_for(thing[1]), progress=bar)
        with busy("making its page"):
            return document_of(answer, pricing)
    if not is_wiring(thing):
        if args.faults or args.names or args.both_ways:
            raise LinkstepError(f"faults and names are for wirings: {thing} is {kind_of(thing).what}")
        with busy(f"reading {thing}"):
            return document_of(thing, pricing)
    if exists(thing) or args.faults or args.names or args.both_ways:
        given = read(thing, args)
        with busy("making its page"):
            return Document(*of_argument(given, pricing, thing))
    with busy("making its page"):
        return document_of(thing, pricing)


def _difference(things: list[str | tuple[int, int]], args: argparse.Namespace) -> Document:
    """Return the document of the way from one plan to another, whose hosts have the same names."""
    before = things[0] if len(things) == 1 else None
    if not isinstance(before, str):
        raise LinkstepError(
            "--compare takes two plans: name the one that stands, and with --compare the one to come to"
        )
    given, _ = read_argument(args.compare)
    with busy("comparing the plans"):
        panel = plan_panel(read(before, args), before, given, args.compare)
    return Document(panel.title, (panel,))


def _run(args: argparse.Namespace) -> int:
    check_reportable(args.output)
    if parse_size(args.size) <= 0:
        raise LinkstepError(f"--size must be positive, not {args.size}")
    things = sorted_out(args.things)
    is_plain = args.compare is None
    documents = [_document(thing, args) for thing in things] if is_plain else [_difference(things, args)]
    title = cut("; ".join(one.title for one in documents), _LONGEST)
    panels = tuple(panel for one in documents for panel in one.panels)
    size = write_document(Document(title, panels), args.output)
    print_text(f"wrote {args.output}: {title}; {counted(len(panels), 'panel')}, {format_size(size)}", indent="  ")
    if args.open:
        webbrowser.open(Path(args.output).resolve().as_uri())
    return 0


COMMAND = Command(
    name="report",
    example="linkstep report 'Torus(8,8)' -o report.html",
    add_arguments=_add_arguments,
    run=_run,
)
