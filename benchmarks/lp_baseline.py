"""The paper's BFB generator as its section sec:bfblp states it: one linear program per node and step, solved by HiGHS.

The baseline our exact method is measured against. It gets its distances from the same compiled search as linkstep, so
the comparison is of LPs with flows, not of Python with C.
"""

from __future__ import annotations

from collections.abc import Iterable

import highspy
import numpy as np

from linkstep.core.distances import distances_from, distances_to
from linkstep.core.topology import Topology


def all_distances(topology: Topology) -> np.ndarray:
    """Return d(v, u) as a matrix, row v."""
    return np.stack([distances_from(topology, v) for v in range(topology.num_nodes)])


class Solver:
    """One HiGHS instance, used again for every program."""

    def __init__(self) -> None:
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("threads", 1)

    def solve(self, num_links: int, source: np.ndarray, link: np.ndarray) -> tuple[float, np.ndarray]:
        """Solve lpmodel: column j says how much of source[j]'s shard comes over link[j]; return U and the amounts."""
        columns = source.size
        sources = int(source.max()) + 1
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = columns + 1, num_links + sources
        lp.col_cost_ = np.r_[np.zeros(columns), 1.0]
        lp.col_lower_, lp.col_upper_ = np.zeros(columns + 1), np.r_[np.ones(columns), np.inf]
        lp.row_lower_ = np.r_[np.full(num_links, -np.inf), np.ones(sources)]
        lp.row_upper_ = np.r_[np.zeros(num_links), np.ones(sources)]
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.r_[np.arange(0, 2 * columns + 1, 2), 2 * columns + num_links].astype(np.int32)
        lp.a_matrix_.index_ = np.r_[np.stack([link, num_links + source], axis=1).ravel(), np.arange(num_links)].astype(
            np.int32
        )
        lp.a_matrix_.value_ = np.r_[np.ones(2 * columns), -np.ones(num_links)]
        self.highs.passModel(lp)
        self.highs.run()
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"HiGHS stopped: {self.highs.getModelStatus()}")
        return self.highs.getInfo().objective_function_value, np.array(self.highs.getSolution().col_value[:-1])


def solve_nodes(topology: Topology, nodes: Iterable[int]) -> tuple[np.ndarray, int]:
    """Solve all programs of these nodes; return max over nodes of U by step, and how many programs that took."""
    solver = Solver()
    worst = np.zeros(topology.num_nodes)
    programs = 0
    for u in nodes:
        links = topology.in_link[topology.in_ptr[u] : topology.in_ptr[u + 1]]
        links = links[topology.tail[links] != u]
        to_u = distances_to(topology, u)
        via = np.stack([distances_to(topology, int(w)) for w in topology.tail[links]])
        for t in range(1, int(to_u.max()) + 1):
            members = np.flatnonzero(to_u == t)
            link, source = np.nonzero(via[:, members] == t - 1)
            load, _ = solver.solve(links.size, source, link)
            worst[t - 1] = max(worst[t - 1], load)
            programs += 1
    return worst, programs
