"""What the ranks of the tests of the torch engine do; a script that becomes all of them.

    WORLD_SIZE=n MASTER_ADDR=127.0.0.1 MASTER_PORT=p python torch_ranks.py JOB FOLDER

The output of rank r goes to ``FOLDER/r.out`` and ``FOLDER/r.err``; a line ``ok NAME`` or ``bad NAME: why`` tells how
each check went there. A line ``r CODE`` on standard output tells how the rank ended.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import linkstep
import linkstep.torch
from linkstep.core import faults
from linkstep.engines.transports.torchdist import TorchTransport
from support.torch_topologies import CUT, TOPOLOGIES

PROGRAMS = Path(__file__).parent / "programs"
ALL_TO_ALL = str(PROGRAMS / "direct-all-to-all.rccl.xml")
"""For four ranks."""
PATIENT = 300.0
"""Seconds: the ranks share few cores, and the tests must not fail because the machine is busy."""
TYPES = (torch.float32, torch.bfloat16, torch.int64, torch.float16, torch.float64, torch.int32)
REDUCE: dict[str, Callable[..., Any]] = {
    "sum": torch.sum, "min": torch.amin, "max": torch.amax, "prod": torch.prod,
}  # fmt: skip


def check(name: str, action: Callable[[], None]) -> None:
    try:
        action()
    except Exception as error:
        text = f"bad {name}: {type(error).__name__}: {error}"
        print(text.replace("\n", " "), flush=True)
    else:
        print(f"ok {name}", flush=True)


def data(rank: int, length: int, dtype: torch.dtype) -> torch.Tensor:
    """Small numbers, exact in every type, that differ between ranks and positions; few enough twos for a product."""
    return ((torch.arange(length) * 5 + rank * 3) % 7 == 0).to(dtype) + 1


def wanted(collective: str, size: int, rank: int, length: int, dtype: torch.dtype, op: str, root: int) -> Any:
    """What a rank must end with; ``length`` is that of its input."""
    inputs = torch.stack([data(r, length, dtype) for r in range(size)])
    if collective == "allgather":
        return inputs.reshape(-1)
    if collective == "broadcast":
        return inputs[root]
    if collective == "all-to-all":
        return inputs.reshape(size, size, -1)[:, rank].reshape(-1)
    total = REDUCE[op](inputs.double(), 0).to(dtype)
    if collective == "reduce-scatter":
        return total.reshape(size, -1)[rank]
    if collective == "reduce":
        return total if rank == root else None
    return total


def equal(found: torch.Tensor, right: torch.Tensor | None) -> None:
    if right is not None and not torch.equal(found.reshape(-1), right):
        wrong = (found.reshape(-1) != right).nonzero().reshape(-1)
        raise AssertionError(f"{len(wrong)} of {right.numel()} elements wrong, the first {int(wrong[0])}")


def run_collectives(communicator: linkstep.Communicator) -> None:
    size, rank = communicator.size, communicator.rank
    ops = ("sum", "max", "prod", "min")
    for k, length in enumerate((1, 7, 1003)):
        for collective in ("allreduce", "reduce-scatter", "allgather", "broadcast", "reduce", "all-to-all"):
            dtype, op, root = TYPES[(k + len(collective)) % len(TYPES)], ops[k], (3 * k + 1) % size
            if length == 1003:
                op = "sum"
            own = length * size if collective in ("reduce-scatter", "all-to-all") else length
            given = data(rank, own, dtype)
            found = communicator.run(collective, given, op=op, root=root)
            equal(found, wanted(collective, size, rank, own, dtype, op, root))


def run_types(communicator: linkstep.Communicator) -> None:
    """Every type with every operation, in place."""
    size, rank = communicator.size, communicator.rank
    for dtype in TYPES:
        for op in REDUCE:
            tensor = data(rank, 33, dtype)
            communicator.allreduce(tensor, out=tensor, op=op)
            equal(tensor, wanted("allreduce", size, rank, 33, dtype, op, 0))


def run_large(communicator: linkstep.Communicator) -> None:
    """Arrays used as they are, again and again; of torch and of numpy, and one with gaps."""
    size, rank, length = communicator.size, communicator.rank, 5040 * 16
    tensor = torch.empty(length)
    for _ in range(3):
        tensor.copy_(data(rank, length, tensor.dtype))
        communicator.allreduce(tensor, out=tensor)
        equal(tensor, wanted("allreduce", size, rank, length, tensor.dtype, "sum", 0))
    whole = torch.zeros(size * length // 8)
    part = whole.reshape(size, -1)[rank]
    part.copy_(data(rank, length // 8, whole.dtype))
    communicator.allgather(part, out=whole)
    equal(whole, wanted("allgather", size, rank, length // 8, whole.dtype, "sum", 0))
    array = data(rank, 1003, torch.float64).numpy()
    equal(torch.from_numpy(communicator.allreduce(array)), wanted(
        "allreduce", size, rank, 1003, torch.float64, "sum", 0
    ))  # fmt: skip
    assert isinstance(communicator.allreduce(np.ones(3, np.int32)), np.ndarray)
    gaps = torch.zeros(50, 2)[:, 0]
    gaps.copy_(data(rank, 50, gaps.dtype))
    communicator.allreduce(gaps, out=gaps)
    equal(gaps, wanted("allreduce", size, rank, 50, gaps.dtype, "sum", 0))


def run_all_to_all(group: dist.ProcessGroup) -> None:
    communicator = linkstep.Communicator(ALL_TO_ALL, TorchTransport(group, PATIENT))
    for length in (4, 4 * 131):
        found = communicator.all_to_all(data(communicator.rank, length, torch.float32))
        equal(found, wanted("all-to-all", communicator.size, communicator.rank, length, torch.float32, "sum", 0))


def source(name: str) -> Any:
    if name != CUT:
        return name
    whole = linkstep.parse("Torus(3,3)").topology()
    return faults.apply(whole, [faults.parse("cut", "0,1")], Fraction(10**9))


def run_backend(group: Any) -> None:
    """Every call of torch.distributed that is ours, and some that are gloo's."""
    size, rank = group.size(), dist.get_rank()

    def ours(expected: bool = True) -> None:
        nonlocal calls
        assert (group._communicator._calls > calls) is expected, "not run by whom it should be"
        calls = group._communicator._calls

    calls = group._communicator._calls
    names = {
        dist.ReduceOp.SUM: "sum",
        dist.ReduceOp.MIN: "min",
        dist.ReduceOp.MAX: "max",
        dist.ReduceOp.PRODUCT: "prod",
    }
    for operation, name in names.items():
        tensor = data(rank, 13, torch.float32).requires_grad_()
        dist.all_reduce(tensor, operation, group=group)
        equal(tensor.detach(), wanted("allreduce", size, rank, 13, torch.float32, name, 0))
        ours()
    tensor = data(rank, 12, torch.float32).reshape(3, 4)
    work = dist.all_reduce(tensor, dist.ReduceOp.AVG, group=group, async_op=True)
    work.wait()
    assert work.is_completed()
    equal(tensor, wanted("allreduce", size, rank, 12, torch.float32, "sum", 0) / size)
    ours()
    bits = torch.tensor([1 << rank])
    dist.all_reduce(bits, dist.ReduceOp.BOR, group=group)
    assert int(bits) == 2**size - 1
    ours(False)

    gathered = wanted("allgather", size, rank, 5, torch.bfloat16, "sum", 0)
    parts = [torch.zeros(5, dtype=torch.bfloat16) for _ in range(size)]
    dist.all_gather(parts, data(rank, 5, torch.bfloat16), group=group)
    equal(torch.cat(parts), gathered)
    ours()
    whole = torch.zeros(5 * size, dtype=torch.bfloat16)
    group._allgather_base(whole, data(rank, 5, torch.bfloat16)).wait()
    equal(whole, gathered)
    ours()
    lists = [[torch.zeros(3), torch.zeros(2, 2)] for _ in range(size)]
    group.allgather_coalesced(lists, [data(rank, 3, torch.float32), data(rank, 4, torch.float32).reshape(2, 2)]).wait()
    for r, (first, second) in enumerate(lists):
        equal(first, data(r, 3, torch.float32))
        equal(second, data(r, 4, torch.float32))
    ours()

    given, scattered = data(rank, 6 * size, torch.float64), wanted(
        "reduce-scatter", size, rank, 6 * size, torch.float64, "sum", 0
    )  # fmt: skip
    own = torch.zeros(6, dtype=torch.float64)
    dist.reduce_scatter(own, list(given.chunk(size)), group=group)
    equal(own, scattered)
    ours()
    own.zero_()
    group._reduce_scatter_base(own, given.clone(), dist.ReduceScatterOptions()).wait()
    equal(own, scattered)
    ours()
    run_coalesced(group, size, rank)
    ours()

    out = torch.zeros(2 * size)
    dist.all_to_all_single(out, data(rank, 2 * size, torch.float32), group=group)
    equal(out, wanted("all-to-all", size, rank, 2 * size, torch.float32, "sum", 0))
    ours()
    parts = [torch.zeros(2) for _ in range(size)]
    dist.all_to_all(parts, list(data(rank, 2 * size, torch.float32).chunk(size)), group=group)
    equal(torch.cat(parts), wanted("all-to-all", size, rank, 2 * size, torch.float32, "sum", 0))
    told = [None] * size
    dist.all_gather_object(told, {"rank": rank}, group=group)
    assert told == [{"rank": r} for r in range(size)]
    tensor = data(rank, 9, torch.float32)
    dist.broadcast(tensor, 2, group=group)
    equal(tensor, data(2, 9, torch.float32))
    dist.barrier(group=group)


