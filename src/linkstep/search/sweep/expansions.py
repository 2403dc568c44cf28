"""What the finder makes of smaller topologies, and what the catalog has already, to be scored by arrival times too."""

from __future__ import annotations

from linkstep.recipe import Recipe
from linkstep.search.finders import finder
from linkstep.search.sweep.job import SweepJob

MOST = 4


def search_expansions(job: SweepJob) -> list[Recipe]:
    """Return the recipes of fewest steps that the finder knows, or of one step more, few steps first."""
    pool = finder("all", job.bidirectional).pool(job.num_nodes, job.degree)
    kind = [choice for choice in pool if choice.is_bidirectional == job.bidirectional]
    least = min((choice.worse_half.steps for choice in kind), default=0)
    near = [choice for choice in kind if choice.worse_half.steps <= least + 1]
    ranked = sorted(near, key=lambda c: (c.allreduce_cost.steps, c.allreduce_cost.bandwidth))
    return list({str(choice.recipe): choice.recipe for choice in ranked}.values())[:MOST]
