"""Files: round trips, one clear line for everything that is wrong, and nothing half-written."""

import io
import json
import os
import pickle
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import COLLECTIVES, ROW_COLUMNS, Schedule
from linkstep.core.topology import Topology
from linkstep.correctness import check
from linkstep.files import (
    SUFFIXES,
    check_savable,
    load,
    load_schedule,
    load_topology,
    own,
    save,
    write_atomically,
)

KEEPING = (".npz", ".json", ".csv", ".graphml")
"""Formats that hold every topology; published graphs, in test_graphs.py, have no loops, no names and no columns."""

RING = Topology.from_links(3, [0, 1, 2], [1, 2, 0], "UniRing(1,3)")
PLAIN = Topology.from_links(4, [0, 0, 1, 1, 3], [1, 1, 0, 1, 2], "L^2(C(4,{1})) & <x>")
RICH = Topology.from_links(2, [0, 0, 1], [1, 1, 0], "two", bandwidth=[10**11, 1, 5], alpha=[0, 2**62, 7])
BARE = Topology.from_links(3, [], [])
GATHER = Schedule.from_columns(
    RING,
    1,
    source=[0, 1, 2, 2, 0, 1],
    lo=[0] * 6,
    hi=[1] * 6,
    link=[0, 1, 2, 0, 1, 2],
    step=[1, 1, 1, 2, 2, 2],
)
HEAD = {
    "format": "linkstep", "kind": "schedule", "format_version": 1, "recipe": "", "num_nodes": 3,
    "collective": "allgather", "unit": 1,
}  # fmt: skip
"""As versions 1 and 2 have it."""
NEW_HEAD = {
    "format": "linkstep/schedule", "version": 3, "recipe": "", "nodes": 3, "collective": "allgather",
    "chunks_per_shard": 1,
}  # fmt: skip


@st.composite
def topologies(draw):
    n = draw(st.integers(1, 6))
    node = st.integers(0, n - 1)
    links = draw(st.lists(st.tuples(node, node), max_size=12))
    column = st.none() | st.lists(st.integers(1, 2**63 - 1), min_size=len(links), max_size=len(links))
    columns = {"bandwidth": draw(column), "alpha": draw(column)} if links else {}
    name = draw(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=8))
    return Topology.from_links(n, [u for u, _ in links], [w for _, w in links], name, **columns)


@st.composite
def schedules(draw):
    topology = draw(topologies())
    unit = draw(st.integers(1, 2**40))
    row = st.tuples(
        st.integers(0, topology.num_nodes - 1),
        st.lists(st.integers(0, unit), min_size=2, max_size=2, unique=True).map(sorted),
        st.integers(0, max(topology.num_links - 1, 0)),
        st.integers(1, 2**15 - 1),
    )
    rows = draw(st.lists(row, max_size=8 if topology.num_links else 0))
    return Schedule.from_columns(
        topology, unit, source=[r[0] for r in rows], lo=[r[1][0] for r in rows], hi=[r[1][1] for r in rows],
        link=[r[2] for r in rows], step=[r[3] for r in rows], collective=draw(st.sampled_from(COLLECTIVES)),
    )  # fmt: skip


WHOLE = Topology.from_links(
    3, [0, 1, 2, 2], [1, 2, 0, 0], "all of it", bandwidth=[1, 2, 3, 3], alpha=[0, 0, 4, 4],
    opens=[1, 2, 1, 3], closes=[5, 9, 2, 32767], labels=["a", "b", "c"], hosts=["x", "x", "y"], racks=["r", "s", "s"],
)  # fmt: skip
"""Every column there is."""
FORWARDING = Schedule.from_columns(
    WHOLE, 2, source=[0, 0, 1], lo=[0, 0, 0], hi=[2, 2, 2], link=[0, 1, 2], step=[1, 2, 2],
    ranks=Ranks.of(WHOLE, [0, 2]),
)  # fmt: skip


odd_names = st.sampled_from(["tail", "head", "#1", '"', "a,b", "ä 1", "0", "1", "2", "-1", "1.0", "<x>&'", "nodes=3"])
plain_names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)


@st.composite
def newer(draw):
    """Draw a schedule of some ranks, in any order, on a topology with lifetimes, hosts and racks, or some of these."""
    schedule = draw(schedules())
    old, n = schedule.topology, schedule.topology.num_nodes
    steps = st.lists(st.integers(1, 2**15 - 1), min_size=2 * old.num_links, max_size=2 * old.num_links).map(sorted)
    spans = draw(steps)
    some = st.none() | st.lists(odd_names | plain_names, min_size=n, max_size=n)
    lifetimes = {"opens": spans[: old.num_links], "closes": spans[old.num_links :]} if draw(st.booleans()) else {}
    topology = Topology.from_links(
        n, old.tail, old.head, old.name, hosts=draw(some), racks=draw(some), **(old.columns | lifetimes)
    )
    ranks = draw(st.permutations(range(n)))[: draw(st.integers(1, n))]
    source = schedule.source % len(ranks)
    return Schedule.from_columns(
        topology, schedule.unit, source, schedule.lo, schedule.hi, schedule.link, schedule.step, schedule.collective,
        Ranks.of(topology, ranks),
    )  # fmt: skip


@st.composite
def labelled(draw, things):
    """Give hosts names of every kind: words, numbers in any order, what CSV and XML use themselves."""
    thing = draw(things)
    topology = thing.topology if isinstance(thing, Schedule) else thing
    n = topology.num_nodes
    some = st.lists(odd_names | plain_names, min_size=n, max_size=n, unique=True)
    topology = topology.with_labels(draw(some | st.permutations([str(u) for u in range(n)])))
    return replace(thing, topology=topology) if isinstance(thing, Schedule) else topology


def refuses(path, match):
    """Load must raise a FileError of one line that names the file."""
    with pytest.raises(FileError, match=match) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


# --- round trips ---


@pytest.mark.parametrize("suffix", KEEPING)
@settings(deadline=None, max_examples=12)
@given(topology=topologies())
def test_topology_round_trip(tmp_path_factory, suffix, topology):
    path = tmp_path_factory.getbasetemp() / f"t{suffix}"
    save(topology, path)
    again = load(path)
    assert isinstance(again, Topology)
    assert again == topology
    assert again.name == topology.name
    assert not again.tail.flags.writeable