def run_coalesced(group: Any, size: int, rank: int) -> None:
    first, second = data(rank, 3, torch.float32), data(rank, 4, torch.float32)
    with dist._coalescing_manager(group):
        dist.all_reduce(first, group=group)
        dist.all_reduce(second, group=group)
    equal(first, wanted("allreduce", size, rank, 3, torch.float32, "sum", 0))
    equal(second, wanted("allreduce", size, rank, 4, torch.float32, "sum", 0))
    outs = [torch.zeros(3 * size), torch.zeros(4 * size)]
    group.allgather_into_tensor_coalesced(outs, [data(rank, 3, torch.float32), data(rank, 4, torch.float32)]).wait()
    for out, length in zip(outs, (3, 4), strict=True):
        equal(out, wanted("allgather", size, rank, length, torch.float32, "sum", 0))
    ins, outs = (
        [data(rank, 3 * size, torch.float32), data(rank, 4 * size, torch.float32)],
        [torch.zeros(3), torch.zeros(4)],
    )
    group.reduce_scatter_tensor_coalesced(outs, ins, dist.ReduceScatterOptions()).wait()
    for out, length in zip(outs, (3, 4), strict=True):
        equal(out, wanted("reduce-scatter", size, rank, length * size, torch.float32, "sum", 0))


