"""What a wiring allows, steps against bandwidth: no point beats another, and each can be made."""

import json
from fractions import Fraction

import pytest

import linkstep
from linkstep.cli import main
from linkstep.core.errors import LinkstepError
from linkstep.methods.bfb import bfb_cost
from linkstep.scheduling import trade_off


@pytest.mark.slow
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
def test_points_are_pareto_optimal_and_can_be_made(collective):
    points = trade_off("L(Diamond)", collective)
    steps, bandwidths = ([getattr(p.cost, part) for p in points] for part in ("steps", "bandwidth"))
    assert steps == sorted(set(steps)) and bandwidths == sorted(set(bandwidths), reverse=True)
    assert bandwidths[-1] == Fraction(15, 16) * (2 if collective == "allreduce" else 1)
    for point in points:
        method = "arrival" if point.method == "bfb" else point.method
        half = max((half.steps for half in point.halves), default=point.cost.steps)
        assert linkstep.schedule("L(Diamond)", collective, method=method, steps=half).cost.is_within(point.cost)


@pytest.mark.slow
def test_never_worse_than_bfb_and_never_below_the_bound_for_its_steps():
    topology = linkstep.parse("C(15,{1,4,5})").topology()
    first, second = trade_off(topology, "allgather")
    assert (first.cost, first.method) == (bfb_cost(topology), "bfb")
    assert first.least == first.cost.bandwidth == 1
    assert second.least == second.cost.bandwidth == Fraction(14, 15)


def test_what_has_no_frontier():
    with pytest.raises(LinkstepError, match="not of all-to-all"):
        trade_off("K_4", "all-to-all")
    with pytest.raises(LinkstepError, match="seconds must be positive, not nan"):
        trade_off("K_4", seconds=float("nan"))


def test_command(capsys, tmp_path):
    argv = ["schedule", "BiRing(2,5)", "--collective", "allgather", "--frontier"]
    assert main([*argv, "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [(p["steps"], p["t_b"], p["method"], p["t_b_bound_in_steps"]) for p in points] == [(2, "4/5", "bfb", "4/5")]
    assert main([*argv, "--plot", str(tmp_path / "f.svg")]) == 0
    last = capsys.readouterr().out.splitlines()[4]
    assert " ".join(last.split()) == "2 4/5 0.8000 84us breadth-first broadcast least possible"
    assert (tmp_path / "f.svg").read_text().startswith("<?xml")
    refused = {"-o": "x.npz", "--chunks": "2", "--method": "bfb"}
    for option, value in refused.items():
        assert main([*argv, option, value]) == 2
        assert f"leave out {option}" in capsys.readouterr().err
    assert main(["schedule", "K_4", "--plot", "x.svg"]) == 2
    assert "--plot draws a frontier" in capsys.readouterr().err
