"""The catalog of the best topologies known: for each N, d and directedness a few recipes that no other dominates.

Files are text, one line an entry under a header, ``nodes,degree,kind,steps,bandwidth,reduce_scatter,distance_sum,
recipe``; kind is ``bi`` or ``uni``. The recipe comes last, so its commas need no quotes. What ships with the package
is one file a degree, sorted, read when that degree is first asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.topology import distance_profiles
from linkstep.costs import bandwidth_bound, moore_steps
from linkstep.methods.bfb import bfb_cost
from linkstep.recipe import parse

DATA = Path(__file__).parent.parent / "data" / "catalog"
HEADER = "nodes,degree,kind,steps,bandwidth,reduce_scatter,distance_sum,recipe"
MOST = 4
"""Entries kept for one (N, d, kind)."""


@dataclass(frozen=True)
class Entry:
    """A topology and what it costs: ``steps`` and ``bandwidth`` are T_L and T_B of its best BFB allgather.

    ``distance_sum`` is the sum of the distances to a node (averaged over nodes where they differ); d over it bounds
    all-to-all. ``reduce_scatter`` is T_B of the best BFB reduce-scatter, which in a digraph may differ.
    """

    num_nodes: int
    degree: int
    bidirectional: bool
    recipe: str
    steps: int
    bandwidth: Fraction
    distance_sum: Fraction
    reduce_scatter: Fraction

    @property
    def both(self) -> Fraction:
        """T_B that allgather and reduce-scatter both stay within."""
        return max(self.bandwidth, self.reduce_scatter)

    @property
    def is_bandwidth_optimal(self) -> bool:
        """Whether allgather and reduce-scatter reach T_B* = (N - 1) / N."""
        return self.both == bandwidth_bound(self.num_nodes)

    @property
    def is_moore_optimal(self) -> bool:
        """Whether no graph of its N, d and kind has fewer steps."""
        return self.steps == moore_steps(self.num_nodes, self.degree, bidirectional=self.bidirectional)

    def is_as_good(self, other: Entry) -> bool:
        """Whether this is no worse in any figure."""
        return (
            self.steps <= other.steps
            and self.both <= other.both
            and self.bandwidth <= other.bandwidth
            and self.distance_sum <= other.distance_sum
        )

    def line(self) -> str:
        """Return the entry as files have it."""
        kind = "bi" if self.bidirectional else "uni"
        figures = f"{self.steps},{self.bandwidth},{self.reduce_scatter},{self.distance_sum}"
        return f"{self.num_nodes},{self.degree},{kind},{figures},{self.recipe}"

    @classmethod
    def from_line(cls, line: str) -> Entry:
        """Read a line; the figures are taken on trust, ``verify`` recomputes them."""
        try:
            nodes, degree, kind, steps, bandwidth, other, total, recipe = line.rstrip("\n").split(",", 7)
            bidirectional = {"bi": True, "uni": False}[kind]
            return cls(
                int(nodes), int(degree), bidirectional, recipe, int(steps), Fraction(bandwidth), Fraction(total),
                Fraction(other),
            )  # fmt: skip
        except (ValueError, KeyError, ZeroDivisionError):
            raise FileError(f"not an entry ({HEADER}): {line[:100]!r}") from None


def _order(entry: Entry) -> tuple[object, ...]:
    figures = (entry.steps, entry.both, entry.bandwidth, entry.distance_sum)
    return (*figures, not entry.bidirectional, len(entry.recipe), entry.recipe)


def pareto(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries that no other equals or beats in all figures, sorted by them; ties go to the shortest recipe.

    Entries are to be of one N and d.
    """
    kept: list[Entry] = []
    for entry in sorted(entries, key=_order):
        if not any(better.is_as_good(entry) for better in kept):
            kept.append(entry)
    return kept


def best(entries: Iterable[Entry]) -> list[Entry]:
    """Return at most four of the Pareto-optimal entries, sorted.

    First the best in steps, in T_B and in the sum of distances, then what trades steps for T_B, then the rest.
    """
    optimal = pareto(entries)
    trade: list[Entry] = []
    for entry in optimal:
        if not trade or entry.both < trade[-1].both:
            trade.append(entry)
    near = min(optimal, key=lambda e: (e.distance_sum, e.steps, e.both), default=None)
    wanted = dict.fromkeys([*trade[:1], *trade[-1:], *([near] if near else []), *trade, *optimal])
    chosen = list(wanted)[:MOST]
    return [entry for entry in optimal if entry in chosen]


