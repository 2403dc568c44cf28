"""Print a block program as MSCCL XML, in the dialects of three runtimes.

Their tokenizer is no XML parser: it wants one space between attributes, double quotes, no declaration, values of less
than 256 characters, and a comment whose first word has no ``=``.
"""

from __future__ import annotations

from linkstep.core.collective import Collective
from linkstep.lowering.blocks import build_blocks
from linkstep.lowering.limits import excesses, least_excesses
from linkstep.lowering.progress import Meter
from linkstep.lowering.targets import Target
from linkstep.lowering.values import BlockProgram, BufferSizes, Instruction, Placement
from linkstep.lowering.writers.interface import FileOptions, Window, Written, most_scratch, window_of
from linkstep.lowering.writers.naming import algorithm_name, attributes, describe


def _xml_sizes(sizes: BufferSizes, collective: Collective, inplace: bool) -> BufferSizes:
    """Return a gpu's buffer sizes; in place the buffer that lies inside the other is given as 0, as msccl wants it."""
    if inplace and collective.starts_with_shard:
        return sizes._replace(input=0)
    return sizes._replace(output=0) if inplace and collective.ends_with_shard else sizes


def _step(position: int, instruction: Instruction) -> str:
    tb, at = instruction.depends or (-1, -1)
    return "<step {} />".format(
        attributes(
            {
                "s": position,
                "type": instruction.type,
                "srcbuf": instruction.src.buffer,
                "srcoff": instruction.src.offset,
                "dstbuf": instruction.dst.buffer,
                "dstoff": instruction.dst.offset,
                "cnt": instruction.count,
                "depid": tb,
                "deps": at,
                "hasdep": int(instruction.has_dependent),
            }
        )
    )


def _xml(program: BlockProgram, target: Target, proto: str, window: Window, meter: Meter) -> str:
    placement = program.placement
    head = {
        "name": algorithm_name(placement),
        "ngpus": placement.num_ranks,
        "nchunksperloop": placement.num_chunks,
        "nchannels": placement.num_channels,
        "proto": proto,
        "coll": target.collectives[placement.collective],
        "inplace": int(placement.inplace),
        "outofplace": int(not placement.inplace),
        "minBytes": window.smallest,
        "maxBytes": window.largest + target.excludes_largest,
    }
    lines = [f"<algo {attributes(head)}>", f"<!-- {describe(placement)} -->"]
    for rank, blocks in enumerate(meter.through(program.ranks, placement.num_ranks)):
        i, o, s = _xml_sizes(program.sizes[rank], placement.collective, placement.inplace)
        lines.append(f"<gpu {attributes({'id': rank, 'i_chunks': i, 'o_chunks': o, 's_chunks': s})}>")
        for tb, block in enumerate(blocks):
            peers = {"id": tb, "send": block.send, "recv": block.recv, "chan": block.channel}
            lines.append(f"<tb {attributes(peers)}>")
            lines += [_step(k, instruction) for k, instruction in enumerate(block.instructions)]
            lines.append("</tb>")
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>", ""])


def write_msccl(placement: Placement, target: Target, options: FileOptions, meter: Meter) -> Written:
    """Return MSCCL XML in the target's dialect."""
    hopeless = tuple(least_excesses(placement, target))
    if hopeless:
        window = window_of(options, target, most_scratch(placement.sizes), placement.num_chunks)
        return Written("", placement, None, window, hopeless)
    program = build_blocks(placement, splits=target.splits, meter=meter)
    window = window_of(options, target, most_scratch(program.sizes), placement.num_chunks)
    exceeded = tuple(excesses(program, target))
    text = "" if exceeded else _xml(program, target, options.proto, window, meter)
    return Written(text, placement, program, window, exceeded)
