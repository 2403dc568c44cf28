"""``linkstep families``: the families of topologies, and their members of a given size."""

from __future__ import annotations

import argparse

from linkstep.cli._command import Command
from linkstep.cli._output import add_json, print_table, show_json
from linkstep.core.errors import LinkstepError
from linkstep.reports.families import FamiliesReport, MembersReport


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=int, metavar="N", help="how many servers: list the members of this size")
    parser.add_argument("--degree", type=int, metavar="D", help="ports on each")
    add_json(parser)


def _list_members(args: argparse.Namespace) -> int:
    report = MembersReport.of(args.nodes, args.degree)
    if show_json(report, args):
        return 0
    if report.members:
        print_table(("recipe", "family"), [(row.recipe, row.family) for row in report.members])
    else:
        print(f"no family lists a member with N={args.nodes}, d={args.degree}; expansions such as L(G) may reach it")
    return 0


def _run(args: argparse.Namespace) -> int:
    if (args.nodes is None) != (args.degree is None):
        raise LinkstepError("--nodes and --degree go together: give both to list members")
    if args.nodes is not None:
        for what, value in (("nodes", args.nodes), ("degree", args.degree)):
            if value < 1:
                raise LinkstepError(f"--{what} must be at least 1, not {value}")
        return _list_members(args)
    report = FamiliesReport.of_all()
    if not show_json(report, args):
        rows = [(row.notation, row.title, row.coverage) for row in report.families]
        print_table(("written", "family", "N and d"), rows)
    return 0


COMMAND = Command(
    name="families",
    example="linkstep families --nodes 32 --degree 4",
    add_arguments=_add_arguments,
    run=_run,
)