def model() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))


def train(trained: nn.Module, rank: int) -> None:
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
    draw = torch.Generator().manual_seed(rank)
    for _ in range(3):
        trained(torch.randn(4, 16, generator=draw)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def run_training(gloo: dist.ProcessGroup, ours: Any) -> None:
    """DDP, plain, hooked and on the backend, and FSDP2: the same parameters."""
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard

    rank = dist.get_rank()

    def ddp(group: dist.ProcessGroup) -> DistributedDataParallel:
        return DistributedDataParallel(model(), process_group=group, bucket_cap_mb=0.01)

    right = ddp(gloo)
    train(right, rank)
    hooked = ddp(gloo)
    communicator = linkstep.Communicator("K_{4,4}", TorchTransport(gloo, PATIENT))
    hooked.register_comm_hook(communicator, linkstep.torch.allreduce_hook)
    train(hooked, rank)
    assert communicator._calls >= 5  # one bucket at first, then two
    before = ours._communicator._calls
    backed = ddp(ours)
    train(backed, rank)
    assert ours._communicator._calls >= before + 5
    before = ours._communicator._calls
    sharded = model()
    mesh = DeviceMesh.from_group(ours, "cpu")
    for layer in (sharded[0], sharded[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(sharded, mesh=mesh)
    train(sharded, rank)
    assert ours._communicator._calls >= before + 12
    found = {
        "hook": [p.detach() for p in hooked.parameters()],
        "backend": [p.detach() for p in backed.parameters()],
        "FSDP2": [p.full_tensor().detach() for p in sharded.parameters()],
    }
    for name, parameters in found.items():
        for a, b in zip(parameters, right.module.parameters(), strict=True):
            assert torch.allclose(a, b.detach(), rtol=1e-5, atol=1e-6), name


def collectives(rank: int) -> None:
    """All topologies, in groups of the first ranks."""
    groups = {size: dist.new_group(range(size), timeout=timedelta(seconds=PATIENT)) for size in (4, 5, 6, 8, 9, 12, 16)}
    for name, size in TOPOLOGIES.items():
        if rank < size:
            communicator = linkstep.Communicator(source(name), TorchTransport(groups[size], PATIENT))
            check(name, lambda communicator=communicator: run_collectives(communicator))
            if name == "K_{4,4}":
                check("types", lambda communicator=communicator: run_types(communicator))
                check("large", lambda communicator=communicator: run_large(communicator))
            communicator.close()
    if rank < 4:
        check("all-to-all", lambda: run_all_to_all(groups[4]))
    linkstep.torch.use("K_{4,4}", "K_4", ALL_TO_ALL)
    ours = dist.new_group(range(8), backend="linkstep", timeout=timedelta(seconds=PATIENT))
    if rank < 8:
        check("backend", lambda: run_backend(ours))
        check("training", lambda: run_training(groups[8], ours))
    pair = dist.new_group([0, 1], backend="linkstep", timeout=timedelta(seconds=PATIENT))
    four = dist.new_group([4, 5, 6, 7], backend="linkstep", timeout=timedelta(seconds=PATIENT))
    if rank < 2:
        check("left to gloo", lambda: run_subgroup(pair, False))
    elif 4 <= rank < 8:
        check("subgroup", lambda: run_subgroup(four, True))


def groups(rank: int) -> None:
    """Parts of eight ranks that are wired as K_{4,4}: what has no cables there is not run there."""
    given = ("K_{4,4}", "K_4", "BiRing(2,6)")
    options = {"backend": "linkstep", "timeout": timedelta(seconds=PATIENT)}
    members = {"left": [0, 2, 4, 6], "right": [1, 3, 5, 7], "six": [0, 1, 2, 3, 4, 5], "wired": [0, 1, 4, 5]}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = {}
        for name, ranks in members.items():
            linkstep.torch.use(*given, *["K_{2,2}"] * (name == "wired"))
            made[name] = dist.new_group(ranks, **options)
    print("warned", [str(one.message) for one in told if "gloo" in str(one.message)], flush=True)
    for name, ranks in members.items():
        if rank in ranks:
            check(name, lambda name=name: run_subgroup(made[name], name == "wired"))
    dist.barrier()


def run_subgroup(group: Any, is_ours: bool) -> None:
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=group)
    equal(tensor, torch.full((3,), float(group.size())))
    assert (group._communicator is not None) is is_ours
    out, size, rank = torch.zeros(2 * group.size()), group.size(), group.rank()
    dist.all_to_all_single(out, data(rank, 2 * size, torch.float32), group=group)
    equal(out, wanted("all-to-all", size, rank, 2 * size, torch.float32, "sum", 0))
    if is_ours:
        assert group._communicator._calls == 2


def refusals(rank: int) -> None:
    """Mistakes: each ends in an error at every rank, in time."""
    size = dist.get_world_size()

    def refused(name: str, timeout: float, action: Callable[[linkstep.Communicator | None, Any], Any]) -> None:
        group = dist.new_group(range(size), timeout=timedelta(seconds=PATIENT))
        transport = TorchTransport(group, timeout)
        communicator = None
        if not name.startswith("begin"):
            communicator = linkstep.Communicator("K_4", transport)
            communicator.allreduce(torch.ones(5))
        begin = time.monotonic()
        try:
            action(communicator, transport)
        except linkstep.LinkstepError as error:
            print(f"refused {name} after {time.monotonic() - begin:.1f}: {error}", flush=True)
        else:
            print(f"bad {name}: no error", flush=True)
        dist.barrier()

    refused("begin, other N", 8, lambda _, transport: linkstep.Communicator("K_{4,4}", transport))
    refused("begin, other file", 8, lambda _, transport: linkstep.Communicator(
        "K_4" if rank else "BiRing(2,4)", transport
    ))  # fmt: skip
    refused("length", 8, lambda c, _: c.allreduce(torch.ones(300 if rank == 2 else 256)))
    refused("type", 2, lambda c, _: c.allreduce(torch.ones(16, dtype=torch.float64 if rank == 2 else torch.float32)))
    refused("operation", 2, lambda c, _: c.allreduce(torch.ones(16), op="max" if rank == 2 else "sum"))


def killed(rank: int) -> None:
    """A rank is killed in the middle of training; in a ring most others do not hear from it."""
    communicator = linkstep.Communicator("UniRing(1,4)", engine="torch")
    trained = DistributedDataParallel(model())
    trained.register_comm_hook(communicator, linkstep.torch.allreduce_hook)
    train(trained, rank)
    dist.barrier()
    if rank == int(os.environ["VICTIM"]):
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    try:
        train(trained, rank)
    except RuntimeError as error:
        last = str(error).strip().splitlines()
        text = next(line for line in last if "EngineError" in line)
        print(f"spoke after {time.monotonic() - begin:.1f}: {text}", flush=True)
        raise


JOBS = {"collectives": collectives, "groups": groups, "refusals": refusals, "killed": killed}


def become_rank(rank: int, job: str, folder: Path) -> None:
    os.environ["RANK"] = str(rank)
    for stream, descriptor in (("out", 1), ("err", 2)):
        os.dup2(os.open(folder / f"{rank}.{stream}", os.O_WRONLY | os.O_CREAT), descriptor)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=PATIENT))
    JOBS[job](rank)
    if job == "collectives":
        dist.barrier()
        dist.destroy_process_group()
    sys.exit()


def main(job: str, folder: Path) -> None:
    if job == "collectives":
        import_module("torch.distributed.fsdp")  # takes seconds: once, before there are ranks
    ranks = {}
    for rank in range(int(os.environ["WORLD_SIZE"])):
        process = os.fork()
        if not process:
            become_rank(rank, job, folder)
        ranks[process] = rank
    while ranks:
        process, status = os.wait()
        print(ranks.pop(process), os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
