"""What a single operation or field of an MSCCL++ plan must be: the executor checks next to nothing and reads on.

``check_rules`` is what no executor can run and what cannot be followed; ``check_dialect`` what does not fit into the
executor as it is, or would never be used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkstep.core.collective import Collective
from linkstep.programs.findings import Findings
from linkstep.programs.memory import INPUT, KINDS, LETTERS, OUTPUT, SCRATCH
from linkstep.programs.mscclpp.reader import NOT_FOLLOWED, ExecutionPlan, Op, Ref

# Of execution_common.hpp: arrays that are filled without a look at their lengths.
MAX_CHANNELS, MAX_OP_CHANNELS, MAX_OP_BUFFERS, MAX_OPS, MAX_BARRIERS = 16, 8, 10, 64, 16
# Bits of a trigger in fifo_device.hpp; three memories are the rank's own. All plans of a process share them.
MAX_PORTS, MAX_PORT_BUFFERS = 2**10, 2**9 - 3
MAX_THREADS = 1024
ALIGNMENT = 16
MAX_RESIDENT = 108
"""Blocks that run at once on the smallest GPU in use: one on each multiprocessor."""
MAX_BYTES = 2**32 - 1
"""Offsets and sizes of an operation's buffers are bytes in 32 bits."""
UNLIMITED = 2**64 - 1
"""The end of a window that a plan does not give."""

_CALLED = ("allgather", "allreduce", "reducescatter", "broadcast")
"""What nccl.cc asks for; the executor itself takes any word, and treats allgather apart: its size is the output's."""
PUTS = ("put", "pws", "pwsf")
SIGNALS = ("signal", "rlxsignal", "pws", "pwsf")
WAITS = ("wait", "rlxwait")


class OperandShape(NamedTuple):
    """How an operation takes its buffers: ``"l"`` local, ``"r"`` remote, capital letters where they hold packets.

    The last letter stands for all further ones; the counts are the fewest and the most.
    """

    src: str
    dst: str
    src_count: tuple[int, int] = (1, MAX_OP_BUFFERS)
    dst_count: tuple[int, int] = (1, MAX_OP_BUFFERS)
    is_paired: bool = False
    """The k-th source goes to the k-th destination; else all are of one size."""


_ONE, _SOME, _MORE = (1, 1), (1, MAX_OP_BUFFERS), (2, MAX_OP_BUFFERS)
SHAPES = {
    "put": OperandShape("l", "r", is_paired=True), "pws": OperandShape("l", "r", is_paired=True),
    "pwsf": OperandShape("l", "r", is_paired=True), "get": OperandShape("r", "l", is_paired=True),
    "copy": OperandShape("l", "l", _ONE, _ONE),
    "re": OperandShape("l", "l", _MORE, _ONE), "res": OperandShape("l", "lr", _MORE, _SOME),
    "rre": OperandShape("lr", "l", _MORE, _ONE), "rres": OperandShape("lr", "lr", _MORE, _SOME),
    "ppkt": OperandShape("l", "R", is_paired=True), "rppkt": OperandShape("L", "R", _ONE, _SOME),
    "cpkt": OperandShape("l", "L", _ONE, _ONE), "upkt": OperandShape("L", "l", _ONE, _ONE),
    "repkt": OperandShape("lL", "l", _MORE, _ONE), "respkt": OperandShape("lL", "lR", _MORE, _MORE),
    "recpkt": OperandShape("lL", "lL", _MORE, (2, 2)), "recspkt": OperandShape("lL", "lLR", _MORE, (3, MAX_OP_BUFFERS)),
}  # fmt: skip
PACKETS = frozenset(
    name for name, shape in SHAPES.items() if (shape.src + shape.dst) != (shape.src + shape.dst).lower()
)
_KNOWN = frozenset(("nop", "barrier", "flush", "signal", "rlxsignal", *WAITS, *SHAPES))


_SHIFTED: dict[Collective | None, int] = {Collective.ALLGATHER: INPUT, Collective.REDUCE_SCATTER: OUTPUT}


def letter(word: str, k: int) -> str:
    """What the k-th buffer is."""
    return word[min(k, len(word) - 1)]


