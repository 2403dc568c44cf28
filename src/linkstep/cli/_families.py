"""``linkstep families``: the families of topologies, and their members of a given size."""

from __future__ import annotations

import argparse

from linkstep.cli._command import Command
from linkstep.cli._output import add_json, print_json, print_table
from linkstep.core.errors import LinkstepError
from linkstep.reports.families import list_families, list_members


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=int, metavar="N", help="list members with N nodes")
    parser.add_argument("--degree", type=int, metavar="D", help="... and D ports a node")
    add_json(parser)


def _list_members(num_nodes: int, degree: int, as_json: bool) -> int:
    found = list(list_members(num_nodes, degree))
    if as_json:
        print_json([report.to_json() for report in found])
    elif found:
        print_table(("recipe", "family"), [(report.recipe, report.family) for report in found])
    else:
        print(f"no family lists a member with N={num_nodes}, d={degree}; expansions such as L(G) may reach it")
    return 0


def _run(args: argparse.Namespace) -> int:
    if (args.nodes is None) != (args.degree is None):
        raise LinkstepError("--nodes and --degree go together: give both to list members")
    if args.nodes is not None:
        for what, value in (("nodes", args.nodes), ("degree", args.degree)):
            if value < 1:
                raise LinkstepError(f"--{what} must be at least 1, not {value}")
        return _list_members(args.nodes, args.degree, args.json)
    if args.json:
        print_json([report.to_json() for report in list_families()])
        return 0
    rows = [(report.notation, report.title, report.coverage) for report in list_families()]
    print_table(("written", "family", "N and d"), rows)
    return 0


COMMAND = Command(
    name="families",
    help="list the families of topologies, or their members of a given size",
    example="linkstep families --nodes 32 --degree 4",
    add_arguments=_add_arguments,
    run=_run,
)
