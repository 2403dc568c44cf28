"""All-to-all throughput of what ``find`` lists: stored for the catalog's recipes, computed where that is quick.

The file has a line ``nodes,degree,number,throughput`` for every entry of the catalog whose exact throughput is known,
number being that of its name ``Cat(nodes,degree,number)``. ``scripts/make_throughput.py`` makes it; a line is never
wrong because the catalog changed, as the number is a hash of the recipe. Not here: how throughput is computed
(``linkstep.throughput``).
"""

from __future__ import annotations

from copy import copy
from fractions import Fraction
from functools import cache
from pathlib import Path

from linkstep.core.errors import FileError
from linkstep.recipe import Recipe
from linkstep.recipe.names import catalog_names, read_text
from linkstep.throughput.solve import exact_all_to_all

FILE = Path(__file__).parent.parent / "data" / "throughput.csv"
HEADER = "nodes,degree,number,throughput"
QUICK_LINKS = 10_000
"""Up to so many links throughput is computed for a row of ``find``, if few orbits of links are all there are."""


@cache
def stored_throughputs(path: Path = FILE) -> dict[tuple[int, int, int], Fraction]:
    """Return the throughputs of a file by nodes, degree and number."""
    found = {}
    for number, line in enumerate(read_text(path).splitlines()[1:], 2):
        try:
            nodes, degree, name, value = line.split(",")
            found[int(nodes), int(degree), int(name)] = Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise FileError(f"{path}, line {number}: not {HEADER}: {line[:100]!a}") from None
    return found


def throughput_of(recipe: Recipe) -> Fraction | None:
    """Return the exact all-to-all throughput of a recipe's topology; None where that is not known and not quick.

    >>> from linkstep.recipe import parse
    >>> print(throughput_of(parse("Torus(4,4)")), throughput_of(parse("Cayley(Z5,{1,2,3,4})")))
    1/8 1
    """
    nodes, degree, text = recipe.num_nodes, recipe.degree, str(recipe)
    for number, known in catalog_names(nodes, degree).items():
        if known == text and (nodes, degree, number) in stored_throughputs():
            return stored_throughputs()[nodes, degree, number]
    if nodes * degree > QUICK_LINKS:
        return None
    return exact_all_to_all(copy(recipe).topology())  # of a copy: a recipe holds what it builds
