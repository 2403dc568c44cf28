"""MSCCL++ plans: what the loader and the executor ask for, and what they skip without a word."""

import json

import pytest

from linkstep.verification import verify_text
from support.plans import (
    MEMORY,
    NOP,
    PORT,
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
    assert warned(ports) == {"flush", "window"}
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


@pytest.mark.parametrize(
    ("make", "largest"),
    [
        (mixed_allreduce, 4 * (2**32 // 2)),  # four chunks, of which it takes two from the third on
        (packet_allreduce, 4 * (2**32 // 8)),  # a packet is twice its data, and one lies after four in scratch
        (simple_allgather, 2 * 2**32),  # of output, two parts of one chunk
    ],
)
def test_sizes_and_offsets_that_do_not_fit_into_32_bits_refute(make, largest):
    """The largest size that fits is a multiple of 16 bytes for each chunk; the next one does not fit."""
    plan = make()
    chunks = plan["gpus"][0]["output_chunks"]
    most = (largest - 1) // (16 * chunks) * 16 * chunks
    for high in (most, most + 16 * chunks - 1):
        assert not found(plan | {"max_message_size": high}) and not warned(plan | {"max_message_size": high})
    for high in (most + 16 * chunks, 2**40, 2**63):
        report = verify_text(json.dumps(plan | {"max_message_size": high}))
        (error,) = report.errors
        assert error.rule == "window" and error.rank is not None and error.step is not None
        assert error.message.endswith(f"is past 32 bits: lower max_message_size to {most}")


def broadcast(num_chunks):
    """All of the data in one put."""
    move = op("put", [local("i", 0, num_chunks)], [far("o", 0, num_chunks)], **PORT)
    start, flush = [{"name": "wait"} | PORT, NOP], op("flush", dst=[local("o", 0)], **PORT)
    own = op("copy", [local("i", 0, num_chunks)], [local("o", 0, num_chunks)])
    root = [own, *start, move, NOP, {"name": "signal"} | PORT, flush]
    leaf = [{"name": "signal"} | PORT, {"name": "wait"} | PORT, NOP]
    return pair([[root], [leaf]], (num_chunks, num_chunks, 0), "broadcast")


@pytest.mark.parametrize("num_chunks", [1, 4])
def test_a_put_of_four_gibibytes_moves_nothing(num_chunks):
    plan = broadcast(num_chunks)
    assert found(plan | {"max_message_size": 2**32 - 1}) == set()
    assert found(plan | {"max_message_size": 2**32}) == {"window"}


def test_a_plan_without_a_window_is_right_up_to_some_size():
    """As other tools write it; no call of that size is likely, so this refutes nothing."""
    for window in ({}, {"max_message_size": 2**64 - 1}):
        plan = {key: value for key, value in broadcast(1).items() if key != "max_message_size"} | window
        (finding,) = [f for f in verify_text(json.dumps(plan)).findings if f.rule == "window"]
        assert (finding.severity, finding.message) == (
            "warning", "no max_message_size: right up to 4294967280 bytes, beyond which sizes are past 32 bits",
        )  # fmt: skip


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
