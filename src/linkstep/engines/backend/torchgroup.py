"""A process group of torch.distributed whose collectives run our schedules, and for the rest gloo's.

Allreduce, reduce-scatter, allgather and all-to-all are ours where there is a schedule and the call is plain: dense CPU
tensors of equal sizes, and an operation we have. Whatever decides between ours and gloo's is the same on all ranks, as
the two never meet. Coalesced calls become one collective on the tensors laid side by side, since it is steps that cost.
Not here: how a group learns its schedules (``linkstep.torch``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.engines.backend.torchwork import FutureWork, WorkerThread
from linkstep.engines.communicator import Communicator

_log = logging.getLogger("linkstep")
_OPERATIONS = (
    (dist.ReduceOp.SUM, "sum"),
    (dist.ReduceOp.AVG, "sum"),  # and divided by the number of ranks
    (dist.ReduceOp.MIN, "min"),
    (dist.ReduceOp.MAX, "max"),
    (dist.ReduceOp.PRODUCT, "prod"),
)
_NUMBERS = {
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
    torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64,
}  # fmt: skip
_Tensors = Sequence[Any]


def _base_class() -> Any:
    """Return torch's class for backends in Python, or the process group's where this torch has none."""
    try:
        type("Probe", (c10d.Backend,), {})(0, 1)
    except TypeError:
        return dist.ProcessGroup
    return c10d.Backend


_BASE = _base_class()


def make_gloo(store: Any, rank: int, size: int, timeout: timedelta) -> tuple[Any, Any]:
    """Return gloo's backend, and a process group of it alone."""
    gloo = dist.ProcessGroupGloo(store, rank, size, timeout)
    gloo._set_sequence_number_for_group()
    group = dist.ProcessGroup(store, rank, size)
    group._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
    group._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, gloo)
    return gloo, group


def _is_plain(tensors: _Tensors) -> bool:
    """Whether tensors are dense, on CPUs, without gaps, and of one type of numbers."""
    first = tensors[0].dtype
    return first in _NUMBERS and all(
        t.dtype == first and t.device.type == "cpu" and t.layout == torch.strided and t.is_contiguous() for t in tensors
    )


def _operation(opts: Any) -> str | None:
    """Return what we call a call's operation, or None; torch's are equal from one side only, so no dict finds them."""
    return next((name for operation, name in _OPERATIONS if opts.reduceOp == operation), None)


def _is_average(opts: Any) -> bool:
    return bool(opts.reduceOp == dist.ReduceOp.AVG)


def _is_even(tensors: _Tensors) -> bool:
    return len({t.numel() for t in tensors}) == 1


def _flat(tensors: _Tensors) -> Any:
    return torch.cat([t.detach().reshape(-1) for t in tensors])


def _rows(tensors: _Tensors, rows: int) -> Any:
    """Lay tensors side by side, each cut into this many rows."""
    return torch.cat([t.detach().reshape(rows, -1) for t in tensors], dim=1).reshape(-1)


def _spread(flat: Any, tensors: _Tensors, rows: int) -> None:
    """Do the reverse: set tensors to their columns."""
    start, table = 0, flat.reshape(rows, -1)
    for tensor in tensors:
        width = tensor.numel() // rows
        tensor.detach().copy_(table[:, start : start + width].reshape(tensor.shape))
        start += width


