"""Print threadblocks of puts, signals and waits as an MSCCL++ execution plan (JSON), one operation on each line."""

from __future__ import annotations

import json
from collections.abc import Mapping

from linkstep.lowering.ports import Operation, Piece, PortProgram, PortRank
from linkstep.lowering.targets import Target
from linkstep.lowering.values import BufferSizes
from linkstep.lowering.windows import SelectionWindow
from linkstep.lowering.writers.naming import File, describe, plan_name

_LOCAL = '{{"name": "{name}", "src_buff": [{src}], "dst_buff": [{dst}]}}'
_PUT = '{{"name": "{name}", "src_buff": [{src}], "dst_buff": [{dst}], "channel_ids": {ids}, "channel_type": "port"}}'
_SIGNAL = '{{"name": "{name}", "channel_ids": [0], "channel_type": "port"}}'
_SPELLED = {
    "nop": '{{"name": "{name}"}}',
    "barrier": '{{"name": "{name}", "barrier_id": 0, "num_threadblocks": {blocks}}}',
    "put": _PUT,
    "signal": _SIGNAL,
    "wait": _SIGNAL,
    "flush": '{{"name": "{name}", "channel_ids": [0], "channel_type": "port", "dst_buff": [{dst}]}}',
    "copy": _LOCAL,
    "re": _LOCAL[:-2] + ', "reduce_op": "sum"}}',
}


def _pieces(pieces: tuple[Piece, ...]) -> str:
    return ", ".join(
        f'{{"type": "{place.buffer}", "index": {place.offset}, "size": {chunks}}}'
        if remote < 0
        else f'{{"buffer_id": {remote}, "index": {place.offset}, "size": {chunks}}}'
        for place, chunks, remote in pieces
    )


def _operation(op: Operation) -> str:
    return _SPELLED[op.name].format(
        name=op.name, src=_pieces(op.src), dst=_pieces(op.dst), ids=[0] * len(op.src), blocks=op.num_blocks
    )


def _gpu(number: int, rank: PortRank, sizes: BufferSizes) -> str:
    i, o, s = sizes
    blocks = []
    for tb, block in enumerate(rank.blocks):
        ops = ",\n".join(map(_operation, block.operations))
        channels = [{"channel_type": "port", "channel_ids": [block.channel]}] if block.channel >= 0 else []
        refs = [{"access_channel_type": "port", "remote_buffer_ids": block.buffers}] if block.buffers else []
        rest = f'"channels": {json.dumps(channels)}, "remote_buffer_refs": {json.dumps(refs)}'
        blocks.append(f'{{"id": {tb}, "ops": [\n{ops}\n], {rest}}}')
    channels = [{"channel_type": "port", "connected_to": rank.peers}] if rank.peers else []
    remote = [{"rank": r, "type": b, "access_channel_types": ["port"]} for r, b in rank.remote]
    return (
        f'{{"id": {number}, "input_chunks": {i}, "output_chunks": {o}, "scratch_chunks": {s}, "threadblocks": [\n'
        + ",\n".join(blocks)
        + f'\n], "channels": {json.dumps(channels)}, "remote_buffers": {json.dumps(remote)}, "semaphores": []}}'
    )


def head(program: PortProgram, target: Target, proto: str, window: SelectionWindow) -> dict[str, object]:
    """Return the plan's fields but for its name, where it comes from, and the gpus."""
    placement = program.placement
    fields: dict[str, object] = {
        "collective": target.collectives[placement.collective],
        "protocol": proto,
        "inplace": placement.inplace,
        "reuse_resources": False,
        "num_threads_per_block": 1024,
        "use_double_scratch_buffer": False,
        "buffer_alignment": target.alignment,
        "min_message_size": window.smallest,
        "max_message_size": window.largest,
    }
    if placement.root >= 0:
        fields["root"] = placement.root  # the runtime does not read it, but what selects a plan can
    return fields


def write(program: PortProgram, head: Mapping[str, object]) -> File:
    """Return the execution plan, under a name that no other program has."""
    placement = program.placement
    ranks = enumerate(zip(program.ranks, program.sizes, strict=True))
    gpus = ",\n".join(_gpu(number, rank, sizes) for number, (rank, sizes) in ranks)
    name = plan_name(placement, head, gpus)
    named = {"name": name, "linkstep": describe(placement), **head}
    return File(json.dumps(named)[:-1] + f', "gpus": [\n{gpus}\n]}}\n', name)
