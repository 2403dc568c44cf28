"""``linkstep show``: what a topology is and how far from the best possible."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from linkstep.baselines import baselines_on
from linkstep.cli._common import (
    SIZE,
    Command,
    Given,
    add_fabric,
    add_faults,
    add_json,
    both_halves,
    fabric_of,
    fabric_text,
    print_fields,
    print_json,
    read,
    schedule_of,
    wiring_facts,
    wiring_fields,
)
from linkstep.cli._progress import progress_bar
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology
from linkstep.core.units import format_time
from linkstep.costs import Cost, Fabric, all_to_all_bound, bandwidth_bound, moore_steps, seconds_of
from linkstep.description import Description, describe
from linkstep.make import schedule
from linkstep.pictures.style import check_drawable
from linkstep.recipe import Recipe
from linkstep.recipe.names import source_of


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


def _facts(given: Given, args: argparse.Namespace) -> dict[str, Any]:
    """Return everything ``show`` knows, as JSON-able values; None where it was not determined."""
    fabric = fabric_of(args, given.topology.degree)
    found = describe(given.recipe or given.topology, progress_bar, fabric)
    topology = found.topology
    n, d = topology.num_nodes, topology.degree
    facts: dict[str, Any] = {
        "recipe": str(given.recipe) if given.recipe else topology.name or None,
        "paper": given.recipe.paper() if given.recipe else None,
        "source": source_of(str(given.recipe)) if given.recipe else None,
        "labels": topology.labels,
        "faults": [str(fault) for fault in given.faults],
        "nodes": n,
        "degree": d,
        "links": topology.num_links,
        "regular": topology.is_regular,
        "self_loops": topology.num_self_loops,
        "parallel_links": topology.num_parallel,
        "bidirectional": topology.is_bidirectional,
        "vertex_transitive": found.vertex_transitive,
        "reverse_symmetric": found.reverse_symmetric,
        "diameter": found.diameter,
        "nodes_by_distance": found.profile,
        "mean_nodes_by_distance": found.mean_profile,
        "mean_distance": found.mean_distance,
        "moore_steps": moore_steps(n, d),
        "moore_steps_bidirectional": _bidirectional_moore(n, d),
        "bandwidth_bound": bandwidth_bound(n),
        "bfb": _bfb(found, args),
        "equal_split": _split(found),
        **_wiring(found, fabric),
        "baselines": [] if given.recipe is None else _today(given.recipe, args),
    }
    if found.all_to_all_bound is not None:
        facts["all_to_all_bound"] = found.all_to_all_bound
        facts["all_to_all_bound_any"] = all_to_all_bound(n, d)
    facts["without_faults"] = None if given.whole is None else _before(given.whole, args)
    return facts


def _bfb(found: Description, args: argparse.Namespace) -> dict[str, Any] | None:
    """Return the best BFB costs, what limits them and the times; None where they were not worked out."""
    if found.certificate is None or found.reduce_scatter is None:
        return None
    cost, both = found.certificate.cost, found.certificate.cost + found.reduce_scatter
    seconds = _seconds(found.topology, cost, both, args)
    return {
        "steps": cost.steps,
        "bandwidth": cost.bandwidth,
        "limited_by": found.certificate.explain_bandwidth(),
        "allreduce_steps": both.steps,
        "allreduce_bandwidth": both.bandwidth,
        "size": args.size,
        "fabric": fabric_text(found.topology, args),
        "allgather_seconds": seconds[0],
        "allreduce_seconds": seconds[1],
    }


def _split(found: Description) -> dict[str, Any] | None:
    """Return the proof by an equal split that BFB is bandwidth-optimal; None where there is none."""
    if found.equal_split is None:
        return None
    constants = found.equal_split.constants
    rows = None if constants is None else [list(row) for row in constants]
    return {"loads": list(found.equal_split.loads), "constants": rows}


def _proof(split: dict[str, Any]) -> str:
    if split["constants"] is None:
        return "every link carries the same at each step when shards split equally"
    shards, ways = (" ".join(str(row[k]) for row in split["constants"]) for k in (1, 2))
    return f"each link serves {shards} shards at distance 1, 2, ..., each shard has {ways} links"


def _seconds(topology: Topology, gather: Cost, both: Cost, args: argparse.Namespace) -> list[float]:
    """Return seconds of an allgather and of an allreduce; where links have latencies, of the schedules themselves."""
    fabric = fabric_of(args, topology.degree)
    if topology.alpha is None:
        costs = ((gather, Collective.ALLGATHER), (both, Collective.ALLREDUCE))
        return [float(fabric.on(topology).time(cost, collective, args.size)) for cost, collective in costs]
    made = (
        schedule(topology, wanted, method="bfb", fabric=fabric)
        for wanted in (Collective.ALLGATHER, Collective.ALLREDUCE)
    )
    return [float(seconds_of(one.schedule, fabric, args.size)) for one in made]


def _today(recipe: Recipe, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what people run on such a wiring today, each with its cost and time."""
    fabric = fabric_of(args, recipe.degree)
    found = []
    for one in baselines_on(recipe):
        first, second = one.halves_at(fabric, args.size)
        facts = {"name": one.name, "steps": second.steps, "bandwidth": second.bandwidth}
        facts |= {"reduce_scatter_steps": first.steps, "reduce_scatter_bandwidth": first.bandwidth}
        found.append(facts | {"allreduce_seconds": float(one.allreduce_time(fabric, args.size))})
    return found


