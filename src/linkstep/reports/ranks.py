"""Which rank is which host: numbers, names, coordinates in a torus or another product, and the job that runs them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from linkstep.core.faults import Fault
from linkstep.core.topology import Topology
from linkstep.recipe import Bidirectional, Member, Power, Product, Recipe, Transpose
from linkstep.reports.view import FieldForm, View

_GRIDS = ("Torus", "TwistedTorus", "Mesh")
"""Families whose arguments are the sizes of their dimensions, the last one fastest."""
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})([^0-9]*)")
_WIDTH = 80
_SIZES = "1KiB:64MiB"


@dataclass(frozen=True)
class RankRow:
    """A rank, and where it runs."""

    rank: int
    """From 0."""
    host: str
    """Its name, or its number."""
    coordinates: Annotated[tuple[int, ...] | None, FieldForm.OPTIONAL]
    """In each dimension; left out where the topology has none."""
    neighbours: tuple[int, ...]
    """The ranks that its links lead to."""


@dataclass(frozen=True)
class RanksReport(View):
    """Which host each rank is, and a job that runs them."""

    report: ClassVar[str] = "ranks"

    topology: str
    """Its recipe, or its file."""
    nodes: int
    """How many, N."""
    faults: tuple[str, ...]
    """What is cut, down or slow."""
    dimensions: tuple[int, ...]
    """Sizes of the dimensions that coordinates count in; none where there are no coordinates."""
    rank_rows: tuple[RankRow, ...]
    """In order."""
    sbatch: tuple[str, ...]
    """Lines of a job for Slurm that runs an allreduce on these ranks."""

    @classmethod
    def of(
        cls, topology: Topology, recipe: Recipe | None, called: str, faults: Sequence[Fault] = (),
        whole: Topology | None = None, options: Sequence[str] = (),
    ) -> RanksReport:  # fmt: skip
        """Number the hosts; ``recipe`` is that of the ``whole`` topology, of which faults left this one.

        The job names it as ``called``, with these options.
        """
        dims = () if recipe is None else tuple(dimensions(recipe))
        places = range(topology.num_nodes)
        numbers = [node if whole is None else whole.node_named(topology.host(node)) for node in places]
        grid = np.array(np.unravel_index(numbers, dims)).T.tolist() if dims else None
        heads = np.split(topology.head, topology.out_ptr[1:-1])
        rows = (
            RankRow(
                rank=node,
                host=topology.host(node),
                coordinates=None if grid is None else tuple(grid[node]),
                neighbours=tuple(sorted(set(heads[node].tolist()) - {node})),
            )
            for node in places
        )
        said = tuple(str(fault) for fault in faults)
        return cls(called, topology.num_nodes, said, dims, tuple(rows), tuple(_sbatch(topology, called, said, options)))


def dimensions(recipe: Recipe) -> Iterator[int]:
    """Yield the sizes of the dimensions that node numbers count in, the last one fastest; none where there is only one.

    >>> from linkstep.recipe import parse
    >>> [list(dimensions(parse(text))) for text in ("Torus(6,4,3)", "H(2,3)", "Q(3)", "K_4 x Torus(2,3)", "K_4")]
    [[6, 4, 3], [3, 3], [2, 2, 2], [4, 2, 3], []]
    """
    found = list(_parts(recipe))
    yield from found if len(found) > 1 else ()


def _parts(recipe: Recipe) -> Iterator[int]:
    if isinstance(recipe, Member) and recipe.family.name in _GRIDS:
        yield from recipe.args
    elif isinstance(recipe, Member) and recipe.family.name in ("H", "Q"):
        letters = recipe.args[1] if recipe.family.name == "H" else 2
        yield from [letters] * recipe.args[0]
    elif isinstance(recipe, Product):
        for factor in recipe.factors:
            yield from _parts(factor)
    elif isinstance(recipe, Power):
        for _ in range(recipe.times):
            yield from _parts(recipe.base)
    elif isinstance(recipe, (Bidirectional, Transpose)):
        yield from _parts(recipe.base)
    else:
        yield recipe.num_nodes


# --- the job ---


def _sbatch(topology: Topology, called: str, faults: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """Yield a script for sbatch, within 80 columns but for a name that is longer itself."""
    hosts = _machines(topology)
    count = len(hosts) if hosts else topology.num_nodes
    yield "#!/bin/bash"
    yield "#SBATCH --job-name=linkstep"
    yield f"#SBATCH --nodes={count}"
    yield f"#SBATCH --ntasks-per-node={-(-topology.num_nodes // count)}"
    names = host_list(hosts) if hosts else ""
    short = f"scontrol show hostnames '{names}' > hosts.txt"
    if names and len(short) <= _WIDTH:
        yield f"#SBATCH --nodelist={names}"
        yield short
    elif names:
        yield "# hosts.txt has the host of each rank, a line each, in the order above"
        yield "#SBATCH --nodelist=./hosts.txt"
    else:
        yield "# rank r runs on the r-th line of hosts.txt: put the hosts in the order above"
        yield 'scontrol show hostnames "$SLURM_JOB_NODELIST" > hosts.txt'
    words = ["srun", "linkstep", "run", shlex.quote(called), *options]
    for fault in faults:
        kind, _, about = fault.partition(" ")
        words.append(f"--{kind} {shlex.quote(about)}")
    words += [] if count < topology.num_nodes else ["--hosts hosts.txt"]
    yield from _wrapped([*words, f"--sizes {_SIZES}"])


def _machines(topology: Topology) -> list[str]:
    """Return the machines in the order of their ranks; none where a name is not one that Slurm could have."""
    names = topology.hosts or topology.labels or ()
    if any(not _HOST.fullmatch(name) or name.isdigit() for name in names):
        return []
    return list(dict.fromkeys(names))


def _wrapped(words: Sequence[str]) -> Iterator[str]:
    """Yield a command's words as lines that the shell joins."""
    line = words[0]
    for word in words[1:]:
        if len(line) + len(word) + 3 > _WIDTH:
            yield f"{line} \\"
            line = f"  {word}"
        else:
            line += f" {word}"
    yield line


def host_list(hosts: Sequence[str]) -> str:
    """Return hosts in order as Slurm writes them, runs of numbers in brackets.

    >>> host_list(["r1", "r2", "r3", "gpu07", "gpu08", "login"])
    'r[1-3],gpu[07-08],login'
    """
    parts: list[str] = []
    start = 0
    for end in range(1, len(hosts) + 1):
        if end == len(hosts) or not _follows(hosts[end - 1], hosts[end]):
            first, last = (_NUMBERED.fullmatch(hosts[place]) for place in (start, end - 1))
            if first is None or last is None or end - start == 1:
                parts += hosts[start:end]
            else:
                parts.append(f"{first[1]}[{first[2]}-{last[2]}]{first[3]}")
            start = end
    return ",".join(parts)


def _follows(here: str, there: str) -> bool:
    """Whether a name is another with the last number in it one higher, of as many digits where these start with 0."""
    one, two = _NUMBERED.fullmatch(here), _NUMBERED.fullmatch(there)
    if one is None or two is None or (one[1], one[3]) != (two[1], two[3]):
        return False
    padded = "0" in (one[2][0], two[2][0])
    return int(two[2]) == int(one[2]) + 1 and (not padded or len(one[2]) == len(two[2]))
