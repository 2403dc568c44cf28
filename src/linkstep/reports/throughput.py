"""All-to-all throughput of a topology, proven from both sides, and the time it allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from linkstep.core.faults import Fault
from linkstep.core.units import parse_size
from linkstep.costs import Fabric, all_to_all_bound
from linkstep.reports.pricing import Pricing
from linkstep.reports.view import BitRate, Ratio, Seconds, Size, View
from linkstep.symmetry.distances import measure_distances
from linkstep.throughput import Throughput


@dataclass(frozen=True)
class ThroughputReport(View):
    """The part of a link's rate that every host can send to every other, all at once."""

    report: ClassVar[str] = "throughput"

    recipe: str
    """What it is called."""
    faults: tuple[str, ...]
    """What is cut, down or slow."""
    nodes: int
    """N."""
    degree: int
    """Links out of a node, d; the most of any node where they differ."""
    all_to_all: Fraction
    """The part of a link's rate that every pair gets at once, in a flow that was found and checked."""
    all_to_all_bound: Fraction
    """What no flow exceeds."""
    gap: Ratio
    """The bound over that, less one."""
    all_to_all_exact: bool
    """Whether they are the same."""
    found_by: str
    """How it was found: "columns", "lp" or "prices"."""
    all_to_all_distance_bound: Fraction
    """What the distances alone allow."""
    all_to_all_cut_bound: Fraction
    """What the tightest cut looked at allows."""
    all_to_all_bound_any: Fraction
    """What no topology of this N and d exceeds."""
    size: Size
    """That each host sends."""
    all_to_all_seconds: Seconds
    """Of an all-to-all in which every host sends ``size``."""
    all_to_all_at_most: bool
    """Whether it takes at most that: under a limit of hosts, links are all taken to run slower."""
    all_to_all_bound_seconds: Seconds
    """What no all-to-all beats: by ``all_to_all_bound`` or, under a limit of hosts, by what these pass on in all."""
    all_to_all_bandwidth: BitRate
    """What each host then sends in all."""
    pair_bandwidth: BitRate
    """From each host to each other, all at once."""
    fabric: str
    """The fabric that times are for, in words."""

    @classmethod
    def of(cls, found: Throughput, pricing: Pricing, name: str, faults: Sequence[Fault] = ()) -> ThroughputReport:
        """Price a throughput; the topology is called by its own name if it has one."""
        topology = found.topology
        n, d = topology.num_nodes, topology.degree
        fabric = pricing.fabric_for(d).on(topology)
        seconds = fabric.all_to_all_time(found.value, n, pricing.size)
        least = _least_seconds(found, fabric, pricing.size)
        return cls(
            recipe=topology.name or name,
            faults=tuple(str(fault) for fault in faults),
            nodes=n,
            degree=d,
            all_to_all=found.value,
            all_to_all_bound=found.bound,
            gap=found.gap,
            all_to_all_exact=found.is_exact,
            found_by=found.method,
            all_to_all_distance_bound=found.distance_bound,
            all_to_all_cut_bound=found.cut_bound,
            all_to_all_bound_any=all_to_all_bound(n, d),
            size=pricing.size,
            all_to_all_seconds=seconds,
            all_to_all_at_most=fabric.is_limited_by_hosts and seconds != least,
            all_to_all_bound_seconds=least,
            all_to_all_bandwidth=fabric.all_to_all_rate(found.value, n),
            pair_bandwidth=found.value * fabric.link_bandwidth,
            fabric=pricing.words_for(topology),
        )


def _least_seconds(found: Throughput, fabric: Fabric, size: str) -> Fraction:
    """Return what no all-to-all beats: the bound is of links, and hosts send every chunk once for each hop.

    A limit that nodes share as one host is left out.
    """
    topology, n = found.topology, found.topology.num_nodes
    by_links = replace(fabric, host_bandwidth=None).all_to_all_time(found.bound, n, size)
    if not fabric.is_limited_by_hosts or topology.shares_hosts:
        return by_links
    hops = measure_distances(topology).total
    return max(by_links, 8 * parse_size(size) * hops / (n * n * fabric.bandwidth))
