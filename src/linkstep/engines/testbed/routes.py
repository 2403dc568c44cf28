"""The way from every host of a testbed to every other. Pure values; ``network`` turns them into routes of the kernel.

Neighbours reach each other over their own trunk and in no other way: data of a schedule never takes a detour without
anyone noticing. Hosts that are not neighbours reach each other over several hops, which is for the set-up traffic of
runtimes. A host whose trunk to another is cut cannot reach it, until a user allows that set-up traffic goes round.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from linkstep.engines.testbed.trunks import Trunk


@dataclass(frozen=True)
class Route:
    """How a host reaches ``target``: over a trunk to the host ``hop``; ``trunk`` is None where it cannot."""

    target: int
    trunk: Trunk | None
    hop: int


def find_routes(
    num_hosts: int, trunks: Sequence[Trunk], rerouted: Collection[tuple[int, int]] = ()
) -> list[list[Route]]:
    """Return the routes of each host, in order of targets; shortest ways, spread evenly where there are several.

    ``rerouted`` are the pairs of hosts whose trunk is cut and which may reach each other over other hosts.

    >>> chain = [Trunk(0, 0, 1, (1,), (1,)), Trunk(1, 1, 2, (1,), (1,))]
    >>> [(route.target, route.hop) for route in find_routes(3, chain)[0]]
    [(1, 1), (2, 1)]
    """
    over: list[dict[int, Trunk]] = [{} for _ in range(num_hosts)]
    barred: list[set[int]] = [set() for _ in range(num_hosts)]
    for trunk in trunks:
        for host in trunk.ends:
            if trunk.rate_from(host):
                over[host][trunk.other(host)] = trunk
            elif trunk.ends not in rerouted:
                barred[host].add(trunk.other(host))
    found: list[list[Route]] = [[] for _ in range(num_hosts)]
    for target in range(num_hosts):
        hops = _hops_to(target, over, barred[target])
        for host in range(num_hosts):
            if host != target:
                ways = hops.get(host)
                # A runtime's own collectives run over these routes too: they must not all meet at one host.
                hop = ways[(host + target) % len(ways)] if ways else target
                found[host].append(Route(target, over[host][hop] if ways else None, hop))
    return found


def _hops_to(target: int, over: Sequence[dict[int, Trunk]], barred: Collection[int]) -> dict[int, list[int]]:
    """Return the next hops of each host that reaches the target, level by level.

    Barred hosts neither reach it nor forward to it.
    """
    hops: dict[int, list[int]] = {target: []}
    level = [target]
    while level:
        reached: dict[int, list[int]] = {}
        for host in sorted(level):
            for neighbour in over[host]:
                if neighbour not in hops and neighbour not in barred:
                    reached.setdefault(neighbour, []).append(host)
        hops |= reached
        level = list(reached)
    return hops
