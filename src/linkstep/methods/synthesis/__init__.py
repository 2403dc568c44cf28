"""Exact synthesis: find an allgather with given steps and chunks on a small topology, or prove there is none.

What SCCL does with an SMT solver, here with CP-SAT (OR-tools, the extra ``synthesis``) and the topology's own
symmetry. Not for large topologies: BFB makes schedules of any size in polynomial time. The schedules of
``linkstep.methods.stored`` were found here.
"""

from linkstep.methods.synthesis.attempts import Synthesis, synthesize
from linkstep.methods.synthesis.frontier import ParetoPoint, pareto

__all__ = ["ParetoPoint", "Synthesis", "pareto", "synthesize"]
