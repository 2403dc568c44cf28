"""``show``, ``check``, ``find`` and ``simulate`` beside what the wiring allows: what they print, and as JSON."""

import json

import pytest

from linkstep.cli import main

pytestmark = pytest.mark.usefixtures("wide")

WHY = "node 0 gets the 15 shards of the others over 3 links (3 -> 0, 4 -> 0, 12 -> 0)"
CUT = ["Torus(4,4)", "--cut", "0,1"]


def run(capsys, *argv: str) -> str:
    assert main(list(argv)) == 0
    return capsys.readouterr().out


def test_show_says_that_a_damaged_torus_is_optimal_and_why(capsys):
    out = run(capsys, "show", *CUT)
    assert f"    on this wiring     optimal; 4 alpha + 5/4 M/B at least: {WHY}\n" in out
    assert "limited by" not in out
    found = json.loads(run(capsys, "show", *CUT, "--json"))["wiring_bound"]
    assert found == {
        "steps": 4, "t_b": "5/4", "halves": [], "cut_hosts": [str(u) for u in range(1, 16)],
        "cut_links": [["3", "0"], ["4", "0"], ["12", "0"]], "limited_hosts": [], "proof": WHY,
        "t_b_bound_in_steps": None, "optimal": True, "verdict": "optimal",
        "summary": f"optimal; 4 alpha + 5/4 M/B at least: {WHY}",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("recipe", "line"),
    [
        pytest.param(
            "C(15,{1,4,5})", "optimal in 2 steps; 2 alpha + 14/15 M/B at least, 1 M/B in 2 steps",
            marks=pytest.mark.slow,
        ),
        (
            "Pi_{2,5}",
            "optimal; 3 alpha + 8/5 M/B at least: node 1 gets the 4 shards of the others over 1 link (4 -> 1)",
        ),
    ],
)  # fmt: skip
def test_show_says_what_the_wiring_allows(capsys, recipe, line):
    assert f"    on this wiring     {line}\n" in run(capsys, "show", recipe)


def test_show_keeps_what_limits_bfb_where_more_is_possible(capsys):
    out = run(capsys, "show", "L(K_{2,2})")
    assert "    limited by         step 2, node 0: " in out
    assert "within 9.09% of the least in 3 steps; 3 alpha + 7/8 M/B at least, 11/12 M/B in 3 steps\n" in out


def test_check_and_simulate(capsys, tmp_path):
    file = str(tmp_path / "a.npz")
    run(capsys, "schedule", *CUT, "--collective", "allgather", "-o", file)
    lines = run(capsys, "check", file).splitlines()
    assert lines[1:] == [f"on this wiring: optimal; 4 alpha + 5/4 M/B at least: {WHY}"]
    assert json.loads(run(capsys, "check", file, "--json"))["wiring_bound"]["verdict"] == "optimal"
    out = run(capsys, "simulate", file, "--to", "cpu")
    assert f"  on this wiring  optimal; 4 alpha + 5/4 M/B at least: {WHY}\n" in out
    facts = json.loads(run(capsys, "simulate", file, "--to", "cpu", "--json"))
    assert facts["wiring_bound"]["t_b"] == "5/4"
    assert facts["bound_seconds"] == pytest.approx(5 / 4 * 8e6 / 100e9)


def test_check_of_an_allreduce_says_what_its_halves_take(capsys, tmp_path):
    file = str(tmp_path / "a.npz")
    run(capsys, "schedule", *CUT, "-o", file)
    found = json.loads(run(capsys, "check", file, "--json"))["wiring_bound"]
    assert found["verdict"] == "optimal for halves that do not overlap"
    assert (found["t_b"], found["cut_hosts"], found["cut_links"]) == ("60/31", [], [])
    assert [(half["collective"], half["t_b"]) for half in found["halves"]] == [
        ("reduce-scatter", "5/4"),
        ("allgather", "5/4"),
    ]


def test_simulate_bounds_a_runtime_file_by_the_wiring_it_runs_on(capsys, tmp_path):
    """On a topology with a slow cable, too, where N and d say nothing."""
    file = str(tmp_path / "k4.xml")
    run(capsys, "lower", "K_4", "--to", "msccl", "--collective", "allgather", "-o", file)
    argv = ["simulate", file, "--on", "K_4", "--json"]
    whole, slow = (json.loads(run(capsys, *argv, *more)) for more in ([], ["--slow", "0,1=1Gbps"]))
    assert whole["bound_seconds"] == pytest.approx(3 / 4 * 8e6 / 100e9)
    assert whole["bound_seconds"] < slow["bound_seconds"] <= slow["simulated_seconds"]


def test_find_says_where_the_wiring_is_why(capsys):
    asked = ["find", "16", "4", "--families", "paper", "--directed"]
    line = next(line for line in run(capsys, *asked).splitlines() if line.startswith("Pi_{4,16}"))
    assert line.split()[3:5] == ["4*", "2.5000*"]
    assert "each half needs 1.2500 M/B at least" in run(capsys, *asked, "--size", "1KB", "--explain")
    rows = json.loads(run(capsys, *asked, "--json"))["frontier"]
    found = {row["name"]: row["wiring_t_b_bound"] for row in rows}
    assert found == {"Pi_{4,16}": "5/4", "C(16,{3,4})": "15/16"}
