"""Arrival times against BFB: random regular graphs, topologies whose nodes are alike, and rows that are translated.

    python -m benchmarks.arrival                        everything (hours)
    python -m benchmarks.arrival --quick                a few of each (minutes)
    python -m benchmarks.arrival --seeds 5 random       one part: random, alike or rows
    python -m benchmarks.arrival --json results.json

For random graphs, a row for each kind, degree and N: T_B over (N - 1)/N of BFB and of arrival times in as many steps as
the diameter and in one more (mean and largest), how many are exact, and seconds of CPU a search. Digraphs count
twice, by allgather and by reduce-scatter. Every schedule passes the checker. ``alike`` tries the entries of the catalog
with nodes all alike that BFB leaves above the bound; ``rows`` times the rows of a torus with and without translation.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import linkstep
from benchmarks.bfb import machine
from benchmarks.exchange import random_regular
from linkstep.core.topology import COPY_OF, Topology
from linkstep.costs import bandwidth_bound, cost_of
from linkstep.methods.arrival import SearchLimits, arrival_allgather, arrival_certificate, find_arrivals
from linkstep.methods.bfb import bfb_allgather, bfb_cost
from linkstep.search.catalog import load_catalog

CASES = [
    *((kind, 4, size) for kind in ("directed", "undirected") for size in (50, 100, 200, 500, 1000)),
    *((kind, degree, size) for kind in ("directed", "undirected") for degree in (3, 6, 8) for size in (60, 200)),
]
QUICK_CASES = [("directed", 4, 50), ("directed", 4, 100), ("undirected", 4, 50), ("directed", 3, 60)]
MOST_NODES = 1024


def random_graph(num_nodes: int, degree: int, seed: int) -> Topology:
    """Return an undirected regular graph: ends paired at random, pairs that will not do exchanged with others."""
    rng = np.random.default_rng(seed)
    ends = rng.permutation(np.repeat(np.arange(num_nodes), degree)).reshape(-1, 2)
    while True:
        keys = np.sort(ends, axis=1) @ [num_nodes, 1]
        first = np.unique(keys, return_index=True)[1]
        bad = np.ones(len(ends), bool)
        bad[first] = False
        bad |= ends[:, 0] == ends[:, 1]
        if not bad.any():
            tail, head = np.concatenate([ends, ends[:, ::-1]]).T
            return Topology.from_links(num_nodes, tail, head, f"random({num_nodes})")
        for i in np.flatnonzero(bad):
            j = rng.integers(len(ends))
            ends[i, 1], ends[j, 1] = ends[j, 1], ends[i, 1]


KINDS: dict[str, Callable[[int, int, int], Topology]] = {"directed": random_regular, "undirected": random_graph}


def searched(topology: Topology, limits: SearchLimits) -> tuple[Fraction, float]:
    """Return T_B over (N - 1)/N of a checked schedule, and seconds of CPU that the search took."""
    start = time.process_time()
    cost = arrival_certificate(topology, limits).cost
    seconds = time.process_time() - start
    schedule = arrival_allgather(topology, limits)
    linkstep.check_allgather(schedule)
    assert cost_of(schedule) == cost
    return cost.bandwidth / bandwidth_bound(topology.num_nodes), seconds


def measure_random(kind: str, degree: int, size: int, seeds: int) -> dict[str, Any]:
    bfb: list[float] = []
    found: dict[int, list[tuple[Fraction, float]]] = {0: [], 1: []}
    for seed in range(seeds):
        graph = KINDS[kind](size, degree, seed)
        for topology in [graph] if graph.is_bidirectional else [graph, graph.transpose()]:
            cost = bfb_cost(topology)
            bfb.append(float(cost.bandwidth / bandwidth_bound(size)))
            for extra, rows in found.items():
                rows.append(searched(topology, SearchLimits(cost.steps + extra)))
    row: dict[str, Any] = {"kind": kind, "degree": degree, "nodes": size, "runs": len(bfb), "bfb": np.mean(bfb)}
    for extra, rows in found.items():
        ratios, seconds = zip(*rows, strict=True)
        row |= {
            f"mean_{extra}": float(np.mean([float(r) for r in ratios])),
            f"worst_{extra}": float(max(ratios)),
            f"exact_{extra}": sum(r == 1 for r in ratios),
            f"seconds_{extra}": float(np.mean(seconds)),
            f"longest_{extra}": max(seconds),
        }
    return row


def measure_random_graphs(quick: bool, seeds: int) -> Iterator[dict[str, Any]]:
    print(f"{'':24} {'':>4} {'BFB':>6}   {'diameter':^33}   {'one step more':^33}")
    head = f"{'mean':>7} {'worst':>7} {'exact':>5} {'s':>5} {'most':>5}"
    print(f"{'kind':10} {'d':>3} {'N':>5} {'runs':>4} {'':>6}   {head}   {head}")
    for kind, degree, size in QUICK_CASES if quick else CASES:
        row = measure_random(kind, degree, size, min(seeds, 6) if size >= 1000 else seeds)
        parts = "   ".join(
            f"{row[f'mean_{x}']:7.4f} {row[f'worst_{x}']:7.4f} {row[f'exact_{x}']:5} {row[f'seconds_{x}']:5.1f} "
            f"{row[f'longest_{x}']:5.1f}"
            for x in (0, 1)
        )
        print(f"{kind:10} {degree:3} {size:5} {row['runs']:4} {row['bfb']:6.3f}   {parts}", flush=True)
        yield row


def measure_alike(quick: bool, seeds: int) -> Iterator[dict[str, Any]]:
    """Try the catalog's entries that are alike at every node and above the bound by BFB, shuffled."""
    entries = [e for e in load_catalog() if e.num_nodes <= MOST_NODES and not e.is_bandwidth_optimal]
    named = [e.recipe for e in entries if linkstep.parse(e.recipe).is_vertex_transitive]
    random.Random(0).shuffle(named)
    exact = tried = 0
    start = time.process_time()
    for recipe in named[: 20 if quick else None]:
        graph = linkstep.parse(recipe).topology()
        for topology in [graph] if graph.is_bidirectional else [graph, graph.transpose()]:
            before = bfb_cost(topology).bandwidth / bandwidth_bound(topology.num_nodes)
            if before == 1:
                continue
            limits = SearchLimits(seconds=20)
            ratio, seconds = searched(topology, limits)
            tried, exact = tried + 1, exact + (ratio == 1)
            if ratio > 1:
                how = "alike" if find_arrivals(topology, limits).group is not None else "not alike"
                print(
                    f"  {topology.name}: {float(before):.4f} to {float(ratio):.4f}, {how}, {seconds:.1f} s", flush=True
                )
            yield {"recipe": topology.name, "bfb": float(before), "arrival": float(ratio), "seconds": seconds}
    print(f"nodes alike: {exact} of {tried} exact at the diameter, {time.process_time() - start:.0f} s in all")


