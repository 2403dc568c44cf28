"""Simulation of runtime files: by hand where that is possible, by a slow twin, and against what schedules cost."""

import json
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkstep
import support
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.topology import Topology
from linkstep.costs import Fabric, cost_of, seconds_of, time_of
from linkstep.lowering import TARGETS, lower
from linkstep.programs import read_program
from linkstep.simulation import (
    bound_time,
    simulate_program,
    simulate_schedule,
    used_links,
)
from support import strategies as _settings  # noqa: F401  (the profile)

PROGRAMS = Path(support.__file__).parent / "programs"
FOREIGN = sorted(path.name for path in PROGRAMS.iterdir())
PAPER = ["C(7,{2,3})", "K_{4,4}", "H(2,3)", "C(12,{2,3})", "Torus(4,4)", "Q(4)", "Diamond", "UniRing(2,4)"]
SLOW = ["L(K_{4,4})", "DistReg(4,32)", "Pi_{4,64}", "L(DBJMod(4,2))", "Torus(8,8)"]
ALL = [*PAPER, *SLOW]
COLLECTIVES = ["allgather", "reduce-scatter", "allreduce", "broadcast", "reduce", "all-to-all"]
ALPHA = 10e-6


def run(recipe, collective="allreduce", size="1MB", to="msccl", reduction=None, **options):
    schedule = linkstep.parse(recipe).build(collective)
    fabric = Fabric.of("10us", "100Gbps", schedule.topology.degree, reduction)
    return simulate_schedule(schedule, to, fabric, size, **options)


def run_text(text, size, topology=None, reduction=None, **options):
    program = read_program(text)
    topology = topology or used_links(program)
    return simulate_program(
        program, topology, Fabric.of("10us", "100Gbps", topology.degree, reduction), size, **options
    )


def link_spans(done):
    """Return (link, round, start, end) for every time a link was busy, sorted."""
    columns = (done.sent_link, done.sent_round, done.sent_start, done.sent_end)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def turns() -> list:
    """Small topologies take turns with the runtimes; all with all is slow."""
    slow, runtimes = pytest.mark.slow, list(TARGETS)
    quick = {(recipe, runtimes[k % len(runtimes)]) for k, recipe in enumerate(PAPER) if k % 2 == 0}
    rows = [(recipe, to) for recipe in ALL for to in runtimes]
    return [pytest.param(*row, marks=[slow] * (row not in quick)) for row in rows]


@pytest.mark.parametrize(("recipe", "to"), turns())
def test_lowering_loses_little(recipe, to):
    """Without rounds to wait for, a program may be faster than its schedule; the aim was at most 5% slower."""
    for collective in (c for c in COLLECTIVES if c in TARGETS[to].collectives):
        whole = {"chunks": 1} if collective == "all-to-all" else {}  # N pieces a shard are as many as msccl-azure holds
        schedule = linkstep.schedule(recipe, collective, method="exchange" if whole else "expand", **whole).schedule
        fabric = Fabric.of("10us", "100Gbps", schedule.topology.degree)
        program = read_program(lower(schedule, to).text, to)
        for size in ("1MB", "100MB"):
            done = simulate_program(program, schedule.topology, fabric, size)
            assert done.time < seconds_of(schedule, fabric, size) * 1.05, (collective, size)


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter"])
def test_one_step_of_mscclpp_loses_one_latency(collective):
    """The first put must wait until its target has started, and there is no later step to hide that in."""
    for size in ("1MB", "100MB"):
        done = run("K_5", collective, size, "mscclpp")
        assert done.time - done.predicted == pytest.approx(ALPHA)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", PAPER)
def test_instances_lose_little(recipe):
    """Where a link has several channels, a message may have to wait for one of a later step that came first."""
    for to in ("msccl-azure", "rccl"):
        assert run(recipe, "allgather", "100MB", to, instances=2).loss < 0.05


@pytest.mark.parametrize("to", TARGETS)
def test_ring_by_hand(to):
    """A ring of 4: three steps of M/4 over links of bandwidth B."""
    done = run("UniRing(1,4)", "allgather", "4MB", to)
    assert done.time == pytest.approx(3 * (ALPHA + 8e6 / 100e9))
    assert done.predicted == pytest.approx(3 * (ALPHA + 8e6 / 100e9))
    assert done.utilisation == pytest.approx(3 * 8e6 / 100e9 / done.time)
    assert (done.start <= done.end).all()
    assert done.rank.size == done.threadblock.size == done.position.size == done.start.size
    assert [(link, step) for link, step, _, _ in link_spans(done)] == [(e, t) for e in range(4) for t in (1, 2, 3)]


