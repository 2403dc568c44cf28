"""What cannot fit is refused before the work, and remedies are not searched for long."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import linkstep
from linkstep import lowering
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology
from linkstep.lowering import TARGETS, check_fits, fitting, lower, pipeline

XML = ("msccl", "msccl-azure", "rccl")


def star(num_leaves: int) -> Topology:
    leaves = list(range(1, num_leaves + 1))
    return Topology.from_links(num_leaves + 1, leaves + [0] * num_leaves, [0] * num_leaves + leaves)


@pytest.mark.parametrize(
    ("to", "recipe", "collective", "options", "message"),
    [
        ("msccl", "K(4,4)", "allgather", {}, "ranks: 1280, 256 over the limit of 1024; lower it to mscclpp or cpu, "),
        ("rccl", "K_34", "allreduce", {}, "peers of a rank: 33, 1 over the limit of 32; lower it to mscclpp or cpu, "),
        ("msccl", "K_5", "allgather", {"channels": 33}, "channels: 33, 1 over the limit of 32; leave out --channels"),
        ("msccl", "K_5", "allgather", {"instances": 33}, "channels: 33, 1 over the limit of 32; leave out --instances"),
        ("msccl", "K_5", "allgather", {"chunks": 10**9}, "chunks of data: 5000000000, "),
        ("msccl", "K_5", "broadcast", {"chunks": 40000}, "chunks of data: 40000, 7233 over the limit of 32767; "),
        ("mscclpp", "K_5", "allgather", {"channels": 10**11}, "channels: 100000000000, 99999998976 over the"),
        ("cpu", "K_5", "allreduce", {"chunks": 2 * 10**6}, "moves of a chunk over a link: 80000000, 30000000 over "),
        ("cpu", "Q(13)", "allgather", {}, "moves of a chunk over a link: 67100672, 17100672 over the limit"),
        ("mscclpp", "K_5", "reduce", {}, "mscclpp has no reduce: lower it to msccl or "),
        ("cpu", "K_5", "reduce", {"proto": "LL"}, "cpu has no protocol LL, only Simple"),
        ("cpu", "K_5", "alltoall", {}, "collective must be one of "),
    ],
)  # fmt: skip
def test_refused_by_the_topology_alone(to, recipe, collective, options, message):
    with pytest.raises(LinkstepError) as caught:
        check_fits(to, linkstep.parse(recipe).topology(), collective, **options)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_what_may_fit_passes():
    for to, target in TARGETS.items():
        for collective in target.collectives:
            check_fits(to, linkstep.parse("L(K_{4,4})").topology(), collective, channels=2, instances=3, chunks=4)
    check_fits("msccl", star(33), "broadcast")  # from a leaf, or over few of its links


def test_only_links_that_are_used_make_peers():
    """A ring of all nodes inside a complete graph has one peer a node, however many links there are."""
    n = 40
    complete = linkstep.parse(f"K_{n}").topology()
    link = {(int(u), int(w)): e for e, (u, w) in enumerate(zip(complete.tail, complete.head, strict=True))}
    rows = [((v - t) % n, link[v, (v + 1) % n], t + 1) for t in range(n - 1) for v in range(n)]
    ring = linkstep.Schedule.from_columns(
        complete, 1, [v for v, _, _ in rows], [0] * len(rows), [1] * len(rows), [e for _, e, _ in rows],
        [t for _, _, t in rows],
    )  # fmt: skip
    with pytest.raises(LinkstepError, match="peers of a rank: 39"):
        check_fits("msccl", complete, "allgather")
    assert lower(ring, "msccl").text


def test_peers_that_are_only_received_from_count():
    """All leaves of a star reduce to its middle."""
    topology = star(33)
    rows = [e for e in range(66) if topology.head[e] == 0]
    schedule = linkstep.Schedule.from_columns(
        topology, 1, [0] * 33, [0] * 33, [1] * 33, rows, [1] * 33, Collective.REDUCE
    )
    linkstep.check(schedule)
    with pytest.raises(LinkstepError, match="peers of a rank: 33, 1 over the limit of 32; lower it to cpu"):
        lower(schedule, "msccl")


def test_what_has_too_many_messages_gets_no_threadblocks(monkeypatch):
    monkeypatch.setattr(fitting, "build_blocks", None)
    monkeypatch.setattr(pipeline, "_MOST_TRIED", 0)
    monkeypatch.setitem(TARGETS, "msccl", replace(TARGETS["msccl"], max_elements=40))
    with pytest.raises(LinkstepError, match=r"XML elements a rank reads: 47, 7 over the limit of 40; "):
        lower(linkstep.parse("UniRing(1,16)").build("allreduce"), "msccl")


@pytest.mark.slow
def test_remedies_of_large_programs_are_not_tried(monkeypatch):
    made = []
    monkeypatch.setattr(pipeline, "place", lambda *args: made.append(args) or lowering.place(*args))
    monkeypatch.setitem(TARGETS, "rccl", replace(TARGETS["rccl"], max_steps=16))
    monkeypatch.setitem(TARGETS, "mscclpp", replace(TARGETS["mscclpp"], max_steps=16))
    schedule = linkstep.parse("UniRing(1,16)").build("allreduce")
    with pytest.raises(LinkstepError, match="leave out --channels or lower it to msccl"):
        lower(schedule, "rccl", channels=1)
    assert len(made) > 2
    made.clear()
    monkeypatch.setattr(pipeline, "_MOST_TRIED", 100)
    with pytest.raises(LinkstepError, match="the limit of 16; mscclpp or msccl or msccl-azure or cpu may take it"):
        lower(schedule, "rccl", channels=1)
    assert len(made) == 1


@pytest.mark.parametrize("to", TARGETS)
def test_progress_moves_to_its_end(to):
    seen = []
    lower(linkstep.parse("Torus(4,4)").build("allreduce"), to, progress=lambda *report: seen.append(report))
    assert seen == sorted(seen) and len(set(seen)) > 3
    assert all(0 <= done <= total for done, total in seen) and seen[-1][0] == seen[-1][1]


def test_targets_in_order_with_notes():
    assert list(TARGETS) == ["mscclpp", "msccl", "msccl-azure", "rccl", "cpu"]
    assert all(target.note and "\n" not in target.note for target in TARGETS.values())
    assert "removed from it in 2026" in TARGETS["rccl"].note


def test_lowering_knows_nothing_of_programs_and_verification():
    for path in Path(lowering.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", "")]
            assert not any(str(name).startswith(("linkstep.programs", "linkstep.verification")) for name in names), path
