"""The engines, as rows: how one is opened, how its ranks are started and numbered, and what its arrays can hold.

A new engine is a module with a ``Transport`` and a row of ``ENGINES``. mpi4py and torch are imported where a transport
is opened, so that the table asks for neither, and a rank can look itself up before anything that takes time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from linkstep.core.errors import LinkstepError
from linkstep.core.tables import NamedRows
from linkstep.engines.transports.start import Start, start_mpi, start_torch

if TYPE_CHECKING:
    from linkstep.engines.transports.transport import Transport


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What is to be known of an engine before it runs."""

    name: str
    title: str
    """Its name in a sentence."""
    open: Callable[[float], Transport]
    """Return its transport over all of its ranks, which gives up after this many seconds of silence."""
    rank_variables: tuple[str, ...]
    """The variables in which any launcher tells a process its rank; the first that is set counts."""
    only_with: Mapping[str, str] = field(default_factory=dict)
    """Those of them that do so only where another variable is set."""
    start: Start
    """Start ranks on this machine."""
    starter: str = "a rank"
    """What the processes are that it starts."""
    starts_again: bool = False
    """Whether it may fail before any rank has begun, and is then started once more."""
    lingers: bool = False
    """Whether threads of its own keep a process from ending: a rank then leaves at once, the first one last."""
    arrays: str = "numpy"
    """The library of its arrays."""
    types: tuple[str, ...] = ("float32", "float64", "float16", "int32", "int64")
    """The element types that these have."""

    def rank_of(self, environment: Mapping[str, str]) -> str | None:
        """Return the rank that an environment tells, or None if it is not that of a rank.

        Inside a Slurm allocation, but not started by srun, no process is one:

        >>> ENGINES["mpi"].rank_of({"SLURM_PROCID": "0"}), ENGINES["mpi"].rank_of({"PMI_RANK": "3"})
        (None, '3')
        """
        for name in self.rank_variables:
            if name in environment and self.only_with.get(name, name) in environment:
                return environment[name]
        return None


def _open_mpi(timeout: float) -> Transport:
    from linkstep.engines.transports.mpi import MpiTransport

    return MpiTransport(timeout=timeout)


def _open_torch(timeout: float) -> Transport:
    from linkstep.engines.transports.torchdist import TorchTransport

    return TorchTransport(timeout=timeout)


ENGINES = NamedRows(
    Engine,
    "engine",
    (
        Engine(
            name="mpi",
            title="MPI",
            open=_open_mpi,
            rank_variables=("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"),
            only_with={"SLURM_PROCID": "SLURM_STEP_NODELIST"},
            start=start_mpi,
            starter="the launcher of the ranks",
            starts_again=True,
        ),
        Engine(
            name="torch",
            title="torch",
            open=_open_torch,
            rank_variables=("RANK",),
            start=start_torch,
            lingers=True,
            arrays="torch",
            types=("float32", "float64", "float16", "bfloat16", "int32", "int64"),
        ),
    ),
    key=lambda engine: engine.name,
)


def engine_named(name: str) -> Engine:
    """Return the engine; LinkstepError names those there are."""
    if name not in ENGINES:
        raise LinkstepError(f"the engine must be one of {', '.join(ENGINES)}, not {name!r}")
    return ENGINES[name]
