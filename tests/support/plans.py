"""MSCCL++ plans of two ranks in the styles of shipped ones, and what the verifier says of a plan."""

import json

from linkstep.core.errors import FileError
from linkstep.verification import verify_text

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
    usual = {"name": "pair", "protocol": "Simple", "inplace": False, "max_message_size": 2**30}
    return usual | {"collective": collective, "gpus": gpus} | head


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


def _channels(plan):
    """A switch channel that a threadblock has, without using it."""
    gpu = plan["gpus"][0]
    gpu["channels"].append({"channel_type": "switch", "rank_groups": [{"size": 2, "ranks": [0, 1]}]})
    gpu["threadblocks"][0]["channels"].append({"channel_type": "switch", "channel_ids": [0]})


def _change(**fields):
    def change(plan):
        plan["gpus"][0]["threadblocks"][0]["ops"][0] |= fields

    return change


def _replace(**fields):
    def change(plan):
        plan["gpus"][0]["threadblocks"][0]["ops"][1] = fields

    return change


def _set(key, value):
    return lambda plan: plan.update({key: value})


OTHER_FEATURES = {
    "threadblock group": _change(tbg_info={"tb_id": 0, "tbg_size": 2}),
    "pipeline": _replace(name="pipeline", iter_context={}, ops=[]),
    "semaphore": _replace(name="sem_acquire", semaphore_ids=[0]),
    "group load": _replace(name="glres", channel_type="switch"),
    "an operation of another version": _replace(name="teleport"),
    "switch channel": _channels,
    "switch buffer": _change(src_buff=[{"switch_channel_id": 0, "index": 0, "size": 1}]),
    "switch operation": _replace(name="put", channel_type="switch", channel_ids=[0]),
    "another collective": _set("collective", "sendrecv"),
}
"""Changes to a plan of what may be right, but is not followed."""
