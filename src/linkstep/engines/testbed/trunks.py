"""Trunks: all cables between two hosts, as the one device that stands for them on each side. Pure values.

A cable is a link each way, or a lone link. One TCP connection would use only one of several parallel cables, and a
runtime opens one connection for a pair of hosts; so parallel cables are one device whose rate is the sum of theirs.
Not here: the device itself (``network``), and the way from host to host (``routes``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from linkstep.core.topology import Topology


@dataclass(frozen=True)
class Trunk:
    """The cables between hosts ``first`` < ``second``, with the rates (bit/s) of their links, slowest first."""

    number: int
    first: int
    second: int
    there: tuple[int, ...]
    """Rates of the links from ``first`` to ``second``."""
    back: tuple[int, ...]
    """Rates of the links from ``second`` to ``first``."""

    @property
    def device(self) -> str:
        """The name of the network device, the same on both sides: they are in different namespaces."""
        return f"c{self.number}"

    @property
    def ends(self) -> tuple[int, int]:
        """The two hosts."""
        return self.first, self.second

    @property
    def num_cables(self) -> int:
        """How many cables there are, uncut."""
        return max(len(self.there), len(self.back))

    def other(self, host: int) -> int:
        """Return the host at the other end."""
        return self.second if host == self.first else self.first

    def after(self, num_cut: int) -> Trunk:
        """Return what is left after this many cuts; each takes the slowest link each way, as ``core.faults`` does.

        >>> Trunk(0, 1, 2, (10, 40), (40,)).after(1)
        Trunk(number=0, first=1, second=2, there=(40,), back=())
        """
        return Trunk(self.number, self.first, self.second, self.there[num_cut:], self.back[num_cut:])

    def rate_from(self, host: int) -> int:
        """Return the rate (bit/s) at which a host may send; 0 if all is cut.

        Against a lone link only acknowledgements and set-up traffic flow, at the lone link's rate.
        """
        ways = (self.there, self.back) if host == self.first else (self.back, self.there)
        return sum(ways[0]) or sum(ways[1])


def trunks_of(topology: Topology, rate: int) -> tuple[Trunk, ...]:
    """Return the trunks of a topology, in order of their hosts; links without a rate of their own have ``rate``.

    Self-loops carry nothing and are not wired.

    >>> [trunk.ends for trunk in trunks_of(Topology.from_links(3, [0, 1, 1, 2], [1, 0, 2, 2]), 10**6)]
    [(0, 1), (1, 2)]
    """
    rates = [rate] * topology.num_links if topology.bandwidth is None else topology.bandwidth.tolist()
    links: dict[tuple[int, int], list[int]] = defaultdict(list)
    for tail, head, speed in zip(topology.tail.tolist(), topology.head.tolist(), rates, strict=True):
        links[tail, head].append(speed)
    pairs = sorted({(min(pair), max(pair)) for pair in links if pair[0] != pair[1]})
    return tuple(
        Trunk(number, a, b, tuple(sorted(links.get((a, b), ()))), tuple(sorted(links.get((b, a), ()))))
        for number, (a, b) in enumerate(pairs)
    )


def trunks_left(trunks: Iterable[Trunk], cut: Iterable[tuple[int, int]]) -> tuple[Trunk, ...]:
    """Return the trunks after these cuts, each the hosts of one cable; a trunk that lost all has rate 0."""
    num_cut = Counter(cut)
    return tuple(trunk.after(num_cut[trunk.ends]) for trunk in trunks)
