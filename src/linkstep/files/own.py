"""linkstep's own two formats: ``.npz`` for size, ``.json`` for eyes. The same members in both.

A file is a head (a JSON object: what this is, who wrote it, N, unit, collective), the names of the hosts where they
have some, and columns, listed in docs/concepts/data-model.md. Nothing is ever unpickled, and no array is read before
its header has been believed.
"""

from __future__ import annotations

import json
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from linkstep._version import __version__
from linkstep.core.collective import Collective
from linkstep.core.columns import LINK_COLUMNS, frozen
from linkstep.core.errors import FileError
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import COLLECTIVES, ROW_COLUMNS, Schedule
from linkstep.core.text import shown
from linkstep.core.topology import Ints, Topology

FORMAT_VERSION = 3
_OLDER = {"version": "format_version", "nodes": "num_nodes", "chunks_per_shard": "unit"}
"""What versions 1 and 2 call members of the head; their format is "linkstep", and ``kind`` says of what."""
_LINK_COLUMNS = ("tail", "head", *LINK_COLUMNS)
_RANKS = ("rank_nodes", "ranks")
"""The node of each rank, and what versions 1 and 2 call that."""
_TEXTS = ("labels", "hosts", "racks")
"""Names, one for each node: members of their own in an .npz file, as JSON."""
MAX_HEAD_BYTES = 2**20
MAX_NAME_BYTES = 2**12  # of a host, on average
MAX_BYTES = 2**33  # of all columns together, at 8 bytes a value: 200 million rows
MAX_IDLE_NODES = 2**24  # nodes beyond the number of links: a few bytes must not ask for gigabytes

_ROW_TYPES = {"source": np.int32, "lo": np.int64, "hi": np.int64, "link": np.int32, "step": np.int16}

# All that zipfile and its decompressors raise on bytes they did not write (unknown compression and encryption
# are RuntimeErrors; Unicode errors and ours on array headers are ValueErrors).
_GARBLED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error,
    EOFError, OSError, LookupError, RuntimeError, TypeError, ValueError, OverflowError,
)  # fmt: skip
_NPY_HEADER = re.compile(
    r"\{'descr': '([^']*)', 'fortran_order': (?:True|False), 'shape': \(([0-9, ]{0,60})\), \}\s*", re.ASCII
)

Columns = dict[str, NDArray[Any]]


def check_idle_nodes(num_nodes: int, num_links: int) -> None:
    """Refuse a count of nodes far beyond what the links could reach."""
    if num_nodes > num_links + MAX_IDLE_NODES:
        raise FileError(f"has {num_nodes} nodes for {num_links} links; number nodes from 0 without gaps")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def check_name(name: str) -> None:
    """Refuse a topology's name that is not one line of text: it is printed wherever the file is read."""
    if not name.isprintable():
        raise FileError(f"the name of a topology must be one line of printable text, not {name!r:.60}")


def _topology_of(thing: Topology | Schedule) -> Topology:
    return thing.topology if isinstance(thing, Schedule) else thing


def _head_of(thing: Topology | Schedule) -> dict[str, Any]:
    topology = _topology_of(thing)
    check_name(topology.name)
    head: dict[str, Any] = {
        "format": f"linkstep/{'schedule' if isinstance(thing, Schedule) else 'topology'}",
        "version": FORMAT_VERSION,
        "linkstep_version": __version__,
        "recipe": str(topology.name),
        "nodes": topology.num_nodes,
    }
    if isinstance(thing, Schedule):
        head |= {"collective": str(thing.collective), "chunks_per_shard": int(thing.unit)}
        head |= {"method": thing.method} if thing.method else {}
    return head


def _texts(thing: Topology | Schedule) -> dict[str, tuple[str, ...]]:
    topology = _topology_of(thing)
    return {what: getattr(topology, what) for what in _TEXTS if getattr(topology, what) is not None}


def _ranks_column(thing: Topology | Schedule) -> Columns:
    """Return the nodes of the ranks, if not everyone takes part in node order."""
    return {} if isinstance(thing, Topology) or thing.ranks.is_everyone else {"rank_nodes": thing.ranks.nodes}


def _link_columns(thing: Topology | Schedule) -> Columns:
    topology = _topology_of(thing)
    return {"tail": topology.tail, "head": topology.head, **topology.columns}


def _row_columns(thing: Topology | Schedule) -> Columns:
    return {what: getattr(thing, what) for what in ROW_COLUMNS} if isinstance(thing, Schedule) else {}