def msccl(*gpus, chunks=1, coll="broadcast", channels=2):
    """Return MSCCL XML of ranks, lists of threadblocks (send, recv, chan, steps)."""
    lines = [
        f'<algo name="x" ngpus="{len(gpus)}" nchunksperloop="{chunks}" nchannels="{channels}" proto="Simple" '
        f'coll="{coll}" inplace="1" outofplace="0" minBytes="0" maxBytes="9">'
    ]
    for rank, tbs in enumerate(gpus):
        lines.append(f'<gpu id="{rank}" i_chunks="{chunks}" o_chunks="{chunks}" s_chunks="0">')
        for t, (send, recv, chan, steps) in enumerate(tbs):
            lines.append(f'<tb id="{t}" send="{send}" recv="{recv}" chan="{chan}">')
            for s, (kind, off, count, depid, deps, hasdep) in enumerate(steps):
                lines.append(
                    f'<step s="{s}" type="{kind}" srcbuf="o" srcoff="{off}" dstbuf="o" dstoff="{off}" cnt="{count}" '
                    f'depid="{depid}" deps="{deps}" hasdep="{hasdep}" />'
                )
            lines.append("</tb>")
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>"])


def step(kind, off=0, count=1, depid=-1, deps=-1, hasdep=0):
    return kind, off, count, depid, deps, hasdep


LINE = msccl(
    [(1, -1, 0, [step("s")])], [(2, 0, 0, [step("rcs")])], [(-1, 1, 0, [step("r")])],
)  # fmt: skip
TWO_CHANNELS = msccl(
    [(1, -1, 0, [step("s", 0)]), (1, -1, 1, [step("s", 1)])],
    [(-1, 0, 0, [step("r", 0)]), (-1, 0, 1, [step("r", 1)])],
    chunks=2,
)  # fmt: skip


def test_fused_steps_store_and_forward():
    """1 MB at 100 Gbps is 80 us; the second hop begins when the whole message is here."""
    done = run_text(LINE, "1MB")
    assert done.time == pytest.approx(2 * (ALPHA + 80e-6))
    assert done.start.tolist() == pytest.approx([0, 90e-6, 180e-6])
    assert done.end.tolist() == pytest.approx([80e-6, 170e-6, 180e-6])
    assert [span[:2] for span in link_spans(done)] == [(0, 1), (1, 2)]
    assert [t for span in link_spans(done) for t in span[2:]] == pytest.approx([0, 80e-6, 90e-6, 170e-6])


def test_parallel_links_are_servers():
    """Two channels share one link, or have one each of two parallel ones (which have half of B each)."""
    assert run_text(TWO_CHANNELS, "1MB").time == pytest.approx(ALPHA + 80e-6)
    two = Topology.from_links(2, [0, 0, 1, 1], [1, 1, 0, 0])
    done = run_text(TWO_CHANNELS, "1MB", two)
    assert done.time == pytest.approx(ALPHA + 80e-6)
    assert done.busy.tolist() == pytest.approx([80e-6, 80e-6, 0, 0])
    unequal = Topology.from_links(2, [0, 0], [1, 1], bandwidth=[10**10, 10**11], alpha=[1000, 5000])
    done = run_text(TWO_CHANNELS, "1MB", unequal)  # both wait for the fast one: 2 x 40 us before 400 us
    assert done.busy.tolist() == pytest.approx([0, 80e-6])
    assert done.time == pytest.approx(85e-6)


