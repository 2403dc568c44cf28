"""PyTorch training over our schedules: a communication hook for DDP, and a process-group backend, "linkstep".

``allreduce_hook`` averages DDP's buckets with a ``Communicator``. Importing this module registers the backend, after
which ``init_process_group("linkstep")`` serves DDP, FSDP2 and whatever else calls torch.distributed: allreduce,
reduce-scatter, allgather and all-to-all run the schedules named by ``use``; everything else is gloo's. Both run their
collectives on a thread of their own, in the order of the calls, so that computing goes on meanwhile.

Annotations here are values, not texts: ``register_comm_hook`` compares them.
"""

import json
import os
import warnings
import weakref
from typing import Any

try:
    import torch
    import torch.distributed as dist
    from torch._C._distributed_c10d import GradBucket
except ImportError:
    from linkstep.core.extras import missing

    raise ImportError(missing("linkstep.torch", "PyTorch", package="torch")) from None

from linkstep.core.errors import EngineError, LinkstepError
from linkstep.engines.backend.torchgroup import ScheduledGroup, make_gloo
from linkstep.engines.backend.torchwork import WorkerThread, checked
from linkstep.engines.backend.wiring import misfit, wiring_of_all
from linkstep.engines.communicator import Communicator
from linkstep.engines.plans.source import sources_of
from linkstep.engines.transports.torchdist import TorchTransport
from linkstep.engines.transports.transport import Silent

__all__ = ["VARIABLE", "allreduce_hook", "use"]

VARIABLE = "LINKSTEP_SCHEDULE"
"""The environment variable that serves where ``use`` was not called: recipes or files, separated by semicolons."""
_chosen: list[Any] = []
_workers: weakref.WeakKeyDictionary[Communicator, WorkerThread] = weakref.WeakKeyDictionary()


def allreduce_hook(state: Communicator, bucket: GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket of gradients over all ranks, as DDP does without a hook.

    For ``model.register_comm_hook(communicator, linkstep.torch.allreduce_hook)``; while the model trains, the
    communicator belongs to it.
    """
    if state not in _workers:
        _workers[state] = WorkerThread("linkstep hook")
    gradients = bucket.buffer()

    def average() -> torch.Tensor:
        gradients.div_(state.size)
        state.allreduce(gradients, out=gradients)
        return gradients

    future: torch.futures.Future[torch.Tensor] = checked(_workers[state].submit(average))
    return future


def use(*what: Any) -> None:
    """Set what the backend's groups run, before ``init_process_group("linkstep")``: what ``Communicator`` takes.

    Of several, a group takes those for its number of ranks whose links all are links of what was given for all ranks,
    if anything was. Groups that none fits leave everything to gloo, except the default group, which refuses.
    """
    _chosen[:] = what


def _wanted() -> list[Any]:
    named = [part.strip() for part in os.environ.get(VARIABLE, "").split(";")]
    found = list(_chosen) or [part for part in named if part]
    if not found:
        raise EngineError(
            f'the backend "linkstep" has nothing to run: call linkstep.torch.use(...) before, or set {VARIABLE}'
        )
    return found


def _fitting(what: list[Any], size: int, ranks: list[int]) -> tuple[list[Any], str]:
    """Return what ``size`` ranks can run, on the cables between these of all if they are a part, or why not."""
    wiring = wiring_of_all(what, dist.get_world_size()) if ranks else None
    fitting, mistake, lacking = [], "", ""
    for one in what:
        try:
            sources_of(one, size)
            lack = "" if wiring is None else misfit(one, ranks, wiring)
        except LinkstepError as error:
            mistake = mistake or str(error)
            continue
        lacking = lacking or lack
        if not lack:
            fitting.append(one)
    return fitting, "" if fitting else lacking or mistake


_TOLD = "linkstep/left to gloo"
"""The key of the default store that counts the groups that nothing fits."""


def _tell(ranks: list[int], mistake: str) -> None:
    """Warn once in a job, whichever group is the first."""
    if dist.distributed_c10d._get_default_store().add(_TOLD, 1) == 1:
        names = ", ".join(map(str, ranks[:8])) + ", ..." * (len(ranks) > 8)
        warnings.warn(f"groups that nothing fits are left to gloo, such as ranks {names}: {mistake}", stacklevel=3)


def _make_group(options: Any, _: Any = None) -> ScheduledGroup:
    """Make a group for torch: all of its ranks decide alike whether schedules serve it."""
    rank, size, timeout = options.group_rank, options.group_size, options.timeout
    ranks = list(options.global_ranks_in_group)
    gloo, inner = make_gloo(options.store, rank, size, timeout)
    try:
        transport = TorchTransport(gloo, timeout.total_seconds(), store=options.store, ranks=ranks or list(range(size)))
        fitting, mistake = _fitting(_wanted(), size, ranks)
        answers = [json.loads(text) for text in transport.gather(json.dumps([len(fitting), mistake]).encode())]
    except Silent as silent:
        raise EngineError(f"the ranks of a group cannot begin: {silent.silence.reason or silent}") from None
    communicator = None
    if any(count for count, _ in answers) or not ranks:
        first = next((mistake for count, mistake in answers if not count), "")
        if first:
            raise EngineError(f"the group of {size} ranks cannot begin: {first}")
        communicator = Communicator(fitting, transport)
    elif rank == 0:
        _tell(ranks, mistake)
    return ScheduledGroup(gloo, inner, communicator)


dist.Backend.register_backend("linkstep", _make_group, extended_api=True, devices=["cpu"])
