"""MSCCL++ plans: the first step waits for nobody, and runs one after another do not disturb each other."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.core.topology import Topology
from linkstep.costs import Fabric
from linkstep.lowering import lower
from linkstep.simulation import simulate_schedule
from linkstep.verification import verify_text
from support import interpreters as runtimes
from support.strategies import right_cases

COLLECTIVES = ["allgather", "reduce-scatter", "allreduce", "broadcast", "all-to-all"]
RECIPES = [
    "UniRing(1,3)",
    "UniRing(2,4)",
    "BiRing(2,6)",
    "C(7,{2,3})",
    "K_{2,2}",
    "Diamond",
    "H(2,3)",
    "DBJ(2,3)",
    "K_3*2",
]
WAITS = {"wait", "barrier"}


def plus(recipe, collective, **options):
    return lower(linkstep.parse(recipe).build(collective), "mscclpp", **options)


def blocks(text):
    """Yield the (rank, operations) of every threadblock."""
    for gpu in json.loads(text)["gpus"]:
        for tb in gpu["threadblocks"]:
            yield gpu["id"], tb["ops"]


def before_put(ops):
    """The names of what comes before the first put, or None where there is none."""
    names = [op["name"] for op in ops]
    return set(names[: names.index("put")]) if "put" in names else None


@pytest.mark.slow
@pytest.mark.parametrize("inplace", [False, True], ids=["out", "in"])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_the_first_step_waits_for_nobody(collective, inplace):
    for recipe in RECIPES:
        for options in ({}, {"channels": 2}, {"instances": 2}):
            lowered = plus(recipe, collective, inplace=inplace and collective != "all-to-all", **options)
            topology, messages = lowered.placement.schedule.topology, lowered.placement.messages
            first = {(topology.tail[m.link], topology.head[m.link], m.channel) for m in messages if m.step == 1}
            begin = [before for _, ops in blocks(lowered.text) if (before := before_put(ops)) is not None]
            assert sum(not before & WAITS for before in begin) == len(first) > 0


def test_what_waits_for_nobody_lands_in_scratch():
    for collective in COLLECTIVES:
        plan = json.loads(plus("Torus(3,3)", collective).text)
        for gpu in plan["gpus"]:
            for tb in gpu["threadblocks"]:
                ops, refs = tb["ops"], [b for e in tb["remote_buffer_refs"] for b in e["remote_buffer_ids"]]
                if (before := before_put(ops)) is None or before & WAITS:
                    continue
                put = next(op for op in ops if op["name"] == "put")
                assert {gpu["remote_buffers"][refs[dst["buffer_id"]]]["type"] for dst in put["dst_buff"]} == {"s"}


def test_one_step_has_a_handshake():
    """Nothing could be gained: its puts go where they belong, after the handshake."""
    lowered = plus("K_5", "allgather")
    assert all({"signal", "wait"} <= before_put(ops) for _, ops in blocks(lowered.text))
    assert not any(gpu["scratch_chunks"] for gpu in json.loads(lowered.text)["gpus"])
    runtimes.run_mscclpp(lowered.text, runs=3)


def test_what_would_not_fit_has_a_handshake():
    """No further channel is taken for the sake of the first step."""
    lowered = plus("UniRing(1,16)", "allgather")
    assert lowered.channels == 1
    assert all("wait" in before for _, ops in blocks(lowered.text) if (before := before_put(ops)) is not None)
    assert verify_text(lowered.text).is_verified
    assert not any("wait" in (before_put(ops) or ()) for _, ops in blocks(plus("UniRing(1,15)", "allgather").text))


def test_a_signal_that_comes_anyway_is_enough():
    """Both ends of a link of a torus send at every step: no handshake, and no acknowledgement."""
    lowered = plus("Torus(3,3)", "allgather")
    for _, ops in blocks(lowered.text):
        names = [op["name"] for op in ops]
        assert names.count("signal") == names.count("wait") == 2


@pytest.mark.slow
@given(
    st.sampled_from([*RECIPES, "K_4", "C(8,{1,3})", "Torus(3,3)", "Pi_{2,6}", "L(K_3)"]),
    st.sampled_from(COLLECTIVES), st.booleans(), st.integers(1, 3), st.integers(1, 2), st.integers(),
)  # fmt: skip
@settings(max_examples=10, deadline=None)
def test_property_runs_in_a_row(recipe, collective, inplace, channels, instances, seed):
    inplace = inplace and collective != "all-to-all"
    text = plus(recipe, collective, inplace=inplace, channels=channels, instances=instances).text
    runtimes.run_mscclpp(text, seed, runs=3)
    assert verify_text(text).is_verified


@given(right_cases(), st.booleans(), st.integers(1, 2), st.integers())
@settings(max_examples=15, deadline=None)
def test_property_any_valid_schedule_runs_in_a_row(case, inplace, channels, seed):
    schedule = case.schedule()
    inplace = inplace and not schedule.collective.exchanges
    if schedule.collective in COLLECTIVES:
        text = lower(schedule, "mscclpp", inplace=inplace, channels=channels).text
        runtimes.run_mscclpp(text, seed, runs=2)
        assert verify_text(text).is_verified


def without(text, signal, wait):
    """Take a signal (the k-th) away from the threadblocks that only receive, and a wait from those that only send."""
    plan = json.loads(text)
    for gpu in plan["gpus"]:
        for tb in gpu["threadblocks"]:
            sends = any(op["name"] == "put" for op in tb["ops"])
            name, k = ("wait", wait) if sends else ("signal", signal)
            at = [n for n, op in enumerate(tb["ops"]) if op["name"] == name]
            del tb["ops"][at[k]]
    return json.dumps(plan)


@pytest.mark.parametrize("k", [0, -1], ids=["handshake", "acknowledgement"])
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter"])
def test_handshake_and_acknowledgement_are_needed(collective, k):
    """A test of the tests, too: without one of the two, runs in a row go wrong in some order."""
    text = without(plus("UniRing(1,4)", collective).text, k, k)
    assert {f.rule for f in verify_text(text).errors} == {"race"}
    with pytest.raises((AssertionError, runtimes.Stuck), match=r"has a wrong|before it is written|was changed"):
        for seed in range(200):
            runtimes.run_mscclpp(text, seed, runs=3)


def test_the_tiny_runtime_notices_in_the_second_run():
    """A plan that never waits for an acknowledgement is right if it runs once."""
    text = without(plus("UniRing(1,4)", "allgather").text, -1, -1)
    for seed in range(50):
        runtimes.run_mscclpp(text, seed)


def test_sums_of_many_begin_with_the_input():
    """Eleven contributions at once: the first operation takes the input and nine of them, the second the rest."""
    n = 12
    star = [(u, 0) for u in range(1, n)] + [(0, u) for u in range(1, n)]
    topology = Topology.from_links(n, [u for u, _ in star], [w for _, w in star])
    link = {(int(u), int(w)): e for e, (u, w) in enumerate(zip(topology.tail, topology.head, strict=True))}
    rows = [(0, link[u, 0], 1) for u in range(1, n)]
    rows += [(v, link[u, 0], 1) for v in range(1, n) for u in range(1, n) if u != v]
    rows += [(v, link[0, v], 2) for v in range(1, n)]
    schedule = linkstep.Schedule.from_columns(
        topology, 1, [v for v, _, _ in rows], [0] * len(rows), [1] * len(rows), [e for _, e, _ in rows],
        [t for _, _, t in rows], "reduce-scatter",
    )  # fmt: skip
    for inplace in (False, True):
        text = lower(schedule, "mscclpp", inplace=inplace).text
        runtimes.run_mscclpp(text, runs=2)
        assert verify_text(text).is_verified
        sums = [[src["type"] for src in op["src_buff"]] for _, ops in blocks(text) for op in ops if op["name"] == "re"]
        assert max(len(sources) for sources in sums) == 10
        assert ["i", *["s"] * 9] in sums


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_no_latency_is_lost(collective):
    for recipe in ["UniRing(1,4)", "Torus(3,3)", "DBJ(2,3)", "K_{2,2}"]:
        schedule = linkstep.parse(recipe).build(collective)
        fabric = Fabric.of("10us", "100Gbps", schedule.topology.degree)
        assert simulate_schedule(schedule, "mscclpp", fabric, "0B").loss == pytest.approx(0)


def test_the_plan_has_the_scratch_that_is_printed():
    lowered = plus("Torus(3,3)", "allgather")
    plan = json.loads(lowered.text)
    assert [gpu["scratch_chunks"] for gpu in plan["gpus"]] == [s for _, _, s in lowered.placement.sizes] == [4] * 9
    # The executor would exchange the halves for packets only, and a put would go to the wrong one.
    assert plan["use_double_scratch_buffer"] is False
