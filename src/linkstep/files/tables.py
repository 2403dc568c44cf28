"""Lists of links and of cables as text, ``.csv``: what spreadsheets, inventories and linkstep itself write.

A line is a link, or a cable where the header says so; separators are commas, semicolons or tabs. Topologies only. What
the columns are is guessed by ``linkstep.files.headers``, and what becomes of the lines is said in
``linkstep.files.cables``. The format is described in docs/concepts/data-model.md and docs/reference/files.md.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from linkstep.core.columns import MAX_NODES
from linkstep.core.errors import FileError
from linkstep.core.text import counted
from linkstep.core.topology import Topology
from linkstep.core.units import parse_bandwidth, parse_time
from linkstep.files.cables import (
    DUPLEX,
    SIMPLEX,
    CableLines,
    ListedCable,
    ReadWiring,
    cables_of,
    remember_cables,
)
from linkstep.files.headers import INTERFACE, Header, guess_header
from linkstep.files.own import check_name

MAX_BYTES = 2**28
"""The most that is read of a list: some ten million links."""
_UNIT = {"bandwidth": "bit/s", "alpha": "ns", "opens": "steps", "closes": "steps"}
_WITH_UNIT = {"bandwidth": ", or with a unit like 100Gbps", "alpha": ", or with a unit like 50us"}
_INTEGER = re.compile(r"-?[0-9]+")
_COMMENT = re.compile(r"#\s*(nodes|name|labels|hosts|racks)\s*=\s*(.*?)\s*")
_PLACES = ("hosts", "racks")
_SEPARATORS = (",", ";", "\t")
_MOST_LINES = 1000
"""Of one quoted field."""
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def whole_number(text: str, what: str, where: str) -> int:
    """Return a value of a link: a step, or bit/s or ns, or with a unit; ``1e11`` and ``5.0`` are whole numbers too."""
    try:
        if _INTEGER.fullmatch(text) and len(text) < 20:
            return int(text)
        if what in _WITH_UNIT and text[-1:].isalpha() and text.lower() not in ("nan", "inf", "infinity"):
            quantity = 10**9 * parse_time(text) if what == "alpha" else parse_bandwidth(text)
            if quantity.denominator == 1 and quantity < 2**63:
                return int(quantity)
        else:
            value = float(text)
            if value.is_integer() and abs(value) < 2**53:
                return int(value)
    except ValueError:  # a UnitError too
        pass
    raise FileError(
        f"{where}: {what} must be a whole number of {_UNIT[what]}{_WITH_UNIT.get(what, '')}, not {text[:40]!r}"
    )


# --- reading ---


def read_limited(file: BinaryIO, most: int = MAX_BYTES) -> bytes:
    """Return what a file holds; FileError if that is more than linkstep reads of a wiring."""
    parts, size = [], 0
    while part := file.read(2**20):
        parts.append(part)
        size += len(part)
        if size > most:
            raise FileError(f"is larger than the {most} bytes that linkstep reads of a wiring")
    return b"".join(parts)


def decoded(data: bytes) -> str:
    """Return text in UTF-8, or in UTF-16 where the file says so, as some spreadsheets write it."""
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise FileError(f"line {line}: is not {'UTF-16' if encoding == 'utf-16' else 'UTF-8'} text") from None


@dataclass(frozen=True)
class _Text:
    """The lines of a list: fields of those that hold any, and what comments say."""

    separator: str
    said: dict[str, tuple[int, str]]
    rows: Iterator[tuple[int, list[str]]]

    @classmethod
    def of(cls, text: str) -> _Text:
        said: dict[str, tuple[int, str]] = {}
        separator = _separator(text)
        return cls(separator, said, _rows(text, separator, said))

    def named(self, what: str) -> list[str] | None:
        """Return the names that a comment lists."""
        return _fields(*self.said[what], ",") if what in self.said else None


def _separator(text: str) -> str:
    """Return what the first line with fields has most of, outside quotes."""
    for line in io.StringIO(text, newline=None):
        if line.strip() and not line.lstrip().startswith("#"):
            bare = re.sub(r'"[^"]*"', "", line)
            return max(_SEPARATORS, key=bare.count)
    return ","


def _fields(number: int, line: str, separator: str) -> list[str]:
    if '"' not in line:
        return [part.strip() for part in line.split(separator)]
    try:
        return [part.strip() for part in next(csv.reader([line], strict=True, delimiter=separator), [])]
    except csv.Error as error:
        raise FileError(f"line {number}: {error}") from None


def _rows(text: str, separator: str, said: dict[str, tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield (number, fields) of every line that is not blank; comments with a meaning go into ``said``."""
    lines = enumerate(io.StringIO(text, newline=None), 1)
    for number, line in lines:
        if line.lstrip().startswith("#"):
            if match := _COMMENT.fullmatch(line.strip()):
                said[match[1]] = (number, match[2])
            continue
        try:
            fields = _fields(number, line, separator)
        except FileError:
            if line.count('"') % 2 == 0:
                raise
            fields = _fields(number, _continued(line, lines), separator)
        if any(fields):
            yield number, fields


