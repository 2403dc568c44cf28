"""A target of one's own: a runtime that reads a line of JSON for each instruction of each rank.

Try: `linkstep lower 'K_{4,4}' --to jsonl -o allreduce.jsonl --plugin examples/plugins/target.py`.
"""

import json
from collections.abc import Mapping

import linkstep
from linkstep.core.schedule import COLLECTIVES
from linkstep.lowering import File, Form, ListProgram, SelectionWindow, Target, fit_lists


def head(program: ListProgram, target: Target, proto: str, window: SelectionWindow) -> Mapping[str, object]:
    """Return what the file says besides its instructions."""
    placement = program.placement
    word = target.collectives[placement.collective]
    return {"collective": word, "ranks": placement.num_ranks, "chunks": placement.num_chunks}


def write(program: ListProgram, head: Mapping[str, object]) -> File:
    """Print a program under its head: sends, receives, copies, reductions and what a sync waits for."""
    lines = [json.dumps(head)]
    for rank, instructions in enumerate(program.ranks):
        for number, one in enumerate(instructions):
            lines.append(json.dumps({"rank": rank, "n": number} | one._asdict()))
    return File("\n".join(lines) + "\n")


FORM = Form("json-lines", fit_lists, head, write)
TARGET = Target(
    name="jsonl",
    note="a runtime that reads JSON lines",
    form=FORM.name,
    suffix=".jsonl",
    collectives={collective: collective.value for collective in COLLECTIVES},
    loader="your runtime",
    selects=False,
    splits=True,
)

linkstep.register(FORM, TARGET)
