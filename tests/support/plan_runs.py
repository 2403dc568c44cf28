"""Ranks' plans run in one process, as late and as unluckily as engines may run them.

Ranks are generators that take turns by a seeded choice. A message's bytes are copied at the last moment, when its
receiver awaits it or its sender must be sure of it, and must be the same then as when it was started, so that a sender
that sets them too late or overwrites them too early shows. The place of a receive is poisoned as soon as it is posted,
so that a receiver that still needs it shows. Shares no code with ``linkstep.engines.plans.session``.
"""

import random

import numpy as np

POISON = -(10**15)


class Harm(Exception):
    """What is wrong with plans."""


def need(condition, what):
    if not condition:
        raise Harm(what)


def cells(transfer):
    return range(transfer.cell, transfer.cell + transfer.chunks)


class PlanRun:
    """One run of the plans of all ranks; a chunk is one number."""

    def __init__(self, plans, seed=0):
        self.plans, self.rng = plans, random.Random(seed)
        self.sent, self.posted, self.done = {}, {}, set()
        first = plans[0]
        self.input_size, self.output_size = first.collective.num_chunks(first.num_ranks, first.chunks)
        numbers = np.random.default_rng(seed)
        self.inputs = [numbers.integers(0, 10**9, self.input_size) for plan in plans if not plan.forwards]
        self.memory = [self.filled(plan) for plan in plans]

    def filled(self, plan):
        data = plan.input_cells + (0 if plan.is_inplace else plan.output_cells)
        memory = np.full(data + plan.work_cells, POISON)
        if plan.forwards:
            return memory
        own = plan.rank * self.input_size if plan.is_inplace and self.input_size < self.output_size else 0
        memory[own : own + self.input_size] = self.inputs[plan.rank]
        return memory

    def output(self, plan):
        own = plan.rank * self.output_size if self.output_size < self.input_size else 0
        start = own if plan.is_inplace else plan.input_cells
        return self.memory[plan.rank][start : start + self.output_size]

    def complete(self, key):
        """Copy a message that both sides have started, at the last moment."""
        if key not in self.done:
            self.done.add(key)
            (source, at_start), target = self.sent[key], self.posted[key]
            need(source.chunks == target.chunks, f"message {key} has two lengths")
            got = self.memory[key[0]][source.cell : source.cell + source.chunks]
            need(np.array_equal(got, at_start), f"message {key} changes while it is under way")
            self.memory[key[1]][target.cell : target.cell + target.chunks] = got

    def work(self, rank, rows):
        memory = self.memory[rank]
        open_cells = {c for key, t in self.posted.items() if key[1] == rank and key not in self.done for c in cells(t)}
        for row in rows:
            need(open_cells.isdisjoint(range(row.dst, row.dst + row.chunks)), "work writes where a message arrives")
            value = memory[row.src : row.src + row.chunks].copy()
            if row.addend >= 0:
                value += memory[row.addend : row.addend + row.chunks]
            memory[row.dst : row.dst + row.chunks] = value

    def post(self, rank, transfer):
        key = transfer.peer, rank, transfer.number
        need(key not in self.posted, f"message {key} is posted twice")
        for other, place in self.posted.items():
            if other[1] == rank and other not in self.done:
                need(set(cells(place)).isdisjoint(cells(transfer)), "two messages arrive in one place")
        self.posted[key] = transfer
        self.memory[rank][transfer.cell : transfer.cell + transfer.chunks] = POISON

    def rank(self, plan):
        """Run one rank; yields wherever another may be next."""
        r, sends = plan.rank, []
        for k, level in enumerate(plan.levels):
            for transfer in level.awaited:
                key = transfer.peer, r, transfer.number
                need(key in self.posted, f"message {key} is awaited before it is posted")
                while key not in self.sent:
                    yield
                self.complete(key)
            for at, key in sends:
                while at < level.settled and key not in self.posted:
                    yield
                if at < level.settled:
                    self.complete(key)
            yield
            self.work(r, level.urgent)
            for transfer in level.posted:
                self.post(r, transfer)
            for transfer in level.sent:
                key = r, transfer.peer, transfer.number
                need(key not in self.sent, f"message {key} is sent twice")
                self.sent[key] = transfer, self.memory[r][transfer.cell : transfer.cell + transfer.chunks].copy()
                sends.append((k, key))
            yield
            self.work(r, level.lazy)
        for _, key in sends:
            while key not in self.posted:
                yield
            self.complete(key)

    def run(self):
        """Run all ranks to their ends; Harm if they wait for each other."""
        alive, idle = [self.rank(plan) for plan in self.plans], 0
        while alive:
            state = len(self.sent), len(self.posted), len(alive)
            chosen = self.rng.choice(alive)
            try:
                next(chosen)
            except StopIteration:
                alive.remove(chosen)
            idle = 0 if state != (len(self.sent), len(self.posted), len(alive)) else idle + 1
            need(idle < 200 * len(self.plans), "the ranks wait for each other")
        need(self.sent.keys() == self.posted.keys() == self.done, "a message is left over")

    def check(self, root=0):
        """Compare every output with the definition of the collective."""
        first = self.plans[0]
        wanted = first.collective.postcondition(first.num_ranks, first.chunks, root)
        total = sum(self.inputs)
        rows = zip(*(getattr(wanted, name).tolist() for name in ("rank", "index", "source", "chunk")), strict=True)
        for rank, index, source, chunk in rows:
            value = total[chunk] if source < 0 else self.inputs[source][chunk]
            need(self.output(self.plans[rank])[index] == value, f"output chunk {index} of rank {rank} is wrong")


def run_plans(plans, seed=0, root=0):
    """Run and check plans once, in an order that the seed decides."""
    run = PlanRun(plans, seed)
    run.run()
    run.check(root)
