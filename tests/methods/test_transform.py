"""Every collective from one allgather: reverse, relabel, concatenate, pick a root."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkstep
from linkstep.core.errors import ScheduleError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids
from linkstep.correctness import check, check_allgather, check_allreduce, check_reduce_scatter
from linkstep.costs import cost_of
from linkstep.methods.bfb import bfb_allgather
from linkstep.methods.transform import allreduce, from_root, relabel, reverse
from linkstep.recipe import parse
from linkstep.symmetry.isomorphisms import isomorphism
from support.strategies import connected_link_lists, topologies

CONNECTED = topologies(connected_link_lists(min_nodes=2, max_nodes=5, max_extra=5))


def bfb(recipe: str) -> Schedule:
    return bfb_allgather(parse(recipe).topology())


@given(CONNECTED)
def test_property_thm_scheduleswitch(topology):
    """The reverse of an allgather is a reduce-scatter on the transpose, of the same cost, and back again."""
    gather = bfb_allgather(topology)
    scatter = reverse(gather)
    check_reduce_scatter(scatter)
    assert scatter.topology == topology.transpose()
    assert cost_of(scatter) == cost_of(gather)
    assert reverse(scatter) == gather


@given(CONNECTED, st.randoms(use_true_random=False))
def test_property_relabelling_keeps_everything(topology, random):
    """def:scheduleisomorphism."""
    gather = bfb_allgather(topology)
    new: Ids = linkstep.core.columns.frozen(
        random.sample(range(topology.num_nodes), topology.num_nodes), "int32", "new"
    )
    renamed = relabel(gather, new)
    check_allgather(renamed)
    assert renamed.topology == topology.relabel(new)
    assert cost_of(renamed) == cost_of(gather)


@given(CONNECTED)
def test_property_thm_scheduleswitchfunc(topology):
    """A reduce-scatter on any topology: reverse the allgather of its transpose; allreduce is both in a row."""
    scatter, gather = reverse(bfb_allgather(topology.transpose())), bfb_allgather(topology)
    both = allreduce(scatter, gather)
    check_reduce_scatter(scatter)
    check_allreduce(both)
    assert cost_of(both) == cost_of(scatter) + cost_of(gather)


@pytest.mark.parametrize("recipe", ["K_5", "UniRing(1,6)", "L(K_{2,2})", "DBJ(2,3)", "DBJMod(2,3)", "Paley(7)"],
                         ids=lambda r: f"thm:rescallather-{r}")  # fmt: skip
def test_thm_rescallather(recipe):
    """On a reverse-symmetric topology an isomorphism turns the allgather into a reduce-scatter of the same cost."""
    gather = parse(recipe).build()
    scatter = reverse(gather)
    scatter = relabel(scatter, isomorphism(scatter.topology, gather.topology))
    check_reduce_scatter(scatter)
    assert scatter.topology == gather.topology
    assert cost_of(scatter) == cost_of(gather)
    check_allreduce(allreduce(scatter, gather))


@given(CONNECTED, st.data())
def test_property_one_root(topology, data):
    root = data.draw(st.integers(0, topology.num_nodes - 1))
    broadcast = from_root(bfb_allgather(topology), root)
    check(broadcast)
    assert broadcast.collective == "broadcast"
    reduction = from_root(reverse(bfb_allgather(topology.transpose())), root)
    check(reduction)
    assert reduction.collective == "reduce"


def test_broadcast_is_of_all_the_data():
    """A broadcast moves M bytes, where a shard of an allgather is M / N."""
    gather = bfb("UniRing(1,4)")
    assert cost_of(from_root(gather, 2)).bandwidth == 4 * cost_of(gather).bandwidth


def test_rejections():
    gather = bfb("K_3")
    with pytest.raises(ScheduleError, match="allreduce takes a reduce-scatter and an allgather"):
        allreduce(gather, gather)
    with pytest.raises(ScheduleError, match="on the same topology"):
        allreduce(reverse(bfb("K_4")), gather)
    with pytest.raises(ScheduleError, match=r"root must be a node in \[0, 3\), not 3"):
        from_root(gather, 3)
    with pytest.raises(ScheduleError, match="not a broadcast"):
        from_root(from_root(gather, 0), 0)


def test_broadcast_witnesses():
    ring = parse("UniRing(1,3)").topology()
    mixed = Schedule.from_columns(ring, 1, [0, 1], [0, 0], [1, 1], [0, 1], [1, 1], "broadcast")
    with pytest.raises(ScheduleError, match=r"row 1: .* but the root is node 0: row 0 is of its shard"):
        check(mixed)
    short = Schedule.from_columns(ring, 1, [0], [0], [1], [0], [1], "broadcast")
    with pytest.raises(ScheduleError, match=r"\[0, 1\)/1 of shard 0 never arrives at node 2"):
        check(short)
    with pytest.raises(ScheduleError, match="a reduce has rows for its root, this one has none"):
        check(Schedule.from_columns(ring, 1, [], [], [], [], [], "reduce"))
    with pytest.raises(ScheduleError, match=r"node 1's part of \[0, 1\)/1 of shard 0 never reaches node 0"):
        check(Schedule.from_columns(ring, 1, [0], [0], [1], [2], [1], "reduce"))
