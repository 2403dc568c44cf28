"""Hypothesis strategies for the core: small topologies of every kind, schedules right, nearly right and not.

A ``Case`` is plain data (links, unit, rows) that a test can hand to the package and to ``reference`` alike.
"""

import os
from dataclasses import dataclass, replace
from random import Random

from hypothesis import settings
from hypothesis import strategies as st

from linkstep.core.ranks import Ranks
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from support import reference

# Compiling a kernel would break any deadline; a fixed choice of examples makes every run the same.
settings.register_profile("linkstep", deadline=None, derandomize=True, max_examples=8)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "linkstep"))

COLLECTIVES = tuple(reference.IS_COLLECTIVE)
"""Those the reference decides."""

seeds = st.integers(0, 2**32 - 1)
near_quantities = st.text(alphabet="0123456789.eE+-/ kKMGTPimunpsµBb\t\n٣", max_size=12)


def pairs(topology: Topology) -> list[tuple[int, int]]:
    """Return the links as (tail, head)."""
    return list(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))


def topology_of(num_nodes: int, links: list[tuple[int, int]], name: str = "", **columns: list[int]) -> Topology:
    return Topology.from_links(num_nodes, [u for u, _ in links], [w for _, w in links], name, **columns)


@dataclass(frozen=True)
class Case:
    """A schedule as plain data; ``collective`` is what it is meant to be."""

    num_nodes: int
    links: list[tuple[int, int]]
    unit: int
    rows: list[tuple[int, int, int, int, int]]
    collective: str = "allgather"
    ranks: tuple[int, ...] | None = None
    """The node of each rank; None: everyone, in node order."""

    @property
    def num_ranks(self) -> int:
        return self.num_nodes if self.ranks is None else len(self.ranks)

    @property
    def is_right(self) -> bool:
        """The verdict of the slow reference."""
        ranks = None if self.ranks is None else list(self.ranks)
        return reference.IS_COLLECTIVE[self.collective](self.num_nodes, self.links, self.unit, self.rows, ranks=ranks)

    def schedule(self) -> Schedule:
        """Return the package's schedule; its topology sorts links, so rows get the sorted numbers."""
        order = sorted(range(len(self.links)), key=self.links.__getitem__)
        number = {e: i for i, e in enumerate(order)}
        columns = [list(column) for column in zip(*self.rows, strict=True)] or [[], [], [], [], []]
        columns[3] = [number[e] for e in columns[3]]
        topology = topology_of(self.num_nodes, self.links)
        ranks = None if self.ranks is None else Ranks.of(topology, self.ranks)
        return Schedule.from_columns(topology, self.unit, *columns, collective=self.collective, ranks=ranks)


def ring(size: int) -> Topology:
    return topology_of(size, [(u, (u + 1) % size) for u in range(size)])


def complete(size: int) -> Topology:
    return topology_of(size, [(u, w) for u in range(size) for w in range(size) if u != w])


def complete_bipartite(half: int) -> Topology:
    """Return K_{d,d}: nodes 0..d-1 on one side."""
    one_way = [(u, half + w) for u in range(half) for w in range(half)]
    return topology_of(2 * half, one_way + [(w, u) for u, w in one_way])


@st.composite
def link_lists(draw, min_nodes=1, max_nodes=6, max_links=14, loops=True):
    """Draw (num_nodes, links) without order: irregular, with parallel links, perhaps with self-loops."""
    n = draw(st.integers(min_nodes, max_nodes))
    nodes = st.integers(0, n - 1)
    links = st.tuples(nodes, nodes) if loops else st.tuples(nodes, nodes).filter(lambda link: link[0] != link[1])
    return n, draw(st.lists(links, max_size=max_links if loops or n > 1 else 0))


@st.composite
def connected_link_lists(draw, min_nodes=1, max_nodes=5, max_extra=5, loops=True):
    """Draw (num_nodes, links), strongly connected: a closed walk that visits every node, and more."""
    n = draw(st.integers(min_nodes, max_nodes))
    walk = draw(st.permutations(range(n))) + draw(st.lists(st.integers(0, n - 1), max_size=2))
    walk = [u for u, after in zip(walk, walk[1:] + walk[:1], strict=True) if u != after]
    links = list(zip(walk, walk[1:] + walk[:1], strict=True))
    nodes = st.integers(0, n - 1)
    extra = draw(st.lists(st.tuples(nodes, nodes), max_size=max_extra))
    return n, links + [(u, w) for u, w in extra if loops or u != w]


