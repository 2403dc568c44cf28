"""``linkstep show``: what a topology is and how far from the best possible."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from linkstep.cli._common import (
    SIZE,
    Command,
    Given,
    add_fabric,
    add_faults,
    add_json,
    busy,
    fabric_on,
    fabric_text,
    print_fields,
    print_json,
    read,
)
from linkstep.cli._progress import progress_bar
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Ints, Topology, check_connected, distance_profiles
from linkstep.core.units import format_time
from linkstep.costs import all_to_all_bound, bandwidth_bound, distance_flow_bound, moore_steps
from linkstep.methods.bfb import MAX_DEGREE, bfb_allgather, bfb_certificate

LARGE = 20_000
"""Above this many nodes a search for symmetries takes long: only what the recipe knows is shown."""
MANY = 10**9
"""Above nodes times links, the BFB cost of all nodes takes long: ``linkstep schedule`` computes it."""
_BLOCK = 10**8
"""Link visits between two looks at the progress bar."""

Progress = Callable[[int, int], None]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology or schedule file")
    parser.add_argument("--draw", metavar="FILE", type=Path, help="draw the graph to a .svg or .png file")
    parser.add_argument(
        "--broadcast",
        metavar="HOST",
        help="with --draw: label the links that carry this host's shard in the allgather with the steps they do",
    )
    parser.add_argument("--size", default=SIZE, metavar="BYTES", help=f"bytes in all, of the times; default: {SIZE}")
    add_fabric(parser)
    add_faults(parser)
    add_json(parser)


def _representatives(topology: Topology, transitive: bool | None) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return one node of each class of alike nodes and the size of each class."""
    if transitive:
        return np.zeros(1, np.int64), np.array([topology.num_nodes])
    if topology.num_nodes > LARGE:
        return np.arange(topology.num_nodes), np.ones(topology.num_nodes, np.int64)
    from linkstep.core.symmetry import node_orbits

    return np.unique(node_orbits(topology), return_counts=True)


