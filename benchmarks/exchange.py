"""All-to-all schedules against what a flow without steps allows, and against the bound for their number of steps.

    python -m benchmarks.exchange                       the table of docs/concepts/all-to-all-schedules.md
    python -m benchmarks.exchange 'Torus(8,8)' Q(7)     other topologies

For each topology, in as many steps as its diameter and in one more: T_B, over the flow bound d / (N f), over the bound
for that many steps, chunks of a piece, seconds. Where f is known only within a gap, its upper end counts.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import linkstep
from linkstep.core.distances import diameter
from linkstep.core.topology import Topology
from linkstep.costs import cost_of
from linkstep.methods.exchange import all_to_all_schedule
from linkstep.throughput import all_to_all

DIGRAPHS = [
    "Cayley(Z16:Z2[9],{(15,1),(5,0),(5,1),(4,0)})", "Cayley(Z16:Z4[5],{(4,0),(8,2),(13,2),(13,3)})",
    "Cayley(Z16:Z8[11],{(8,7),(6,6),(3,7),(3,4)})", "Cayley(Z32:Z8[11],{(30,5),(7,5),(3,4),(19,3)})",
    "Cayley(Z32:Z16[27],{(24,2),(29,6),(17,13),(8,5)})", "Cayley(Z64:Z16[3],{(7,10),(46,5),(36,11),(41,9)})",
]  # fmt: skip
RECIPES = [
    *DIGRAPHS, "K_{4,4}", "C(12,{2,3})", "C(64,{3,4})", "C(256,{11,12})", "Torus(3,5)", "Torus(4,4,4)", "Torus(16,16)",
    "Q(6)", "L(K_{4,4})", "L(Paley(7))", "L^2(K_{4,4})", "Pi_{4,50}", "Pi_{4,64}", "Pi_{4,256}", "K(2,4)", "DBJ(2,5)",
    "random(64)", "random(150)",
]  # fmt: skip


def random_regular(num_nodes: int, degree: int, seed: int) -> Topology:
    """Return a digraph that is as many random permutations, without loops and parallel links."""
    rng, head = np.random.default_rng(seed), np.empty((degree, num_nodes), np.int64)
    nodes = np.arange(num_nodes)
    for k in range(degree):
        head[k] = rng.permutation(num_nodes)
        while (bad := (head[k] == nodes) | (head[k] == head[:k]).any(axis=0)).any():
            for u in np.flatnonzero(bad):
                w = rng.integers(num_nodes)
                head[k, u], head[k, w] = head[k, w], head[k, u]
    return Topology.from_links(num_nodes, np.tile(nodes, degree), head.reshape(-1), f"random({num_nodes})")


def topology_of(name: str) -> Topology:
    if name.startswith("random("):
        return random_regular(int(name[7:-1]), 4, seed=1)
    return linkstep.parse(name).topology()


def row(topology: Topology, steps: int, flow: float) -> str:
    start = time.perf_counter()
    made = all_to_all_schedule(topology, steps=steps)
    seconds = time.perf_counter() - start
    linkstep.check(made.schedule)
    cost = cost_of(made.schedule)
    reached = float(cost.bandwidth)
    over = f"{reached / flow:.3f} | {reached / float(made.bound):.3f}"
    return f"{cost.steps} | {reached:.4f} | {over} | {made.chunks} | {seconds:.1f} s"


def main(names: list[str]) -> int:
    """Print a table."""
    all_to_all_schedule(topology_of("K_{2,2}"))  # compile
    head = "| topology | N | T | T_B | over flow | over bound for T | chunks | time |"
    print(head, "|---" * head.count(" | ") + "|---|", sep="\n")
    for name in names or RECIPES:
        topology = topology_of(name)
        found = all_to_all(topology, gap=0.002, seconds=60)
        flow = float(topology.degree / (topology.num_nodes * found.bound))
        for more in (0, 1):
            figures = row(topology, diameter(topology) + more, flow)
            print(f"| {name} | {topology.num_nodes} | {figures} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
