"""What collectives take on a topology, as a job sees it: seconds of an allreduce and of an all-to-all of some bytes.

Allreduce follows the alpha-beta model (``Fabric.time``), all-to-all the throughput f (``Fabric.all_to_all_time``); the
latter counts no alpha, as the paper's does not. Not here: which topologies are compared (``comparison``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from linkstep.baselines import Baseline
from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective
from linkstep.costs import Cost, Fabric
from linkstep.search import Answer, Choice

Seconds = Callable[[Fraction], Fraction]
"""bytes -> seconds."""


def _no_all_to_all(size: Fraction) -> Fraction:
    raise AssertionError("this network was made for jobs without experts")


@dataclass(frozen=True)
class Network:
    """A topology as a job sees it: what an allreduce takes, by its bytes, and an all-to-all, by what a server sends."""

    name: str
    allreduce: Seconds
    all_to_all: Seconds = _no_all_to_all
    flow: Fraction | None = None
    """The all-to-all throughput f, where it counts."""


def costed_network(name: str, num_nodes: int, allreduce: Cost, flow: Fraction | None, fabric: Fabric) -> Network:
    """Return the network of a topology whose allreduce has this cost and whose all-to-all throughput is ``flow``.

    >>> wire = costed_network("ring", 4, Cost(6, Fraction(3, 2)), Fraction(1, 2), Fabric.of("1us", "8Gbps", 2))
    >>> wire.allreduce(Fraction(1000)) * 10**9, wire.all_to_all(Fraction(1000)) * 10**9
    (Fraction(7500, 1), Fraction(1000, 1))
    """
    check_kind("fabric", fabric, Fabric)

    def reduce_all(size: Fraction) -> Fraction:
        return fabric.time(allreduce, Collective.ALLREDUCE, size)

    return Network(name, reduce_all, *_exchanging(flow, num_nodes, fabric))


def choice_network(choice: Choice, fabric: Fabric) -> Network:
    """Return the network of a row of ``find``; its all-to-all is a bound unless its flow is reached."""
    check_kind("choice", choice, Choice)
    return costed_network(choice.recipe.short, choice.num_nodes, choice.allreduce_cost, choice.flow, fabric)


def baseline_network(baseline: Baseline, fabric: Fabric) -> Network:
    """Return the network of what people use today; its all-to-all is a bound unless its flow is reached."""

    def reduce_all(size: Fraction) -> Fraction:
        return baseline.allreduce_time(fabric, size)

    return Network(str(baseline.recipe), reduce_all, *_exchanging(baseline.flow, baseline.num_nodes, fabric))


def bound_network(answer: Answer, fabric: Fabric) -> Network:
    """Return a network that no topology of this N and d beats: all its bounds reached at once."""
    check_kind("answer", answer, Answer)
    return costed_network("no wiring beats", answer.num_nodes, answer.bound + answer.bound, answer.flow_bound, fabric)


def _exchanging(flow: Fraction | None, num_nodes: int, fabric: Fabric) -> tuple[Seconds, Fraction | None]:
    if flow is None:
        return _no_all_to_all, None
    known = flow

    def exchange(size: Fraction) -> Fraction:
        return fabric.all_to_all_time(known, num_nodes, size)

    return exchange, flow
