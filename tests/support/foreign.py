"""Programs as other tools print them: threadblocks sorted by peers, nops for more dependencies, chunk counts from use.

A program is rows of steps with the steps each must come after; ``Program.text`` gives ids, nops and flags. What a step
does not use it names all the same: a receive says where its data came from, a send where it goes.
"""

from collections import defaultdict

NOWHERE = ("i", -1)


class Program:
    """Steps by rank and (send, recv, chan)."""

    def __init__(self, coll, n, inplace):
        self.coll, self.n, self.inplace = coll, n, inplace
        self.blocks = [defaultdict(list) for _ in range(n)]

    def add(self, rank, block, type, src, dst, cnt=1, after=()):
        """Append a step to a block (send, recv, chan, ...); return it, for others to come after."""
        step = (rank, block, len(self.blocks[rank][block]))
        self.blocks[rank][block].append((type, src, dst, cnt, [a for a in after if a and a[1] != block]))
        return step

    def copies(self, instances):
        """Return the program several times side by side: chunk x becomes x * instances + k, on channels of its own."""
        many = Program(self.coll, self.n, self.inplace)
        channels = 1 + max(block[2] for blocks in self.blocks for block in blocks)
        for k in range(instances):
            for rank, blocks in enumerate(self.blocks):
                for block, steps in blocks.items():
                    for type, src, dst, cnt, after in steps:
                        move = [(b, x * instances + k) for b, x in (src, dst)]
                        there = [(r, (b[0], b[1], b[2] + k * channels, *b[3:]), p) for r, b, p in after]
                        many.add(rank, (*block[:2], block[2] + k * channels, *block[3:]), type, *move, cnt, there)
        return many

    def text(self, proto="Simple", **head):
        """Print the XML; ``head`` are further attributes of algo."""
        size = [defaultdict(int) for _ in range(self.n)]
        for rank, blocks in enumerate(self.blocks):
            for type, src, dst, cnt, _ in (s for steps in blocks.values() for s in steps):
                for used, (b, x) in ((type not in ("r", "rcs"), src), (type != "s", dst)):
                    size[rank][b] = max(size[rank][b], x + cnt if used else 0)
        chunks = max(max(s["i"], s["o"]) for s in size)
        channels = 1 + max(block[2] for blocks in self.blocks for block in blocks)
        lines = [
            f'<algo name="foreign" proto="{proto}" nchannels="{channels}" nchunksperloop="{chunks}" ngpus="{self.n}" '
            f'coll="{self.coll}" inplace="{int(self.inplace)}"' + "".join(f' {k}="{v}"' for k, v in head.items()) + ">"
        ]
        for rank, blocks in enumerate(self.blocks):
            lines.append('  <gpu id="{}" i_chunks="{i}" o_chunks="{o}" s_chunks="{s}">'.format(
                rank, **{b: size[rank][b] for b in "ios"}))  # fmt: skip
            lines += self._gpu(blocks)
            lines.append("  </gpu>")
        return "\n".join([*lines, "</algo>\n"])

    def _gpu(self, blocks):
        ids = {block: t for t, block in enumerate(sorted(blocks))}
        awaited = {(b, p) for steps in blocks.values() for s in steps for _, b, p in s[4]}
        place, rows = {}, {}
        for block in ids:
            rows[block] = []
            for p, (type, src, dst, cnt, after) in enumerate(blocks[block]):
                rows[block] += [("nop", NOWHERE, ("o", -1), 0, a, False) for a in after[1:]]
                place[block, p] = len(rows[block])
                rows[block].append((type, src, dst, cnt, after[0] if after else None, (block, p) in awaited))
        for block, t in ids.items():
            yield '    <tb id="{}" send="{}" recv="{}" chan="{}">'.format(t, *block[:3])
            for s, (type, src, dst, cnt, after, flag) in enumerate(rows[block]):
                depid, deps = (ids[after[1]], place[after[1:]]) if after else (-1, -1)
                yield (
                    f'      <step s="{s}" type="{type}" srcbuf="{src[0]}" srcoff="{src[1]}" dstbuf="{dst[0]}" '
                    f'dstoff="{dst[1]}" cnt="{cnt}" depid="{depid}" deps="{deps}" hasdep="{int(flag)}"/>'
                )
            yield "    </tb>"


def ring_allreduce(n, channels=1, cnt=1, home="i"):
    """One fused chain of steps a rank and channel; from the input to ``home``, so that "o" is for use in both ways."""
    program = Program("allreduce", n, True)
    kinds = ["s", *["rrs"] * (n - 2), "rrcs", *["rcs"] * (n - 2), "r"]
    for rank in range(n):
        for c in range(channels):
            for k, kind in enumerate(kinds):
                x = ((rank - k) % n * channels + c) * cnt
                program.add(rank, ((rank + 1) % n, (rank - 1) % n, c), kind, ("i", x), (home, x), cnt)
    return program


def ring_allgather(n, inplace, cnt=1):
    """In place all is in the output; out of place a rank's own part is copied after it was sent."""
    program = Program("allgather", n, inplace)
    for rank in range(n):
        block = ((rank + 1) % n, (rank - 1) % n, 0)
        own = ("o", rank * cnt)
        program.add(rank, block, "s", own if inplace else ("i", 0), own, cnt)
        for k in range(1, n):
            at = ("o", (rank - k) % n * cnt)
            program.add(rank, block, "r" if k == n - 1 else "rcs", at if inplace or k > 1 else ("i", 0), at, cnt)
        if not inplace:
            program.add(rank, block, "cpy", ("i", 0), own, cnt)
    return program