def _wiring(found: Description, fabric: Fabric) -> dict[str, Any]:
    """Return the wiring's own bound of an allgather, beside the best BFB one."""
    if found.certificate is None:
        return {"wiring_bound": None}
    return wiring_facts(found.topology, Collective.ALLGATHER, found.certificate.cost, fabric)


def _before(whole: Given, args: argparse.Namespace) -> dict[str, Any]:
    """Return what faults change, as it was without them."""
    found = describe(whole.recipe or whole.topology, progress_bar)
    return {"nodes": found.topology.num_nodes, "links": found.topology.num_links, "bfb": _bfb(found, args)}


def _bidirectional_moore(num_nodes: int, degree: int) -> int | None:
    return moore_steps(num_nodes, degree, bidirectional=True) if degree > 1 or num_nodes <= 2 else None


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
        if facts["equal_split"] is not None:
            fields.append(("  proven by", _proof(facts["equal_split"])))
        is_optimal_here = facts["wiring_bound"] is not None and facts["wiring_bound"]["optimal"]
        if why is not None and not is_optimal_here:
            fields.append(("  limited by", why))
        fields += wiring_fields(facts)
        fields.append((f"time for {facts['bfb']['size']}", f"{_times(facts['bfb'])} ({facts['bfb']['fabric']})"))
    fields += [(f"today: {today['name']}", _costs(today)) for today in facts["baselines"]]
    if "all_to_all_bound" in facts:
        here, best = float(facts["all_to_all_bound"]), float(facts["all_to_all_bound_any"])
        fields.append(("all-to-all flow at most", f"{here:.3e} a pair (any graph: {best:.3e})"))
    if facts["faults"]:
        fields += _fault_fields(facts)
    if facts["source"] is not None:
        fields.append(("source", facts["source"]))
    return fields


def _times(bfb: dict[str, Any]) -> str:
    gather, reduce = (format_time(bfb[f"{what}_seconds"]) for what in ("allgather", "allreduce"))
    return f"allgather {gather}, allreduce {reduce}"


def _costs(today: dict[str, Any]) -> str:
    time = format_time(today["allreduce_seconds"])
    first = Cost(today["reduce_scatter_steps"], today["reduce_scatter_bandwidth"])
    steps, bandwidth = both_halves((first, Cost(today["steps"], today["bandwidth"])))
    return f"{steps} steps, {bandwidth} M/B each half; allreduce {time}"


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
    made = schedule_of(given, None, root) if given.schedule else schedule(given.recipe or given.topology)
    draw_broadcast(made.schedule, path, root)


def _run(args: argparse.Namespace) -> int:
    if args.draw is not None:
        check_drawable(args.draw)
    if args.broadcast is not None and not args.draw:
        raise LinkstepError("--broadcast labels a picture: give --draw too")
    given = read(args.topology, args)
    root = None if args.broadcast is None else given.topology.node_named(args.broadcast)
    facts = _facts(given, args)
    if args.draw:
        _draw(given, args.draw, root)
    if args.json:
        print_json(facts)
        return 0
    print(given.called(args.topology))
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