def plus(*ranks, size=1):
    """Return an MSCCL++ plan of one threadblock a rank; an operation is a name and its peer or None, over memory."""
    gpus = []
    for rank, ops in enumerate(ranks):
        peers = sorted({peer for _, peer in ops if peer is not None})
        here, made = {"type": "i", "index": 0, "size": size}, []
        for name, peer in ops:
            op = {"name": name}
            if peer is not None:
                there = {"buffer_id": peers.index(peer), "index": 0, "size": size}
                op |= {"channel_ids": [peers.index(peer)], "channel_type": "memory"}
                buffers = {"get": ([there], [here]), "put": ([here], [there]), "rre": ([here, there], [here])}
                op["src_buff"], op["dst_buff"] = buffers.get(name, ([], []))
            made.append(op)
        numbers = list(range(len(peers)))
        gpus.append(
            {
                "id": rank, "input_chunks": size, "output_chunks": size, "scratch_chunks": 0,
                "channels": [{"channel_type": "memory", "connected_to": peers}] if peers else [],
                "remote_buffers": [{"rank": p, "type": "i", "access_channel_types": ["memory"]} for p in peers],
                "threadblocks": [{
                    "id": 0, "ops": made, "channels": [{"channel_type": "memory", "channel_ids": numbers}],
                    "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": numbers}],
                }],
            }
        )  # fmt: skip
    head = {"name": "x", "collective": "allreduce", "protocol": "Simple", "inplace": True, "reuse_resources": False}
    return json.dumps(head | {"gpus": gpus})


SYNC = ("nop", None)


def test_one_sided_by_hand():
    """Rank 1 fetches 1 MB (80 us and alpha), puts it to rank 2 and tells it, which puts it to rank 0."""
    done = run_text(
        plus([], [("get", 0), SYNC, ("put", 2), SYNC, ("signal", 2)], [("wait", 1), SYNC, ("put", 0)]), "1MB"
    )
    assert [span[:2] for span in link_spans(done)] == [(0, 1), (1, 2), (2, 3)]
    times = [t * 1e6 for span in link_spans(done) for t in span[2:]]
    assert times == pytest.approx([0, 80, 90, 170, 180, 260])
    fetched = run_text(plus([], [("rre", 0)]), "1MB", reduction="50Gbps")
    assert fetched.time == pytest.approx(160e-6 + 80e-6 + ALPHA)


def test_signals_need_no_link():
    """They take the alpha of the link, or of the one that leads back, or of the fabric."""
    waits = plus([("signal", 2)], [], [("wait", 0), SYNC, ("put", 1)])
    assert run_text(waits, "1MB").time == pytest.approx(ALPHA + 80e-6)
    back = Topology.from_links(3, [2, 2], [0, 1], alpha=[3000, 5000])
    assert run_text(waits, "1MB", back).time == pytest.approx(3e-6 + 160e-6)
    there = Topology.from_links(3, [0, 2, 2], [2, 0, 1], alpha=[1000, 3000, 5000])
    assert run_text(waits, "1MB", there).time == pytest.approx(1e-6 + 160e-6)


@pytest.mark.slow
def test_latency_alone_counts_steps():
    for to in TARGETS:
        done = run("Torus(4,4)", size="0B", to=to)
        assert done.time == pytest.approx(8 * ALPHA)


def test_links_carry_one_message_at_a_time():
    for channels in (1, 3):
        by_link = defaultdict(list)
        for link, _, start, end in link_spans(run("L(K_{2,2})", channels=channels)):
            by_link[link].append((start, end))
        for busy in by_link.values():
            assert all(a[1] <= b[0] + 1e-15 for a, b in pairwise(sorted(busy)))


def test_deterministic():
    a, b = run("C(12,{2,3})", channels=2), run("C(12,{2,3})", channels=2)
    assert np.array_equal(a.start, b.start) and np.array_equal(a.end, b.end)


@pytest.mark.parametrize("to", TARGETS)
def test_overhead_and_reduction_cost_time(to):
    free = run("K_{4,4}", "reduce-scatter", to=to).time
    assert run("K_{4,4}", "reduce-scatter", to=to, instruction_time="1us").time > free + 2e-6
    done = run("K_{4,4}", "reduce-scatter", to=to, reduction="50Gbps")
    assert done.time > free
    slow = Fabric.of("10us", "100Gbps", 4, "50Gbps")
    cost = cost_of(linkstep.parse("K_{4,4}").build("reduce-scatter"))
    assert done.predicted == pytest.approx(float(slow.time(cost, "reduce-scatter", "1MB")))


def test_sums_take_what_they_add():
    """Half of the data each way at 50 Gbps, added at 10 Gbps: 40 us and 400 us."""
    done = run("UniRing(1,2)", "reduce-scatter", reduction="10Gbps", to="cpu")
    assert done.time == pytest.approx(ALPHA + 40e-6 + 400e-6)