@pytest.mark.parametrize("suffix", [".npz", ".json"])
@settings(deadline=None, max_examples=12)
@given(schedule=schedules())
def test_schedule_round_trip(tmp_path_factory, suffix, schedule):
    path = tmp_path_factory.getbasetemp() / f"s{suffix}"
    save(schedule, path)
    again = load(path)
    assert isinstance(again, Schedule)
    assert again == schedule
    for what in ROW_COLUMNS:
        column = getattr(again, what)
        assert column.dtype == getattr(schedule, what).dtype
        assert not column.flags.writeable


@pytest.mark.parametrize("suffix", KEEPING)
@settings(deadline=None, max_examples=25)
@given(topology=labelled(topologies()))
def test_names_of_hosts_round_trip(tmp_path_factory, suffix, topology):
    path = tmp_path_factory.getbasetemp() / f"named{suffix}"
    save(topology, path)
    again = load(path)
    assert (again, again.labels, again.name) == (topology, topology.labels, topology.name)


@pytest.mark.parametrize("suffix", [".npz", ".json"])
@settings(deadline=None, max_examples=10)
@given(schedule=labelled(schedules()))
def test_a_schedule_keeps_the_names_of_its_hosts(tmp_path_factory, suffix, schedule):
    path = tmp_path_factory.getbasetemp() / f"named-schedule{suffix}"
    save(schedule, path)
    again = load(path)
    assert (again, again.topology.labels) == (schedule, schedule.topology.labels)


@settings(deadline=None, max_examples=10)
@given(topology=labelled(topologies()))
def test_networkx_reads_names_of_hosts(tmp_path_factory, topology):
    path = tmp_path_factory.getbasetemp() / "named-for-networkx.graphml"
    save(topology, path)
    assert tuple(nx.read_graphml(path, force_multigraph=True).nodes) == topology.labels


@pytest.mark.parametrize("suffix", KEEPING)
@given(schedule=newer())
def test_ranks_lifetimes_and_places_round_trip(tmp_path_factory, suffix, schedule):
    path = tmp_path_factory.getbasetemp() / f"newer{suffix}"
    thing = schedule if suffix in (".npz", ".json") else schedule.topology
    save(thing, path)
    loaded = load(path)
    assert loaded == thing
    topology = loaded.topology if isinstance(loaded, Schedule) else loaded
    assert (topology.hosts, topology.racks) == (schedule.topology.hosts, schedule.topology.racks)


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_every_file_says_its_format_and_version(tmp_path, suffix):
    def head(thing) -> dict:
        save(thing, tmp_path / f"t{suffix}")
        if suffix == ".json":
            return json.loads((tmp_path / f"t{suffix}").read_text())
        with np.load(tmp_path / f"t{suffix}") as members:
            return json.loads(members["linkstep"].tobytes())

    for thing in (RING, RICH, WHOLE, GATHER, replace(GATHER, ranks=Ranks.of(RING, [1, 0, 2]))):
        kind = "schedule" if isinstance(thing, Schedule) else "topology"
        assert list(head(thing).items())[:2] == [("format", f"linkstep/{kind}"), ("version", 3)]


@pytest.mark.parametrize("thing", [RING, WHOLE, GATHER, replace(GATHER, ranks=Ranks.of(RING, [1, 0, 2]))])
def test_files_of_versions_1_and_2_are_read(tmp_path, thing):
    """Both .json and .npz: they call members otherwise."""
    save(thing, tmp_path / "t.json")
    written = json.loads((tmp_path / "t.json").read_text())
    names = {"version": "format_version", "nodes": "num_nodes", "chunks_per_shard": "unit", "rank_nodes": "ranks"}
    older = {names.get(name, name): value for name, value in written.items()}
    older |= {"format": "linkstep", "kind": "schedule" if isinstance(thing, Schedule) else "topology"}
    (tmp_path / "t.json").write_text(json.dumps(older | {"format_version": 2}))
    assert load(tmp_path / "t.json") == thing
    save(thing, tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as members:
        columns = {names.get(name, name): members[name] for name in members.files}
    kept = ("format", "kind", "recipe", "num_nodes", "collective", "unit")
    head = {name: older[name] for name in kept if name in older}
    columns["linkstep"] = np.frombuffer(json.dumps(head | {"format_version": 2}).encode(), np.uint8)
    np.savez(tmp_path / "t.npz", **columns)
    assert load(tmp_path / "t.npz") == thing


def test_files_without_names_are_as_they_were(tmp_path):
    """Byte for byte, so that a linkstep that knows no names reads them, and their golden twins do not change."""
    for suffix in KEEPING:
        save(RING, tmp_path / f"t{suffix}")
    assert b"label" not in b"".join((tmp_path / f"t{suffix}").read_bytes() for suffix in KEEPING)
    assert (tmp_path / "t.csv").read_text() == "# nodes=3\n# name=UniRing(1,3)\ntail,head\n0,1\n1,2\n2,0\n"


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (["a", "b"], "labels must name all 3 hosts, not 2"),
        (["a", "b", "a"], "two hosts are called 'a': labels must be different"),
        (["a", "b", ""], "the label of node 2 must be one line of printable text, not ''"),
        (["a", "b", "\x1b[0m"], "the label of node 2 must be one line of printable text"),
        (["a", "b", "\ud800"], "the label of node 2 must be one line of printable text"),
        (["a", "b", 3], r"labels must be a list of names, not \['a', 'b', 3\]"),
        ("abc", "labels must be a list of names, not 'abc'"),
        ({"a": 1}, "labels must be a list of names, not a dict"),
    ],
)
def test_bad_names_of_hosts(tmp_path, labels, match):
    save(GATHER, tmp_path / "s.json")
    (tmp_path / "s.json").write_text(json.dumps(json.loads((tmp_path / "s.json").read_text()) | {"labels": labels}))
    refuses(tmp_path / "s.json", match)
    write_members(tmp_path / "s.npz", {"labels": np.frombuffer(json.dumps(labels).encode(), np.uint8)})
    refuses(tmp_path / "s.npz", match)


@pytest.mark.parametrize("what", ["hosts", "racks"])
@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["a", "b"], " must have one name for each of the 3 nodes, not 2"),
        (["a", "a", ""], "the (host|rack) of node 2 must be one line of printable text, not ''"),
        (["a", "a", " a"], "the (host|rack) of node 2 must be one line of printable text"),
        (["a", "a", "\x1b[0m"], "the (host|rack) of node 2 must be one line of printable text"),
        (["a", "a", None], " must be a list of names, not "),
        ("abc", " must be a list of names, not 'abc'"),
        ({"a": 1}, " must be a list of names, not a dict"),
    ],
)
def test_bad_places(tmp_path, what, names, match):
    save(GATHER, tmp_path / "s.json")
    (tmp_path / "s.json").write_text(json.dumps(json.loads((tmp_path / "s.json").read_text()) | {what: names}))
    refuses(tmp_path / "s.json", match)
    write_members(tmp_path / "s.npz", {what: np.frombuffer(json.dumps(names).encode(), np.uint8)})
    refuses(tmp_path / "s.npz", match)


