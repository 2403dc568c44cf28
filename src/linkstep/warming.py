"""Compile the kernels that commands need before anyone waits for them: ``linkstep warm``.

Small pieces of real work are done in plain Python, and the types of all arguments of kernels noted; then each kernel is
compiled for each of its types, in as many processes as there are cores; each of them imports this file, and by that all
that has kernels. Not here: how kernels are run and kept
(``linkstep._compiling``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

import linkstep
from linkstep._compiling import FILES, Kernel, cache_folder
from linkstep.core.distances import distance_counts, distance_profiles
from linkstep.core.progress import Progress
from linkstep.core.topology import Topology
from linkstep.costs.runs import step_loads
from linkstep.methods.bfb import bfb_time
from linkstep.scheduling import schedule
from linkstep.search.spot import Spot, search_now
from linkstep.search.sweep.methods import SWEEPS
from linkstep.search.sweep.pools import over_all
from linkstep.throughput.solve import quick_all_to_all
from linkstep.verification import verify_text


@dataclass(frozen=True)
class ArrayType:
    """What numba tells arrays apart by."""

    dtype: np.dtype[Any]
    ndim: int
    layout: str
    is_writable: bool
    is_aligned: bool

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> ArrayType:
        """Return the type of an array."""
        flags = array.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return cls(array.dtype, array.ndim, layout, flags.writeable, flags.aligned)

    def to_numba(self) -> Any:
        """Return numba's own."""
        numba: Any = import_module("numba")
        element = numba.from_dtype(self.dtype)
        return numba.types.Array(
            element, self.ndim, self.layout, readonly=not self.is_writable, aligned=self.is_aligned
        )


@dataclass(frozen=True)
class KernelCall:
    """A kernel, and what arguments it is to be compiled for: types of arrays, and numbers as they are."""

    module: str
    name: str
    arguments: tuple[ArrayType | Any, ...]

    @property
    def _types(self) -> tuple[Any, ...]:
        return tuple(one if isinstance(one, ArrayType) else type(one) for one in self.arguments)

    def __hash__(self) -> int:
        return hash((self.module, self.name, self._types))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KernelCall):
            return NotImplemented
        return (self.module, self.name, self._types) == (other.module, other.name, other._types)

    def kernel(self) -> Kernel:
        """Return the kernel as others import it."""
        return next(one for one in FILES[self.module] if one.py_func.__name__ == self.name)


@dataclass(frozen=True)
class Compiled:
    """What became of a call: whether its kernel was there already, and the folder that it is kept in."""

    was_kept: bool
    folder: str | None


@dataclass(frozen=True)
class Warmth:
    """What ``warm`` did."""

    kernels: int
    """Kernels, counted for each of the types that they are compiled for."""
    compiled: int
    """How many of them were not there yet."""
    processes: int
    seconds: float
    folder: Path | None
    """Where they are kept; None: nowhere."""


# --- what is done to see which kernels are needed ---


def _schedules() -> None:
    for recipe in ("Torus(3,3)", "K_10", "Pi_{2,7}"):
        made = schedule(recipe, "allreduce")
        linkstep.check(made.schedule)
        schedule(recipe, "broadcast", chunks=3)
        linkstep.wiring_bound(made.schedule.topology, "allreduce")
        linkstep.step_bound(made.schedule.topology, 4)
        distance_profiles(made.schedule.topology)
        step_loads(made.schedule)


def _arrivals() -> None:
    alike = schedule("Cat(64,4,26778)", "allreduce")  # whose arrivals are the same from every node
    distance_counts(alike.schedule.topology)
    schedule("L(Diamond)", "allreduce", method="arrival", rounds=0)
    schedule("Pi_{2,7}", "allreduce", method="overlapped", rounds=0)


def _exchanges() -> None:
    made = schedule("Torus(3,3)", "all-to-all")
    linkstep.check(made.schedule)
    linkstep.all_to_all(made.schedule.topology)
    heads = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 3, 5, 1, 7, 8, 0, 2, 9, 4, 6]  # no symmetry: flows follow prices
    quick_all_to_all(Topology.from_links(10, [*range(10), *range(10)], heads))


def _unequal_links() -> None:
    links = ([0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1])
    unequal = Topology.from_links(3, *links, bandwidth=[1, 2] * 3, alpha=[1] * 6)
    bfb_time(unequal, "1KB")
    schedule(unequal, chunks=4, size="1KB")


def _programs() -> None:
    made = schedule("K_4", "allreduce").schedule
    for runtime in ("msccl", "mscclpp", "cpu"):
        verify_text(linkstep.lower(made, runtime).text)


def _searches() -> None:
    for bidirectional in (True, False):
        search_now(14, 3, bidirectional, Spot(1e-9))


WORK: tuple[Callable[[], None], ...] = (_schedules, _arrivals, _exchanges, _unequal_links, _programs, _searches)
"""Between them they call every kernel that a command calls, with the types it calls them with."""
assert SWEEPS  # imported for its kernels


@contextmanager
def _recorded() -> Iterator[dict[KernelCall, None]]:
    """Note the kernels that are called in the block, each once for each of its types."""
    calls: dict[KernelCall, None] = {}

    def note(kernel: Kernel, args: tuple[Any, ...]) -> None:
        arguments = tuple(ArrayType.of(one) if isinstance(one, np.ndarray) else one for one in args)
        calls.setdefault(KernelCall(kernel.py_func.__module__, kernel.py_func.__name__, arguments))

    before, Kernel.recorder = Kernel.recorder, note
    try:
        yield calls
    finally:
        Kernel.recorder = before


def kernel_calls() -> list[KernelCall]:
    """Return the kernels that commands call, those that take longest to compile first."""
    with _recorded() as calls:
        for work in WORK:
            work()
    return sorted(calls, key=lambda call: (-_length(call.kernel()), call.name))


def _length(kernel: Kernel) -> int:
    """Return how long a kernel is, with all that it calls in its file."""
    codes = {one.py_func.__name__: one.py_func.__code__ for one in FILES[kernel.py_func.__module__]}
    met: set[str] = set()

    def length(code: CodeType) -> int:
        own = len(code.co_code)
        for name in set(code.co_names) & codes.keys() - met:
            met.add(name)
            own += length(codes[name])
        return own

    return length(kernel.py_func.__code__)


def compile_call(call: KernelCall) -> Compiled:
    """Compile a kernel, or find that it is compiled."""
    numba: Any = import_module("numba")
    kernel = call.kernel()
    for one in FILES[call.module]:
        one.put_in_place()
    types = [one.to_numba() if isinstance(one, ArrayType) else numba.typeof(one) for one in call.arguments]
    made: Any = kernel.make()
    made.compile(tuple(types))
    folder = cache_folder([kernel])
    return Compiled(bool(sum(made.stats.cache_hits.values())), None if folder is None else str(folder))


def warm(processes: int | None = None, progress: Progress | None = None) -> Warmth:
    """Compile all kernels that commands call, in this many processes (None: one a core)."""
    begin = time.monotonic()
    calls = kernel_calls()
    processes = min(len(calls), processes or len(os.sched_getaffinity(0)))
    found: list[Compiled] = []
    with closing(over_all(compile_call, calls, workers=processes)) as results:
        for done, (_, one) in enumerate(results, 1):
            found.append(one)
            if progress is not None:
                progress(done, len(calls))
    folders = {one.folder for one in found}
    return Warmth(
        kernels=len(calls),
        compiled=sum(not one.was_kept for one in found),
        processes=processes,
        seconds=time.monotonic() - begin,
        folder=None if None in folders else Path(str(min(map(str, folders)))),
    )
