"""Train a small transformer on eight ranks wired as K_{4,4}, by DDP and by FSDP2, over gloo and over our schedules.

Run it as it is (it starts its ranks itself), or under torchrun with eight ranks:

    python examples/train_transformer.py
    torchrun --nproc-per-node 8 examples/train_transformer.py

Every way starts from the same parameters, sees the same data and must end with the same parameters: the largest
difference from plain DDP is printed for each, and the exit code is not zero if one is beyond the tolerance.
"""

import argparse
import os
import socket
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import linkstep
import linkstep.torch
from linkstep.engines.transports.torchdist import TorchTransport

TOPOLOGY, RANKS = "K_{4,4}", 8
VOCABULARY, WIDTH, LAYERS, LENGTH, BATCH = 64, 64, 2, 16, 4
TOLERANCE = 1e-5


class Transformer(nn.Module):
    """Predicts the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True) for _ in range(LAYERS)
        )
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the scores of every next token."""
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.head(x).clone()  # FSDP2 warns of views


def train(model: nn.Module, rank: int, steps: int) -> None:
    """Learn a sequence in which each token is the one before plus a number that the rank knows."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    draw = torch.Generator().manual_seed(rank)
    for _ in range(steps):
        start = torch.randint(VOCABULARY, (BATCH, 1), generator=draw)
        tokens = (start + torch.arange(LENGTH + 1) * (1 + rank)) % VOCABULARY
        scores = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(scores.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def fresh() -> Transformer:
    """Return the model as all ways start with it."""
    torch.manual_seed(1)
    return Transformer()


def ddp(process_group: dist.ProcessGroup) -> DistributedDataParallel:
    """Return the model for DDP, with buckets small enough that there are several."""
    return DistributedDataParallel(fresh(), process_group=process_group, bucket_cap_mb=0.25)


def plain(gloo: dist.ProcessGroup, rank: int, steps: int) -> dict[str, Tensor]:
    """DDP over gloo."""
    model = ddp(gloo)
    train(model, rank, steps)
    return model.module.state_dict()


def hooked(gloo: dist.ProcessGroup, rank: int, steps: int) -> dict[str, Tensor]:
    """DDP over gloo, with our hook; also prints the sizes of the buckets."""
    model = ddp(gloo)
    communicator = linkstep.Communicator(TOPOLOGY, TorchTransport(gloo, timeout=60))
    sizes: dict[int, int] = {}

    def hook(state: linkstep.Communicator, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        sizes[bucket.index()] = bucket.buffer().numel() * bucket.buffer().element_size()
        return linkstep.torch.allreduce_hook(state, bucket)

    model.register_comm_hook(communicator, hook)
    train(model, rank, steps)
    if rank == 0:
        print(f"DDP's buckets: {', '.join(map(str, sizes.values()))} bytes", flush=True)
    return model.module.state_dict()


def backend(gloo: dist.ProcessGroup, rank: int, steps: int) -> dict[str, Tensor]:
    """DDP over our backend, which is that of the default group."""
    model = ddp(dist.group.WORLD)
    train(model, rank, steps)
    return model.module.state_dict()


def sharded(gloo: dist.ProcessGroup, rank: int, steps: int) -> dict[str, Tensor]:
    """FSDP2 over our backend."""
    mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
    model = fresh()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    train(model, rank, steps)
    return {name: value.full_tensor() for name, value in model.state_dict().items()}


WAYS = {"DDP": plain, "DDP with the hook": hooked, "DDP on the backend": backend, "FSDP2 on the backend": sharded}


def run(rank: int, port: int, steps: int) -> None:
    """Train every way in turn; ``port`` is 0 where the launcher has set the environment."""
    if port:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(RANKS))
    torch.set_num_threads(1)
    linkstep.torch.use(TOPOLOGY)
    dist.init_process_group("linkstep", timeout=timedelta(seconds=60))
    gloo = dist.new_group(backend="gloo")
    wanted: dict[str, Tensor] = {}
    worst = 0.0
    for name, way in WAYS.items():
        begin = time.perf_counter()
        found = way(gloo, rank, steps)
        seconds = time.perf_counter() - begin
        wanted = wanted or found
        difference = max(float((found[key] - wanted[key]).abs().max()) for key in wanted)
        worst = max(worst, difference)
        if rank == 0:
            print(f"{name:22} {seconds:5.1f} s   largest difference {difference:.1e}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    if worst > TOLERANCE:
        sys.exit(f"rank {rank}: the parameters differ by {worst:.1e}, more than {TOLERANCE}")


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Take the ranks of a launcher, or start them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=8, help="steps of training (default: 8)")
    steps = parser.parse_args().steps
    if "RANK" in os.environ:
        run(int(os.environ["RANK"]), 0, steps)
    else:
        mp.spawn(run, (free_port(), steps), nprocs=RANKS)


if __name__ == "__main__":
    main()
