"""Lowering: what is printed runs right in tiny runtimes of our own, keeps limits, and says what will not fit."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import COLLECTIVES, Schedule
from linkstep.core.topology import Topology
from linkstep.lowering import TARGETS, chunk_grid, lower
from linkstep.verification import verify_text
from support import interpreters as runtimes
from support.strategies import right_cases

SMALL = [
    "UniRing(1,2)",
    "UniRing(2,3)",
    "K_{2,2}",
    "C(7,{2,3})",
    "Diamond",
    "H(2,3)",
    "DBJ(2,3)",
    "K_3*2",
    "L(K_{2,2})",
]
LARGE = ["K_{4,4}", "C(12,{2,3})", "Torus(4,4)", "Q(4)", "L(K_{4,4})", "DistReg(4,32)", "Pi_{4,64}"]
CASES = [(to, coll) for to, target in TARGETS.items() for coll in target.collectives]
MODES = [(*case, inplace) for case in CASES for inplace in (False, True) if case[1] != "all-to-all" or not inplace]
MODE_IDS = [f"{to}-{coll}-{'in' if inplace else 'out'}" for to, coll, inplace in MODES]

GOLDEN = """\
<algo name="UniRing(1,2)" ngpus="2" nchunksperloop="2" nchannels="1" proto="Simple" coll="allreduce" inplace="0" \
outofplace="1" minBytes="0" maxBytes="1099511627777">
<!-- linkstep {version}: allreduce on UniRing(1,2), 2 alpha + 1 M/B -->
<gpu id="0" i_chunks="2" o_chunks="2" s_chunks="0">
<tb id="0" send="-1" recv="1" chan="0">
<step s="0" type="rrc" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1" />
<step s="1" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0" />
</tb>
<tb id="1" send="1" recv="-1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0" />
<step s="1" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="0" deps="0" hasdep="0" />
</tb>
</gpu>
<gpu id="1" i_chunks="2" o_chunks="2" s_chunks="0">
<tb id="0" send="0" recv="0" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0" />
<step s="1" type="rrcs" srcbuf="i" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0" />
<step s="2" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0" />
</tb>
</gpu>
</algo>
"""


def test_golden_msccl():
    text = lower(linkstep.parse("UniRing(1,2)").build("allreduce"), "msccl").text
    assert text == GOLDEN.format(version=linkstep.__version__)


def test_golden_cpu():
    """The example in the definition of the format is what we print."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "cpu-xml.md").read_text()
    example = re.search(r"```xml\n(.*?)```", page, re.S)[1]
    assert lower(linkstep.parse("UniRing(1,2)").build("allreduce"), "cpu").text == example


@pytest.mark.parametrize(("to", "collective", "inplace"), MODES, ids=MODE_IDS)
def test_every_collective_runs(to, collective, inplace):
    """Recipes take turns: some of them for each runtime and collective; ``slow`` has all."""
    turn = CASES.index((to, collective)) + inplace
    for seed, recipe in enumerate(SMALL[turn % 9 :: 9]):
        run_small(recipe, to, collective, inplace, seed)


def run_small(recipe, to, collective, inplace, seed):
    schedule = linkstep.parse(recipe).build(collective)
    options = {"channels": 2, "instances": 3} if seed % 2 else {}
    runtimes.run(lower(schedule, to, inplace=inplace, **options).text, to, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("to", "collective", "inplace"), MODES, ids=MODE_IDS)
def test_every_collective_runs_on_all(to, collective, inplace):
    for recipe in SMALL:
        for seed in (0, 1):
            run_small(recipe, to, collective, inplace, seed)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", LARGE)
def test_larger_ones_run(recipe):
    for collective in ("allgather", "reduce-scatter", "allreduce"):
        schedule = linkstep.parse(recipe).build(collective)
        for to in TARGETS:
            runtimes.run(lower(schedule, to).text, to)


