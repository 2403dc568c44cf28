"""The fabric of every figure that names no other: the paper's, 10us a hop and 100Gbps a server."""

from __future__ import annotations

from functools import cache

from linkstep.costs.fabric import Fabric

ALPHA, BANDWIDTH = "10us", "100Gbps"
"""As commands show them: the latency of a hop, and B of a node over all its ports."""

SIZE = "1MB"
"""The data in all that times are for, unless another is asked for."""


@cache
def usual_fabric(degree: int) -> Fabric:
    """Return the usual fabric for nodes with this many ports.

    >>> float(usual_fabric(4).link_bandwidth)
    25000000000.0
    """
    return Fabric.of(ALPHA, BANDWIDTH, degree)
