"""Exact synthesis against brute force, known optima and the paper's bases; every schedule found is checked."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from fractions import Fraction
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.cli import _synthesize
from linkstep.core.distances import diameter
from linkstep.core.errors import LinkstepError
from linkstep.core.extras import missing
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.correctness import check_allgather
from linkstep.costs import Cost, bandwidth_bound, cost_of
from linkstep.methods.stored import STEPS, stored_schedule
from linkstep.methods.synthesis import ParetoPoint, Synthesis, pareto, synthesize
from linkstep.methods.synthesis.automorphisms import find_automorphism_groups, trivial_group
from linkstep.methods.synthesis.case import Case
from linkstep.methods.synthesis.model import num_sends, solve
from linkstep.methods.synthesis.worker import WORKER
from support import reference
from support.strategies import pairs, topology_of

pytestmark = pytest.mark.usefixtures("wide")

needs_solver = pytest.mark.skipif(find_spec("ortools") is None, reason="OR-tools is not installed")


def recipe(text: str) -> Topology:
    return linkstep.parse(text).topology()


def cost_found(result: Synthesis) -> Cost:
    """Check the schedule in a result, by the package and by the slow reference, and return its cost."""
    assert result.status == "found"
    schedule = result.schedule
    assert schedule is not None
    check_allgather(schedule)
    rows = list(zip(*(getattr(schedule, c).tolist() for c in ("source", "lo", "hi", "link", "step")), strict=True))
    topology = schedule.topology
    assert reference.IS_COLLECTIVE["allgather"](topology.num_nodes, pairs(topology), schedule.unit, rows)
    assert result.bound <= cost_of(schedule).bandwidth
    return cost_of(schedule)


# --- brute force ---


def all_trees(num_nodes: int, links: list[tuple[int, int]], steps: int, source: int) -> set[tuple[int, ...]]:
    """Return every way to spread one chunk, as the loads it puts on (link, step)."""
    others = [w for w in range(num_nodes) if w != source]
    ways = [[(e, t) for e, (_, h) in enumerate(links) if h == w for t in range(1, steps + 1)] for w in others]
    found = set()
    for choice in product(*ways):
        arrival = {source: 0} | {w: t for w, (_, t) in zip(others, choice, strict=True)}
        if all(arrival[links[e][0]] < t for e, t in choice):
            found.add(tuple(int((e, t) in choice) for e in range(len(links)) for t in range(1, steps + 1)))
    return found


def least_load(num_nodes: int, links: list[tuple[int, int]], steps: int, chunks: int) -> int | None:
    """Return the least sum over steps of the busiest link's load, by trying everything."""
    loads = {(0,) * (len(links) * steps)}
    for source in range(num_nodes):
        trees = all_trees(num_nodes, links, steps, source)
        for _ in range(chunks):
            loads = {tuple(a + b for a, b in zip(load, tree, strict=True)) for load in loads for tree in trees}
    totals = [sum(max(load[t::steps]) for t in range(steps)) for load in loads]
    return min(totals) if totals else None


@st.composite
def tiny(draw):
    """Connected multigraphs of three nodes: a ring, which connects them, and two more links."""
    extra = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=2))
    return sorted([(0, 1), (1, 2), (2, 0), *extra]), draw(st.integers(1, 3)), draw(st.integers(1, 2))


@needs_solver
@settings(max_examples=25)
@given(tiny(), st.booleans())
def test_brute_force_property(case, symmetric):
    links, steps, chunks = case
    truth = least_load(3, [(u, w) for u, w in links if u != w], steps, chunks)
    topology = topology_of(3, links)
    result = synthesize(topology, steps, chunks, symmetric=symmetric)
    if truth is None:
        assert (result.status, result.schedule) == ("impossible", None)
        return
    exact = Fraction(truth * topology.degree, 3 * chunks)
    assert cost_found(result).bandwidth == exact == result.bound
    assert result.is_best
    assert synthesize(topology, steps, chunks, bandwidth=exact - Fraction(1, 10**6)).status == "impossible"