@pytest.mark.parametrize(
    ("ranks", "match"),
    [
        ([], "ranks must have at least one node"),
        ([0, 3], r"rank 1: must sit at a node in \[0, 3\), not 3"),
        ([-1], r"rank 0: must sit at a node in \[0, 3\), not -1"),
        ([1, 1], "ranks 0 and 1 both sit at node 1"),
        ([0, 1], r"row \d: source must be a rank in \[0, 2\), not 2"),
    ],
)
def test_bad_ranks(tmp_path, ranks, match):
    save(GATHER, tmp_path / "s.json")
    (tmp_path / "s.json").write_text(json.dumps(json.loads((tmp_path / "s.json").read_text()) | {"ranks": ranks}))
    refuses(tmp_path / "s.json", match)
    write_members(tmp_path / "s.npz", {"ranks": np.array(ranks, np.int64)})
    refuses(tmp_path / "s.npz", match)


@pytest.mark.parametrize("ranks", ["012", [0, 1.0], [True], [None], [[0]], {"0": 1}, 3, [10**30], [2**31]])
def test_ranks_in_json_that_are_no_nodes(tmp_path, ranks):
    save(GATHER, tmp_path / "s.json")
    (tmp_path / "s.json").write_text(json.dumps(json.loads((tmp_path / "s.json").read_text()) | {"ranks": ranks}))
    refuses(tmp_path / "s.json", "ranks must be a list of nodes, not ")


def test_names_in_npz_that_are_no_text(tmp_path):
    write_members(tmp_path / "s.npz", {"labels": np.zeros(3, np.int64)})
    refuses(tmp_path / "s.npz", "labels must be the names of 3 hosts as JSON, not 3 values of int64")
    write_members(tmp_path / "s.npz", {"labels": np.frombuffer(b'["a"', np.uint8)})
    refuses(tmp_path / "s.npz", "truncated or not JSON")


@pytest.mark.parametrize("suffix", KEEPING)
@pytest.mark.parametrize("topology", [PLAIN, RICH, BARE], ids=["plain", "rich", "bare"])
def test_examples_round_trip(tmp_path, suffix, topology):
    save(topology, tmp_path / f"t{suffix}")
    assert load(tmp_path / f"t{suffix}") == topology


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_saving_twice_gives_the_same_bytes(tmp_path, suffix):
    for name in ("a", "b"):
        save(GATHER, str(tmp_path / f"{name}{suffix}"))
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.parametrize("name", ["a\nb", "a\0", "\ud800", "\x1b[31mred", "a\u2028b"])
@pytest.mark.parametrize("suffix", KEEPING)
def test_a_name_is_one_line_of_text_in_every_file(tmp_path, suffix, name):
    """Readers of the file print it: an escape code must not reach a terminal, nor a lone surrogate a stream."""
    path = tmp_path / f"t{suffix}"
    with pytest.raises(FileError, match="name of a topology must be one line of printable text, not "):
        save(Topology.from_links(1, [], [], name), path)
    assert not path.exists()
    if suffix == ".json":
        head = HEAD | {"kind": "topology", "recipe": name, "link_columns": ["tail", "head"], "links": []}
        path.write_text(json.dumps(head))
        refuses(path, "name of a topology must be one line of printable text, not ")
    if suffix == ".npz":
        write_members(path, {}, {"recipe": name})
        refuses(path, "name of a topology must be one line of printable text, not ")
    if suffix == ".csv" and "\x1b" in name:
        path.write_text(f"# name={name}\n0,1\n")
        refuses(path, "name of a topology must be one line of printable text, not ")


def test_helpers_pick_the_part(tmp_path):
    save(GATHER, tmp_path / "s.npz")
    save(RING, tmp_path / "t.JSON")
    assert load_topology(tmp_path / "s.npz") == load_topology(tmp_path / "t.JSON") == RING
    assert load_schedule(tmp_path / "s.npz") == GATHER
    with pytest.raises(FileError, match=r"t\.JSON is a wiring of 3 hosts, not a schedule"):
        load_schedule(tmp_path / "t.JSON")


def test_the_head_says_what_a_file_is(tmp_path):
    save(GATHER, tmp_path / "s.npz")
    save(GATHER, tmp_path / "s.json")
    with np.load(tmp_path / "s.npz", allow_pickle=False) as members:
        head = json.loads(members["linkstep"].tobytes())
        assert members["step"].tolist() == GATHER.step.tolist()
    version = head.pop("linkstep_version")
    assert isinstance(version, str)
    assert head == NEW_HEAD | {"recipe": "UniRing(1,3)"}
    written = json.loads((tmp_path / "s.json").read_text())
    assert {key: written[key] for key in head} == head
    assert written["links"] == [[0, 1], [1, 2], [2, 0]]
    assert written["row_columns"] == list(ROW_COLUMNS)


# --- what no format takes ---


def test_paths_that_are_no_file(tmp_path):
    refuses(tmp_path / "gone.npz", "gone.npz: no such file")
    (tmp_path / "dir.npz").mkdir()
    refuses(tmp_path / "dir.npz", "dir.npz: is a directory, not a file")
    refuses(tmp_path / "t.xml", "must end in one of .npz, .json, .csv, .graphml")
    for path in ("", "a\0.npz", "\ud800.npz"):
        with pytest.raises(FileError, match="is not the name of a file"):
            load(path)
        with pytest.raises(FileError, match="is not the name of a file"):
            save(RING, path)


def test_unreadable_file(tmp_path, monkeypatch):
    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    save(RING, tmp_path / "t.npz")
    monkeypatch.setattr(Path, "open", denied)
    refuses(tmp_path / "t.npz", "cannot be read: permission denied")


