"""A second opinion on races in MSCCL++ plans: all pairs of accesses, all paths, no code shared with the verifier.

Every operation has a begin and an end. One access is before another if a path leads from the end of the one to the
begin of the other; a path through a packet or a relaxed signal is one in time only, unless it first comes by a caller.
For tiny plans.
"""

import random
from collections import Counter, defaultdict
from itertools import chain, combinations

PACKETS = {  # name: which sources and which destinations are packets, by their first positions; the last goes on
    "ppkt": (".", "p"), "rppkt": ("p", "p"), "cpkt": (".", "p"), "upkt": ("p", "."), "repkt": (".p", "."),
    "respkt": (".p", ".p"), "recpkt": (".p", ".p"), "recspkt": (".p", ".pp"),
}  # fmt: skip
PUTS = ("put", "pws", "pwsf")


class Graph:
    """The runs of a plan as points, arrows between them, and accesses (begin, end, cell, is a write)."""

    def __init__(self, plan, runs):
        self.plan, self.runs, self.gpus = plan, runs, plan["gpus"]
        self.num, self.arrows, self.accesses = 0, [], []
        self.sent, self.heard, self.covered = defaultdict(list), defaultdict(list), []
        self.meetings, self.written, self.read, self.callers = defaultdict(list), {}, [], []
        ready = [self.caller(r) for r in range(len(self.gpus))]
        for k in range(runs):
            ends = []
            for r, gpu in enumerate(self.gpus):
                ends.append([self.block(k, r, t, tb["ops"], ready[r]) for t, tb in enumerate(gpu["threadblocks"])])
            ready = [self.caller(r, ends[r]) for r in range(len(self.gpus))]
        self.join()

    def point(self, *before):
        self.num += 1
        self.arrows += [(b, self.num - 1, True) for b in before]
        return self.num - 1

    def cell(self, r, kind, index, run=0):
        if self.plan["inplace"] and kind == "i":
            kind = "o"
        return r, kind, index, run % 2 if kind == "s" and self.plan.get("use_double_scratch_buffer") else 0

    def caller(self, r, ends=()):
        begin = self.point(*ends)
        self.callers.append(begin)
        for kind, word in (("i", "input_chunks"), ("o", "output_chunks")):
            for x in range(self.gpus[r][word]):
                self.accesses += [(begin, begin, self.cell(r, kind, x), w) for w in (False, True)]
        return begin

    def channels(self, r, t, op):
        kind, tb = op["channel_type"], self.gpus[r]["threadblocks"][t]
        flat = [p for c in self.gpus[r]["channels"] if c["channel_type"] == kind for p in c["connected_to"]]
        ids = [i for c in tb["channels"] if c["channel_type"] == kind for i in c["channel_ids"]]
        return [(r, flat[ids[c]], flat[: ids[c]].count(flat[ids[c]]), kind) for c in op["channel_ids"]]

    def cells(self, r, t, op, ref, run):
        kind = ref.get("type")
        if "buffer_id" in ref:
            tb = self.gpus[r]["threadblocks"][t]
            refs = [x for x in tb["remote_buffer_refs"] if x["access_channel_type"] == op["channel_type"]]
            ids = [i for x in refs for i in x["remote_buffer_ids"]]
            remote = self.gpus[r]["remote_buffers"][ids[ref["buffer_id"]]]
            r, kind = remote["rank"], remote["type"]
        return [self.cell(r, kind, ref["index"] + k, run) for k in range(ref["size"])]

    def access(self, begin, end, sources, targets):
        self.accesses += [(begin, end, c, False) for c in sources] + [(begin, end, c, True) for c in targets]

    def block(self, run, r, t, ops, ready):
        """Add a block's run; return its end."""
        sync, open_ends, loose, puts = self.point(ready), [], [], []
        for op in [*ops, {"name": "nop"}]:
            name = op["name"]
            if name in ("nop", "barrier"):
                sync = self.point(sync, *open_ends)
                open_ends, puts, loose = [], puts + loose, []
                if name == "barrier":
                    after = self.point(sync)
                    self.meetings[run, r, op["barrier_id"]].append((t, sync, after))
                    sync = after
                continue
            src, dst = ([self.cells(r, t, op, x, run) for x in op.get(key, [])] for key in ("src_buff", "dst_buff"))
            if name == "rppkt" and op["channel_type"] == "port":
                come = [self.point(sync) for _ in src[0]]
                open_ends += come
                self.read += [(run, cell, here) for cell, here in zip(src[0], come, strict=True)]
                for cells, channel in zip(dst, self.channels(r, t, op), strict=True):
                    for cell, to in zip(src[0], cells, strict=True):
                        put = self.point(*come)
                        self.access(put, put, [cell], [to])
                        self.written[run, to] = put
                        loose.append((put, channel))
                continue
            if name in PACKETS:
                open_ends += self.packets(run, name, sync, src, dst)
                continue
            begin = self.point(sync)
            end = self.point(begin)
            open_ends.append(end)
            ends = self.channels(r, t, op) if "channel_ids" in op and op.get("channel_type") else []
            if name in PUTS and op["channel_type"] == "port":
                for a, b, channel in zip(src, dst, ends, strict=True):
                    first = self.point(begin)
                    last = self.point(first)
                    self.access(first, last, a, b)
                    loose.append((last, channel))
                    if name != "put":
                        self.covered.append((last, channel, begin))
                    if name == "pwsf":
                        open_ends.append(last)
            else:
                self.access(begin, end, chain(*src), () if name == "flush" else chain(*dst))
            for channel in ends:
                if name in ("signal", "rlxsignal", "pws", "pwsf"):
                    self.sent[channel].append((begin, name))
                    self.covered += [(last, c, begin) for last, c in puts if c == channel]
                if name in ("wait", "rlxwait"):
                    self.heard[channel].append((end, name))
                if name == "flush":
                    self.arrows += [(last, end, True) for last, c in puts if c == channel]
        return sync

    def packets(self, run, name, sync, src, dst):
        made = []
        shapes = PACKETS[name]
        rows = list(zip(src, dst, strict=True)) if name == "ppkt" else [(src, dst)]
        for sources, targets in rows:
            sources, targets = ([sources], [targets]) if name == "ppkt" else (sources, targets)
            for x in range(len(sources[0])):
                here = self.point(sync)
                self.access(here, here, [c[x] for c in sources], [c[x] for c in targets])
                for k, c in enumerate(sources):
                    if shapes[0][min(k, len(shapes[0]) - 1)] == "p":
                        self.read.append((run, c[x], here))
                for k, c in enumerate(targets):
                    if shapes[1][min(k, len(shapes[1]) - 1)] == "p":
                        self.written[run, c[x]] = here
                made.append(here)
        return made

    def join(self):
        for members in self.meetings.values():
            by_block = defaultdict(list)
            for t, before, after in members:
                by_block[t].append((before, after))
            for rows in zip(*by_block.values(), strict=True):
                self.arrows += [(a, b, True) for a, _ in rows for _, b in rows]
        told = {}
        for (a, b, number, kind), signals in self.sent.items():
            for (begin, name), (end, other) in zip(signals, self.heard[b, a, number, kind], strict=True):
                is_full = kind == "port" or not (name + other).count("rlx")
                self.arrows.append((begin, end, is_full))
                told[(a, b, number, kind), begin] = end
        self.arrows += [(last, told[channel, begin], True) for last, channel, begin in self.covered]
        self.arrows += [(self.written[run, cell], here, False) for run, cell, here in self.read]

    def reached(self, only_full):
        """For each point the set of points that a path leads to, as bits."""
        after = defaultdict(list)
        missing = Counter()
        for a, b, _ in self.arrows:
            after[a].append(b)
            missing[b] += 1
        order = [p for p in range(self.num) if not missing[p]]
        for p in order:
            for q in after[p]:
                missing[q] -= 1
                if not missing[q]:
                    order.append(q)
        assert len(order) == self.num
        sets = [0] * self.num
        allowed = {(a, b) for a, b, is_full in self.arrows if is_full or not only_full}
        for p in reversed(order):
            sets[p] = 1 << p
            for q in after[p]:
                if (p, q) in allowed:
                    sets[p] |= sets[q]
        return sets

    def races(self):
        """Return two accesses that nothing orders, or None."""
        seen, done = self.reached(True), self.reached(False)
        for caller in reversed(self.callers):  # what it has seen is seen by all that come later
            seen = [bits | (done[caller] if bits >> caller & 1 else 0) for bits in seen]
        packets = {cell for _, cell in self.written}
        by_cell = defaultdict(list)
        for begin, end, cell, is_write in self.accesses:
            by_cell[cell].append((begin, end, is_write))
        for cell, rows in by_cell.items():
            for a, b in combinations(rows, 2):
                if not (a[2] or b[2]) or a[0] == b[0]:
                    continue
                if not any(
                    (seen if x[2] and cell not in packets else done)[x[1]] >> y[0] & 1 for x, y in ((a, b), (b, a))
                ):
                    return a, b, cell
        return None


