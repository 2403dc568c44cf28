"""Arrival times from the command line: chosen by name, by steps and by time; printed, refused, interrupted."""

import json
import os
import signal
import time

import pytest

from linkstep.cli import main
from linkstep.cli._signals import insistent_interrupts, one_stop


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(["schedule", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.slow
def test_an_allreduce_says_what_each_half_costs(capsys):
    code, out, _ = run(capsys, "C(15,{1,4,5})", "--method", "arrival", "--steps", "3", "--collective", "allreduce")
    assert code == 0
    assert out.startswith(
        """\
C(15,{1,4,5}): allreduce by arrival times, checked
  time for 1MB    209.3us (alpha 10us, 100Gbps a server)
  steps (T_L)     6, not Moore-optimal (bound 4)
  M/B (T_B)       28/15 = 1.8667, bandwidth-optimal
    halves        3 steps and 0.9333 M/B each half
"""
    )


@pytest.mark.slow
def test_the_best_at_a_size(capsys):
    code, out, _ = run(capsys, "C(15,{1,4,5})", "--collective", "allgather", "--size", "1GB", "--json")
    found = json.loads(out)
    assert (code, found["method"], found["steps"]) == (0, "arrival", 3)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--method", "arrival", "--steps", "1"], "steps must be at least the diameter, 2"),
        (["--method", "bfb", "--steps", "3"], "method bfb takes as many steps as it needs"),
        (["--method", "arrival", "--seconds", "0"], "seconds must be positive, not 0.0"),
    ],
)
def test_refusals(capsys, argv, message):
    code, out, err = run(capsys, "C(15,{1,4,5})", *argv)
    assert (code, out) == (2, "")
    assert err.startswith(f"linkstep: {message}") and err.count("\n") == 1


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that signal")
def test_an_interrupt_while_searching_comes_once():
    """Elsewhere it comes again and again until the command has ended; a search that stops goes on to its schedule."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with insistent_interrupts():
            with pytest.raises(KeyboardInterrupt), one_stop():
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.1)
            time.sleep(0.4)
    finally:
        signal.signal(signal.SIGINT, before)