@pytest.mark.slow
@needs_solver
@pytest.mark.parametrize(("steps", "chunks"), [(2, 1), (3, 1)])
def test_brute_force_ring_of_four(steps, chunks):
    topology = recipe("BiRing(2,4)")
    truth = least_load(4, pairs(topology), steps, chunks)
    assert cost_found(synthesize(topology, steps, chunks)).bandwidth == Fraction(truth * 2, 4 * chunks)


# --- known optima ---

KNOWN = [
    ("UniRing(1,3)", 2, 1, "2/3"),
    ("UniRing(1,4)", 3, 1, "3/4"),
    ("UniRing(2,4)", 3, 2, "3/4"),  # parallel links
    ("BiRing(2,4)", 2, 1, "1"),
    ("BiRing(2,4)", 2, 2, "3/4"),
    ("K_{2,2}", 2, 2, "3/4"),  # fig:notationexample
    ("K_5", 1, 1, "4/5"),
    ("DBJ(2,2)", 2, 1, "3/2"),  # self-loops: two nodes have one port left
    ("Q(3)", 3, 3, "7/8"),
    ("Torus(4,4)", 4, 1, "1"),
    ("Q(4)", 4, 4, "15/16"),
    pytest.param("Q(6)", 6, 6, "63/64", marks=pytest.mark.slow),
    ("Pi_{4,16}", 2, 1, "5/4"),
]


@needs_solver
@pytest.mark.parametrize(("name", "steps", "chunks", "bandwidth"), KNOWN)
def test_known_optimum(name, steps, chunks, bandwidth):
    result = synthesize(recipe(name), steps, chunks)
    assert cost_found(result) == Cost(steps, Fraction(bandwidth))
    assert result.is_best


@needs_solver
def test_fewer_steps_than_allowed_are_taken():
    assert cost_found(synthesize(recipe("K_4"), 3, 1)) == Cost(1, Fraction(3, 4))


@needs_solver
def test_impossible_is_proven():
    """DESIGN: DBJMod(2,3) has no bandwidth-optimal schedule of 3 steps with 2 chunks; nor has DBJMod(2,4) of 4."""
    for name, steps in (("DBJMod(2,3)", 3), ("DBJMod(2,4)", 4)):
        topology = recipe(name)
        best = bandwidth_bound(topology.num_nodes)
        for symmetric in (True, False):
            result = synthesize(topology, steps, 2, bandwidth=best, symmetric=symmetric)
            assert (result.status, result.schedule) == ("impossible", None)
            assert result.bound > best


@needs_solver
def test_loads_are_kept():
    diamond = recipe("Diamond")
    result = synthesize(diamond, 3, 2, loads=[2, 2, 3])
    assert cost_found(result) == Cost(3, Fraction(7, 8))
    # At step 1 a link carries no more than its tail's two chunks: the third of (3, 2, 2) is of no use.
    assert synthesize(diamond, 3, 2, loads=[3, 2, 2]).status == "impossible"
    assert synthesize(diamond, 3, 2, loads=[2, 2, 2]).reason == "T_B is at least 7/8 with 2 chunks a shard"


@needs_solver
def test_loads_may_idle_first():
    result = synthesize(recipe("K_4"), 2, 1, loads=[0, 1])
    assert cost_found(result) == Cost(1, Fraction(3, 4))


@needs_solver
def test_same_seed_same_schedule():
    topology = recipe("DBJMod(3,2)")
    first, second = (synthesize(topology, 3, 3, bandwidth=Fraction(8, 9)) for _ in range(2))
    assert first.schedule == second.schedule
    other = synthesize(topology, 3, 3, bandwidth=Fraction(8, 9), seed=1)
    assert cost_found(other) == cost_found(first)


