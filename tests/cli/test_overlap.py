"""Allreduces whose halves overlap, from the command line."""

import pytest

from linkstep.cli import main

pytestmark = pytest.mark.usefixtures("wide")


def test_an_allreduce_whose_halves_overlap(capsys):
    faults = "--cut", "0,1", "--collective", "allreduce"
    assert main(["schedule", "Torus(3,3)", *faults, "--method", "overlapped", "--steps", "7", "--chunks", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Torus(3,3), cut 0,1: allreduce by overlapping halves, checked\n")
    assert "\n  steps (T_L)         7, " in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--collective", "allgather"], "method overlapped makes allreduce schedules only"),
        (["--collective", "allreduce", "--steps", "3"], "steps must be at least 4, not 3: "),
    ],
)
def test_refusals(capsys, argv, message):
    assert main(["schedule", "Torus(3,3)", "--method", "overlapped", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"linkstep: {message}") and captured.err.count("\n") == 1
