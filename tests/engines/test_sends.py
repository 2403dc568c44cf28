"""When sends are waited for: never before they must be, and always before their memory is used again.

On a transport whose sends complete only when somebody waits for them, and which notices data that changes under way.
"""

import numpy as np
import pytest

import linkstep
from linkstep.core.collective import Collective
from linkstep.engines.bench.preparation import prepare
from linkstep.engines.communicator import Communicator
from linkstep.engines.plans.binding import SMALL
from support.late_sends import World

SMALL_COUNT = 1000
assert SMALL_COUNT * 4 < SMALL
COMPILED = prepare("K_{4,4}", Collective.ALLREDUCE, [4 * SMALL_COUNT], 0).compiled
SENDS = [sum(len(level.sent) for level in compiled.plans[0][1].levels) for compiled in COMPILED]


def data_of(rank, call, count):
    return np.random.default_rng([rank, call]).integers(0, 1000, count).astype(np.float32)


def total_of(call, count, size=8):
    return sum(data_of(rank, call, count) for rank in range(size))


def test_a_call_of_little_data_waits_for_no_send_of_its_own():
    def rank(transport):
        communicator, waited = Communicator(COMPILED[transport.rank], transport), []
        array, out = np.zeros(SMALL_COUNT, np.float32), np.zeros(SMALL_COUNT, np.float32)
        for call in range(6):
            array[:] = data_of(transport.rank, call, SMALL_COUNT)
            communicator.allreduce(array, out)
            waited.append(transport.sends_waited)
            assert np.array_equal(out, total_of(call, SMALL_COUNT))
            array[:] = out[:] = -1  # they are the caller's
        communicator.close()
        return waited, transport.sends_waited, transport.under_way

    for sends, (waited, at_the_end, left) in zip(SENDS, World(8).run(rank), strict=True):
        # two sets of buffers take turns; a first use waits, for connections may have to be opened
        assert waited == [sends, 2 * sends, 2 * sends, 2 * sends, 3 * sends, 4 * sends]
        assert at_the_end == 6 * sends
        assert not left


@pytest.mark.parametrize("inplace", [False, True], ids=["out", "in"])
def test_arrays_of_the_caller_are_not_under_way_after_a_call(inplace):
    count = 18_000  # 72 kB are sent from where they are, and 12 kB to each peer could be left under way
    program = linkstep.lower(linkstep.parse("K_12").build("allreduce"), "cpu", inplace=inplace).text

    def rank(transport):
        communicator = Communicator(linkstep.read_program(program, "cpu"), transport)
        array = np.zeros(count, np.float32)
        out = array if inplace else np.zeros(count, np.float32)
        for call in range(3):
            array[:] = data_of(transport.rank, call, count)
            communicator.allreduce(array, out)
            for sent, _ in transport.under_way.values():
                assert not np.shares_memory(sent, array)
                assert not np.shares_memory(sent, out)
            assert np.array_equal(out, total_of(call, count, 12))
            array[:] = out[:] = -1
        communicator.close()

    World(12).run(rank)


def test_much_data_is_on_its_way_before_a_call_ends():
    """Where a socket may not take it at once, it would leave only with the next call, and the peer would wait."""
    count = 200_001  # chunks do not divide it, so it lies in buffers of our own

    def rank(transport):
        communicator = Communicator(COMPILED[transport.rank], transport)
        for call in range(2):
            total = communicator.allreduce(data_of(transport.rank, call, count))
            assert np.array_equal(total, total_of(call, count))
            assert transport.sends_waited == transport.sends_started == (call + 1) * SENDS[transport.rank]

    World(8).run(rank)


def test_a_transport_that_does_not_wait_for_receivers_leaves_nothing():
    def rank(transport):
        communicator = Communicator(COMPILED[transport.rank], transport)
        communicator.allreduce(data_of(transport.rank, 0, SMALL_COUNT))
        return transport.sends_waited

    assert World(8).run(rank, acknowledges=False) == SENDS


def test_memory_under_way_outlives_the_communicator():
    def rank(transport):
        communicator = Communicator(COMPILED[transport.rank], transport)
        for call in range(3):
            communicator.allreduce(data_of(transport.rank, call, SMALL_COUNT))
        assert transport.under_way
        del communicator
        return transport.under_way

    assert World(8).run(rank) == [{}] * 8


def test_calls_whose_buffers_are_given_back_are_waited_for():
    """A communicator keeps a few calls prepared; the sends of one that makes place are complete."""
    compiled = prepare("K_4", Collective.ALLREDUCE, [4], 0).compiled

    def rank(transport):
        communicator = Communicator(compiled[transport.rank], transport)
        for call in range(60):
            count = 1 + call // 3  # the third of each leaves sends under way
            total = communicator.allreduce(data_of(transport.rank, count, count))
            assert np.array_equal(total, total_of(count, count, 4))
        communicator.close()
        return transport.sends_waited - transport.sends_started

    assert World(4).run(rank) == [0] * 4


def test_in_place_little_data_waits_for_no_send_either():
    def rank(transport):
        communicator = Communicator("K_4", transport)
        for call in range(4):
            array = data_of(transport.rank, call, SMALL_COUNT)
            communicator.allreduce(array, out=array)
            assert np.array_equal(array, total_of(call, SMALL_COUNT, 4))
        return transport.sends_waited, transport.sends_started

    for waited, started in World(4).run(rank):
        assert waited == started // 2  # of the first two calls, which open connections


def test_without_out_a_call_is_prepared_once(monkeypatch):
    prepared = []
    real = Communicator._prepared
    monkeypatch.setattr(Communicator, "_prepared", lambda self, *rest: prepared.append(self.rank) or real(self, *rest))

    def rank(transport):
        communicator = Communicator(COMPILED[transport.rank], transport)
        results = [communicator.allreduce(data_of(transport.rank, call, SMALL_COUNT)) for call in range(6)]
        for call, result in enumerate(results):  # each is an array of its own
            assert np.array_equal(result, total_of(call, SMALL_COUNT))
        turned = data_of(transport.rank, 0, SMALL_COUNT).reshape(10, 100).T  # another shape, with gaps
        assert np.array_equal(communicator.allreduce(turned), total_of(0, SMALL_COUNT).reshape(10, 100).T)
        communicator.close()

    World(8).run(rank)
    assert sorted(prepared) == sorted(2 * list(range(8)))
