"""fig:supercomp: what a host lets through, and what is said where nothing can be run on emulated wires."""

import subprocess
from fractions import Fraction

import pytest

from linkstep.baselines import baseline
from linkstep.make import schedule
from linkstep.reproduction import emulation
from linkstep.reproduction.emulation import emulated_seconds
from linkstep.reproduction.tori import HOST, LINK, _seconds_per_byte

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
    assert _seconds_per_byte(schedule(torus, "allreduce", method="bfb").schedule) == expected


def test_rings_of_unequal_dimensions_wait_for_links():
    """Half a host's links are idle at the busiest steps, so that the host is not what they wait for."""
    made = baseline("torus rings", "Torus(3,3,2)").schedule("allreduce")
    assert _seconds_per_byte(made) == 2 * Fraction(95, 54) * 8 / (5 * LINK)


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