def _continued(line: str, lines: Iterator[tuple[int, str]]) -> str:
    """Return a line with those after it that its last quoted field goes on over."""
    parts = [line]
    for _, more in lines:
        parts.append(more)
        if more.count('"') % 2 or len(parts) > _MOST_LINES:
            break
    return "".join(parts)


def read_csv(file: BinaryIO, both_ways: bool = False) -> ReadWiring:
    """Read a list; nodes that are not written as numbers keep what they are written as for labels."""
    text = _Text.of(decoded(read_limited(file)))
    rows = list(text.rows)
    header = _header(rows)
    lines = _lines(rows if header is None else rows[1:], header or Header(2), header is None)
    lines.is_own = "nodes" in text.said
    _drop_types(lines, header, rows)
    name = text.said.get("name", (0, ""))[1]
    wiring = lines.to_wiring(_declared_nodes(text.said), name, text.named("labels"), both_ways=both_ways)
    places = {what: text.named(what) for what in _PLACES if what in text.said}
    if not places:
        return wiring
    topology = wiring.topology.with_places(**places)
    remember_cables(topology, cables_of(wiring.topology))
    return ReadWiring(topology, wiring.notes)


def _header(rows: Sequence[tuple[int, list[str]]]) -> Header | None:
    """Return what the first line says of the columns; None if it is a line like the others.

    Hosts may be called ``left`` and ``right``, or ``a`` and ``b``: a header's words do not come again below.
    """
    if not rows:
        return None
    found = guess_header(rows[0][1], f"line {rows[0][0]}")
    if found is None or found.is_sure:
        return found
    first = [rows[0][1][place] for place in found.hosts]
    below = {row[place] for _, row in rows[1:] for place in found.hosts if place < len(row)}
    return None if len(rows) < 2 or below & set(first) else found


def _lines(rows: Sequence[tuple[int, list[str]]], header: Header, is_bare: bool) -> CableLines:
    lines = CableLines(lists_cables=header.lists_cables)
    lines.columns = {what: [] for what in header.columns}
    lines.details = {what: [] for what in header.details}
    kinds: list[str] = []
    if header.ports is not None:
        lines.ports = ([], [])
    needed = (*header.hosts, *header.columns.values())
    is_plain = header.width == 2
    for number, fields in rows:
        row = (
            fields
            if is_plain and len(fields) == 2 and all(fields)
            else _checked(number, fields, header, needed, is_bare)
        )
        ends = row[header.hosts[0]], row[header.hosts[1]]
        lines.tail.append(ends[0])
        lines.head.append(ends[1])
        lines.line.append(number)
        if is_plain:
            continue
        for what, place in header.columns.items():
            scale = 10**6 if what == "bandwidth" and header.megabits and row[place].isdigit() else 1
            lines.columns[what].append(scale * whole_number(row[place], what, f"line {number}"))
        for what, place in header.details.items():
            lines.details[what].append(row[place])
        if header.ports is not None and lines.ports is not None:
            for side in (0, 1):
                lines.ports[side].append(row[header.ports[side]])
        if header.racks is not None:
            lines.racks |= {end: row[place] for end, place in zip(ends, header.racks, strict=True) if row[place]}
        if header.kind is not None:
            kinds.append(row[header.kind].lower())
    if kinds and all(kind in (DUPLEX, SIMPLEX) for kind in kinds):
        lines.duplex = [kind == DUPLEX for kind in kinds]
        lines.details = {what: column for what, column in lines.details.items() if header.details[what] != header.kind}
    return lines