def test_a_file_too_large_for_memory(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise MemoryError

    save(RING, tmp_path / "t.npz")
    monkeypatch.setattr(np, "frombuffer", full)
    refuses(tmp_path / "t.npz", "too large for this machine's memory")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xfe\0", b"PK\x03\x04", b"[1]", b"<a/>", bytes(range(256))])
def test_foreign_bytes(tmp_path, suffix, data):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(data)
    if suffix == ".csv" and data in (b"[1]", b"<a/>", b"\0", b"PK\x03\x04"):
        refuses(path, "a link is written tail,head|NUL")
    else:
        refuses(path, f"t{suffix}")


@pytest.mark.parametrize("suffix", [".npz", ".json", ".graphml"])
@pytest.mark.parametrize("thing", [RICH, GATHER, FORWARDING], ids=["topology", "schedule", "forwarding"])
def test_truncated_anywhere(tmp_path, suffix, thing):
    if suffix == ".graphml":
        thing = thing.topology if thing is FORWARDING else RICH
    path = tmp_path / f"t{suffix}"
    save(thing, path)
    data = path.read_bytes()
    for size in (*range(0, len(data) - 2, 50), len(data) - 2):
        path.write_bytes(data[:size])
        refuses(path, "truncated|not XML")


@pytest.mark.parametrize("suffix", KEEPING)
@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_damage_is_a_file_error_or_harmless(tmp_path_factory, suffix, data):
    path = tmp_path_factory.getbasetemp() / f"damaged{suffix}"
    schedule = data.draw(st.sampled_from([GATHER, FORWARDING]))
    topology = WHOLE if schedule is FORWARDING else RICH
    save(topology if suffix in (".csv", ".graphml") else schedule, path)
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    try:
        load(path)
    except FileError as error:
        assert "\n" not in str(error)


# --- npz ---


def write_members(path, members, head=None):
    """Write an .npz of our form; members may be arrays or raw bytes."""
    meta = np.frombuffer(json.dumps(HEAD | (head or {})).encode(), np.uint8)
    columns = {what: getattr(RING, what) for what in ("tail", "head")}
    columns |= {what: getattr(GATHER, what) for what in ROW_COLUMNS}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for what, value in ({"linkstep": meta} | columns | members).items():
            if isinstance(value, np.ndarray):
                file = io.BytesIO()
                np.lib.format.write_array(file, value, allow_pickle=True)
                value = file.getvalue()
            if value is not None:
                archive.writestr(f"{what}.npy", value)


def npy(descr, shape, data=b""):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue() + data


class Explosive:
    def __reduce__(self):
        return (os.abort, ())


@pytest.mark.parametrize(
    ("members", "match"),
    [
        ({"linkstep": None}, "is not a linkstep file"),
        ({"linkstep": np.zeros(3)}, "must hold integers, not '<f8'"),
        ({"linkstep": np.zeros(3, np.int64)}, "is not a linkstep file"),
        ({"linkstep": np.frombuffer(b"[1]", np.uint8)}, "is not a linkstep file"),
        ({"linkstep": np.frombuffer(b'{"a":', np.uint8)}, "truncated or not JSON"),
        ({"linkstep": np.frombuffer(b"[" * 200_000, np.uint8)}, "nested too deeply"),
        ({"linkstep": np.full(2**20 + 1, 32, np.uint8)}, "is not a linkstep file"),
        ({"source": None}, "has no column 'source'"),
        ({"source": np.zeros(6)}, "column 'source' must hold integers, not '<f8'"),
        (
            {"source": np.zeros((6, 1), np.int32)},
            r"column 'source' must be one-dimensional, not of shape \(6, 1\)",
        ),
        ({"source": np.zeros(5, np.int32)}, "columns must be equally long"),
        ({"source": np.full(6, 2**40)}, "source must lie in"),
        ({"source": np.array([Explosive()] * 6, object)}, "column 'source' holds pickled objects"),
        ({"source": npy("<i4", (2**62,))}, "claims 4611686018427387904 values: more than"),
        ({"source": npy("<i4", (10**9,))}, "claims 1000000000 values but has 0 bytes"),
        ({"source": npy("<i4", (-6,), b"x" * 24)}, "truncated, damaged or not an .npz file"),
        ({"source": npy("<i4", (6,), b"x" * 23)}, "claims 6 values but has 23 bytes"),
        ({"source": npy("<i4", (6,), b"x" * 25)}, "claims 6 values but has 25 bytes"),
        ({"source": b"junk"}, "truncated, damaged or not an .npz file"),
        ({"source": b"\x93NUMPY\x03\x00junk"}, "truncated, damaged or not an .npz file"),
        ({"source": npy("<i4", (6,), b"x" * 24).replace(b"6,)", b"6L)")}, "damaged or not an .npz file"),
        ({"source": b"\x93NUMPY\x01\x00\x02\x00{("}, "truncated, damaged or not an .npz file"),
        ({"source": pickle.dumps([1])}, "truncated, damaged or not an .npz file"),
        ({"step": np.zeros(6, np.int16)}, "row 0: step must be at least 1, not 0"),
        ({"step": GATHER.step[::-1].copy()}, r"row 3: rows must be sorted by \(step, link, source, lo\)"),
        ({"link": np.full(6, 3, np.int32)}, r"row 0: link must lie in \[0, 3\), not 3"),
        ({"hi": np.full(6, 2)}, "row 0: chunk must be inside the shard"),
        ({"tail": RING.head, "head": RING.tail}, r"a schedule's links must be sorted by \(tail, head"),
        ({"tail": RING.tail + 1}, r"link 2: tail must be a node in \[0, 3\), not 3"),
        ({"bandwidth": np.zeros(3, np.int64)}, "bandwidth must be at least 1"),
        ({"alpha": np.zeros(2, np.int64)}, r"alpha must have one value a link \(3\), not 2"),
        ({"opens": np.array([1, 0, 1])}, "link 1: opens must be at least 1, not 0"),
        ({"opens": np.array([1, 2**15, 1])}, "link 1: opens must be at most 32767, not 32768"),
        ({"closes": np.array([1, 2])}, r"closes must have one value a link \(3\), not 2"),
        ({"opens": np.array([1, 1, 4]), "closes": np.array([1, 1, 3])}, "link 2: closes must be at least opens, not 3"),
        ({"ranks": npy("|O", (3,))}, "column 'ranks' holds pickled objects, which are never loaded"),
        ({"ranks": np.array([[0, 1, 2]])}, "column 'ranks' must be one-dimensional"),
        ({"ranks": np.array([0, 1, 2**40])}, "ranks must lie in"),
        ({"ranks": npy("<i4", (10**9,))}, "claims 1000000000 values but has 0 bytes"),
        ({"hosts": np.zeros(3, np.int64)}, "hosts must be the names of 3 hosts as JSON, not 3 values of int64"),
        ({"racks": np.frombuffer(b'["a"', np.uint8)}, "truncated or not JSON"),
    ],
)
def test_npz_rejections(tmp_path, members, match):
    write_members(tmp_path / "s.npz", members)
    refuses(tmp_path / "s.npz", match)


HEADS = [
    ({"format": "other"}, "is not a linkstep file"),
    ({"format_version": 3}, r"written by a newer linkstep \(format 3\); upgrade"),
    ({"format_version": 0}, "format_version must be a positive integer, not 0"),
    ({"format_version": True}, "format_version must be a positive integer, not True"),
    ({"format_version": "1"}, "format_version must be a positive integer, not '1'"),
    ({"kind": "recipe"}, "kind must be topology or schedule, not 'recipe'"),
    ({"kind": ["topology"]}, r"kind must be topology or schedule, not \['topology'\]"),
    ({"recipe": None}, "recipe must be text, not None"),
    ({"num_nodes": 3.0}, "num_nodes must be an integer, not 3.0"),
    ({"num_nodes": 0}, r"num_nodes must lie in \[1, 2147483647\], not 0"),
    ({"num_nodes": 2**31 - 1}, "has 2147483647 nodes for 3 links; number nodes from 0"),
    ({"num_nodes": 10**30}, "has 10{30} nodes for 3 links"),
    ({"unit": 0}, r"unit must be an integer in \[1, 2\^62\), not 0"),
    ({"unit": 2**62}, "unit must be an integer in"),
    ({"unit": {"a": 1}}, "unit must be an integer in .*, not a dict"),
    ({"unit": 2**61}, "unit 2305843009213693952 is too fine for 6 rows"),
    (
        {"collective": "gather"},
        "collective must be one of allgather, reduce-scatter, allreduce, broadcast, reduce, all-to-all, not 'gather'",
    ),
]


@pytest.mark.parametrize(("head", "match"), HEADS)
def test_head_rejections(tmp_path, head, match):
    write_members(tmp_path / "s.npz", {}, head)
    refuses(tmp_path / "s.npz", match)
    save(GATHER, tmp_path / "s.json")
    written = json.loads((tmp_path / "s.json").read_text())
    columns = {name: written[name] for name in ("link_columns", "links", "row_columns", "rows")}
    (tmp_path / "s.json").write_text(json.dumps(HEAD | columns | head))
    refuses(tmp_path / "s.json", match)


@pytest.mark.parametrize(
    ("head", "match"),
    [
        ({"format": "other"}, "is not a linkstep file"),
        ({"format": "linkstep/find"}, r"is a report of linkstep's \('find'\), not a topology or a schedule"),
        (
            {"format": "linkstep/topology-report"},
            r"is a report of linkstep's \('topology-report'\), not a topology or a schedule",
        ),
        ({"format": ["linkstep"]}, "is not a linkstep file"),
        ({"version": 4}, r"written by a newer linkstep \(format 4\); upgrade"),
        ({"version": 0}, "version must be a positive integer, not 0"),
        ({"version": True}, "version must be a positive integer, not True"),
        ({"version": None, "format_version": 1}, "version must be a positive integer, not None"),
        ({"recipe": None}, "recipe must be text, not None"),
        ({"nodes": 3.0}, "nodes must be an integer, not 3.0"),
        ({"nodes": 10**30}, "has 10{30} nodes for 3 links"),
        ({"chunks_per_shard": 0}, r"chunks_per_shard must be an integer in \[1, 2\^62\), not 0"),
        ({"chunks_per_shard": {"a": 1}}, "chunks_per_shard must be an integer in .*, not a dict"),
        ({"rank_nodes": [0, 1.5]}, "rank_nodes must be a list of nodes"),
        ({"collective": "gather"}, "collective must be one of allgather, .*, not 'gather'"),
    ],
)
def test_new_head_rejections(tmp_path, head, match):
    save(GATHER, tmp_path / "s.json")
    written = json.loads((tmp_path / "s.json").read_text()) | head
    (tmp_path / "s.json").write_text(json.dumps(written))
    refuses(tmp_path / "s.json", match)


def test_npz_of_others_is_foreign(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.arange(3))
    refuses(tmp_path / "x.npz", "is not a linkstep file")
    np.save(tmp_path / "x.npy", np.arange(3))
    (tmp_path / "x.npy").rename(tmp_path / "y.npz")
    refuses(tmp_path / "y.npz", "truncated, damaged or not an .npz file")


def test_npz_written_plainly_by_numpy_is_read(tmp_path):
    save(RICH, tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as members:
        wide = {what: members[what].astype(">i8") for what in ("tail", "head", "bandwidth", "alpha")}
        np.savez(tmp_path / "u.npz", **wide, linkstep=members["linkstep"])
    assert load(tmp_path / "u.npz") == RICH


def test_a_bomb_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(own, "MAX_BYTES", 8 * 1000)
    write_members(tmp_path / "s.npz", {"source": np.zeros(1001, np.int8)})
    refuses(tmp_path / "s.npz", "column 'source' claims 1001 values: more than the 1000 linkstep loads")
    write_members(tmp_path / "s.npz", {what: np.ones(400, np.int8) for what in ("lo", "hi", "step")})
    refuses(tmp_path / "s.npz", "in all, it claims 1218 values: more than the 1000")


# --- json ---


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"links": [[0, 1], [1, 2]]}, r"row 2: link must lie in \[0, 2\)"),
        ({"links": [[0, 1], [1, 2], [2]]}, r"link 2: must be integers \[tail, head\], not \[2\]"),
        ({"links": [[0, 1], [1, 2], [2, 0.0]]}, r"link 2: must be integers \[tail, head\], not \[2, 0.0\]"),
        ({"links": [[0, True], [1, 2], [2, 0]]}, r"link 0: must be integers \[tail, head\], not \[0, True\]"),
        ({"links": [[[0], 1], [1, 2], [2, 0]]}, r"link 0: .* not \[\[...\], 1\]"),
        ({"links": [[1, 2], [0, 1], [2, 0]]}, "a schedule's links must be sorted"),
        ({"links": [[0, 10**30], [1, 2], [2, 0]]}, "links: holds an integer beyond 64 bits"),
        ({"links": {"tail": 1}}, "links must be a list, not a dict"),
        ({"links": None}, "links must be a list, not None"),
        ({"link_columns": ["tail"]}, "link_columns must have 'head'"),
        ({"link_columns": ["tail", "tail"]}, "must list some of tail, head, bandwidth, alpha, opens, closes, not"),
        ({"link_columns": [["tail"], 3]}, "link_columns must list some of"),
        ({"link_columns": "tail"}, "link_columns must list some of"),
        ({"rows": [[0, 0, 1, 0]]}, r"row 0: must be integers \[source, lo, hi, link, step\], not \[0, 0"),
        ({"rows": [[0, 0, 1, 0, 40000]]}, "step must lie in"),
        ({"row_columns": ["source", "lo", "hi", "link"]}, "row_columns must have 'step'"),
    ],
)  # fmt: skip
def test_json_rejections(tmp_path, changes, match):
    path = tmp_path / "s.json"
    save(GATHER, path)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    refuses(path, match)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b'{"format": "linkstep",\n "unit": NaN}', "holds what no linkstep file does: NaN is not a number"),
        (b'{"format": -Infinity}', "-Infinity is not a number"),
        (b'{"format": ' + b"1" * 5000 + b"}", "holds what no linkstep file does"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"format": "\xff"}', r"is not UTF-8 text \(byte 12\)"),
        (b'{"format": "linkstep",\n\n oops}', r"s\.json:3: is truncated or not JSON"),
    ],
)
def test_json_that_is_no_json(tmp_path, text, match):
    (tmp_path / "s.json").write_bytes(text)
    refuses(tmp_path / "s.json", match)


