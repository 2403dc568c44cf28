"""A topology as every view draws it: links in columns, names, and the places of its nodes in several layouts.

Layers around a host are the one layout that the page works out itself, since any host may be asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkstep.core.topology import Topology
from linkstep.pictures.layout import by_springs, lay_out, on_circle
from linkstep.symmetry.isomorphisms import node_orbits

_SPRUNG = 1200
"""The most nodes that are laid out by springs: about a second."""
_ORBITS = 5000
"""The most nodes whose orbits are looked for."""


def wires_of(topology: Topology, *, orbits: bool = True) -> dict[str, Any]:
    """Return what a view needs to draw a topology.

    >>> found = wires_of(Topology.from_links(2, [0, 1], [1, 0], "pair"))
    >>> found["nodes"], found["duplex"], [one["name"] for one in found["layouts"]]
    (2, True, ['ring', 'force'])
    """
    return {
        "name": topology.name,
        "nodes": topology.num_nodes,
        "degree": topology.degree,
        "duplex": topology.is_bidirectional,
        "labels": None if topology.labels is None else list(topology.labels),
        "racks": None if topology.racks is None else list(topology.racks),
        "tail": topology.tail,
        "head": topology.head,
        "bandwidth": None if topology.bandwidth is None else topology.bandwidth.astype(np.float64),
        "layouts": _layouts(topology),
        "orbit": _orbit(topology) if orbits else None,
    }


def _layouts(topology: Topology) -> list[dict[str, Any]]:
    """Return layouts by name, the one that suits best first."""
    usual = lay_out(topology)
    found = {"grid" if usual.dims else "ring" if usual.ring else "force": usual.place}
    if "ring" not in found:
        found["ring"] = on_circle(topology.num_nodes)
    if "force" not in found and 1 < topology.num_nodes <= _SPRUNG:
        found["force"] = by_springs(topology)
    if topology.racks is not None:
        found["racks"] = _in_racks(topology.racks)
    return [{"name": name, "xy": place.astype(np.float32).ravel()} for name, place in found.items()]


def _in_racks(racks: tuple[str, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Place the hosts of a rack in a column, racks side by side in the order in which they are named."""
    column = {rack: number for number, rack in enumerate(dict.fromkeys(racks))}
    filled = dict.fromkeys(column, 0)
    place = np.zeros((len(racks), 2))
    for node, rack in enumerate(racks):
        place[node] = column[rack], -filled[rack]
        filled[rack] += 1
    span = np.ptp(place, axis=0)
    place -= (place.max(axis=0) + place.min(axis=0)) / 2
    return place * 2 / max(float(span.max()), 1.0)


def _orbit(topology: Topology) -> np.ndarray[Any, Any] | None:
    """Return a number for each node, the same for nodes that a symmetry takes to each other; None: not looked for."""
    if topology.vertex_transitive:
        return np.zeros(topology.num_nodes, np.int32)
    if topology.num_nodes > _ORBITS:
        return None
    return np.asarray(np.unique(node_orbits(topology), return_inverse=True)[1])
