"""MSCCL++ plans: styles of shipped plans are verified, packets and relaxed signals, races as all pairs show."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
import linkstep.verification.races as engine
from linkstep.core.errors import LinkstepError
from linkstep.lowering import lower
from linkstep.verification import verify_text
from support import mscclpp as verify_plus
from support import random_programs as verify_random
from support.plans import (
    MEMORY,
    NOP,
    far,
    found,
    local,
    mixed_allreduce,
    op,
    packet_allgather,
    packet_allreduce,
    pair,
    port_allgather,
    simple_allgather,
    warned,
)
from support.verdicts import PROGRAMS


@pytest.mark.parametrize(
    "plan",
    [
        simple_allgather(), simple_allgather(""), packet_allgather(), packet_allgather("port"), packet_allreduce(),
        packet_allreduce(inplace=True), packet_allreduce(use_double_scratch_buffer=True), mixed_allreduce(),
        port_allgather(),
    ],
)  # fmt: skip
def test_the_styles_of_shipped_plans_are_verified(plan):
    assert not found(plan) and not warned(plan)
    assert not verify_plus.has_race(plan)


def test_a_relaxed_signal_makes_nothing_seen():
    assert found(simple_allgather(end="rlx")) == {"race"}
    plan = simple_allgather()
    del plan["gpus"][0]["threadblocks"][0]["ops"][:3]
    assert found(plan) == {"matching"}


def test_packets_are_not_overwritten_by_the_next_run():
    """An allgather's sender hears nothing of its reader, unless two runs take turns."""
    assert found(packet_allgather(use_double_scratch_buffer=False)) == {"race"}
    assert found(packet_allgather(protocol="Simple")) == {"proto"}


def packet_ops(plan, rank, tb):
    return plan["gpus"][rank]["threadblocks"][tb]["ops"]


def test_packets_are_written_once_and_read_if_written():
    plan = packet_allgather()
    packet_ops(plan, 0, 0).clear()
    assert found(plan) == {"matching"}
    plan = packet_allgather()
    packet_ops(plan, 0, 0).append(packet_ops(plan, 0, 0)[0])
    assert found(plan) == {"race"}


def test_packets_that_wait_for_each_other():
    plan = packet_allreduce(("respkt", "respkt"))
    for gpu in plan["gpus"]:
        send, reduce, rest = (tb["ops"] for tb in gpu["threadblocks"])
        gpu["threadblocks"][0]["ops"] = [*reduce, *send, *rest]
        gpu["threadblocks"][1]["ops"] = gpu["threadblocks"][2]["ops"] = []
    assert found(plan) == {"deadlock"}


def test_a_packet_orders_what_was_read_but_shows_nothing_else():
    """Rank 1 writes plainly into the input that rank 0 has sent; or reads what rank 0 has written plainly before."""
    send = op("ppkt", [local("i", 0)], [far("s", 0)], channel_type="memory")
    take = op("upkt", [local("s", 0)], [local("o", 0)])
    put = op("put", [local("o", 1)], [far("i", 0)], channel_type="memory")
    end = [NOP, {"name": "signal"} | MEMORY, {"name": "wait"} | MEMORY, NOP]
    plan = pair([[[send, *end]], [[take, NOP, put, *end]]], (2, 2, 1), protocol="LL")
    assert "race" not in found(plan)
    show = op("put", [local("i", 1)], [far("o", 1)], channel_type="memory")
    copy = op("copy", [local("o", 1)], [local("o", 0)])
    wait = [{"name": "signal"} | MEMORY, {"name": "wait"} | MEMORY, NOP]
    plan = pair([[[*wait, show, NOP, send, *end]], [[*wait, take, NOP, copy, *end]]], (2, 2, 1), protocol="LL")
    assert "race" in found(plan) and verify_plus.has_race(plan)


def races_are_those_of_all_pairs(seed):
    plan = verify_plus.random_plan(seed)
    rules = found(plan)
    if rules <= {"race", "result", "input-written"}:
        assert ("race" in rules) == verify_plus.has_race(plan)


