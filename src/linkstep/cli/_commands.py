"""The commands there are, grouped by the work they do: names, one-line helps and pages, and nothing that takes imports.

``linkstep --help`` is printed from this table alone. What a command takes and does is the ``COMMAND`` of the module of
its name.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for True
if TYPE_CHECKING:
    from collections.abc import Iterable

GROUPS: dict[tuple[str, str], dict[str, tuple[str, str]]] = {
    ("plan", "docs/concepts/finder.md"): {
        "find": ("find the best topologies for N servers with d ports each", "docs/concepts/finder.md"),
        "show": ("describe a topology: size, distances, symmetries, bounds", "docs/start/tutorial.md"),
        "baselines": ("list what is wired and run today for N servers with d ports each", "docs/concepts/baselines.md"),
        "families": ("list the families of topologies, or their members of a size", "docs/concepts/data-model.md"),
    },
    ("wire", "docs/start/tutorial.md"): {
        "wire": ("print the cabling plan of a topology: which port goes where", "docs/start/tutorial.md"),
        "convert": ("turn a topology or schedule file into another format", "docs/start/tutorial.md"),
    },
    ("schedule", "docs/start/tutorial.md"): {
        "schedule": ("make a schedule for a topology, check it and save it", "docs/start/tutorial.md"),
        "check": ("prove a schedule file correct and cost it, or show what is wrong", "docs/concepts/data-model.md"),
        "lower": ("lower a schedule to a runtime's file: MSCCL, MSCCL++, CPU XML", "docs/reference/runtimes.md"),
        "verify": ("prove runtime files correct, or show what they do wrong", "docs/reference/runtimes.md"),
    },
    ("run", "docs/guides/running.md"): {
        "run": ("run a collective by MPI or torch, check and measure it", "docs/guides/running.md"),
        "testbed": ("emulate a topology here, with rates, delays and cables to cut", "docs/guides/testbed.md"),
        "fit": ("fit alpha, overhead and bandwidth to measured runs", "docs/concepts/fabrics.md"),
    },
    ("predict", "docs/concepts/fabrics.md"): {
        "throughput": ("how much every host can send to every other at once, proven", "docs/concepts/all-to-all.md"),
        "simulate": ("run a schedule or a runtime's file on a simulated fabric", "docs/reference/runtimes.md"),
        "train-sim": (
            "simulate an iteration of training, on ours and on what is used",
            "docs/concepts/training-simulation.md",
        ),
        "profile": ("measure the layers of a PyTorch model, as a model file", "docs/concepts/training-simulation.md"),
    },
    ("research", "docs/paper/paper-map.md"): {
        "synthesize": ("search exactly for an allgather, or prove there is none", "docs/concepts/arrival.md"),
        "catalog": ("search for the best topologies of a size, and keep them", "docs/concepts/finder.md"),
        "reproduce": ("make tables and figures of the paper again, and compare", "docs/paper/results.md"),
    },
    ("set up", "docs/reference/commands.md"): {
        "warm": ("compile all kernels now, so that no command waits for that", "docs/reference/commands.md"),
        "completion": ("print a script that completes commands in your shell", "docs/reference/commands.md"),
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

    >>> print(overview()[:96])
    plan (docs/concepts/finder.md)
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
