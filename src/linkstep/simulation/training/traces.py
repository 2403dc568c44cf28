"""Layers from a trace of PyTorch's profiler (Kineto's Chrome trace), for models that were profiled elsewhere.

Needed is one iteration, forward and backward, recorded with shapes:

    with torch.profiler.profile(record_shapes=True) as profiler:
        loss_of(model, batch).backward()
    profiler.export_chrome_trace("trace.json")

Autograd says for each step of the backward pass which operation of the forward pass it belongs to (``Sequence
number``), and runs an ``AccumulateGrad`` with the gradient's shape once a parameter's gradient is ready. So a layer is
what runs in the backward pass up to such gradients and after those before, and the operations of the forward pass that
belong to it. Where the trace has GPU kernels, an operation takes as long as the kernels that it launched; elsewhere as
long as itself. What autograd does not know of, such as the time between operations, is left out.
"""

from __future__ import annotations

import gzip
import zlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, islice, takewhile
from typing import Any

from linkstep.core.errors import FileError
from linkstep.core.text import shortened, shown
from linkstep.files.disk import AnyPath, open_to_read
from linkstep.files.documents import naming
from linkstep.files.own import loads
from linkstep.simulation.training.job import Layer

_STEP = "autograd::engine::evaluate_function: "
_READY = "AccumulateGrad"
_KERNELS = ("kernel", "gpu_memcpy", "gpu_memset")
_ITERATION = "ProfilerStep#"
_MAX_BYTES = 2**30
_MOST = 10**18
"""Microseconds, or numbers of a gradient: no trace goes beyond."""
_LONGEST_NAME = 80


@dataclass(frozen=True)
class _Span:
    """An operation of the trace: its time in microseconds, where it ran, and what the profiler knows of it."""

    name: str
    start: Fraction
    end: Fraction
    thread: object
    details: Mapping[str, Any]

    @property
    def identity(self) -> int | str | None:
        """What kernels name the operation by that launched them."""
        return _key(self.details.get("External id"))

    @property
    def sequence(self) -> int | None:
        """The number that an operation and its step of the backward pass share."""
        number = self.details.get("Sequence number")
        return number if type(number) is int else None


def read_trace(path: AnyPath) -> list[tuple[Layer, int]]:
    """Return the layers of a trace, in the order of the forward pass, each with its number of parameters."""
    with naming(path):
        spans, kernels = _spans(_read(path))
        return _layers(*_last_iteration(spans, kernels))


def _read(path: AnyPath) -> object:
    with open_to_read(path) as file:
        data = file.read(_MAX_BYTES + 1)
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.open(path) as packed:
                data = packed.read(_MAX_BYTES + 1)
        except (OSError, EOFError, zlib.error):
            raise FileError("is a damaged gzip file") from None
    if len(data) > _MAX_BYTES:
        raise FileError(f"is larger than the {_MAX_BYTES} bytes that are read of a trace: trace one iteration only")
    return loads(data)


def _spans(document: object) -> tuple[list[_Span], list[_Span]]:
    """Return the operations and the kernels of a trace."""
    rows = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        raise FileError('is no trace of PyTorch\'s profiler: it has no list "traceEvents"')
    spans: list[_Span] = []
    kernels: list[_Span] = []
    for row in rows:
        if not isinstance(row, dict) or row.get("ph") != "X" or not isinstance(row.get("name"), str):
            continue
        first, length, details = _microseconds(row.get("ts")), _microseconds(row.get("dur")), row.get("args")
        if first is None or length is None:
            continue
        span = _Span(
            row["name"], first, first + length, _key(row.get("tid")), details if isinstance(details, dict) else {}
        )
        (kernels if row.get("cat") in _KERNELS else spans).append(span)
    return sorted(spans, key=lambda span: (span.start, -span.end)), kernels