@pytest.mark.parametrize("name", FOREIGN)
def test_tight_connections_are_no_faster(name):
    text = (PROGRAMS / name).read_text()
    assert run_text(text, "16MB", tight=True).time >= run_text(text, "16MB").time


def test_links_that_differ():
    square = linkstep.parse("K_{2,2}").topology()
    bandwidth = [10**11] * 7 + [10**10]
    topology = Topology.from_links(4, square.tail, square.head, bandwidth=bandwidth, alpha=[1000] * 8)
    schedule = linkstep.bfb_allgather(topology, size="1MB")
    for to in TARGETS:
        done = simulate_schedule(schedule, to, Fabric.of("10us", "100Gbps", 2), "1MB")
        assert done.predicted == pytest.approx(float(time_of(schedule, "1MB")))
        assert 0 < done.time <= done.predicted * (1 + 1e-9)


def test_fabric_must_have_the_ports():
    schedule = linkstep.parse("K_{4,4}").build()
    with pytest.raises(LinkstepError, match="the fabric has 2 ports a node, the topology needs 4"):
        simulate_schedule(schedule, "msccl", Fabric.of("10us", "100Gbps", 2), "1MB")


def test_topology_must_join_what_is_sent():
    with pytest.raises(LinkstepError, match=r"rank 1 sends to rank 2, which the topology does not join"):
        run_text(LINE, "1MB", Topology.from_links(3, [0, 1, 2], [1, 0, 0]))
    with pytest.raises(LinkstepError, match="the file has 3 ranks, the topology 2 nodes"):
        run_text(LINE, "1MB", Topology.from_links(2, [0, 1], [1, 0]))


def test_what_never_ends_is_refused():
    waits = msccl([(1, 1, 0, [step("r"), step("s")])], [(0, 0, 0, [step("r"), step("s")])])
    with pytest.raises(FileError, match=r"cannot run: deadlock: rank . tb 0 step .: waits for "):
        read_program(waits)
    with pytest.raises(FileError, match="cannot run: matching: "):
        read_program(msccl([(1, -1, 0, [step("s")])], [(-1, 0, 0, [])]))
    with pytest.raises(FileError, match="unknown dialect 'nccl'"):
        read_program(waits, "nccl")


def test_wrong_results_are_simulated_all_the_same():
    """A broadcast that leaves rank 2 without its data: wrong, but it runs."""
    text = msccl([(1, -1, 0, [step("s")])], [(-1, 0, 0, [step("r")])], [])
    assert run_text(text, "1MB").time == pytest.approx(ALPHA + 80e-6)


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("ring-allreduce.msccl.xml", 6 * (ALPHA + 4e6 * 8 / 100e9)),
        ("ring-allgather.msccl.xml", 3 * 4e6 * 8 / 100e9 + ALPHA),  # chunks go on while others arrive
        ("ring-reduce-scatter.azure.xml", 3 * (ALPHA + 4e6 * 8 / 100e9)),
        ("ring-allreduce.cpu.xml", 4 * (ALPHA + 16e6 / 3 * 8 / 100e9)),
        ("allpairs-allreduce.rccl.xml", 2 * (ALPHA + 12e6 * 8 / 100e9)),
        ("direct-all-to-all.rccl.xml", ALPHA + 12e6 * 8 / 100e9),
    ],
)
def test_foreign_files_by_hand(name, seconds):
    done = run_text((PROGRAMS / name).read_text(), "16MB")
    assert done.predicted is None and done.loss == 0
    assert done.time == pytest.approx(seconds)


@pytest.mark.parametrize("name", FOREIGN)
def test_no_file_beats_the_bound(name):
    program = read_program((PROGRAMS / name).read_text())
    topology = used_links(program)
    fabric = Fabric.of("0us", "100Gbps", topology.degree)
    assert simulate_program(program, topology, fabric, "16MB").time >= bound_time(program, fabric, "16MB") * (1 - 1e-9)