class ScheduledGroup(_BASE):  # type: ignore[misc, valid-type, unused-ignore]
    """The group; ``communicator`` is None where no schedule is for it."""

    def __init__(self, gloo: Any, inner: Any, communicator: Communicator | None) -> None:
        rank, size = inner.rank(), inner.size()
        super().__init__(rank, size)
        if _BASE is dist.ProcessGroup:
            self._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
            self._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, gloo)
        self._size, self._inner, self._communicator = size, inner, communicator
        self._worker = WorkerThread("linkstep backend") if communicator else None
        self._told: set[Collective] = set()

    def getBackendName(self) -> str:
        """Return what torch calls this backend."""
        return "linkstep"

    def _serves(self, collective: Collective, tensors: _Tensors, total: int) -> bool:
        """Whether a collective on ``total`` elements in all is ours."""
        if self._communicator is None or not tensors or not _is_plain(tensors):
            return False
        try:
            self._communicator.plan_for(collective, total * tensors[0].element_size())
        except LinkstepError as error:
            if collective not in self._told:
                self._told.add(collective)
                _log.info("gloo's own %s: %s", collective, error)
            return False
        return True

    def _run(self, action: Callable[[Communicator], Any], result: Any) -> FutureWork:
        """Let the worker do something, whose result is known to be in these tensors."""
        communicator, worker = self._communicator, self._worker
        assert communicator is not None and worker is not None

        def act() -> Any:
            action(communicator)
            return result

        return FutureWork(worker.submit(act))

    def _reduces(self, opts: Any, tensors: _Tensors) -> bool:
        if _operation(opts) is None or not tensors:
            return False
        return not _is_average(opts) or tensors[0].dtype.is_floating_point

    def _finish(self, opts: Any, tensors: _Tensors) -> None:
        if _is_average(opts):
            for tensor in tensors:
                tensor.detach().div_(self._size)

    def allreduce(self, tensors: _Tensors, opts: Any = None) -> Any:
        """Reduce a tensor, as a list of one, in place."""
        opts = opts or dist.AllreduceOptions()
        if len(tensors) != 1 or not self._reduces(opts, tensors):
            return self._inner.allreduce(tensors, opts)
        if not self._serves(Collective.ALLREDUCE, tensors, tensors[0].numel()):
            return self._inner.allreduce(tensors, opts)
        whole, op = tensors[0].detach(), _operation(opts) or "sum"

        def act(communicator: Communicator) -> None:
            communicator.allreduce(whole, out=whole, op=op)
            self._finish(opts, tensors)

        return self._run(act, list(tensors))

    def allreduce_coalesced(self, tensors: _Tensors, opts: Any = None) -> Any:
        """Reduce several tensors in place."""
        opts = opts or c10d.AllreduceCoalescedOptions()
        total = sum(t.numel() for t in tensors)
        if not self._reduces(opts, tensors) or not self._serves(Collective.ALLREDUCE, tensors, total):
            return self._inner.allreduce_coalesced(tensors, opts)
        op = _operation(opts) or "sum"

        def act(communicator: Communicator) -> None:
            flat = _flat(tensors)
            _spread(communicator.allreduce(flat, out=flat, op=op), tensors, 1)
            self._finish(opts, tensors)

        return self._run(act, list(tensors))

    def allgather(self, output_lists: Sequence[_Tensors], inputs: _Tensors, opts: Any = None) -> Any:
        """Gather a tensor, as a list of one, to a list with one of each rank."""
        opts = opts or c10d.AllgatherOptions()
        tensors = [*inputs, *output_lists[0]]
        if len(inputs) != 1 or not _is_even(tensors):
            return self._inner.allgather(output_lists, inputs, opts)
        if not self._serves(Collective.ALLGATHER, tensors, inputs[0].numel() * self._size):
            return self._inner.allgather(output_lists, inputs, opts)
        outputs = output_lists[0]

        def act(communicator: Communicator) -> None:
            got = communicator.allgather(inputs[0].detach().reshape(-1))
            for part, output in zip(got.reshape(self._size, -1), outputs, strict=True):
                output.detach().copy_(part.reshape(output.shape))

        return self._run(act, [list(outputs)])

    def all_gather_single(self, output: Any, given: Any, opts: Any = None) -> Any:
        """Gather a tensor to one that is N times as long."""
        opts = opts or c10d.AllgatherOptions()
        if not self._serves(Collective.ALLGATHER, (given, output), output.numel()):
            return self._inner._allgather_base(output, given, opts)
        return self._run(lambda c: c.allgather(given.detach(), out=output.detach()), output)

    def all_gather_single_coalesced(self, outputs: _Tensors, inputs: _Tensors, opts: Any = None) -> Any:
        """Gather several tensors, each to one that is N times as long."""
        opts = opts or c10d.AllgatherOptions()
        if not self._serves(Collective.ALLGATHER, [*inputs, *outputs], sum(t.numel() for t in outputs)):
            return self._inner.allgather_into_tensor_coalesced(outputs, inputs, opts)
        return self._run(lambda c: _spread(c.allgather(_flat(inputs)), outputs, self._size), list(outputs))

    def allgather_coalesced(self, output_lists: Sequence[_Tensors], inputs: _Tensors, opts: Any = None) -> Any:
        """Gather several tensors to a list for each rank."""
        opts = opts or c10d.AllgatherOptions()
        tensors = [*inputs, *(t for outputs in output_lists for t in outputs)]
        if not self._serves(Collective.ALLGATHER, tensors, sum(t.numel() for t in inputs) * self._size):
            return self._inner.allgather_coalesced(output_lists, inputs, opts)

        def act(communicator: Communicator) -> None:
            got = communicator.allgather(_flat(inputs)).reshape(self._size, -1)
            for part, outputs in zip(got, output_lists, strict=True):
                _spread(part, outputs, 1)

        return self._run(act, [list(outputs) for outputs in output_lists])

    def reduce_scatter(self, outputs: _Tensors, input_lists: Sequence[_Tensors], opts: Any = None) -> Any:
        """Reduce a list with a tensor for each rank, and keep one's own."""
        opts = opts or c10d.ReduceScatterOptions()
        tensors = [*outputs, *input_lists[0]]
        if len(outputs) != 1 or not _is_even(tensors) or not self._reduces(opts, outputs):
            return self._inner.reduce_scatter(outputs, input_lists, opts)
        if not self._serves(Collective.REDUCE_SCATTER, tensors, outputs[0].numel() * self._size):
            return self._inner.reduce_scatter(outputs, input_lists, opts)
        return self._scatter(outputs, lambda: _flat(input_lists[0]), opts, list(outputs))

    def reduce_scatter_single(self, output: Any, given: Any, opts: Any = None) -> Any:
        """Reduce a tensor and keep one's own N-th."""
        opts = opts or c10d.ReduceScatterOptions()
        served = self._reduces(opts, (given,))
        if not served or not self._serves(Collective.REDUCE_SCATTER, (given, output), given.numel()):
            return self._inner._reduce_scatter_base(output, given, opts)
        return self._scatter([output], given.detach, opts, output)

    def reduce_scatter_single_coalesced(self, outputs: _Tensors, inputs: _Tensors, opts: Any = None) -> Any:
        """Reduce several tensors and keep one's own N-th of each."""
        opts = opts or c10d.ReduceScatterOptions()
        served = self._reduces(opts, inputs)
        total = sum(t.numel() for t in inputs)
        if not served or not self._serves(Collective.REDUCE_SCATTER, [*inputs, *outputs], total):
            return self._inner.reduce_scatter_tensor_coalesced(outputs, inputs, opts)
        return self._scatter(outputs, lambda: _rows(inputs, self._size), opts, list(outputs))

    def _scatter(self, outputs: _Tensors, given: Callable[[], Any], opts: Any, result: Any) -> FutureWork:
        op = _operation(opts) or "sum"

        def act(communicator: Communicator) -> None:
            if len(outputs) == 1:
                communicator.reduce_scatter(given(), out=outputs[0].detach(), op=op)
            else:
                _spread(communicator.reduce_scatter(given(), op=op), outputs, 1)
            self._finish(opts, outputs)

        return self._run(act, result)

    def all_to_all_single(
        self, output: Any, given: Any, output_sizes: Sequence[int], input_sizes: Sequence[int], opts: Any = None
    ) -> Any:  # fmt: skip
        """Send the r-th N-th of a tensor to rank r; parts of given sizes, which may differ, are gloo's."""
        opts = opts or c10d.AllToAllOptions()
        plain = not output_sizes and not input_sizes
        if not plain or not self._serves(Collective.ALL_TO_ALL, (given, output), given.numel()):
            return self._inner.alltoall_base(output, given, output_sizes, input_sizes, opts)
        return self._run(lambda c: c.all_to_all(given.detach(), out=output.detach()), output)

    def alltoall(self, outputs: _Tensors, inputs: _Tensors, opts: Any = None) -> Any:
        """Send one tensor to each rank, of any sizes: gloo's, which knows it only in one piece, as sizes may differ."""
        opts = opts or c10d.AllToAllOptions()
        flat, got = _flat(inputs), _flat(outputs)
        sizes = [t.numel() for t in outputs], [t.numel() for t in inputs]
        self._inner.alltoall_base(got, flat, *sizes, opts).wait()
        start = 0
        for output in outputs:
            output.detach().copy_(got[start : start + output.numel()].reshape(output.shape))
            start += output.numel()
        future: Any = torch.futures.Future()
        future.set_result(list(outputs))
        return FutureWork(future)

    # torch's older names
    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single


def _passed_on(name: str) -> Callable[..., Any]:
    def call(self: ScheduledGroup, *args: Any, **named: Any) -> Any:
        return getattr(self._inner, name)(*args, **named)

    call.__name__, call.__doc__ = name, f"Leave {name} to gloo."
    return call


for _name in ("broadcast", "reduce", "gather", "scatter", "send", "recv", "recv_anysource", "barrier",
              "monitored_barrier"):  # fmt: skip
    setattr(ScheduledGroup, _name, _passed_on(_name))
