"""The commands there are, grouped by the work they do: names, one-line helps and pages, and nothing that takes imports.

``linkstep --help`` is printed from this table alone. What a command takes and does is the ``COMMAND`` of the module of
its name.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for True
if TYPE_CHECKING:
    from collections.abc import Iterable

GROUPS: dict[tuple[str, str], dict[str, tuple[str, str]]] = {
    ("plan", "docs/finder.md"): {
        "find": ("find the best topologies for N servers with d ports each", "docs/finder.md"),
        "show": ("describe a topology: size, distances, symmetries, bounds", "docs/tutorial.md"),
        "baselines": ("list what is wired and run today for N servers with d ports each", "docs/baselines.md"),
        "families": ("list the families of topologies, or their members of a size", "docs/data-model.md"),
    },
    ("wire", "docs/tutorial.md"): {
        "wire": ("print the cabling plan of a topology: which port goes where", "docs/tutorial.md"),
        "convert": ("turn a topology or schedule file into another format", "docs/tutorial.md"),
    },
    ("schedule", "docs/tutorial.md"): {
        "schedule": ("make a schedule for a topology, check it and save it", "docs/tutorial.md"),
        "check": ("prove a schedule file correct and cost it, or show what is wrong", "docs/data-model.md"),
        "lower": ("lower a schedule to a runtime's file: MSCCL, MSCCL++, CPU XML", "docs/runtimes.md"),
        "verify": ("prove runtime files correct, or show what they do wrong", "docs/runtimes.md"),
    },
    ("run", "docs/running.md"): {
        "run": ("run a collective by MPI or torch, check and measure it", "docs/running.md"),
        "testbed": ("emulate a topology here, with rates, delays and cables to cut", "docs/testbed.md"),
        "fit": ("fit alpha, overhead and bandwidth to measured runs", "docs/fabrics.md"),
    },
    ("predict", "docs/fabrics.md"): {
        "throughput": ("how much every host can send to every other at once, proven", "docs/all-to-all.md"),
        "simulate": ("run a schedule or a runtime's file on a simulated fabric", "docs/runtimes.md"),
        "train-sim": ("simulate an iteration of training, on ours and on what is used", "docs/training-simulation.md"),
        "profile": ("measure the layers of a PyTorch model, as a model file", "docs/training-simulation.md"),
    },
    ("research", "docs/paper-map.md"): {
        "synthesize": ("search exactly for an allgather, or prove there is none", "docs/arrival.md"),
        "catalog": ("search for the best topologies of a size, and keep them", "docs/finder.md"),
        "reproduce": ("make tables and figures of the paper again, and compare", "docs/results.md"),
    },
    ("set up", "docs/commands.md"): {
        "warm": ("compile all kernels now, so that no command waits for that", "docs/commands.md"),
        "completion": ("print a script that completes commands in your shell", "docs/commands.md"),
    },
}
"""Groups of commands with a page to start from, in the order the help lists them; each command's help and page."""

COMMANDS = {name: row for group in GROUPS.values() for name, row in group.items()}

NAMES = tuple(COMMANDS)
"""The commands, in the order the help lists them; each is the ``COMMAND`` of the module of its name here."""

HELP = "print this, or the help of a command: linkstep help find"
"""Of ``linkstep help``, which is no module's."""


def overview() -> str:
    """Return the commands by group, for the help of all.

    >>> print(overview()[:87])
    plan (docs/finder.md)
      find        find the best topologies for N servers with d ports
    """
    blocks = [
        "\n".join([f"{group} ({page})", *(f"  {name.ljust(10)}  {text}" for name, (text, _) in rows.items())])
        for (group, page), rows in GROUPS.items()
    ]
    return "\n\n".join(blocks) + f"\n  {'help'.ljust(10)}  {HELP}"


def nearest(written: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return what was probably meant, of what is known; None if nothing is near.

    >>> nearest("scedule", NAMES), nearest("frobnicate", NAMES)
    ('schedule', None)
    """
    from difflib import get_close_matches  # here: only those who erred wait for it

    names = {name.lower(): name for name in known}
    close = get_close_matches(written.lower(), list(names), 1, cutoff)
    return names[close[0]] if close else None
