"""Ctrl-C: the first ends all searches of a command with the best so far, which is checked and printed; a second quits.

Each command is a process that sends the signal to itself, at a moment that its own work decides and no clock.
"""

import json
import re
import signal
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import linkstep
from linkstep.core.stopping import best_so_far, have_best, is_stopped, stoppable
from linkstep.core.topology import Topology
from linkstep.costs import cost_of
from linkstep.methods.arrival import SearchLimits, arrival_cost
from linkstep.methods.synthesis.attempts import SynthesisSearch
from linkstep.methods.synthesis.case import Case

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that signal")

DRIVER = """
import atexit, os, signal, sys
from linkstep.cli import entry

calls = {}

def at(owner, name, number, times=1):
    usual = getattr(owner, name)

    def counted(*args, **kwargs):
        calls[name] = calls.get(name, 0) + 1
        for _ in range(times if calls[name] == number else 0):
            os.kill(os.getpid(), signal.SIGINT)
        return usual(*args, **kwargs)

    setattr(owner, name, counted)

%s
atexit.register(lambda: print("calls", calls, file=sys.stderr))
signal.signal(signal.SIGINT, signal.default_int_handler)
entry()
"""
SEARCH = "from linkstep.methods.arrival.search import ArrivalSearch\nat(ArrivalSearch, 'greedy', 3)\n"