def _microseconds(value: object) -> Fraction | None:
    """Return a time as it is written; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _MOST:
        return None
    return Fraction(repr(value))


def _key(value: object) -> int | str | None:
    """Return what the profiler tells things apart by; None for what it never writes."""
    return value if isinstance(value, (int, str)) else None


def _last_iteration(spans: Sequence[_Span], kernels: Sequence[_Span]) -> tuple[list[_Span], list[_Span]]:
    """Keep the last iteration where the profiler marked several; its kernels may run on a little later."""
    steps = [span for span in spans if span.name.startswith(_ITERATION)]
    if not steps:
        return list(spans), list(kernels)
    last = steps[-1]
    inside = [span for span in spans if last.start <= span.start and span.end <= last.end and span is not last]
    return inside, [kernel for kernel in kernels if kernel.start >= last.start]


def _layers(spans: Sequence[_Span], kernels: Sequence[_Span]) -> list[tuple[Layer, int]]:
    steps = [span for span in spans if span.name.startswith(_STEP)]
    ready = [span for span in steps if _READY in span.name]
    if not ready:
        raise FileError("has no gradients that become ready (AccumulateGrad): trace a forward and a backward pass")
    clock = _Clock(spans, kernels)
    forward = _forward_times(spans, steps, clock)
    groups: list[_Group] = [_Group()]
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        group, is_ready = groups[-1], _READY in step.name
        group.backward += clock.time(step)
        group.forward += forward.pop(step.sequence, Fraction(0))
        if is_ready:
            group.parameters += _parameters(step, spans)
        else:
            group.name = step.name.removeprefix(_STEP).removesuffix("Backward0")
        if is_ready and after is not None and _READY not in after.name and after.start <= ready[-1].start:
            groups.append(_Group())
    groups[-1].forward += sum(forward.values(), Fraction(0))
    return [group.layer(number) for number, group in enumerate(reversed(groups), 1)]


@dataclass
class _Group:
    """What runs in the backward pass between gradients that are ready, in microseconds."""

    name: str = "layer"
    forward: Fraction = Fraction(0)
    backward: Fraction = Fraction(0)
    parameters: int = 0

    def layer(self, number: int) -> tuple[Layer, int]:
        name = shortened(f"{number} {self.name}", _LONGEST_NAME)
        return Layer(name, _seconds(self.forward), _seconds(self.backward)), self.parameters


def _parameters(step: _Span, spans: Sequence[_Span]) -> int:
    """Return how many numbers the gradient of an AccumulateGrad has, by the shapes of what runs in it."""
    first = bisect_left(spans, step.start, key=lambda span: span.start)
    for span in takewhile(lambda span: span.start <= step.end, islice(spans, first, None)):
        dims = span.details.get("Input Dims")
        if span.thread == step.thread and isinstance(dims, list) and dims and isinstance(dims[0], list):
            shape = dims[0]
            if all(type(side) is int and side >= 0 for side in shape):
                return _product(shape)
    raise FileError("has gradients without shapes: trace with torch.profiler.profile(record_shapes=True)")


def _product(shape: Sequence[int]) -> int:
    """Return how many numbers a shape has; FileError if that is more than any memory holds."""
    found = 1
    for side in shape if all(shape) else [0]:
        found *= side
        if found > _MOST:
            raise FileError(f"has a gradient of more than {_MOST} numbers: is its shape, {shown(shape)}, right?")
    return found


def _seconds(microseconds: Fraction) -> Fraction:
    """Return a time to the femtosecond: no clock tells more, and a file can say it in decimals."""
    return Fraction(round(microseconds * 10**9), 10**15)


def _forward_times(spans: Sequence[_Span], steps: Iterable[_Span], clock: _Clock) -> dict[int | None, Fraction]:
    """Return microseconds of the forward operation of each step, by sequence number: the outermost of that number."""
    wanted = {step.sequence for step in steps if step.sequence is not None}
    first = min((step.start for step in steps), default=Fraction(0))
    until: dict[object, Fraction] = defaultdict(Fraction)
    found: dict[int | None, Fraction] = {}
    for span in spans:
        inside = span.end <= until[span.thread]
        if span.end <= first and span.sequence in wanted and not inside and span.sequence not in found:
            found[span.sequence] = clock.time(span)
            until[span.thread] = span.end
    return found


class _Clock:
    """Tells what an operation takes: its kernels where there are any in the trace, else itself."""

    def __init__(self, spans: Sequence[_Span], kernels: Sequence[_Span]) -> None:
        self.has_kernels = bool(kernels)
        took: dict[object, Fraction] = defaultdict(Fraction)
        for kernel in kernels:
            took[kernel.identity] += kernel.end - kernel.start
        took.pop(None, None)
        launches: dict[object, list[tuple[Fraction, Fraction]]] = defaultdict(list)
        for span in spans:
            if span.identity in took:
                launches[span.thread].append((span.start, took.pop(span.identity)))
        self.starts = {thread: [start for start, _ in rows] for thread, rows in launches.items()}
        self.sums = {
            thread: list(accumulate((seconds for _, seconds in rows), initial=Fraction(0)))
            for thread, rows in launches.items()
        }

    def time(self, span: _Span) -> Fraction:
        """Return microseconds."""
        if not self.has_kernels:
            return span.end - span.start
        starts, sums = self.starts.get(span.thread, []), self.sums.get(span.thread, [Fraction(0)])
        return sums[bisect_left(starts, span.end)] - sums[bisect_left(starts, span.start)]
