"""A transport between threads whose data arrives at once and whose sends are complete only when they are waited for.

It is as strict as memory that a network card reads: what is under way must not change, be started again or be given
back. Each rank keeps a count of the sends that it has waited for.
"""

import queue
import threading
from collections import defaultdict

import numpy as np

PATIENCE = 60.0


class World:
    """What the ranks share."""

    def __init__(self, size):
        self.size = size
        self.boxes = defaultdict(queue.Queue)
        self.lock = threading.Lock()
        self.barrier = threading.Barrier(size)
        self.values = [b""] * size

    def box(self, *key):
        with self.lock:
            return self.boxes[key]

    def run(self, function, acknowledges=True):
        """Call function(transport) in a thread for each rank; return the results, or raise the first failure."""
        results, failures = [None] * self.size, []

        def main(rank):
            try:
                results[rank] = function(LateTransport(self, rank, acknowledges))
            except BaseException as error:
                failures.append(error)
                self.barrier.abort()

        threads = [threading.Thread(target=main, args=(rank,), daemon=True) for rank in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * PATIENCE)
        if failures:
            raise min(failures, key=lambda error: isinstance(error, threading.BrokenBarrierError))
        assert not any(thread.is_alive() for thread in threads)
        return results


class LateTransport:
    """One rank's end of it."""

    timeout, posts_late, shares_clock, tag_limit = PATIENCE, False, True, 2**20

    def __init__(self, world, rank, acknowledges):
        self.world, self.rank, self.size, self.acknowledges = world, rank, world.size, acknowledges
        self.under_way = {}
        """The data of each send when it was started."""
        self.receiving = set()
        self.sends_waited = 0
        self.sends_started = 0

    def prepare(self, wires):
        return [[wire] for wire in wires]  # lists, each with an identity of its own

    def start(self, handles):
        for handle in handles:
            [wire] = handle
            if not wire.is_send:
                assert id(handle) not in self.receiving, "a receive is started twice"
                self.receiving.add(id(handle))
                continue
            assert id(handle) not in self.under_way, "a send is started that was not waited for"
            self.sends_started += 1
            self.under_way[id(handle)] = wire.data, wire.data.copy()
            self.world.box(self.rank, wire.peer, wire.tag).put(wire.data.copy())

    def wait(self, handles):
        for handle in handles:
            [wire] = handle
            if wire.is_send and id(handle) in self.under_way:
                data, before = self.under_way.pop(id(handle))
                assert np.array_equal(data, before), "data changed while it was under way"
                self.sends_waited += 1
            elif not wire.is_send and id(handle) in self.receiving:
                wire.data[:] = self.world.box(wire.peer, self.rank, wire.tag).get(timeout=PATIENCE)
                self.receiving.discard(id(handle))

    def release(self, handles):
        for handle in handles:
            assert id(handle) not in self.under_way, "a send is given back that was not waited for"

    def array(self, length, type_name):
        return np.zeros(length, type_name)

    def gather(self, value, patience=None):
        self.world.values[self.rank] = value
        self.world.barrier.wait(PATIENCE)
        told = list(self.world.values)
        self.world.barrier.wait(PATIENCE)
        return told

    def is_open(self):
        return True

    def dead(self):
        return ()

    def mark_failed(self):
        pass
