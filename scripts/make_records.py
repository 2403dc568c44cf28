"""Write record graphs of the degree/diameter problem as entries of the catalog, with duplex links, scored as all are.

    python scripts/make_records.py records.csv && linkstep catalog merge records.csv

Graphs that no sweep finds, because they come from geometry:

- The Hoffman-Singleton graph, (N, d) = (50, 7), diameter 2: pentagons and pentagrams, a lift over Z_5 (Robertson).
- Points of a projective plane of odd order q, linked if the one lies on the polar line of the other (Brown; Erdos,
  Renyi and Sos): N = q^2 + q + 1, d = q + 1, diameter 2. The q + 1 absolute points lie on their own polar lines and
  have a port to spare; as they are never linked, pairs of them are.
- The same for the generalized hexagon of order 3 and a polarity of it (Delorme): (364, 4), diameter 5, with 28 absolute
  points. It is written as a lift over Z_7, and absolute points are linked so that it stays one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

import numpy as np

from linkstep.core.distances import distances_from
from linkstep.core.topology import Ids, Topology
from linkstep.recipe import Recipe, parse
from linkstep.recipe.names import HEADER
from linkstep.search.added import graph_recipe
from linkstep.search.scoring import entry_of, with_flow
from linkstep.symmetry.distances import measure_distances
from linkstep.symmetry.search import automorphism_generators

ORDERS = (7, 11, 13)
"""Of projective planes; smaller ones have nothing on what sweeps found."""

Links = list[list[tuple[int, int]]]
"""For each orbit of a lift over Z_m, the orbits and shifts that its links lead to."""


def lift(m: int, links: Links) -> Recipe:
    """Return the recipe of a lift over Z_m."""
    columns = zip(*(sorted(row) for row in links), strict=True)
    tuples = sorted(tuple(number for link in column for number in link) for column in columns)
    return parse(f"Lift({m},{{{','.join(str(t).replace(' ', '') for t in tuples)}}})")


def hoffman_singleton() -> Recipe:
    """Node j of pentagon h is linked to node h i + j of every pentagram i."""
    pentagons = [[(h, 1), (h, 4), *((5 + i, h * i % 5) for i in range(5))] for h in range(5)]
    pentagrams = [[(5 + i, 2), (5 + i, 3), *((h, -h * i % 5) for h in range(5))] for i in range(5)]
    return lift(5, pentagons + pentagrams)


def polar_plane(q: int) -> Recipe:
    """Link points x and y of PG(2, q), q an odd prime, if x . y = 0, and absolute points in pairs."""
    points = [p for p in product(range(q), repeat=3) if any(p) and next(x for x in p if x) == 1]
    linked = np.array(points) @ np.array(points).T % q == 0
    absolute = np.flatnonzero(linked.diagonal())
    np.fill_diagonal(linked, False)
    linked[absolute[::2], absolute[1::2]] = linked[absolute[1::2], absolute[::2]] = True
    return graph_recipe(Topology.from_links(len(points), *np.nonzero(linked)))


def power(mapping: Ids, exponent: int) -> Ids:
    """Return a permutation applied ``exponent`` times."""
    found = np.arange(mapping.size, dtype=mapping.dtype)
    for _ in range(exponent):
        found = mapping[found]
    return found


def order(mapping: Ids) -> int:
    """Return how often a permutation must be applied to change nothing."""
    here, count = mapping, 1
    while (here != np.arange(mapping.size)).any():
        here, count = mapping[here], count + 1
    return count


def random_words(generators: list[Ids]) -> Iterator[Ids]:
    """Yield products of generators, always the same ones."""
    random, word = Random(1), np.arange(generators[0].size, dtype=np.int32)
    while True:
        word = word[random.choice(generators)]
        yield word


def polarity(hexagon: Topology) -> Ids:
    """Return an automorphism of order 2 that swaps points and lines: the odd power of one whose order is 2 mod 4."""
    generators = [np.array(g, np.int32) for g in automorphism_generators(hexagon)]
    is_line = distances_from(hexagon, 0) % 2
    for word in random_words(generators):
        if is_line[word[0]] and order(word) % 4 == 2:
            return power(word, order(word) // 2)
    raise AssertionError("words have no end")


def delorme() -> Recipe:
    """Quotient of the generalized hexagon of order 3 by a polarity, absolute points linked where it is shortest."""
    hexagon = parse("GH(3,3)").topology()
    polar = polarity(hexagon)
    points = np.flatnonzero(distances_from(hexagon, 0) % 2 == 0)
    number = {int(point): k for k, point in enumerate(points)}
    near = [
        [number[int(y)] for y in hexagon.head[slice(*hexagon.out_ptr[polar[x] : polar[x] + 2])] if y != x]
        for x in points
    ]
    quotient = Topology.from_links(
        points.size, [k for k, row in enumerate(near) for _ in row], [y for row in near for y in row]
    )
    generators = [np.array(g, np.int32) for g in automorphism_generators(quotient)]
    turn = next(power(word, order(word) // 7) for word in random_words(generators) if order(word) % 7 == 0)
    return closed(near, turn)


def closed(near: list[list[int]], turn: Ids) -> Recipe:
    """Write a graph as a lift over the cyclic group that ``turn`` generates, its four open orbits linked in pairs."""
    m, place = order(turn), {}
    firsts = []
    for node in range(turn.size):
        if node not in place:
            place |= {int(power(turn, k)[node]): (len(firsts), k) for k in range(m)}
            firsts.append(node)
    links = [[place[y] for y in near[node]] for node in firsts]
    open_orbits = [i for i, row in enumerate(links) if len(row) == 3]
    best = None
    for a, b, c, d in ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2)):
        for shift, other in product(range(m), repeat=2):
            rows = [list(row) for row in links]
            for x, y, h in ((a, b, shift), (c, d, other)):
                i, j = open_orbits[x], open_orbits[y]
                rows[i].append((j, h))
                rows[j].append((i, -h % m))
            recipe = lift(m, rows)
            distances = measure_distances(recipe.topology())
            found = distances.diameter, distances.total, str(recipe)
            best = found if best is None or found < best else best
    assert best is not None
    return parse(best[2])


def main() -> None:
    """Write the file that the first argument names."""
    recipes = [hoffman_singleton(), *map(polar_plane, ORDERS), delorme()]
    lines = [with_flow(entry_of(recipe)).line() for recipe in recipes]
    Path(sys.argv[1]).write_text("\n".join([HEADER, *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
