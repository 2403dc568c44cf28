"""Measured against predicted: the paper's testbed experiment (fig:arexptres, fig:rs_ag_results) on emulated wires.

For N = 5 to 12 hosts with 4 ports: the paper's topologies (tab:ourtopologies), ours, shifted rings with their usual
schedule and with ours, and a plain ring; then a few wires without delay, and shared memory. Run as root, on a machine
with nothing else to do; what was measured before is not measured again, so an interrupted run goes on:

    python -m benchmarks.measured run docs/paper/measured.json     # about 20 minutes
    python -m benchmarks.measured page docs/paper/measured.json    # tables and pictures in docs/, and what exhibits use
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import linkstep
from linkstep.baselines import baseline
from linkstep.core.units import format_time
from linkstep.costs.runs import current_run

PAPER = {
    5: "K_5", 6: "K_3*2", 7: "C(7,{2,3})", 8: "K_{4,4}", 9: "H(2,3)", 10: "BiRing(2,5)*2", 11: "C(11,{2,3})",
    12: "C(12,{2,3})",
}  # fmt: skip
RATE, DELAY = "20Mbps", "10ms"
SIZES = "1KB,100KB,2MB"
REPETITIONS = 5
BED = "measured"
WIRES = (
    ("K_{4,4}", "50Mbps", (), "1KB,4MB,16MB"), ("C(12,{2,3})", "20Mbps", (), "4MB"),
    ("K_{4,4}", "50Mbps", ("--cut", "0,4"), "4MB"),
)  # fmt: skip
"""Without delay: recipe, rate, faults, sizes."""
MEMORY, MEMORY_SIZES = ("K_8", "K_{4,4}"), "1KiB,256KiB,1MiB,4MiB"
"""In shared memory, without wires."""
STORED = Path(__file__).parents[1] / "src" / "linkstep" / "reproduction" / "measured.csv"
SHIFTED, SHIFTED_BFB, RING = "ShiftedRing", "ShiftedRing, our schedule", "ring"


def contenders(num_nodes: int, collective: str) -> dict[str, Any]:
    """Return what runs: a name and a schedule for each; the best that ``find`` has, if that costs less."""
    made = linkstep.schedule(PAPER[num_nodes], collective)
    found = {PAPER[num_nodes]: made.schedule}
    ours = linkstep.schedule(linkstep.find(num_nodes, 4, directed=True).frontier[0].recipe, collective)
    if ours.cost != made.cost:
        found[ours.schedule.topology.name] = ours.schedule
    found[SHIFTED] = baseline("shifted rings", f"ShiftedRing(4,{num_nodes})").schedule(collective)
    if collective == "allreduce":
        found[SHIFTED_BFB] = linkstep.schedule(f"ShiftedRing(4,{num_nodes})", collective, method="bfb").schedule
        found[RING] = linkstep.schedule(f"UniRing(4,{num_nodes})", collective).schedule
    return found


def command(*words: str) -> str:
    """Run linkstep and return what it printed."""
    done = subprocess.run([sys.executable, "-P", "-m", "linkstep", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"linkstep {' '.join(words)}: {done.stderr}")
    return done.stdout


def measure(name: str, schedule: linkstep.Schedule, collective: str, folder: Path) -> dict[str, Any]:
    """Bring up a testbed with the schedule's wires, run it, take it down."""
    file = folder / "schedule.npz"
    linkstep.save(schedule, file)
    command("testbed", "up", str(file), "--name", BED, "--rate", RATE, "--delay", DELAY)
    try:
        own = [] if collective == "allreduce" and name in PAPER.values() else ["--no-own"]
        sizes = ["--sizes", SIZES, "--repetitions", str(REPETITIONS)]
        result: dict[str, Any] = json.loads(command("run", str(file), "--testbed", BED, *sizes, "--json", *own))
    finally:
        command("testbed", "down", BED)
    return result | {"what": f"{name}, N={schedule.topology.num_nodes}", "name": name}


def measure_undelayed(recipe: str, rate: str, faults: tuple[str, ...], sizes: str) -> dict[str, Any]:
    """Run an allreduce on wires that have a rate only."""
    command("testbed", "up", recipe, *faults, "--name", BED, "--rate", rate)
    try:
        words = ("run", "--testbed", BED, "--sizes", sizes, "--repetitions", str(REPETITIONS), "--json")
        return dict(json.loads(command(*words)))
    finally:
        command("testbed", "down", BED)


