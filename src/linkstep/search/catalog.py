"""The catalog of the best topologies known: for each N, d and directedness a few recipes that no other dominates.

What ships with the package is one file a degree, sorted, read when that degree is first asked for; a user's own catalog
has the same form. What a line says is in ``linkstep.search.entry``; where entries come from, in
``linkstep.search.scoring``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from linkstep.core.errors import FileError, warn
from linkstep.core.pareto import pareto
from linkstep.files import locked, write_atomically
from linkstep.recipe.names import DATA, HEADER, catalog_folders, lines_by_size, read_text, source_of, user_folder
from linkstep.search.entry import Entry


def best_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries that are the best in something, fewest steps first; ties go to the shortest recipe.

    That is, those with an allreduce, together with all-to-all throughput, that no other's equals or beats. Entries are
    to be of one N and d.
    """
    known: dict[str, Entry] = {}
    for entry in sorted(entries, key=_told):
        known[entry.recipe] = entry
    points = [(cost, entry) for entry in known.values() for cost in entry.costs]
    kept = pareto(points, figures=lambda p: (p[0].steps, p[0].bandwidth, -p[1].most_flow), tie=lambda p: _tie(p[1]))
    return list({entry.recipe: entry for _, entry in kept}.values())


def _told(entry: Entry) -> tuple[int, bool]:
    """Order entries of one topology by how much they say of it."""
    return len(entry.allgather) + len(entry.reduce_scatter), entry.flow is not None


def _tie(entry: Entry) -> tuple[object, ...]:
    return entry.flow is None, not entry.bidirectional, len(entry.recipe), entry.recipe


def read_entries(path: Path) -> Iterator[Entry]:
    """Yield the entries of a catalog file or a search log.

    Lines that start with ``#``, by which a log marks finished jobs, are skipped, and so is a last line without its end,
    which a search that was killed may leave.
    """
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
                is_own = folder == user_folder()
                for nodes, lines in lines_by_size(folder, degree).items():
                    found[nodes] += _own_entries(folder, degree, lines) if is_own else lines
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

    def covers(self, num_nodes: int, degree: int, bidirectional: bool) -> bool:
        """Whether graphs of this N, d and kind were searched for, so that the best known are here.

        A graph that a user added with its source was not found by a search, and says nothing of others.
        """
        kind = [entry for entry in self.listed(num_nodes, degree) if entry.bidirectional == bidirectional]
        return any(source_of(entry.recipe) is None for entry in kind)

    def __iter__(self) -> Iterator[Entry]:
        """List every entry of the files."""
        for degree in self.degrees:
            for lines in self._degree(degree).values():
                yield from map(Entry.from_line, lines)


def _own_entries(folder: Path, degree: int, lines: list[str]) -> list[str]:
    """Return the lines of the user's own catalog that are entries; a warning says of others that they are left out."""
    kept = []
    for line in lines:
        try:
            Entry.from_line(line)
        except FileError as error:
            warn(f"a line of your own catalog is left out: {folder / f'd{degree}.csv'}: {error}")
        else:
            kept.append(line)
    return kept


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


def merge(paths: Iterable[Path], folder: Path = DATA) -> int:
    """Add the entries of search logs or catalog files to the catalog in a folder; return how many it has then.

    Nothing is written unless all of them can be read.
    """
    return add_entries([entry for path in paths for entry in read_entries(path)], folder)


def add_entries(new: Sequence[Entry], folder: Path = DATA) -> int:
    """Add entries to the catalog in a folder, by any number of processes at once; return how many it has then."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: cannot be written: {error.strerror}") from None
    with locked(folder / ".lock"):
        old = [entry for _, path in _files(folder) for entry in read_entries(path)]
        groups: dict[tuple[int, int, bool], list[Entry]] = defaultdict(list)
        for entry in [*old, *new]:
            groups[entry.degree, entry.num_nodes, entry.bidirectional].append(entry)
        files: dict[int, list[str]] = defaultdict(lambda: [HEADER])
        for (degree, _, _), found in sorted(groups.items()):
            files[degree] += [entry.line() for entry in best_entries(found)]
        for degree, lines in files.items():
            _replace(folder / f"d{degree}.csv", "\n".join([*lines, ""]))
    return sum(len(lines) - 1 for lines in files.values())


def _replace(path: Path, text: str) -> None:
    """Put a new text in a file's place: on disk and whole, or not at all."""

    def write(file: BinaryIO) -> None:
        file.write(text.encode())

    write_atomically(path, write)