def test_json_topology_by_hand_in_any_order(tmp_path):
    text = """{"format": "linkstep", "kind": "topology", "format_version": 1, "recipe": "", "num_nodes": 2,
               "link_columns": ["alpha", "head", "tail"], "links": [[9, 0, 1], [8, 1, 0]], "by": "me"}"""
    (tmp_path / "t.json").write_text("\ufeff" + text, encoding="utf-8")
    assert load(tmp_path / "t.json") == Topology.from_links(2, [0, 1], [1, 0], alpha=[8, 9])


# --- csv ---


@pytest.mark.parametrize(
    ("text", "links", "names"),
    [
        ("0,1\n1,0\n", [(0, 1), (1, 0)], ["0", "1"]),
        ("tail,head\n0,2\n", [(0, 2)], ["0", "1", "2"]),
        ("\ufeffTail, Head\r\n0, 2\r\n\r\n", [(0, 2)], ["0", "1", "2"]),
        ("src,dst\nb,a\na,7\n7,b\n", [(0, 1), (1, 2), (2, 0)], ["b", "a", "7"]),
        ('"rack 1, host 2",x\nx,"rack 1, host 2"\n', [(0, 1), (1, 0)], ["rack 1, host 2", "x"]),
        ("# cables\n#nodes = 4\n0,1\n # more\n0,1\n", [(0, 1), (0, 1)], ["0", "1", "2", "3"]),
        ("# nodes=2\na,b\nb,a", [(0, 1), (1, 0)], ["a", "b"]),
        ("a,b\n", [(0, 1)], ["a", "b"]),
        ("# nodes=1\n", [], ["0"]),
        ("# labels=c, a,b\na,b\n", [(1, 2)], ["c", "a", "b"]),
        ("# nodes=2\n# labels=1,0\n1,0\n", [(0, 1)], ["1", "0"]),
    ],
)
def test_csv_as_people_write_it(tmp_path, text, links, names):
    (tmp_path / "t.csv").write_bytes(text.encode())
    expected = Topology.from_links(len(names), [u for u, _ in links], [w for _, w in links])
    assert load(tmp_path / "t.csv") == expected
    are_numbers = names == [str(i) for i in range(len(names))]
    assert load(tmp_path / "t.csv").labels == (None if are_numbers else tuple(names))


