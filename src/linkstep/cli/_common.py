"""What commands share: the table row of a command, reading RECIPE|FILE, printing tables and JSON."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from linkstep.cli._progress import progress_bar
from linkstep.cli._terminal import printable, raw
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.faults import KINDS, Fault, apply
from linkstep.core.faults import parse as parse_fault
from linkstep.core.schedule import COLLECTIVES, Schedule
from linkstep.core.topology import Topology
from linkstep.core.units import WrittenSize, write_bandwidth, write_time
from linkstep.correctness import check
from linkstep.costs import Cost, Fabric, load_fabric
from linkstep.costs.usual import ALPHA, BANDWIDTH, usual_fabric
from linkstep.files import SUFFIXES, load
from linkstep.make import Made, schedule
from linkstep.recipe import Recipe, parse
from linkstep.reports.pricing import FabricText, Pricing
from linkstep.reports.wiring import WiringStanding

DEFAULT = Collective.ALLREDUCE
"""The collective of every command that makes a schedule, unless another is asked for."""
SIZE = WrittenSize("1MB")
PATIENCE = 2.0
"""Seconds after which a command that is still at work says at what."""


@dataclass(frozen=True)
class Command:
    """One row of the command table: the help, the parser and the completion are made from it."""

    name: str
    help: str
    """One line, as `linkstep --help` lists it."""
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Say on a terminal what is going on once it has taken two seconds; for work that reports no progress itself."""
    if not sys.stderr.isatty():
        yield
        return
    said = threading.Event()

    def say() -> None:
        said.set()
        print(f"linkstep: {printable(what)} ...", end="", file=raw(sys.stderr), flush=True)

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said.is_set():
            print("\r\x1b[K", end="", file=raw(sys.stderr), flush=True)


@dataclass(frozen=True)
class Given:
    """What a RECIPE|FILE argument named: a topology, with its recipe or its schedule where there is one.

    With faults it is a plain topology, and ``whole`` is what it was without them.
    """

    topology: Topology
    recipe: Recipe | None = None
    schedule: Schedule | None = None
    faults: tuple[Fault, ...] = ()
    whole: Given | None = None

    def called(self, argument: str) -> str:
        """Return what to call it where it is printed: its recipe, in short, or its name, or what the argument was."""
        return self.topology.name or argument if self.recipe is None else self.recipe.short


