"""Schedules of some ranks, made of those of all: right, no busier, and without what nobody needs."""

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkstep
from linkstep import LinkstepError, Ranks, Schedule
from linkstep.core.faults import Down, Forward, apply, parse, ranks_left
from linkstep.correctness import check
from linkstep.costs import cost_of, loads_of
from linkstep.methods.subset import for_ranks
from linkstep.problem import Problem
from support.strategies import seeds

COLLECTIVES = ("allgather", "reduce-scatter", "allreduce", "broadcast", "reduce", "all-to-all")


def is_tight(schedule: Schedule) -> bool:
    """Whether every row of a gathering to a node that only forwards is passed on, all of it, at a later step."""
    ranks, topology = schedule.ranks, schedule.topology
    rows = list(zip(*(getattr(schedule, c).tolist() for c in ("source", "lo", "hi", "link", "step")), strict=True))
    for source, lo, hi, link, step in rows:
        node = int(topology.head[link])
        if ranks.rank_of[node] < 0:
            sent = {
                x for v, a, b, e, t in rows if (v, topology.tail[e]) == (source, node) and t > step for x in range(a, b)
            }  # fmt: skip
            if not sent >= set(range(lo, hi)):
                return False
    return True


@given(recipe=st.sampled_from(["Torus(4,4)", "Pi_{3,10}", "K_{3,3}", "L(Diamond)", "BiRing(2,7)"]), seed=seeds)
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_property_some_ranks(recipe, collective, seed):
    rng = Random(seed)
    topology = linkstep.parse("K_{3,3}" if collective == "all-to-all" else recipe).topology()
    n = topology.num_nodes
    ranks = Ranks.of(topology, rng.sample(range(n), rng.randint(1, n)))
    root = rng.randrange(ranks.num_ranks)
    whole = linkstep.schedule(topology, collective, root=int(ranks.nodes[root])).schedule
    some = for_ranks(whole, ranks)
    check(some)
    assert some.ranks == ranks
    if some.num_rows and not whole.collective.exchanges:  # a shard is a shard: no link carries more of them
        before, after = (loads_of(one).links.busiest(one.num_steps) for one in (whole, some))
        assert (after[: some.num_steps] <= before[: some.num_steps]).all()
    if collective in ("allgather", "broadcast"):
        assert is_tight(some)
    if ranks.num_ranks == n:
        assert cost_of(some) == cost_of(whole)
    made = linkstep.schedule(topology, collective, ranks=ranks, root=root)
    assert made.schedule.ranks == ranks
    assert linkstep.verify(linkstep.lower(made.schedule, "cpu").text).status == "verified"


@pytest.mark.parametrize("method", ["bfb", "arrival", "overlapped"])
def test_methods_serve_ranks(method):
    torus = linkstep.parse("Torus(4,4)").topology()
    ranks = Ranks.everyone(torus).without_ranks([0, 5, 10, 15])
    made = linkstep.schedule(Problem(wiring=torus, ranks=ranks, collectives="allreduce"), method=method)
    assert (made.method, made.schedule.num_ranks, made.certificate) == (method, 12, None)
    assert made.cost.bandwidth >= 2 * Fraction(11, 12)
    check(made.schedule)


def test_refused():
    torus = linkstep.parse("Torus(4,4)").topology()
    few = Ranks.of(torus, [1, 2, 3])
    for does, match in (
        (lambda: for_ranks(for_ranks(linkstep.schedule(torus).schedule, few), few), "in which everyone takes part"),
        (lambda: linkstep.schedule("Torus(3,3)", ranks=few), "ranks are of 16 nodes, the wiring has 9"),
        (lambda: linkstep.schedule(torus, "broadcast", ranks=few, root=3), r"root must be a rank in \[0, 3\), not 3"),
        (lambda: linkstep.schedule(torus, ranks=[1, 2]), "ranks must be a Ranks"),
        (lambda: Problem(num_nodes=16, degree=4, ranks=few), "ranks are nodes of a wiring"),
        (lambda: linkstep.schedule(torus, "allreduce", ranks=few, method="rooted"), "sums are complete at other nodes"),
    ):
        with pytest.raises(LinkstepError, match=rf"\A[^\n]*{match}[^\n]*\Z"):
            does()


def test_a_host_that_lost_its_part():
    torus = linkstep.parse("Torus(3,3)").topology()
    faults = [Forward("4"), Down("0")]
    assert [str(fault) for fault in faults] == ["forward 4", "down 0"]
    assert parse("forward", "4") == Forward("4")
    left = apply(torus, faults, Fraction(10**9))
    assert left.num_nodes == 8
    assert [left.labels[u] for u in ranks_left(torus, faults).nodes] == ["1", "2", "3", "5", "6", "7", "8"]
    assert ranks_left(torus, faults[1:]) is None
    assert apply(torus, faults[:1], Fraction(10**9)) == torus
    for several, match in (
        ([Forward("4"), Down("4")], "forward 4: that host is down, and forwards nothing"),
        ([Forward("4"), Forward("4")], "forward 4: that host takes no part already"),
        ([Forward(str(u)) for u in range(9)], "no host is left that takes part"),
        ([Forward("9")], "9"),
    ):
        with pytest.raises(LinkstepError, match=match):
            ranks_left(torus, several)


def test_commands_take_it(capsys, tmp_path):
    from linkstep.cli import main

    path = str(tmp_path / "some.npz")
    assert main(["schedule", "Torus(4,4)", "--forward", "0", "--forward", "5", "-o", path]) == 0
    told = capsys.readouterr().out
    assert "14 hosts take part, 2 more only forward" in told
    assert "on this wiring" not in told
    assert linkstep.load(path).ranks.nodes.tolist() == [u for u in range(16) if u not in (0, 5)]
    assert main(["lower", "Torus(4,4)", "--forward", "3", "--to", "cpu", "-o", str(tmp_path / "a.xml")]) == 0
    assert main(["simulate", "Torus(4,4)", "--forward", "3", "--to", "cpu"]) == 0
    capsys.readouterr()
    for argv in (
        ["schedule", "Torus(4,4)", "--forward", "3", "--collective", "reduce", "--root", "3"],
        ["schedule", "Torus(4,4)", "--forward", "3", "--frontier"],
        ["lower", "Torus(4,4)", "--forward", "3", "--to", "mscclpp", "-o", str(tmp_path / "b.json")],
        ["show", "Torus(4,4)", "--forward", "3"],
        ["schedule", "Torus(4,4)", "--forward", "x"],
    ):
        assert main(argv) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert len(captured.err.strip().splitlines()) <= 2
    assert not (tmp_path / "b.json").exists()
