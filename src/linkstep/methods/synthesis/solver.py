"""The CP-SAT model, and the process it runs in: a script that reads questions and writes answers, one JSON line each.

A process of its own because OR-tools and highspy each bring a libhighs.so and cannot both be loaded into one; and
because Python does not see Ctrl-C inside a solver, while a process can be ended. So this file imports nothing of
linkstep, and nothing imports this file: ``worker`` runs it.

Every node receives every chunk exactly once: a second copy helps nobody and only adds load. So the route of a chunk is
a tree, and with one Boolean for each possible send the whole question is linear.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import queue
import sys
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

ORDERED_NODES = 2
"""At how many nodes the chunks of a shard are told apart; on hard proofs two did better than none, one or three."""


@dataclass(frozen=True)
class Question:
    """Is there a schedule of load at most ``most``, invariant under a group?

    The words are those of ``case`` and ``automorphisms``.
    """

    num_nodes: int
    links: list[tuple[int, int]]
    distance: list[list[int]]
    steps: int
    chunks: int
    least_after: list[int]
    """At position t: what the steps after t must carry at least."""
    most: int
    loads: list[int] | None
    order: int
    sources: list[tuple[int, int]]
    """A node of each orbit, and how many elements of the group fix it."""
    link_orbit: list[int]
    runs: list[tuple[float, bool]]
    """(effort, linear) of each run, until one decides."""
    seconds: float
    seed: int


@dataclass(frozen=True)
class Tree:
    """The unknown route of one chunk of ``source``: send[link, step] is whether the link carries it at that step."""

    source: int
    send: dict[tuple[int, int], Any]


class CpSatModel:
    """A question as a CP-SAT model."""

    def __init__(self, cp_model: Any, question: Question) -> None:
        self.cp_model, self.question = cp_model, question
        self.model = cp_model.CpModel()
        self._add_loads()
        self.trees: list[Tree] = []
        for source, fixed in question.sources:
            mine = [self._add_tree(source) for _ in range(question.chunks // fixed)]
            self._order(mine)
            self.trees += mine
        self._limit_links()

    def _add_loads(self) -> None:
        """Make R_t. Idle steps come last without loss, if steps are alike; the first D are not idle then."""
        ask, most = self.question, self.question.most
        free = ask.loads is None
        diameter = max(map(max, ask.distance))
        limits = ask.loads or [most] * ask.steps
        self.loads = [
            self.model.new_int_var(int(free and t < diameter), limit, f"R_{t + 1}") for t, limit in enumerate(limits)
        ]
        self.model.add(sum(self.loads) <= most)
        self.model.add(self.loads[0] <= ask.chunks)  # at step 1 a link carries its tail's own shard
        for t in range(1, ask.steps):
            self.model.add(sum(self.loads[t:]) >= ask.least_after[t])
            if free and t > diameter:
                self.model.add(self.loads[t] <= most * self.loads[t - 1])

    def _add_tree(self, source: int) -> Tree:
        ask, model = self.question, self.model
        distance, last = ask.distance[source], ask.steps
        # held[w, t]: w has the chunk after step t. The source always, others from their distance on, all at the end.
        held: dict[tuple[int, int], Any] = {}
        for w in range(ask.num_nodes):
            for t in range(last + 1):
                known = int(w == source or t == last)
                held[w, t] = known if known or t < distance[w] else model.new_bool_var(f"held_{w}_{t}")
        tree = Tree(source, {})
        arrivals: dict[tuple[int, int], list[Any]] = defaultdict(list)
        for e, (u, w) in enumerate(ask.links):
            if w in (u, source):
                continue
            for t in range(distance[u] + 1, last + 1):
                send = tree.send[e, t] = model.new_bool_var(f"send_{e}_{t}")
                arrivals[w, t].append(send)
                if u != source:
                    model.add_implication(send, held[u, t - 1])
        for w in range(ask.num_nodes):
            if w == source:
                continue
            model.add_exactly_one(send for t in range(1, last + 1) for send in arrivals[w, t])
            for t in range(distance[w], last + 1):
                model.add(sum(arrivals[w, t]) == held[w, t] - held[w, t - 1])
                if distance[w] < t < last:
                    model.add_implication(held[w, t - 1], held[w, t])
        return tree

    def _order(self, trees: list[Tree]) -> None:
        """Chunks of a shard are interchangeable: number them by how and when they reach the farthest nodes."""
        if len(trees) < 2:
            return
        distance = self.question.distance[trees[0].source]
        farthest = sorted(range(len(distance)), key=lambda w: -distance[w])[:ORDERED_NODES]
        codes = []
        for tree in trees:
            code: Any = 0
            for node in farthest:
                ways = [send for (e, _), send in tree.send.items() if self.question.links[e][1] == node]
                code = code * len(ways) + sum(k * send for k, send in enumerate(ways))
            codes.append(code)
        for lower, upper in itertools.pairwise(codes):
            self.model.add(lower <= upper)

    def _limit_links(self) -> None:
        """Bound each link's load; a node that has no capacity to spare uses each of its links fully."""
        ask = self.question
        carried: dict[tuple[int, int], list[Any]] = defaultdict(list)
        for tree in self.trees:
            for (e, t), send in tree.send.items():
                carried[ask.link_orbit[e], t].append(send)
        ports = [sum(h == w != u for u, h in ask.links) for w in range(ask.num_nodes)]
        for e in sorted(set(ask.link_orbit)):
            tail, head = ask.links[e]
            if tail == head:
                continue
            # A link that k elements fix carries k images of a tree that uses it.
            times = ask.order // ask.link_orbit.count(e)
            full = ports[head] * ask.most == (ask.num_nodes - 1) * ask.chunks
            for t, load in enumerate(self.loads, 1):
                total = times * sum(carried[e, t])
                self.model.add(total == load if full else total <= load)

    def solve(self, effort: float, seconds: float, linear: bool) -> dict[str, Any]:
        """Run until ``effort`` (the solver's own count of work, the same on every machine) or ``seconds`` are spent.

        ``linear`` makes the solver reason on the linear relaxation too: slower at finding, better at proofs.
        """
        solver = self.cp_model.CpSolver()
        solver.parameters.num_workers = 1  # more are no faster here, and not reproducible
        solver.parameters.random_seed = self.question.seed
        solver.parameters.linearization_level = int(linear)
        solver.parameters.max_deterministic_time = effort
        solver.parameters.max_time_in_seconds = seconds
        status = solver.solve(self.model)
        if status in (self.cp_model.OPTIMAL, self.cp_model.FEASIBLE):
            trees = [
                (tree.source, [key for key, send in tree.send.items() if solver.boolean_value(send)])
                for tree in self.trees
            ]
            return {"status": "found", "trees": trees}
        if status == self.cp_model.INFEASIBLE:
            return {"status": "impossible"}
        assert status == self.cp_model.UNKNOWN, solver.status_name(status)
        return {"status": "unknown"}


def answer(cp_model: Any, question: Question) -> dict[str, Any]:
    """Build the model and run it as often as asked."""
    deadline = time.monotonic() + question.seconds
    model = CpSatModel(cp_model, question)
    for effort, linear in question.runs:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        reply = model.solve(effort, left, linear)
        if reply["status"] != "unknown":
            return reply
    return {"status": "unknown"}


def _feed(questions: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        questions.put(line)
    os._exit(0)  # the process that asked is gone: do not solve on


def main() -> None:
    """Answer questions until standard input ends."""
    try:
        cp_model = importlib.import_module("ortools.sat.python.cp_model")
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError)
        print(json.dumps({"error": "not installed" if missing else " ".join(str(error).split())}), flush=True)
        return
    print(json.dumps({"ready": True}), flush=True)
    questions: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_feed, args=(questions,), daemon=True).start()
    while True:
        print(json.dumps(answer(cp_model, Question(**json.loads(questions.get())))), flush=True)


if __name__ == "__main__":
    main()
