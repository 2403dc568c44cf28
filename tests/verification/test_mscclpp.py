"""MSCCL++ plans: what the loader and the executor ask for, packets and relaxed signals, races as all pairs show."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
import linkstep.verification.races as engine
import support
from linkstep.core.errors import FileError, LinkstepError
from linkstep.lowering import lower
from linkstep.verification import verify_text
from support import mscclpp as verify_plus
from support import random_programs as verify_random

PROGRAMS = Path(support.__file__).parent / "programs"
NOP = {"name": "nop"}
MEMORY, PORT = {"channel_ids": [0], "channel_type": "memory"}, {"channel_ids": [0], "channel_type": "port"}


def local(kind, index, size=1):
    return {"type": kind, "index": index, "size": size}


def far(kind, index, size=1):
    """A buffer of the only other rank, of a plan made by ``pair``."""
    return {"buffer_id": "ios".index(kind), "index": index, "size": size}


def op(name, src=(), dst=(), **fields):
    return {"name": name, "src_buff": list(src), "dst_buff": list(dst)} | fields


def pair(blocks, sizes, collective="allreduce", **head):
    """A plan of two ranks; each block has one channel of each type and all buffers of the other rank."""
    gpus = []
    for r in range(2):
        ids, kinds = list(range(len(blocks[r]))), ("memory", "port")
        tbs = [
            {"id": t, "ops": ops, "channels": [{"channel_type": k, "channel_ids": [t]} for k in kinds],
             "remote_buffer_refs": [{"access_channel_type": k, "remote_buffer_ids": [0, 1, 2]} for k in kinds]}
            for t, ops in enumerate(blocks[r])
        ]  # fmt: skip
        gpus.append(
            {"id": r, "threadblocks": tbs,
             "channels": [{"channel_type": k, "connected_to": [1 - r] * len(ids)} for k in kinds],
             "remote_buffers": [{"rank": 1 - r, "type": x, "access_channel_types": list(kinds)} for x in "ios"]}
            | dict(zip(("input_chunks", "output_chunks", "scratch_chunks"), sizes, strict=True))
        )  # fmt: skip
    return {"name": "pair", "collective": collective, "protocol": "Simple", "inplace": False, "gpus": gpus} | head


def found(plan):
    """The rules a plan breaks, or {"unreadable"}."""
    try:
        report = verify_text(json.dumps(plan))
        return {f.rule for f in report.errors + report.unknowns}
    except FileError as error:
        assert "\n" not in str(error) and len(str(error)) < 300
        return {"unreadable"}


def warned(plan):
    return {f.rule for f in verify_text(json.dumps(plan)).warnings}


def simple_allgather(start="rlx", end=""):
    """In place: tell that the run has begun, put, tell that it is there."""
    blocks = []
    for r in range(2):
        put = op("put", [local("o", r)], [far("o", r)], channel_type="memory")
        begin = [{"name": start + "signal"} | MEMORY, {"name": start + "wait"} | MEMORY, NOP]
        blocks.append([[*begin, put, NOP, {"name": end + "signal"} | MEMORY, {"name": end + "wait"} | MEMORY, NOP]])
    return pair(blocks, (1, 2, 0), "allgather", inplace=True)


def packet_allgather(over="memory", **head):
    """One rank sends its packets itself, the other through its own scratch; both unpack what comes."""
    blocks = [
        [[op("ppkt", [local("o", 0)], [far("s", 0)], channel_type="memory")],
         [op("upkt", [local("s", 1)], [local("o", 1)])]],
        [[op("cpkt", [local("o", 1)], [local("s", 1)])],
         [op("rppkt", [local("s", 1)], [far("s", 1)], channel_ids=[0], channel_type=over)],
         [op("upkt", [local("s", 0)], [local("o", 0)])]],
    ]  # fmt: skip
    head = {"protocol": "LL", "inplace": True, "use_double_scratch_buffer": True} | head
    return pair(blocks, (1, 2, 2), "allgather", **head)


def packet_allreduce(names=("respkt", "recspkt"), end=(), **head):
    """Each rank sums its half of what both have and sends it back."""
    blocks = []
    for r in range(2):
        kept = [local("s", 4, 2)] if names[r] == "recspkt" else []
        reduce = op(
            names[r], [local("i", 2 * r, 2), local("s", 0, 2)], [local("o", 2 * r, 2), *kept, far("s", 2, 2)],
            channel_type="memory",
        )  # fmt: skip
        send = op("ppkt", [local("i", 2 - 2 * r, 2)], [far("s", 0, 2)], channel_type="memory")
        take = op("upkt", [local("s", 2, 2)], [local("o", 2 - 2 * r, 2)])
        blocks.append([[send, *end], [reduce, *end], [take, *end]])
    return pair(blocks, (4, 4, 6), **({"protocol": "LL"} | head))


def mixed_allreduce():
    """In place, all kinds of reductions: rank 0 reads and sends, rank 1 reads, copies and puts."""
    both = [NOP, {"name": "signal"} | MEMORY, {"name": "wait"} | MEMORY, NOP]
    first = [
        op("copy", [local("i", 2, 2)], [local("s", 2, 2)]), *both,
        op("rres", [local("i", 0), far("s", 0)], [local("i", 0), far("i", 0)], channel_type="memory"),
        op("get", [far("s", 1)], [local("s", 1)], **MEMORY), NOP,
        op("res", [local("i", 1), local("s", 1)], [local("i", 1), far("i", 1)], channel_type="memory"), *both,
    ]  # fmt: skip
    second = [
        op("copy", [local("i", 0, 2)], [local("s", 0, 2)]), *both,
        op("rre", [local("i", 2, 2), far("i", 2, 2)], [local("i", 2, 2)], channel_type="memory"), NOP,
        op("copy", [local("i", 2, 2)], [local("s", 2, 2)]), NOP,
        op("put", [local("s", 2, 2)], [far("i", 2, 2)], channel_type="memory"), *both,
    ]  # fmt: skip
    return pair([[first], [second]], (4, 4, 4), inplace=True)


def port_allgather(flush=True):
    """Rank 0 puts and signals, rank 1 with one operation; both flush."""
    end = [op("flush", dst=[local("o", 0)] if flush else [], **PORT), NOP]
    begin = [{"name": "signal"} | PORT, {"name": "wait"} | PORT, NOP]
    puts = [
        op("put", [local("o", 0), local("o", 1)], [far("o", 0), far("o", 1)], channel_ids=[0, 0], channel_type="port")
    ]
    first = [*begin, *puts, NOP, {"name": "signal"} | PORT, *end, {"name": "wait"} | PORT, NOP]
    second = [*begin, op("pws", [local("o", 2, 2)], [far("o", 2, 2)], **PORT), NOP, *end, {"name": "wait"} | PORT, NOP]
    return pair([[first], [second]], (2, 4, 0), "allgather", inplace=True)


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


OPS = ("gpus", 0, "threadblocks", 0, "ops")
CHANGES = [
    (mixed_allreduce, ("num_threads_per_block",), 2048, "threads"),
    (mixed_allreduce, ("num_threads_per_block",), 0, "threads"),
    (mixed_allreduce, ("buffer_alignment",), 8, "alignment"),
    (mixed_allreduce, ("min_message_size",), 2**31, "window"),
    (mixed_allreduce, ("use_double_scratch_buffer",), 1, "head"),
    (mixed_allreduce, ("use_double_scratch_buffer",), True, "scratch"),
    (mixed_allreduce, ("collective",), "sendrecv", "coll"),
    (mixed_allreduce, ("gpus", 1, "channels"), None, "unreadable"),
    (mixed_allreduce, ("gpus", 1, "remote_buffers"), None, "unreadable"),
    (mixed_allreduce, ("gpus", 1, "threadblocks", 0, "channels"), None, "unreadable"),
    (mixed_allreduce, (*OPS, 0, "barrier_id"), 0, "unreadable"),
    (mixed_allreduce, (*OPS, 1), {"name": "barrier", "barrier_id": 16, "num_threadblocks": 1}, "barrier"),
    (mixed_allreduce, (*OPS, 1), {"name": "pipeline", "iter_context": {}, "ops": []}, "unsupported"),
    (mixed_allreduce, (*OPS, 1), {"name": "sem_acquire", "semaphore_ids": [0]}, "unsupported"),
    (mixed_allreduce, (*OPS, 5, "channel_type"), "port", "channels"),
    (mixed_allreduce, (*OPS, 6, "channel_type"), "port", "channels"),
    (mixed_allreduce, (*OPS, 0, "dst_buff"), [local("o", 1, 2)], "overlap"),
    (mixed_allreduce, (*OPS, 8, "src_buff", 0, "index"), 0, "result"),
    (mixed_allreduce, (*OPS, 0, "src_buff", 0, "switch_channel_id"), 0, "unsupported"),
    (port_allgather, (*OPS, 3, "src_buff", 0, "type"), "i", "inplace"),
    (port_allgather, (*OPS, 3, "dst_buff", 0, "buffer_id"), 0, "inplace"),
    (port_allgather, (*OPS, 3, "dst_buff", 1, "index"), 0, "race"),
    (port_allgather, (*OPS, 6, "channel_type"), "memory", "channels"),
    (packet_allgather, (*OPS, 0, "channel_type"), "port", "unsupported"),
    (packet_allgather, (*OPS, 0, "dst_buff", 0, "buffer_id"), 1, "buffer"),
    (packet_allgather, (*OPS, 0, "src_buff", 0, "type"), "s", "unsupported"),
    (packet_allreduce, ("gpus", 0, "threadblocks", 1, "ops", 0, "src_buff", 1, "type"), "o", "buffer"),
]


@pytest.mark.parametrize(("make", "path", "value", "rule"), CHANGES)
def test_each_rule(make, path, value, rule):
    plan = make()
    thing = plan
    for key in path[:-1]:
        thing = thing[key]
    if value is None:
        del thing[path[-1]]
    else:
        thing[path[-1]] = value
    assert rule in found(json.loads(json.dumps(plan)))


@pytest.mark.parametrize(
    ("many", "rule"),
    [(10, {"result"}), (11, {"channels", "buffer"})],
)
def test_buffers_of_one_operation(many, rule):
    """Two more than channels."""
    sum_of = op("re", [local("i", k % 4) for k in range(many)], [local("o", 0)])
    assert found(pair([[[sum_of]], [[]]], (4, 4, 0))) == rule


def test_channels_are_counted_by_type():
    plan = simple_allgather()
    block = plan["gpus"][0]["threadblocks"][0]
    block["channels"] = [{"channel_type": k, "channel_ids": [0] * 16} for k in ("memory", "port")]
    assert not found(plan)
    block["remote_buffer_refs"][0]["remote_buffer_ids"] = [1] * 17
    block["ops"][3]["dst_buff"][0]["buffer_id"] = 0
    assert found(plan) == {"channels"}


def test_two_destinations_of_one_put():
    plan = simple_allgather()
    plan["gpus"][0]["threadblocks"][0]["ops"][3] = op(
        "put", [local("o", 0), local("o", 0)], [far("o", 0), far("o", 0)], channel_type="memory"
    )
    assert "overlap" in found(plan)


def test_memory_puts_read_one_buffer_and_ports_any():
    plan = pair([[[op("put", [local("i", 0), local("s", 0)], [far("o", 0), far("o", 1)], **MEMORY)]], [[]]], (2, 2, 1))
    assert "buffer" in found(plan)
    put = op("put", [local("i", 0), local("s", 0)], [far("o", 0), far("o", 1)], channel_ids=[0, 0], channel_type="port")
    assert "buffer" not in found(pair([[[put]], [[]]], (2, 2, 1)))


def test_what_the_executor_skips_is_told():
    assert not found(port_allgather(False)) and warned(port_allgather(False)) == {"flush"}
    ports = json.loads((PROGRAMS / "ports-allgather.mscclpp.json").read_text())
    assert warned(ports) == {"flush"}
    assert warned(mixed_allreduce() | {"max_message_size": 2**33}) == {"window"}
    assert warned(mixed_allreduce() | {"max_message_size": 2**32}) == set()
    many = simple_allgather()
    many["gpus"][0]["threadblocks"] += [
        {"id": t, "ops": [], "channels": [], "remote_buffer_refs": []} for t in range(1, 110)
    ]
    assert warned(many) == {"resident"}
    blocks = [[[op("copy", [local("i", 0)], [local("o", 0)])]] for _ in range(2)]
    assert warned(pair(blocks, (1, 1, 0), "reduce")) == {"coll"}
    assert warned(pair(blocks, (1, 1, 0), "broadcast")) == {"root"}
    assert warned(simple_allgather() | {"reuse_resources": True}) == {"reuse"}
    assert not warned(packet_allgather() | {"reuse_resources": True})


def test_channels_that_only_one_end_lists():
    """The loader makes the other end; nobody can signal there."""
    plan = simple_allgather()
    plan["gpus"][1]["channels"][1]["connected_to"] = []
    plan["gpus"][1]["threadblocks"][0]["channels"] = plan["gpus"][1]["threadblocks"][0]["channels"][:1]
    assert not found(plan)


def test_more_packets_than_can_be_followed():
    many = 2**30
    ops = [op("ppkt", [local("i", 0, many)], [far("s", 0, many)], channel_type="memory")]
    assert found(pair([[ops], [[]]], (many, many, many), protocol="LL")) == {"size"}


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_property_races_are_those_of_all_pairs(seed):
    plan = verify_plus.random_plan(seed)
    rules = found(plan)
    if rules <= {"race", "result", "input-written"}:
        assert ("race" in rules) == verify_plus.has_race(plan)


def test_too_many_doubts_are_settled_by_the_clocks_of_all(monkeypatch):
    monkeypatch.setattr(engine, "_DOUBTS", 0)
    for seed in range(80):
        plan = verify_plus.random_plan(seed)
        rules = found(plan)
        assert rules == {"steps"} or ("race" in rules) == verify_plus.has_race(plan)


def test_random_plans_are_of_both_kinds():
    races = [verify_plus.has_race(verify_plus.random_plan(seed)) for seed in range(100)]
    assert 20 <= sum(races) <= 80


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
    plan = json.loads(lower(schedule, "mscclpp").text)
    gpu = plan["gpus"][0]
    largest = max(gpu["input_chunks"], gpu["output_chunks"], gpu["scratch_chunks"])
    assert plan["max_message_size"] == 2**32 * gpu["input_chunks"] // largest
    assert json.loads(lower(schedule, "mscclpp", max_bytes=2**20).text)["max_message_size"] == 2**20
    with pytest.raises(LinkstepError, match="bytes of the smallest message"):
        lower(schedule, "mscclpp", min_bytes=2**33, max_bytes=2**34)


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce", "broadcast"])
@pytest.mark.parametrize("inplace", [False, True])
def test_lowered_plans_have_no_other_finding(collective, inplace):
    report = verify_text(lower(linkstep.parse("Torus(3,2)").build(collective), "mscclpp", inplace=inplace).text)
    assert report.is_verified and {f.rule for f in report.findings} <= {"root"}
