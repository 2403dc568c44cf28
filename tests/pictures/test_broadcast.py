"""Pictures of broadcasts: which link carries the shard at which step, readable at 48 nodes."""

from fractions import Fraction

import pytest

import linkstep
from linkstep.core.errors import FileError, ScheduleError
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.correctness import check_allgather
from linkstep.pictures.broadcast import carried, draw_broadcast
from linkstep.pictures.schedule import draw_schedule, step_loads
from support.pictures import overlapping, texts


def build(recipe):
    return linkstep.parse(recipe).build()


def test_what_links_carry():
    square = build("K_{2,2}")
    links = carried(square, 0)
    half = Fraction(1, 2)
    ends = {(int(square.topology.tail[e]), int(square.topology.head[e])): steps for e, steps in links.items()}
    assert ends == {(0, 2): {1: 1}, (0, 3): {1: 1}, (2, 1): {2: half}, (3, 1): {2: half}}


def test_few_links_have_their_steps_written_on_them(tmp_path):
    draw_broadcast(build("K_{2,2}"), tmp_path / "b.svg", 0)
    said = texts(tmp_path / "b.svg")
    assert said.count("2 (1/2)") == 2 and {"step 1", "step 2", "thin: a part of the shard"} < set(said)
    assert {"root", "1 hop", "2 hops", "N = 4, d = 2: how the shard of 0 spreads"} < set(said)


def test_many_links_have_colours_and_a_legend(tmp_path):
    schedule = build("Pi_{4,48}")
    draw_broadcast(schedule, tmp_path / "b.svg", 0)
    said = texts(tmp_path / "b.svg")
    numbers = [text for text in said if text.isdigit()]
    assert sorted(map(int, numbers)) == list(range(48))  # nodes, and no text on links
    assert {"step 1", "step 2", "step 3"} < set(said)
    assert not any(text.startswith("hollow") for text in said)  # all take part


@pytest.mark.parametrize("hosts", [3, pytest.param(90, marks=pytest.mark.slow)], ids=["few hosts", "many hosts"])
def test_the_legend_says_what_is_hollow(tmp_path, hosts):
    """A path whose ends exchange their shards through all others."""
    there = list(range(hosts - 1))
    path = Topology.from_links(hosts, there + [k + 1 for k in there], [k + 1 for k in there] + there)
    links = [int(path.out_ptr[k + 1]) - 1 for k in there], [int(path.out_ptr[k]) for k in range(hosts - 1, 0, -1)]
    rows = [(source, 0, 1, link, step) for source in (0, 1) for step, link in enumerate(links[source], 1)]
    gather = Schedule.from_columns(path, 1, *zip(*rows, strict=True), ranks=Ranks.of(path, [0, hosts - 1]))
    check_allgather(gather)
    draw_broadcast(gather, tmp_path / "b.svg", 0)
    assert texts(tmp_path / "b.svg").count("hollow: only forwards") == 1
    assert overlapping(lambda path: draw_broadcast(gather, path, 0), tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["Pi_{4,48}", "Torus(4,4)", "UniRing(1,20)", "K_{4,4}"])
def test_no_text_lies_on_another(tmp_path, recipe):
    assert overlapping(lambda path: draw_broadcast(build(recipe), path, 0), tmp_path) == []


@pytest.mark.slow
def test_no_name_lies_on_another_at_48_hosts(tmp_path):
    schedule = build("Pi_{4,48}")
    object.__setattr__(schedule.topology, "labels", tuple(f"rack{k // 16}-server-{k % 16:02}" for k in range(48)))
    assert overlapping(lambda path: draw_broadcast(schedule, path, 5), tmp_path) == []
    draw_broadcast(schedule, tmp_path / "b.svg", 5)
    assert "N = 48, d = 4: how the shard of rack0-server-05 spreads" in texts(tmp_path / "b.svg")


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "suffix"), [("Torus(3,3)", ".png"), ("Torus(9,9)", ".svg")])
def test_same_schedule_same_bytes(tmp_path, recipe, suffix):
    for name in ("a", "b"):
        draw_broadcast(build(recipe), tmp_path / f"{name}{suffix}", 3)
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_a_schedule_that_carries_nothing(tmp_path):
    two = Topology.from_links(2, [0, 1], [1, 0])
    nothing = Schedule.from_columns(two, 1, [], [], [], [], [])
    draw_broadcast(nothing, tmp_path / "b.svg", 0)
    assert "root" in texts(tmp_path / "b.svg")
    draw_schedule(nothing, tmp_path / "s.svg")
    assert "load, in shards" in texts(tmp_path / "s.svg")


def test_rejections(tmp_path):
    with pytest.raises(ScheduleError, match=r"root must be a node in \[0, 4\), not 4"):
        draw_broadcast(build("K_{2,2}"), tmp_path / "b.svg", 4)
    with pytest.raises(FileError, match=r"must end in \.svg or \.png"):
        draw_broadcast(build("K_{2,2}"), tmp_path / "b.pdf", 0)
    assert not list(tmp_path.iterdir())


def test_loads_of_steps_add_up_to_the_cost():
    for recipe in ("K_{2,2}", "Torus(3,4)", "L(K_{2,2})", "Pi_{4,48}"):
        schedule = build(recipe)
        busiest, total = step_loads(schedule)
        n, d = schedule.topology.num_nodes, schedule.topology.degree
        assert Fraction(int(busiest.sum()) * d, n * schedule.unit) == linkstep.cost_of(schedule).bandwidth
        assert int(total.sum()) == int((schedule.hi - schedule.lo).sum())


def test_a_schedules_picture_says_what_it_is(tmp_path):
    for name in ("a", "b"):
        draw_schedule(build("Torus(3,4)"), tmp_path / f"{name}.svg")
    assert {"Torus(3,4): allgather, 3 steps", "busiest link", "load, in shards"} <= set(texts(tmp_path / "a.svg"))
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
