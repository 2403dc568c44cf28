"""CPU XML and MSCCL++ plans: each rule refuses its breach."""

import json

import pytest

from support.verdicts import rules, text_of

CPU_CHANGES = [
    ('ranks="3"', 'ranks="4"', "unreadable"),
    ('version="1"', 'version="2"', "unreadable"),
    ('coll="allreduce"', 'coll="allsum"', "unreadable"),
    ('chunks="3"', 'chunks="4"', "chunks"),
    ('root="-1"', 'root="0"', "root"),
    ('input="3"', 'input="0"', "chunks"),
    ('scratch="2"', 'scratch="0"', "bounds"),
    ('n="1"', 'n="2"', "unreadable"),
    ('peer="1"', 'peer="0"', "peer"),
    ('chan="0"', 'chan="-1"', "channel"),
    ('chan="0"', 'chan="1"', "matching"),
    ('cnt="1"', 'cnt="0"', "count"),
    ('cnt="1"', 'cnt="2"', "matching"),
    ('ops="4"', 'ops="3"', "sync"),
    ('ops="4"', 'ops="5 4"', "sync"),
    ('ops="4"', 'ops="5"', "race"),
    ('ops="0"', 'ops=""', "race"),
    ('<sync n="6" ops="4"/>', '<reduce n="6" src="s" srcoff="0" dst="s" dstoff="0" cnt="1"/>', "race"),
    ('<reduce n="3"', '<copy n="3"', "result"),
    ('dst="s" dstoff="0" cnt="1"', 'dst="i" dstoff="0" cnt="1"', "input-written"),
]


@pytest.mark.parametrize(("old", "new", "rule"), CPU_CHANGES)
def test_each_rule_of_cpu_xml(old, new, rule):
    text = text_of("ring-allreduce.cpu.xml")
    assert old in text
    assert rule in rules(text.replace(old, new, 1), "cpu")


def test_cpu_sends_are_rendezvous():
    """Two ranks that each wait for their send before they receive finish only where messages are buffered."""

    def exchange(order: str) -> str:
        ranks = []
        for r in range(2):
            parts = {
                "s": f'send n="{{}}" peer="{1 - r}" chan="0" src="i" srcoff="{1 - r}" cnt="1"',
                "r": f'recv n="{{}}" peer="{1 - r}" chan="0" dst="o" dstoff="{1 - r}" cnt="1"',
                "c": f'copy n="{{}}" src="i" srcoff="{r}" dst="o" dstoff="{r}" cnt="1"', "w": 'sync n="{}"',
            }  # fmt: skip
            body = "".join(f"<{parts[x].format(k)}/>" for k, x in enumerate(order))
            ranks.append(f'<rank id="{r}" input="2" output="2" scratch="0">{body}</rank>')
        return (
            '<schedule format="linkstep-cpu" version="1" name="" coll="all-to-all" ranks="2" chunks="2" inplace="0" '
            f'root="-1">{"".join(ranks)}</schedule>'
        )

    assert not rules(exchange("srcw")) and not rules(exchange("rswc")) and not rules(exchange("crs"))
    assert rules(exchange("cswr")) == {"deadlock"}


def plan(name: str):
    return json.loads(text_of(name))


def ops(gpu, tb=0):
    return gpu["threadblocks"][tb]["ops"]


def without(name: str, *ends: int) -> str:
    """The all-pairs plan without these operations, by position, on every rank."""
    data = plan(name)
    for gpu in data["gpus"]:
        for k in sorted(ends, reverse=True):
            del ops(gpu)[k]
    return json.dumps(data)


PAIRS, PORTS = "allpairs-allreduce.mscclpp.json", "ports-allgather.mscclpp.json"


@pytest.mark.parametrize(
    ("ends", "rule"),
    [
        ((1,), "race"),  # the signal does not cover the puts of other threads
        ((4,), "race"),  # the other threads do not wait
        ((10, 11), "race"),  # nobody tells that the last puts are over: the caller may not see them
        ((2, 3), "race"),
        ((5,), "result"),
        ((10,), "matching"),
        ((11,), "matching"),
    ],
)
def test_a_plan_without_its_syncs(ends, rule):
    assert [op["name"] for op in ops(plan(PAIRS)["gpus"][0])] == [
        "put", "nop", "signal", "wait", "nop", "re", "nop", "put", "put", "nop", "signal", "wait", "nop",
    ]  # fmt: skip
    assert rule in rules(without(PAIRS, *ends))


