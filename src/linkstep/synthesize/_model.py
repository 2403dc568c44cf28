"""One run of CP-SAT: is there a schedule of this load, invariant under this group?

Every node receives every chunk exactly once: a second copy helps nobody and only adds load. So the way of a chunk is
a tree, and with one Boolean for each send the whole question is linear.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from linkstep.errors import LinkstepError
from linkstep.schedule import Schedule
from linkstep.synthesize._case import Case
from linkstep.synthesize._groups import Group

MAX_SENDS = 400_000
"""The largest model we hand to the solver, in possible sends: it takes 1 GB or so."""

ORDERED_NODES = 2
"""At how many nodes the chunks of a shard are told apart; on hard proofs two did better than none, one or three."""


def load_solver() -> Any:
    """Import CP-SAT, or say how to get it."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise LinkstepError("synthesis needs OR-tools: pip install 'linkstep[synthesis]'") from None
    return cp_model


def num_sends(case: Case, group: Group) -> int:
    """Return how many Booleans for sends the model has."""
    links = list(zip(case.topology.tail.tolist(), case.topology.head.tolist(), strict=True))
    return sum(
        case.chunks // fixed * max(case.steps - case.distance[v][u], 0)
        for v, fixed in group.sources.items()
        for u, w in links
        if w not in (u, v)
    )


@dataclass(frozen=True)
class Tree:
    """The unknown way of one chunk of ``source``: send[link, step] is whether the link carries it at that step."""

    source: int
    send: dict[tuple[int, int], Any]


def _solve_interruptibly(cp_sat: Any, model: Any) -> Any:
    """Solve in a thread of its own: Python sees Ctrl-C only between its own instructions, not inside the solver."""
    cp_sat.parameters.catch_sigint_signal = False
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(cp_sat.solve, model)
        try:
            return running.result()
        except KeyboardInterrupt:
            cp_sat.stop_search()
            raise


