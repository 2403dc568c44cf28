"""Exact synthesis: find an allgather with given steps and chunks on a small topology, or prove there is none.

What SCCL does with an SMT solver, here with CP-SAT (OR-tools, the extra ``synthesis``) and the topology's own
symmetry. Not for large topologies: ``linkstep.bfb`` makes schedules of any size in polynomial time. The schedules of
``linkstep.bases`` were found here.
"""

from linkstep.synthesize._pareto import ParetoPoint, pareto
from linkstep.synthesize._search import Synthesis, synthesize

__all__ = ["ParetoPoint", "Synthesis", "pareto", "synthesize"]
