"""Plots of fits: every topology listed, both lines with their figures, and no text on another."""

import json
from fractions import Fraction

import pytest

import linkstep
from linkstep.costs import Cost, Fabric, fit, load_runs
from linkstep.pictures.fit import plot_fit
from support.pictures import overlapping, texts
from support.runs import document, documents

FABRIC = Fabric.of("350us", "197Mbps", 4, overhead="120us")


def fitted(tmp_path, made):
    (tmp_path / "runs.json").write_text(json.dumps(made))
    return fit(load_runs(tmp_path / "runs.json"))


def test_says_what_was_measured_and_fitted(tmp_path):
    linkstep.draw(fitted(tmp_path, documents(FABRIC)), tmp_path / "f.svg")
    said = texts(tmp_path / "f.svg")
    assert {"K_{4,4}", "ShiftedRing(4,8)", "C(12,{2,3})", "measured", "T_L, steps", "T_B times M, MB"} < set(said)
    assert {"fitted: 120us a call + 350us a step", "fitted: B = 197Mbps a server"} < set(said)
    assert "smallest size, 1,024 bytes: error 0.00%, at most 0.00%" in said
    assert said.count("3") >= 3  # in both plots and in the list


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 32])
def test_no_text_lies_on_another(tmp_path, count):
    made = [
        document(FABRIC, f"Cayley(Z{n},{{{'1,' * (n % 40)}1}})", Cost(n, 2 - Fraction(2, n)), noise=0.02)
        for n in range(4, 4 + count)
    ]
    found = fitted(tmp_path, made)
    assert overlapping(lambda path: plot_fit(found, path), tmp_path) == []
