"""What is kept for a topology: once, for that very object, and no longer than it lives."""

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from linkstep.core.memo import Memo
from linkstep.core.topology import Topology
from linkstep.costs import wiring_bound
from linkstep.methods.bfb import bfb_certificate
from linkstep.recipe import parse
from linkstep.symmetry.search import symmetry_of
from linkstep.symmetry.translations import translations
from support.strategies import ring


def test_found_once_for_each_key():
    sizes, topology, calls = Memo[int](), ring(3), []

    def make() -> int:
        calls.append(None)
        return len(calls)

    assert [sizes.find(topology, make), sizes.find(topology, make), sizes.find(topology, make, "b")] == [1, 1, 2]
    assert (sizes.get(topology), sizes.get(topology, "b"), sizes.get(topology, "c")) == (1, 2, None)
    assert sizes.keep(topology, 7) == 1 and sizes.keep(topology, 7, "c") == 7
    assert Memo[int]().get(topology) is None


def test_none_is_a_value():
    found, topology, calls = Memo[int | None](), ring(3), []
    for _ in range(2):
        assert found.find(topology, lambda: calls.append(None)) is None
    assert len(calls) == 1


def test_what_fails_is_not_kept():
    found, topology = Memo[int](), ring(3)
    with pytest.raises(ZeroDivisionError):
        found.find(topology, lambda: 1 // 0)
    assert found.find(topology, lambda: 5) == 5


def test_by_object_not_by_value():
    names, left, right = Memo[str](), ring(3), ring(3)
    assert left == right and hash(left) == hash(right)
    names.keep(left, "left")
    assert names.get(right) is None and names.get(replace(left)) is None


def test_forgotten_with_the_topology_although_values_refer_to_it():
    """A certificate, a bound and a symmetry hold their topology; a transpose holds what it was made from."""
    topology = Topology.from_links(4, [0, 1, 2, 3, 0], [1, 2, 3, 0, 2])
    for value in (bfb_certificate(topology), wiring_bound(topology), symmetry_of(topology)):
        assert value.topology is topology
    turned = weakref.ref(topology.transpose())
    gone = weakref.ref(topology)
    del topology, value
    gc.collect()
    assert gone() is None and turned() is None


def test_recipes_let_go_of_what_was_built():
    recipe = parse("L(Torus(3,3))")
    topology = weakref.ref(recipe.topology())
    translations(recipe.topology())
    del recipe
    gc.collect()
    assert topology() is None


@pytest.mark.parametrize("duplicate", [lambda t: pickle.loads(pickle.dumps(t)), copy.copy, copy.deepcopy, replace])
def test_copies_start_with_nothing(duplicate):
    """Declarations are functions of functions, which no pickle takes: topologies go to worker processes."""
    topology = parse("L(Cayley(Z5,{1,4}))").topology()
    bfb_certificate(topology), translations(topology), topology.transpose()
    other = duplicate(topology)
    assert other == topology and other.name == topology.name
    assert bfb_certificate(other) is not bfb_certificate(topology)
    assert bfb_certificate(other).cost == bfb_certificate(topology).cost


def test_threads_get_the_same_value():
    found, topology = Memo[object](), ring(3)
    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda _: found.find(topology, object), range(200)))
    assert len(set(map(id, values))) == 1


def test_a_transpose_is_always_the_same_object():
    topology = ring(4)
    assert topology.transpose() is topology.transpose()