def test_csv_columns_in_either_order(tmp_path):
    (tmp_path / "t.csv").write_text("from,to,ALPHA,bandwidth\n0,1,500,1e11\n1,0,5.0,7\n")
    expected = Topology.from_links(2, [0, 1], [1, 0], alpha=[500, 5], bandwidth=[10**11, 7])
    assert load(tmp_path / "t.csv") == expected


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "has no links: write one a line as tail,head"),
        ("tail,head\n", "has no links"),
        ("0,1\n1\n", r"t\.csv:2: a link is written tail,head, not '1'"),
        ("0 1\n1 0\n", r"t\.csv:1: a link is written tail,head, not '0 1'"),
        ("0,1,5\n", r"not '0,1,5' \(more columns need a header line\)"),
        ("0,\n", r"t\.csv:1: a link is written tail,head"),
        ("tail,head,alpha\n0,1\n", r"t\.csv:2: a link is written tail,head,alpha, not '0,1'"),
        ("tail,head,alpha,alpha\n0,1,2,3\n", r"t\.csv:1: column 'alpha' must be there only once"),
        ("tail,head,alpha\n0,1,\n", r"t\.csv:2: a link is written"),
        ("tail,head,alpha\n0,1,5kg\n", r"t\.csv:2: alpha must be a whole number of ns, or with a unit .*'5kg'"),
        ("tail,head,alpha\n0,1,5ps\n", "alpha must be a whole number of ns, or with a unit like 50us, not '5ps'"),
        ("tail,head,alpha\n0,1,5Gbps\n", "alpha must be a whole number of ns, or with a unit like 50us, not '5Gbps'"),
        ("tail,head,bandwidth\n0,1,50us\n", "or with a unit like 100Gbps, not '50us'"),
        ("tail,head,bandwidth\n0,1,1e30Gbps\n", "or with a unit like 100Gbps, not '1e30Gbps'"),
        ("tail,head,alpha\n0,1,2.5\n", "alpha must be a whole number of ns"),
        ("tail,head,bandwidth\n0,1,nan\n", "a whole number of bit/s, or with a unit like 100Gbps, not 'nan'"),
        ("tail,head,bandwidth\n0,1,1e300\n", "bandwidth must be a whole number of bit/s"),
        ("tail,head,bandwidth\n0,1,0\n", "link 0: bandwidth must be at least 1, not 0"),
        ("tail,head,bandwidth\n0,1," + "9" * 19, "bandwidth must "),
        ("tail,head,bandwidth\n0,1," + "9" * 5000, "bandwidth must be a whole number"),
        ("x,y\n0,1\n1,0\n", r"t\.csv:1: looks like a header: write it as tail,head"),
        ("0,-1\n", r"t\.csv:1: node must lie in \[0, 2147483647\), not -1"),
        ("\n0,99999999999\n", r"t\.csv:2: node must lie in"),
        ("0,2000000000\n", "has 2000000001 nodes for 1 links; number nodes from 0"),
        ("# nodes=2\n0,2\n", "says nodes=2 but links name node 2: correct or drop that line"),
        ("# nodes=3\na,b\n", "says nodes=3 but links name 2: correct or drop that line"),
        ("0,1\n# nodes=many\n", r"t\.csv:2: nodes must be a number in \[1, 2147483647\], not 'many'"),
        ("# nodes=0\n", r"t\.csv:1: nodes must be a number"),
        ('0,1\n"a,b\n', r"t\.csv:2: unexpected end of data"),
        ("# labels=a,b\na,b\nb,c\n", r"t\.csv:3: 'c' is not among the labels"),
        ("# labels=a,b\n0,1\n", r"t\.csv:2: '0' is not among the labels"),
        ("# labels=a,b,a\na,b\n", "two hosts are called 'a'"),
        ("# nodes=3\n# labels=a,b\na,b\n", "says nodes=3 but labels are 2: correct or drop that line"),
        ('# labels="a,b\n0,1\n', r"t\.csv:1: unexpected end of data"),
        ("# hosts=a,b,c\n0,1\n", "hosts must have one name for each of the 2 nodes, not 3"),
        ("# racks=a,\n0,1\n", "the rack of node 1 must be one line of printable text, not ''"),
        ('# racks="a,b\n0,1\n', r"t\.csv:1: unexpected end of data"),
        ("tail,head,opens\n0,1,0\n", "link 0: opens must be at least 1, not 0"),
        ("tail,head,closes\n0,1,2us\n", r"t\.csv:2: closes must be a whole number of steps, not '2us'"),
    ],
)  # fmt: skip
def test_csv_rejections(tmp_path, text, match):
    (tmp_path / "t.csv").write_text(text)
    refuses(tmp_path / "t.csv", match)


