"""Bandwidths of links as whole numbers: what flows and cuts, which are exact, count in."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray

from linkstep.core.topology import Ints, Topology


def link_weights(topology: Topology, links: NDArray[np.bool_] | NDArray[np.integer]) -> tuple[Ints, int]:
    """Return the bandwidths of some links as whole numbers without a common factor, and what 1 of them is in bit/s.

    All are 1, and so is the unit, where a topology has no bandwidths.

    >>> two = Topology.from_links(2, [0, 1], [1, 0], bandwidth=[25 * 10**9, 10 * 10**9])
    >>> weight, unit = link_weights(two, np.arange(2))
    >>> weight.tolist(), unit
    ([5, 2], 5000000000)
    """
    if topology.bandwidth is None:
        return np.ones(np.count_nonzero(links) if links.dtype == bool else links.size, np.int64), 1
    rates = topology.bandwidth[links]
    unit = gcd(*rates.tolist()) or 1  # 1 where there are no links
    return rates // unit, unit
