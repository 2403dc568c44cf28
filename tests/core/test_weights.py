"""Bandwidths as whole numbers without a common factor."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkstep.core.topology import Topology
from linkstep.core.weights import link_weights

RATES = st.lists(st.integers(1, 10**12), min_size=1, max_size=8)


@given(RATES, st.integers(1, 10**4), st.data())
def test_weights_are_the_rates_in_the_largest_unit(rates, scale, data):
    count = len(rates)
    topology = Topology.from_links(count + 1, range(count), range(1, count + 1), bandwidth=[r * scale for r in rates])
    chosen = np.array(sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1))))
    weight, unit = link_weights(topology, chosen)
    assert (weight * unit).tolist() == topology.bandwidth[chosen].tolist()
    assert np.gcd.reduce(weight) == 1
    mask = np.isin(np.arange(count), chosen)
    assert link_weights(topology, mask)[0].tolist() == weight.tolist()


def test_alike_and_none():
    plain = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    rated = Topology.from_links(3, [0, 1, 2], [1, 2, 0], bandwidth=[7, 7, 7])
    for links in (np.arange(2), np.array([True, False, True])):
        assert (link_weights(plain, links)[0].tolist(), link_weights(plain, links)[1]) == ([1, 1], 1)
        assert (link_weights(rated, links)[0].tolist(), link_weights(rated, links)[1]) == ([1, 1], 7)
    for topology in (plain, rated):
        weight, unit = link_weights(topology, np.arange(0))
        assert weight.dtype == np.int64 and weight.size == 0 and unit == 1