def test_csv_not_utf8_says_where(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\nb,\xe9\n")
    refuses(tmp_path / "t.csv", r"t\.csv:2: is not UTF-8 text")


# --- graphml ---


def graphml(inside, head="", attributes='edgedefault="directed"'):
    namespace = "http://graphml.graphdrawing.org/xmlns"
    return f'<graphml xmlns="{namespace}">{head}<graph {attributes}>{inside}</graph></graphml>'


A_TO_B = '<edge source="a" target="b"/>'
NODES = '<node id="a"/><node id="b"/>'
KEY = '<key id="d0" for="edge" attr.name="alpha" attr.type="int"/>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (graphml(f'{NODES}<edge source="a" target="b"/>'), Topology.from_links(2, [0], [1])),
        (
            graphml(f'{NODES}{A_TO_B}<edge source="b" target="b"/>', "", 'edgedefault="undirected"'),
            Topology.from_links(2, [0, 1, 1], [1, 0, 1]),
        ),
        (
            graphml(f'{NODES}<edge source="a" target="b" directed="false"/><edge source="a" target="b"/>'),
            Topology.from_links(2, [0, 0, 1], [1, 1, 0]),
        ),
        (
            graphml('<edge source="1" target="0"/><node id="1"/><node id="0"/>'),
            Topology.from_links(2, [1], [0]),
        ),
        (
            graphml('<node id="2"/><node id="1"/><edge source="2" target="1"/>'),
            Topology.from_links(2, [0], [1]),
        ),
        (
            graphml(
                f'{NODES}{A_TO_B}<edge source="b" target="a"><data key="d0"> 7 </data></edge>',
                '<key id="d0" for="edge" attr.name="alpha" attr.type="int"><default>3</default></key>',
            ),
            Topology.from_links(2, [0, 1], [1, 0], alpha=[3, 7]),
        ),
        ("<graphml><graph><node id='x'/></graph></graphml>", Topology.from_links(1, [], [])),
    ],
    ids=["directed", "undirected", "mixed", "numbers", "order", "default", "no namespace"],
)  # fmt: skip
def test_graphml_as_others_write_it(tmp_path, text, expected):
    (tmp_path / "t.graphml").write_text(text)
    assert load(tmp_path / "t.graphml") == expected


def test_graphml_names(tmp_path):
    (tmp_path / "t.graphml").write_text(graphml('<node id="x"/><node id="w"/><edge source="w" target="x"/>'))
    assert load(tmp_path / "t.graphml").labels == ("x", "w")


BILLION = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "lol">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + "]><graphml>&i;</graphml>"
)
STOLEN = '<!DOCTYPE x [<!ENTITY s SYSTEM "file:///etc/passwd">]><graphml>&s;</graphml>'


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (BILLION, r"declares XML entities, which are never read \(EntitiesForbidden\)"),
        (STOLEN, "declares XML entities, which are never read"),
        ("<graphml>\n<graph>", r"t\.graphml:2: is truncated or not XML: no element found"),
        ("<svg/>", "must be a <graphml> with one <graph> inside, not a <svg> with 0"),
        ("<graphml><graph/><graph/></graphml>", "with one <graph> inside, not a <graphml> with 2"),
        ("<graphml><graph/></graphml>", "num_nodes must lie in"),
        ('<?xml version="1.0" encoding="klingon"?><graphml/>', "in an encoding|unknown encoding"),
        (graphml("<hyperedge/>"), "has hyperedges"),
        (graphml('<node id="a"/><node id="a"/>'), "gives two nodes the same id"),
        (graphml(f'{NODES}<edge source="a" target="c"/>'), "edge 0: there is no node 'c'"),
        (graphml(f"{NODES}<edge/>"), "edge 0: there is no node ''"),
        (
            graphml(f'{NODES}<edge source="a" target="b"><data key="d0">x</data></edge>', KEY),
            "edge 0: alpha must be a whole number of ns, or with a unit like 50us, not 'x'",
        ),
        (
            graphml(
                f'{NODES}{A_TO_B}<edge source="b" target="a"><data key="d0">1</data></edge>', KEY
            ),
            "alpha is given for 1 of 2 links: give all or none",
        ),
        (
            graphml(f'{NODES}<edge source="a" target="b"><data key="d0">-1</data></edge>', KEY),
            "link 0: alpha must be at least 0, not -1",
        ),
        (
            graphml('<node id="a"><data key="h">x</data></node><node id="b"/>', '<key id="h" attr.name="host"/>'),
            "host is given for 1 of 2 nodes: give all or none",
        ),
    ],
)  # fmt: skip
def test_graphml_rejections(tmp_path, text, match):
    (tmp_path / "t.graphml").write_text(text)
    refuses(tmp_path / "t.graphml", match)


