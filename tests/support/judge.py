"""A second opinion on MSCCL XML: a plain interpreter with multisets and sets, sharing no code with the verifier.

It runs a program transfer by transfer, once with as many slots as the protocol has to see that it ends, once chunk by
chunk to keep every transfer's set of ancestors and compare all pairs of accesses of a cell. Slow: for tiny programs.
"""

import copy
import random
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from itertools import combinations

SENDS = ("s", "rcs", "rrs", "rrcs")
RECEIVES = ("r", "rcs", "rrc", "rrs", "rrcs")
READS = ("s", "rrc", "rrs", "rrcs", "cpy", "re")
WRITES = ("r", "rcs", "rrc", "rrcs", "cpy", "re")
SLOTS = {"Simple": (2, 2097152), "LL": (8, 32768), "LL128": (8, 576000)}
RCCL_SLOTS = {"Simple": (2, 2097152), "LL": (8, 16384), "LL128": (8, 50176)}


class Harm(Exception):
    """What is wrong with a program."""


def need(condition, what):
    if not condition:
        raise Harm(what)


class Program:
    """The program of an XML text, its numbers as integers."""

    def __init__(self, text, rccl):
        algo = ET.fromstring(text)
        self.n, self.chunks = int(algo.get("ngpus")), int(algo.get("nchunksperloop"))
        self.channels, self.coll = int(algo.get("nchannels")), algo.get("coll").replace("_", "")
        self.slots, room = (RCCL_SLOTS if rccl else SLOTS)[algo.get("proto")]
        most = int(algo.get("maxBytes", 134217728))
        self.at_once = max(1, min(71, room // -(-most // self.chunks))) if most else 1
        self.flags = (algo.get("inplace") == "1", algo.get("outofplace", "0") == "1")
        self.size, self.tbs = {}, {}
        need(sorted(int(g.get("id")) for g in algo) == list(range(self.n)), "gpu ids")
        for gpu in algo:
            r = int(gpu.get("id"))
            self.size[r] = {b: int(gpu.get(b + "_chunks")) for b in "ios"}
            need(sorted(int(t.get("id")) for t in gpu) == list(range(len(gpu))), "tb ids")
            for tb in gpu:
                steps = []
                for step in tb:
                    x = {k: v if k in ("type", "srcbuf", "dstbuf") else int(v) for k, v in step.attrib.items()}
                    steps.append(x)
                head = {k: int(tb.get(k)) for k in ("send", "recv", "chan")}
                self.tbs[r, int(tb.get("id"))] = (head, steps)

    def check(self):
        """Refuse what is wrong without running it."""
        scale = {"allgather": (self.n, 1), "reducescatter": (1, self.n)}.get(self.coll, (1, 1))
        need(self.chunks % self.n == 0 or self.coll == "allreduce", "chunks")
        used, sizes = set(), defaultdict(lambda: ([], []))
        for (r, t), (head, steps) in self.tbs.items():
            for b, m in zip("io", scale, strict=True):
                self.size[r][b] = min(self.size[r][b], self.chunks // m)
            need(0 <= head["chan"] < self.channels, "chan")
            for word in ("send", "recv"):
                p = head[word]
                need(-1 <= p < self.n and p != r, "peer")
                need(p < 0 or (r, p, head["chan"], word) not in used, "connection")
                used.add((r, p, head["chan"], word))
            for k, x in enumerate(steps):
                self.check_step(r, t, head, steps, k, x)
                if x["type"] in SENDS:
                    sizes[r, head["send"], head["chan"]][0].append(x["cnt"])
                if x["type"] in RECEIVES:
                    sizes[head["recv"], r, head["chan"]][1].append(x["cnt"])
        need(all(sent == received for sent, received in sizes.values()), "matching")

    def check_step(self, r, t, head, steps, k, x):
        need(x["s"] == k and x["type"] in {*READS, *WRITES, "nop"}, "step")
        need(x["hasdep"] in (0, 1) and x["srcbuf"] in "ios" and x["dstbuf"] in "ios", "value")
        need(x["type"] == "nop" or 1 <= x["cnt"] <= 71, "cnt")
        need(x["type"] not in SENDS or head["send"] >= 0, "send")
        need(x["type"] not in RECEIVES or head["recv"] >= 0, "recv")
        for kinds, b, o in ((READS, "srcbuf", "srcoff"), (WRITES, "dstbuf", "dstoff")):
            if x["type"] in kinds:
                need(x[o] >= 0 and x[o] + x["cnt"] <= self.size[r][x[b]], "bounds")
        near = x["srcbuf"] == x["dstbuf"] and abs(x["srcoff"] - x["dstoff"]) < x["cnt"]
        if x["type"] in READS and x["type"] in WRITES:
            need(not near or x["srcoff"] == x["dstoff"], "overlap")
        if x["depid"] != -1:
            target = self.tbs.get((r, x["depid"]), (None, []))[1]
            need(0 <= x["deps"] < len(target), "dependency")
            need(target[x["deps"]]["hasdep"] and target[x["deps"]]["type"] != "nop", "hasdep")
        if x["type"] == "nop":
            need(x["depid"] != -1, "nop")
            need(k + 1 == len(steps) or steps[k + 1]["depid"] != -1, "after nop")
        before = steps[k - 1] if k else {"type": ""}
        same = all(before.get(c) == x[c] for c in ("type", "srcbuf", "dstbuf", "dstoff"))
        if x["type"] == "re" and same and x["depid"] == -1 and not before["hasdep"]:
            need(before["cnt"] == x["cnt"] and not near, "fusion")

    def cell(self, r, buffer, x, inplace):
        """Return the name of a chunk; in place, of the chunk of the larger buffer."""
        shard = self.chunks // self.n
        if inplace and buffer == "i" and self.coll == "allgather":
            return r, "o", r * shard + x
        if inplace and buffer == "o" and self.coll == "reducescatter":
            return r, "i", r * shard + x
        return r, "o" if inplace and buffer == "i" and self.coll != "reducescatter" else buffer, x

    def run(self, inplace, at_once, slots):
        """Run it in one order and refuse a hang, a race or a wrong result."""
        shard = self.chunks // self.n
        data = {}
        for r in range(self.n):
            for c in range(shard if self.coll == "allgather" else self.chunks):
                data[self.cell(r, "i", c, inplace)] = Counter([(r, c)])
        counter, part, queue = dict.fromkeys(self.tbs, 0), dict.fromkeys(self.tbs, 0), defaultdict(list)
        ancestors, over, latest, accesses = {}, {}, {}, defaultdict(list)
        moved = True
        while moved:
            moved = False
            for (r, t), (head, steps) in self.tbs.items():
                k, at = counter[r, t], part[r, t]
                if k == len(steps):
                    continue
                x, e = steps[k], (r, t, k, at)
                target = (r, x["depid"], x["deps"])
                kind, into, out = x["type"], (head["recv"], r, head["chan"]), (r, head["send"], head["chan"])
                if (x["depid"] >= 0 and target not in over) or (kind in RECEIVES and not queue[into]):
                    continue
                if kind in SENDS and len(queue[out]) == slots:
                    continue
                source, received = queue[into].pop(0) if kind in RECEIVES else (None, [])
                known = {latest.get((r, t)), over.get(target), source} - {None}
                ancestors[e] = known.union(*(ancestors[p] for p in known))
                last = x["cnt"] if kind not in {*SENDS, *RECEIVES} else min(at + at_once, x["cnt"])
                values = self.step(r, x, range(at, last), received, data, accesses, e, inplace)
                if kind in SENDS:
                    queue[out].append((e, values))
                part[r, t], latest[r, t], moved = last, e, True
                if last >= x["cnt"]:
                    counter[r, t], part[r, t], over[r, t, k] = k + 1, 0, e
        need(all(counter[tb] == len(self.tbs[tb][1]) for tb in self.tbs), "hangs")
        need(not any(queue.values()), "a message is left")
        for touched in accesses.values():
            for (a, wa), (b, wb) in combinations(touched, 2):
                need(not (wa or wb) or a == b or a in ancestors[b] or b in ancestors[a], "race")
        for r in range(self.n):
            for c in range(shard if self.coll == "reducescatter" else self.chunks):
                need(data.get(self.cell(r, "o", c, inplace)) == self.wanted(r, c, shard), "result")

    def ends_at_one(self):
        """Whether all ends if a connection holds one message; a step that receives and sends has one in its hands."""
        counter, hands, full, moved = dict.fromkeys(self.tbs, 0), set(), set(), True
        while moved:
            moved = False
            for (r, t), (head, steps) in self.tbs.items():
                k = counter[r, t]
                if k == len(steps) or (steps[k]["depid"] >= 0 and counter[r, steps[k]["depid"]] <= steps[k]["deps"]):
                    continue
                into, out = (head["recv"], r, head["chan"]), (r, head["send"], head["chan"])
                if steps[k]["type"] in RECEIVES and (r, t) not in hands:
                    if into not in full:
                        continue
                    full.remove(into)
                    hands.add((r, t))
                    moved = True
                if steps[k]["type"] in SENDS and out in full:
                    continue
                full |= {out} if steps[k]["type"] in SENDS else set()
                hands.discard((r, t))
                counter[r, t], moved = k + 1, True
        return all(counter[tb] == len(self.tbs[tb][1]) for tb in self.tbs)

    def step(self, r, x, part, received, data, accesses, e, inplace):
        """Do a part of a step, a range of its chunks."""
        kind, values = x["type"], received
        if kind == "nop":
            return []
        src = [self.cell(r, x["srcbuf"], x["srcoff"] + c, inplace) for c in part]
        dst = [self.cell(r, x["dstbuf"], x["dstoff"] + c, inplace) for c in part]
        if kind in READS:
            for c in src:
                accesses[c].append((e, False))
            local = [data.get(c, Counter(["undefined"])) for c in src]
            if kind in ("s", "cpy"):
                values = local
            elif kind == "re":
                values = [data.get(d, Counter(["undefined"])) + v for d, v in zip(dst, local, strict=True)]
            else:
                values = [a + b for a, b in zip(local, received, strict=True)]
        if kind in WRITES:
            need(inplace or x["dstbuf"] != "i", "writes the input")
            for d, v in zip(dst, values, strict=True):
                accesses[d].append((e, True))
                data[d] = v
        return values

    def wanted(self, r, c, shard):
        if self.coll == "allgather":
            return Counter([(c // shard, c % shard)])
        if self.coll == "alltoall":
            return Counter([(c // shard, r * shard + c % shard)])
        x = r * shard + c if self.coll == "reducescatter" else c
        return Counter((q, x) for q in range(self.n))


def is_harmful(text, strict=True, rccl=False):
    """Return what is wrong with a program, or None; if strict, it must end where connections hold one message."""
    try:
        program = Program(text, rccl)
        program.check()
        need(not strict or program.ends_at_one(), "hangs")
        for inplace in [f for f, on in zip((True, False), program.flags, strict=True) if on] or [False]:
            program.run(inplace, program.at_once, program.slots)
            program.run(inplace, 1, -1)
    except Harm as harm:
        return str(harm)
    return None


def write(algo):
    """Return the text of a tree as the runtimes read it."""
    ET.indent(algo, "  ")
    return ET.tostring(algo, encoding="unicode") + "\n"


def _shift(name, by):
    def mutate(rng, tb, steps, step):
        step.set(name, str(int(step.get(name)) + rng.choice(by)))

    return mutate


def _choose(name, values):
    def mutate(rng, tb, steps, step):
        step.set(name, rng.choice([v for v in values if v != step.get(name)]))

    return mutate


def _drop(rng, tb, steps, step):
    tb.remove(step)


def _double(rng, tb, steps, step):
    tb.insert(steps.index(step), copy.deepcopy(step))


def _swap(rng, tb, steps, step):
    k = steps.index(step)
    tb.remove(step)
    tb.insert(k - 1 if k else 1, step)


def _no_dependency(rng, tb, steps, step):
    step.set("depid", "-1")
    step.set("deps", "-1")


def _tb_shift(name, by):
    def mutate(rng, tb, steps, step):
        tb.set(name, str(int(tb.get(name)) + rng.choice(by)))

    return mutate


MUTATIONS = {
    "drop": _drop, "double": _double, "swap": _swap, "no-dependency": _no_dependency,
    "srcoff": _shift("srcoff", (-1, 1, 2)), "dstoff": _shift("dstoff", (-1, 1, 2)), "cnt": _shift("cnt", (-1, 1)),
    "srcbuf": _choose("srcbuf", "ios"), "dstbuf": _choose("dstbuf", "ios"), "hasdep": _choose("hasdep", "01"),
    "type": _choose("type", ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop")),
    "depid": _shift("depid", (-1, 1)), "deps": _shift("deps", (-1, 1)), "s": _shift("s", (-1, 1)),
    "chan": _tb_shift("chan", (-1, 1)), "send": _tb_shift("send", (-1, 1)), "recv": _tb_shift("recv", (-1, 1)),
    "tb": _tb_shift("id", (-1, 1)),
}  # fmt: skip


def mutants(text, count, seed):
    """Yield (what, text): programs with one thing changed in one step or threadblock."""
    rng = random.Random(seed)
    names = sorted(MUTATIONS)
    for k in range(count):
        algo = ET.fromstring(text)
        tb = rng.choice([tb for tb in algo.iter("tb") if len(tb)])
        steps = list(tb)
        name = names[k % len(names)]
        if name in ("no-dependency", "depid", "deps"):
            steps = [x for x in steps if x.get("depid") != "-1"] or steps
        MUTATIONS[name](rng, tb, list(tb), rng.choice(steps))
        if name in ("drop", "double", "swap"):
            for n, step in enumerate(tb):
                step.set("s", str(n))
        yield f"{k}-{name}", write(algo)