def has_race(plan):
    """Whether two accesses race in two runs, or in three if these take turns."""
    return Graph(plan, 3 if plan.get("use_double_scratch_buffer") else 2).races() is not None


class Maker:
    """A random plan that ends, since its operations are drawn in an order in which they can run."""

    def __init__(self, seed, ranks, blocks):
        self.rng, self.ranks, self.blocks = random.Random(seed), ranks, blocks
        self.ops = [[[] for _ in range(blocks)] for _ in range(ranks)]
        self.is_packed = self.rng.random() < 0.4
        self.inplace = self.rng.random() < 0.3
        self.sent = set()

    def one(self, r, t, kind, size=1):
        return {"type": kind, "index": self.rng.randrange(2 - size + 1), "size": size}

    def far(self, r, b, kind):
        """A remote buffer's number: those of a rank are listed by peer, then i, o, s."""
        peers = [p for p in range(self.ranks) if p != r]
        return {"buffer_id": 3 * peers.index(b) + "ios".index(kind), "index": self.rng.randrange(2), "size": 1}

    def end(self, r, b, kind):
        return {"channel_ids": [[p for p in range(self.ranks) if p != r].index(b)], "channel_type": kind}

    def tell(self, a, b, kind, syncs=0.8):
        """a signals b, with syncs around more often than not."""
        here, there = self.ops[a][b % self.blocks], self.ops[b][a % self.blocks]
        relaxed = "rlx" if self.rng.random() < 0.3 else ""
        here += [{"name": "nop"}] * (self.rng.random() < syncs)
        here.append({"name": relaxed + "signal"} | self.end(a, b, kind))
        there.append({"name": relaxed + "wait"} | self.end(b, a, kind))
        there += [{"name": "nop"}] * (self.rng.random() < syncs)

    def meet(self, r):
        for t in range(self.blocks):
            self.ops[r][t].append({"name": "barrier", "barrier_id": 0, "num_threadblocks": self.blocks})

    def everyone(self, syncs):
        kind = self.rng.choice(("memory", "port"))
        for r in range(self.ranks):
            self.meet(r)
        for a in range(self.ranks):
            for b in range(self.ranks):
                if a != b:
                    self.tell(a, b, kind, syncs)
        for r in range(self.ranks):
            self.meet(r)

    def free(self, r):
        """A packet of a rank that nobody has written yet, or None."""
        some = [x for x in range(2) if (r, x) not in self.sent]
        self.sent |= {(r, x) for x in some[:1]}
        return some[0] if some else None

    def packet(self):
        """Send a packet, from the input or output or from own scratch, and read it."""
        rng = self.rng
        r, b = rng.sample(range(self.ranks), 2)
        t, u = rng.randrange(self.blocks), rng.randrange(self.blocks)
        to = self.free(b)
        if to is None:
            return
        dst, data = self.far(r, b, "s") | {"index": to}, self.one(r, t, rng.choice("io"))
        own = self.free(r) if rng.random() < 0.5 else None
        if own is None:
            put = {"name": "ppkt", "src_buff": [data], "dst_buff": [dst], "channel_type": "memory"}
            self.ops[r][t].append(put)
        else:
            here, kind = {"type": "s", "index": own, "size": 1}, rng.choice(("memory", "port"))
            self.ops[r][t].append({"name": "cpkt", "src_buff": [data], "dst_buff": [here]})
            t = rng.randrange(self.blocks)
            put = {"name": "rppkt", "src_buff": [here], "dst_buff": [dst]} | self.end(r, b, kind)
            self.ops[r][t].append(put)
            if kind == "port" and rng.random() < 0.5:
                flush = {"name": "flush", "dst_buff": [{"type": "o", "index": 0, "size": 1}]} | self.end(r, b, kind)
                self.ops[r][t] += [{"name": "nop"}, flush]
        src, out = {"type": "s", "index": to, "size": 1}, self.one(b, u, "o")
        if rng.random() < 0.5:
            self.ops[b][u].append({"name": "upkt", "src_buff": [src], "dst_buff": [out]})
        else:
            self.ops[b][u].append({"name": "repkt", "src_buff": [self.one(b, u, "i"), src], "dst_buff": [out]})

    def plain(self):
        rng = self.rng
        kinds = "io" if self.is_packed else "ios"
        r, b = rng.sample(range(self.ranks), 2)
        t, way = b % self.blocks, rng.choice(("copy", "put", "port", "get", "re"))
        x, y = rng.choice(kinds), rng.choice(kinds)
        if way == "copy":
            op = {"name": "copy", "src_buff": [self.one(r, t, x)], "dst_buff": [self.one(r, t, y)]}
        elif way == "re":
            op = {"name": "re", "src_buff": [self.one(r, t, x), self.one(r, t, y)], "dst_buff": [self.one(r, t, y)]}
        elif way == "get":
            op = {"name": "get", "src_buff": [self.far(r, b, x)], "dst_buff": [self.one(r, t, y)]}
            op |= {"channel_type": "memory"}
        else:
            kind = "port" if way == "port" else "memory"
            name = "pws" if way == "port" and rng.random() < 0.3 else "put"
            op = {"name": name, "src_buff": [self.one(r, t, x)], "dst_buff": [self.far(r, b, y)]}
            op |= self.end(r, b, kind)
        self.ops[r][t].append(op)
        if op["name"] == "pws":
            self.ops[b][r % self.blocks].append({"name": "wait"} | self.end(b, r, "port"))
        if way == "port" and rng.random() < 0.8:
            self.ops[r][t] += [{"name": "nop"}] * (rng.random() < 0.9)
            self.tell(r, b, "port", 0.9)
            flush = {"name": "flush", "dst_buff": [{"type": "o", "index": 0, "size": 1}]} | self.end(r, b, "port")
            self.ops[r][t] += [flush] * (rng.random() < 0.8)

    def plan(self, length):
        rng = self.rng
        syncs = rng.choice((0.5, 1.0))
        if rng.random() < 0.85:
            self.everyone(syncs)
        for _ in range(length):
            what = rng.random()
            r, b = rng.sample(range(self.ranks), 2)
            if what < 0.1:
                self.ops[r][rng.randrange(self.blocks)].append({"name": "nop"})
            elif what < 0.25:
                self.tell(r, b, rng.choice(("memory", "port")))
            elif what < 0.35:
                self.meet(r)
            elif what < 0.55:
                self.everyone(1.0)
            elif what < 0.8 and self.is_packed:
                self.packet()
            else:
                self.plain()
        if rng.random() < 0.85:
            self.everyone(syncs)
        return self.text()

    def text(self):
        gpus = []
        for r in range(self.ranks):
            peers = [p for p in range(self.ranks) if p != r]
            ids, kinds = list(range(len(peers))), ("memory", "port")
            buffers = [{"rank": p, "type": x, "access_channel_types": list(kinds)} for p in peers for x in "ios"]
            refs = [{"access_channel_type": k, "remote_buffer_ids": list(range(len(buffers)))} for k in kinds]
            blocks = [
                {"id": t, "ops": ops, "channels": [{"channel_type": k, "channel_ids": ids} for k in kinds],
                 "remote_buffer_refs": refs} for t, ops in enumerate(self.ops[r])
            ]  # fmt: skip
            gpus.append(
                {"id": r, "input_chunks": 2, "output_chunks": 2, "scratch_chunks": 2, "threadblocks": blocks,
                 "channels": [{"channel_type": k, "connected_to": peers} for k in kinds], "remote_buffers": buffers}
            )  # fmt: skip
        return {
            "name": "random", "collective": "allreduce", "protocol": "LL" if self.is_packed else "Simple",
            "inplace": self.inplace, "use_double_scratch_buffer": self.is_packed and self.rng.random() < 0.7,
            "gpus": gpus,
        }  # fmt: skip


def random_plan(seed):
    rng = random.Random(seed)
    return Maker(seed, rng.choice((2, 2, 3, 4)), rng.choice((1, 2))).plan(rng.randrange(1, 10))
