"""What was lowered, as a Program, without its file: the rows that a reader would find in the text, made of the values.

``assemble`` and ``read_program`` of the printed text give the same program; a test holds them equal. This is the only
place that knows both what is lowered and how files are read: ``linkstep.lowering`` and ``linkstep.programs`` share no
code, so that what is printed is proven by code that did not print it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from linkstep.core.arguments import check_kind
from linkstep.core.errors import LinkstepError
from linkstep.core.text import shown
from linkstep.lowering import (
    TARGETS,
    BlockProgram,
    ListInstruction,
    ListProgram,
    Lowered,
    Operation,
    Piece,
    PortProgram,
    PortRank,
    Target,
)
from linkstep.lowering.writers.msccl import declared_sizes
from linkstep.programs import DIALECTS, Program, build_program
from linkstep.programs.cpu import reader as cpu
from linkstep.programs.memory import KINDS, LETTERS
from linkstep.programs.msccl import reader as msccl
from linkstep.programs.mscclpp import reader as mscclpp

_KIND = {letter: kind for kind, letter in enumerate(LETTERS)}
_TYPE = {name: number for number, name in enumerate(msccl.TYPES)}


def assemble(lowered: Lowered) -> Program:
    """Return the program that a runtime's ranks run, as ``read_program(lowered.text, lowered.target.name)`` would.

    The files of a target that was registered have no reader: its program is that of the target of ours that is alike.

    >>> import linkstep
    >>> assemble(linkstep.lower(linkstep.parse("K_4").build("allreduce"), "cpu"))
    <Program allreduce for cpu: 4 ranks, 4 chunks, 68 instructions>
    """
    check_kind("lowered", lowered, Lowered)
    if lowered.target.name not in DIALECTS:
        alike = replace(lowered, target=_alike(lowered.program))
        return replace(assemble(alike), dialect=lowered.target.name)
    return build_program(_FILES[lowered.target.form](lowered.program, lowered), lowered.target.name)


def _alike(program: Any) -> Target:
    """Return the target of ours whose programs are of the same type: what a registered one runs is read as its."""
    for kind, name in ((ListProgram, "cpu"), (BlockProgram, "msccl"), (PortProgram, "mscclpp")):
        if isinstance(program, kind):
            return TARGETS[name]
    raise LinkstepError(f"a form fits lists, blocks or ports, and this one made {shown(program)}")


def _texts(lowered: Lowered) -> dict[str, str]:
    """Return the attributes of an XML file's outermost element."""
    return {key: str(value) for key, value in lowered.head.items()}


def _cpu_file(program: ListProgram, lowered: Lowered) -> cpu.CpuFile:
    placement = program.placement
    ranks = zip(program.sizes, program.ranks, strict=True)
    return cpu.CpuFile(
        _texts(lowered), tuple(cpu.Rank(sizes, list(map(_instruction, several))) for sizes, several in ranks),
        placement.collective, placement.num_chunks, placement.root, placement.num_nodes - placement.num_ranks,
    )  # fmt: skip


def _instruction(one: ListInstruction) -> cpu.CpuInstruction:
    type, src, dst, chunks, peer, channel, waits = one
    source, source_offset = (-1, 0) if src is None else (_KIND[src[0]], src[1])
    target, target_offset = (-1, 0) if dst is None else (_KIND[dst[0]], dst[1])
    ops = waits if type == "sync" else None
    return cpu.CpuInstruction(type, peer, channel, source, source_offset, target, target_offset, chunks, ops)


def _msccl_file(program: BlockProgram, lowered: Lowered) -> msccl.MscclFile:
    placement = program.placement
    sizes = (declared_sizes(one, placement.collective, placement.inplace) for one in program.sizes)
    tbs: list[int] = []
    steps: list[int] = []
    first = 0
    for rank, tb, block in ((rank, tb, b) for rank, blocks in enumerate(program.ranks) for tb, b in enumerate(blocks)):
        row, num_steps = len(tbs) // 7, len(block.instructions)
        tbs += (rank, tb, block.send, block.recv, block.channel, first, num_steps)
        first += num_steps
        for k, one in enumerate(block.instructions):
            depid, deps = one.depends or (-1, -1)
            steps += (
                rank, row, k, _TYPE[one.type], _KIND[one.src.buffer], one.src.offset, _KIND[one.dst.buffer],
                one.dst.offset, one.count, depid, deps, int(one.has_dependent), k,
            )  # fmt: skip
    return msccl.MscclFile(
        algo=_texts(lowered), ngpus=placement.num_ranks, nchunks=placement.num_chunks,
        nchannels=placement.num_channels, gpus=msccl.Gpus.from_rows([(r, *size) for r, size in enumerate(sizes)]),
        tbs=msccl.Threadblocks.from_rows(tbs), steps=msccl.Steps.from_rows(steps), bad_types={}, bad_buffers={},
        unknown=(),
    )  # fmt: skip


def _mscclpp_plan(program: PortProgram, lowered: Lowered) -> mscclpp.ExecutionPlan:
    ranks = enumerate(zip(program.ranks, program.sizes, strict=True))
    head = {"name": "", **lowered.head}  # a plan's name has a hash of its text, and the program none
    return mscclpp.ExecutionPlan(head, tuple(_gpu(rank, one, sizes) for rank, (one, sizes) in ranks))


def _gpu(number: int, rank: PortRank, sizes: tuple[int, int, int]) -> mscclpp.Gpu:
    ends: list[mscclpp.Channel] = []
    for k, peer in enumerate(rank.peers):
        ends.append(mscclpp.Channel(number, peer, "port", rank.peers[:k].count(peer)))
    blocks = []
    for block in rank.blocks:
        channel = ends[block.channel : block.channel + 1] if block.channel >= 0 else []
        buffers = [KINDS * rank.remote[k][0] + _KIND[rank.remote[k][1]] for k in block.buffers]
        blocks.append(tuple(_operations(number, block.operations, channel, buffers)))
    most = tuple(max(int(block.channel >= 0), len(block.buffers)) for block in rank.blocks)
    return mscclpp.Gpu(sizes, tuple(blocks), most, len(ends), len(rank.remote), ())


def _operations(
    rank: int, operations: tuple[Operation, ...], channel: list[mscclpp.Channel], buffers: list[int]
) -> Iterator[mscclpp.Op]:  # fmt: skip
    def refs(pieces: tuple[Piece, ...]) -> tuple[mscclpp.Ref, ...]:
        return tuple([
            mscclpp.Ref(KINDS * rank + _KIND[place.buffer] if remote < 0 else buffers[remote], place.offset, chunks)
            for place, chunks, remote in pieces
        ])  # fmt: skip

    for op in operations:
        if op.name == "nop":
            yield mscclpp.NOP
        elif op.name == "barrier":
            yield mscclpp.Op("barrier", barrier=0, num_threadblocks=op.num_blocks)
        elif op.name in ("copy", "re"):
            yield mscclpp.Op(op.name, "none", (), refs(op.src), refs(op.dst))
        else:
            yield mscclpp.Op(op.name, "port", tuple(channel * max(len(op.src), 1)), refs(op.src), refs(op.dst))


_FILES: dict[str, Callable[[Any, Lowered], Any]] = {
    "blocks": _msccl_file,
    "ports": _mscclpp_plan,
    "lists": _cpu_file,
}
"""By the name of a target's form."""