def _profiles(topology: Topology, nodes: Ints, progress: Progress) -> Ints:
    """Return ``distance_profiles``, block by block."""
    size = max(1, _BLOCK // max(topology.num_links, 1))
    blocks = []
    for begin in range(0, nodes.size, size):
        blocks.append(distance_profiles(topology, nodes[begin : begin + size]))
        progress(min(begin + size, nodes.size), nodes.size)
    width = max(block.shape[1] for block in blocks)
    return np.concatenate([np.pad(block, ((0, 0), (0, width - block.shape[1]))) for block in blocks])


def describe(given: Given, args: argparse.Namespace) -> dict[str, Any]:
    """Return everything ``show`` knows, as JSON-able values; None where it was not determined."""
    topology, recipe = given.topology, given.recipe
    with busy("looking for symmetries"):
        check_connected(topology)
        nodes, weights = _representatives(topology, recipe.is_vertex_transitive if recipe else None)
        reverse_symmetric = _reverse_symmetric(given)
    transitive = True if nodes.size == 1 else None if topology.num_nodes > LARGE else False
    with progress_bar("distances") as bar:
        profiles = _profiles(topology, nodes, bar)
    alike = bool((profiles == profiles[0]).all())
    total = int((profiles * weights[:, None] * np.arange(profiles.shape[1])).sum())
    n, d = topology.num_nodes, topology.degree
    facts: dict[str, Any] = {
        "recipe": str(recipe) if recipe else topology.name or None,
        "paper": recipe.paper() if recipe else None,
        "labels": topology.labels,
        "faults": [str(fault) for fault in given.faults],
        "nodes": n,
        "degree": d,
        "links": topology.num_links,
        "regular": topology.is_regular,
        "self_loops": topology.num_self_loops,
        "parallel_links": topology.num_parallel,
        "bidirectional": topology.is_bidirectional,
        "vertex_transitive": transitive,
        "reverse_symmetric": reverse_symmetric,
        "diameter": profiles.shape[1] - 1,
        "nodes_by_distance": profiles[0] if alike else None,
        "mean_nodes_by_distance": [Fraction(int(x), n) for x in (profiles * weights[:, None]).sum(axis=0)],
        "mean_distance": Fraction(total, n * (n - 1)) if n > 1 else Fraction(0),
        "moore_steps": moore_steps(n, d),
        "moore_steps_bidirectional": _bidirectional_moore(n, d),
        "bandwidth_bound": bandwidth_bound(n),
    }
    with progress_bar("costs") as bar:
        facts["bfb"] = _bfb(given, args, bar, alike=bool(reverse_symmetric))
    if n > 1:
        facts["all_to_all_bound"] = distance_flow_bound(topology, total)
        facts["all_to_all_bound_any"] = all_to_all_bound(n, d)
    facts["without_faults"] = None if given.whole is None else _before(given.whole, args)
    return facts


def _bfb(given: Given, args: argparse.Namespace, progress: Progress, *, alike: bool) -> dict[str, Any] | None:
    """Return the best BFB costs, what limits them and the times; None where that would take long.

    ``alike``: the transpose is known to look the same, so that a reduce-scatter costs what an allgather does.
    """
    topology = given.topology
    few = topology.vertex_transitive or topology.num_nodes * topology.num_links <= MANY
    if not few or topology.num_nodes == 1 or np.diff(topology.in_ptr).max() > MAX_DEGREE:
        return None
    certificate = bfb_certificate(topology, progress=progress)
    cost = certificate.cost
    both = cost + (cost if alike else bfb_certificate(topology.transpose(), progress=progress).cost)
    fabric = fabric_on(topology, args)
    return {
        "steps": cost.steps,
        "bandwidth": cost.bandwidth,
        "limited_by": certificate.explain_bandwidth(),
        "allreduce_steps": both.steps,
        "allreduce_bandwidth": both.bandwidth,
        "size": args.size,
        "fabric": fabric_text(topology, args),
        "allgather_seconds": float(fabric.time(cost, Collective.ALLGATHER, args.size)),
        "allreduce_seconds": float(fabric.time(both, Collective.ALLREDUCE, args.size)),
    }


def _before(whole: Given, args: argparse.Namespace) -> dict[str, Any]:
    """Return what faults change, as it was without them."""
    check_connected(whole.topology)
    with progress_bar("without the faults") as bar:
        bfb = _bfb(whole, args, bar, alike=bool(_reverse_symmetric(whole)))
    return {"nodes": whole.topology.num_nodes, "links": whole.topology.num_links, "bfb": bfb}


def _bidirectional_moore(num_nodes: int, degree: int) -> int | None:
    return moore_steps(num_nodes, degree, bidirectional=True) if degree > 1 or num_nodes <= 2 else None


def _reverse_symmetric(given: Given) -> bool | None:
    if given.topology.is_bidirectional or (given.recipe is not None and given.recipe.is_reverse_symmetric):
        return True
    if given.topology.num_nodes > LARGE:
        return None
    from linkstep.core.symmetry import is_reverse_symmetric

    return is_reverse_symmetric(given.topology)


def _yes(value: bool | None) -> str:
    return "not determined" if value is None else "yes" if value else "no"


def _fields(facts: dict[str, Any]) -> list[tuple[str, str]]:
    degree = str(facts["degree"]) + ("" if facts["regular"] else " (the most of any node; not regular)")
    if facts["nodes_by_distance"] is not None:
        by_distance = " ".join(str(x) for x in facts["nodes_by_distance"].tolist())
    else:
        by_distance = " ".join(f"{float(x):.4g}" for x in facts["mean_nodes_by_distance"]) + " (mean over nodes)"
    steps = f"{facts['diameter']} (no graph of this N and d has less than {facts['moore_steps']}"
    both_ways = facts["moore_steps_bidirectional"]
    if facts["bidirectional"] and both_ways != facts["moore_steps"]:
        steps += f", no bidirectional one less than {both_ways}"
    fields = [
        ("nodes N", str(facts["nodes"])),
        ("degree d", degree),
        ("links", f"{facts['links']}{_oddities(facts)}"),
        ("diameter", steps + ")"),
        ("nodes at distance 0, 1, ...", by_distance),
        ("mean distance", f"{float(facts['mean_distance']):.4f}"),
        ("bidirectional", _yes(facts["bidirectional"])),
        ("vertex-transitive", _yes(facts["vertex_transitive"])),
        ("reverse-symmetric", _yes(facts["reverse_symmetric"])),
        ("no schedule beats", f"{facts['moore_steps']} alpha + {facts['bandwidth_bound']} M/B at this N and d"),
    ]
    if facts["bfb"] is not None:
        moore = "Moore-optimal" if facts["diameter"] == facts["moore_steps"] else "not Moore-optimal"
        bandwidth, why = facts["bfb"]["bandwidth"], facts["bfb"]["limited_by"]
        reached = "bandwidth-optimal" if why is None else f"not bandwidth-optimal ({facts['bandwidth_bound']})"
        cost = f"{facts['diameter']} steps, {moore}; {bandwidth} = {float(bandwidth):.4f} M/B, {reached}"
        fields.append(("BFB allgather", cost))
        if why is not None:
            fields.append(("  limited by", why))
        fields.append((f"time for {facts['bfb']['size']}", f"{_times(facts['bfb'])} ({facts['bfb']['fabric']})"))
    if "all_to_all_bound" in facts:
        here, best = float(facts["all_to_all_bound"]), float(facts["all_to_all_bound_any"])
        fields.append(("all-to-all flow at most", f"{here:.3e} a pair (any graph: {best:.3e})"))
    if facts["faults"]:
        fields += _fault_fields(facts)
    return fields


def _times(bfb: dict[str, Any]) -> str:
    gather, reduce = (format_time(bfb[f"{what}_seconds"]) for what in ("allgather", "allreduce"))
    return f"allgather {gather}, allreduce {reduce}"


def _fault_fields(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Say which faults there are and what there was without them."""
    before = facts["without_faults"]
    fields = [("faults", "; ".join(facts["faults"]))]
    was = f"N={before['nodes']}, {before['links']} links"
    if before["bfb"] is not None:
        was += f", {before['bfb']['steps']} steps, {before['bfb']['bandwidth']} M/B, {_times(before['bfb'])}"
    return [*fields, ("without the faults", was)]


def _oddities(facts: dict[str, Any]) -> str:
    found = []
    if facts["self_loops"]:
        found.append(f"{facts['self_loops']} self-loops")
    if facts["parallel_links"]:
        found.append(f"{facts['parallel_links']} parallel to another")
    return f" ({', '.join(found)})" if found else ""


def _draw(given: Given, path: Path, root: int | None) -> None:
    from linkstep.pictures.broadcast import draw_broadcast
    from linkstep.pictures.topology import draw_topology

    if root is None:
        draw_topology(given.topology, path)
        return
    schedule = given.schedule or (given.recipe.build() if given.recipe else bfb_allgather(given.topology))
    draw_broadcast(schedule, path, root)


def _run(args: argparse.Namespace) -> int:
    if args.broadcast is not None and not args.draw:
        raise LinkstepError("--broadcast labels a picture: give --draw too")
    given = read(args.topology, args)
    root = None if args.broadcast is None else given.topology.node_named(args.broadcast)
    facts = describe(given, args)
    if args.draw:
        _draw(given, args.draw, root)
    if args.json:
        print_json(facts)
        return 0
    print(facts["recipe"] or args.topology)
    print_fields(_fields(facts))
    if args.draw:
        print(f"drawn to {args.draw}")
    return 0


COMMAND = Command(
    name="show",
    help="describe a topology: size, distances, symmetries, bounds",
    example="linkstep show 'L^3(C(16,{3,4}))' --draw graph.svg",
    add_arguments=_add_arguments,
    run=_run,
)