class _Rules:
    """Checks operation by operation."""

    def __init__(self, file: ExecutionPlan, findings: Findings) -> None:
        self.file, self.findings = file, findings
        self.is_ll = file.head["protocol"] == "LL"
        self.shifted = _SHIFTED.get(file.collective, -1) if file.head["inplace"] else -1
        """The buffer that is a rank's own part of another: where it begins differs from rank to rank."""
        self.is_reused = file.head.get("reuse_resources", False) is True

    def error(self, rule: str, message: str) -> None:
        self.findings.error(rule, message, *self.place)

    def check(self, op: Op, rank: int, t: int, n: int) -> None:
        self.place = (rank, t, n)
        name = op.name
        if name == "nop" or op is NOT_FOLLOWED:
            return
        if name not in _KNOWN:
            self.findings.unknown("unsupported", f"operation {name[:40]!r} is none we know", *self.place)
            return
        if name == "barrier":
            if op.barrier >= MAX_BARRIERS:
                self.error("barrier", f"barrier {op.barrier}: there are {MAX_BARRIERS}")
            return
        if len(op.channels) > MAX_OP_CHANNELS or max(len(op.src), len(op.dst)) > MAX_OP_BUFFERS:
            self.error("channels", f"more than {MAX_OP_CHANNELS} channels or {MAX_OP_BUFFERS} buffers in one operation")
        if name in SHAPES:
            self._check_shape(op, rank, SHAPES[name])
        elif not op.channels:
            self.error("channels", f"{name} without a channel")
        elif name == "flush" and op.kind != "port":
            self.error("channels", "flush runs over port channels only")

    def _check_shape(self, op: Op, rank: int, shape: OperandShape) -> None:
        for refs, word, side in ((op.src, shape.src, "src"), (op.dst, shape.dst, "dst")):
            for k, ref in enumerate(refs):
                self._check_ref(op, ref, rank, letter(word, k), f"{side} {k}")
        if shape.is_paired and [ref.size for ref in op.src] != [ref.size for ref in op.dst]:
            self.error("buffer", f"{op.name} needs as many sources as destinations, of equal sizes")
            return
        if not (
            shape.src_count[0] <= len(op.src) <= shape.src_count[1]
            and shape.dst_count[0] <= len(op.dst) <= shape.dst_count[1]
            and (shape.is_paired or len({ref.size for ref in op.src + op.dst}) == 1)
        ):
            self.error("buffer", f"{op.name} needs other numbers of sources and destinations, or all of one size")
            return
        if op.name in (*PUTS, "rppkt") and op.kind == "port":
            if [c.peer for c in op.channels] != [ref.buffer // KINDS for ref in op.dst]:
                self.error("channels", f"{op.name} needs a port channel to the rank of each destination")
        elif op.name in ("pws", "pwsf"):
            self.error("channels", f"{op.name} runs over port channels only")
        elif "r" in (shape.src + shape.dst).lower() and op.kind != "memory":
            if op.name in PACKETS:
                self.findings.unknown("unsupported", f"{op.name} over {op.kind[:40]} channels", *self.place)
            else:
                self.error("channels", f"{op.name} runs over memory channels only, not over {op.kind[:40]}")
        if op.name in ("put", "ppkt") and op.kind == "memory" and len({ref.buffer for ref in op.src}) > 1:
            self.error("buffer", f"{op.name} reads all its sources from the buffer of the first")
        if op.name == "get" and any(a.start != b.start for a, b in zip(op.src, op.dst, strict=True)):
            self.findings.warn("get", "some versions exchange the two offsets of a get: make them equal", *self.place)

    def _check_ref(self, op: Op, ref: Ref, rank: int, kind: str, what: str) -> None:
        buffer, index, size = ref
        if buffer < 0:
            self.error("buffer", f"{what} is no buffer i, o or s")
            return
        owner, of = divmod(buffer, KINDS)
        most = self.file.gpus[owner].size[of]
        if size < 1 or index + size > most:
            self.error(
                "bounds", f"{what}, {LETTERS[of]}[{index}, {index + size}) of rank {owner}, is outside of its "
                f"{most} chunks",
            )  # fmt: skip
        is_remote = kind in "rR"
        if (owner != rank) != is_remote:
            self.error("buffer", f"{what} of {op.name} must be {'remote' if is_remote else 'local'}")
        if kind in "LR":
            if of != SCRATCH:
                self.error("buffer", f"{what} of {op.name} holds packets, which only scratch is large enough for")
            if not self.is_ll:
                self.error("proto", f"{op.name} needs protocol LL, with which scratch is large enough for packets")
        is_registered = is_remote or (op.kind == "port" and op.name in PUTS)
        if is_registered and of == self.shifted:
            # execution_plan.cc adds the own rank's offset for a remote buffer and none for the source of a port.
            self.error("inplace", f"{what} is {LETTERS[of]} in place, which begins elsewhere on each rank")
        if is_registered and self.is_reused and of != SCRATCH:
            self.is_reused = False
            self.findings.warn("reuse", f"{what} stays the buffer of the first call with reuse_resources", *self.place)


def check_dialect(file: ExecutionPlan, dialect: str, findings: Findings) -> None:
    """Report what does not fit into the executor, and what would keep the plan from being used."""
    head = file.head
    _check_window(file, findings)
    threads, alignment = head.get("num_threads_per_block", MAX_THREADS), head.get("buffer_alignment", ALIGNMENT)
    if not _is_number(threads, MAX_OP_CHANNELS, MAX_THREADS + 1):
        findings.error("threads", f"num_threads_per_block must be {MAX_OP_CHANNELS} to {MAX_THREADS}")
    if not _is_number(alignment, 16, 2**31) or alignment % 16:
        findings.error("alignment", "buffer_alignment must be a multiple of 16: sums go by 16 bytes")
    for rank, gpu in enumerate(file.gpus):
        blocks = len(gpu.threadblocks)
        if blocks > MAX_RESIDENT:
            findings.warn("resident", f"{blocks} threadblocks wait for each other, some GPUs run {MAX_RESIDENT}", rank)
        for t, ops in enumerate(gpu.threadblocks):
            if len(ops) > MAX_OPS:
                findings.error("steps", f"{len(ops)} operations, at most {MAX_OPS} fit", rank, t, MAX_OPS)


def _check_window(file: ExecutionPlan, findings: Findings) -> None:
    low, high = file.head.get("min_message_size", 0), file.head.get("max_message_size", UNLIMITED)
    if not (_is_number(low, 0, 2**64) and _is_number(high, 0, 2**64)):
        findings.error("window", "min_message_size and max_message_size must be 64-bit numbers")
    elif low >= 2**31:
        findings.error("window", f"min_message_size is read as 32 bits, not as {low}")
    elif low > high or high == 0:
        findings.warn("window", f"no message is of {low} to {high} bytes: the plan is never used")
    else:
        _check_sizes(file, high, findings)


def _check_sizes(file: ExecutionPlan, high: int, findings: Findings) -> None:
    """Beyond 32 bits a size wraps: a put of 2^32 bytes moves nothing, and nobody notices."""
    align = file.head.get("buffer_alignment", ALIGNMENT)
    farthest = _farthest(file)
    if farthest is None or not _is_number(align, 1, 2**31) or file.chunks < 1:
        return
    chunks, what, place = farthest
    unit = align * file.chunks
    most = MAX_BYTES // chunks // align * unit
    if high == UNLIMITED:
        beyond = "beyond which sizes are past 32 bits"
        findings.warn("window", f"no max_message_size: right up to {most} bytes, {beyond}")
    elif high // unit * unit > most:
        size = high // unit * align * chunks
        findings.error(
            "window", f"{what} of {size} bytes is past 32 bits: lower max_message_size to {most}", *place
        )  # fmt: skip


def _farthest(file: ExecutionPlan) -> tuple[int, str, tuple[int, int, int]] | None:
    """Return the chunks of the largest size or offset of any operation, which one it is, and where."""
    most, found = 0, None
    is_packed = file.head["protocol"] == "LL"
    tbs = (((rank, t), ops) for rank, gpu in enumerate(file.gpus) for t, ops in enumerate(gpu.threadblocks))
    for place, k, op in ((place, k, op) for place, ops in tbs for k, op in enumerate(ops) if op.name in SHAPES):
        for buffer, start, size in op.src + op.dst:
            owner, kind = divmod(buffer, KINDS)
            if buffer < 0 or start + size > file.gpus[owner].size[kind]:
                continue  # outside of its buffer, which is another rule's
            chunks = max(start, size) * (2 if is_packed and kind == SCRATCH else 1)
            if chunks > most:
                most, found = chunks, (f"{op.name} with {'an offset' if start > size else 'a size'}", (*place, k))
    return found and (most, *found)


def _is_number(x: Any, low: int, high: int) -> bool:
    return type(x) is int and low <= x < high


def check_rules(file: ExecutionPlan, findings: Findings) -> None:
    """Check all that can be said without running a plan."""
    _check_head(file, findings)
    rules = _Rules(file, findings)
    for rank, gpu in enumerate(file.gpus):
        if gpu.num_ports > MAX_PORTS or gpu.num_port_buffers > MAX_PORT_BUFFERS:
            findings.error("channels", f"more than {MAX_PORTS} ports or {MAX_PORT_BUFFERS} buffers behind them", rank)
        for why, place in gpu.not_followed:
            findings.unknown("unsupported", why, *place)
        for t, ops in enumerate(gpu.threadblocks):
            if gpu.num_channels[t] > MAX_CHANNELS:
                most = gpu.num_channels[t]
                findings.error("channels", f"{most} channels or remote buffers, at most {MAX_CHANNELS} fit", rank, t)
            for k, op in enumerate(ops):
                rules.check(op, rank, t, k)
    _check_scratch(file, findings)


def _check_head(file: ExecutionPlan, findings: Findings) -> None:
    word, n, collective, chunks = file.head["collective"], len(file.gpus), file.collective, file.chunks
    if file.head["protocol"] not in ("Simple", "LL"):
        findings.error("proto", f"protocol must be Simple or LL, not {file.head['protocol'][:40]!r}")
    for key in ("reuse_resources", "use_double_scratch_buffer"):
        if not isinstance(file.head.get(key, False), bool):
            findings.error("head", f"{key} must be true or false")
    if collective is None:
        findings.unknown("coll", f"nothing is known of what {word[:40]!r} must compute")
        return
    if word not in _CALLED:
        findings.warn("coll", f"no NCCL call asks for {word!r}, only for {', '.join(_CALLED)}: run it by hand")
    elif collective.has_root:
        findings.warn("root", "a broadcast is called for whatever its root: call it for the one it is made for")
    if chunks < 1 or (collective.is_divided and chunks % n):
        findings.error("chunks", f"{chunks} chunks cannot be divided among {n} ranks")
    want = collective.num_chunks(n, chunks)
    for rank, gpu in enumerate(file.gpus):
        if gpu.size[:2] != want:
            findings.error("chunks", f"input and output chunks must be {want}, not {gpu.size[:2]}", rank)


def _check_scratch(file: ExecutionPlan, findings: Findings) -> None:
    """A packet is twice as long as its data, so scratch is laid out for one or the other."""
    plain, packed = set[int](), set[int]()
    for gpu in file.gpus:
        for op in (op for ops in gpu.threadblocks for op in ops if op.name in SHAPES):
            shape = SHAPES[op.name]
            for refs, word in ((op.src, shape.src), (op.dst, shape.dst)):
                for k, ref in enumerate(refs):
                    if ref.buffer >= 0 and ref.buffer % KINDS == SCRATCH:
                        (packed if letter(word, k) in "LR" else plain).add(ref.buffer // KINDS)
    for rank in sorted(plain & packed)[:1]:
        findings.unknown("unsupported", "packets and plain data in one scratch buffer", rank)
    for rank in sorted(plain if file.has_double_scratch else ())[:1]:
        # Only packet operations add the offset of the half in use on the other rank.
        findings.error("scratch", "use_double_scratch_buffer exchanges the halves for packets only", rank)
