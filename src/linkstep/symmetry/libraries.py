"""Libraries that find automorphism groups, all optional: pybliss (LGPL), igraph (GPL), or ``dreadnaut`` in PATH.

Each is a row here with the same two questions, about simple digraphs whose vertices have colours. What they answer is
checked by the caller.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

_SECONDS = 60
"""The longest that a program is waited for."""


@dataclass(frozen=True)
class ColouredGraph:
    """A simple digraph: a colour for each vertex, and edges between two different ones."""

    colours: list[int]
    edges: list[tuple[int, int]]


@dataclass(frozen=True)
class Library:
    """A library: whether it is there, and what it finds."""

    name: str
    is_there: Callable[[], bool]
    automorphisms: Callable[[ColouredGraph], list[list[int]]]
    """Permutations of the vertices that generate all automorphisms."""
    isomorphism: Callable[[ColouredGraph, ColouredGraph], list[int] | None] | None
    """The vertex of the second graph for each of the first, of graphs with as many vertices of each colour and as many
    edges; None if there is none. None for a library that is not asked."""


def find_library(isomorphisms: bool = False) -> Library | None:
    """Return the first library that is there; with ``isomorphisms``, that finds these too."""
    rows = (row for row in LIBRARIES if row.is_there() and (row.isomorphism is not None or not isomorphisms))
    return next(rows, None)


def _has(module: str) -> Callable[[], bool]:
    return lambda: find_spec(module) is not None


# pybliss


def _bliss_graph(graph: ColouredGraph) -> Any:
    found = import_module("pybliss").Digraph(len(graph.colours))
    for vertex, colour in enumerate(graph.colours):
        found.change_color(vertex, colour)
    for u, w in graph.edges:
        found.add_edge(u, w)
    return found


def _bliss_automorphisms(graph: ColouredGraph) -> list[list[int]]:
    found: list[list[int]] = []
    built = _bliss_graph(graph)
    built.find_automorphisms(import_module("pybliss").Stats(), lambda size, new: found.append(new.tolist()))
    return found


def _bliss_isomorphism(left: ColouredGraph, right: ColouredGraph) -> list[int] | None:
    """Compose the ways of both graphs to a canonical form; where the forms differ, so do the graphs."""
    stats = import_module("pybliss").Stats
    one, other = _bliss_graph(left), _bliss_graph(right)
    there, back = (graph.get_permutation_to_canonical_form(stats(), None, None) for graph in (one, other))
    if one.permute(there) != other.permute(back):
        return None
    inverse = {int(image): vertex for vertex, image in enumerate(back.tolist())}
    return [inverse[image] for image in there.tolist()]


# igraph


def _graph_class() -> Any:
    """Return igraph's compiled graph class by itself: 10 ms, where ``import igraph`` pulls in pyplot for a second.

    The module is left where a later ``import igraph`` finds it; it can be initialised only once.
    """
    name = "igraph._igraph"
    if name not in sys.modules:
        package = find_spec("igraph")
        assert package is not None and package.submodule_search_locations is not None
        spec = PathFinder.find_spec(name, list(package.submodule_search_locations))
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name].GraphBase


def _igraph(graph: ColouredGraph) -> Any:
    return _graph_class()(n=len(graph.colours), edges=graph.edges, directed=True)


def _igraph_automorphisms(graph: ColouredGraph) -> list[list[int]]:
    found: list[list[int]] = _igraph(graph).automorphism_group(color=graph.colours)
    return found


def _igraph_isomorphism(left: ColouredGraph, right: ColouredGraph) -> list[int] | None:
    # Not by canonical_permutation: igraph 1.0 turned round what it returns; mapping_12 stayed as it was.
    found, mapping, _ = _igraph(left).isomorphic_bliss(
        _igraph(right), return_mapping_12=True, color1=left.colours, color2=right.colours
    )
    return list(mapping) if found else None


# dreadnaut, a program of nauty


def _dreadnaut_automorphisms(graph: ColouredGraph) -> list[list[int]]:
    """Ask Traces for generators as lists of images (``p``), each in a line ``Gen #1:  1 2 0`` or ``Gen(A) #1: ..``.

    Traces knows no digraphs: beside a vertex v it gets v + size, for the edges that leave it, and v + 2 size, for those
    that lead to it, of colours of their own and joined to v. nauty, which does, took over ten minutes for Pi_{4,500}.
    """
    import subprocess  # 5 ms, which most never need

    size = len(graph.colours)
    joined = [[v + size, v + 2 * size] for v in range(size)] + [[] for _ in range(size)]
    for u, w in graph.edges:
        joined[u + size].append(w + 2 * size)
    rows = ";\n".join(" ".join(map(str, row)) for row in joined)
    colours = [*graph.colours, *([max(graph.colours) + 1] * size), *([max(graph.colours) + 2] * size)]
    cells = [",".join(str(v) for v, own in enumerate(colours) if own == colour) for colour in sorted(set(colours))]
    text = "\n".join(["At -m l=0", f"n={3 * size} g", f"{rows}.", f"f=[{'|'.join(cells)}]", "+p x q", ""])
    try:
        ran = subprocess.run(["dreadnaut"], input=text, capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (subprocess.SubprocessError, OSError):
        return []  # as good as no library
    found = [line.split() for line in re.findall(r"^Gen\S* #\d+:([\d ]+)$", ran.stdout, re.M)]
    return [[int(word) for word in row[:size]] for row in found if len(row) == 3 * size]


LIBRARIES = (
    Library("pybliss", _has("pybliss"), _bliss_automorphisms, _bliss_isomorphism),
    Library("igraph", _has("igraph"), _igraph_automorphisms, _igraph_isomorphism),
    Library("dreadnaut", lambda: shutil.which("dreadnaut") is not None, _dreadnaut_automorphisms, None),
)
"""In the order in which they are tried."""
