"""A baseline of one's own: on a complete graph, every server sends its shard to all others at once.

Try: `linkstep baselines 8 7 --plugin examples/plugins/baseline.py`.
"""

from fractions import Fraction

import numpy as np

import linkstep
from linkstep.baselines import BaselineAlgorithm
from linkstep.families import Args


def direct_allgather(topology: linkstep.Topology, args: Args, depth: int) -> linkstep.Schedule:
    """Return the allgather on K_m: one step, a shard on every link."""
    one = np.ones(topology.num_links, int)
    return linkstep.Schedule.from_columns(topology, 1, topology.tail, 0 * one, one, np.arange(topology.num_links), one)


def cost(args: Args, depth: int) -> linkstep.Cost:
    """Return T_L and T_B of the allgather; a shard is 1/m of the data, a link 1/(m - 1) of a server's bandwidth."""
    (size,) = args
    return linkstep.Cost(1, Fraction(size - 1, size))


linkstep.register(
    BaselineAlgorithm(
        name="direct", title="every server sends to all others at once", notation="K_m",
        allgather=direct_allgather, cost=cost,
    )
)  # fmt: skip
