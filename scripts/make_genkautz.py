"""Compute the BFB cost of generalized Kautz graphs once, for the finder: src/linkstep/data/genkautz.csv.

    python scripts/make_genkautz.py            goes on where the file ends; an hour for all degrees

One line a graph: degree, nodes, steps, bandwidth. Kept small by keeping only what the finder asks for.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tqdm import tqdm

from linkstep.methods.bfb import bfb_cost
from linkstep.recipe import parse

FILE = Path(__file__).parent.parent / "src" / "linkstep" / "data" / "genkautz.csv"
DEGREES = (4, 2, 8, 3, 16, 5, 6, 7, 12)
MAX_NODES = 2048


def main() -> int:
    """Compute what is missing and sort the file."""
    done = set()
    if FILE.exists():
        lines = [line for line in FILE.read_text().splitlines(keepends=True) if line.endswith("\n")]
        FILE.write_text("".join(lines))  # a torn last line is computed again
        done = {tuple(map(int, line.split(",")[:2])) for line in lines}
    todo = [(d, n) for d in DEGREES for n in range(d + 1, MAX_NODES + 1) if (d, n) not in done]
    with FILE.open("a") as file:
        for degree, nodes in tqdm(todo, disable=not sys.stderr.isatty()):
            cost = bfb_cost(parse(f"Pi_{{{degree},{nodes}}}").topology())
            file.write(f"{degree},{nodes},{cost.steps},{cost.bandwidth}\n")
            file.flush()
    rows = sorted(FILE.read_text().splitlines(), key=lambda line: tuple(map(int, line.split(",")[:2])))
    FILE.write_text("\n".join(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