def read_entries(path: Path) -> Iterator[Entry]:
    """Read a catalog file or a search log: markers (``#``) are skipped, and a last line cut short."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot be read: {error}") from None
    for line in text[: text.rfind("\n") + 1].splitlines():
        if line and line != HEADER and not line.startswith("#"):
            yield Entry.from_line(line)


class Catalog:
    """The catalog in a folder: a file ``d4.csv`` for degree 4, read when it is first needed."""

    def __init__(self, folder: Path = DATA) -> None:
        self.folder = folder
        self._lines: dict[int, dict[int, list[str]]] = {}

    @cached_property
    def degrees(self) -> list[int]:
        """Degrees there are entries for."""
        return sorted(int(path.stem[1:]) for path in self.folder.glob("d*.csv"))

    def _degree(self, degree: int) -> dict[int, list[str]]:
        if degree not in self._lines:
            by_nodes: dict[int, list[str]] = defaultdict(list)
            if degree in self.degrees:
                for line in (self.folder / f"d{degree}.csv").read_text().splitlines()[1:]:
                    nodes = line.partition(",")[0]
                    by_nodes[int(nodes) if nodes.isdecimal() else 0].append(line)
            self._lines[degree] = dict(by_nodes)
        return self._lines[degree]

    def sizes(self, degree: int) -> list[int]:
        """Return the N there are entries for at a degree, ascending."""
        return sorted(self._degree(degree))

    def listed(self, num_nodes: int, degree: int) -> list[Entry]:
        """Return every entry of this N and d, one-way graphs too where a bidirectional one has the same figures."""
        return [Entry.from_line(line) for line in self._degree(degree).get(num_nodes, [])]

    def entries(self, num_nodes: int, degree: int, bidirectional: bool | None = None) -> list[Entry]:
        """Return the Pareto-optimal entries, fewest steps first.

        True asks for bidirectional graphs alone; a bidirectional one also counts as directed (False, or None).
        """
        found = map(Entry.from_line, self._degree(degree).get(num_nodes, []))
        return pareto(entry for entry in found if entry.bidirectional or not bidirectional)

    def __iter__(self) -> Iterator[Entry]:
        """List every entry of the files."""
        for degree in self.degrees:
            for lines in self._degree(degree).values():
                yield from map(Entry.from_line, lines)


def load_catalog(folder: Path = DATA) -> Catalog:
    """Return the catalog that ships with linkstep, or one in another folder; files are read when needed."""
    if not folder.is_dir():
        raise FileError(f"{folder}: not a folder with a catalog")
    return Catalog(folder)


def merge(paths: Iterable[Path], folder: Path = DATA) -> int:
    """Add the entries of search logs or catalog files to the catalog in a folder; return how many it has then."""
    groups: dict[tuple[int, int, bool], list[Entry]] = defaultdict(list)
    for path in [*sorted(folder.glob("d*.csv")), *paths]:
        for entry in read_entries(path):
            groups[entry.degree, entry.num_nodes, entry.bidirectional].append(entry)
    files: dict[int, list[str]] = defaultdict(lambda: [HEADER])
    for (degree, _, _), found in sorted(groups.items()):
        files[degree] += [entry.line() for entry in best(found)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for degree, lines in files.items():
            temporary = folder / f"d{degree}.csv.new"
            temporary.write_text("\n".join([*lines, ""]))
            temporary.replace(folder / f"d{degree}.csv")
    except OSError as error:
        raise FileError(f"{folder}: cannot be written: {error}") from None
    return sum(len(lines) - 1 for lines in files.values())


def recompute(entry: Entry) -> Entry:
    """Build the entry's topology from its recipe and return the entry as it should be."""
    topology = parse(entry.recipe).topology()
    nodes = [0] if topology.vertex_transitive else None
    profiles = distance_profiles(topology, nodes)
    total = sum(x * int(count) for x, count in enumerate(profiles.sum(axis=0).tolist()))
    cost = bfb_cost(topology)
    turned = cost if topology.is_bidirectional else bfb_cost(topology.transpose())
    return Entry(
        topology.num_nodes, topology.degree, topology.is_bidirectional, entry.recipe, cost.steps, cost.bandwidth,
        Fraction(total, len(profiles)), turned.bandwidth,
    )  # fmt: skip


def verify(entries: Iterable[Entry]) -> int:
    """Recompute every entry from its recipe and return how many there were; raise at the first that is wrong."""
    count = 0
    for entry in entries:
        count += 1
        right = recompute(entry)
        if right != entry:
            raise LinkstepError(f"the catalog says {entry.line()!r}; its recipe gives {right.line()!r}")
    return count


@dataclass(frozen=True)
class Coverage:
    """How much of a degree the catalog covers, for directed or bidirectional graphs."""

    degree: int
    bidirectional: bool
    sizes: int
    """How many N have an entry."""
    largest: int
    bandwidth_optimal: int
    """How many N have a bandwidth-optimal entry."""
    moore_optimal: int
    """How many N have an entry with as few steps as the Moore bound allows."""
    both: int
    """How many N have an entry that is both."""


def stats(catalog: Catalog) -> list[Coverage]:
    """Return the coverage of every degree, directed (which bidirectional graphs count for) and bidirectional."""
    rows = []
    for degree in catalog.degrees:
        for bidirectional in (False, True):
            found = [catalog.entries(n, degree, bidirectional) for n in catalog.sizes(degree)]
            sizes = [entries for entries in found if entries]
            bound = [(e.num_nodes, moore_steps(e.num_nodes, degree, bidirectional=bidirectional)) for (e, *_) in sizes]
            moore = [[e for e in es if e.steps == least] for es, (_, least) in zip(sizes, bound, strict=True)]
            rows.append(
                Coverage(
                    degree, bidirectional, len(sizes), max((n for n, _ in bound), default=0),
                    sum(any(e.is_bandwidth_optimal for e in es) for es in sizes),
                    sum(map(bool, moore)),
                    sum(any(e.is_bandwidth_optimal for e in es) for es in moore),
                )
            )  # fmt: skip
    return rows
