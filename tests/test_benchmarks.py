"""Benchmarks that others run: what they count and convert is right, and what is missing is said in a line."""

import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks import lowered, sccl, setup

from linkstep.core.collective import Collective
from linkstep.correctness import check
from linkstep.costs import cost_of
from linkstep.families import FAMILIES
from linkstep.lowering import TARGETS
from linkstep.methods.bfb import bfb_allgather
from linkstep.recipe import parse

# SCCL from a checkout

FAKE = {
    "collectives": "def allgather(num_nodes):\n    return num_nodes\n",
    "instance": """
class Instance:
    def __init__(self, steps, extra_rounds=0, chunks=1):
        self.steps, self.extra_rounds, self.chunks = steps, extra_rounds, chunks
""",
    "topologies/topology": """
class Topology:
    def __init__(self, name, links):
        self.name, self.links = name, links
""",
    "strategies": """
from types import SimpleNamespace

import z3  # as the real one does


def solve_instance(topology, num_nodes, instance):
    # Four nodes in a ring, numbered as a square: a shard goes both ways, and one of the two neighbours passes it on.
    if instance.steps + instance.extra_rounds < 3 * instance.chunks:
        return None
    assert topology.links == [[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]]
    chunks = [(v, v * instance.chunks + x) for v in range(4) for x in range(instance.chunks)]
    first = [(address, v, v ^ bit) for v, address in chunks for bit in (1, 2)]
    second = [(address, v ^ 1, v ^ 3) for v, address in chunks]
    return SimpleNamespace(steps=[SimpleNamespace(sends=first), SimpleNamespace(sends=second)])
""",
}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder laid out as a checkout of SCCL, with a solver that knows one answer."""
    for name, text in FAKE.items():
        file = tmp_path / "msccl" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] in ("msccl", "z3")]:
        del sys.modules[name]


def test_sccl_is_run_and_what_it_finds_is_checked(checkout, capsys):
    (checkout / "z3.py").write_text("")
    assert sccl.main([str(checkout), "Q(2)", "--chunks", "1,2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["Q(2)", "1"], ["Q(2)", "2"]]
    assert all("2 alpha + 1 M/B" in line and line.endswith("2 alpha + 3/4 M/B") for line in lines[1:])


def test_a_schedule_of_sccl_is_ours():
    """Sends by address, sender and receiver are rows of a schedule."""
    topology = parse("Q(2)").topology()
    ours = bfb_allgather(topology)
    ends = topology.tail[ours.link].tolist(), topology.head[ours.link].tolist()
    sends = [
        (source * ours.unit + x, sender, receiver, step)
        for source, lo, hi, step, sender, receiver in zip(
            ours.source.tolist(), ours.lo.tolist(), ours.hi.tolist(), ours.step.tolist(), *ends, strict=True
        )
        for x in range(lo, hi)
    ]

    by_step = [[send[:3] for send in sends if send[3] == step] for step in range(1, ours.num_steps + 1)]
    algorithm = SimpleNamespace(steps=[SimpleNamespace(sends=several) for several in by_step])
    made = sccl.as_schedule(topology, algorithm, ours.unit)
    check(made)
    assert cost_of(made) == cost_of(ours)


@pytest.mark.parametrize("folder", ["", "nowhere"])
def test_without_a_checkout_sccl_is_not_run(tmp_path, capsys, folder):
    assert sccl.main([str(tmp_path / folder)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert "is no checkout of SCCL" in err and "git clone https://github.com/microsoft/msccl-tools" in err


def test_without_z3_sccl_is_not_run(checkout, capsys, monkeypatch):
    monkeypatch.setattr(sccl, "find_spec", lambda name: None)
    assert sccl.main([str(checkout)]) == 2
    expected = "benchmarks.sccl: SCCL needs the solver z3, which is not installed: python -m pip install z3-solver\n"
    assert capsys.readouterr() == ("", expected)


def test_chunks_of_sccl_are_numbers(tmp_path, capsys):
    assert sccl.main([str(tmp_path), "--chunks", "1,x"]) == 2
    assert capsys.readouterr().err == "benchmarks.sccl: --chunks must be numbers from 1 such as 1,2,4, not '1,x'\n"


# Over a thousand schedules lowered


def test_every_family_is_lowered():
    """Also where only every sixth member is: each family that has any begins with its first."""
    few, all_of_them = lowered.recipes(64, [1, 2, 3, 4], 6), lowered.recipes(64, [1, 2, 3, 4])
    assert set(few) <= set(all_of_them) and 6 * len(few) > 1000 and len(all_of_them) > 1000
    has_any = {
        family.notation for family in FAMILIES
        if any(True for n in range(2, 65) for d in range(1, 5) for _ in family.members(n, d))
    }  # fmt: skip
    assert {parse(name).family.notation for name in few} == has_any
    assert [parse(name).num_nodes for name in few] == sorted(parse(name).num_nodes for name in few)


def test_counts_and_failures_are_told():
    rows = [
        {"recipe": "K_3", "collective": "allreduce", "to": "cpu", "outcome": "verified"},
        {"recipe": "K_4", "collective": "allreduce", "to": "cpu", "outcome": "refused", "why": "too long"},
        {"recipe": "K_5", "collective": "reduce", "to": "msccl", "outcome": "failed", "why": "a race"},
    ]
    text = lowered.summary(rows)
    assert "3 topologies, 3 schedules, 1 files verified" in text and "1+1" in text
    assert "cpu, allreduce on K_4: too long" in text and "FAILED: msccl, reduce on K_5: a race" in text


@pytest.mark.slow
def test_a_run_goes_on_from_its_log(tmp_path, capsys):
    log = tmp_path / "log.jsonl"
    args = ["--nodes", "4", "--every", "5", "--workers", "1", "--log", str(log)]
    assert lowered.main(args) == 0
    first, text = capsys.readouterr().out, log.read_text()
    log.write_text("\n".join(text.splitlines()[:-1]) + "\n" + text.splitlines()[-1][:20])  # stopped while writing
    assert lowered.main(args) == 0
    assert capsys.readouterr().out == first
    assert sorted(log.read_text().splitlines()) == sorted(text.splitlines())


SAMPLE = lowered.recipes(20, [1, 2, 3, 4], 24)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", SAMPLE)
def test_lowered_to_every_runtime(recipe):
    """Of each family every 24th member up to 20 nodes, by every collective, to every runtime: verified, or refused.

    What a runtime has no room for is refused with a reason, such as long one-way rings by MSCCL++.
    """
    rows = list(lowered.outcomes(recipe))
    found = Counter(row["outcome"] for row in rows)
    assert found.total() == sum(c in target.collectives for target in TARGETS.values() for c in Collective)
    assert found.keys() <= {"verified", "refused"} and found["refused"] <= 1
    assert all(row["why"] for row in rows if row["outcome"] == "refused")


# What a run costs before its ranks start


@pytest.mark.slow
def test_set_up_is_compared_with_another_checkout(capsys, monkeypatch):
    monkeypatch.setattr(setup, "TURNS", 1)
    assert setup.main(["K_4", "--against", str(Path(__file__).parents[1])]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["allreduce", "set-up", "there", "ratio"]
    name, *numbers = row.split()
    assert name == "K_4" and all(float(number.rstrip("s")) > 0 for number in numbers) and len(numbers) == 3


def test_set_up_needs_a_checkout(capsys, tmp_path):
    assert setup.main(["--against", str(tmp_path)]) == 2
    assert capsys.readouterr() == ("", f"benchmarks.setup: {tmp_path} is no checkout: it has no src/linkstep\n")
