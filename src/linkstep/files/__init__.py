"""Load and save topologies and schedules: ``.npz``, ``.json``; wirings and published graphs in formats of other tools.

Loading checks the form of a file, not what a schedule does (``linkstep.correctness`` decides that). Saving replaces
a file whole or not at all. The formats are described in docs/concepts/data-model.md.
"""

from __future__ import annotations

from linkstep.core.errors import FileError
from linkstep.core.inputs import ScheduleLike, as_made_schedule, as_topology, holds_schedule, hook
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.files.cables import ListedCable, cables_of
from linkstep.files.disk import AnyPath, check_writable, locked, to_path, write_atomically
from linkstep.files.kinds import Kind, is_runtime_file, kind_of, read_known, wrong_kind
from linkstep.files.own import FORMAT_VERSION
from linkstep.files.reading import KEEPS_CABLES, OWN, READABLE, SUFFIXES, WIRING, Reading

__all__ = [
    "FORMAT_VERSION",
    "KEEPS_CABLES",
    "READABLE",
    "SUFFIXES",
    "AnyPath",
    "Kind",
    "ListedCable",
    "Reading",
    "cables_of",
    "check_savable",
    "check_writable",
    "is_runtime_file",
    "kind_of",
    "load",
    "load_schedule",
    "load_topology",
    "locked",
    "read_known",
    "save",
    "to_path",
    "write_atomically",
    "wrong_kind",
]


def _suffix(path: AnyPath) -> str:
    suffix = to_path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise FileError(f"{path}: the name must end in one of {', '.join(SUFFIXES)}")
    return suffix


def check_savable(kind: type[Topology] | type[Schedule], path: AnyPath) -> None:
    """Raise FileError if a thing of this kind cannot be saved there: to ask before long work, not after."""
    suffix = _suffix(path)
    if kind is Schedule and suffix in WIRING:
        raise FileError(f"{path}: a {suffix} file holds a topology, not a schedule: save it as .npz or .json")
    check_writable(path)


def save(thing: ScheduleLike, path: AnyPath) -> None:
    """Write a topology or a schedule (with its topology) in the format the path's ending names.

    Of what was lowered it is the runtime's file. Of a result that holds a schedule it is that, unless the format has
    topologies alone; of whatever else stands for a wiring, the topology.

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
    text = _runtime_text(thing, path)
    if text is not None:
        check_writable(path)
        write_atomically(path, lambda file: file.writelines([text.encode()]))
        return
    suffix = _suffix(path)
    whole = _saved(thing, suffix)
    check_savable(type(whole), path)
    if isinstance(whole, Topology) and suffix in WIRING:
        write_atomically(path, lambda file: WIRING[suffix].write(whole, file))
    else:
        write_atomically(path, lambda file: OWN[suffix](whole, file))


def _runtime_text(thing: object, path: AnyPath) -> str | None:
    """Return the text of what was lowered; None where something else is to be saved."""
    suffix = to_path(path).suffix.lower()
    runtime = hook(thing, "_text_")
    if runtime is None or (suffix in SUFFIXES and suffix != ".json"):
        return None
    own, text = runtime()
    if suffix != own:
        raise FileError(f"{path}: the runtime's file ends in {own}, a schedule's in .npz")
    return str(text)


def _saved(thing: ScheduleLike, suffix: str) -> Topology | Schedule:
    """Return what a file of this ending holds of a thing."""
    if isinstance(thing, Topology | Schedule):
        return thing
    if holds_schedule(thing) and suffix in OWN:
        return as_made_schedule(thing, "what is saved")
    return as_topology(thing, "what is saved")


def load(path: AnyPath, *, both_ways: bool = False) -> Topology | Schedule:
    """Return what the file holds, a Topology or a Schedule; FileError if that is neither.

    With ``both_ways`` each line of a wiring is a duplex cable. docs/reference/files.md lists what is read.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as here:
    ...     file = pathlib.Path(here, "cables.csv")
    ...     _ = file.write_text("ant,bee\\nbee,cat\\ncat,ant\\n")
    ...     load(file).labels
    ('ant', 'bee', 'cat')
    """
    return read_known(path, both_ways=both_ways).thing


def load_topology(path: AnyPath, *, both_ways: bool = False) -> Topology:
    """Return the topology in the file; of a schedule, the one it runs on."""
    thing = load(path, both_ways=both_ways)
    return thing.topology if isinstance(thing, Schedule) else thing


def load_schedule(path: AnyPath) -> Schedule:
    """Return the schedule in the file; FileError if it holds a topology only."""
    thing = read_known(path, "a schedule").thing
    if not isinstance(thing, Schedule):
        raise wrong_kind(path, "a schedule") or FileError(f"{path}: holds a topology and no schedule")
    return thing
