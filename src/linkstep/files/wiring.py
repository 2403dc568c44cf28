"""Wiring from other tools: edge lists (``.csv``) and GraphML. Topologies only.

Both name nodes freely; a topology numbers them and keeps the names as its labels. Which number a name gets is said in
docs/data-model.md.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from linkstep._version import __version__
from linkstep.core.columns import LINK_COLUMNS, MAX_NODES
from linkstep.core.errors import FileError
from linkstep.core.topology import Topology
from linkstep.core.units import parse_bandwidth, parse_time
from linkstep.files.own import check_idle_nodes, check_name

_UNIT = {"bandwidth": "bit/s", "alpha": "ns", "opens": "steps", "closes": "steps"}
_WITH_UNIT = {"bandwidth": ", or with a unit like 100Gbps", "alpha": ", or with a unit like 50us"}
_INTEGER = re.compile(r"-?[0-9]+")
_COMMENT = re.compile(r"#\s*(nodes|name|labels|hosts|racks)\s*=\s*(.*?)\s*")
_PLACES = ("hosts", "racks")
_HEADERS = (("tail", "head"), ("source", "target"), ("src", "dst"), ("from", "to"))
_NODE_DATA = ("host", "rack")
_NAMED = "ids_are_labels"  # written where names look like the numbers 0..N-1, which would be read as numbers
_XMLNS = "http://graphml.graphdrawing.org/xmlns"


def _whole(text: str, what: str, where: str) -> int:
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


# --- csv ---


@dataclass
class _EdgeList:
    """Links as read: the ends by name, the columns, and the line of each."""

    tail: list[str] = field(default_factory=list)
    head: list[str] = field(default_factory=list)
    columns: dict[str, Any] = field(default_factory=dict)
    line: list[int] = field(default_factory=list)


def _quoted(label: str) -> str:
    """Return a name as a field of a line; in quotes where a comma, a quote or a # would be misread."""
    odd = "," in label or '"' in label or label.startswith("#")
    return '"' + label.replace('"', '""') + '"' if odd else label


def write_csv(topology: Topology, file: BinaryIO) -> None:
    """Write one link a line under a header, after the number of nodes, the name and the names of the hosts."""
    check_name(topology.name)
    numbers = {"tail": topology.tail, "head": topology.head, **topology.columns}
    columns: dict[str, list[Any]] = {what: column.tolist() for what, column in numbers.items()}
    file.write(f"# nodes={topology.num_nodes}\n".encode())
    if topology.name:
        file.write(f"# name={topology.name}\n".encode())
    if topology.labels is not None:
        fields = [_quoted(label) for label in topology.labels]
        file.write(f"# labels={','.join(fields)}\n".encode())
        columns |= {what: [fields[u] for u in columns[what]] for what in ("tail", "head")}
    for what in _PLACES:
        if getattr(topology, what) is not None:
            file.write(f"# {what}={','.join(map(_quoted, getattr(topology, what)))}\n".encode())
    file.write(f"{','.join(columns)}\n".encode())
    for line in zip(*columns.values(), strict=True):
        file.write(f"{','.join(map(str, line))}\n".encode())


def _decoded(file: BinaryIO) -> str:
    data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise FileError(f"line {line}: is not UTF-8 text") from None


def _csv_fields(number: int, line: str) -> list[str]:
    try:
        return [part.strip() for part in next(csv.reader([line], strict=True), [])]
    except csv.Error as error:
        raise FileError(f"line {number}: {error}") from None