def ring_reduce_scatter(n, inplace, name):
    """A rank's part is last added to at the rank itself."""
    program = Program(name, n, inplace)
    for rank in range(n):
        for k in range(n):
            at = ("i", (rank - 1 - k) % n)
            end = at if inplace or k < n - 1 else ("o", 0)
            program.add(rank, ((rank + 1) % n, (rank - 1) % n, 0), ("s" if k == 0 else "rrc" if k == n - 1 else "rrs"),
                        at, end)  # fmt: skip
    return program


def halving_doubling(n):
    """A block for each peer exchanges half of what is left with it, and later what came of it."""
    program = Program("allreduce", n, True)
    last = dict.fromkeys(range(n))
    half = n // 2
    while half:
        now = {}
        for rank in range(n):
            peer = rank ^ half
            there, here = peer // half * half, rank // half * half
            block = (peer, peer, 0)
            program.add(rank, block, "s", ("i", there), ("i", there), half, [last[rank]])
            now[rank] = program.add(rank, block, "rrc", ("i", here), ("i", here), half)
        last, half = now, half // 2
    half = 1
    came = {rank: [last[rank]] for rank in range(n)}
    while half < n:
        for rank in range(n):
            peer = rank ^ half
            there, here = peer // half * half, rank // half * half
            program.add(rank, (peer, peer, 0), "s", ("i", here), ("i", here), half, came[rank])
            came[rank] = [*came[rank], program.add(rank, (peer, peer, 0), "r", ("i", there), ("i", there), half)]
        half *= 2
    return program


def tree_allreduce(n):
    """A binary tree with the children of rank r at 2 r + 1 and 2 r + 2: up with rrc and rrs, down with rcs and s."""
    program = Program("allreduce", n, True)
    at = ("i", 0)
    for rank in range(n):
        parent = (rank - 1) // 2 if rank else -1
        children = [c for c in (2 * rank + 1, 2 * rank + 2) if c < n]
        if not children:
            up = program.add(rank, (parent, -1, 0), "s", at, at)
            program.add(rank, (-1, parent, 1), "r", at, at, after=[up])
            continue
        sums = [program.add(rank, (-1, c, 0), "rrc", at, at) for c in children[:-1]]
        if rank:
            up = program.add(rank, (parent, children[-1], 0), "rrs", at, at, after=sums)
            down = program.add(rank, (children[0], parent, 1), "rcs", at, at, after=[up])
            rest = children[1:]
        else:
            down = program.add(rank, (-1, children[-1], 0), "rrc", at, at, after=sums)
            rest = children
        for c in rest:
            program.add(rank, (c, -1, 1), "s", at, at, after=[down])
    return program


def hierarchical_alltoall(nodes, size):
    """What goes to another node is first collected, in scratch, by the rank with the same place in the own node."""
    n = nodes * size
    program = Program("alltoall", n, False)
    collected = defaultdict(dict)
    for rank in range(n):
        node, place = divmod(rank, size)
        for peer in range(n):
            there, target = divmod(peer, size)
            via, src = node * size + target, ("i", peer)
            if there == node:
                dst, channel = ("o", rank), 1
            else:
                dst, channel = ("s", ((there - node) % nodes - 1) * size + place), 0
            if via == rank:
                step = program.add(rank, (-1, -1, 0), "cpy", src, dst)
            else:
                program.add(rank, (via, -1, channel), "s", src, dst)
                step = program.add(via, (-1, rank, channel), "r", src, dst)
            if there != node:
                collected[via, there][place] = step
    for (rank, there), steps in collected.items():
        node, place = divmod(rank, size)
        peer, src, dst = there * size + place, ("s", ((there - node) % nodes - 1) * size), ("o", node * size)
        program.add(rank, (peer, -1, 2), "s", src, dst, size, [steps[k] for k in range(size)])
        program.add(peer, (-1, rank, 2), "r", src, dst, size)
    return program


def allpairs_allreduce(n, inplace=True):
    """All send each rank its part, into scratch; it sums up, a chunk in each of n blocks, and sends the sums."""
    program = Program("allreduce", n, inplace)
    home = "i" if inplace else "o"
    for rank in range(n):
        peers = [p for p in range(n) if p != rank]
        blocks = [(-1, -1, 0)] + [(p, p, 0) for p in peers]
        own = None
        if not inplace:
            own = program.add(rank, blocks[0], "cpy", ("i", rank * n), ("o", rank * n), n)
        came = []
        for k, p in enumerate(peers):
            program.add(rank, (p, p, 0), "s", ("i", p * n), ("s", (rank - (rank > p)) * n), n)
            came.append(program.add(rank, (p, p, 0), "r", ("i", rank * n), ("s", k * n), n))
        sums = []
        for x, block in enumerate(blocks):
            for k in range(n - 1):
                after = [*came, own] if k == 0 else ()
                step = program.add(rank, block, "re", ("s", k * n + x), (home, rank * n + x), 1, after)
            sums.append(step)
        for p in peers:
            program.add(rank, (p, p, 0), "s", (home, rank * n), (home, rank * n), n, sums)
            program.add(rank, (p, p, 0), "r", (home, p * n), (home, p * n), n)
    return program
