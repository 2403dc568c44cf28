"""``linkstep wire``: the cabling plan of a topology."""

from __future__ import annotations

import argparse
import csv
import io
import json
from pathlib import Path
from typing import BinaryIO

from linkstep.cabling import Plan, plan_cables
from linkstep.cli._common import Command, add_json, print_json, print_table, read
from linkstep.core.errors import FileError
from linkstep.files import SUFFIXES, load_node_names, write_atomically

HEAD = ("cable", "from", "port", "to", "port", "kind", "panel", "panel")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology or schedule file")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the plan to a .csv or .json file")
    parser.add_argument(
        "--cross-connects",
        action="store_true",
        help="list what a patch panel or optical switch connects instead: input and output, a line a fibre",
    )
    add_json(parser)


def _rows(plan: Plan, names: list[str]) -> list[tuple[str, ...]]:
    return [
        (
            str(number), names[c.from_node], str(c.from_port), names[c.to_node], str(c.to_port),
            "duplex" if c.duplex else "simplex",
            str(plan.panel(c.from_node, c.from_port)), str(plan.panel(c.to_node, c.to_port)),
        )
        for number, c in enumerate(plan.cables)
    ]  # fmt: skip


def _as_json(plan: Plan, names: list[str]) -> dict[str, object]:
    keys = ("cable", "from", "from_port", "to", "to_port", "kind", "panel_from", "panel_to")
    numbers = {"cable", "from_port", "to_port", "panel_from", "panel_to"}
    cables = [
        {key: int(cell) if key in numbers else cell for key, cell in zip(keys, row, strict=True)}
        for row in _rows(plan, names)
    ]
    connects = [list(pair) for pair in plan.cross_connects()]
    return {"servers": plan.num_nodes, "ports": plan.ports, "cables": cables, "cross_connects": connects}


def _csv(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def _write(file: BinaryIO, text: str) -> None:
    file.write(text.encode())


def _run(args: argparse.Namespace) -> int:
    given = read(args.topology)
    plan = plan_cables(given.topology)
    names = [str(u) for u in range(plan.num_nodes)]
    if given.recipe is None and Path(args.topology).suffix.lower() in SUFFIXES:
        names = load_node_names(args.topology)
    head: tuple[str, ...] = ("cable", "from", "from_port", "to", "to_port", "kind", "panel_from", "panel_to")
    rows = _rows(plan, names)
    if args.cross_connects:
        head, rows = ("input", "output"), [(str(a), str(b)) for a, b in plan.cross_connects()]
    if args.output:
        suffix = Path(args.output).suffix.lower()
        if suffix not in (".csv", ".json"):
            raise FileError(f"{args.output}: the name of a plan must end in .csv or .json")
        text = json.dumps(_as_json(plan, names), indent=1) + "\n" if suffix == ".json" else _csv(head, rows)
        write_atomically(args.output, lambda file: _write(file, text))
    duplex = sum(c.duplex for c in plan.cables)
    summary = f"{duplex} duplex cables, {len(plan.cables) - duplex} simplex fibres"
    summary += f"; {plan.num_nodes} servers, {plan.ports} ports each"
    if args.json:
        print_json(_as_json(plan, names))
    elif args.output:
        print(f"wrote {args.output}: {summary}, checked against the topology")
    else:
        print_table(head if args.cross_connects else HEAD, rows)
        print(f"\n{summary}; the plan is checked against the topology")
    return 0


COMMAND = Command(
    name="wire",
    help="print the cabling plan of a topology: which port goes where",
    example="linkstep wire 'Torus(4,4)' -o cables.csv",
    add_arguments=_add_arguments,
    run=_run,
)