@given(
    st.sampled_from(["K_4", "C(8,{1,3})", "UniRing(1,5)", "BiRing(2,6)", "Torus(3,3)", "Pi_{2,6}", "L(K_3)"]),
    st.sampled_from(CASES), st.booleans(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(),
)  # fmt: skip
@settings(max_examples=15, deadline=None)
def test_property_runs(recipe, case, inplace, channels, instances, finer, seed):
    to, collective = case
    schedule = linkstep.parse(recipe).build(collective)
    chunks = finer * chunk_grid(schedule)
    inplace = inplace and collective != "all-to-all"
    options = {"channels": channels, "instances": instances, "chunks": chunks, "inplace": inplace}
    runtimes.run(lower(schedule, to, **options).text, to, seed)


@given(right_cases(), st.booleans(), st.integers(1, 2), st.integers(1, 2), st.integers())
@settings(max_examples=20, deadline=None)
def test_property_any_valid_schedule_runs(case, inplace, channels, instances, seed):
    """Random schedules: uneven chunks, what a node already has sent again, phases that overlap."""
    schedule = case.schedule()
    inplace = inplace and not schedule.collective.exchanges
    for to in (to for to, coll in CASES if coll == schedule.collective):
        lowered = lower(schedule, to, inplace=inplace, channels=channels, instances=instances)
        runtimes.run(lowered.text, to, seed)
        assert verify_text(lowered.text, to).is_verified


@pytest.mark.parametrize(
    ("to", "pattern", "without"),
    [
        ("msccl", r'depid="\d+" deps="\d+"', 'depid="-1" deps="-1"'),
        ("rccl", r'depid="\d+" deps="\d+"', 'depid="-1" deps="-1"'),
        ("cpu", r'ops="[^"]*"', 'ops=""'),
        ("mscclpp", r'"name": "barrier"', '"name": "nop"'),
    ],
)
def test_the_tiny_runtimes_notice_what_is_missing(to, pattern, without):
    """A test of the tests: without what makes it wait, a program goes wrong in some order."""
    text = lower(linkstep.parse("Torus(3,3)").build("allreduce"), to).text
    with pytest.raises((AssertionError, runtimes.Stuck), match=r"wrong allreduce|before it is written"):
        for seed in range(10):
            runtimes.run(re.sub(pattern, without, text), to, seed)


def test_what_a_rank_has_is_not_received_again():
    """Redundant rows are allowed in an allgather; lowered, every chunk is written once."""
    ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    schedule = Schedule.from_columns(
        ring, 1, [0, 1, 2, 2, 0, 1, 1, 2, 0], [0] * 9, [1] * 9, [0, 1, 2, 0, 1, 2, 0, 1, 2], [1, 1, 1, 2, 2, 2, 3, 3, 3]
    )  # fmt: skip
    linkstep.check(schedule)
    assert len(lower(schedule, "cpu").placement.messages) == 6
    for to in TARGETS:
        runtimes.run(lower(schedule, to).text, to)


def test_one_rank_alone():
    alone = Topology.from_links(1, [], [])
    for collective in COLLECTIVES:
        schedule = Schedule.from_columns(alone, 1, [], [], [], [], [], collective)
        for to, _, inplace in (mode for mode in MODES if mode[1] == collective):
            runtimes.run(lower(schedule, to, inplace=inplace).text, to)


@pytest.mark.parametrize("to", TARGETS)
def test_all_to_all_is_lowered_out_of_place_only(to):
    """What arrives would overwrite what is to be sent."""
    ring = Topology.from_links(2, [0, 1], [1, 0])
    schedule = Schedule.from_columns(ring, 2, [0, 1], [1, 0], [2, 1], [0, 1], [1, 1], "all-to-all")
    runtimes.run(lower(schedule, to).text, to)
    with pytest.raises(LinkstepError, match=r"^all-to-all is lowered out of place only: ") as caught:
        lower(schedule, to, inplace=True)
    assert "\n" not in str(caught.value)


def test_roots_other_than_0():
    for collective in ("broadcast", "reduce"):
        runtimes.run(lower(linkstep.parse("Torus(3,3)").build(collective, 5), "cpu").text, "cpu")


def test_chunks_are_as_few_as_will_do():
    schedule = linkstep.parse("Torus(4,4)").build()
    assert (schedule.unit, chunk_grid(schedule)) == (4, 4)
    finer = Schedule.from_columns(
        schedule.topology, 12, schedule.source, schedule.lo * 3, schedule.hi * 3, schedule.link, schedule.step
    )
    assert lower(finer, "cpu").placement.num_chunks == 64


def test_parallel_links_are_different_channels():
    placement = lower(linkstep.parse("UniRing(3,4)").build(), "msccl").placement
    assert placement.num_channels == 3
    by_link = {m.link: m.channel for m in placement.messages}
    assert sorted(by_link[e] for e in range(3)) == [0, 1, 2]


def test_big_counts_are_split():
    schedule = linkstep.parse("UniRing(1,2)").build()
    text = lower(schedule, "rccl", chunks=200).text
    counts = [int(s.get("cnt")) for s in ElementTree.fromstring(text).iter("step")]
    assert max(counts) == 71 and counts.count(58) == 2 * 3  # send, receive and copy of each rank
    runtimes.run(text, "rccl")
    assert 'cnt="200"' in lower(schedule, "cpu", chunks=200).text


LIMITS = {"msccl": (256, 108, 32), "msccl-azure": (64, 1024, 32), "rccl": (64, 64, 128)}  # as FORMATS has them


@pytest.mark.slow
@pytest.mark.parametrize("to", LIMITS)
@pytest.mark.parametrize("recipe", ["L(K_{4,4})", "C(12,{2,3})"])
def test_limits_are_kept(to, recipe):
    """Read from the text alone: steps, threadblocks, channels, counts, types, line format."""
    text = lower(linkstep.parse(recipe).build("allreduce"), to).text
    algo = ElementTree.fromstring(text)
    steps, blocks, channels = LIMITS[to]
    assert int(algo.get("nchannels")) <= channels
    for gpu in algo:
        assert len(gpu) <= blocks
        assert 1 + len(algo) + len(gpu) + len(list(gpu.iter("step"))) <= 4095
        for direction in ("send", "recv"):
            ends = [(tb.get(direction), tb.get("chan")) for tb in gpu if tb.get(direction) != "-1"]
            assert len(ends) == len(set(ends))
        for tb in gpu:
            assert len(tb) <= steps and int(tb.get("chan")) < int(algo.get("nchannels"))
            for step in tb:
                assert 1 <= int(step.get("cnt")) <= 71
                assert len(step.attrib) == 10 and int(step.get("depid")) <= 127
                if step.get("depid") != "-1":
                    assert gpu[int(step.get("depid"))][int(step.get("deps"))].get("hasdep") == "1"
    kinds = {step.get("type") for step in algo.iter("step")}
    fused = {"rrc", "rcs", "rrs", "rrcs"}
    assert kinds <= {"s", "r", "cpy", "nop"} | ({"re"} if to == "rccl" else fused)
    assert not re.search(r"\t|  |'", text) and text.isascii()


def test_more_channels_where_steps_would_not_fit():
    lowered = lower(linkstep.parse("UniRing(1,24)").build("allreduce"), "rccl")
    assert lowered.channels > 1
    assert max(len(tb.instructions) for blocks in lowered.blocks.ranks for tb in blocks) <= 64


@pytest.mark.slow
def test_mscclpp_operations_fit():
    plan = json.loads(lower(linkstep.parse("Torus(4,8)").build("allreduce"), "mscclpp").text)
    assert max(len(tb["ops"]) for gpu in plan["gpus"] for tb in gpu["threadblocks"]) <= 64


@pytest.mark.parametrize(
    ("recipe", "collective", "to", "options", "message"),
    [
        ("K_5", "reduce", "mscclpp", {}, "mscclpp has no reduce: lower it to msccl or msccl-azure or rccl or cpu"),
        ("K_5", "allgather", "nccl", {}, "must be one of mscclpp, msccl, msccl-azure, rccl, cpu, not 'nccl'"),
        ("K_5", "allgather", "cpu", {"proto": "LL"}, "cpu has no protocol LL, only Simple"),
        ("Torus(4,4)", "allgather", "cpu", {"chunks": 6}, "chunks must be a multiple of 4, what this schedule cuts"),
        ("K_5", "allgather", "cpu", {"instances": 0}, "instances must be at least 1, not 0"),
        ("K_5", "allgather", "cpu", {"channels": 0}, "channels must be at least 1, not 0"),
        ("K_5", "allgather", "msccl", {"min_bytes": 5, "max_bytes": 5}, "0 <= min < max < 2^62 bytes, not 5 to 5"),
        ("K_5", "allgather", "msccl", {"chunks": 10000},
         "chunks of data: 50000, 17233 over the limit of 32767; leave out --instances and --chunks, or lower it to"),
        ("K_5", "allgather", "msccl", {"instances": 33}, "channels: 33, 1 over the limit of 32; leave out --inst"),
        ("K_5", "allgather", "cpu", {"chunks": 10**8}, "moves of a chunk over a link: 2000000000, 19"),
        pytest.param("UniRing(1,66)", "allreduce", "rccl", {"channels": 1},
                     "steps of a threadblock: 195, 131 over the limit of 64; leave out --channels or lower it to msccl",
                     marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(recipe, collective, to, options, message):
    with pytest.raises(LinkstepError) as caught:
        lower(linkstep.parse(recipe).build(collective), to, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_are_safe_for_every_parser():
    ring = Topology.from_links(2, [0, 1], [1, 0], 'a<b> & "c"=\t' + "x" * 300)
    schedule = Schedule.from_columns(ring, 1, [0, 1], [0, 0], [1, 1], [0, 1], [1, 1])
    for to in TARGETS:
        runtimes.run(lower(schedule, to).text, to)
    assert len(ElementTree.fromstring(lower(schedule, "msccl").text).get("name")) < 256
