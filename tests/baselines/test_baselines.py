"""What people use today, as schedules that can be run beside ours."""

from fractions import Fraction

import pytest

from linkstep.baselines import shifted_ring_schedule
from linkstep.core.errors import LinkstepError
from linkstep.correctness import check
from linkstep.costs import Cost, cost_of


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7, 8, 12])
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
def test_shifted_rings_as_people_use_them(size, collective):
    """Round all rings at once: N - 1 steps a phase, and no bandwidth wasted; parallel rings too (6 and below)."""
    made = shifted_ring_schedule(4, size, collective)
    check(made)
    phases = 2 if collective == "allreduce" else 1
    assert cost_of(made) == Cost(phases * (size - 1), phases * Fraction(size - 1, size))


def test_odd_degrees_have_no_rings():
    with pytest.raises(LinkstepError, match="d must be even"):
        shifted_ring_schedule(3, 8, "allgather")
