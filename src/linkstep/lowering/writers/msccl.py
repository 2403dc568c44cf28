"""Print a program as MSCCL XML, for the tokenizers of three runtimes.

MSCCL's tokenizer is no XML parser: one space between attributes, double quotes, no declaration, values under 256
characters, and a comment's first word without ``=``.
"""

from __future__ import annotations

from collections.abc import Mapping

from linkstep._version import __version__
from linkstep.costs import cost_of
from linkstep.lowering.targets import Target
from linkstep.lowering.values import Instruction, Plan, Program


def plan_name(plan: Plan) -> str:
    """Return the recipe as the name of an algorithm: short, and without what any parser would trip over."""
    name = plan.schedule.topology.name or f"N={plan.num_ranks}"
    return "".join("_" if c in "\"'<>&=\\" or not " " <= c <= "~" else c for c in name)[:200]


def describe(plan: Plan) -> str:
    """Return which linkstep made this from what, and what it should cost."""
    return f"linkstep {__version__}: {plan.schedule.collective} on {plan_name(plan)}, {cost_of(plan.schedule)}"


def attributes(pairs: Mapping[str, object]) -> str:
    """Return ``key="value"`` pairs with one space between."""
    return " ".join(f'{key}="{value}"' for key, value in pairs.items())


def _xml_sizes(program: Program, rank: int) -> tuple[int, int, int]:
    """Return a gpu's buffer sizes; 0 for the buffer that lies inside the other in place, as msccl wants it."""
    plan, (i, o, s) = program.plan, program.sizes[rank]
    if plan.inplace and plan.schedule.collective == "allgather":
        i = 0
    if plan.inplace and plan.schedule.collective == "reduce-scatter":
        o = 0
    return i, o, s


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


def msccl_xml(program: Program, target: Target, proto: str, min_bytes: int, max_bytes: int) -> str:
    """Return MSCCL XML of one of the dialects."""
    plan = program.plan
    head = {
        "name": plan_name(plan),
        "ngpus": plan.num_ranks,
        "nchunksperloop": plan.num_chunks,
        "nchannels": plan.num_channels,
        "proto": proto,
        "coll": target.collectives[plan.schedule.collective],
        "inplace": int(plan.inplace),
        "outofplace": int(not plan.inplace),
        "minBytes": min_bytes,
        "maxBytes": max_bytes,
    }
    lines = [f"<algo {attributes(head)}>", f"<!-- {describe(plan)} -->"]
    for rank, blocks in enumerate(program.ranks):
        i, o, s = _xml_sizes(program, rank)
        lines.append(f"<gpu {attributes({'id': rank, 'i_chunks': i, 'o_chunks': o, 's_chunks': s})}>")
        for tb, block in enumerate(blocks):
            peers = {"id": tb, "send": block.send, "recv": block.recv, "chan": block.channel}
            lines.append(f"<tb {attributes(peers)}>")
            lines += [_step(k, instruction) for k, instruction in enumerate(block.instructions)]
            lines.append("</tb>")
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>", ""])