def _check_head(head: object) -> dict[str, Any]:
    """Return the head, with what it is of as ``kind``, if this version can read what it announces."""
    head = _with_kind(head)
    version, nodes, chunks = (_OLDER[name] if head["format"] == "linkstep" else name for name in _OLDER)
    number = head.get(version)
    if type(number) is not int or number < 1:
        raise FileError(f"{version} must be a positive integer, not {shown(number)}")
    if number > (2 if head["format"] == "linkstep" else FORMAT_VERSION):
        raise FileError(f"written by a newer linkstep (format {shown(number)}); upgrade linkstep to read it")
    if not isinstance(head.get("recipe"), str):
        raise FileError(f"recipe must be text, not {shown(head.get('recipe'))}")
    check_name(head["recipe"])
    if type(head.get(nodes)) is not int:
        raise FileError(f"{nodes} must be an integer, not {shown(head.get(nodes))}")
    for what in _TEXTS:
        if head.get(what) is not None:
            _check_names(head[what], what)
    if head["kind"] == "schedule":
        unit, collective = head.get(chunks), head.get("collective")
        if type(unit) is not int or not 1 <= unit < 2**62:
            raise FileError(f"{chunks} must be an integer in [1, 2^62), not {shown(unit)}")
        if collective not in COLLECTIVES:
            raise FileError(f"collective must be one of {', '.join(COLLECTIVES)}, not {shown(collective)}")
        method = head.get("method", "")
        if not isinstance(method, str) or not method.isprintable() or len(method) > 100:
            raise FileError(f"method must be a word, not {shown(method)}")
    return head | {"nodes": head[nodes], "chunks_per_shard": head.get(chunks)}


def _with_kind(head: object) -> dict[str, Any]:
    """Return a head with what it is of as ``kind``; FileError if it is of neither a topology nor a schedule."""
    form = head.get("format") if isinstance(head, dict) else None
    if not isinstance(head, dict) or not isinstance(form, str) or form.split("/")[0] != "linkstep":
        raise FileError("is not a linkstep file")
    kind = head.get("kind") if form == "linkstep" else form.removeprefix("linkstep/")
    if kind in ("topology", "schedule"):
        return {**head, "kind": kind}
    if form == "linkstep":
        raise FileError(f"kind must be topology or schedule, not {shown(kind)}")
    raise FileError(f"holds {shown(form)}, not a topology or a schedule (linkstep/topology, linkstep/schedule)")


def _check_names(names: object, what: str) -> None:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FileError(f"{what} must be a list of names, not {shown(names)}")


def _rebuild(head: Mapping[str, Any], links: Columns, rows: Columns, ranks: NDArray[Any] | None) -> Topology | Schedule:
    """Make the object; Topology, Schedule and File errors tell what is wrong with the columns."""
    check_idle_nodes(head["nodes"], links["tail"].size)
    given: dict[str, Any] = {what: links.get(what) for what in LINK_COLUMNS}
    given |= {what: head.get(what) for what in _TEXTS}
    topology = Topology.from_links(head["nodes"], links["tail"], links["head"], head["recipe"], **given)
    if head["kind"] == "topology":
        return topology
    if not all(np.array_equal(column, links[what]) for what, column in _link_columns(topology).items()):
        order = ", ".join(("tail", "head", *reversed([what for what in LINK_COLUMNS if what in links])))
        raise FileError(f"a schedule's links must be sorted by ({order}): rows number them")
    columns = {what: frozen(rows[what], _ROW_TYPES[what], what) for what in ROW_COLUMNS}
    who = Ranks.everyone(topology) if ranks is None else Ranks(topology.num_nodes, frozen(ranks, np.int32, "ranks"))
    wanted, method = Collective(head["collective"]), head.get("method", "")
    return Schedule(topology, head["chunks_per_shard"], **columns, collective=wanted, ranks=who, method=method)


# --- npz ---


def _narrow(column: NDArray[Any]) -> NDArray[Any]:
    """Return the column in the smallest signed type that holds it: a third of the bytes, less to deflate."""
    least, most = (int(column.min()), int(column.max())) if column.size else (0, 0)
    kinds = (np.int8, np.int16, np.int32, np.int64)
    return column.astype(next(k for k in kinds if np.iinfo(k).min <= least and most <= np.iinfo(k).max))


