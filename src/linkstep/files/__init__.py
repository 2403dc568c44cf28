"""Load and save topologies and schedules: ``.npz``, ``.json``; wirings and published graphs in formats of other tools.

Loading checks the form of a file, not what a schedule does (``linkstep.correctness`` decides that). Saving replaces
a file whole or not at all. The formats are described in docs/data-model.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from linkstep.core.errors import FileError, ScheduleError, TopologyError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.files.adjacency import read_adjacency, write_adjacency
from linkstep.files.disk import AnyPath, check_writable, locked, open_to_read, to_path, write_atomically
from linkstep.files.graph6 import read_graph6, write_graph6, write_sparse6
from linkstep.files.graphs import read_edges, read_gph, write_edges, write_gph
from linkstep.files.own import FORMAT_VERSION, read_json, read_npz, write_json, write_npz
from linkstep.files.wiring import read_csv, read_graphml, write_csv, write_graphml

__all__ = [
    "FORMAT_VERSION",
    "SUFFIXES",
    "AnyPath",
    "check_savable",
    "check_writable",
    "is_runtime_file",
    "load",
    "load_schedule",
    "load_topology",
    "locked",
    "save",
    "to_path",
    "write_atomically",
]


@dataclass(frozen=True)
class _Wiring:
    """A format that holds topologies alone."""

    read: Callable[[BinaryIO], Topology]
    write: Callable[[Topology, BinaryIO], None]


_OWN = {".npz": (read_npz, write_npz), ".json": (read_json, write_json)}
_WIRING = {
    ".csv": _Wiring(read_csv, write_csv),
    ".graphml": _Wiring(read_graphml, write_graphml),
    ".edges": _Wiring(read_edges, write_edges),
    ".gph": _Wiring(read_gph, write_gph),
    ".adj": _Wiring(read_adjacency, write_adjacency),
    ".g6": _Wiring(read_graph6, write_graph6),
    ".s6": _Wiring(read_graph6, write_sparse6),
}
SUFFIXES = (*_OWN, *_WIRING)
_PLAN = b'"gpus"'
"""A member that every MSCCL++ plan has and no file of ours."""


def is_runtime_file(name: str) -> bool:
    """Whether a name is that of a runtime's file, there or not, and not of a recipe or of a file of ours.

    >>> is_runtime_file("allreduce.xml"), is_runtime_file("allreduce.npz"), is_runtime_file("Torus(4,4)")
    (True, False, False)
    """
    suffix = Path(name).suffix.lower()
    if suffix == ".xml":
        return True
    if (suffix in SUFFIXES and suffix != ".json") or not os.path.isfile(name):  # noqa: PTH113
        return False  # Path.is_file raises where a recipe is longer than a file's name can be
    with suppress(FileError), open_to_read(name) as file:  # the reader that comes next says what is wrong
        data = file.read()
        return _PLAN in data or data.lstrip().startswith(b"<")
    return False


def _suffix(path: AnyPath) -> str:
    suffix = to_path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise FileError(f"{path}: the name must end in one of {', '.join(SUFFIXES)}")
    return suffix


def check_savable(kind: type[Topology] | type[Schedule], path: AnyPath) -> None:
    """Raise FileError if a thing of this kind cannot be saved there: to ask before long work, not after."""
    suffix = _suffix(path)
    if kind is Schedule and suffix in _WIRING:
        raise FileError(f"{path}: a {suffix} file holds a topology, not a schedule: save it as .npz or .json")
    check_writable(path)


def save(thing: Topology | Schedule, path: AnyPath) -> None:
    """Write a topology or a schedule (with its topology) in the format the path's ending names.

    >>> import tempfile, pathlib
    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0], "UniRing(1,3)")
    >>> with tempfile.TemporaryDirectory() as here:
    ...     save(ring, pathlib.Path(here, "ring.csv"))
    ...     print(pathlib.Path(here, "ring.csv").read_text(), end="")
    # nodes=3
    # name=UniRing(1,3)
    tail,head
    0,1
    1,2
    2,0
    """
    if not isinstance(thing, (Topology, Schedule)):
        raise FileError(f"save takes a Topology or a Schedule, not a {type(thing).__name__}")
    check_savable(type(thing), path)
    suffix = _suffix(path)
    if isinstance(thing, Topology) and suffix in _WIRING:
        write_atomically(path, lambda file: _WIRING[suffix].write(thing, file))
    else:
        write_atomically(path, lambda file: _OWN[suffix][1](thing, file))


def load(path: AnyPath) -> Topology | Schedule:
    """Return what the file holds, a Topology or a Schedule; FileError if that is neither.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as here:
    ...     file = pathlib.Path(here, "cables.csv")
    ...     _ = file.write_text("ant,bee\\nbee,cat\\ncat,ant\\n")
    ...     load(file).labels
    ('ant', 'bee', 'cat')
    """
    suffix = _suffix(path)
    with open_to_read(path) as file:
        try:
            return _WIRING[suffix].read(file) if suffix in _WIRING else _OWN[suffix][0](file)
        except (FileError, TopologyError, ScheduleError) as error:
            text = str(error)
        except MemoryError:
            text = "is too large for this machine's memory"
        except OSError as error:
            text = f"cannot be read: {error.strerror or error}"
    # "line 7: ..." becomes "wiring.csv:7: ...", which editors can follow.
    raise FileError(f"{path}:{text.removeprefix('line ')}" if text.startswith("line ") else f"{path}: {text}")


def load_topology(path: AnyPath) -> Topology:
    """Return the topology in the file; of a schedule, the one it runs on."""
    thing = load(path)
    return thing.topology if isinstance(thing, Schedule) else thing


def load_schedule(path: AnyPath) -> Schedule:
    """Return the schedule in the file; FileError if it holds a topology only."""
    thing = load(path)
    if not isinstance(thing, Schedule):
        raise FileError(f"{path}: holds a topology and no schedule")
    return thing
