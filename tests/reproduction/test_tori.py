"""fig:supercomp: what a host lets through, and what is said where nothing can be run on emulated wires."""

import subprocess
from fractions import Fraction

import pytest

from linkstep.baselines import baseline
from linkstep.reproduction import emulation, exhibit_labelled, tori
from linkstep.reproduction.emulation import emulated_seconds
from linkstep.reproduction.figures import CellKind
from linkstep.reproduction.tori import HOST, LINK, TORI, _host_rate, _Made, _percent
from linkstep.scheduling import schedule

HUGE = 10**15
"""Bytes beside which alpha is nothing: a Fraction more, which the tests take off."""


def per_byte(made, *args, **how):
    """Return the seconds a byte takes, alpha aside."""
    done = _Made(made)
    return (done.time(2 * HUGE, *args, **how) - done.time(HUGE, *args, **how)) / HUGE


RING = schedule("BiRing(2,4)", "allreduce", method="bfb").schedule


@pytest.mark.parametrize(
    ("torus", "expected"),
    [
        ("Torus(3,3,2)", 2 * Fraction(17, 18) * 8 / HOST),
        ("Torus(3,3,3)", 2 * Fraction(26, 27) * 8 / HOST),
        ("Torus(3,3)", 2 * Fraction(8, 9) * 8 / (4 * LINK)),
        ("BiRing(2,4)", 2 * Fraction(3, 4) * 8 / (2 * LINK)),
    ],
)
def test_bfb_has_all_links_at_work_and_waits_for_the_host(torus, expected):
    """With four links or fewer of 25 Gbps the links are the limit, with more the 100 Gbps of the host are."""
    assert per_byte(schedule(torus, "allreduce", method="bfb").schedule) == expected


def test_rings_of_unequal_dimensions_wait_for_links():
    """Half a host's links are idle at the busiest steps, so that the host is not what they wait for."""
    made = baseline("torus rings", "Torus(3,3,2)").schedule("allreduce")
    assert per_byte(made) == per_byte(made, None) == 2 * Fraction(95, 54) * 8 / (5 * LINK)


def test_where_no_step_waits_the_busiest_link_of_all_steps_counts():
    """By hand, of an allgather on Torus(3,3,2): the one link of the dimension of 2 carries the most.

    Each part is a third of a shard, M/18. One goes along that dimension first, one when a node has 3 shards of it, and
    one when it has 9. The two links of another dimension share what goes along it.
    """
    made = baseline("torus rings", "Torus(3,3,2)").schedule("allgather")
    link, host = _Made(made).busiest
    assert link == Fraction(1, 18) * Fraction(1, 3) * (1 + 3 + 9) == Fraction(13, 54)
    assert host == Fraction(17, 18)  # whatever the order, a node receives all other shards
    assert per_byte(made, None, waits=False) == link * Fraction(8, LINK)
    assert per_byte(made, HOST // 4, waits=False) == host * Fraction(8, HOST // 4)


def test_a_hosts_limit_reverses_the_order_of_tori():
    """fig:supercomp: without it the larger torus gains more, as in the paper; with it less, and never both figures."""
    small, large = "Torus(3,3,2)", "Torus(3,3,3,2)"
    assert _percent(small, None) < _percent(large, None)
    assert _percent(small, None, waits=False) < _percent(large, None, waits=False)
    assert _percent(small) > _percent(large)
    rates = [_host_rate(torus, int(TORI[torus])) for torus in (small, large)]
    assert rates[0] < HOST < rates[1]
    for torus, rate in zip((small, large), rates, strict=True):
        assert abs(_percent(torus, rate) - int(TORI[torus])) < 1


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (subprocess.TimeoutExpired("linkstep", 300), "not run here: it took more than 300 s"),
        (RuntimeError("no room\nfor hosts"), "not run here: no room"),
        (RuntimeError(""), "not run here: RuntimeError"),
    ],
)
def test_a_run_that_fails_says_why(monkeypatch, error, why):
    def fail(*args):
        raise error

    monkeypatch.setattr(emulation, "missing", lambda: "")
    monkeypatch.setattr(emulation, "_measure", fail)
    assert emulated_seconds(RING) == (None, why)


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setattr(emulation, "missing", lambda: "needs root")
    assert emulated_seconds(RING) == (None, "not run here: needs root")


@pytest.mark.slow
def test_runs_on_a_testbed_are_the_exhibits_emulate(monkeypatch):
    """Six runs where they are asked for, and none by what is computed otherwise."""
    monkeypatch.setattr(tori, "emulated_seconds", lambda made: (0.25, ""))
    exhibit = exhibit_labelled("fig:supercomp")
    cells = exhibit.emulate()
    assert [one.item for one in cells] == [torus for torus in TORI for _ in range(2)]
    assert all((one.ours, one.kind) == (250, CellKind.MEASURED) for one in cells)

    def refuse(made):
        raise AssertionError("a testbed was built unasked")

    monkeypatch.setattr(tori, "emulated_seconds", refuse)
    monkeypatch.setattr(tori, "_simulated", lambda torus: [])  # seconds of event simulations
    assert all(one.kind is not CellKind.MEASURED for one in exhibit.compute().cells)
