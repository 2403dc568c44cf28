"""What is asked for: a topology, the steps and the chunks per shard; and the bounds that no schedule can beat."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from linkstep.core.distances import check_connected, distance_profiles, distances_from
from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology, check_permanent
from linkstep.core.units import check_count

MAX_NODES = 256
"""Node numbers fit a byte; the models of larger topologies would be too large anyway."""

MAX_STEPS = 2**15 - 1


@dataclass(frozen=True)
class Case:
    """Allgathers on ``topology`` in at most ``steps`` steps, each shard in ``chunks`` equal chunks.

    A schedule's *load* is the sum over steps of R_t, the chunks on the busiest link: T_B = d load / (N P).
    """

    topology: Topology
    steps: int
    chunks: int

    @classmethod
    def of(cls, topology: Topology, steps: int, chunks: int) -> Case:
        """Check what was asked."""
        steps = check_count("steps", steps, 1, MAX_STEPS)
        chunks = check_count("chunks", chunks, 1, MAX_STEPS)
        if topology.num_nodes > MAX_NODES:
            raise LinkstepError(f"synthesis takes at most {MAX_NODES} nodes, not {topology.num_nodes}")
        if topology.bandwidth is not None and np.unique(topology.bandwidth).size > 1:
            raise LinkstepError("synthesis needs links of equal bandwidth; `linkstep schedule` takes unequal ones")
        check_permanent(topology, "synthesis")
        check_connected(topology)
        return cls(topology, steps, chunks)

    @cached_property
    def distance(self) -> list[list[int]]:
        """``distance[v][w]`` is d(v, w)."""
        return [distances_from(self.topology, v).tolist() for v in range(self.topology.num_nodes)]

    @cached_property
    def diameter(self) -> int:
        """D(G): no schedule has fewer steps."""
        return max(map(max, self.distance))

    @cached_property
    def in_degree(self) -> list[int]:
        """Links into each node, self-loops left out: they carry nothing."""
        real = self.topology.tail != self.topology.head
        degrees: list[int] = np.bincount(self.topology.head[real], minlength=self.topology.num_nodes).tolist()
        return degrees

    def least_load_after(self, step: int) -> int:
        """Return what the steps after ``step`` must carry at least: nodes farther than that receive nothing before."""
        far: list[int] = distance_profiles(self.topology)[:, step + 1 :].sum(axis=1).tolist()
        return max(-(-self.chunks * f // ports) for f, ports in zip(far, self.in_degree, strict=True) if ports)

    @cached_property
    def least_load(self) -> int:
        """A load no schedule is below: each node receives N - 1 shards over its links."""
        return self.least_load_after(0)

    @cached_property
    def sure_load(self) -> int:
        """A load some schedule has: every shard by a shortest path, all of them over one link in the worst case."""
        return self.chunks * int(distance_profiles(self.topology)[:, 1:].max(axis=0).sum())

    def bandwidth(self, load: int) -> Fraction:
        """Return T_B of a schedule with this load."""
        return Fraction(self.topology.degree * load, self.topology.num_nodes * self.chunks)

    def load_within(self, bandwidth: Fraction) -> int:
        """Return the most load with T_B at most ``bandwidth``."""
        return bandwidth * self.topology.num_nodes * self.chunks // self.topology.degree