def measure_rows(quick: bool, seeds: int) -> Iterator[dict[str, Any]]:
    for recipe in ["Torus(20,20)"] if quick else ["Torus(20,20)", "Torus(50,50)", "Q(10)", "C(1000,{1,30})"]:
        topology = linkstep.parse(recipe).topology()
        times: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
        for alike in (False, True) * 4:
            fresh = replace(topology, vertex_transitive=alike)
            if alike:
                COPY_OF.keep(fresh, (topology, None))
            fresh.in_ptr, fresh.in_link, fresh.in_tail, fresh.out_ptr  # noqa: B018 - columns that belong to the topology
            wall, cpu = time.perf_counter(), time.process_time()
            schedule = bfb_allgather(fresh)
            times[alike].append((time.perf_counter() - wall, time.process_time() - cpu))
            assert cost_of(schedule) == bfb_cost(topology)
        (wall, cpu), (wall_alike, cpu_alike) = (tuple(np.median(times[a][1:], axis=0)) for a in (False, True))
        print(
            f"rows of {recipe}: {wall:.3f} s ({cpu:.3f} of CPU), translated {wall_alike:.3f} s ({cpu_alike:.3f}): "
            f"{wall / wall_alike:.1f} times as fast, {cpu / cpu_alike:.1f} in CPU",
            flush=True,
        )
        yield {"recipe": recipe, "seconds": wall, "cpu": cpu, "translated": wall_alike, "translated_cpu": cpu_alike}


PARTS = {"random": measure_random_graphs, "alike": measure_alike, "rows": measure_rows}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="a few cases of each part")
    parser.add_argument("--seeds", type=int, help="graphs of each kind, degree and N; default: 20, quick 3")
    parser.add_argument("--json", type=Path, help="also write the results here")
    args = parser.parse_args(argv)
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    seeds = args.seeds or (3 if args.quick else 20)
    find_arrivals(random_regular(20, 3, 0), SearchLimits(rounds=2))  # compiles
    results = {part: list(PARTS[part](args.quick, seeds)) for part in args.parts or PARTS}
    if args.json:
        args.json.write_text(json.dumps({"machine": machine(), "results": results}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
