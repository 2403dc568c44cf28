"""Reading a file whole, whatever it is: the table of formats by the ending of a name, and JSON by what it holds.

What comes back is a topology or a schedule, with notes on how a wiring was understood. Not here: the formats, nor what
a file is that holds neither (``linkstep.files.kinds``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from linkstep.core.errors import FileError, ScheduleError, TopologyError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.files.adjacency import read_adjacency, write_adjacency
from linkstep.files.cables import CableLines, ReadWiring, natural
from linkstep.files.disk import AnyPath, open_to_read, to_path
from linkstep.files.dot import read_dot, write_dot
from linkstep.files.graph6 import read_graph6, write_graph6, write_sparse6
from linkstep.files.graphml import read_graphml, write_graphml
from linkstep.files.graphs import read_edges, read_gph, write_edges, write_gph
from linkstep.files.lldp import HostView, documents_in, is_lldp, lldp_lines, views_in
from linkstep.files.netbox import is_netbox, is_plan, netbox_lines, plan_lines
from linkstep.files.own import loads, read_npz, thing_of, write_json, write_npz
from linkstep.files.tables import MAX_BYTES, decoded, read_csv, read_limited, write_csv

_MOST_FILES = 2**16
"""Of a folder of views."""


@dataclass(frozen=True)
class Reading:
    """What a file holds, and lines that say how a wiring was understood."""

    thing: Topology | Schedule
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Format:
    """A format that holds topologies alone; ``read`` is told whether each line is a duplex cable."""

    read: Callable[[BinaryIO, bool], ReadWiring]
    write: Callable[[Topology, BinaryIO], None]


def _plain(read: Callable[[BinaryIO], Topology]) -> Callable[[BinaryIO, bool], ReadWiring]:
    """Return a reader for a format that says of each edge whether it goes both ways."""
    return lambda file, both_ways: ReadWiring(with_returns(read(file)) if both_ways else read(file))


OWN = {".npz": write_npz, ".json": write_json}
WIRING = {
    ".csv": _Format(read_csv, write_csv),
    ".graphml": _Format(_plain(read_graphml), write_graphml),
    ".edges": _Format(_plain(read_edges), write_edges),
    ".gph": _Format(_plain(read_gph), write_gph),
    ".adj": _Format(_plain(read_adjacency), write_adjacency),
    ".g6": _Format(_plain(read_graph6), write_graph6),
    ".s6": _Format(_plain(read_graph6), write_sparse6),
    ".dot": _Format(read_dot, write_dot),
    ".gv": _Format(read_dot, write_dot),
}
SUFFIXES = (*OWN, *WIRING)
"""What can be saved, and read."""
KEEPS_CABLES = (".csv", ".dot", ".gv")
"""What keeps ports and other columns of a list of cables."""
READABLE = (*SUFFIXES, ".tsv")
"""What can be read: lists with tabs too."""


def read_file(path: AnyPath, *, both_ways: bool = False) -> Reading:
    """Return what a file holds, and how it was understood; FileError if it holds no topology and no schedule.

    With ``both_ways`` each line of a wiring is a duplex cable. A folder holds what each host sees by LLDP.
    """
    target = to_path(path)
    if target.is_dir():
        if not any(target.glob("*.json")):
            raise FileError(f"{path}: is a directory, not a file")
        return _explained(path, lambda: _read_folder(target))
    suffix = target.suffix.lower()
    if suffix not in READABLE:
        raise FileError(f"{path}: the name must end in one of {', '.join(READABLE)}")
    with open_to_read(path) as file:
        return _explained(path, lambda: _read(file, suffix, target.stem, both_ways))


def _read(file: BinaryIO, suffix: str, stem: str, both_ways: bool) -> Reading:
    if suffix in WIRING or suffix == ".tsv":
        wiring = WIRING[".csv" if suffix == ".tsv" else suffix].read(file, both_ways)
        return Reading(wiring.topology, wiring.notes)
    found = Reading(read_npz(file)) if suffix == ".npz" else read_json_wiring(file.read(), stem)
    if not both_ways:
        return found
    if isinstance(found.thing, Schedule):
        raise FileError("holds a schedule, whose links are what they are: --both-ways is for wirings")
    return Reading(with_returns(found.thing), found.notes)


def _explained(path: AnyPath, read: Callable[[], Reading]) -> Reading:
    """Put the file's name before whatever is found wrong with its contents."""
    try:
        return read()
    except (FileError, TopologyError, ScheduleError) as error:
        text = str(error)
    except MemoryError:
        text = "is too large for this machine's memory"
    except RecursionError:
        text = "is nested too deeply"
    except OSError as error:
        text = f"cannot be read: {error.strerror or error}"
    # "line 7: ..." becomes "wiring.csv:7: ...", which editors can follow.
    raise FileError(f"{path}:{text.removeprefix('line ')}" if text.startswith("line ") else f"{path}: {text}")


def with_returns(topology: Topology) -> Topology:
    """Return a topology with a link back for each of its links, unless all have one."""
    if topology.is_bidirectional:
        return topology
    columns: dict[str, Any] = {what: np.concatenate((column, column)) for what, column in topology.columns.items()}
    tail, head = (np.concatenate(pair) for pair in ((topology.tail, topology.head), (topology.head, topology.tail)))
    made = Topology.from_links(topology.num_nodes, tail, head, topology.name, labels=topology.labels, **columns)
    return made.with_places(topology.hosts, topology.racks)


# --- json ---


def read_json_wiring(data: bytes, stem: str = "") -> Reading:
    """Read a JSON file: of linkstep's own format, a plan, cables of NetBox, or what hosts see by LLDP."""
    try:
        document = loads(data)
    except FileError:
        if b'"lldp"' not in data or len(data) > MAX_BYTES:
            raise
        return _seen(views_in(documents_in(decoded(data)), stem))
    if is_plan(document):
        assert isinstance(document, dict)
        lines, hosts = plan_lines(document)
        return _cables(lines, hosts)
    if is_netbox(document):
        return _cables(netbox_lines(document))
    if is_lldp(document) and not (isinstance(document, dict) and document.get("format") == "linkstep"):
        return _seen(views_in([document], stem))
    return Reading(thing_of(document))


def _cables(lines: CableLines, hosts: list[str] | None = None) -> Reading:
    wiring = lines.to_wiring(labels=hosts)
    return Reading(wiring.topology, wiring.notes)


def _seen(views: Sequence[HostView]) -> Reading:
    lines = lldp_lines(views)
    return _cables(lines, sorted({*lines.tail, *lines.head}, key=natural))


def _read_folder(folder: Path) -> Reading:
    """Read what hosts see by LLDP from a folder that has a file for each, NAME.json."""
    views: list[HostView] = []
    paths = sorted(folder.glob("*.json"), key=lambda path: natural(path.name))
    if len(paths) > _MOST_FILES:
        raise FileError(f"has more than {_MOST_FILES} files")
    for path in paths:
        try:
            with open_to_read(path) as file:
                documents = documents_in(decoded(read_limited(file)))
        except FileError as error:
            text = str(error).removeprefix(f"{path}: ")
            raise FileError(f"{path.name}: {text}") from None
        if not is_lldp(documents):
            raise FileError(f"{path.name} is not what lldpcli prints: a folder holds what each host sees by LLDP")
        views += views_in(documents, path.stem)
    return _seen(views)
