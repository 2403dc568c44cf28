"""The finders there are: from the paper's bases, and from everything linkstep knows; directed, and duplex."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from linkstep.families import FAMILIES as TABLE
from linkstep.search.bases import catalog_bases, family_bases, paper_bases
from linkstep.search.catalog import load_catalog
from linkstep.search.choice import Choice
from linkstep.search.finder import Finder

FAMILIES = ("all", "paper")
"""What a search may start from: everything linkstep knows, or the paper's bases alone."""


@cache
def finder(families: str, bidirectional: bool) -> Finder:
    """Return the finder for ``paper`` (the paper's bases) or ``all`` (every family and the catalog)."""
    if families == "paper":
        return Finder(paper_bases, bidirectional=bidirectional)
    catalog = load_catalog()

    def bases(num_nodes: int, degree: int) -> Iterator[Choice]:
        known = catalog.covers(num_nodes, degree, bidirectional)
        yield from family_bases(num_nodes, degree, compute=not known)
        yield from catalog_bases(catalog, num_nodes, degree)

    return Finder(bases, bidirectional=bidirectional)


@cache
def known_finder(bidirectional: bool) -> Finder:
    """Return the finder that builds nothing: it knows only what families, the catalog and the theorems state."""
    catalog = load_catalog()

    def bases(num_nodes: int, degree: int) -> Iterator[Choice]:
        yield from family_bases(num_nodes, degree, compute=False)
        yield from catalog_bases(catalog, num_nodes, degree)

    return Finder(bases, bidirectional=bidirectional, compute=False)


def forget_catalog() -> None:
    """Let finders read the catalog, and the families, again: something was added."""
    finder.cache_clear()
    known_finder.cache_clear()


TABLE.on_change(forget_catalog)
