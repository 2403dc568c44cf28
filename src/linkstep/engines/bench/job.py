"""What one rank of ``linkstep run`` does: join the others, measure every size, and return what happened.

What starts ranks makes a ``BenchJob`` with the plans already compiled (``linkstep.engines.bench.preparation``), so that
a rank needs little more than numpy and its engine. All ranks run it alike and end with the same rows.
"""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkstep.core.collective import Collective
from linkstep.core.errors import EngineError
from linkstep.engines.bench.measure import Bench, Measurement
from linkstep.engines.bench.watch import guarded
from linkstep.engines.communicator import Communicator
from linkstep.engines.plans.plan import CompiledPlans
from linkstep.engines.transports.counters import device_bytes
from linkstep.engines.transports.engine import engine_named
from linkstep.engines.transports.notes import register_rank, report_silence
from linkstep.engines.transports.numbering import numbered, order_of
from linkstep.engines.transports.transport import SETUP, Silent, Transport

OnRow = Callable[[int, Measurement], None]
"""Called on the first rank with the number of a size and what was measured for it."""


@dataclass(frozen=True)
class BenchJob:
    """What to run, and how."""

    compiled: Sequence[CompiledPlans]
    """The plans of each rank, then of each node that only forwards."""
    collective: Collective
    sizes: Sequence[int]
    engine: str
    type_name: str
    operation: str
    root: int
    repetitions: int | None
    timeout: float
    own: bool
    """Whether to measure the engine's own collective too."""
    labels: Sequence[str] | None
    """What their hosts are called in messages."""
    hosts: Sequence[str] | None = None
    """The host of each, where they must be found by it."""
    nodes: Sequence[int] | None = None
    """The node of each, where that is not its own number."""
    is_by_node: bool = False
    """Whether process v, started by others, is node v; those that are started here are ranks, then forwarders."""
    warmups: int = 0
    """Calls of each size before those that are measured."""
    devices: Sequence[Mapping[str, int]] | None = None
    """On a testbed: for each rank, the neighbour behind each network device."""
    trace: bool = False
    """Whether ranks record what they do when in the last repetition of the last size."""


def tell_mistake(engine: str, timeout: float, mistake: str) -> None:
    """Join the other ranks only to say why this one cannot begin: they would wait for it, some engines for ever."""
    with contextlib.suppress(EngineError, Silent):
        engine_named(engine).open(timeout).gather(mistake.encode())


def _hear_mistakes(transport: Transport) -> None:
    answers = transport.gather(b"")
    for rank, mistake in enumerate(answers):
        if mistake:
            raise EngineError(f"rank {rank} cannot begin: {mistake.decode()}")


def run_job(job: BenchJob, on_row: OnRow) -> tuple[int, list[Measurement]]:
    """Run a job as one of its ranks; return the rank's number and what was measured; the first tells of each row."""
    transport = engine_named(job.engine).open(job.timeout)
    register_rank(transport.rank)
    communicator = None
    try:
        _hear_mistakes(transport)
        if transport.size != len(job.compiled):
            raise EngineError(f"it is for {len(job.compiled)} ranks, and there are {transport.size}")
        transport = _placed(transport, job)
        communicator = Communicator(job.compiled[transport.rank], transport, names=job.labels)
        with guarded(f"rank {transport.rank}: {job.collective}", transport.dead):
            return transport.rank, _measure(job, communicator, on_row)
    except Silent as silent:
        transport.mark_failed()
        raise EngineError(f"rank {transport.rank}: the ranks did not find each other: {silent}") from None
    except EngineError:
        silence = None if communicator is None else communicator.silence
        if silence is not None and not silence.dead:  # where a rank is gone, nobody waits for a cable
            report_silence(transport.rank, silence.from_ranks + silence.to_ranks)
        transport.mark_failed()
        raise


def _placed(transport: Transport, job: BenchJob) -> Transport:
    """Return the transport with ranks numbered by their hosts, if the job names these, or as the job says."""
    if job.hosts is None:
        return numbered(transport, job.nodes if job.is_by_node else None)
    here = os.environ.get("SLURMD_NODENAME") or platform.node()
    found = [text.decode() for text in transport.gather(here.encode(), SETUP)]
    return numbered(transport, order_of(job.hosts, found))


def _measure(job: BenchJob, communicator: Communicator, on_row: OnRow) -> list[Measurement]:
    bench = Bench(
        communicator, job.collective, job.type_name, job.operation, job.root, job.repetitions, job.warmups,
        counters=None if job.devices is None else _counters(job.devices[communicator.rank]),
    )  # fmt: skip
    rows = []
    for number, size in enumerate(job.sizes):
        rows.append(bench.row(size, job.own, job.trace and number == len(job.sizes) - 1))
        if communicator.rank == 0:
            on_row(number, rows[-1])
    communicator.close()
    return rows


def _counters(devices: Mapping[str, int]) -> Callable[[], dict[int, int]]:
    def sent() -> dict[int, int]:
        counted: dict[str, Any] = device_bytes()
        return {neighbour: counted[device][0] for device, neighbour in devices.items()}

    return sent
