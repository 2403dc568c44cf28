"""The search over lifts: its kernels against plain twins, what annealing keeps, and how good the graphs are."""

from dataclasses import replace
from math import inf
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkstep._kernels.lifts import _aims, _anneal, _anneal_pairs, _bits, _energy, _levels
from linkstep.core.distances import diameter
from linkstep.costs import moore_steps
from linkstep.recipe import parse
from linkstep.search.sweep.job import LISTED, SweepJob
from linkstep.search.sweep.lifts import (
    MAX_TEXT,
    MOST,
    LiftShape,
    _random_links,
    _random_pairs,
    _Run,
    has_lifts,
    search_lifts,
    shapes,
)
from linkstep.search.sweep.lines import search_lines
from linkstep.search.sweep.methods import METHODS, SWEEPS, recipes_of, search_best
from linkstep.symmetry.distances import measure_distances
from support import reference

pytestmark = pytest.mark.slow  # the kernels of the searches take as long to compile as all others

SHAPES = [
    LiftShape(*shape)
    for shape in [
        (1, 9), (3, 5), (9, 7), (17, 2), (12, 1), (70, 1), (2, 40), (33, 4),
        (1, 7, 3, 2), (2, 5, 4, 2), (9, 3, 2, 2), (3, 15, 2, 14), (2, 4, 3, 1),
    ]
]  # fmt: skip
"""Runs of fewer and of more than 32 bytes, with and without a rest; one byte a node and more."""


@st.composite
def lifts(draw, bidirectional: bool | None = None):
    """Draw a shape, a degree and a lift (orbits, shifts, mates)."""
    shape, degree = draw(st.sampled_from(SHAPES)), draw(st.integers(1, 6))
    rng = Random(draw(st.integers(0, 2**32)))
    duplex = draw(st.booleans()) if bidirectional is None else bidirectional
    if duplex and shape.orbits * degree % 2 and shape.order % 2:
        degree += 1
    return shape, degree, (_random_pairs if duplex else _random_links)(shape, degree, rng)


def slow_levels(shape, degree, to, by):
    """Count the pairs farther apart than t by the definitions of lifts and of distances."""
    recipe = shape.recipe(to, by, degree)
    moduli = tuple(m for m in (shape.p, shape.q) if m > 1)
    n, links = shape.orbits * shape.order, reference.lift_links(moduli, shape.r, list(recipe.args[1]))
    return reference.missing_pairs(n, links, [i * shape.order for i in range(shape.orbits)])


@given(lifts())
@settings(deadline=None)
def test_levels_are_those_of_a_plain_search(case):
    shape, degree, (to, by, _) = case
    expected = slow_levels(shape, degree, to, by)
    missing = np.zeros(shape.orbits * shape.order + 1, np.int64)
    steps = _levels(to, by, shape.p, shape.powers, degree, _bits(shape.orbits, shape.p, shape.q), missing)
    if expected[-1]:
        assert steps == -1
    else:
        assert missing[: steps + 1].tolist() == expected


@given(lifts(), st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**5))
@settings(deadline=None)
def test_energy_and_its_limit(case, target, heavy, limit):
    shape, degree, (to, by, _) = case
    expected = slow_levels(shape, degree, to, by)
    whole = 1 << 60 if expected[-1] else sum(x if t < target else heavy * x for t, x in enumerate(expected))
    aims, bits = _aims(to, by, shape.p, shape.powers, degree), _bits(shape.orbits, shape.p, shape.q)
    given_up = whole > limit
    assert _energy(aims, to, shape.orbits, shape.p, degree, target, heavy, 1 << 60, bits) == whole
    energy = _energy(aims, to, shape.orbits, shape.p, degree, target, heavy, limit, bits)
    assert energy > limit if given_up else energy == whole


def annealed(shape, degree, lift, bidirectional, seed, tries=200, hot=50.0):
    """Anneal a copy of a lift; return its energy and the arrays."""
    to, by, mate = (column.copy() for column in lift)
    state = np.array([seed | 1], np.uint64)
    how = degree, 3, 6, tries, hot, 0.5, state, _bits(shape.orbits, shape.p, shape.q)
    if bidirectional:
        return _anneal_pairs(to, by, mate, shape.p, shape.powers, shape.involutions, *how), to, by, mate
    return _anneal(to, by, shape.p, shape.powers, *how), to, by, mate


