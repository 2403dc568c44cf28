"""Print a block program as MSCCL XML, in the dialects of three runtimes.

Their tokenizer is no XML parser: it wants one space between attributes, double quotes, no declaration, values of less
than 256 characters, and a comment whose first word has no ``=``.
"""

from __future__ import annotations

from collections.abc import Mapping

from linkstep.core.collective import Collective
from linkstep.lowering.targets import Target
from linkstep.lowering.values import BlockProgram, BufferSizes, Instruction
from linkstep.lowering.windows import SelectionWindow
from linkstep.lowering.writers.naming import File, algorithm_name, attributes, describe


def declared_sizes(sizes: BufferSizes, collective: Collective, inplace: bool) -> BufferSizes:
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


def head(program: BlockProgram, target: Target, proto: str, window: SelectionWindow) -> dict[str, object]:
    """Return the attributes of ``algo``."""
    placement = program.placement
    return {
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


def write(program: BlockProgram, head: Mapping[str, object]) -> File:
    """Return MSCCL XML in the dialect that the head is for."""
    placement = program.placement
    lines = [f"<algo {attributes(head)}>", f"<!-- {describe(placement)} -->"]
    for rank, blocks in enumerate(program.ranks):
        i, o, s = declared_sizes(program.sizes[rank], placement.collective, placement.inplace)
        lines.append(f"<gpu {attributes({'id': rank, 'i_chunks': i, 'o_chunks': o, 's_chunks': s})}>")
        for tb, block in enumerate(blocks):
            peers = {"id": tb, "send": block.send, "recv": block.recv, "chan": block.channel}
            lines.append(f"<tb {attributes(peers)}>")
            lines += [_step(k, instruction) for k, instruction in enumerate(block.instructions)]
            lines.append("</tb>")
        lines.append("</gpu>")
    return File("\n".join([*lines, "</algo>", ""]))