def tasks(collectives: list[str], folder: Path) -> Iterator[tuple[str, str, str, Callable[[], dict[str, Any]]]]:
    """Return what is to be measured: what, the collective, in which part of the page it is, and how."""
    for collective in collectives:
        for num_nodes in PAPER if collective == "allreduce" else (8, 12):
            for name, schedule in contenders(num_nodes, collective).items():
                run_it = partial(measure, name, schedule, collective, folder)
                yield f"{name}, N={num_nodes}", collective, "delay", run_it
    for recipe, rate, faults, sizes in WIRES:
        what = f"`{recipe}`{' without the cable 0-4' if faults else ''}, {rate.replace('Mbps', ' Mbps')}"
        yield what, "allreduce", "rate", partial(measure_undelayed, recipe, rate, faults, sizes)
    for recipe in MEMORY:
        words = ("run", recipe, "--sizes", MEMORY_SIZES, "--json")
        yield f"{recipe} in memory", "allreduce", "memory", lambda words=words: json.loads(command(*words))


def read(path: Path) -> list[dict[str, Any]]:
    """Return the runs in a file, as they are written today."""
    return [current_run(result) for result in json.loads(path.read_text())]


def run(path: Path, collectives: list[str]) -> None:
    """Measure everything that is not in the file yet."""
    results = read(path) if path.exists() else []
    have = {(r["what"], r["collective"]) for r in results}
    with tempfile.TemporaryDirectory() as folder:
        for what, collective, part_of_page, measure_it in tasks(collectives, Path(folder)):
            if (what, collective) in have:
                continue
            load = os.getloadavg()[0]
            results.append({"name": what} | measure_it() | {"what": what, "part": part_of_page, "load": load})
            part = path.with_suffix(".part")
            part.write_text(json.dumps(results, indent=1) + "\n")
            part.rename(path)
            seconds = results[-1]["rows"][-1]["median_seconds"]
            print(f"{what} {collective}: {seconds:.3f} s (load {load:.1f})", flush=True)


def _kind(result: dict[str, Any]) -> str:
    """Return which line of a picture a run belongs to."""
    name = result["name"]
    return name if name in (SHIFTED, SHIFTED_BFB, RING) else "best topology"


def delayed(results: list[dict[str, Any]], collective: str) -> list[dict[str, Any]]:
    """Return the runs on wires with delay."""
    return [r for r in results if r["collective"] == collective and r.get("part", "delay") == "delay"]


def table(results: list[dict[str, Any]], collective: str) -> str:
    """Return a Markdown table: measured time and its ratio to the prediction, for each size."""
    rows = delayed(results, collective)
    sizes = [row["size"] for row in rows[0]["rows"]]
    head = ["N", "wires and schedule", "T_L", *(f"{size / 1000:g} kB" for size in sizes)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for result in rows:
        cells = [str(result["ranks"]), result["name"], str(result["steps"])]
        for row in result["rows"]:
            median, own = row["median_seconds"], row["own_median_seconds"]
            text = f"{median * 1e3:.0f} ms ({row['predicted_seconds'] / median:.0%})"
            cells.append(f"{text}, {own / median:.1f}x" if own else text)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(results: list[dict[str, Any]], collective: str, path: Path) -> None:
    """Draw time over N for each size: points measured, lines predicted; the engine's own as crosses."""
    from linkstep.pictures.style import PALETTE, SOFT, save_picture

    rows = delayed(results, collective)
    sizes = sorted({row["size"] for r in rows for row in r["rows"]})
    kinds = list(dict.fromkeys(_kind(r) for r in rows))

    def fill(figure: Any) -> None:
        axes = figure.subplots(1, len(sizes))
        for k, (ax, size) in enumerate(zip(axes, sizes, strict=True)):
            for colour, kind in zip(PALETTE, kinds, strict=False):
                best: dict[int, tuple[float, float]] = {}
                for r in rows:
                    if _kind(r) == kind:
                        row = min(r["rows"], key=lambda row: abs(row["size"] - size))
                        found = row["median_seconds"], row["predicted_seconds"]
                        best[r["ranks"]] = min(best.get(r["ranks"], found), found)
                x = sorted(best)
                ax.plot(x, [best[n][0] * 1e3 for n in x], "o", color=colour, markersize=4, label=kind)
                ax.plot(x, [best[n][1] * 1e3 for n in x], color=colour, linewidth=1)
            theirs = [
                (r["ranks"], row["own_median_seconds"] * 1e3)
                for r in rows if _kind(r) == "best topology"
                for row in r["rows"] if row["size"] == size and row["own_median_seconds"]
            ]  # fmt: skip
            if theirs:
                ax.plot(*zip(*theirs, strict=True), "x", color=SOFT, markersize=4, label="MPI's own on the same wires")
            ax.set_title(f"{size / 1000:g} kB", fontsize=9)
            ax.set_xlabel("hosts")
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            ax.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "235" else "")
            ax.set_ylabel("ms" if k == 0 else "")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=5, frameon=False, fontsize=8)
        figure.suptitle(f"{collective} on emulated wires: points measured, lines predicted", fontsize=10)
        figure.subplots_adjust(bottom=0.24, top=0.86, left=0.07, right=0.99, wspace=0.3)

    save_picture(fill, path, (11, 3.6))