def exists(text: str) -> bool:
    """Whether there is a file of this name; text that no file system takes, such as a long recipe, names none."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def read(text: str, args: argparse.Namespace | None = None) -> Given:
    """Read RECIPE|FILE: what ends like a file of ours or exists is a file, all else a recipe.

    The options of ``add_names`` and ``add_faults`` in ``args`` are heeded; where a fault makes links differ, the others
    have their part of ``--bandwidth``, or the rate of ``--fabric``.
    """
    with busy("reading the topology"):
        given = _read(text)
    names, faults = getattr(args, "names", None), tuple(getattr(args, "faults", None) or ())
    if names is not None:
        topology = given.topology.with_labels(host_names(names, given.topology.num_nodes, "--names"))
        schedule = None if given.schedule is None else replace(given.schedule, topology=topology)
        given = replace(given, topology=topology, schedule=schedule)
    if not faults:
        return given
    if given.schedule is not None:
        raise LinkstepError(
            f"{text} holds a schedule, which is for its own topology: give faults with a recipe or a topology"
        )
    with busy("applying faults"):
        left = apply(given.topology, faults, _link_rate(args, given.topology.degree))
    return Given(left, faults=faults, whole=given)


def _read(text: str) -> Given:
    if Path(text).suffix.lower() in SUFFIXES or exists(text):
        thing = load(text)
        if isinstance(thing, Schedule):
            return Given(thing.topology, schedule=thing)
        return Given(thing)
    recipe = parse(text)
    return Given(recipe.topology(), recipe=recipe)


def host_names(text: str, count: int, option: str) -> list[str]:
    """Return the names of hosts in a file, one a line, or in a list with commas between."""
    is_file = "," not in text and exists(text)
    if is_file:
        try:
            names = [line.strip() for line in Path(text).read_text("utf-8-sig").splitlines() if line.strip()]
        except (OSError, ValueError) as error:
            raise FileError(f"{text}: cannot be read as a list of names: {error}") from None
    else:
        names = [name.strip() for name in text.split(",")]
    if len(names) != count:
        hint = "" if is_file or "," in text else ", and there is no such file"
        raise LinkstepError(f"{option} must name all {count} hosts, not {len(names)}: {text!r:.60}{hint}")
    return names


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> None:
    """Print columns padded to their widest cell; ``right`` lists the columns aligned right."""
    table = [list(head), *map(list, rows)]
    widths = [max(len(row[c]) for row in table) for c in range(len(head))]
    aligned = set(right)
    for row in table:
        cells = [
            cell.rjust(w) if c in aligned else cell.ljust(w)
            for c, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def both_halves(halves: tuple[Cost, Cost]) -> tuple[str, str]:
    """Return steps and bandwidth of the two halves of an allreduce, once where they are the same."""
    first, second = halves
    steps = str(second.steps) if first.steps == second.steps else f"{first.steps}+{second.steps}"
    bandwidth = f"{float(second.bandwidth):.4f}"
    return steps, bandwidth if first.bandwidth == second.bandwidth else f"{float(first.bandwidth):.4f}+{bandwidth}"


def print_fields(fields: Iterable[tuple[str, str]]) -> None:
    """Print ``name  value`` lines, values aligned."""
    pairs = list(fields)
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        print(f"  {name.ljust(width)}  {value}".rstrip())


def print_json(value: Any) -> None:
    """Print a value as JSON; Fractions become strings such as "1023/1024"."""
    json.dump(value, sys.stdout, indent=2, default=_jsonable)
    print()


def _jsonable(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def wiring_fields(found: WiringStanding | None) -> list[tuple[str, str]]:
    """Return the line that says how good T_B is on this wiring; none if no wiring allows less."""
    return [] if found is None or found.summary is None else [("on this wiring", found.summary)]


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_collective(parser: argparse.ArgumentParser) -> None:
    """Add ``--collective`` and ``--root``: what a schedule is made for."""
    parser.add_argument("--collective", choices=COLLECTIVES, help="default: the file's own, else allreduce")
    parser.add_argument("--root", default=0, metavar="HOST", help="of a broadcast or a reduce; default: the first")


class _FabricOption(argparse.Action):
    """``--fabric`` says what ``--alpha`` and ``--bandwidth`` would: it goes with neither of them."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        setattr(namespace, self.dest, values)
        others = [name for name in ("alpha", "bandwidth") if getattr(namespace, name, None) is not None]
        if namespace.fabric is not None and others:
            parser.error(f"--fabric names a file that says alpha and bandwidth: leave out --{' and --'.join(others)}")


def _fabric_file(text: str) -> Fabric:
    try:
        return load_fabric(text)
    except LinkstepError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_bandwidth(parser: argparse.ArgumentParser) -> None:
    """Add ``--bandwidth``, B of a node, of which a link has B/d where nothing says otherwise; and ``--fabric``."""
    parser.add_argument(
        "--bandwidth", action=_FabricOption, metavar="RATE", help=f"B of a node, over all ports; default: {BANDWIDTH}"
    )
    parser.add_argument(
        "--fabric", action=_FabricOption, type=_fabric_file, metavar="FILE",
        help="take what a step and a byte take from a fabric file, as linkstep fit writes it",
    )  # fmt: skip


def add_fabric(parser: argparse.ArgumentParser) -> None:
    """Add ``--alpha``, ``--bandwidth``, ``--host-bandwidth`` and ``--fabric``: what a step and a byte take."""
    parser.add_argument("--alpha", action=_FabricOption, metavar="TIME", help=f"latency of a hop; default: {ALPHA}")
    add_bandwidth(parser)
    parser.add_argument(
        "--host-bandwidth", metavar="RATE",
        help="what all ports of a host carry together, in and out each; default: as much as they do apart",
    )  # fmt: skip


def add_names(parser: argparse.ArgumentParser) -> None:
    """Add ``--names``: what the hosts are called."""
    parser.add_argument("--names", metavar="FILE|A,B,...", help="names of the hosts: a file with one a line, or a list")


_FAULTS = {
    "cut": ("A,B[,oneway]", "a cable that is cut, or only its way from A to B"),
    "down": ("HOST", "a host that is down"),
    "slow": ("A,B[,oneway]=RATE", "a cable that runs at this rate"),
}