@st.composite
def topologies(draw, source=None, columns=False):
    """Draw a topology from a strategy of link lists; with ``columns``, perhaps with bandwidth and alpha."""
    n, links = draw(link_lists() if source is None else source)
    few = st.lists(st.integers(1, 3), min_size=len(links), max_size=len(links))
    wanted = columns and links  # a column without links is as good as none
    given_columns = {what: draw(few) for what in ("bandwidth", "alpha") if wanted and draw(st.booleans())}
    return topology_of(n, links, draw(st.sampled_from(["", "G"])), **given_columns)


def with_rates(rng: Random, ratio: int, max_nodes: int = 8) -> Topology:
    """Return a random connected topology with rates in 1 to ``ratio``: any, the two ends only, or one slow link."""
    n = rng.randint(2, max_nodes)
    walk = rng.sample(range(n), n)
    links = list(zip(walk, walk[1:] + walk[:1], strict=True))
    for _ in range(rng.randint(0, 2 * n)):
        u, w = rng.sample(range(n), 2)
        links += [(u, w), (w, u)] if rng.random() < 0.5 else [(u, w)]
    rates = [ratio] * len(links)
    rates[rng.randrange(len(links))] = 1
    kind = rng.randrange(3)
    if kind:
        rates = [rng.randint(1, ratio) if kind == 1 else rng.choice((1, ratio)) for _ in links]
    return topology_of(n, links, bandwidth=rates)


# Schedules. A seeded generator grows them a step at a time; hypothesis draws the seed.


def merged(rng: Random, pieces: list[tuple[int, int, int]], step: int) -> list[tuple[int, int, int, int, int]]:
    """Return rows for (source, link, piece), some runs of consecutive pieces made into one chunk."""
    runs: list[list[int]] = []
    for source, link, x in sorted(pieces):
        if runs and runs[-1][0] == source and runs[-1][3] == link and runs[-1][2] == x and rng.random() < 0.7:
            runs[-1][2] = x + 1
        else:
            runs.append([source, x, x + 1, link, step])
    return [tuple(run) for run in runs]


def random_allgather(rng: Random, num_nodes: int, links: list, unit: int, *, once: bool) -> list:
    """Return rows of an allgather on a strongly connected graph; ``once``: nothing is ever received twice."""
    held = {(u, u, x) for u in range(num_nodes) for x in range(unit)}
    rows, step = [], 0
    while len(held) < num_nodes * num_nodes * unit:
        step += 1
        eager = rng.choice([0.2, 0.5, 1.0])
        able = [
            (source, e, x)
            for e, (u, w) in enumerate(links)
            for node, source, x in sorted(held)
            if node == u != w and ((w, source, x) not in held or (not once and rng.random() < 0.05))
        ]
        rng.shuffle(able)
        sent, arrived = [], set()
        for source, e, x in able:
            target = (links[e][1], source, x)
            if (rng.random() < eager or not sent) and not (once and target in arrived):
                sent.append((source, e, x))
                arrived.add(target)
        rows += merged(rng, sent, step)
        held |= arrived
    return rows