def run(interrupts: str, *argv: object) -> tuple[int, str, str, dict[str, int]]:
    """Run a command that interrupts itself; return its code, what it printed, and how often functions were called."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER % interrupts, *map(str, argv)], capture_output=True, text=True, timeout=600
    )
    calls = re.search(r"^calls (\{.*\})$", done.stderr, re.MULTILINE)
    return done.returncode, done.stdout, done.stderr, {} if calls is None else eval(calls[1])


def random_digraph(num_nodes: int, degree: int, seed: int) -> Topology:
    rng = np.random.default_rng(seed)
    while True:
        images = [rng.permutation(num_nodes) for _ in range(degree)]
        if all((image != np.arange(num_nodes)).all() for image in images):
            return Topology.from_links(num_nodes, np.tile(np.arange(num_nodes), degree), np.concatenate(images))


@pytest.fixture
def wiring(tmp_path):
    """A file with a digraph whose halves are two searches."""
    linkstep.save(random_digraph(20, 3, 1), tmp_path / "wiring.json")
    return tmp_path / "wiring.json"


def test_one_interrupt_ends_the_search_of_both_halves(wiring, tmp_path):
    made = tmp_path / "made.npz"
    options = ("--method", "arrival", "--collective", "allreduce", "-o", made, "--json")
    code, out, err, calls = run(SEARCH, "schedule", wiring, *options)
    assert code == 0 and "linkstep: stopped by Ctrl-C: the best so far\n" in err
    assert calls == {"greedy": 3}, "the second half was searched"
    linkstep.check(linkstep.load(made))
    assert json.loads(out)["method"] == "arrival"


@pytest.mark.slow
def test_a_second_interrupt_quits(wiring, tmp_path):
    made = tmp_path / "made.npz"
    again = SEARCH + "import linkstep.scheduling.make as make\nat(make, 'check', 1)\n"
    code, out, err, _ = run(again, "schedule", wiring, "--method", "arrival", "-o", made)
    assert (code, out) == (130, "") and "linkstep: interrupted\n" in err
    assert not made.exists()


@pytest.mark.slow
def test_between_two_searches_an_interrupt_ends_what_is_left(wiring):
    """The first half is made when it comes: nothing is thrown away."""
    between = "import linkstep.methods.arrival.schedule as s\nat(s, 'build', 1)\n"
    between += "from linkstep.methods.arrival.search import ArrivalSearch\nat(ArrivalSearch, '_close_in', 10**9)\n"
    code, out, err, calls = run(between, "schedule", wiring, "--method", "arrival", "--rounds", "1")
    assert code == 0 and "stopped by Ctrl-C" in err and "checked" in out
    assert calls["_close_in"] == 1 and calls["build"] == 2


def test_where_nothing_is_found_yet_the_first_one_quits(wiring):
    early = "import linkstep.methods.bfb.cost as cost\nat(cost, 'solve', 1)\n"
    code, out, err, _ = run(early, "schedule", wiring, "--method", "arrival")
    assert (code, out) == (130, "") and "linkstep: interrupted\n" in err


@pytest.mark.slow
def test_throughput_prints_the_interval_that_is_proven():
    rounds = "from linkstep.throughput import lp\nlp.is_available = lambda: False\n"
    rounds += "from linkstep.throughput.watch import Watch\nat(Watch, 'is_up', 2)\n"
    code, out, err, calls = run(rounds, "throughput", "Pi_{4,23}", "--gap", "0.000001%", "--seconds", "1000s", "--json")
    assert code == 0 and "linkstep: stopped by Ctrl-C: the best so far\n" in err and calls["is_up"] <= 3
    found = json.loads(out)
    assert 0 < Fraction(found["all_to_all"]) < Fraction(found["all_to_all_bound"])


@pytest.mark.slow
def test_find_goes_on_with_what_the_search_has():
    lifts = "from linkstep.search.sweep.lifts import _Run\nat(_Run, 'advance', 2)\n"
    code, out, err, calls = run(lifts, "find", 2600, 3)
    assert code == 0 and "linkstep: stopped by Ctrl-C: the best so far\n" in err
    assert calls == {"advance": 2} and "best for an allreduce" in out


@pytest.mark.slow
def test_a_frontier_ends_with_the_points_it_has(wiring):
    code, out, err, calls = run(SEARCH, "schedule", wiring, "--frontier", "--json")
    assert code == 0 and "stopped by Ctrl-C" in err and calls == {"greedy": 3}
    assert json.loads(out)["points"]


# --- the library ---


@pytest.mark.slow
def test_what_a_stopped_search_found_is_not_taken_for_all_there_is():
    topology = random_digraph(40, 3, 1)

    def watch(steps: int, bandwidth: Fraction, bound: Fraction) -> None:
        heard.append(bandwidth)
        if len(heard) == 2:
            raise KeyboardInterrupt

    heard: list[Fraction] = []
    limits = {"method": "arrival", "rounds": 0}
    stopped = linkstep.schedule(topology, "allreduce", watch=watch, **limits)
    whole = linkstep.schedule(topology, "allreduce", **limits)
    assert cost_of(stopped.schedule).bandwidth > cost_of(whole.schedule).bandwidth
    assert stopped.certificate.cost.bandwidth == max(half.bandwidth for half in stopped.halves)
    assert arrival_cost(topology, SearchLimits(rounds=0)).bandwidth == whole.halves[-1].bandwidth


def test_the_second_interrupt_is_not_caught():
    with pytest.raises(KeyboardInterrupt), stoppable():
        with best_so_far():
            raise KeyboardInterrupt
        assert is_stopped()
        with best_so_far():
            raise KeyboardInterrupt


def test_nothing_found_is_nothing_to_go_on_with():
    with pytest.raises(KeyboardInterrupt), stoppable(), best_so_far(has_best=lambda: False):
        raise KeyboardInterrupt
    with stoppable() as stop:
        have_best()
    assert stop.has_best and not is_stopped()


def test_synthesis_keeps_the_best_so_far(monkeypatch):
    ring = linkstep.parse("BiRing(2,4)").topology()
    schedule = linkstep.schedule(ring, method="bfb").schedule

    def attempt(self, most, effort):
        tried.append(most)
        if len(tried) == 2:
            raise KeyboardInterrupt
        return "found", schedule

    tried: list[int] = []
    monkeypatch.setattr(SynthesisSearch, "attempt", attempt)
    monkeypatch.setattr("linkstep.methods.synthesis.attempts.total_load", lambda schedule: 50)
    search = SynthesisSearch(Case.of(ring, 2, schedule.unit), [], 0, float("inf"))
    with stoppable():
        assert search.minimise(100)[0] is schedule and search.seconds_left == 0
    with pytest.raises(KeyboardInterrupt), stoppable():
        tried[:] = [0]  # the first attempt of this search is interrupted
        search.minimise(100)
