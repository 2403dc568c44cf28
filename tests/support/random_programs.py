"""Interpreters that run CPU XML and MSCCL++ plans in random orders, as a slow machine with bad luck might.

They share no code with the verifier and know no theory: a program is harmful if one of many runs hangs, reads
outside of a buffer or ends with wrong data. What they find harmful the verifier must refuse.
"""

import copy
import json
import random
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict

NOTHING = Counter(["undefined"])


class Harm(Exception):
    """What is wrong with a program."""


def need(condition, what):
    if not condition:
        raise Harm(what)


class Data:
    """The buffers of all ranks; a value is a multiset of (rank, chunk)."""

    def __init__(self, coll, n, chunks, sizes, inplace):
        self.coll, self.n, self.chunks, self.sizes, self.inplace = coll, n, chunks, sizes, inplace
        self.shard = chunks // n
        self.cells = {}
        for r in range(n):
            for c in range(self.shard if coll == "allgather" else chunks):
                self.cells[self.name(r, "i", c)] = Counter([(r, c)])

    def name(self, r, buffer, x):
        if self.inplace and buffer == "i":
            return (r, "o", x + r * self.shard) if self.coll == "allgather" else (r, "o", x)
        return r, buffer, x

    def range(self, r, buffer, at, count):
        need(count > 0 and at >= 0 and at + count <= self.sizes[r][buffer], "bounds")
        return [self.name(r, buffer, at + k) for k in range(count)]

    def read(self, cells):
        return [self.cells.get(c, NOTHING) for c in cells]

    def write(self, cells, values):
        need(len(cells) == len(values), "counts differ")
        for cell, value in zip(cells, values, strict=True):
            need(self.inplace or cell[1] != "i", "writes the input")
            self.cells[cell] = value

    def check(self, r):
        for c in range(self.chunks):
            want = Counter((q, c) for q in range(self.n))
            if self.coll == "allgather":
                want = Counter([(c // self.shard, c % self.shard)])
            need(self.cells.get(self.name(r, "o", c)) == want, "result")


def run_cpu(text, seed):
    """Run a CPU schedule once, in an order that the seed decides."""
    rng, head = random.Random(seed), ET.fromstring(text)
    programs = [[(x.tag, dict(x.attrib)) for x in rank] for rank in head]
    sizes = [{b: int(r.get(w)) for b, w in zip("ios", ("input", "output", "scratch"), strict=True)} for r in head]
    n = len(programs)
    data = Data(head.get("coll"), n, int(head.get("chunks")), sizes, head.get("inplace") == "1")
    counter, done = [0] * n, [set() for _ in range(n)]
    sends, receives, air = defaultdict(list), defaultdict(list), {}

    def covered(r, k):
        ops = programs[r][k][1].get("ops")
        asked = {int(x) for x in ops.split()} if ops is not None else None
        open_ops = {m for m, (tag, _) in enumerate(programs[r][:k]) if tag in ("send", "recv")}
        need(asked is None or asked <= open_ops, "ops")
        return (asked if asked is not None else open_ops) <= done[r]

    def place(r, x, word):
        return data.range(r, x[word], int(x[word + "off"]), int(x["cnt"]))

    def advance(r):
        tag, x = programs[r][counter[r]]
        k = counter[r]
        counter[r] += 1
        if tag in ("send", "recv"):
            peer = int(x["peer"])
            need(0 <= peer < n and peer != r, "peer")
            key = (r, peer, x["chan"]) if tag == "send" else (peer, r, x["chan"])
            (sends if tag == "send" else receives)[key].append((r, k, place(r, x, "src" if tag == "send" else "dst")))
        elif tag != "sync":
            src, dst = place(r, x, "src"), place(r, x, "dst")
            values = data.read(src)
            data.write(dst, values if tag == "copy" else [a + b for a, b in zip(values, data.read(dst), strict=True)])

    def fly(key, m):
        if m not in air.setdefault(key, {}):
            air[key][m] = data.read(sends[key][m][2])
            return
        data.write(receives[key][m][2], air[key][m])
        for r, k, _ in (sends[key][m], receives[key][m]):
            done[r].add(k)

    while True:
        moves = [
            (advance, r) for r in range(n)
            if counter[r] < len(programs[r]) and (programs[r][counter[r]][0] != "sync" or covered(r, counter[r]))
        ]  # fmt: skip
        for key, started in sends.items():
            for m, (r, k, _) in enumerate(started):
                if k not in done[r] and (m < len(receives[key]) or m not in air.get(key, {})):
                    moves.append((fly, key, m))
        if not moves:
            break
        move = rng.choice(moves)
        move[0](*move[1:])
    need(all(c == len(p) for c, p in zip(counter, programs, strict=True)), "hangs")
    for r, program in enumerate(programs):
        need({k for k, (tag, _) in enumerate(program) if tag in ("send", "recv")} == done[r], "left over")
        data.check(r)


class PlusRun:
    """One run of an MSCCL++ plan; ``lazy`` lets the operations between two syncs run in any order."""

    def __init__(self, plan, seed, lazy):
        self.rng, self.lazy, self.gpus = random.Random(seed), lazy, plan["gpus"]
        sizes = [{w[0]: g[w + "_chunks"] for w in ("input", "output", "scratch")} for g in self.gpus]
        chunks = max(sizes[0]["i"], sizes[0]["o"])
        self.data = Data(plan["collective"], len(self.gpus), chunks, sizes, plan["inplace"])
        self.todo, self.puts, self.count, self.met = {}, [], Counter(), Counter()
        self.started, self.ended = set(), set()
        for r, gpu in enumerate(self.gpus):
            for t, tb in enumerate(gpu["threadblocks"]):
                segments = [[]]
                for op in [*tb["ops"], {"name": "nop"}]:
                    if op["name"] in ("nop", "barrier"):
                        segments.append(op)
                        segments.append([])
                    else:
                        segments[-1].append(op)
                self.todo[r, t] = segments

    def ends(self, r, t, kind):
        """The (peer, number) of a threadblock's channels."""
        flat, number = [], Counter()
        for channel in self.gpus[r]["channels"]:
            for peer in channel["connected_to"] if channel["channel_type"] == kind else []:
                flat.append((peer, number[peer]))
                number[peer] += 1
        ids = [i for c in self.gpus[r]["threadblocks"][t]["channels"] if c["channel_type"] == kind
               for i in c["channel_ids"]]  # fmt: skip
        return [flat[i] for i in ids]

    def cells(self, r, t, op, ref):
        need("buffer_id" in ref or ref["type"] in ("i", "o", "s"), "buffer")
        peer, buffer = r, ref.get("type")
        if "buffer_id" in ref:
            ids = [i for x in self.gpus[r]["threadblocks"][t]["remote_buffer_refs"] for i in x["remote_buffer_ids"]]
            need(0 <= ref["buffer_id"] < len(ids), "buffer id")
            remote = self.gpus[r]["remote_buffers"][ids[ref["buffer_id"]]]
            peer, buffer = remote["rank"], remote["type"]
        return self.data.range(peer, buffer, ref["index"], ref["size"])

    def channels(self, r, t, op):
        ends = self.ends(r, t, op["channel_type"])
        need(all(0 <= k < len(ends) for k in op["channel_ids"]), "channel id")
        return [(r, *ends[k], op["channel_type"]) for k in op["channel_ids"]]

    def is_ready(self, r, t, op):
        if op["name"] == "wait":
            return all(self.count[peer, r, number, kind, "told"] > self.count[peer, r, number, kind, "heard"]
                       for _, peer, number, kind in self.channels(r, t, op))  # fmt: skip
        if op["name"] in ("signal", "flush") and op["channel_type"] == "port":
            return not any(c == channel for c, _, _ in self.puts for channel in self.channels(r, t, op))
        return True

    def do(self, r, t, op):
        name = op["name"]
        src = [self.cells(r, t, op, x) for x in op.get("src_buff", [])]
        dst = [self.cells(r, t, op, x) for x in op.get("dst_buff", [])]
        if name == "wait":
            for _, peer, number, kind in self.channels(r, t, op):
                self.count[peer, r, number, kind, "heard"] += 1
        elif name in ("put", "copy", "pwsf"):
            need(len(src) == len(dst) > 0, "puts")
            for k, (a, b) in enumerate(zip(src, dst, strict=True)):
                need(len(a) == len(b), "sizes")
                if op.get("channel_type") == "port" and name == "put":
                    self.puts.append((self.channels(r, t, op)[k], a, b))
                else:
                    self.data.write(b, self.data.read(a))
        elif name == "re":
            need(len({len(x) for x in (*src, *dst)}) == 1 and len(src) > 1 and len(dst) == 1, "sizes")
            values = [sum(v, Counter()) for v in zip(*map(self.data.read, src), strict=True)]
            self.data.write(dst[0], values)
        if name in ("signal", "pwsf"):
            for r0, peer, number, kind in self.channels(r, t, op):
                self.count[r0, peer, number, kind, "told"] += 1

    def moves(self):
        for r in set(range(len(self.gpus))) - self.started:
            yield self.start, r
        for (r, t), segments in self.todo.items():
            if r not in self.started or not segments:
                continue
            here = segments[0]
            if isinstance(here, dict):
                if here["name"] == "nop" or self.met[r, here["barrier_id"]] % here["num_threadblocks"] == 0:
                    yield self.pass_on, r, t
            elif not here:
                yield self.pass_on, r, t
            else:
                for op in here if self.lazy else here[:1]:
                    if self.is_ready(r, t, op):
                        yield self.take, r, t, op
        for put in self.puts:
            yield self.fly, put

    def start(self, r):
        self.started.add(r)
        for cell in list(self.data.cells):  # until now the caller used the output
            if cell[0] == r and cell[1] == "o" and not self.data.inplace:
                del self.data.cells[cell]

    def pass_on(self, r, t):
        segments = self.todo[r, t]
        segments.pop(0)
        if segments and isinstance(segments[0], dict) and segments[0]["name"] == "barrier":
            self.met[r, segments[0]["barrier_id"]] += 1
        if all(not s for (q, _), s in self.todo.items() if q == r) and r not in self.ended:
            self.ended.add(r)
            self.data.check(r)

    def take(self, r, t, op):
        self.todo[r, t][0].remove(op)
        self.do(r, t, op)

    def fly(self, put):
        self.puts.remove(put)
        self.data.write(put[2], self.data.read(put[1]))

    def run(self):
        while moves := list(self.moves()):
            move = self.rng.choice(moves)
            move[0](*move[1:])
        need(len(self.ended) == len(self.gpus), "hangs")
        for key, told in self.count.items():
            need(key[-1] != "told" or told == self.count[*key[:-1], "heard"], "a signal is left")


def run_plus(text, seed):
    """Run a plan once, in an order that the seed decides; every other run takes operations in order."""
    PlusRun(json.loads(text), seed, lazy=bool(seed % 2)).run()


def is_harmful(run, text, runs):
    """Return what goes wrong in one of many runs, or None."""
    try:
        for seed in range(runs):
            run(text, seed)
    except Harm as harm:
        return str(harm)
    return None


def cpu_mutants(text, count, seed):
    """Yield (what, text): a CPU schedule with one instruction changed."""
    rng = random.Random(seed)
    names = ("drop", "swap", "double", "off", "buffer", "cnt", "peer", "kind", "ops")
    for k in range(count):
        tree, name = ET.fromstring(text), names[k % len(names)]
        rank = rng.choice(list(tree))
        has = {"off": "cnt", "buffer": "cnt", "cnt": "cnt", "peer": "peer", "ops": "ops", "kind": "src"}.get(name, "n")
        x = rng.choice([x for x in rank if has in x.attrib])
        at = list(rank).index(x)
        if name in ("off", "buffer"):
            word = rng.choice([w for w in ("src", "dst") if w in x.attrib])
            off = str(int(x.get(word + "off")) + rng.choice((-1, 1)))
            x.set(*((word + "off", off) if name == "off" else (word, rng.choice("ios".replace(x.get(word), "")))))
        elif name in ("cnt", "peer"):
            x.set(name, str((int(x.get(name)) + rng.choice((1, 2))) % 3))
        elif name == "ops":
            x.set("ops", rng.choice(("", str(int(x.get("ops")) + rng.choice((-1, 1))))))
        elif name == "kind":
            x.tag = {"copy": "reduce", "reduce": "copy", "send": "send"}[x.tag]
        elif name == "double":
            rank.insert(at, copy.deepcopy(x))
        else:
            rank.remove(x)
            if name == "swap":
                rank.insert(max(at - 1, 0), x)
        for n, y in enumerate(rank):
            y.set("n", str(n))
        yield f"{k}-{name}", ET.tostring(tree, encoding="unicode")


def plus_mutants(text, count, seed):
    """Yield (what, text): a plan with one operation changed."""
    rng = random.Random(seed)
    names = ("drop", "swap", "double", "index", "size", "type", "buffer_id", "channel", "nop", "count")
    for k in range(count):
        plan, name = json.loads(text), names[k % len(names)]
        gpu = rng.choice(plan["gpus"])
        ops = rng.choice([tb["ops"] for tb in gpu["threadblocks"]])
        at = rng.randrange(len(ops))
        refs = [x for op in ops for key in ("src_buff", "dst_buff") for x in op.get(key, [])]
        if name in ("index", "size"):
            rng.choice(refs)[name] += 1
        elif name == "type":
            rng.choice([x for x in refs if "type" in x])["type"] = rng.choice("ios")
        elif name == "buffer_id":
            for x in (
                rng.sample([x for x in refs if "buffer_id" in x], 1) if any("buffer_id" in x for x in refs) else []
            ):
                x["buffer_id"] += rng.choice((-1, 1)) if x["buffer_id"] else 1
        elif name == "channel":
            for op in [op for op in ops if "channel_ids" in op][:1]:
                op["channel_ids"] = op["channel_ids"][:-1]
        elif name == "nop":
            del ops[rng.choice([i for i, op in enumerate(ops) if op["name"] in ("nop", "barrier")])]
        elif name == "count":
            gpu[rng.choice(("input_chunks", "output_chunks"))] += 1
        elif name == "double":
            ops.insert(at, copy.deepcopy(ops[at]))
        else:
            op = ops.pop(at)
            if name == "swap":
                ops.insert(max(at - 1, 0), op)
        yield f"{k}-{name}", json.dumps(plan)