@given(st.booleans().flatmap(lambda both: st.tuples(st.just(both), lifts(both))), st.integers(0, 2**40))
@settings(deadline=None)
def test_annealing_keeps_what_a_lift_is(kind_and_case, seed):
    bidirectional, (shape, degree, lift) = kind_and_case
    energy, to, by, mate = annealed(shape, degree, lift, bidirectional, seed)
    before = slow_levels(shape, degree, lift[0], lift[1])
    after = slow_levels(shape, degree, to, by)
    value = sum(x if t < 3 else 6 * x for t, x in enumerate(after))
    assert energy == (1 << 60 if after[-1] else value)
    assert after[-1] == 0 or before[-1] > 0  # the best is never worse than the start
    topology = shape.recipe(to, by, degree).topology()  # refuses what is not regular
    assert topology.is_regular and topology.degree == degree
    if bidirectional:
        assert topology.is_bidirectional
        assert (mate[mate] == np.arange(mate.size)).all() and (mate // degree == to).all()


def test_annealing_depends_on_the_seed_alone():
    rng = Random(5)
    for bidirectional, draw in ((False, _random_links), (True, _random_pairs)):
        shape = LiftShape(6, 5, 4, 2)
        lift = draw(shape, 4, rng)
        runs = [annealed(shape, 4, lift, bidirectional, seed, tries=2000) for seed in (3, 3, 77)]
        same, again, other = ([run[0], run[1].tolist(), run[2].tolist()] for run in runs)
        assert same == again != other


def test_moves_join_and_split_half_edges():
    """Z_2 x Z_2 has nothing but involutions: with three orbits of odd degree, half edges come and go."""
    shape, degree = LiftShape(3, 2, 2, 1), 3
    lift = _random_pairs(shape, degree, Random(1))
    counts = set()
    for seed in range(40):
        _, _, by, mate = annealed(shape, degree, lift, True, seed * 8 + 1, tries=50, hot=1e6)
        halves = np.flatnonzero(mate == np.arange(mate.size))
        assert by[halves].all()
        counts.add(halves.size)
    assert len(counts) > 1 and all(count % 2 for count in counts)


def test_shapes():
    cyclic, semidirect = shapes(SweepJob(42, 3, True))
    assert [s.orbits for s in cyclic] == [3, 6, 7, 14, 21, 42]
    assert {s.orbits for s in semidirect} == {1, 2, 3, 7}
    assert all(s.order % 2 == 0 for s in [*cyclic, *semidirect] if s.orbits % 2)
    assert [s.orbits for s in shapes(SweepJob(61, 4, True))[0]] == [61]
    assert shapes(SweepJob(67, 4, False)) == ([], []) == shapes(SweepJob(9, 3, True))
    assert not has_lifts(SweepJob(67, 4, False)) and search_lifts(SweepJob(67, 4, False)) == []
    long = shapes(SweepJob(1024, 16, False))[0]
    assert long and all(s.text_length(16) <= MAX_TEXT for s in long) and max(s.orbits for s in long) < 64


JOBS = [
    SweepJob(12, 3, True, budget=3000), SweepJob(21, 4, True, budget=20_000), SweepJob(15, 4, False, budget=20_000),
    SweepJob(7, 2, False, budget=3000), SweepJob(64, 5, True, budget=20_000), SweepJob(40, 3, False, budget=20_000),
    SweepJob(8, 4, True, budget=2000), SweepJob(30, 7, True, budget=3000),
]  # fmt: skip


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_what_is_found(job):
    found = search_lifts(job)
    assert found == search_lifts(job)
    assert 0 < len(found) <= MOST and len(set(found)) == len(found)
    topologies = [recipe.topology() for recipe in found]
    distances = [measure_distances(topology) for topology in topologies]
    assert len({d.diameter for d in distances}) == 1
    for recipe, topology in zip(found, topologies, strict=True):
        assert parse(str(recipe)) == recipe and len(str(recipe)) < MAX_TEXT + 100
        assert (topology.num_nodes, topology.degree, topology.is_regular) == (job.num_nodes, job.degree, True)
        assert topology.num_self_loops == topology.num_parallel == 0
        assert topology.is_bidirectional or not job.bidirectional
    assert job.num_nodes < 40 or found != search_lifts(replace(job, seed=1))


def test_keys_are_the_figures_of_the_recipe():
    run = _Run(LiftShape(6, 7), SweepJob(42, 4, True), Random(3))
    assert run.key == (inf, inf, inf)
    run.advance(500, 3)
    distances = measure_distances(run.recipe().topology())
    assert (run.key[0], run.key[2] * 42) == (distances.diameter, distances.total)


def test_lifts_reach_what_groups_do_not():
    """N = 15: all Cayley digraphs of degree 4 take three steps."""
    assert diameter(search_lifts(SweepJob(15, 4, False, budget=30_000))[0].topology()) == 2


def test_line_graphs():
    found = search_lines(SweepJob(480, 4, False, budget=200_000))
    assert {str(recipe)[:3] for recipe in found} == {"L(L", "L^2"}
    assert {diameter(recipe.topology()) for recipe in found} == {5}
    assert (
        search_lines(SweepJob(480, 4, True))
        == []
        == search_lines(SweepJob(481, 4, False))
        == search_lines(SweepJob(16, 4, False))
    )


def test_rows_of_the_table():
    assert (*(row.name for row in SWEEPS), "best") == METHODS
    job = SweepJob(24, 4, False, budget=30_000)
    found = search_best(job)
    assert found == recipes_of(replace(job, method="best")) and len(set(found)) == len(found)
    for row in SWEEPS:
        assert row.applies(job) and (row.search(job) or row.name == LISTED)  # the catalog has these already
        assert all((r.num_nodes, r.degree) == (24, 4) for r in row.search(job))
    for recipe in search_best(SweepJob(24, 4, True, budget=30_000)):
        assert recipe.topology().is_bidirectional


YARDSTICKS = [
    (512, 4, True, 6), (384, 3, True, 9), (1000, 4, True, 7), (512, 6, True, 5), (512, 8, True, 4), (100, 4, False, 4),
    (120, 4, False, 4), (136, 4, False, 4),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "degree", "bidirectional", "steps"), YARDSTICKS)
def test_yardsticks(nodes, degree, bidirectional, steps):
    """A million evaluations, two seconds or so, give the best diameters published."""
    found = search_lifts(SweepJob(nodes, degree, bidirectional, budget=10**6))
    assert diameter(found[0].topology()) == steps
    assert bidirectional or steps == moore_steps(nodes, degree)
