"""Print lists of instructions as CPU schedule XML (docs/reference/cpu-xml.md)."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

from linkstep._version import __version__
from linkstep.costs import cost_of
from linkstep.lowering.lists import ListInstruction, ListProgram
from linkstep.lowering.targets import Target
from linkstep.lowering.windows import SelectionWindow
from linkstep.lowering.writers.naming import File, attributes


def _quoted(text: str) -> str:
    return escape(text, {'"': "&quot;", "\n": " ", "\t": " ", "\r": " "})


def _line(position: int, one: ListInstruction) -> str:
    fields: dict[str, object] = {"n": position}
    if one.type == "sync":
        fields["ops"] = " ".join(map(str, one.waits))
        return f"<sync {attributes(fields)}/>"
    if one.peer >= 0:
        fields |= {"peer": one.peer, "chan": one.channel}
    if one.src is not None:
        fields |= {"src": one.src.buffer, "srcoff": one.src.offset}
    if one.dst is not None:
        fields |= {"dst": one.dst.buffer, "dstoff": one.dst.offset}
    return f"<{one.type} {attributes(fields | {'cnt': one.chunks})}/>"


def head(program: ListProgram, target: Target, proto: str, window: SelectionWindow) -> dict[str, object]:
    """Return the attributes of ``schedule`` but for where it comes from."""
    placement = program.placement
    forwarders = placement.num_nodes - placement.num_ranks
    return {
        "format": "linkstep-cpu",
        "version": 2 if forwarders else 1,
        "name": _quoted(placement.schedule.topology.name or f"N={placement.num_nodes}"),
        "coll": target.collectives[placement.collective],
        "ranks": placement.num_ranks,
        **({"forwarders": forwarders} if forwarders else {}),
        "chunks": placement.num_chunks,
        "inplace": int(placement.inplace),
        "root": placement.root,
        "minbytes": window.smallest,
        "maxbytes": window.largest,
    }


def write(program: ListProgram, head: Mapping[str, object]) -> File:
    """Return CPU schedule XML."""
    made = {"linkstep": __version__, "cost": str(cost_of(program.placement.schedule))}
    lines = [f"<schedule {attributes({**head, **made})}>"]
    num_ranks = program.placement.num_ranks
    for node, (instructions, (i, o, s)) in enumerate(zip(program.ranks, program.sizes, strict=True)):
        kind, data = ("rank", {"input": i, "output": o}) if node < num_ranks else ("forwarder", {})
        lines.append(f"<{kind} {attributes({'id': node, **data, 'scratch': s})}>")
        lines += [_line(n, instruction) for n, instruction in enumerate(instructions)]
        lines.append(f"</{kind}>")
    return File("\n".join([*lines, "</schedule>", ""]))
