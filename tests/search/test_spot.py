"""Searches on the spot: found now, the same for a seed, kept where asked; and what is known needs no compiler."""

import json
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from linkstep.cli import main
from linkstep.core.errors import LinkstepError
from linkstep.costs import Fabric, cost_of
from linkstep.search import find
from linkstep.search.catalog import load_catalog
from linkstep.search.choice import FOUND, KNOWN
from linkstep.search.entry import Entry
from linkstep.search.spot import MAX_NODES, Spot, keep_choices, search_now

SHORT = Spot(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_size_that_nobody_knows(bidirectional):
    """The same answer for a seed, as good as a lift is, and schedules that cost what it says."""
    first, again = (find(42, 9, directed=not bidirectional, spot=SHORT) for _ in range(2))
    assert first == again
    rows = [row for row in first.frontier if row.origin == FOUND]
    assert rows and all(row.is_bidirectional or not bidirectional for row in rows)
    best = min(row.allreduce_cost.steps for row in rows)
    assert best <= 2 * (first.bound.steps + 1)
    for row in rows[:1]:
        assert cost_of(row.build("allreduce")) == row.allreduce_cost


@pytest.mark.slow
@pytest.mark.parametrize(("num_nodes", "degree"), [(2003, 16), (2503, 4)])
def test_primes_are_near_the_bound_duplex_too(num_nodes, degree):
    """From a lift of another size; what expansions make of these is many times the bound."""
    found = find(num_nodes, degree)
    fabric, half = Fabric.of("10us", "100Gbps", degree), found.bound
    times = [fabric.time(row.allreduce_cost, "allreduce", "1MB") for row in found.frontier]
    assert min(times) <= Fraction(13, 10) * fabric.time(half + half, "allreduce", "1MB")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("num_nodes", "degree", "both"), [(65536, 3, True), (10000, 4, True), (5005, 3, False), (5003, 4, True)]
)
def test_far_beyond_the_catalog(num_nodes, degree, both):
    """A lift, of which a few nodes stand for all, or a graft: all else is many times the bound there."""
    found = find(num_nodes, degree, directed=not both, spot=Spot(1))
    fabric, half = Fabric.of("10us", "100Gbps", degree), found.bound
    times = {row: fabric.time(row.allreduce_cost, "allreduce", "1MB") for row in found.frontier}
    best = min(times, key=times.get)
    assert best.origin == FOUND and times[best] <= Fraction(5, 4) * fabric.time(half + half, "allreduce", "1MB")


@pytest.mark.slow
def test_no_time_is_no_search():
    assert search_now(42, 9, True, Spot(0)) == []
    assert search_now(MAX_NODES + 1, 4, True, SHORT) == []
    assert not any(row.origin for row in find(42, 9, directed=True, spot=Spot(0)).frontier)


@pytest.mark.parametrize("spot", [(-1.0, 0), (float("nan"), 0), (1.0, -1), (1.0, 2**32)])
def test_what_is_no_spot(spot):
    with pytest.raises(LinkstepError, match="must lie in"):
        Spot(*spot)


@pytest.mark.slow
def test_what_is_found_can_be_kept(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    words = ["find", "42", "9", "--seconds", "0.02", "--json"]
    assert main(words) == 0
    before = json.loads(capsys.readouterr().out)["frontier"]
    assert {row["origin"] for row in before} >= {FOUND}
    assert main([*words[:-1], "--keep"]) == 0
    assert f"kept in\n{tmp_path}" in capsys.readouterr().out.replace("kept in ", "kept in\n")
    assert main(words) == 0
    after = json.loads(capsys.readouterr().out)["frontier"]
    assert {row["origin"] for row in after} <= {KNOWN, None}
    kept = [row for row in before if row["origin"] == FOUND]
    known = {row["recipe"] for row in after}
    assert {row["recipe"] for row in kept} <= known


def test_entries_are_kept_as_they_are(tmp_path, monkeypatch):
    """Nothing is written to be read again: of an empty catalog no line is read."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    choices = find(12, 4).frontier
    with monkeypatch.context() as patch:
        patch.setattr(Entry, "from_line", None)
        folder = keep_choices(choices)
    assert {entry.recipe for entry in load_catalog(folder)} <= {str(choice.recipe) for choice in choices}
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "d4.csv"]


@pytest.mark.slow
def test_what_is_known_needs_no_compiler():
    """The first find after an install takes seconds if kernels compile."""
    code = "import sys, linkstep.cli as c; assert c.main(['find', '1024', '4']) == 0; assert 'numba' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


EXPANDED = {(12, 14), (13, 14), (1536, 16)}
"""Sizes, duplex, where an expanded schedule is better than BFB and arrival times, which is all that entries tell."""


class KernelNeeded(AssertionError):
    """Some kernel was called."""


def answers_at_once(monkeypatch, capsys, sizes):
    """Let ``find`` answer for these (N, d, duplex), on average within a second; return those that need a kernel."""

    def refuse(kernel, *args):
        raise KernelNeeded(kernel.py_func.__name__)

    monkeypatch.setattr("linkstep._kernels.Kernel.__call__", refuse)
    begin, others = time.process_time(), []
    for nodes, degree, both in sizes:
        argv = ["find", str(nodes), str(degree), *([] if both else ["--directed"])]
        try:
            assert main(argv) == 0 and main([*argv, "--json"]) == 0, argv
        except KernelNeeded:
            others.append((nodes, degree, both))
        capsys.readouterr()
    assert time.process_time() - begin < len(sizes)
    return others


def test_small_sizes_need_no_kernel(monkeypatch, capsys):
    """Trees, rings of six ports, bundles, twisted cubes; 664 had no entry for Pi_{4,664}."""
    sizes = [(4, 6, False), (8, 8, True), (32, 5, False), (48, 4, False), (664, 4, False), (100, 6, True)]
    assert answers_at_once(monkeypatch, capsys, sizes) == []


@pytest.mark.slow
def test_stored_sizes_need_no_kernel(monkeypatch, capsys):
    """But for some of which nothing is stored with a port fewer, which is looked at too, and for bundles."""
    catalog = load_catalog()
    kinds = [(d, both) for d in range(1, 17) for both in (False, True)]
    stored = [(n, d, both) for d, both in kinds for n in catalog.sizes(d) if catalog.covers(n, d, both)]
    assert len(stored) > 5700
    sizes = [size for size in stored[::6] if size[:2] not in EXPANDED]
    others = answers_at_once(monkeypatch, capsys, sizes)
    assert not [(n, d, both) for n, d, both in others if d < n and catalog.covers(n, d - 1, both)]
    assert len(others) < len(sizes) / 40
