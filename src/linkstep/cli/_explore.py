"""``linkstep explore``: a page in the browser that shows what commands print, and answers what is clicked."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from urllib.parse import quote, urlencode

from linkstep.argument import exists
from linkstep.cli._command import Command
from linkstep.cli._fabric_options import SIZE, add_fabric
from linkstep.cli._quantities import add_size
from linkstep.cli._signals import interrupts_noted
from linkstep.cli._topology_argument import add_fault_options, read
from linkstep.core.distances import check_connected
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.units import parse_size
from linkstep.files import is_runtime_file, kind_of
from linkstep.problem import Problem

THINGS = "RECIPE|FILE|N d"
_WIRINGS = ("wiring", "schedule", "unknown", "empty")
"""Kinds of files that are read as RECIPE|FILE is, if they are to be read at all."""
_MOST_PORTS = 2**16 - 1


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "things", nargs="*", metavar=THINGS,
        help="a recipe or a file to begin with, or N servers with d ports, then other files that the page may read",
    )  # fmt: skip
    parser.add_argument(
        "--port", type=int, default=0, metavar="K", help="listen on this port; default: one that is free"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the URL, and open no browser")
    add_size(parser, SIZE, fill=False)
    add_fabric(parser)
    add_fault_options(parser)


def sorted_out(words: list[str]) -> list[str | tuple[int, int]]:
    """Return what is to be shown: recipes and files, and two numbers in a row as N and d.

    >>> sorted_out(["64", "4", "Torus(8,8)"])
    [(64, 4), 'Torus(8,8)']
    """
    found: list[str | tuple[int, int]] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not _is_number(word):
            found.append(word)
        elif rest and _is_number(rest[0]):
            found.append((int(word), int(rest.pop(0))))
        else:
            raise LinkstepError(f"{word} stands alone: servers and ports are two numbers, such as 64 4")
    return found


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 10 and not exists(word)


def is_wiring(text: str) -> bool:
    """Whether text is read as a recipe or the file of a wiring or a schedule; if not, it is a file of another kind."""
    if not exists(text) and is_runtime_file(text):
        raise FileError(f"{text}: no such file")
    return not exists(text) or kind_of(text).name in _WIRINGS


def _route(args: argparse.Namespace) -> dict[str, str]:
    """Return the parts of the URL that show what was asked for; LinkstepError if the page could not show it."""
    if args.size is not None and parse_size(args.size) <= 0:
        raise LinkstepError(f"--size must be positive, not {args.size}")
    things = sorted_out(args.things)
    for thing in things[1:]:
        if not isinstance(thing, str) or not exists(thing):
            name = thing if isinstance(thing, str) else " ".join(map(str, thing))
            raise LinkstepError(f"{name}: the page begins with one thing, what is named after it must be files")
    faults = list(args.faults)
    if faults and (not things or not isinstance(things[0], str) or not is_wiring(things[0])):
        raise LinkstepError("faults are of a wiring: name a recipe or a file of one first")
    route = _first(things[0], args) if things else {}
    for fault in faults:
        kind, _, text = str(fault).partition(" ")
        route[kind] = f"{route[kind]};{text}" if kind in route else text
    pricing = {name: getattr(args, name) for name in ("size", "alpha", "bandwidth", "host_bandwidth")}
    pricing["fabric"] = getattr(args, "fabric_file", None)
    return route | {name: str(value) for name, value in pricing.items() if value is not None}


def _first(thing: str | tuple[int, int], args: argparse.Namespace) -> dict[str, str]:
    """Return the parts of the URL that show what is named first, read here so that what is wrong with it is said."""
    if isinstance(thing, tuple):
        nodes, degree = Problem(num_nodes=thing[0], degree=thing[1]).size
        return {"view": "choose", "n": str(nodes), "d": str(degree)}
    if not is_wiring(thing):
        return {"open": thing}
    given = read(thing, args)
    check_connected(given.topology)
    return {"view": "wiring" if given.schedule is None else "schedule", "what": thing}


def _has_browser() -> bool:
    """Whether somebody sits here: a terminal, and a screen where screens have names."""
    if not sys.stdin or not sys.stdin.isatty():
        return False
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(url: str) -> None:
    """Open a page in the browser, if there is one; whoever has none has the URL."""
    try:
        webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return


def _run(args: argparse.Namespace) -> int:
    if not 0 <= args.port <= _MOST_PORTS:
        raise LinkstepError(f"--port must lie in [0, {_MOST_PORTS}], not {args.port}")
    route = _route(args)
    from linkstep.explorer.serving import Server  # here: what is wrong with arguments is said before it is imported

    files = [one for one in (*args.things, getattr(args, "fabric_file", "")) if exists(one)]
    with interrupts_noted() as is_interrupted:
        server = Server(files, args.port)
        try:
            url = server.url + (f"#{urlencode(route, quote_via=quote)}" if route else "")
            print(url, flush=True)
            if sys.stderr.isatty():
                print("linkstep: Ctrl-C ends it", file=sys.stderr)
            if not args.no_browser and _has_browser():
                _open(url)
            while not is_interrupted():
                server.handle_request()
        finally:
            server.close()
    return 0


COMMAND = Command(
    name="explore",
    example="linkstep explore 'Torus(8,8)' --cut 0,1",
    add_arguments=_add_arguments,
    run=_run,
)