def test_one_node():
    assert synthesize(topology_of(1, []), 1, 1).schedule.num_rows == 0


# --- groups ---


@pytest.mark.parametrize("chunks", [1, 2, 3])
@pytest.mark.parametrize("name", ["UniRing(2,4)", "K_{3,3}", "Q(3)", "DBJ(2,3)", "Diamond", "Torus(3,3)"])
def test_groups_serve_the_chunks(name, chunks):
    topology = recipe(name)
    identity = bytes(range(topology.num_nodes))
    for group in find_automorphism_groups(topology, chunks, seed=0):
        elements = set(group.elements)
        assert group.elements[0] == identity and len(elements) == group.order > 1
        assert all(bytes(g[x] for x in h) in elements for g in elements for h in elements)
        for g, image in zip(group.elements, group.link_images, strict=True):
            assert topology.relabel(np.frombuffer(g, np.uint8).astype(np.int32)) == topology
            assert sorted(image) == list(range(topology.num_links))
            assert all(topology.tail[image[e]] == g[topology.tail[e]] for e in range(topology.num_links))
        assert all(chunks % sum(g[v] == v for g in group.elements) == 0 for v in range(topology.num_nodes))


@needs_solver
def test_every_group_gives_valid_schedules():
    """Under any group, with any stabiliser: whatever the model finds is an allgather of the load it promised."""
    topology = recipe("Q(3)")
    found = 0
    for chunks in (1, 2, 3):
        case = Case.of(topology, 4, chunks)
        for group in [*find_automorphism_groups(topology, chunks, seed=0), trivial_group(topology)]:
            most = case.least_load + 1
            status, schedule = solve(case, group, most, None, [(10.0, False)], 10.0, 0)
            assert status in ("found", "impossible")
            if schedule is not None:
                found += 1
                check_allgather(schedule)
                assert cost_of(schedule).bandwidth <= case.bandwidth(most)
    assert found >= 6


@needs_solver
def test_symmetry_shrinks_the_model():
    case = Case.of(recipe("Q(4)"), 4, 4)
    largest = find_automorphism_groups(case.topology, 4, seed=0)[0]
    assert largest.order == 64  # one tree of four chunks from each of 16 nodes
    assert num_sends(case, trivial_group(case.topology)) == 64 * num_sends(case, largest)


# --- Pareto ---


@needs_solver
def test_pareto():
    points = pareto(recipe("DBJMod(2,3)"), 5, 2)
    assert [(p.cost.steps, p.cost.bandwidth, p.proven) for p in points] == [
        (3, Fraction(5, 4), True), (4, Fraction(7, 8), True),
    ]  # fmt: skip
    for point in points:
        assert isinstance(point, ParetoPoint)
        check_allgather(point.schedule)
        assert cost_of(point.schedule) == point.cost


@needs_solver
def test_pareto_stops_at_the_bound():
    costs = [(p.cost.steps, p.cost.bandwidth) for p in pareto(recipe("DBJ(2,2)"), 4, 1)]
    assert costs == [(2, Fraction(3, 2))]  # the ports lost to self-loops bound T_B, more steps do not help


# --- rejections ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "steps must lie in [1, 32767], not 0"),
        ({"chunks": 0}, "chunks must lie in [1, 32767], not 0"),
        ({"chunks": True}, "chunks must be an integer, not True"),
        ({"time_limit": 0}, "time_limit must be a positive number of seconds, not 0"),
        ({"time_limit": float("nan")}, "time_limit must be a positive number of seconds, not nan"),
        ({"seed": -1}, "seed must be an integer in [0, 2^31), not -1"),
        ({"bandwidth": 0.875}, "bandwidth must be a Fraction, not 0.875"),
        ({"bandwidth": Fraction(1), "loads": [1, 1]}, "give bandwidth or loads, not both"),
        ({"loads": [1]}, "loads must be 2 counts of chunks, one a step, not [1]"),
        ({"topology": topology_of(2, [(0, 1)])}, "the topology is disconnected: no path from node 1 to node 0"),
        (
            {"topology": topology_of(2, [(0, 1), (1, 0)], bandwidth=[1, 2])},
            "synthesis needs links of equal bandwidth; `linkstep schedule` takes unequal ones",
        ),
    ],
)  # fmt: skip
def test_bad_input(arguments, message):
    given = {"topology": recipe("K_{2,2}"), "steps": 2, "chunks": 2} | arguments
    with pytest.raises(LinkstepError) as caught:
        synthesize(**given)
    assert str(caught.value) == message


