"""Why messages began when they did: equations between ticks, and the critical path by hand and as a sum."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import linkstep
import support
from linkstep.costs import Fabric
from linkstep.simulation import simulate_program, simulate_schedule, used_links
from linkstep.simulation.causes import causes_of
from linkstep.timelines import timeline_of

PROGRAMS = sorted((Path(support.__file__).parent / "programs").iterdir())
FABRIC = Fabric.of("10us", "100Gbps", 4)


def run(recipe, to="msccl", fabric=FABRIC, size="1MB", **options):
    return simulate_schedule(linkstep.parse(recipe).build("allreduce"), to, fabric, size, **options)


def columns(done):
    """Return the rows of a simulation in ticks: (link, sent, done, gone), and causes."""
    log = done.log
    return [(int(log.link[k]), int(log.sent[k]), int(log.done[k]), int(log.gone[k])) for k in done.sent_row.tolist()]


def test_a_ring_by_hand():
    """Eight messages around a ring of four, one after the other: each waits for the one before it on the ring."""
    done = run("UniRing(1,4)", size="4MB")
    causes = causes_of(done)
    path = [(int(done.sent_link[k]), int(done.sent_round[k])) for k in causes.critical]
    assert [round for _, round in path] == [1, 2, 3, 4, 5, 6]
    assert all((b - a) % 4 == 1 for (a, _), (b, _) in pairwise(path))
    assert set(causes.chunks.tolist()) == {1}
    for row, waited in enumerate(causes.waited_for.tolist()):
        if done.sent_round[row] == 1:
            assert waited == -1
        else:
            assert (done.sent_round[waited], done.sent_link[waited]) == (
                done.sent_round[row] - 1,
                (done.sent_link[row] - 1) % 4,
            )


@pytest.mark.parametrize(
    ("recipe", "to", "options"),
    [
        ("K_{2,2}", "msccl", {}),
        ("C(12,{2,3})", "rccl", {}),
        ("Torus(3,3)", "mscclpp", {}),
        ("H(2,3)", "cpu", {}),
        ("Diamond", "msccl", {"tight": True, "instances": 2}),
        ("Torus(4,4)", "msccl", {"instruction_time": "1us"}),
    ],
)
@pytest.mark.parametrize("limit", [None, "150Gbps"])
def test_every_message_began_when_what_it_waited_for_was_there(recipe, to, options, limit):
    fabric = Fabric.of("10us", "100Gbps", 4, host_bandwidth=limit)
    done = run(recipe, to, fabric, **options)
    causes, rows, log = causes_of(done), columns(done), done.log
    free = {}
    for row, waited in enumerate(causes.waited_for.tolist()):
        link, sent, over, _ = rows[row]
        if waited >= 0:
            assert rows[waited][2] <= sent
        if sent > free.get(link, 0) and waited < 0:
            assert options or sent == 0  # what waited for nothing began at once, after its own instructions at most
        free[link] = over
    path = [rows[k] for k in causes.critical]
    assert path and path[0][1] == (0 if not options.get("instruction_time") else path[0][1])
    for (before, _, ended, gone), (link, sent, *_), k in zip(path, path[1:], causes.critical[1:], strict=False):
        on_link = before == link and ended == sent
        assert on_link or rows[causes.waited_for[k]] == (before, *path[causes.critical.index(k) - 1][1:])
        if not options:
            arrival = gone + int(log.latency[before])
            assert sent in (ended, gone, arrival)
    if not options:
        assert path[-1][3] + int(log.latency[path[-1][0]]) == log.end.max()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_foreign_programs_have_a_path(path):
    program = linkstep.read_program(path.read_text())
    topology = used_links(program)
    done = simulate_program(program, topology, Fabric.of("10us", "100Gbps", topology.degree), "1MB")
    causes = causes_of(done)
    times = [(done.sent_start[k], done.sent_end[k]) for k in causes.critical]
    assert times and all(a[1] <= b[0] + 1e-12 for a, b in pairwise(times))
    assert times[-1][1] <= done.time


def test_bytes_are_exact():
    done = run("K_{2,2}", size="1000001B")
    assert done.log.chunk * done.program.chunks == Fraction(1000001)
    sent = (causes_of(done).chunks * done.log.chunk).sum()
    assert sent == Fraction(1000001) * int(causes_of(done).chunks.sum()) / done.program.chunks


def test_a_simulation_made_by_hand_keeps_no_causes():
    done = run("K_{2,2}")
    bare = type(done)(
        done.program, done.topology, done.time, done.start, done.end, done.sent_link, done.sent_round,
        done.sent_start, done.sent_end,
    )  # fmt: skip
    assert causes_of(bare) is None and not len(timeline_of(bare).flows)
    assert np.array_equal(timeline_of(bare).spans.start, done.sent_start)
