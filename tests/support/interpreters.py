"""Tiny runtimes that execute lowered files on numbers, in adversarial order. They share no code with the package.

Every input chunk is a random 128-bit number, so a sum tells which contributions went into it. What runs next is chosen
by a random priority that changes now and then: what a dependency does not order happens in the wrong order soon.
"""

import json
import random
import xml.etree.ElementTree as ElementTree
from collections import defaultdict, deque


class Stuck(Exception):
    """Nobody can go on, or something undefined was read."""


class Memory:
    """A rank's buffers; in place, input and output share storage."""

    def __init__(self, rank, ranks, coll, inplace, root, sizes, rng):
        i, o, s = sizes
        self.scratch = [None] * s
        part = o // ranks if coll == "allgather" else i // ranks
        if coll == "allgather" and inplace:
            self.output, self.input, self.shift = [None] * o, None, {"i": part * rank, "o": 0}
            self.given = [rng.getrandbits(128) for _ in range(part)]
            self.output[part * rank : part * (rank + 1)] = self.given
            self.store = {"i": self.output, "o": self.output}
        elif coll == "reduce-scatter" and inplace:
            self.given = [rng.getrandbits(128) for _ in range(i)]
            whole = list(self.given)
            self.store, self.shift = {"i": whole, "o": whole}, {"i": 0, "o": part * rank}
        elif inplace:
            size = max(i, o)
            self.given = [rng.getrandbits(128) for _ in range(size)]
            whole = [None] * size if coll == "broadcast" and rank != root else list(self.given)
            self.store, self.shift = {"i": whole, "o": whole}, {"i": 0, "o": 0}
        else:
            self.given = [rng.getrandbits(128) for _ in range(i)]
            self.store, self.shift = {"i": list(self.given), "o": [None] * o}, {"i": 0, "o": 0}
        self.store["s"], self.shift["s"] = self.scratch, 0

    def read(self, buffer, offset, count):
        at = offset + self.shift[buffer]
        values = self.store[buffer][at : at + count]
        if offset < 0 or len(values) != count:
            raise Stuck(f"{buffer}[{offset}:{offset + count}] is outside the buffer")
        if None in values:
            raise Stuck(f"{buffer}[{offset}:{offset + count}] is read before it is written")
        return values

    def write(self, buffer, offset, values):
        at = offset + self.shift[buffer]
        if offset < 0 or at + len(values) > len(self.store[buffer]):
            raise Stuck(f"{buffer}[{offset}:{offset + len(values)}] is outside the buffer")
        self.store[buffer][at : at + len(values)] = values


def make_memories(ranks, coll, inplace, root, sizes, seed):
    rng = random.Random(seed)
    return [Memory(r, ranks, coll, inplace, root, sizes[r], rng) for r in range(ranks)]


def plus(a, b):
    return [x + y for x, y in zip(a, b, strict=True)]


def check_result(memories, coll, inplace, root, shard):
    """Compare with the collective's definition (docs/reference/cpu-xml.md)."""
    given = [m.given for m in memories]
    for r, memory in enumerate(memories):
        check_rank(memory, r, given, coll, inplace, root, shard)


def check_rank(memory, r, given, coll, inplace, root, shard):
    """Compare what a rank has with what all were given."""
    total = [sum(column) for column in zip(*given, strict=True)]
    if coll == "allgather":
        expected = [x for g in given for x in g]
    elif coll == "reduce-scatter":
        expected = total[r * shard : (r + 1) * shard]
    elif coll == "allreduce":
        expected = total
    elif coll == "broadcast":
        expected = given[root]
    elif coll == "all-to-all":
        expected = [x for g in given for x in g[r * shard : (r + 1) * shard]]
    else:
        expected = total if r == root else None
    if expected is not None:
        assert memory.read("o", 0, len(expected)) == expected, f"rank {r} of {len(given)} has a wrong {coll}"
    if not inplace:
        assert memory.store["i"] == given[r], f"rank {r}: the input was changed"
    elif coll == "reduce-scatter":
        kept = [x for k, x in enumerate(memory.store["i"]) if not r * shard <= k < (r + 1) * shard]
        assert kept == [x for k, x in enumerate(given[r]) if not r * shard <= k < (r + 1) * shard]