def _csv_lines(text: str, said: dict[str, tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield (number, fields) of every line that is not blank; comments with a meaning go into ``said``."""
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if line.lstrip().startswith("#"):
            if match := _COMMENT.fullmatch(line.strip()):
                said[match[1]] = (number, match[2])
            continue
        fields = _csv_fields(number, line)
        if any(fields):
            yield number, fields


def _csv_header(number: int, fields: Sequence[str]) -> tuple[str, ...] | None:
    """Return the names of the columns after the first two, or None if this line is a link already."""
    lower = tuple(part.lower() for part in fields)
    if lower[:2] not in _HEADERS:
        return None
    for what in lower[2:]:
        if what not in LINK_COLUMNS or lower.count(what) > 1:
            known = f"{', '.join(LINK_COLUMNS[:-1])} or {LINK_COLUMNS[-1]}"
            raise FileError(f"line {number}: column {what[:40]!r} must be {known}, and only once")
    return lower[2:]


def read_csv(file: BinaryIO) -> Topology:
    """Read an edge list; nodes that are not written as numbers keep what they are written as for labels."""
    said: dict[str, tuple[int, str]] = {}
    links = _EdgeList()
    extra: tuple[str, ...] | None = None
    for i, (number, fields) in enumerate(_csv_lines(_decoded(file), said)):
        if i == 0 and (extra := _csv_header(number, fields)) is not None:
            links.columns = {what: [] for what in extra}
            continue
        names = ("tail", "head", *(extra or ()))
        if len(fields) != len(names) or not all(fields):
            hint = " (more columns need a header line)" if extra is None and len(fields) > 2 else ""
            found = repr(",".join(fields)[:60])
            raise FileError(f"line {number}: a link is written {','.join(names)}, not {found}{hint}")
        links.tail.append(fields[0])
        links.head.append(fields[1])
        links.line.append(number)
        for what, text in zip(names[2:], fields[2:], strict=True):
            links.columns[what].append(_whole(text, what, f"line {number}"))
    name = said.get("name", (0, ""))[1]
    check_name(name)
    labels = _csv_fields(*said["labels"]) if "labels" in said else None
    topology = _numbered(links, _declared_nodes(said), name, labels)
    return topology.with_places(**{what: _csv_fields(*said[what]) for what in _PLACES if what in said})


def _declared_nodes(said: dict[str, tuple[int, str]]) -> int | None:
    if "nodes" not in said:
        return None
    number, text = said["nodes"]
    if not re.fullmatch("[0-9]{1,10}", text) or not 1 <= int(text) <= MAX_NODES:
        raise FileError(f"line {number}: nodes must be a number in [1, {MAX_NODES}], not {text[:40]!r}")
    return int(text)


def _numbered(links: _EdgeList, num_nodes: int | None, name: str, labels: list[str] | None) -> Topology:
    """Number the nodes: in the order of the labels, as the integers they are, or in order of first appearance."""
    ends = [end for link in zip(links.tail, links.head, strict=True) for end in link]
    if not ends and num_nodes is None and labels is None:
        raise FileError("has no links: write one a line as tail,head, or the number of nodes as # nodes=N")
    named = [not _INTEGER.fullmatch(end) for end in ends]
    if labels is None and all(named[:2]) and len(ends) > 2 and not any(named[2:]):
        raise FileError(f"line {links.line[0]}: looks like a header: write it as tail,head")
    if labels is None and not any(named):
        return _by_number(links, ends, num_nodes, name)
    hosts = list(dict.fromkeys(ends)) if labels is None else labels
    if num_nodes not in (None, len(hosts)):
        where = "links name" if labels is None else "labels are"
        raise FileError(f"says nodes={num_nodes} but {where} {len(hosts)}: correct or drop that line")
    index = {host: i for i, host in enumerate(hosts)}
    for i, end in enumerate(ends):
        if end not in index:
            raise FileError(f"line {links.line[i // 2]}: {end[:40]!r} is not among the labels")
    numbers = [index[end] for end in ends]
    return Topology.from_links(len(hosts), numbers[::2], numbers[1::2], name, labels=hosts, **links.columns)


def _by_number(links: _EdgeList, ends: list[str], num_nodes: int | None, name: str) -> Topology:
    for i, end in enumerate(ends):
        if len(end) > 10 or not 0 <= int(end) < MAX_NODES:
            raise FileError(f"line {links.line[i // 2]}: node must lie in [0, {MAX_NODES}), not {end[:40]}")
    numbers = [int(end) for end in ends]
    count = max(numbers, default=-1) + 1
    if num_nodes is not None:
        if num_nodes < count:
            raise FileError(f"says nodes={num_nodes} but links name node {count - 1}: correct or drop that line")
        count = num_nodes
    check_idle_nodes(count, len(links.tail))
    return Topology.from_links(count, numbers[::2], numbers[1::2], name, **links.columns)


# --- graphml ---


def write_graphml(topology: Topology, file: BinaryIO) -> None:
    """Write a directed GraphML graph; node ids are the labels, or the node numbers, edge ids the link numbers."""
    check_name(topology.name)
    ids = [html.escape(topology.host(u)) for u in range(topology.num_nodes)]
    named = topology.labels is not None and _are_numbers(topology.labels)
    columns = {what: column.tolist() for what, column in topology.columns.items()}
    places = {what: getattr(topology, f"{what}s") for what in _NODE_DATA if getattr(topology, f"{what}s") is not None}
    lines = ["<?xml version='1.0' encoding='utf-8'?>", f"<!-- linkstep {__version__} -->"]
    lines.append(f'<graphml xmlns="{_XMLNS}">')
    lines.append('  <key id="name" for="graph" attr.name="name" attr.type="string"/>')
    if named:
        lines.append(f'  <key id="{_NAMED}" for="graph" attr.name="{_NAMED}" attr.type="boolean"/>')
    lines += [f'  <key id="{what}" for="edge" attr.name="{what}" attr.type="long"/>' for what in columns]
    lines += [f'  <key id="{what}" for="node" attr.name="{what}" attr.type="string"/>' for what in places]
    lines.append('  <graph edgedefault="directed">')
    if topology.name:
        lines.append(f'    <data key="name">{html.escape(topology.name, quote=False)}</data>')
    if named:
        lines.append(f'    <data key="{_NAMED}">true</data>')
    file.write("\n".join([*lines, ""]).encode())
    for u, node in enumerate(ids):
        data = "".join(f'<data key="{what}">{html.escape(names[u])}</data>' for what, names in places.items())
        file.write((f'    <node id="{node}">{data}</node>\n' if data else f'    <node id="{node}"/>\n').encode())
    for e, (tail, head) in enumerate(zip(topology.tail.tolist(), topology.head.tolist(), strict=True)):
        data = "".join(f'<data key="{what}">{column[e]}</data>' for what, column in columns.items())
        edge = f'    <edge id="{e}" source="{ids[tail]}" target="{ids[head]}"'
        file.write((f"{edge}>{data}</edge>\n" if data else f"{edge}/>\n").encode())
    file.write(b"  </graph>\n</graphml>\n")


def _children(element: Any, tag: str) -> Iterator[Any]:
    """Yield children by tag, whatever the namespace (GraphML is met with and without)."""
    return (child for child in element if str(child.tag).rpartition("}")[2] == tag)


def _text(element: Any) -> str:
    return (element.text or "").strip()


def _parse_graphml(file: BinaryIO) -> tuple[Any, Any]:
    """Return the document and its one graph; no entity is ever expanded."""
    from xml.etree.ElementTree import ParseError  # 30 ms to import, and few files are GraphML

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import parse as parse_xml

    try:
        root = parse_xml(file).getroot()
    except ParseError as error:
        reason = str(error).partition(":")[0]
        raise FileError(f"line {error.position[0]}: is truncated or not XML: {reason}") from None
    except DefusedXmlException as error:
        kind = type(error).__name__
        raise FileError(f"declares XML entities, which are never read ({kind}); remove them") from None
    except (LookupError, ValueError) as error:
        raise FileError(f"is not XML in an encoding linkstep reads: {error}") from None
    tag, graphs = str(root.tag).rpartition("}")[2], list(_children(root, "graph"))
    if tag != "graphml" or len(graphs) != 1:
        raise FileError(f"must be a <graphml> with one <graph> inside, not a <{tag[:40]}> with {len(graphs)}")
    if any(True for _ in _children(graphs[0], "hyperedge")):
        raise FileError("has hyperedges: a link joins two nodes")
    return root, graphs[0]


@dataclass
class _Keys:
    """What GraphML's keys mean: id to attribute name, and the values edges have by default."""

    name: dict[str, str]
    default: dict[str, str]

    @classmethod
    def of(cls, root: Any) -> _Keys:
        names: dict[str, str] = {}
        defaults: dict[str, str] = {}
        for key in _children(root, "key"):
            names[key.get("id", "")] = key.get("attr.name", "")
            if key.get("for") in ("edge", "all"):
                defaults |= {key.get("attr.name", ""): _text(value) for value in _children(key, "default")}
        return cls(names, defaults)

    def data(self, element: Any) -> dict[str, str]:
        return {self.name.get(child.get("key", ""), ""): _text(child) for child in _children(element, "data")}


def _are_numbers(ids: Sequence[str]) -> bool:
    """Whether ids are the numbers 0..N-1, in any order."""
    return set(ids) == {str(i) for i in range(len(ids))}


def _places(nodes: dict[str, dict[str, str]], ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the hosts and the racks of the nodes in the order of their ids, where the data of the nodes say them."""
    found: dict[str, list[str]] = {}
    for what in _NODE_DATA:
        known = sum(what in data for data in nodes.values())
        if known not in (0, len(nodes)):
            raise FileError(f"{what} is given for {known} of {len(nodes)} nodes: give all or none")
        if known:
            found[f"{what}s"] = [nodes[node][what] for node in ids]
    return found


def _node_ids(graph: Any, named: bool) -> tuple[list[str], list[str] | None]:
    """Return the id of each node by its number, and the labels; ids that are 0..N-1 are the numbers and no labels."""
    ids = [node.get("id", "") for node in _children(graph, "node")]
    if len(set(ids)) != len(ids):
        raise FileError("gives two nodes the same id")
    return ([str(i) for i in range(len(ids))], None) if _are_numbers(ids) and not named else (ids, ids)


def read_graphml(file: BinaryIO) -> Topology:
    """Read one graph, directed, undirected or mixed; ids of nodes that are not numbers are the labels."""
    root, graph = _parse_graphml(file)
    keys = _Keys.of(root)
    about = keys.data(graph)
    check_name(about.get("name", ""))
    ids, labels = _node_ids(graph, about.get(_NAMED) == "true")
    index = {node: i for i, node in enumerate(ids)}
    by_default = "false" if graph.get("edgedefault") == "undirected" else "true"
    tail: list[int] = []
    head: list[int] = []
    columns: dict[str, list[int]] = {what: [] for what in LINK_COLUMNS}
    for i, edge in enumerate(_children(graph, "edge")):
        ends = (edge.get("source", ""), edge.get("target", ""))
        for end in ends:
            if end not in index:
                raise FileError(f"edge {i}: there is no node {end[:40]!r}")
        u, w = index[ends[0]], index[ends[1]]
        both = edge.get("directed", by_default).lower() == "false" and u != w
        tail += [u, w] if both else [u]
        head += [w, u] if both else [w]
        data = keys.default | keys.data(edge)
        for what in LINK_COLUMNS:
            if what in data:
                columns[what] += [_whole(data[what], what, f"edge {i}")] * (1 + both)
    for what, column in columns.items():
        if column and len(column) != len(tail):
            raise FileError(f"{what} is given for {len(column)} of {len(tail)} links: give all or none")
    given: dict[str, Any] = {what: column for what, column in columns.items() if column}
    given |= _places({node.get("id", ""): keys.data(node) for node in _children(graph, "node")}, ids)
    return Topology.from_links(len(ids), tail, head, about.get("name", ""), labels=labels, **given)
