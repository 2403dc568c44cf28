"""Timelines: every link of few, the busiest and the worst of many, and when how many are busy."""

import re
from pathlib import Path

import numpy as np
import pytest

import linkstep
import support
from linkstep.costs import Fabric
from linkstep.pictures.style import save_figure
from linkstep.pictures.timeline import busy_lanes, draw_timeline, save_timeline, timeline_size
from linkstep.programs import read_program
from linkstep.simulation import Simulation, simulate_program, simulate_schedule, used_links
from linkstep.timelines import Lane, Span, Timeline, timeline_of
from support.pictures import overlapping, texts

PROGRAMS = Path(support.__file__).parent / "programs"


def run(recipe, collective="allreduce", to="msccl"):
    schedule = linkstep.parse(recipe).build(collective)
    return simulate_schedule(schedule, to, Fabric.of("10us", "100Gbps", schedule.topology.degree), "1MB")


@pytest.fixture(scope="module")
def many():
    """A simulation of 1024 links, made by hand: link e is busy for a round of e mod 8 + 1 microseconds, then again."""
    program = read_program((PROGRAMS / "ring-allreduce.cpu.xml").read_text())
    topology = linkstep.parse("C(256,{11,12})").topology()
    link = np.repeat(np.arange(1024), 2)
    busy = (link % 8 + 1) * 1e-6
    start = np.tile([0.0, 10e-6], 1024)
    none = np.zeros(0)
    return Simulation(
        program=program, topology=topology, time=20e-6, start=none, end=none,
        sent_link=link, sent_round=np.tile([1, 2], 1024), sent_start=start, sent_end=start + busy, predicted=20e-6,
    )  # fmt: skip


def test_few_links_all_have_rows(tmp_path):
    save_timeline(run("K_{2,2}"), tmp_path / "t.svg")
    said = texts(tmp_path / "t.svg")
    assert "K_{2,2}: allreduce for msccl, 4 rounds" in said
    assert {"0 to 2", "3 to 1", "time, us", "link"} < set(said)
    assert {"critical path", "idle, with more to carry", "what the schedule costs", "done", "round 1", "round 4"} < set(
        said
    )
    assert "4" in said  # rounds are written on bars: colours are not all that tells them


def test_a_file_of_no_size(tmp_path):
    program = read_program((PROGRAMS / "ring-allreduce.cpu.xml").read_text())
    topology = used_links(program)
    done = simulate_program(program, topology, Fabric.of("10us", "100Gbps", topology.degree), "0B")
    save_figure(lambda axes: draw_timeline(done, axes, "a file"), tmp_path / "u.svg")
    assert any(text.startswith("a file: allreduce for cpu") for text in texts(tmp_path / "u.svg"))


@pytest.mark.slow
def test_many_rounds_have_a_colour_bar(tmp_path):
    save_timeline(run("UniRing(1,9)"), tmp_path / "t.svg")
    said = texts(tmp_path / "t.svg")
    assert "round" in said and "round 1" not in said


@pytest.mark.slow
def test_many_links_show_the_busiest_and_the_worst(tmp_path, many):
    save_timeline(many, tmp_path / "t.svg", "a job")
    said = texts(tmp_path / "t.svg")
    assert any(text.startswith("a job: allreduce for cpu, 2 rounds; 60 of 1024 links") for text in said)
    assert "part of all 1024 links that is busy" in said
    assert "the 40 busiest links" in said and "of the others, the 20 that waited the longest" in said
    rows = [text for text in said if re.fullmatch(r"\d+ to \d+", text)]
    assert len(rows) == 60
    ends = {f"{u} to {w}": e for e, (u, w) in enumerate(zip(many.topology.tail, many.topology.head, strict=True))}
    assert [ends[text] % 8 for text in rows] == [7] * 40 + [0] * 20
    assert timeline_size(many)[1] < 15


def test_how_many_links_are_busy(many):
    times, busy = busy_lanes(timeline_of(many))
    assert times[:3].tolist() == pytest.approx([0, 1e-6, 2e-6])
    assert busy[:3].tolist() == [1024, 896, 768] and busy[-1] == 0


@pytest.mark.slow
def test_no_text_lies_on_another(tmp_path, many):
    assert overlapping(lambda path: save_timeline(many, path), tmp_path) == []
    assert overlapping(lambda path: save_timeline(run("Torus(3,3)"), path), tmp_path) == []


def test_hosts_have_their_names(tmp_path):
    done = run("UniRing(1,3)")
    object.__setattr__(done.topology, "labels", ("ant", "bee", "cat"))
    save_timeline(done, tmp_path / "t.svg")
    assert "ant to bee" in texts(tmp_path / "t.svg")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_same_simulation_same_bytes(tmp_path, suffix):
    for name in ("a", "b"):
        save_timeline(run("K_{2,2}"), tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.slow
def test_of_many_lanes_those_of_the_critical_path_come_first(tmp_path):
    """In the order of the path, of which one lane has two; nothing is in two places."""
    lanes = [Lane("g", f"lane {k}") for k in range(200)]
    spans = [Span(k, "a", "x", 0.0, 1.0 + (k % 7)) for k in range(200)]
    path = [150, 3, 199, 40]
    spans += [Span(lane, "b", "x", 10.0 + k, 11.0 + k) for k, lane in enumerate([*path, 150])]
    save_timeline(Timeline("t", lanes, spans, (), range(200, 205)), tmp_path / "t.svg")
    said = texts(tmp_path / "t.svg")
    assert {"the critical path", "the 40 busiest others", "of the others, the 20 that waited the longest"} < set(said)
    rows = [text for text in said if re.fullmatch(r"lane \d+", text)]
    assert rows[:4] == [f"lane {k}" for k in path] and len(rows) == len(set(rows)) == 64


def test_any_timeline_is_drawn(tmp_path):
    """Kinds have colours where there are no rounds, and lanes their groups where names alone are not enough."""
    lanes = [Lane(f"rank {rank}", name) for rank in range(2) for name in ("steps", "calls")]
    spans = [
        Span(0, "step 1", "step", 0.0, 2.0, (("step", 1),)),
        Span(1, "send step 1", "send", 0.0, 0.5, (("step", 1),)),
        Span(3, "wait step 1", "wait", 0.2, 2.0, (("step", 1),)),
    ]
    timeline = Timeline("two ranks", lanes, spans, (), (1, 2))
    linkstep.draw(timeline, tmp_path / "t.svg")
    said = texts(tmp_path / "t.svg")
    assert {"two ranks", "time, ms", "step", "send", "wait", "critical path", "idle, with more to do", "1"} < set(said)
    assert {"rank 0, steps", "rank 0, calls", "rank 1, steps", "rank 1, calls"} < set(said)
    assert "link" not in said and "round" not in " ".join(said)


def test_a_timeline_of_nothing(tmp_path):
    save_timeline(Timeline("nothing", [Lane("g", "idle lane")], []), tmp_path / "t.svg")
    assert {"nothing", "idle lane", "time, us"} < set(texts(tmp_path / "t.svg"))
