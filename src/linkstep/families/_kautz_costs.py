"""What the best BFB schedules of generalized Kautz graphs cost: read from data/genkautz.csv, no formula is known.

The table is made by scripts/make_genkautz.py, a line ``degree,nodes,steps,bandwidth,reduce_scatter`` for each graph;
the last is T_B of the reduce-scatter, whose steps are as many.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path

from linkstep.costs import Cost

FILE = Path(__file__).parent.parent / "data" / "genkautz.csv"
HEADER = "degree,nodes,steps,bandwidth,reduce_scatter"


@cache
def _lines() -> dict[tuple[str, str], str]:
    """Return what follows (degree, nodes) in each line of the table."""
    found = {}
    for line in FILE.read_text(encoding="ascii").splitlines()[1:]:
        degree, nodes, figures = line.split(",", 2)
        found[degree, nodes] = figures
    return found


def kautz_costs(degree: int, size: int) -> tuple[Cost, Cost] | None:
    """Return the costs of allgather and reduce-scatter on Pi_{d,m}, or None if the table does not have it.

    >>> allgather, reduce_scatter = kautz_costs(4, 127)
    >>> str(allgather), str(reduce_scatter)
    ('4 alpha + 168/127 M/B', '4 alpha + 208/127 M/B')
    """
    figures = _lines().get((str(degree), str(size)))
    if figures is None:
        return None
    steps, bandwidth, reduce_scatter = figures.split(",")
    return Cost(int(steps), Fraction(bandwidth)), Cost(int(steps), Fraction(reduce_scatter))