def _checked(
    number: int, fields: list[str], header: Header, needed: Sequence[int], is_bare: bool
) -> list[str]:  # fmt: skip
    """Return the fields of a line, padded to the header's width; a FileError shows a line that lacks what it needs."""
    width = header.width
    extra = any(fields[width:])
    row = fields[:width] + [""] * (width - len(fields))
    if extra or not all(row[place] for place in needed):
        names = {header.hosts[0]: "tail", header.hosts[1]: "head"}
        names |= {place: what for what, place in header.columns.items()}
        hint = " (more columns need a header line)" if is_bare and len(fields) > 2 else ""
        found = repr(",".join(fields)[:60])
        wanted = ",".join(names[place] for place in sorted(names))
        raise FileError(f"line {number}: a link is written {wanted}, not {found}{hint}")
    return row


def _drop_types(lines: CableLines, header: Header | None, rows: Sequence[tuple[int, list[str]]]) -> None:
    """Leave out what NetBox's columns of types say is no cable between two ports of hosts."""
    if header is None or header.types is None:
        return
    places = header.types
    kinds = [tuple(row[place] if place < len(row) else "" for place in places) for _, row in rows[1:]]
    if not any("." in kind for pair in kinds for kind in pair):
        return
    drop_other_types(lines, kinds)


def drop_other_types(lines: CableLines, kinds: Sequence[Sequence[str]]) -> None:
    """Leave out lines whose ends are not all interfaces by NetBox's types, and say so."""
    wanted = [all(kind in ("", INTERFACE) for kind in pair) for pair in kinds]
    if all(wanted):
        return
    others = sorted({kind for pair in kinds for kind in pair if kind not in ("", INTERFACE)})
    gone = counted(len(wanted) - sum(wanted), "cable")
    lines.notes.append(f"left out {gone} with an end that is no interface: {', '.join(others)[:80]}")
    lines.keep(wanted)


def _declared_nodes(said: dict[str, tuple[int, str]]) -> int | None:
    if "nodes" not in said:
        return None
    number, text = said["nodes"]
    if not re.fullmatch("[0-9]{1,10}", text) or not 1 <= int(text) <= MAX_NODES:
        raise FileError(f"line {number}: nodes must be a number in [1, {MAX_NODES}], not {text[:40]!r}")
    return int(text)


# --- writing ---


def quoted(label: str) -> str:
    """Return a name as a field of a line; in quotes where a separator, a quote or a # would be misread."""
    odd = any(mark in label for mark in (*_SEPARATORS, '"', "\n", "\r")) or label.startswith("#")
    return '"' + label.replace('"', '""') + '"' if odd else label


def write_csv(topology: Topology, file: BinaryIO) -> None:
    """Write a list after the number of nodes, the name and the names of hosts: of cables where those are known.

    Otherwise a line is a link.
    """
    check_name(topology.name)
    file.write(f"# nodes={topology.num_nodes}\n".encode())
    if topology.name:
        file.write(f"# name={topology.name}\n".encode())
    for what in ("labels", *_PLACES):
        if getattr(topology, what) is not None:
            file.write(f"# {what}={','.join(map(quoted, getattr(topology, what)))}\n".encode())
    cables = cables_of(topology)
    columns = _cable_columns(topology, cables) if cables else _link_columns(topology)
    file.write(f"{','.join(map(quoted, columns))}\n".encode())
    for line in zip(*columns.values(), strict=True):
        file.write(f"{','.join(map(quoted, map(str, line)))}\n".encode())


def _link_columns(topology: Topology) -> dict[str, list[Any]]:
    ends = {what: getattr(topology, what).tolist() for what in ("tail", "head")}
    columns = {what: list(map(topology.host, nodes)) for what, nodes in ends.items()}
    return columns | {what: column.tolist() for what, column in topology.columns.items()}


def _cable_columns(topology: Topology, cables: Sequence[ListedCable]) -> dict[str, list[Any]]:
    """Return cables as columns that ``read_csv`` knows again, with whatever else was said of them."""
    columns: dict[str, list[Any]] = {
        "from": [topology.host(cable.tail) for cable in cables],
        "from_port": [cable.tail_port for cable in cables],
        "to": [topology.host(cable.head) for cable in cables],
        "to_port": [cable.head_port for cable in cables],
        "kind": [DUPLEX if cable.duplex else SIMPLEX for cable in cables],
    }
    if not any(cable.tail_port or cable.head_port for cable in cables):
        del columns["from_port"], columns["to_port"]
    columns |= {what: [dict(cable.columns)[what] for cable in cables] for what in topology.columns}
    for what in dict.fromkeys(what for cable in cables for what, _ in cable.details):
        called = f"given {what}" if what.lower() in columns else what
        columns[called] = [dict(cable.details).get(what, "") for cable in cables]
    return columns
