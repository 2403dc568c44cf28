"""Measured against predicted: the paper's testbed experiment (fig:arexptres, fig:rs_ag_results) on emulated wires.

For N = 5 to 12 hosts with 4 ports: the paper's topologies (tab:ourtopologies), ours, shifted rings with their usual
schedule and with ours, and a plain ring. Run as root, on a machine with nothing else to do:

    python -m benchmarks.measured run docs/measured.json          # about 20 minutes
    python -m benchmarks.measured report docs/measured.json       # tables and pictures in docs/
    linkstep fit docs/measured.json -o fabric.json --plot fit.svg
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import linkstep
from linkstep.baselines import baseline

PAPER = {
    5: "K_5", 6: "K_3*2", 7: "C(7,{2,3})", 8: "K_{4,4}", 9: "H(2,3)", 10: "BiRing(2,5)*2", 11: "C(11,{2,3})",
    12: "C(12,{2,3})",
}  # fmt: skip
RATE, DELAY = "20Mbps", "10ms"
SIZES = "1KB,100KB,2MB"
REPETITIONS = 5
BED = "measured"
SHIFTED, SHIFTED_BFB, RING = "ShiftedRing", "ShiftedRing, our schedule", "ring"


def contenders(num_nodes: int, collective: str) -> dict[str, Any]:
    """Return what runs: a name and a schedule for each."""
    found = {PAPER[num_nodes]: linkstep.schedule(PAPER[num_nodes], collective).schedule}
    ours = linkstep.find(num_nodes, 4).frontier[0]
    if str(ours.recipe) not in found:
        found[str(ours.recipe)] = linkstep.schedule(ours.recipe, collective).schedule
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


def run(path: Path, collectives: list[str]) -> None:
    """Measure everything that is not in the file yet."""
    results = json.loads(path.read_text()) if path.exists() else []
    have = {(r["what"], r["collective"]) for r in results}
    with tempfile.TemporaryDirectory() as folder:
        for collective in collectives:
            for num_nodes in PAPER if collective == "allreduce" else (8, 12):
                for name, schedule in contenders(num_nodes, collective).items():
                    if (f"{name}, N={num_nodes}", collective) in have:
                        continue
                    results.append(measure(name, schedule, collective, Path(folder)))
                    part = path.with_suffix(".part")
                    part.write_text(json.dumps(results, indent=1) + "\n")
                    part.rename(path)
                    row = results[-1]["rows"][-1]
                    print(
                        f"{results[-1]['what']} {collective}: {row['median']:.3f} of {row['predicted']:.3f} s",
                        f"(load {os.getloadavg()[0]:.1f})", flush=True,
                    )  # fmt: skip


def _kind(result: dict[str, Any]) -> str:
    """Return which line of a picture a run belongs to."""
    name = result["name"]
    return name if name in (SHIFTED, SHIFTED_BFB, RING) else "best topology"


def table(results: list[dict[str, Any]], collective: str) -> str:
    """Return a Markdown table: measured time and its ratio to the prediction, for each size."""
    rows = [r for r in results if r["collective"] == collective]
    sizes = [row["size"] for row in rows[0]["rows"]]
    head = ["N", "wires and schedule", "T_L", *(f"{size / 1000:g} kB" for size in sizes)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for result in rows:
        cells = [str(result["ranks"]), result["name"], str(result["steps"])]
        for row in result["rows"]:
            text = f"{row['median'] * 1e3:.0f} ms ({row['predicted'] / row['median']:.0%})"
            cells.append(f"{text}, {row['own_median'] / row['median']:.1f}x" if row["own_median"] else text)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(results: list[dict[str, Any]], collective: str, path: Path) -> None:
    """Draw time over N for each size: points measured, lines predicted; the engine's own as crosses."""
    from linkstep.pictures.style import PALETTE, SOFT, save_picture

    rows = [r for r in results if r["collective"] == collective]
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
                        found = row["median"], row["predicted"]
                        best[r["ranks"]] = min(best.get(r["ranks"], found), found)
                x = sorted(best)
                ax.plot(x, [best[n][0] * 1e3 for n in x], "o", color=colour, markersize=4, label=kind)
                ax.plot(x, [best[n][1] * 1e3 for n in x], color=colour, linewidth=1)
            theirs = [
                (r["ranks"], row["own_median"] * 1e3)
                for r in rows if _kind(r) == "best topology"
                for row in r["rows"] if row["size"] == size and row["own_median"]
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


def report(path: Path) -> None:
    """Print the tables and draw the pictures beside the results."""
    results = json.loads(path.read_text())
    for collective in dict.fromkeys(r["collective"] for r in results):
        print(f"\n### {collective}\n\n{table(results, collective)}")
        picture(results, collective, path.parent / "pictures" / f"measured-{collective}.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "report"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--collectives", default="allreduce,reduce-scatter,allgather")
    args = parser.parse_args()
    if args.action == "run":
        run(args.file, args.collectives.split(","))
    else:
        report(args.file)


if __name__ == "__main__":
    main()