def slow_run(program, links, rate, alpha, chunk_bits, instruction):
    """Simulate with fractions and no heap: again and again, what can begin first begins. One link a pair."""
    events, moves = program.events, program.events.moves
    rank = events.rank.tolist()
    before, after = defaultdict(list), defaultdict(list)
    for a, b in [*events.edges.tolist(), *events.flags.tolist(), *events.waits.tolist()]:
        before[b].append(a)
        after[a].append(b)
    wires = defaultdict(lambda: defaultdict(int))
    columns = (column.tolist() for column in (moves.event, moves.dst, moves.src, moves.addend, moves.count))
    for event, dst, src, addend, count in zip(*columns, strict=True):
        if dst == -1:
            peer = next(rank[b] for b in after[event] if rank[b] != rank[event])
            wires[event][rank[event], peer] += count
        elif dst >= 0 and dst // 3 != rank[event]:
            wires[event][rank[event], dst // 3] += count
        for read in (src, addend):
            if read >= 0 and read // 3 != rank[event]:
                wires[event][read // 3, rank[event]] += count
    busy = {e: Fraction(instruction if i else 0) for e, i in enumerate(program.is_instruction.tolist())}
    known, told, start, end = {}, {}, {}, {}
    free = dict.fromkeys(links, Fraction(0))
    waiting = set(range(len(rank)))
    queue = []
    while waiting or queue:
        for e in [e for e in waiting if all(p in end for p in before[e])]:
            waiting.remove(e)
            far = [p for p in before[e] if rank[p] != rank[e]]
            near = [p for p in before[e] if rank[p] == rank[e]]
            fetched = [p for p in near if any(pair[1] == rank[p] for pair in wires[p])]
            known[e] = max([0, *(told[p] for p in far), *(known[p] for p in near), *(known[p] + 1 for p in fetched)])
            told[e] = max([0, *(told[p] for p in near)])
            start[e] = max([Fraction(0), *(end[p] + alpha * (rank[p] != rank[e]) for p in before[e])])
            if wires[e]:
                told[e] = max(told[e], known[e] + 1)
                queue += [(start[e] + busy[e], known[e], int(events.step[e]), e, *pair) for pair in wires[e]]
            else:
                end[e] = start[e] + busy[e]
                break
        else:
            now, _, _, e, *pair = min(queue)
            queue.remove(min(queue))
            pair = tuple(pair)
            begins = max(now, free[pair])
            free[pair] = begins + wires[e][pair] * chunk_bits / rate
            done = free[pair] + alpha * (pair[1] == rank[e])
            left = [q for q in queue if q[3] == e]
            busy[e, "until"] = max(busy.get((e, "until"), 0), done)
            if not left:
                end[e] = busy[e, "until"]
    return start, end


RECIPES = ["K_{2,2}", "UniRing(1,3)", "BiRing(2,5)", "K_4", "C(5,{1,2})"]


@given(
    recipe=st.sampled_from(RECIPES),
    what=st.sampled_from([(to, c) for to in TARGETS for c in COLLECTIVES if c in TARGETS[to].collectives]),
    instances=st.integers(1, 2),
    chunk=st.integers(0, 3),
    alpha=st.integers(0, 4),
    instruction=st.integers(0, 1),
)
def test_property_as_the_slow_twin(recipe, what, instances, chunk, alpha, instruction):
    to, collective = what
    schedule = linkstep.parse(recipe).build(collective)
    program = read_program(lower(schedule, to, instances=instances).text)
    agrees_with_twin(program, schedule.topology, chunk, alpha, instruction)


@given(name=st.sampled_from(FOREIGN), chunk=st.integers(0, 3), alpha=st.integers(0, 4), instruction=st.integers(0, 1))
def test_property_foreign_files_as_the_slow_twin(name, chunk, alpha, instruction):
    program = read_program((PROGRAMS / name).read_text())
    agrees_with_twin(program, used_links(program), chunk, alpha, instruction)


def agrees_with_twin(program, topology, chunk, alpha, instruction):
    """All in seconds: a chunk, of ``chunk`` bytes, takes as many, so ties are ties in both."""
    links = set(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))
    if len(links) < topology.num_links:
        return
    start, end = slow_run(program, links, 8, alpha, 8 * chunk, instruction)
    fabric = Fabric.of(f"{alpha}s", 8 * topology.degree, topology.degree)
    done = simulate_program(program, topology, fabric, chunk * program.chunks, instruction_time=f"{instruction}s")
    assert done.start.tolist() == pytest.approx([float(start[e]) for e in range(len(start))], abs=1e-9)
    assert done.end.tolist() == pytest.approx([float(end[e]) for e in range(len(end))], abs=1e-9)
