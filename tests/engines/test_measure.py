"""How runs are measured, without an engine: ours and its own take turns, and what ours sent is counted alone."""

from types import SimpleNamespace

import numpy as np
import pytest

from linkstep.core.collective import Collective
from linkstep.engines.bench.measure import Bench


class Alone:
    """One rank of one; it notes what ran, and every gather."""

    rank, size, timeout, shares_clock = 0, 1, 60.0, True

    def __init__(self):
        self.log, self.sent = [], 0
        self.own_sends = 1000

    def array(self, length, type_name):
        return np.zeros(length, type_name)

    def gather(self, value, patience=None):
        return [value]

    def dead(self):
        return ()

    def own(self, collective, source, target, operation, root):
        def run():
            self.log.append("own")
            self.sent += self.own_sends

        return run


class Fake:
    """A communicator whose collective is a copy, of 7 bytes on the only cable."""

    rank, size, forwards = 0, 1, False

    def __init__(self):
        self.transport = Alone()

    def run(self, collective, source, target, operation, root):
        self.transport.log.append("ours")
        self.transport.sent += 7
        target[:] = source

    def plan_for(self, *rest):
        return SimpleNamespace(num_ranks=1, chunks=1, chunks_to={1: 1})


def measured(repetitions, own=True, **options):
    fake = Fake()
    bench = Bench(
        fake, Collective.ALLREDUCE, repetitions=repetitions, counters=lambda: {1: fake.transport.sent}, **options
    )  # fmt: skip
    return bench.row(28, own), fake.transport.log


@pytest.mark.parametrize("repetitions", [1, 2, 6])
def test_the_engines_own_is_measured_in_turn_with_ours(repetitions):
    row, log = measured(repetitions)
    assert (row.repetitions, row.wrong) == (repetitions, 0)
    assert row.own_median is not None
    first = [*["ours"] * 2, "ours", "own"]  # two checks, and once each to know how long it takes
    assert log == [*first, *["ours", "own"] * repetitions, "ours"]


def test_warm_ups_come_before_what_is_measured():
    row, log = measured(2, warmups=3)
    assert row.repetitions == 2 and row.cables == (7 / 28, 7 / 28)
    assert log == [*["ours"] * 2, *["ours"] * 3, "ours", "own", *["ours", "own"] * 2, "ours"]


def test_only_what_ours_sent_is_counted():
    row, _ = measured(5)
    assert row.cables == (7 / 28, 7 / 28)
    row, log = measured(5, own=False)
    assert row.cables == (7 / 28, 7 / 28)
    assert "own" not in log
