"""Short names of the catalog's recipes: ``Cat(47,3,12345)`` for a recipe of N = 47, d = 3 that takes half a page.

The number comes from the SHA-256 of the recipe's text, so that an entry keeps its name whatever else the catalog has.
Only the text of the catalog's lines is read here: what an entry costs is the business of ``linkstep.search``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from linkstep.core.errors import FileError, RecipeError

DATA = Path(__file__).parent.parent / "data" / "catalog"
HEADER = "nodes,degree,kind,distance_sum,all_to_all,allgather,reduce_scatter,recipe"
"""The first line of a catalog file; the recipe comes last, so its commas need no quotes."""

LONG = 60
"""Recipes of more characters are printed by their names where they have one."""
_DIGITS = 5


def read_text(path: Path) -> str:
    """Return the text of a catalog file; FileError if it is not a text file that can be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: is not a text file: byte {error.start} is not UTF-8") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None


def lines_by_size(folder: Path, degree: int) -> Mapping[int, list[str]]:
    """Return the lines of a catalog for one degree by N; those that do not start with a number under 0."""
    by_nodes: dict[int, list[str]] = defaultdict(list)
    for line in read_text(folder / f"d{degree}.csv").split("\n")[1:]:
        nodes = line.partition(",")[0]
        if line:
            by_nodes[int(nodes) if nodes.isascii() and nodes.isdecimal() else 0].append(line)
    return dict(by_nodes)


@cache
def _shipped(degree: int) -> Mapping[int, list[str]]:
    return lines_by_size(DATA, degree) if (DATA / f"d{degree}.csv").is_file() else {}


@cache
def catalog_names(num_nodes: int, degree: int) -> Mapping[int, str]:
    """Return the recipes that the shipped catalog has for N and d by the numbers in their names.

    >>> dict(catalog_names(5, 4))
    {50739: 'Cayley(Z5,{1,2,3,4})'}
    """
    recipes = sorted({line.split(",", 7)[-1] for line in _shipped(degree).get(num_nodes, [])})
    whole = [int(sha256(text.encode()).hexdigest(), 16) for text in recipes]
    digits = _DIGITS
    while len({number % 10**digits for number in whole}) < len(whole):
        digits += 1
    return {number % 10**digits: text for number, text in zip(whole, recipes, strict=True)}


def named_recipe(num_nodes: int, degree: int, number: int) -> str:
    """Return the text of the recipe called ``Cat(N,d,number)``."""
    found = catalog_names(num_nodes, degree)
    if number not in found:
        there = ", ".join(str(known) for known in sorted(found)) or "none"
        size = f"N={num_nodes}, d={degree}"
        raise RecipeError(f"Cat({num_nodes},{degree},{number}) is not in the catalog; its numbers for {size}: {there}")
    return found[number]


def name_of(text: str, num_nodes: int, degree: int) -> str | None:
    """Return the name of a recipe of this N and d, or None if the shipped catalog does not have it."""
    for number, known in catalog_names(num_nodes, degree).items():
        if known == text:
            return f"Cat({num_nodes},{degree},{number})"
    return None