class Model:
    """A CP-SAT model of a case under a group, for loads up to ``most`` in all or up to ``loads`` step by step."""

    def __init__(self, case: Case, group: Group, most: int, loads: Sequence[int] | None = None) -> None:
        self.case, self.group = case, group
        self.solver = load_solver()
        self.model = self.solver.CpModel()
        self.links = list(zip(case.topology.tail.tolist(), case.topology.head.tolist(), strict=True))
        self._add_loads(most, loads)
        self.trees: list[Tree] = []
        for source, fixed in group.sources.items():
            mine = [self._add_tree(source) for _ in range(case.chunks // fixed)]
            self._order(mine)
            self.trees += mine
        self._limit_links(most)

    def _add_loads(self, most: int, loads: Sequence[int] | None) -> None:
        """Make R_t. Idle steps come last without loss, if steps are alike; the first D are not idle then."""
        case = self.case
        limits = [most] * case.steps if loads is None else loads
        self.loads = [
            self.model.new_int_var(int(loads is None and t < case.diameter), limit, f"R_{t + 1}")
            for t, limit in enumerate(limits)
        ]
        self.model.add(sum(self.loads) <= most)
        self.model.add(self.loads[0] <= case.chunks)  # at step 1 a link carries its tail's own shard
        for t in range(1, case.steps):
            self.model.add(sum(self.loads[t:]) >= case.least_load_after(t))
            if loads is None and t > case.diameter:
                self.model.add(self.loads[t] <= most * self.loads[t - 1])

    def _add_tree(self, source: int) -> Tree:
        case, model = self.case, self.model
        distance, last = case.distance[source], case.steps
        # held[w, t]: w has the chunk after step t. The source always, others from their distance on, all at the end.
        held: dict[tuple[int, int], Any] = {}
        for w in range(case.topology.num_nodes):
            for t in range(last + 1):
                known = 1 if w == source or t == last else 0
                held[w, t] = known if known or t < distance[w] else model.new_bool_var(f"held_{w}_{t}")
        tree = Tree(source, {})
        arrivals: dict[tuple[int, int], list[Any]] = defaultdict(list)
        for e, (u, w) in enumerate(self.links):
            if w in (u, source):
                continue
            for t in range(distance[u] + 1, last + 1):
                send = tree.send[e, t] = model.new_bool_var(f"send_{e}_{t}")
                arrivals[w, t].append(send)
                if u != source:
                    model.add_implication(send, held[u, t - 1])
        for w in range(case.topology.num_nodes):
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
        distance = self.case.distance[trees[0].source]
        farthest = sorted(range(len(distance)), key=lambda w: -distance[w])[:ORDERED_NODES]
        codes = []
        for tree in trees:
            code: Any = 0
            for node in farthest:
                ways = [send for (e, _), send in tree.send.items() if self.links[e][1] == node]
                code = code * len(ways) + sum(k * send for k, send in enumerate(ways))
            codes.append(code)
        for lower, upper in zip(codes, codes[1:], strict=False):
            self.model.add(lower <= upper)

    def _limit_links(self, most: int) -> None:
        """Bound each link's load; a node that has no capacity to spare uses each of its links fully."""
        carried: dict[tuple[int, int], list[Any]] = defaultdict(list)
        for tree in self.trees:
            for (e, t), send in tree.send.items():
                carried[self.group.link_orbit[e], t].append(send)
        need = (self.case.topology.num_nodes - 1) * self.case.chunks
        for e in sorted(set(self.group.link_orbit)):
            if self.links[e][0] == self.links[e][1]:
                continue
            # Elements that fix the link lay as many images of one tree over it.
            times = self.group.order // self.group.link_orbit.count(e)
            full = self.case.in_degree[self.links[e][1]] * most == need
            for t, load in enumerate(self.loads, 1):
                total = times * sum(carried[e, t])
                self.model.add(total == load if full else total <= load)

    def solve(self, effort: float, seconds: float, linear: bool, seed: int) -> tuple[str, Schedule | None]:
        """Run until ``effort`` (the solver's own count of work, the same on every machine) or ``seconds`` are spent.

        ``linear`` makes the solver reason on the linear relaxation too: slower at finding, better at proofs.
        """
        cp_sat = self.solver.CpSolver()
        cp_sat.parameters.num_workers = 1  # more are no faster here, and not reproducible
        cp_sat.parameters.random_seed = seed
        cp_sat.parameters.linearization_level = int(linear)
        cp_sat.parameters.max_deterministic_time = effort
        cp_sat.parameters.max_time_in_seconds = seconds
        status = _solve_interruptibly(cp_sat, self.model)
        if status in (self.solver.OPTIMAL, self.solver.FEASIBLE):
            return "found", self._schedule(cp_sat)
        if status == self.solver.INFEASIBLE:
            return "impossible", None
        assert status == self.solver.UNKNOWN, cp_sat.status_name(status)
        return "unknown", None

    def _schedule(self, cp_sat: Any) -> Schedule:
        """Lay out the images of all trees, number the chunks of each shard, join neighbours."""
        chunk: dict[int, int] = defaultdict(int)
        sends: list[tuple[int, int, int, int]] = []
        for tree in self.trees:
            used = [key for key, send in tree.send.items() if cp_sat.boolean_value(send)]
            for element, image in zip(self.group.elements, self.group.link_images, strict=True):
                source = element[tree.source]
                sends += [(t, image[e], source, chunk[source]) for e, t in used]
                chunk[source] += 1
        steps = {t: k for k, t in enumerate(sorted({send[0] for send in sends}), 1)}
        rows: list[list[int]] = []
        for t, e, source, c in sorted(sends):
            if rows and rows[-1][:3] == [steps[t], e, source] and rows[-1][4] == c:
                rows[-1][4] = c + 1
            else:
                rows.append([steps[t], e, source, c, c + 1])
        step, link, origin, lo, hi = (list(column) for column in zip(*rows, strict=True))
        return Schedule.from_columns(self.case.topology, self.case.chunks, origin, lo, hi, link, step)
