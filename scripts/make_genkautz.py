"""Compute the BFB costs of generalized Kautz graphs once, for the finder: src/linkstep/data/genkautz.csv.

    python scripts/make_genkautz.py            goes on where the file ends; an hour for all degrees

One line a graph: degree, nodes, steps, T_B of the allgather, T_B of the reduce-scatter.
"""

from __future__ import annotations

import sys

from tqdm import tqdm

from linkstep.families._kautz_costs import FILE, HEADER
from linkstep.families.complete import generalized_kautz
from linkstep.methods.bfb import bfb_cost

DEGREES = (4, 2, 8, 3, 16, 5, 6, 7, 12)
MAX_NODES = 2048


def _graph(line: str) -> tuple[int, int]:
    degree, nodes, *_ = line.split(",")
    return int(degree), int(nodes)


def main() -> int:
    """Compute what is missing and sort the file."""
    lines = (
        [line for line in FILE.read_text().splitlines(keepends=True) if line.endswith("\n")] if FILE.exists() else []
    )
    FILE.write_text("".join(lines) or HEADER + "\n")  # a torn last line is computed again
    done = {_graph(line) for line in lines[1:]}
    todo = [(d, n) for d in DEGREES for n in range(d + 1, MAX_NODES + 1) if (d, n) not in done]
    with FILE.open("a") as file:
        for degree, nodes in tqdm(todo, disable=not sys.stderr.isatty()):
            topology = generalized_kautz(degree, nodes)
            cost, turned = bfb_cost(topology), bfb_cost(topology.transpose())
            file.write(f"{degree},{nodes},{cost.steps},{cost.bandwidth},{turned.bandwidth}\n")
            file.flush()
    rows = sorted(FILE.read_text().splitlines()[1:], key=_graph)
    FILE.write_text("\n".join([HEADER, *rows]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