def table_of_rates(results: list[dict[str, Any]]) -> str:
    """Return a Markdown table of the runs without delay."""
    head = ["topology, rate", "size", "measured", "of the prediction", "MPI_Allreduce"]
    lines = ["| " + " | ".join([*head, "a cable's bytes over the schedule's"]) + " |", "|---|---|---|---|---|---|"]
    for result in (r for r in results if r.get("part") == "rate"):
        for k, row in enumerate(result["rows"]):
            size = f"{row['size'] // 10**6} MB" if row["size"] >= 10**6 else f"{row['size'] // 1000} kB"
            median, predicted = row["median_seconds"], row["predicted_seconds"]
            of_it = f"{predicted / median:.0%}" if predicted else "nothing is predicted"
            cells = [result["what"] if k == 0 else "", size, format_time(median), of_it]
            carried = "{:.3f} to {:.3f}".format(*row["cables_over_schedule"])
            cells += [f"{row['own_median_seconds'] / median:.2g}x", carried]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def table_of_memory(results: list[dict[str, Any]]) -> str:
    """Return a Markdown table of the runs in shared memory: ours / MPI's own in us."""
    rows = [r for r in results if r.get("part") == "memory"]
    sizes = [row["size"] for row in rows[0]["rows"]]
    names = [f"{size // 2**20} MiB" if size >= 2**20 else f"{size // 2**10} KiB" for size in sizes]
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(sizes)]
    for result in rows:
        cells = [f"{row['median_seconds'] * 1e6:.0f} / {row['own_median_seconds'] * 1e6:.0f}" for row in result["rows"]]
        lines.append("| " + " | ".join([result["what"].removesuffix(" in memory"), *cells]) + " |")
    return "\n".join(lines)


def fitted(results: list[dict[str, Any]], picture_path: Path) -> str:
    """Draw the fit of the allreduce runs; return what the command prints of it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "measured.json"
        file.write_text(json.dumps(delayed(results, "allreduce")))
        return command("fit", str(file), "--plot", str(picture_path)).partition("\n\n")[0]  # without the residuals


def store(results: list[dict[str, Any]]) -> None:
    """Write what the exhibits of ``linkstep reproduce`` take from here."""
    with STORED.open("w", encoding="ascii", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "nodes", "degree", "collective", "steps", "bandwidth", "size", "median"])
        for r in (r for r in results if r.get("part", "delay") == "delay"):
            for row in r["rows"]:
                facts = r["name"], r["ranks"], r["degree"], r["collective"], r["steps"], r["t_b"]
                writer.writerow([*facts, row["size"], f"{row['median_seconds']:.6g}"])


def write_page(path: Path) -> None:
    """Put the tables into measured.md beside the results, draw the pictures, and store what exhibits use."""
    results = read(path)
    tables = {}
    for collective in dict.fromkeys(r["collective"] for r in results):
        tables[collective] = table(results, collective)
        picture(results, collective, path.parents[1] / "pictures" / f"measured-{collective}.svg")
    tables["fit"] = f"```text\n{fitted(results, path.parents[1] / 'pictures' / 'fit.svg')}\n```"
    for part, name, made in (("rate", "rates", table_of_rates), ("memory", "memory", table_of_memory)):
        if any(r.get("part") == part for r in results):
            tables[name] = made(results)
    page = path.with_suffix(".md")
    text = page.read_text()
    for name, made in tables.items():
        pattern = rf"(<!-- made: {name} -->\n).*?(\n<!-- end -->)"
        text, found = re.subn(pattern, lambda m, made=made: m[1] + made + m[2], text, flags=re.DOTALL)
        if not found:
            raise SystemExit(f"{page} has no place for {name}")
    page.write_text(text)
    store(results)
    load = max(r.get("load", 0.0) for r in results)
    print(f"{page}, its pictures and {STORED.name} are written; the load was up to {load:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "page"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--collectives", default="allreduce,reduce-scatter,allgather")
    args = parser.parse_args()
    if args.action == "run":
        run(args.file, args.collectives.split(","))
    else:
        write_page(args.file)


if __name__ == "__main__":
    main()