def test_puts_wait_until_their_target_has_started():
    assert rules(without(PORTS, 0, 1)) == {"race"}


def test_ports_are_flushed():
    """The source of a put through a port is in use until the channel is flushed."""
    assert rules(text_of(PORTS).replace("pwsf", "pws", 1)) == {"race"}
    data = plan(PORTS)
    for gpu in data["gpus"]:
        put = ops(gpu)[3]
        put["name"] = "put"
        end = {"channel_ids": [0], "channel_type": "port"}
        ops(gpu)[4:4] = [{"name": "nop"}, {"name": "signal"} | end, {"name": "flush"} | end]
    assert not rules(json.dumps(data))
    del ops(data["gpus"][0])[4]
    assert rules(json.dumps(data)) == {"race"}


PLAN_CHANGES = [
    (("protocol",), "LL128", "proto"),
    (("collective",), "allsum", "coll"),
    (("max_message_size",), -1, "window"),
    (("gpus", 1, "id"), 0, "unreadable"),
    (("gpus", 1, "input_chunks"), 2, "chunks"),
    (("gpus", 1, "scratch_chunks"), 1, "bounds"),
    (("gpus", 1, "channels", 0, "connected_to"), [0], "unreadable"),
    (("gpus", 1, "channels", 0, "channel_type"), "switch", "unreadable"),
    (("gpus", 1, "remote_buffers", 0, "access_channel_types"), ["port"], "unreadable"),
    (("gpus", 1, "remote_buffers", 0, "rank"), 1, "unreadable"),
    (("gpus", 1, "threadblocks", 0, "id"), 1, "unreadable"),
    (("gpus", 1, "threadblocks", 0, "channels", 0, "channel_ids"), [0, 0], "matching"),
    (("gpus", 1, "threadblocks", 0, "channels", 0, "channel_ids"), [0, 1] * 9, "channels"),
    (("gpus", 1, "threadblocks", 0, "ops", 0, "name"), "ppkt", "unsupported"),
    (("gpus", 1, "threadblocks", 0, "ops", 0, "name"), "copy", "buffer"),
    (("gpus", 1, "threadblocks", 0, "ops", 0, "name"), "putt", "unsupported"),
    (("gpus", 1, "threadblocks", 0, "ops", 0, "dst_buff", 0, "index"), 2, "bounds"),
    (("gpus", 1, "threadblocks", 0, "ops", 0, "dst_buff", 0, "size"), 2, "buffer"),
    (("gpus", 1, "threadblocks", 0, "ops", 0, "dst_buff", 0, "buffer_id"), 4, "unreadable"),
    (("gpus", 1, "threadblocks", 0, "ops", 5, "src_buff", 0, "index"), 0, "result"),
    (("gpus", 1, "threadblocks", 0, "ops", 5, "dst_buff", 0, "type"), "i", "input-written"),
    (("gpus", 1, "threadblocks", 0, "ops", 5, "dst_buff", 0, "type"), "x", "buffer"),
    (("gpus", 1, "threadblocks", 0, "ops"), [{"name": "nop"}] * 65, "steps"),
]


@pytest.mark.parametrize(("path", "value", "rule"), PLAN_CHANGES)
def test_each_rule_of_plans(path, value, rule):
    data = plan(PAIRS)
    thing = data
    for key in path[:-1]:
        thing = thing[key]
    thing[path[-1]] = value
    assert rule in rules(json.dumps(data))


def test_barriers_and_deadlock():
    data = plan(PORTS)
    ops(data["gpus"][0], 1)[1]["num_threadblocks"] = 3
    assert rules(json.dumps(data)) == {"barrier"}
    data = plan(PAIRS)
    for gpu in data["gpus"]:
        signal, wait = ops(gpu)[2:4]
        ops(gpu)[2:4] = [wait, signal]
    assert rules(json.dumps(data)) == {"deadlock"}
