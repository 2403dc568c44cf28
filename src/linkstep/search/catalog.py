"""The catalog of the best topologies known: for each N, d and directedness a few recipes that no other dominates.

Files are text, one line an entry under a header, ``nodes,degree,kind,steps,bandwidth,reduce_scatter,distance_sum,
recipe``; kind is ``bi`` or ``uni``. The recipe comes last, so its commas need no quotes. What ships with the package
is one file a degree, sorted, read when that degree is first asked for; a user's own catalog has the same form.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from linkstep.core.errors import FileError, LinkstepError
from linkstep.costs import bandwidth_bound, measure_distances, moore_steps
from linkstep.files import write_atomically
from linkstep.methods.bfb import bfb_cost
from linkstep.recipe import Recipe, parse
from linkstep.recipe.names import DATA, HEADER, catalog_folders, lines_by_size, read_text
from linkstep.search.frontier import pareto

_COUNT, _FRACTION = r"([1-9][0-9]{0,8})", r"([0-9]{1,20}(?:/[1-9][0-9]{0,19})?)"
_LINE = re.compile(",".join([_COUNT, _COUNT, "(uni|bi)", _COUNT, *[_FRACTION] * 3, "([ -~]+)"]))
"""An entry: a recipe is of printable ASCII."""

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

    @property
    def figures(self) -> str:
        """All but the recipe, as files have it."""
        kind = "bi" if self.bidirectional else "uni"
        costs = f"{self.steps},{self.bandwidth},{self.reduce_scatter},{self.distance_sum}"
        return f"{self.num_nodes},{self.degree},{kind},{costs}"

    def line(self) -> str:
        """Return the entry as files have it."""
        return f"{self.figures},{self.recipe}"

    @classmethod
    def from_line(cls, line: str) -> Entry:
        """Read a line; the figures are taken on trust, ``verify`` recomputes them."""
        match = _LINE.fullmatch(line)
        if match is None:
            raise FileError(f"not an entry ({HEADER}): {line[:100]!a}")
        nodes, degree, kind, steps, bandwidth, reduce_scatter, total, recipe = match.groups()
        return cls(
            int(nodes), int(degree), kind == "bi", recipe, int(steps), Fraction(bandwidth), Fraction(total),
            Fraction(reduce_scatter),
        )  # fmt: skip


def best_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries that no other equals or beats in all figures, sorted by them; ties go to the shortest recipe.

    Entries are to be of one N and d.
    """
    return pareto(
        entries,
        figures=lambda e: (e.steps, e.both, e.bandwidth, e.distance_sum),
        tie=lambda e: (not e.bidirectional, len(e.recipe), e.recipe),
    )


def best(entries: Iterable[Entry]) -> list[Entry]:
    """Return at most four of the Pareto-optimal entries, sorted.

    First the best in steps, in T_B and in the sum of distances, then what trades steps for T_B, then the rest.
    """
    optimal = best_entries(entries)
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
    text = read_text(path)
    for number, line in enumerate(text[: text.rfind("\n") + 1].split("\n"), 1):
        if line and line != HEADER and not line.startswith("#"):
            try:
                yield Entry.from_line(line)
            except FileError as error:
                raise FileError(f"{path}, line {number}: {error}") from None


class Catalog:
    """The catalog in some folders: in each a file ``d4.csv`` for degree 4, read when it is first needed."""

    def __init__(self, *folders: Path) -> None:
        self.folders = folders
        self._lines: dict[int, Mapping[int, list[str]]] = {}

    @cached_property
    def degrees(self) -> list[int]:
        """Degrees there are entries for."""
        return sorted({degree for folder in self.folders for degree, _ in _files(folder)})

    def _degree(self, degree: int) -> Mapping[int, list[str]]:
        if degree not in self._lines:
            found: dict[int, list[str]] = defaultdict(list)
            for folder in self.folders:
                if (folder / f"d{degree}.csv").exists():
                    for nodes, lines in lines_by_size(folder, degree).items():
                        found[nodes] += lines
            self._lines[degree] = dict(found)
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
        return best_entries(entry for entry in found if entry.bidirectional or not bidirectional)

    def __iter__(self) -> Iterator[Entry]:
        """List every entry of the files."""
        for degree in self.degrees:
            for lines in self._degree(degree).values():
                yield from map(Entry.from_line, lines)


def _files(folder: Path) -> list[tuple[int, Path]]:
    """Return the degrees that a catalog has files for, ascending, with the files."""
    named = ((re.fullmatch(r"d([0-9]{1,4})\.csv", path.name), path) for path in folder.iterdir())
    return sorted((int(match[1]), path) for match, path in named if match)


def load_catalog(folder: Path | None = None) -> Catalog:
    """Return what ships with linkstep and what the user added, or the catalog in a folder; files are read at need."""
    if folder is None:
        return Catalog(*catalog_folders())
    try:
        found = _files(folder)
    except OSError:
        raise FileError(f"{folder}: not a folder with a catalog") from None
    if not found:
        raise FileError(f"{folder}: not a folder with a catalog: it has no d4.csv or the like")
    return Catalog(folder)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, so that of several processes one merges after the other."""
    import fcntl  # not on every system; only merging needs it

    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise FileError(f"{folder}: cannot be written: {error.strerror}") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def merge(paths: Iterable[Path], folder: Path = DATA) -> int:
    """Add the entries of search logs or catalog files to the catalog in a folder; return how many it has then.

    Nothing is written unless all of them can be read. Any number of processes may do this at once.
    """
    new = [entry for path in paths for entry in read_entries(path)]
    with _locked(folder):
        old = [entry for _, path in _files(folder) for entry in read_entries(path)]
        groups: dict[tuple[int, int, bool], list[Entry]] = defaultdict(list)
        for entry in [*old, *new]:
            groups[entry.degree, entry.num_nodes, entry.bidirectional].append(entry)
        files: dict[int, list[str]] = defaultdict(lambda: [HEADER])
        for (degree, _, _), found in sorted(groups.items()):
            files[degree] += [entry.line() for entry in best(found)]
        for degree, lines in files.items():
            _replace(folder / f"d{degree}.csv", "\n".join([*lines, ""]))
    return sum(len(lines) - 1 for lines in files.values())


def _replace(path: Path, text: str) -> None:
    """Put a new text in a file's place: on disk and whole, or not at all."""

    def write(file: BinaryIO) -> None:
        file.write(text.encode())

    write_atomically(path, write)


def entry_of(recipe: Recipe) -> Entry:
    """Build a topology and return its entry."""
    topology = recipe.topology()
    cost = bfb_cost(topology)
    turned = cost if topology.is_bidirectional else bfb_cost(topology.transpose())
    return Entry(
        topology.num_nodes, topology.degree, topology.is_bidirectional, str(recipe), cost.steps, cost.bandwidth,
        Fraction(measure_distances(topology).total, topology.num_nodes), turned.bandwidth,
    )  # fmt: skip


def verify(entries: Iterable[Entry]) -> int:
    """Recompute every entry from its recipe and return how many there were; raise at the first that is wrong."""
    count = 0
    for entry in entries:
        count += 1
        recipe = parse(entry.recipe)
        right = entry_of(recipe)
        if right != entry:
            raise LinkstepError(f"the catalog says {entry.figures!r} of {recipe.short}; that has {right.figures!r}")
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