def add_faults(parser: argparse.ArgumentParser) -> None:
    """Add ``--cut``, ``--down`` and ``--slow``, which ``read`` applies; hosts by name or by number."""

    def reader(kind: str) -> Callable[[str], Fault]:
        def read_fault(text: str) -> Fault:
            try:
                return parse_fault(kind, text)
            except LinkstepError as error:
                raise argparse.ArgumentTypeError(str(error)) from None

        return read_fault

    group = parser.add_argument_group("faults", "hosts by name or number; each option may be given several times")
    for kind in KINDS:
        metavar, text = _FAULTS[kind]
        group.add_argument(
            f"--{kind}", dest="faults", action="append", metavar=metavar, type=reader(kind), default=[], help=text
        )


def fabric_of(args: argparse.Namespace, degree: int) -> Fabric:
    """Return the fabric that ``add_fabric``'s options describe, for nodes with this many ports.

    A file describes wires, so that a link has its rate whatever the number of ports; ``--bandwidth`` is for all ports.
    """
    ports, given = max(degree, 1), _given(args)
    if args.fabric is None:
        return replace(given, degree=ports)
    wires: Fabric = args.fabric.with_degree(ports)
    return replace(
        wires,
        reduction_bandwidth=given.reduction_bandwidth or wires.reduction_bandwidth,
        host_bandwidth=given.host_bandwidth or wires.host_bandwidth,
    )


def _given(args: argparse.Namespace) -> Fabric:
    """Return what the options say of a fabric, read once and kept with them."""
    if not hasattr(args, "given_fabric"):
        args.given_fabric = Fabric.of(
            getattr(args, "alpha", None) or ALPHA, getattr(args, "bandwidth", None) or BANDWIDTH, 1,
            getattr(args, "reduction", None), host_bandwidth=getattr(args, "host_bandwidth", None),
        )  # fmt: skip
    given: Fabric = args.given_fabric
    return given


def fabric_values(args: argparse.Namespace, degree: int) -> dict[str, str]:
    """Return alpha, bandwidth (of a node) and overhead as text, exact: as they were given, or from the file.

    And what else a fabric says, where it does: the limit of a host.
    """
    fabric = fabric_of(args, degree)
    host = fabric.host_bandwidth
    given = {} if host is None else {"host_bandwidth": getattr(args, "host_bandwidth", None) or write_bandwidth(host)}
    if args.fabric is None:
        return {"alpha": args.alpha or ALPHA, "bandwidth": args.bandwidth or BANDWIDTH, "overhead": "0s", **given}
    return {
        "alpha": write_time(fabric.alpha),
        "bandwidth": write_bandwidth(fabric.node_bandwidth),
        "overhead": write_time(fabric.overhead),
        **given,
    }


def _link_rate(args: argparse.Namespace | None, degree: int) -> Fraction:
    """Return bit/s of a link, by the options of ``add_bandwidth`` where a command has them."""
    fabric = getattr(args, "fabric", None)
    if fabric is not None:
        return Fraction(fabric.link_bandwidth)
    return (usual_fabric(1) if args is None else _given(args)).node_bandwidth / max(degree, 1)


def fabric_text(topology: Topology, args: argparse.Namespace) -> str:
    """Say for which fabric a time is: ``alpha 10us, 100Gbps a node``."""
    return FabricText(**fabric_values(args, topology.degree)).words(topology)


def pricing_of(args: argparse.Namespace) -> Pricing:
    """Return for which data and fabric a report's times are, by ``--size`` and the options of ``add_fabric``."""
    return Pricing(
        size=getattr(args, "size", None) or SIZE,
        fabric=lambda degree: fabric_of(args, degree),
        text=lambda degree: FabricText(**fabric_values(args, degree)),
        words=lambda topology: fabric_text(topology, args),
    )


def _root(topology: Topology, text: str) -> int:
    is_number = topology.labels is None and text.isdecimal() and text.isascii() and len(text) <= 10
    return int(text) if is_number else topology.node_named(text)


def schedule_of(given: Given, collective: str | None, root: int | str, **how: Any) -> Made:
    """Return the file's schedule, checked, or make one as ``linkstep schedule`` does."""
    if given.schedule is None:
        wanted = collective or DEFAULT
        number = root if isinstance(root, int) else _root(given.topology, root)
        with progress_bar("schedule") as bar:
            source = given.topology if given.recipe is None else given.recipe
            return schedule(source, wanted, root=number, progress=bar, **how)
    if collective not in (None, given.schedule.collective):
        raise LinkstepError(f"the file holds a {given.schedule.collective}, not the {collective} of --collective")
    check(given.schedule)
    return Made(given.schedule, "file", fabric=how.get("fabric"))
