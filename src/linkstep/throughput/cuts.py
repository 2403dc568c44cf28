"""A bound on all-to-all flow by cuts: what leaves a set of nodes serves all pairs from inside to outside."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linkstep.core.distances import distances_from, distances_to
from linkstep.core.topology import Ints, Topology
from linkstep.throughput.problem import FlowProblem

SEARCHES = 8
"""Nodes whose balls are tried as cuts; every single node is, too, and the first k nodes for every k."""


def cut_bound(problem: FlowProblem) -> Fraction:
    """Return the least flow that a cut allows, of single nodes, balls round nodes, and nodes in order of numbers.

    A set S of the N nodes sends to all others |S| (N - |S|) f, and what its outgoing links carry is all there is.
    """
    wires, n = problem.wires, problem.wires.num_nodes
    best = Fraction(int(problem.capacity.sum()))
    for ends in (wires.tail, wires.head):
        around = np.zeros(n, np.int64)
        np.add.at(around, ends, problem.capacity)
        best = min(best, Fraction(int(around.min()), n - 1))
    orders = [np.arange(n)]
    for node in problem.orbits.sources[:SEARCHES].tolist():
        orders += [np.argsort(search(wires, node), kind="stable") for search in (distances_from, distances_to)]
    for order in orders:
        best = min(best, _best_prefix(wires, problem.capacity, order))
    return best / problem.fastest


def _best_prefix(wires: Topology, capacity: Ints, order: Ints) -> Fraction:
    """Return the least of (what leaves or enters the first k nodes) / (k (N - k)) over all k."""
    n = wires.num_nodes
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    first, last = place[wires.tail], place[wires.head]
    found = []
    for begin, end in ((first, last), (last, first)):
        crosses = begin < end
        change = np.zeros(n + 1, np.int64)
        np.add.at(change, begin[crosses] + 1, capacity[crosses])
        np.add.at(change, end[crosses] + 1, -capacity[crosses])
        cut = np.cumsum(change)[1:n]
        size = np.arange(1, n, dtype=np.int64)
        k = int(np.argmin(cut / (size * (n - size))))
        found.append(Fraction(int(cut[k]), int(size[k] * (n - size[k]))))
    return min(found)