@pytest.mark.slow
def test_graphml_nested_without_end(tmp_path):
    deep = "<a>" * 200_000 + "</a>" * 200_000
    (tmp_path / "t.graphml").write_text(f"<graphml>{deep}<graph><node id='a'/></graph></graphml>")
    assert load(tmp_path / "t.graphml").num_nodes == 1


@pytest.mark.slow
@settings(deadline=None, max_examples=12)
@given(topology=topologies())
def test_networkx_reads_what_we_write(tmp_path_factory, topology):
    path = tmp_path_factory.getbasetemp() / "ours.graphml"
    save(topology, path)
    graph = nx.read_graphml(path, node_type=int, force_multigraph=True)
    assert graph.is_directed()
    graph.add_nodes_from(sorted(graph.nodes))
    ordered = nx.MultiDiGraph()
    ordered.add_nodes_from(range(topology.num_nodes))
    ordered.add_edges_from(graph.edges(data=True))
    assert Topology.from_networkx(ordered) == topology
    assert graph.graph.get("name", "") == topology.name


@settings(deadline=None, max_examples=12)
@given(topology=topologies())
def test_we_read_what_networkx_writes(tmp_path_factory, topology):
    path = tmp_path_factory.getbasetemp() / "theirs.graphml"
    nx.write_graphml_xml(topology.to_networkx(), path)
    assert load(path) == topology
    assert load(path).name == topology.name


def test_undirected_networkx_graph(tmp_path):
    graph = nx.petersen_graph()
    nx.write_graphml_xml(graph, tmp_path / "p.graphml")
    assert load(tmp_path / "p.graphml") == Topology.from_networkx(graph)
    assert load(tmp_path / "p.graphml").is_bidirectional


# --- saving ---


def test_save_refuses(tmp_path):
    with pytest.raises(LinkstepError, match=r"what is saved must be a wiring .* not \[a Topology\]"):
        save([RING], tmp_path / "t.npz")
    with pytest.raises(FileError, match=r"t\.txt: the name must end in one of .npz, .json, .csv, .graphml"):
        save(RING, tmp_path / "t.txt")
    for suffix in (".csv", ".graphml"):
        with pytest.raises(FileError, match=f"a {suffix} file holds a topology, not a schedule: save it as .npz"):
            save(GATHER, tmp_path / f"s{suffix}")
    with pytest.raises(FileError, match=r"t\.npz: there is no folder .*nowhere"):
        save(RING, tmp_path / "nowhere" / "t.npz")
    with pytest.raises(FileError, match=r"t\.npz: there is no folder .*nowhere"):
        write_atomically(tmp_path / "nowhere" / "t.npz", lambda file: None)
    (tmp_path / "dir.npz").mkdir()
    with pytest.raises(FileError, match="is a directory, not a file"):
        save(RING, tmp_path / "dir.npz")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="there is no folder"):
        save(RING, tmp_path / "file" / "t.npz")
    with pytest.raises(FileError, match="cannot be written: not a directory"):
        write_atomically(tmp_path / "file" / "t.npz", lambda file: None)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dir.npz", "file"]


def test_names_too_long(tmp_path):
    """A name of 255 bytes can be saved, though its draft needs a name too; a longer one cannot."""
    for path in (tmp_path / ("n" * 252 + ".npz"), tmp_path / ("f" * 256) / "t.npz", tmp_path / ("é" * 130 + ".npz")):
        for attempt in (
            lambda path: save(RING, path),
            lambda path: write_atomically(path, lambda file: None),
            lambda path: check_savable(Schedule, path),
            load,
        ):
            with pytest.raises(FileError, match=r"^.{1,80}: file name too long$"):
                attempt(path)
    save(RING, tmp_path / ("n" * 251 + ".npz"))
    assert len(list(tmp_path.iterdir())) == 1


def test_text_that_no_file_can_hold(tmp_path):
    with pytest.raises(FileError, match=r"t.txt: cannot be written: '\\ud800' is not a character"):
        write_atomically(tmp_path / "t.txt", lambda file: file.write("a\ud800".encode()))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", KEEPING)
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failing_save_leaves_the_old_file(tmp_path, monkeypatch, suffix, error):
    path = tmp_path / f"t{suffix}"
    save(PLAIN, path)
    before = path.read_bytes()

    def fail(descriptor):
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    expected = FileError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected, match="no space left on device" if expected is FileError else None):
        save(RICH, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_savable_is_known_before(tmp_path):
    for suffix in SUFFIXES:
        check_savable(Topology, tmp_path / f"t{suffix}")
    check_savable(Schedule, tmp_path / "s.npz")
    with pytest.raises(FileError, match="holds a topology, not a schedule"):
        check_savable(Schedule, tmp_path / "s.csv")
    with pytest.raises(FileError, match="there is no folder"):
        check_savable(Schedule, tmp_path / "nowhere" / "s.npz")
    assert not list(tmp_path.iterdir())


def test_a_failing_save_leaves_no_new_file(tmp_path, monkeypatch):
    def fail(self, target):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(FileError, match="cannot be written: read-only file system"):
        save(RING, tmp_path / "t.npz")
    assert not list(tmp_path.iterdir())


def test_saving_follows_links_and_keeps_permissions(tmp_path):
    real = tmp_path / "real.json"
    save(PLAIN, real)
    real.chmod(0o640)
    (tmp_path / "link.json").symlink_to(real)
    save(RICH, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert load(real) == RICH
    assert real.stat().st_mode & 0o777 == 0o640


# --- docs/concepts/data-model.md ---


def test_the_examples_in_the_docs_load(tmp_path):
    text = Path(__file__).parents[2].joinpath("docs", "concepts", "data-model.md").read_text()
    examples = re.findall(r"^```(json|csv)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    for i, (suffix, example) in enumerate(examples):
        (tmp_path / f"{i}.{suffix}").write_text(example)
    schedule = load_schedule(tmp_path / "0.json")
    check(schedule)
    save(schedule, tmp_path / "again.json")
    again = (tmp_path / "again.json").read_text()
    assert re.sub('_version": ".*"', "", again) == re.sub('_version": ".*"', "", examples[0][1])
    assert load(tmp_path / "1.csv").bandwidth.tolist() == [10**11, 10**11, 25 * 10**9]
    assert load(tmp_path / "1.csv").name == "my ring"
    assert load(tmp_path / "2.csv").labels == ("ant", "bee", "cat")
    assert len(examples) == 3
