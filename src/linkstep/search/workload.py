"""What a job communicates, and which topology of an answer serves it best."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.collective import Collective
from linkstep.core.units import Number, parse_size
from linkstep.costs import Cost, Fabric
from linkstep.search.answer import Answer
from linkstep.search.choice import Choice


@dataclass(frozen=True)
class Workload:
    """What a job communicates: allreduces and all-to-alls by bytes, each with how often it happens."""

    allreduce: tuple[tuple[Fraction, Fraction], ...]
    all_to_all: tuple[tuple[Fraction, Fraction], ...] = ()

    @classmethod
    def of(cls, size: Number, *, all_to_all: bool = False) -> Workload:
        """One allreduce of this size, or one all-to-all."""
        one = ((parse_size(size), Fraction(1)),)
        return cls((), one) if all_to_all else cls(one)

    def time(self, fabric: Fabric, num_nodes: int, allreduce: Cost, flow: Fraction | None) -> Fraction | None:
        """Return seconds in all, given what an allreduce costs; None if all-to-all counts and its flow is unknown."""
        if self.all_to_all and flow is None:
            return None
        total = Fraction(0)
        for size, count in self.allreduce:
            total += count * fabric.time(allreduce, Collective.ALLREDUCE, size)
        for size, count in self.all_to_all:
            assert flow is not None
            total += count * fabric.all_to_all_time(flow, num_nodes, size)
        return total


def pick(answer: Answer, fabric: Fabric, workload: Workload) -> Choice | None:
    """Return the topology of the frontier with the least time, None if the frontier is empty."""
    timed = [(workload.time(fabric, answer.num_nodes, c.allreduce_cost, c.flow), c) for c in answer.frontier]
    known = [(time, choice) for time, choice in timed if time is not None]
    return min(known, key=lambda pair: pair[0])[1] if known else None