def write_npz(thing: Topology | Schedule, file: BinaryIO) -> None:
    """Write arrays as ``numpy.savez`` does, narrowed, at deflate level 1.

    Of 5 million rows that makes 10 MB in 0.5 s; ``savez`` makes 130 MB in 0.5 s, ``savez_compressed`` 12 MB
    in 4 s.
    """
    texts: dict[str, Any] = {"linkstep": _head_of(thing), **_texts(thing)}
    columns: Columns = {what: np.frombuffer(json.dumps(text).encode(), np.uint8) for what, text in texts.items()}
    numbers = _ranks_column(thing) | _link_columns(thing) | _row_columns(thing)
    columns |= {what: _narrow(column) for what, column in numbers.items()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for what, array in columns.items():
            with archive.open(f"{what}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _read_array_header(member: IO[bytes]) -> tuple[str, tuple[int, ...], int]:
    """Return type, shape and where the values begin, of an array in npy format 1.0.

    As numpy writes it, and no other way: numpy's own reader would evaluate the text as Python.
    """
    start = member.read(10)
    text = member.read(int.from_bytes(start[8:10], "little")).decode("latin-1")
    match = _NPY_HEADER.fullmatch(text)
    if start[:8] != b"\x93NUMPY\x01\x00" or match is None:
        raise ValueError("an array has a strange header")
    return match[1], tuple(int(size) for size in match[2].split(",") if size.strip()), 10 + len(text)


def _check_size(what: str, num_values: int) -> None:
    if 8 * num_values > MAX_BYTES:
        raise FileError(f"{what} claims {num_values} values: more than the {MAX_BYTES // 8} linkstep loads")


def _array_header(archive: zipfile.ZipFile, what: str) -> tuple[np.dtype[Any], int]:
    """Return type and length of a member, believed only if they account for its every byte."""
    try:
        info = archive.getinfo(f"{what}.npy")
    except KeyError:
        raise FileError(f"has no column {what!r}") from None
    with archive.open(info) as member:
        kind, shape, begin = _read_array_header(member)
    if kind == "|O":
        raise FileError(f"column {what!r} holds pickled objects, which are never loaded")
    if len(shape) != 1:
        raise FileError(f"column {what!r} must be one-dimensional, not of shape {shape}")
    if not re.fullmatch("[<>|][iu][1248]", kind):
        raise FileError(f"column {what!r} must hold integers, not {shown(kind)}")
    dtype = np.dtype(kind)
    _check_size(f"column {what!r}", shape[0])
    if info.file_size != begin + shape[0] * dtype.itemsize:
        raise FileError(f"column {what!r} claims {shape[0]} values but has {info.file_size - begin} bytes")
    return dtype, shape[0]


def _read_array(archive: zipfile.ZipFile, what: str, dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    with archive.open(f"{what}.npy") as member:
        _read_array_header(member)
        return np.frombuffer(member.read(), dtype, length)


def _read_names(archive: zipfile.ZipFile, what: str, num_nodes: int) -> object:
    """Return the list of names in a member of ``_TEXTS``: JSON, as the head is, but N names may be long."""
    dtype, length = _array_header(archive, what)
    if dtype != np.uint8 or length > MAX_HEAD_BYTES + MAX_NAME_BYTES * num_nodes:
        raise FileError(f"{what} must be the names of {num_nodes} hosts as JSON, not {length} values of {dtype}")
    names = loads(_read_array(archive, what, dtype, length).tobytes())
    _check_names(names, what)
    return names


def _read_members(archive: zipfile.ZipFile) -> tuple[dict[str, Any], Columns]:
    """Return head and columns; all array headers are checked before any array is read."""
    present = {name.removesuffix(".npy") for name in archive.namelist()}
    if "linkstep" not in present:
        raise FileError("is not a linkstep file")
    dtype, length = _array_header(archive, "linkstep")
    if dtype != np.uint8 or length > MAX_HEAD_BYTES:
        raise FileError("is not a linkstep file")
    head = _check_head(loads(_read_array(archive, "linkstep", dtype, length).tobytes()))
    head |= {what: _read_names(archive, what, head["nodes"]) for what in _TEXTS if what in present}
    wanted = [what for what in _LINK_COLUMNS if what in present or what in ("tail", "head")]
    if head["kind"] == "schedule":
        wanted += [*ROW_COLUMNS, *[what for what in _RANKS if what in present][:1]]
    headers = {what: _array_header(archive, what) for what in wanted}
    _check_size("in all, it", sum(length for _, length in headers.values()))
    return head, {what: _read_array(archive, what, *headers[what]) for what in wanted}


def read_npz(file: BinaryIO) -> Topology | Schedule:
    """Read what ``write_npz`` wrote; FileError on anything else."""
    try:
        with zipfile.ZipFile(file) as archive:
            head, columns = _read_members(archive)
    except FileError:
        raise
    except _GARBLED as error:
        raise FileError(f"is truncated, damaged or not an .npz file; write it again ({_one_line(error)})") from None
    links = {what: column for what, column in columns.items() if what in _LINK_COLUMNS}
    rows = {what: column for what, column in columns.items() if what in ROW_COLUMNS}
    return _rebuild(head, links, rows, next((columns[what] for what in _RANKS if what in columns), None))


# --- json ---


def write_json(thing: Topology | Schedule, file: BinaryIO) -> None:
    """Write the head, then one link and one row a line."""
    parts = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in _head_of(thing).items()]
    parts += [f"  {json.dumps(what)}: {json.dumps(names)}" for what, names in _texts(thing).items()]
    parts += [f"  {json.dumps(what)}: {column.tolist()}" for what, column in _ranks_column(thing).items()]
    file.write(("{\n" + ",\n".join(parts)).encode())
    for what, columns in (("link", _link_columns(thing)), ("row", _row_columns(thing))):
        if columns:
            lines = zip(*(column.tolist() for column in columns.values()), strict=True)
            body = ",\n".join(f"    {list(line)}" for line in lines)
            body = f"[\n{body}\n  ]" if body else "[]"
            file.write(f',\n  "{what}_columns": {json.dumps(list(columns))},\n  "{what}s": {body}'.encode())
    file.write(b"\n}\n")


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number")


def loads(data: bytes) -> object:
    """Return what JSON text says; FileError of one line where it is none."""
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise FileError(f"is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise FileError(f"line {error.lineno}: is truncated or not JSON: {error.msg.lower()}") from None
    except RecursionError:
        raise FileError("is nested too deeply to be a linkstep file") from None
    except ValueError as error:  # NaN, or an integer of thousands of digits
        raise FileError(f"holds what no linkstep file does: {_one_line(error)}") from None


def _table(head: Mapping[str, Any], what: str, needed: Iterable[str], known: tuple[str, ...]) -> Columns:
    """Return the lines under ``links`` or ``rows`` as columns."""
    names, lines = head.get(f"{what}_columns"), head.get(f"{what}s")
    if not isinstance(names, list) or not all(name in known and names.count(name) == 1 for name in names):
        raise FileError(f"{what}_columns must list some of {', '.join(known)}, not {shown(names)}")
    for name in needed:
        if name not in names:
            raise FileError(f"{what}_columns must have {name!r}")
    if not isinstance(lines, list):
        raise FileError(f"{what}s must be a list, not {shown(lines)}")
    for i, line in enumerate(lines):
        if not isinstance(line, list) or len(line) != len(names) or any(type(x) is not int for x in line):
            raise FileError(f"{what} {i}: must be integers [{', '.join(names)}], not {shown(line)}")
    try:
        table: Ints = np.array(lines, np.int64).reshape(len(lines), len(names))
    except OverflowError:
        raise FileError(f"{what}s: holds an integer beyond 64 bits") from None
    return {name: table[:, i] for i, name in enumerate(names)}


def read_json(file: BinaryIO) -> Topology | Schedule:
    """Read what ``write_json`` wrote, or a topology written by hand in the same form."""
    return thing_of(loads(file.read()))


def thing_of(document: object) -> Topology | Schedule:
    """Return the topology or the schedule that a document of JSON is."""
    head = _check_head(document)
    links = _table(head, "link", ("tail", "head"), _LINK_COLUMNS)
    rows = _table(head, "row", ROW_COLUMNS, ROW_COLUMNS) if head["kind"] == "schedule" else {}
    return _rebuild(head, links, rows, _rank_list(head) if head["kind"] == "schedule" else None)


def _rank_list(head: Mapping[str, Any]) -> NDArray[Any] | None:
    """Return the nodes of the ranks, if the head has them."""
    name = next((what for what in _RANKS if head.get(what) is not None), None)
    if name is None:
        return None
    nodes = head[name]
    if not isinstance(nodes, list) or any(type(node) is not int or abs(node) >= 2**31 for node in nodes):
        raise FileError(f"{name} must be a list of nodes, not {shown(nodes)}")
    return np.array(nodes, np.int64)
