"""A training job as an objective: seconds of its iteration on a candidate.

Not here: what an objective is (``linkstep.problem``), and how an iteration runs in time (``streams``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.costs import Fabric
from linkstep.problem import Candidate
from linkstep.simulation.training.job import Job
from linkstep.simulation.training.network import costed_network
from linkstep.simulation.training.streams import Iteration, best_iteration


@dataclass(frozen=True)
class Training:
    """The best iteration of a job.

    >>> from linkstep.costs import Cost
    >>> from linkstep.problem import Figures
    >>> from linkstep.simulation.training.job import Layer
    >>> job = Job("one", 2, (Layer("a", Fraction(1), Fraction(2), Fraction(10**9)),))
    >>> pair = Figures(2, ((Collective.ALLREDUCE, Cost(2, Fraction(1))),))
    >>> Training(job).seconds(pair, Fabric.of("0s", "8Gbps", 1))  # 3 s of computing, 1 s of averaging 1 GB
    Fraction(4, 1)
    """

    job: Job
    _known: dict[tuple[Candidate, Fabric], Iteration] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Iterations that were simulated: ranking asks for seconds, and who shows a ranking for what they are made of."""

    @property
    def exchanges(self) -> bool:
        """Whether all-to-all throughput counts: where there are experts."""
        return self.job.num_all_to_alls > 0

    def seconds(self, candidate: Candidate, fabric: Fabric) -> Fraction | None:
        """Return seconds of an iteration."""
        is_known = candidate.cost_of(Collective.ALLREDUCE) is not None
        if not is_known or (self.exchanges and candidate.flow is None):
            return None
        return self.iteration(candidate, fabric).time

    def iteration(self, candidate: Candidate, fabric: Fabric) -> Iteration:
        """Simulate the iteration, with the bucket size that is best for it."""
        key = (candidate, fabric)
        if key not in self._known:
            cost = candidate.cost_of(Collective.ALLREDUCE)
            if cost is None:
                raise LinkstepError("what an allreduce costs is not known")
            network = costed_network("", candidate.num_nodes, cost, candidate.flow, fabric)
            self._known[key] = best_iteration(self.job, network)
        return self._known[key]