@needs_solver
def test_too_large():
    with pytest.raises(LinkstepError, match=r"^synthesis takes at most 256 nodes, not 300$"):
        synthesize(recipe("UniRing(1,300)"), 299, 1)
    with pytest.raises(
        LinkstepError, match=r"^too large to synthesize: [0-9]+ possible sends where 400000 is the most"
    ):
        synthesize(recipe("Pi_{2,200}"), 12, 2)


@pytest.mark.slow
def test_steps_below_the_diameter_are_impossible_at_once():
    WORKER.stop()
    result = synthesize(recipe("Q(4)"), 3, 1)
    assert (result.status, result.reason) == ("impossible", "needs at least 4 steps, the diameter")
    assert WORKER._process is None  # nobody was asked
    with pytest.raises(LinkstepError, match=r"^max_steps must be at least 4, the diameter, not 3$"):
        pareto(recipe("Q(4)"), 3, 1)


def test_bandwidth_below_the_bound_is_impossible_at_once():
    result = synthesize(recipe("Q(3)"), 9, 1, bandwidth=Fraction(7, 8))
    assert (result.status, result.reason) == ("impossible", "T_B is at least 9/8 with 1 chunks a shard")


@pytest.mark.slow
def test_without_ortools(monkeypatch, tmp_path):
    (tmp_path / "ortools").mkdir()
    (tmp_path / "ortools" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    WORKER.stop()
    with pytest.raises(LinkstepError, match=f"^{re.escape(missing('synthesis', 'OR-tools', 'synthesis'))}$"):
        synthesize(recipe("K_4"), 1, 1)


@needs_solver
def test_highspy_and_solver_side_by_side():
    """Both bring a libhighs.so: in one process the second one fails to load."""
    pytest.importorskip("highspy")
    assert synthesize(recipe("K_4"), 1, 1).status == "found"


@pytest.mark.slow
@needs_solver
def test_solver_dies():
    synthesize(recipe("K_4"), 1, 1)
    WORKER._process.kill()
    WORKER._process.wait()
    assert synthesize(recipe("K_4"), 1, 1).status == "found"
    with pytest.raises(LinkstepError, match=r"^the solver's process ended with code -9, perhaps out of memory"):
        synthesize(recipe("Pi_{2,12}"), 4, 4, bandwidth=Fraction(23, 24), progress=lambda *_: WORKER._process.kill())


@needs_solver
def test_time_runs_out():
    result = synthesize(recipe("Pi_{2,12}"), 4, 4, bandwidth=Fraction(23, 24), time_limit=0.3)
    assert (result.status, result.schedule, result.reason) == ("unknown", None, "time ran out")
    assert result.seconds < 60


@needs_solver
@pytest.mark.slow
def test_interrupt_stops_the_solver():
    """Sent while the answer is waited for, by the one who waits: it cannot come too early or too late."""

    def interrupt(done, total):
        assert total is None
        solvers.append(WORKER._process)
        os.kill(os.getpid(), signal.SIGINT)

    solvers: list[subprocess.Popen] = []
    with pytest.raises(KeyboardInterrupt):
        synthesize(recipe("Pi_{2,12}"), 4, 4, bandwidth=Fraction(23, 24), time_limit=600, progress=interrupt)
    assert solvers[0].returncode == -signal.SIGKILL
    assert synthesize(recipe("K_4"), 1, 1).status == "found"


INTERRUPTED = """
import sys
from linkstep.cli import entry
from linkstep.methods.synthesis import worker

read = worker.SolverProcess._read

def announce(self, on_wait):
    print(self._ready, self._process.pid, flush=True)
    return read(self, on_wait)

worker.SolverProcess._read = announce
sys.argv = "linkstep synthesize Pi_{2,12} --steps 4 --chunks 4 --at-most 23/24 --time-limit 600s".split()
entry()
"""


@pytest.mark.slow
@needs_solver
@pytest.mark.parametrize("ready", [False, True])
def test_interrupt_ends_the_command(ready):
    """While OR-tools loads, or while it solves; the solver's process ends with the command."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], text=True, **pipes) as command:
        line = ""
        while not line.startswith(str(ready)):
            line = command.stdout.readline()
            assert line
        command.send_signal(signal.SIGINT)
        _, errors = command.communicate(timeout=60)
    assert (command.returncode, errors) == (130, "linkstep: interrupted\n")
    deadline = time.monotonic() + 60
    while is_running(int(line.split()[1])):
        assert time.monotonic() < deadline, "the solver goes on alone"
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """Whether there is such a process; one that has ended and was not waited for has no command line."""
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except FileNotFoundError:
        return False


# --- the stored bases (table:toposummary) ---

BASES = [("Diamond", 3), ("DBJMod(2,3)", 4), ("DBJMod(2,4)", 5), ("DBJMod(3,2)", 3), ("DBJMod(4,2)", 3)]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("name", "steps"), BASES)
def test_toposummary_bases(name, steps, transposed):
    topology = recipe(name)
    schedule = stored_schedule(name, transposed)
    assert schedule.topology == (topology.transpose() if transposed else topology)
    assert cost_of(schedule) == Cost(steps, bandwidth_bound(topology.num_nodes))
    assert dict(BASES) == STEPS
    check_allgather(schedule)


def test_recipes_longer_than_a_file_name_are_not_stored():
    assert stored_schedule(f"C(9999,{{{','.join(map(str, range(1, 200)))}}})") is None


@needs_solver
@pytest.mark.parametrize(("name", "steps", "chunks"), [("Diamond", 3, 2), ("DBJMod(4,2)", 3, 4)])
def test_bases_are_found_again(name, steps, chunks):
    topology = recipe(name)
    result = synthesize(topology, steps, chunks, bandwidth=bandwidth_bound(topology.num_nodes))
    assert cost_found(result) == Cost(steps, bandwidth_bound(topology.num_nodes))


@needs_solver
@pytest.mark.slow
def test_hard_proof():
    """Kautz K(2,2) in 4 steps with 3 chunks: none below T_B = 1, and no symmetry helps to prove it."""
    result = synthesize(recipe("Pi_{2,12}"), 4, 3, time_limit=300)
    assert cost_found(result) == Cost(4, Fraction(1))
    assert result.is_best


@needs_solver
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_digraphs(seed):
    """Against nothing: whatever comes out must be right, with and without symmetry alike where proven."""
    random = np.random.default_rng(seed)
    links = [(u, int(w)) for _ in range(2) for u, w in enumerate(random.permutation(7))]
    links += [(u, (u + 1) % 7) for u in range(7)]
    topology = topology_of(7, links)
    steps = diameter(topology)
    results = [synthesize(topology, steps, 2, symmetric=s, time_limit=30) for s in (True, False)]
    costs = [cost_found(result) for result in results]
    if all(result.is_best for result in results):
        assert costs[0].bandwidth == costs[1].bandwidth


# --- the command ---


def run(capsys, *argv: str) -> tuple[int, str]:
    parser = argparse.ArgumentParser()
    _synthesize.COMMAND.add_arguments(parser)
    code = _synthesize.COMMAND.run(parser.parse_args(argv))
    return code, capsys.readouterr().out


@needs_solver
def test_command_finds(capsys, tmp_path):
    file = str(tmp_path / "d.json")
    code, out = run(capsys, "Diamond", "--steps", "3", "--chunks", "2", "--at-most", "7/8", "-o", file)
    saved = linkstep.load(file)
    assert isinstance(saved, Schedule)
    assert (code, out) == (
        0,
        "Diamond: found an allgather in at most 3 steps with 2 chunks a shard and T_B at most 7/8, checked\n"
        "  T_L                3 steps\n"
        "  T_B                7/8 = 0.8750 M/B\n"
        "  bandwidth-optimal  yes\n"
        "  proven             the best: T_B below 7/8 is impossible with these steps and chunks\n"
        f"  rows               {saved.num_rows}\n"
        f"saved to {file}\n",
    )


@needs_solver
def test_command_proves(capsys):
    arguments = ("DBJMod(2,3)", "--steps", "3", "--chunks", "2", "--at-most", "7/8")
    assert run(capsys, *arguments) == (
        1,
        "DBJMod(2,3): an allgather in at most 3 steps with 2 chunks a shard and T_B at most 7/8 is impossible: "
        "all possibilities are excluded\n",
    )
    code, out = run(capsys, *arguments, "--json")
    assert code == 1
    facts = json.loads(out)
    assert (facts["status"], facts["t_b_at_least"]) == ("impossible", "1")


@needs_solver
def test_command_gives_up(capsys):
    code, out = run(capsys, "Pi_{2,12}", "--steps", "4", "--chunks", "4", "--at-most", "23/24", "--time-limit", "100ms")
    assert (code, out) == (
        1,
        "Pi_{2,12}: unknown whether there is an allgather in at most 4 steps with 4 chunks a shard "
        "and T_B at most 23/24: time ran out\n",
    )


@needs_solver
@pytest.mark.parametrize("more", [(), ("--pareto",)])
def test_command_shows_progress(monkeypatch, capsys, more):
    shown = []
    monkeypatch.setattr(_synthesize, "progress_bar", lambda *_: nullcontext(lambda *done: shown.append(done)))
    monkeypatch.setattr("linkstep.methods.synthesis.worker.WAKE_UP", 0)
    assert run(capsys, "DBJMod(2,3)", "--steps", "4", "--chunks", "2", *more)[0] == 0
    assert shown and shown == sorted(shown)
    assert {total for _, total in shown} == ({4} if more else {None})


@needs_solver
def test_command_pareto(capsys):
    code, out = run(capsys, "DBJMod(2,3)", "--steps", "4", "--chunks", "2", "--pareto")
    assert (code, out) == (
        0,
        "steps  T_B          chunks  proven\n    3  5/4  1.2500       1  yes\n    4  7/8  0.8750       2  yes\n",
    )
    code, out = run(capsys, "DBJMod(2,3)", "--steps", "4", "--chunks", "2", "--pareto", "--json")
    assert json.loads(out)["points"][1] == {"steps": 4, "t_b": "7/8", "chunks_per_shard": 2, "proven": True}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--at-most", "7/0"], "--at-most must be a fraction such as 7/8, not '7/0'"),
        (["--at-most", "nan"], "--at-most must be a fraction such as 7/8, not 'nan'"),
        (["--at-most", "1e999999999"], "--at-most must be a fraction such as 7/8, not '1e999999999'"),
        (["-o", ""], "'' is not the name of a file"),
        (
            ["--pareto", "-o", "x.npz"],
            "--pareto makes several schedules: give neither --output nor --at-most with it",
        ),
    ],
)
def test_command_rejects(capsys, argv, message):
    with pytest.raises(LinkstepError) as caught:
        run(capsys, "K_4", "--steps", "1", "--chunks", "1", *argv)
    assert str(caught.value) == message