def run_all(actors, rng):
    """Let actors go on, those of higher priority first; an actor yields True when it did something, False to wait."""
    waiting = dict(enumerate(actors))
    priority = {k: rng.random() for k in waiting}
    while waiting:
        moved = False
        for k in sorted(waiting, key=priority.get):
            for _ in range(rng.choice([1, 3, 1000])):
                try:
                    if not next(waiting[k]):
                        break
                    moved = True
                except StopIteration:
                    del waiting[k]
                    moved = True
                    break
            if rng.random() < 0.02:
                priority = {j: rng.random() for j in waiting}
                break
        else:
            if not moved:
                raise Stuck(f"deadlock: {len(waiting)} cannot go on")


COLL = {"reduce_scatter": "reduce-scatter", "reducescatter": "reduce-scatter", "alltoall": "all-to-all"}


def run_msccl(text, seed=0, capacity=1):
    """Run MSCCL XML; connections hold ``capacity`` messages."""
    algo = ElementTree.fromstring(text)
    coll = COLL.get(algo.get("coll"), algo.get("coll"))
    ranks, inplace, chunks = int(algo.get("ngpus")), algo.get("inplace") == "1", int(algo.get("nchunksperloop"))
    shard = chunks // ranks
    sizes = []
    for gpu in algo:
        i, o, s = (int(gpu.get(k)) for k in ("i_chunks", "o_chunks", "s_chunks"))
        if coll == "allgather":
            assert (i, o) == ((0 if inplace else shard), chunks)
        sizes.append((i or (shard if coll == "allgather" else chunks), o or shard, s))
    root = 0 if coll in ("broadcast", "reduce") else -1
    shard = chunks if root == 0 else shard
    memories = make_memories(ranks, coll, inplace, root, sizes, seed)
    queues, done = defaultdict(deque), defaultdict(int)

    def threadblock(rank, tb):
        memory, send, recv, chan = memories[rank], int(tb.get("send")), int(tb.get("recv")), int(tb.get("chan"))
        for position, step in enumerate(tb):
            assert int(step.get("s")) == position
            count, depid, deps = int(step.get("cnt")), int(step.get("depid")), int(step.get("deps"))
            while depid >= 0 and done[rank, depid] <= deps:
                yield False
            src = step.get("srcbuf"), int(step.get("srcoff"))
            dst = step.get("dstbuf"), int(step.get("dstoff"))
            kind = step.get("type")
            if kind == "s":
                queue = queues[rank, send, chan]
                while len(queue) >= capacity:
                    yield False
                queue.append(memory.read(*src, count))
            elif kind in ("r", "rrc", "rcs", "rrs", "rrcs"):
                queue, onward = queues[recv, rank, chan], queues[rank, send, chan]
                while not queue or (kind[-1] == "s" and len(onward) >= capacity):
                    yield False
                values = queue.popleft()
                assert len(values) == count, "a send and its receive differ in count"
                values = plus(values, memory.read(*src, count)) if kind[:2] == "rr" else values
                if kind != "rrs":
                    memory.write(*dst, values)
                if kind[-1] == "s":
                    onward.append(values)
            elif kind == "cpy":
                memory.write(*dst, memory.read(*src, count))
            elif kind == "re":
                memory.write(*dst, plus(memory.read(*dst, count), memory.read(*src, count)))
            else:
                assert kind == "nop", kind
            done[rank, int(tb.get("id"))] = position + 1
            yield True

    run_all([threadblock(int(g.get("id")), tb) for g in algo for tb in g], random.Random(seed))
    assert not any(queues.values()), "sent and never received"
    check_result(memories, coll, inplace, root, shard)


