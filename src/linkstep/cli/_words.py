"""Words that a shell completes, of the line as it is so far: recipes, models, hosts and cables of a wiring, testbeds.

``linkstep completion --words KIND --line ...`` prints them one a line, and nothing where a line makes no sense yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology

_CATALOG = re.compile(r"(.*)Cat\((\d{1,9}),(\d{1,3}),\d*", re.ASCII)
MOST = 5000
"""Hosts or cables; nobody picks from more."""


def _models(line: Sequence[str]) -> Iterator[str]:
    from linkstep.simulation.training import model_names

    yield from model_names()


def _recipes(line: Sequence[str]) -> Iterator[str]:
    """Yield how recipes of each family begin, or the names of the catalog for the N and d in ``Cat(N,d,``."""
    found = _CATALOG.fullmatch(line[-1] if line else "")
    if found is not None:
        from linkstep.recipe.names import catalog_names

        nodes, degree = int(found[2]), int(found[3])
        yield from (f"{found[1]}Cat({nodes},{degree},{number})" for number in sorted(catalog_names(nodes, degree)))
        return
    from linkstep.families import FAMILIES

    yield from dict.fromkeys(re.split(r"(?<=[({])|(?<=_)(?!{)", family.notation)[0] for family in FAMILIES)
    yield from ("L(", "Cat(")


def _topology(line: Sequence[str]) -> Topology | None:
    """Return the wiring that a line names, with the names of ``--names``; None if it names none."""
    from linkstep.argument import TopologyArgument, with_names
    from linkstep.cli._topology_argument import read
    from linkstep.engines.testbed import load

    names = line[line.index("--names") + 1] if "--names" in line[:-1] else None
    if "--testbed" in line[:-1]:
        return load(line[line.index("--testbed") + 1]).topology
    for word in line[1:]:
        if not word.startswith("-") and (word[:1].isupper() or Path(word).is_file()):
            given: TopologyArgument = read(word)
            return with_names(given, names).topology
    return None


def _hosts(line: Sequence[str]) -> Iterator[str]:
    topology = _topology(line[:-1])
    if topology is not None:
        yield from map(topology.host, range(min(topology.num_nodes, MOST)))


def _cables(line: Sequence[str]) -> Iterator[str]:
    topology = _topology(line[:-1])
    if topology is not None:
        pairs = zip(topology.tail.tolist(), topology.head.tolist(), strict=True)
        found = dict.fromkeys((min(u, w), max(u, w)) for u, w in pairs if u != w)
        yield from (f"{topology.host(u)},{topology.host(w)}" for u, w in list(found)[:MOST])


def _testbeds(line: Sequence[str]) -> Iterator[str]:
    from linkstep.engines.testbed import names

    yield from names()


KINDS: dict[str, Callable[[Sequence[str]], Iterator[str]]] = {
    "recipes": _recipes, "models": _models, "hosts": _hosts, "cables": _cables, "testbeds": _testbeds,
}  # fmt: skip


def words(kind: str, line: Sequence[str]) -> list[str]:
    """Return the words of a kind for a line, whose last word is the one to complete; none where it makes no sense.

    >>> words("hosts", ["linkstep", "show", "'K_{2,2}'", "--down", ""])
    ['0', '1', '2', '3']
    """
    try:
        return list(KINDS[kind]([re.sub(r"^['\"]|['\"]$|\\(?=.)", "", word) for word in line]))
    except (LinkstepError, OSError):
        return []
