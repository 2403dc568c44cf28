"""Graphs that a user adds to the catalog: compared with what is known, and kept with their source if they beat it.

What counts is the diameter, then the mean distance. A graph from a file has no construction, so its recipe lists its
links, ``Lift(1,{...})``: entries added here may be long, while those that ship are not. How an entry is scored and
stored is the business of ``linkstep.search.catalog``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from linkstep.core.distances import check_connected
from linkstep.core.errors import FileError, LinkstepError, TopologyError
from linkstep.core.topology import Topology
from linkstep.families import family_written
from linkstep.recipe import Member, Recipe
from linkstep.recipe.names import DATA, SOURCES, digest, name_of, user_folder
from linkstep.search.catalog import Catalog, add_entries
from linkstep.search.entry import Entry
from linkstep.search.finders import forget_catalog
from linkstep.search.scoring import entry_of, with_flow
from linkstep.symmetry.distances import measure_distances

MAX_LENGTH = 2**16
"""The longest recipe, in characters, that a user's catalog takes: some 3000 nodes of degree 4."""
MAX_SHIPPED = 2500
"""The same of the catalog that ships with linkstep."""
MAX_SOURCE = 500


@dataclass(frozen=True)
class Hops:
    """How far apart the nodes of a graph are; of two graphs the lesser is better."""

    diameter: int
    mean: Fraction
    """Over ordered pairs of different nodes."""

    @property
    def order(self) -> tuple[int, Fraction]:
        """What decides between two."""
        return self.diameter, self.mean


@dataclass(frozen=True)
class RecordComparison:
    """A graph beside the best that is known of its N, d and kind: bidirectional, or any that is at least directed."""

    topology: Topology
    hops: Hops
    known: Entry | None

    @property
    def known_hops(self) -> Hops | None:
        """Those of the best known."""
        return None if self.known is None else entry_hops(self.known)

    @property
    def beats(self) -> bool:
        """Whether nothing is known that is as good."""
        return self.known_hops is None or self.hops.order < self.known_hops.order


def entry_hops(entry: Entry) -> Hops:
    """Return how far apart the nodes of an entry's graph are."""
    return Hops(entry.diameter, entry.distance_sum / (entry.num_nodes - 1))


def _check_regular(topology: Topology) -> None:
    if not topology.is_regular or not topology.num_links:
        raise TopologyError("the catalog holds regular graphs, whose nodes all have as many links out as in")
    if topology.columns:
        raise TopologyError("the catalog holds graphs whose links are all alike, without bandwidths or latencies")


def graph_recipe(topology: Topology) -> Recipe:
    """Return the recipe that lists the links of a regular topology.

    >>> str(graph_recipe(Topology.from_links(3, [0, 1, 2], [1, 2, 0])))
    'Lift(1,{(1,2,0)})'
    """
    _check_regular(topology)
    heads = topology.head.reshape(topology.num_nodes, topology.degree).T
    return Member(family_written("Lift(m,{(j,a,...),...})"), (1, tuple(map(tuple, sorted(heads.tolist())))))


def graph_entry(topology: Topology) -> Entry:
    """Score a graph and return its entry."""
    return with_flow(entry_of(graph_recipe(topology)))


def compare(topology: Topology, catalog: Catalog) -> RecordComparison:
    """Compare a graph with what a catalog has of its N, d and kind."""
    _check_regular(topology)
    check_connected(topology)
    count, found = topology.num_nodes, measure_distances(topology)
    known = catalog.entries(count, topology.degree, topology.is_bidirectional)
    best = min(known, key=lambda entry: (entry_hops(entry).order, entry.recipe), default=None)
    return RecordComparison(topology, Hops(found.diameter, Fraction(found.total, count * (count - 1))), best)


def default_folder() -> Path:
    """Return the folder of the user's own catalog; raise where there is none to be had."""
    folder = user_folder()
    if folder is None:
        raise FileError("there is no home folder for a catalog of your own: set XDG_DATA_HOME, or name a folder")
    return folder


def check_addable(topology: Topology, source: str, folder: Path) -> None:
    """Raise if a graph cannot be put into the catalog in a folder: to ask before long work, not after."""
    if not source.strip() or not source.isprintable() or len(source) > MAX_SOURCE:
        raise LinkstepError(
            f"the source must be one line of printable text of at most {MAX_SOURCE} characters, not {source!r:.60}"
        )
    length, most = len(str(graph_recipe(topology))), MAX_SHIPPED if folder.resolve() == DATA else MAX_LENGTH
    if length > most:
        raise LinkstepError(
            f"the links of N={topology.num_nodes}, d={topology.degree} take {length} characters, and an entry of "
            f"{folder} may have {most}: use the file itself"
        )


def add_graph(topology: Topology, source: str, folder: Path | None = None) -> str | None:
    """Score a graph, put it into a catalog (by default the user's own) with its source, and return its name.

    None if linkstep does not read that folder, so that it has no name. Whether the graph beats what is known is not
    asked here: ``compare`` tells.
    """
    folder = default_folder() if folder is None else folder
    check_addable(topology, source, folder)
    entry = graph_entry(topology)
    add_entries([entry], folder)
    _keep_source(folder, entry.recipe, source)
    forget_catalog()
    return name_of(entry.recipe, entry.num_nodes, entry.degree)


def _keep_source(folder: Path, text: str, source: str) -> None:
    """Add a line to the sources; one write at the end of a file, so that of several processes none loses another's."""
    try:
        with (folder / SOURCES).open("a", encoding="utf-8") as file:
            file.write(f"{digest(text)} {source}\n")
    except OSError as error:
        raise FileError(f"{folder / SOURCES}: cannot be written: {error.strerror}") from None
