"""Simulation: a lowered program is no slower than its schedule's cost; by hand where that is possible."""

from itertools import pairwise

import numpy as np
import pytest

import linkstep
from linkstep.cost import Fabric, cost_of, time_of
from linkstep.errors import LinkstepError
from linkstep.lower import program_of
from linkstep.simulate import draw_timeline, link_spans, simulate
from linkstep.topology import Topology

PAPER = ["C(7,{2,3})", "K_{4,4}", "H(2,3)", "C(12,{2,3})", "Torus(4,4)", "Q(4)", "Diamond", "UniRing(2,4)"]
SLOW = ["L(K_{4,4})", "DistReg(4,32)", "Pi_{4,64}", "L(DBJMod(4,2))", "Torus(8,8)"]
ALL = [*PAPER, *(pytest.param(r, marks=pytest.mark.slow) for r in SLOW)]


def run(recipe, collective="allreduce", size="1MB", alpha="10us", **options):
    schedule = linkstep.parse(recipe).build(collective)
    fabric = Fabric.of(alpha, "100Gbps", schedule.topology.degree)
    return simulate(program_of(schedule, **options), fabric, size)


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce", "broadcast", "reduce"])
@pytest.mark.parametrize("recipe", ALL)
def test_lowering_loses_nothing(recipe, collective):
    """Without rounds to wait for, a program may be faster than its schedule; the aim was at most 5% slower.

    Where a link has several channels, a message may have to wait for one of a later step that came first.
    """
    for size in ("1MB", "100MB"):
        assert run(recipe, collective, size).loss < 1e-9
        assert run(recipe, collective, size, instances=2).loss < 0.05


def test_by_hand():
    """A ring of 4: three steps of M/4 over links of bandwidth B."""
    done = run("UniRing(1,4)", "allgather", "4MB")
    assert done.time == pytest.approx(3 * (10e-6 + 8e6 / 100e9))
    assert done.predicted == pytest.approx(done.time)
    assert done.rank.size == done.program.num_instructions
    assert (done.start <= done.end).all()


def test_latency_alone_counts_steps():
    done = run("Torus(4,4)", size="0B")
    assert done.time == pytest.approx(8 * 10e-6)


def test_links_carry_one_message_at_a_time():
    for channels in (1, 3):
        spans = link_spans(run("L(K_{2,2})", channels=channels))
        by_link = {}
        for link, _, start, end in spans:
            by_link.setdefault(link, []).append((start, end))
        for busy in by_link.values():
            busy.sort()
            assert all(a[1] <= b[0] + 1e-15 for a, b in pairwise(busy))


def test_deterministic():
    a, b = run("C(12,{2,3})", channels=2), run("C(12,{2,3})", channels=2)
    assert np.array_equal(a.start, b.start) and np.array_equal(a.end, b.end)


def test_overhead_and_reduction_cost_time():
    schedule = linkstep.parse("K_{4,4}").build("reduce-scatter")
    program = program_of(schedule)
    plain = Fabric.of("10us", "100Gbps", 4)
    slow = Fabric.of("10us", "100Gbps", 4, "50Gbps")
    free = simulate(program, plain, "1MB").time
    assert simulate(program, plain, "1MB", instruction_time=1e-6).time > free
    done = simulate(program, slow, "1MB")
    assert done.time > free
    assert done.predicted == pytest.approx(float(slow.reduce_scatter_time(cost_of(schedule), "1MB")))


def test_links_that_differ():
    square = linkstep.parse("K_{2,2}").topology()
    bandwidth = [10**11] * 7 + [10**10]
    topology = Topology.from_links(4, square.tail, square.head, bandwidth=bandwidth, alpha=[1000] * 8)
    schedule = linkstep.bfb_allgather(topology, size="1MB")
    done = simulate(program_of(schedule), Fabric.of("10us", "100Gbps", 2), "1MB")
    assert done.predicted == pytest.approx(float(time_of(schedule, "1MB")))
    assert 0 < done.time <= done.predicted * (1 + 1e-9)


def test_fabric_must_have_the_ports():
    schedule = linkstep.parse("K_{4,4}").build()
    with pytest.raises(LinkstepError, match="the fabric has 2 ports a node, the topology needs 4"):
        simulate(program_of(schedule), Fabric.of("10us", "100Gbps", 2), "1MB")


def test_timeline(tmp_path):
    from linkstep.plot import save_figure

    done = run("K_{2,2}")
    save_figure(lambda axes: draw_timeline(done, axes), tmp_path / "t.svg")
    assert "K_{2,2}: allreduce, 4 steps by colour" in (tmp_path / "t.svg").read_text()