@given(st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_property_races_are_those_of_all_pairs(seed):
    races_are_those_of_all_pairs(seed)


@pytest.mark.slow
@given(st.integers(0, 2**32))
@settings(max_examples=1000, deadline=None)
def test_property_more_races_are_those_of_all_pairs(seed):
    races_are_those_of_all_pairs(seed)


@pytest.mark.slow
def test_too_many_doubts_are_settled_by_the_clocks_of_all(monkeypatch):
    monkeypatch.setattr(engine, "_DOUBTS", 0)
    for seed in range(80):
        plan = verify_plus.random_plan(seed)
        rules = found(plan)
        assert rules == {"steps"} or ("race" in rules) == verify_plus.has_race(plan)


def test_random_plans_are_of_both_kinds():
    races = [verify_plus.has_race(verify_plus.random_plan(seed)) for seed in range(100)]
    assert 20 <= sum(races) <= 80


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        (PROGRAMS / "allpairs-allreduce.mscclpp.json").read_text(),
        (PROGRAMS / "ports-allgather.mscclpp.json").read_text(), json.dumps(packet_allreduce(end=[NOP])),
        json.dumps(mixed_allreduce()),
        lower(linkstep.parse("UniRing(1,4)").build("allreduce"), "mscclpp").text,
    ],
)  # fmt: skip
def test_mutants_race_as_all_pairs_say(text):
    seen = {False: 0, True: 0}
    for what, mutant in verify_random.plus_mutants(text, count=80, seed=11):
        plan = json.loads(mutant)
        rules = found(plan)
        if rules <= {"race", "result", "input-written"}:
            assert ("race" in rules) == verify_plus.has_race(plan), what
            seen["race" in rules] += 1
    assert seen[False] >= 5


def test_order_that_comes_by_a_third_rank():
    """0 writes to 2 and tells 1, 1 tells 2: found only with the clocks of all."""
    maker = verify_plus.Maker(0, 3, 1)
    maker.is_packed, maker.inplace = False, False
    maker.everyone(1.0)
    put = op("put", [local("i", 0)], [maker.far(0, 2, "s") | {"index": 0}], channel_type="memory")
    maker.ops[0][0] += [put, NOP]
    for a, b in ((0, 1), (1, 2)):
        maker.ops[a][0] += [NOP, {"name": "signal"} | maker.end(a, b, "memory")]
        maker.ops[b][0] += [{"name": "wait"} | maker.end(b, a, "memory"), NOP]
    maker.ops[2][0].append(op("copy", [local("s", 0)], [local("o", 0)]))
    plan = maker.text()
    assert found(plan) == {"result"} and not verify_plus.has_race(plan)
    maker.ops[1][0] = maker.ops[1][0][:-4] + maker.ops[1][0][-2:] + maker.ops[1][0][-4:-2]
    plan = maker.text()
    assert found(plan) == {"race"} and verify_plus.has_race(plan)


@pytest.mark.slow
def test_the_search_stays_near(monkeypatch):
    """Clocks are kept for the neighbours of a rank, not for all ranks: about a constant times the events in all."""
    asked = []
    search = engine._find_unordered
    monkeypatch.setattr(
        engine, "_find_unordered", lambda order, *rest: asked.append(order.size) or search(order, *rest)
    )
    shares = []
    for recipe in ("Q(3)", "Q(4)", "Q(5)"):
        asked.clear()
        report = verify_text(lower(linkstep.parse(recipe).build("allreduce"), "mscclpp").text)
        assert report.is_verified and len(asked) == report.ranks
        shares.append(sum(asked) / report.instructions)
    assert max(shares) < 20


def test_the_writer_keeps_offsets_within_32_bits():
    schedule = linkstep.parse("K_4").build("allreduce")
    plan = json.loads(lower(schedule, "mscclpp", max_bytes=2**40).text)
    gpu = plan["gpus"][0]
    largest = max(gpu["input_chunks"], gpu["output_chunks"], gpu["scratch_chunks"])
    assert plan["max_message_size"] == 64 * ((2**32 - 1) * gpu["input_chunks"] // largest // 64)
    assert json.loads(lower(schedule, "mscclpp", max_bytes=2**20).text)["max_message_size"] == 2**20
    with pytest.raises(LinkstepError, match="bytes of the smallest message"):
        lower(schedule, "mscclpp", min_bytes=2**33, max_bytes=2**34)


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce", "broadcast"])
@pytest.mark.parametrize("inplace", [False, True])
def test_lowered_plans_have_no_other_finding(collective, inplace):
    report = verify_text(lower(linkstep.parse("Torus(3,2)").build(collective), "mscclpp", inplace=inplace).text)
    assert report.is_verified and {f.rule for f in report.findings} <= {"root"}
