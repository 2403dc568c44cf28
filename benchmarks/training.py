"""Training on the emulated testbed beside its simulation: 8 ranks, K_{4,4} against shifted rings (fig:smalltraining).

Small models are trained for real by PyTorch's DDP with our hook, over wires so slow that communication matters beside
what eight processes compute on few cores. The simulation is given what the same ranks measured on the same testbed:
their layer times, all eight computing at once, and the alpha of a small allreduce; the rate is the testbed's. Run as
root with torch installed, on a machine with nothing else to do:

    python -m benchmarks.training
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import linkstep
from linkstep.baselines import baseline
from linkstep.core.units import parse_bandwidth, parse_time
from linkstep.costs import Fabric, cost_of
from linkstep.engines import testbed as beds
from linkstep.simulation.training import Iteration, Job, Layer, simulate_iteration
from linkstep.simulation.training.network import costed_network
from linkstep.simulation.training.torchprofile import EXAMPLES

RANKS, PORT, BED = 8, 29517, "training"
RATE, DELAY = "10Mbps", "20ms"
STEPS, WARM = 6, 2
BUCKET = 2**19
"""Bytes of DDP's buckets."""
PATIENT = 300.0
"""Seconds that a rank waits for the others: importing torch eight times on two cores takes long."""


def contenders() -> dict[str, linkstep.Schedule]:
    """Return the allreduces that train: ours and that of shifted rings."""
    return {
        "K_{4,4}": linkstep.schedule("K_{4,4}", "allreduce").schedule,
        "ShiftedRing(4,8)": baseline("shifted rings", "ShiftedRing(4,8)").schedule("allreduce"),
    }


# --- a rank ---


def _small_allreduce(communicator: linkstep.Communicator) -> float:
    import torch

    few, times = torch.ones(communicator.size), []
    for _ in range(WARM + 10):
        begin = time.perf_counter()
        communicator.allreduce(few, out=few)
        times.append(time.perf_counter() - begin)
    return median(times[WARM:])


def train(schedule: str, steps: int) -> dict[str, Any]:
    """Measure a small allreduce, and layers and iterations of every example, on every rank at the same time."""
    import torch
    import torch.distributed as dist

    from linkstep.engines.transports.torchdist import TorchTransport

    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=PATIENT))
    communicator = linkstep.Communicator(schedule, TorchTransport(dist.group.WORLD, timeout=PATIENT))
    small = _small_allreduce(communicator)
    found = {"small": small} | {example: _train(example, communicator, steps) for example in EXAMPLES}
    dist.barrier()
    dist.destroy_process_group()
    return found


def _train(example: str, communicator: linkstep.Communicator, steps: int) -> dict[str, Any]:
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    import linkstep.torch
    from linkstep.simulation.training.torchprofile import measure

    model, loss_of = EXAMPLES[example]()
    dist.barrier()
    layers = measure(model, loss_of, repetitions=steps, warm=WARM)
    parallel = DistributedDataParallel(model, bucket_cap_mb=BUCKET / 2**20)
    parallel.register_comm_hook(communicator, linkstep.torch.allreduce_hook)
    optimizer, times = torch.optim.SGD(parallel.parameters(), lr=0.01), []
    for _ in range(WARM + steps):
        dist.barrier()
        begin = time.perf_counter()
        loss_of(parallel).backward()
        times.append(time.perf_counter() - begin)
        optimizer.step()
        optimizer.zero_grad()
    rows = [[layer.name, float(layer.forward), float(layer.backward), count] for layer, count in layers]
    return {"layers": rows, "times": times[WARM:]}


# --- all of them ---


def run(bed: beds.Testbed, schedule: Path, steps: int) -> list[dict[str, Any]]:
    """Train on all hosts of a testbed; return what each rank measured."""
    here = {"MASTER_ADDR": bed.address(0), "MASTER_PORT": str(PORT), "WORLD_SIZE": str(RANKS), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "benchmarks.training", "--rank", str(schedule), "--steps", str(steps)]
    ranks = [
        subprocess.Popen(
            [*bed.prefix(host), *words], stdout=subprocess.PIPE, text=True,
            env=os.environ | bed.environment() | here | {"RANK": str(host)},
        )
        for host in range(RANKS)
    ]  # fmt: skip
    said = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        raise SystemExit(f"training on {bed.topology.name} failed: exit codes {[rank.returncode for rank in ranks]}")
    return [json.loads(text.splitlines()[-1]) for text in said]


def simulate(name: str, schedule: linkstep.Schedule, bed: beds.Testbed, found: list[Any], example: str) -> Iteration:
    """Simulate the job of the layer times of all ranks (medians) on the fabric that they measured."""
    wires = bed.fabric()
    fabric = Fabric(_alpha(found, schedule), wires.node_bandwidth, wires.degree)
    layers = []
    for k, (layer, _, _, count) in enumerate(found[0][example]["layers"]):
        forward, backward = (Fraction(median(rank[example]["layers"][k][i] for rank in found)) for i in (1, 2))
        layers.append(Layer(layer, forward, backward, Fraction(4 * count)))
    network = costed_network(name, RANKS, cost_of(schedule), None, fabric)
    return simulate_iteration(Job(name, RANKS, tuple(layers)), network, BUCKET)


def _alpha(found: list[Any], schedule: linkstep.Schedule) -> Fraction:
    return Fraction(median(rank["small"] for rank in found)) / schedule.num_steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rate", default=RATE)
    parser.add_argument("--delay", default=DELAY)
    parser.add_argument("--rank", metavar="SCHEDULE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.rank is not None:
        print(json.dumps(train(args.rank, args.steps)), flush=True)
        return
    print("| model | topology | alpha | iteration measured | simulated | compute | exposed allreduce |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, schedule in contenders().items():
            file = Path(folder, "schedule.npz")
            linkstep.save(schedule, file)
            rate = int(parse_bandwidth(args.rate))
            bed = beds.up(schedule.topology, BED, rate, parse_time(args.delay))
            try:
                found = run(bed, file, args.steps)
            finally:
                beds.down(BED)
            for example in EXAMPLES:
                done = simulate(name, schedule, bed, found, example)
                every = zip(*(rank[example]["times"] for rank in found), strict=True)
                measured = median(max(times) for times in every)
                times = (_alpha(found, schedule), measured, done.time, done.compute, done.exposed_allreduce)
                print(f"| {example} | `{name}` | {' | '.join(f'{1e3 * float(t):.1f} ms' for t in times)} |", flush=True)


if __name__ == "__main__":
    main()
