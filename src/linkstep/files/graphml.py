"""GraphML, as networkx, igraph and other graph tools write it. Topologies only.

Nodes are named freely; a topology numbers them and keeps the names as its labels. Which number a name gets is said in
docs/concepts/data-model.md.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from linkstep._version import __version__
from linkstep.core.columns import LINK_COLUMNS
from linkstep.core.errors import FileError
from linkstep.core.topology import Topology
from linkstep.files.own import check_name
from linkstep.files.tables import whole_number

_NODE_DATA = ("host", "rack")
_NAMED = "ids_are_labels"  # written where names look like the numbers 0..N-1, which would be read as numbers
_XMLNS = "http://graphml.graphdrawing.org/xmlns"


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
                columns[what] += [whole_number(data[what], what, f"edge {i}")] * (1 + both)
    for what, column in columns.items():
        if column and len(column) != len(tail):
            raise FileError(f"{what} is given for {len(column)} of {len(tail)} links: give all or none")
    given: dict[str, Any] = {what: column for what, column in columns.items() if column}
    given |= _places({node.get("id", ""): keys.data(node) for node in _children(graph, "node")}, ids)
    return Topology.from_links(len(ids), tail, head, about.get("name", ""), labels=labels, **given)
