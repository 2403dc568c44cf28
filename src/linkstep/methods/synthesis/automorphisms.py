"""Subgroups of a topology's automorphisms under which to look for invariant schedules.

A *tree* is the route of one chunk from its source to all nodes. If H is a group of automorphisms and T a tree rooted
at v, the images gT, g in H, put |H_v| trees at each node of v's orbit (H_v: the g that fix v). So a group serves P
chunks a shard if |H_v| divides P for every v, and then P / |H_v| trees for one node of each orbit make a schedule.
A larger group leaves fewer trees to find; that none exists under a group proves nothing about others.

A permutation is ``bytes`` here: ``a.translate(g)`` is g after a, in one call, if g is padded to 256 values.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from random import Random

from linkstep.core.topology import Topology
from linkstep.symmetry.search import symmetry_of

Perm = bytes

RESTARTS = 24
EXTENSIONS = 10
"""Each restart grows a group from the trivial one by at most this many random elements."""

MAX_GROUPS = 4
"""How many a search tries; together they get the effort of the two runs without symmetry."""


@dataclass(frozen=True)
class AutomorphismGroup:
    """A group of automorphisms as the list of its elements, the identity first."""

    topology: Topology
    elements: tuple[Perm, ...]

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.elements)

    @cached_property
    def sources(self) -> dict[int, int]:
        """The least node of each orbit, and how many elements fix it."""
        found: dict[int, int] = {}
        for v in range(self.topology.num_nodes):
            if min(g[v] for g in self.elements) == v:
                found[v] = sum(g[v] == v for g in self.elements)
        return found

    @cached_property
    def link_images(self) -> list[list[int]]:
        """For each element, where it maps each link; the k-th of parallel links goes to the k-th."""
        pairs = list(zip(self.topology.tail.tolist(), self.topology.head.tolist(), strict=True))
        first = {pair: e for e, pair in reversed(list(enumerate(pairs)))}
        return [[first[g[u], g[w]] + e - first[u, w] for e, (u, w) in enumerate(pairs)] for g in self.elements]

    @cached_property
    def link_orbit(self) -> list[int]:
        """For each link, the least link of its orbit."""
        return [min(images) for images in zip(*self.link_images, strict=True)]

    @cached_property
    def signature(self) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """Order, most first, then sizes of orbits: groups that agree are most often conjugate."""
        nodes = Counter(min(g[v] for g in self.elements) for v in range(self.topology.num_nodes))
        links = Counter(self.link_orbit)
        return -self.order, tuple(sorted(nodes.values())), tuple(sorted(links.values()))


def trivial_group(topology: Topology) -> AutomorphismGroup:
    """Return the group of the identity alone: no symmetry asked for."""
    return AutomorphismGroup(topology, (bytes(range(topology.num_nodes)),))


def _closure(generators: list[Perm], identity: Perm, most: int) -> list[Perm] | None:
    """Return the group generated, or None if it has more than ``most`` elements."""
    tables = [g + bytes(256 - len(g)) for g in generators]
    found, seen = [identity], {identity}
    for element in found:
        for table in tables:
            product = element.translate(table)
            if product not in seen:
                if len(found) == most:
                    return None
                seen.add(product)
                found.append(product)
    return found


def _serves(elements: list[Perm], num_nodes: int, chunks: int) -> bool:
    return all(chunks % sum(g[v] == v for g in elements) == 0 for v in range(num_nodes))


def _random_element(generators: list[Perm], identity: Perm, random: Random) -> Perm:
    """Return a power of a random word: powers reach the elements of small order, of which small groups are made."""
    word = identity
    for _ in range(random.randint(1, 12)):
        word = word.translate(random.choice(generators) + bytes(256 - len(identity)))
    powers = _closure([word], identity, 10**6) or [identity]
    order = len(powers)
    return powers[random.choice([k for k in range(1, order + 1) if order % k == 0]) % order]


def find_automorphism_groups(topology: Topology, chunks: int, seed: int) -> list[AutomorphismGroup]:
    """Return groups that serve this many chunks a shard, largest first, without the trivial one.

    Grown from random elements, so not all there are: enough for a search that any of them may help.

    >>> ring = Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0])
    >>> [group.order for group in find_automorphism_groups(ring, 1, seed=0)]
    [4, 2]
    """
    n = topology.num_nodes
    generators = [bytes(g.tolist()) for g in symmetry_of(topology).generators]
    if not generators:
        return []
    identity, random = bytes(range(n)), Random(seed)
    found: dict[tuple[int, tuple[int, ...], tuple[int, ...]], AutomorphismGroup] = {}
    for _ in range(RESTARTS):
        chosen: list[Perm] = []
        elements = [identity]
        for _ in range(EXTENSIONS):
            element = _random_element(generators, identity, random)
            larger = _closure([*chosen, element], identity, n * chunks)  # an orbit times P is the most that serves
            if larger and len(larger) > len(elements) and _serves(larger, n, chunks):
                chosen, elements = [*chosen, element], larger
                group = AutomorphismGroup(topology, tuple(elements))
                found.setdefault(group.signature, group)
    return [found[signature] for signature in sorted(found)][:MAX_GROUPS]