def run_cpu(text, seed=0):
    """Run CPU XML; nothing is buffered, and data moves at the last moment the format allows."""
    top = ElementTree.fromstring(text)
    assert (top.get("format"), top.get("version")) == ("linkstep-cpu", "1")
    coll, inplace, root = top.get("coll"), top.get("inplace") == "1", int(top.get("root"))
    ranks, chunks = int(top.get("ranks")), int(top.get("chunks"))
    sizes = [tuple(int(r.get(k)) for k in ("input", "output", "scratch")) for r in top]
    memories = make_memories(ranks, coll, inplace, root, sizes, seed)
    rng = random.Random(seed)
    sends, recvs, complete = defaultdict(list), defaultdict(list), set()

    def place(e, which):
        return e.get(which), int(e.get(which + "off"))

    def transfer(key, k):
        """The wire: waits for both ends, dawdles, moves the data."""
        while len(sends[key]) <= k or len(recvs[key]) <= k:
            yield False
        (a, n, source), (b, m, target) = sends[key][k], recvs[key][k]
        count = int(source.get("cnt"))
        assert count == int(target.get("cnt"))
        for _ in range(rng.choice([0, 0, 20])):
            yield True
        memories[b].write(*place(target, "dst"), memories[a].read(*place(source, "src"), count))
        complete.update([(a, n), (b, m)])
        yield True

    def rank_actor(r, instructions):
        started = set()
        for n, e in enumerate(instructions):
            assert int(e.get("n")) == n
            if e.tag == "send":
                sends[r, int(e.get("peer")), e.get("chan")].append((r, n, e))
                started.add((r, n))
            elif e.tag == "recv":
                recvs[int(e.get("peer")), r, e.get("chan")].append((r, n, e))
                started.add((r, n))
            elif e.tag == "sync":
                awaited = {(r, int(k)) for k in e.get("ops").split()} if e.get("ops") is not None else set(started)
                assert awaited <= started
                while not awaited <= complete:
                    yield False
            else:
                values = memories[r].read(*place(e, "src"), int(e.get("cnt")))
                if e.tag == "reduce":
                    values = plus(values, memories[r].read(*place(e, "dst"), len(values)))
                memories[r].write(*place(e, "dst"), values)
            yield True
        while not started <= complete:
            yield False

    count = defaultdict(int)
    for r in top:
        for e in r.iter("send"):
            count[int(r.get("id")), int(e.get("peer")), e.get("chan")] += 1
    wires = [transfer(key, k) for key, many in count.items() for k in range(many)]
    run_all([*(rank_actor(int(r.get("id")), list(r)) for r in top), *wires], rng)
    check_result(memories, coll, inplace, root, chunks if root >= 0 else chunks // ranks)


def run_mscclpp(text, seed=0, runs=1):
    """Run an MSCCL++ plan; puts and signals leave through a proxy, in order, some time later; now and then one sleeps.

    Of several runs each rank begins the next when it has ended one, whatever the others do: its caller looks at the
    output, gives another input, and takes back what was in the output. Scratch and signals stay as they are.
    """
    top = json.loads(text)
    gpus, inplace = top["gpus"], top["inplace"]
    coll = COLL.get(top["collective"], top["collective"])
    root = 0 if coll == "broadcast" else -1
    sizes = [(g["input_chunks"], g["output_chunks"], g["scratch_chunks"]) for g in gpus]
    shard = sizes[0][1] if root >= 0 else min(sizes[0][:2]) // (len(gpus) if coll == "all-to-all" else 1)
    calls = [make_memories(len(gpus), coll, inplace, root, sizes, f"{seed} {k}") for k in range(runs)]
    memories = make_memories(len(gpus), coll, inplace, root, sizes, seed)
    begun, ended = [0] * len(gpus), defaultdict(int)
    peers = [[p for c in g["channels"] for p in c["connected_to"]] for g in gpus]
    signals, outbox, arrived = defaultdict(int), defaultdict(deque), defaultdict(int)
    running, rng, asleep = [len(gpus)], random.Random(f"sleep {seed}"), set()

    def sleep(who, chance):
        if rng.random() < chance:
            asleep.add(who)
            yield True
            for _ in range(rng.choice([5, 20, 80])):
                yield False
            asleep.remove(who)

    def clock():
        """Goes on while somebody sleeps, or all would seem stuck."""
        while running[0]:
            yield bool(asleep)

    def other_end(rank, channel):
        """The k-th channel to a peer meets the peer's k-th channel to us."""
        peer = peers[rank][channel]
        k = peers[rank][:channel].count(peer)
        return peer, [c for c, p in enumerate(peers[peer]) if p == rank][k]

    def local(rank, ref):
        return memories[rank].read(ref["type"], ref["index"], ref["size"])

    def proxy(rank, channel):
        peer, end = other_end(rank, channel)
        queue = outbox[rank, channel]
        while queue or running[0]:
            if not queue:
                yield False
                continue
            yield from sleep(("proxy", rank, channel), 0.02)
            job = queue[0]
            if job is None:
                signals[peer, end] += 1
            else:
                src, (target, buffer, index) = job
                assert target == peer, "a put over a channel to another rank"
                memories[peer].write(buffer, index, local(rank, src))
            queue.popleft()
            yield True

    def caller(rank):
        memory = memories[rank]
        for k, call in enumerate(calls):
            yield from sleep(("caller", rank), 0.1)
            for buffer in "io":
                memory.store[buffer][:] = call[rank].store[buffer]
            begun[rank] = k + 1
            yield True
            while ended[rank, k] < len(gpus[rank]["threadblocks"]):
                yield False
            check_rank(memory, rank, [m.given for m in call], coll, inplace, root, shard)
        running[0] -= 1

    def threadblock(rank, tb):
        for k in range(runs):
            while begun[rank] <= k:
                yield False
            yield from one_run(rank, tb)
            ended[rank, k] += 1
            yield True

    def one_run(rank, tb):
        ids = [c for entry in tb["channels"] for c in entry["channel_ids"]]
        refs = [gpus[rank]["remote_buffers"][b] for e in tb["remote_buffer_refs"] for b in e["remote_buffer_ids"]]
        for op in tb["ops"]:
            yield from sleep((rank, tb["id"]), 0.02)
            name, chans = op["name"], [ids[c] for c in op.get("channel_ids", [])]
            if name == "put":
                for src, dst, chan in zip(op["src_buff"], op["dst_buff"], chans, strict=True):
                    ref = refs[dst["buffer_id"]]
                    assert src["size"] == dst["size"]
                    outbox[rank, chan].append((src, (ref["rank"], ref["type"], dst["index"])))
            elif name == "signal":
                outbox[rank, chans[0]].append(None)
            elif name == "wait":
                while not signals[rank, chans[0]]:
                    yield False
                signals[rank, chans[0]] -= 1
            elif name == "barrier":
                arrived[rank] += 1
                goal = -(-arrived[rank] // op["num_threadblocks"]) * op["num_threadblocks"]
                while arrived[rank] < goal:
                    yield False
            elif name == "re":
                values = local(rank, op["src_buff"][0])
                for ref in op["src_buff"][1:]:
                    values = plus(values, local(rank, ref))
                memories[rank].write(op["dst_buff"][0]["type"], op["dst_buff"][0]["index"], values)
            elif name == "copy":
                dst = op["dst_buff"][0]
                memories[rank].write(dst["type"], dst["index"], local(rank, op["src_buff"][0]))
            elif name == "flush":
                while outbox[rank, chans[0]]:
                    yield False
            else:
                assert name == "nop", name
            yield True

    actors = [clock(), *(caller(r) for r in range(len(gpus)))]
    actors += [threadblock(g["id"], tb) for g in gpus for tb in g["threadblocks"]]
    actors += [proxy(r, c) for r in range(len(gpus)) for c in range(len(peers[r]))]
    run_all(actors, random.Random(seed))
    assert not any(signals.values()), "a signal nobody waited for"


def run(text, to, seed=0):
    """Run a file of any target."""
    {"cpu": run_cpu, "mscclpp": run_mscclpp}.get(to, run_msccl)(text, seed)