def random_all_to_all(rng: Random, num_nodes: int, links: list, unit: int, ranks: tuple[int, ...] = ()) -> list:
    """Return rows that take each unit of each shard from its node along a random path, with random waits."""
    sent: dict[int, list] = {}
    nodes = ranks or range(num_nodes)
    for source, home in enumerate(nodes):
        for x in range(unit):
            walk: dict[int, list] = {home: []}
            reached = [home]
            for u in reached:  # grows: breadth-first, by links in a random order
                for e in rng.sample(range(len(links)), len(links)):
                    if links[e][0] == u and links[e][1] not in walk:
                        walk[links[e][1]] = [*walk[u], e]
                        reached.append(links[e][1])
            step = 0
            for e in walk[nodes[x * len(nodes) // unit]]:
                step += rng.choice([1, 1, 2])
                sent.setdefault(step, []).append((source, e, x))
    return [row for step, pieces in sorted(sent.items()) for row in merged(rng, pieces, step)]


def random_case(rng: Random, num_nodes: int, links: list, unit: int, collective: str) -> Case:
    """Return a right schedule of the collective; of an all-to-all, a piece is ``unit`` of its units."""
    if collective == "all-to-all":
        rows = random_all_to_all(rng, num_nodes, links, num_nodes * unit)
        return Case(num_nodes, links, num_nodes * unit, rows, collective)
    turned = [(w, u) for u, w in links]
    gather = random_allgather(rng, num_nodes, links, unit, once=False)
    reduce = reference.reverse(random_allgather(rng, num_nodes, turned, unit, once=True))
    both = overlapped(rng, unit, reduce, gather) if rng.random() < 0.5 else reference.then(reduce, gather)
    rows = {"allgather": gather, "reduce-scatter": reduce, "allreduce": both}
    return Case(num_nodes, links, unit, rows[collective], collective)


def overlapped(rng: Random, unit: int, reduce: list, gather: list) -> list:
    """Return both halves unit by unit, each beginning when it likes and gathered as soon as it is reduced."""
    sent: dict[tuple[int, int], list] = {}
    for source, x in sorted({(row[0], x) for row in [*reduce, *gather] for x in range(unit)}):
        at = rng.randrange(3)
        for phase, half in enumerate((reduce, gather)):
            here = [(e, step) for v, lo, hi, e, step in half if v == source and lo <= x < hi]
            steps = sorted({step for _, step in here})
            for e, step in here:
                sent.setdefault((at + 1 + steps.index(step), phase), []).append((source, e, x))
            at += len(steps)
    return [row for (step, _), pieces in sorted(sent.items()) for row in merged(rng, pieces, step)]


@st.composite
def right_cases(draw, collectives=COLLECTIVES, max_nodes=4, max_unit=3):
    """Draw a right schedule on a strongly connected graph."""
    n, links = draw(connected_link_lists(max_nodes=max_nodes))
    unit = draw(st.integers(1, max_unit))
    return random_case(Random(draw(seeds)), n, links, unit, draw(st.sampled_from(collectives)))


@st.composite
def garbage_cases(draw, collectives=COLLECTIVES, max_nodes=4, max_rows=12):
    """Draw rows that are in range and mean nothing."""
    n, links = draw(link_lists(max_nodes=max_nodes, max_links=8))
    collective = draw(st.sampled_from(collectives))
    unit = draw(st.integers(1, 3)) * (n if collective == "all-to-all" else 1)
    rng = Random(draw(seeds))
    rows = []
    for _ in range(draw(st.integers(0, max_rows if links else 0))):
        lo = rng.randrange(unit)
        hi = rng.randint(lo + 1, unit)
        rows.append((rng.randrange(n), lo, hi, rng.randrange(len(links)), rng.randint(1, 3)))
    return Case(n, links, unit, rows, collective)


# Schedules in which some nodes take no part, cut out of everyone's


def _of_ranks(rows: list, ranks: tuple[int, ...]) -> list:
    """Return the rows of the shards of these nodes, unit by unit, as those of ranks."""
    number = {node: r for r, node in enumerate(ranks)}
    return [(number[v], x, x + 1, e, t) for v, lo, hi, e, t in rows if v in number for x in range(lo, hi)]


def _fed(rows: list, links: list, ranks: tuple[int, ...]) -> list:
    """Return the rows, of one unit each, of a reduction that send a sum of something: forwarders have no part."""
    while True:
        arrivals = {(v, x, links[e][1]): t for v, x, _, e, t in sorted(rows, key=lambda row: -row[4])}  # the first
        kept = [
            row for row in rows
            if links[row[3]][0] in ranks or arrivals.get((row[0], row[1], links[row[3]][0]), row[4]) < row[4]
        ]  # fmt: skip
        if len(kept) == len(rows):
            return rows
        rows = kept


@st.composite
def forwarding_cases(draw, collectives=COLLECTIVES, max_nodes=5):
    """Draw a right schedule in which at least one node only forwards, and ranks are in any order."""
    n, links = draw(connected_link_lists(min_nodes=2, max_nodes=max_nodes))
    rng, unit = Random(draw(seeds)), draw(st.integers(1, 2))
    ranks = tuple(draw(st.permutations(range(n)))[: draw(st.integers(1, n - 1))])
    collective = draw(st.sampled_from(collectives))
    if collective == "all-to-all":
        unit *= len(ranks)
        return Case(n, links, unit, random_all_to_all(rng, n, links, unit, ranks), collective, ranks)
    turned = [(w, u) for u, w in links]
    gather = _of_ranks(random_allgather(rng, n, links, unit, once=False), ranks)
    reduce = reference.reverse(random_allgather(rng, n, turned, unit, once=True))
    reduce = _fed(_of_ranks(reduce, ranks), links, ranks)
    rows = {"allgather": gather, "reduce-scatter": reduce, "allreduce": reference.then(reduce, gather)}
    return Case(n, links, unit, rows[collective], collective, ranks)


# One change to a schedule, by kind. Each returns a case whose rows are in range again, harmful or not.


def _with_row(case: Case, r: int, **changes: int) -> Case:
    row = dict(zip(("source", "lo", "hi", "link", "step"), case.rows[r], strict=True)) | changes
    return replace(case, rows=[*case.rows[:r], tuple(row.values()), *case.rows[r + 1 :]])


def drop_row(rng: Random, case: Case) -> Case:
    r = rng.randrange(len(case.rows))
    return replace(case, rows=case.rows[:r] + case.rows[r + 1 :])


def shift_chunk(rng: Random, case: Case) -> Case:
    """Move a chunk, whole, to another place of its shard."""
    r = rng.randrange(len(case.rows))
    _, lo, hi, _, _ = case.rows[r]
    at = rng.choice([a for a in range(case.unit - (hi - lo) + 1) if a != lo] or [lo])
    return _with_row(case, r, lo=at, hi=at + hi - lo)


def widen_chunk(rng: Random, case: Case) -> Case:
    """Let a row carry a piece more."""
    r = rng.randrange(len(case.rows))
    _, lo, hi, _, _ = case.rows[r]
    wider = [(a, b) for a, b in ((lo - 1, hi), (lo, hi + 1)) if a >= 0 and b <= case.unit]
    lo, hi = rng.choice(wider or [(lo, hi)])
    return _with_row(case, r, lo=lo, hi=hi)


def swap_steps(rng: Random, case: Case) -> Case:
    """Exchange the steps of two rows, different ones if there are any."""
    r = rng.randrange(len(case.rows))
    others = [q for q in range(len(case.rows)) if case.rows[q][4] != case.rows[r][4]] or [r]
    q = rng.choice(others)
    early, late = case.rows[r][4], case.rows[q][4]
    return _with_row(_with_row(case, r, step=late), q, step=early)


def change_link(rng: Random, case: Case) -> Case:
    r = rng.randrange(len(case.rows))
    return _with_row(case, r, link=rng.choice([e for e in range(len(case.links)) if e != case.rows[r][3]] or [0]))


def change_source(rng: Random, case: Case) -> Case:
    r = rng.randrange(len(case.rows))
    return _with_row(case, r, source=rng.choice([v for v in range(case.num_ranks) if v != case.rows[r][0]] or [0]))


def change_step(rng: Random, case: Case) -> Case:
    r = rng.randrange(len(case.rows))
    return _with_row(case, r, step=max(1, case.rows[r][4] + rng.choice([-1, 1])))


def duplicate_row(rng: Random, case: Case) -> Case:
    """Send a row again, at its step or the next: harmless to a gathering, counted twice by a reduction."""
    source, lo, hi, link, step = rng.choice(case.rows)
    return replace(case, rows=[*case.rows, (source, lo, hi, link, step + rng.randrange(2))])


def loop_row(rng: Random, case: Case) -> Case:
    """Let a self-loop, added to the topology, carry what a row carries."""
    source, lo, hi, link, step = rng.choice(case.rows)
    node = rng.choice(case.links[link])
    links = [*case.links, (node, node)]
    return replace(case, links=links, rows=[*case.rows, (source, lo, hi, len(case.links), step)])


MUTATIONS = (
    drop_row,
    shift_chunk,
    widen_chunk,
    swap_steps,
    change_link,
    change_source,
    change_step,
    duplicate_row,
    loop_row,
)
