"""Files people have: lists of cables in many forms are one wiring, with its ports; one line for what is wrong."""

import json
import shutil
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linkstep.cabling import wire
from linkstep.core.errors import FileError
from linkstep.core.topology import Topology
from linkstep.files import READABLE, cables_of, load, read_known, save
from linkstep.reports.cabling import CablingReport

HERE = Path(__file__).with_name("wirings")
HOSTS = ("gpu01", "gpu02", "gpu03", "gpu04")
FIRST = ("gpu01", "enp65s0f0np0", "gpu02", "enp65s0f0np0")
"""One of the six cables that each file of the folder has."""
LAST = ("gpu03", "enp193s0f0np0", "gpu04", "enp193s0f0np0")
TRIANGLE = Topology.from_networkx(nx.complete_graph(3))
BOTH_WAYS = "1 line has no return: it is 1 duplex cable"


def read(tmp_path, text, name="t.csv", **options):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_known(path, **options)


def cables(topology):
    """Return the cables of a topology by names, each from its lesser end."""
    found = []
    for one in cables_of(topology):
        ends = sorted([(topology.host(one.tail), one.tail_port), (topology.host(one.head), one.head_port)])
        found.append((*ends[0], *ends[1]))
    return sorted(found)


def links(topology):
    pairs = zip(topology.tail.tolist(), topology.head.tolist(), strict=True)
    return sorted(f"{topology.host(u)}{topology.host(w)}" for u, w in pairs)


# --- every format is the same wiring ---


@pytest.mark.parametrize("path", sorted(HERE.iterdir()), ids=lambda path: path.name)
def test_every_format_is_the_same_wiring(path):
    topology = load(path)
    assert topology.labels == HOSTS
    assert topology == Topology.from_networkx(nx.complete_graph(4)) or topology.bandwidth is not None
    assert len(cables(topology)) == 6 and topology.num_links == 12
    assert {FIRST, LAST} <= set(cables(topology))


def test_other_columns_are_kept_and_reach_the_plan():
    report = CablingReport.of(wire(load(HERE / "spreadsheet.csv")), load(HERE / "spreadsheet.csv"))
    row = report.cables[0]
    assert (row.from_, row.from_port_name, row.to, row.to_port_name) == FIRST
    assert row.details == {"Cable label": "DAC-0001", "Length": "2 m", "Colour": "blue", "Remarks": "rack 1; row 0"}
    head, first = report.to_csv().splitlines()[:2]
    assert head.endswith("panel_to,from_port_name,to_port_name,Cable label,Length,Colour,Remarks")
    assert first.endswith(",enp65s0f0np0,enp65s0f0np0,DAC-0001,2 m,blue,rack 1; row 0")


def test_netbox_keeps_racks_labels_and_lengths():
    exported = load(HERE / "netbox-export.csv")
    assert exported.racks == ("R1", "R1", "R2", "R2")
    assert ("Comments", "swapped in March\nsee ticket") in cables_of(exported)[0].details
    details = dict(cables_of(load(HERE / "netbox-api.json"))[0].details)
    assert details["label"] == "DAC-0001" and (details["length"], details["length_unit"]) == ("2", "m")
    assert (details["type"], details["status"]) == ("dac-passive", "connected")


def test_sonic_counts_bandwidth_in_megabits():
    assert set(load(HERE / "sonic-links.csv").bandwidth.tolist()) == {100 * 10**9}


def test_what_is_left_out_is_said():
    lldp, netbox = (read_known(HERE / name).notes for name in ("lldp", "netbox-api.json"))
    assert lldp == ("left out 1 neighbour without a view of its own: mgmt-sw1",)
    assert netbox == ("left out 1 cable with an end that is no interface: dcim.poweroutlet, dcim.powerport",)


# --- round trips ---


@pytest.mark.parametrize("suffix", [".csv", ".dot", ".gv"])
@pytest.mark.parametrize("name", ["spreadsheet.csv", "netbox-export.csv", "sonic-links.csv", "mlx.dot", "lldp"])
def test_saving_keeps_cables(tmp_path, name, suffix):
    first = load(HERE / name)
    save(first, tmp_path / f"t{suffix}")
    found = read_known(tmp_path / f"t{suffix}")
    assert found.thing == first and found.thing.labels == first.labels and found.notes == ()
    assert cables(found.thing) == cables(first)
    assert [dict(one.details) for one in cables_of(found.thing)] == [dict(one.details) for one in cables_of(first)]


@pytest.mark.parametrize("suffix", [".csv", ".json"])
@pytest.mark.parametrize("recipe", ["Torus(3,4)", "L(K_{2,2})", "UniRing(1,5)", "Diamond"])
def test_plans_are_read_as_the_wiring_they_are_of(tmp_path, suffix, recipe):
    from linkstep.recipe import parse

    topology = parse(recipe).topology()
    plan = CablingReport.of(wire(topology), topology)
    text = plan.to_csv() if suffix == ".csv" else json.dumps(plan.to_json())
    found = read(tmp_path, text, f"plan{suffix}").thing
    assert found == topology
    again = CablingReport.of(wire(found), found)
    assert [row.from_port for row in again.cables] == [row.from_port for row in plan.cables]
    assert [(row.panel_from, row.panel_to) for row in again.cables] == [(r.panel_from, r.panel_to) for r in plan.cables]


def test_ports_stay_where_they_are_when_a_cable_is_cut(tmp_path):
    from linkstep.core.faults import apply, parse

    whole = load(HERE / "spreadsheet.csv")
    left = apply(whole, (parse("cut", "gpu01,gpu02"),), 10**9)
    before, after = wire(whole), wire(left, whole)
    assert [c for c in before.cables if (c.from_node, c.to_node) != (0, 1)] == list(after.cables)
    assert after.ports == 3


def test_names_given_later_keep_the_ports():
    renamed = load(HERE / "mlx.dot").with_labels(["a", "b", "c", "d"])
    assert ("a", "enp65s0f0np0", "b", "enp65s0f0np0") in cables(renamed)


# --- headers ---


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("A side,B side", "h1,h2"),
        ("A-side,Z-side", "h1,h2"),
        ("Device A,Device B", "h1,h2"),
        ("a_host,b_host", "h1,h2"),
        ("Host 1,Host 2", "h1,h2"),
        ("A,B", "h1,h2"),
        ("src_host,src_port,dst_host,dst_port", "h1,p1,h2,p2"),
        ("local_host,local_port,remote_host,remote_port", "h1,p1,h2,p2"),
        ("Device A, Interface A, Device B, Interface B", "h1,p1,h2,p2"),
        ("source,source port,target,target port", "h1,p1,h2,p2"),
        ("From;From port;To;To port", "h1;p1;h2;p2"),
        ("node1\tport1\tnode2\tport2", "h1\tp1\th2\tp2"),
        ("hostname,interface,neighbor,neighbor_interface", "h1,p1,h2,p2"),
        ("A side,port,B side,port", "h1,p1,h2,p2"),
        ("Length,B port,B side,A side,A port", "2m,p2,h2,h1,p1"),
    ],
)
def test_headers_of_cables_are_guessed(tmp_path, header, row):
    found = read(tmp_path, f"{header}\n{row}\n")
    assert found.notes == (BOTH_WAYS,) and links(found.thing) == ["h1h2", "h2h1"]
    if "p1" in row:
        assert cables(found.thing) == [("h1", "p1", "h2", "p2")]


@pytest.mark.parametrize(
    "header", ["tail,head", "source,target", "src,dst", "from,to", "Source host,Target host", "start_node,dest_node"]
)
def test_headers_of_links_stay_links(tmp_path, header):
    found = read(tmp_path, f"{header},note\nh1,h2,x\nh2,h3,\n")
    assert links(found.thing) == ["h1h2", "h2h3"]
    assert found.notes == ("2 of 2 links have no return; --both-ways reads each line as a duplex cable",)
    assert dict(cables_of(found.thing)[0].details) == {"note": "x"}


@pytest.mark.parametrize("text", ["node1,node2\nnode2,node1\n", "a,b\nb,c\n", "left,right\nright,left\n", "A,B\n"])
def test_hosts_with_names_like_headers_stay_hosts(tmp_path, text):
    assert load_names(tmp_path, text) >= set(text.split("\n")[0].split(","))


def load_names(tmp_path, text):
    return set(read(tmp_path, text).thing.labels)


def test_lines_with_returns_are_links_or_one_cable(tmp_path):
    assert read(tmp_path, "a,b\nb,a\n").notes == ()
    listed = read(tmp_path, "A side,A port,B side,B port\nh1,1,h2,2\nh2,2,h1,1\nh2,3,h3,1\nh3,1,h2,3\n")
    assert listed.thing.num_links == 4 and listed.notes == ("hosts have 1 to 2 cables: h1 has 1",)
    partly = read(tmp_path, "A side,A port,B side,B port\nh1,1,h2,2\nh2,2,h1,1\nh2,1,h1,2\n")
    assert partly.thing.num_links == 4 and partly.notes[0] == "1 cable listed from both ends: each is read once"
    plain = read(tmp_path, "A side,B side\nh1,h2\nh2,h1\n")
    assert plain.thing.num_links == 2
    parallel = read(tmp_path, "A side,B side\nh1,h2\nh2,h1\nh1,h3\n")
    assert parallel.thing.num_links == 6


def test_both_ways(tmp_path):
    found = read(tmp_path, "a,b\nb,c\nc,a\n", both_ways=True)
    assert found.thing == TRIANGLE and found.notes == ()
    assert read(tmp_path, "a,b\nb,a\na,c\n", both_ways=True).thing.num_links == 6
    with pytest.raises(FileError, match="duplex cable, but all 2 have their return"):
        read(tmp_path, "a,b\nb,a\n", both_ways=True)
    ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0], alpha=[1, 2, 3])
    for suffix in (".graphml", ".json", ".npz", ".dot"):
        save(ring, tmp_path / f"t{suffix}")
        assert load(tmp_path / f"t{suffix}") == ring
        assert load(tmp_path / f"t{suffix}", both_ways=True).is_bidirectional


def test_one_way_files_of_ours_need_no_note(tmp_path):
    save(Topology.from_links(3, [0, 1, 2], [1, 2, 0]), tmp_path / "t.csv")
    assert read_known(tmp_path / "t.csv").notes == ()


def test_unicode_names_and_case(tmp_path):
    found = read(tmp_path, "A side,A port,B side,B port\nrück-1,über1,サーバ２,p\nサーバ２,q,RÜCK-1,p\n")
    assert found.thing.labels == ("rück-1", "サーバ２", "RÜCK-1")
    assert "'rück-1' and 'RÜCK-1' differ only in case: they are read as two hosts" in found.notes
    for suffix in (".csv", ".dot", ".json"):
        save(found.thing, tmp_path / f"u{suffix}")
        assert load(tmp_path / f"u{suffix}").labels == found.thing.labels


# --- one line for what is wrong ---


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("t.csv", "A side,A port,B side,B port\nh1,p1,h2,p1\nh1,p1,h3,p1\n",
         r"t\.csv:3: port 'p1' of 'h1' is in use already, by line 2"),
        ("t.csv", "A side,A port,B side,B port\nh1,p1,h2,p1,,x\n", r"t\.csv:2: a link is written tail,head, not"),
        ("t.csv", "A side,B side,Length\nh1,,2\n", r"t\.csv:2: a link is written tail,head, not 'h1,,2'"),
        ("t.csv", "Label,Termination A,Termination B\nx,eth0,eth1\n", r"t\.csv:1: has the terminations of cables and"),
        ("t.csv", "A side,B side" + ",x" * 2000 + "\nh1,h2\n", r"t\.csv:1: has 2002 columns: "),
        ("t.csv", "\ufeff".encode("utf-16") + b"\0", r"t\.csv:1: is not UTF-16 text"),
        ("t.csv", 'A side,B side\nh1,"h2\n' + "x,y\n" * 3000, r"t\.csv:2: "),
        ("t.dot", "graph { a -- b", r"t\.dot:1: wants a node, and there is the end: is the file whole\?"),
        ("t.dot", "graph { host-1 -- host-2 }", "must be in quotes"),
        ("t.dot", "graph { 10.0.0.1 -- b }", "must be in quotes"),
        ("t.dot", "graph { a }", "has no edges, such as"),
        ("t.dot", "graph { a -- b } graph { c -- d }", "goes on after its graph: a file must hold one"),
        ("t.dot", "flowchart { a -- b }", "is not DOT, which starts with graph"),
        ("t.dot", "graph " + "{" * 500, "more than 100 braces in braces"),
        ("t.dot", 'graph { a -- "b }', r"t\.dot:1: is not DOT"),
        ("t.dot", "graph { a -- <b }", "has no end: is the file whole"),
        ("t.dot", "graph { a -- b [alpha=5]; b -- c }", "alpha is given for 1 of 2 edges: give all or none"),
        ("t.dot", 'graph { "a":"1" -- "b":"1"; "a":"1" -- "c":"1" }', "port '1' of 'a' is in use already, by line 1"),
        ("t.json", '{"count": 9, "results": [{"id": 1, "a_terminations": [], "b_terminations": []}]}',
         r"holds 1 of 9 cables, a page: ask NetBox for all of them"),
        ("t.json", '[{"id": 7, "a_terminations": [{}], "b_terminations": []}]',
         "cable 7: has 1 terminations on side A and 0 on side B"),
        ("t.json", '[{"id": 7, "a_terminations": 3, "b_terminations": []}]', "a_terminations must be a list of obj"),
        ("t.json", '[{"a_terminations": [{"object_id": 1}], "b_terminations": [{"object_id": 2}]}]',
         "cable 0: names no device"),
        ("t.json", '[{"a_terminations": [], "b_terminations": []}, 5]', "cable 1: has no a_terminations"),
        ("t.json", '{"lldp": [{}]}', "has no neighbours: is lldpd running on both ends"),
        ("t.json", '{"lldp": {}} {"lldp": ', r"t\.json:1: is truncated or not JSON"),
        ("t.json", '{"cables": [{"from": "a", "to": "b", "kind": "copper"}]}', "a kind that is duplex or simplex"),
    ],
)  # fmt: skip
def test_rejections(tmp_path, name, text, match):
    with pytest.raises(FileError, match=match) as caught:
        read(tmp_path, text, name)
    assert "\n" not in str(caught.value) and name in str(caught.value)


def test_self_cables_are_left_out_by_name(tmp_path):
    found = read(tmp_path, "A side,A port,B side,B port\nh1,1,h1,2\nh1,3,h2,1\nh2,2,h2,3\n")
    assert links(found.thing) == ["h1h2", "h2h1"]
    assert found.notes[0] == "line 2: a cable from h1 to itself and 1 more like it: left out"


def test_unequal_hosts_are_named(tmp_path):
    found = read(tmp_path, "A side,A port,B side,B port\nh1,1,h2,1\nh2,2,h3,1\nh3,2,h1,2\nh1,3,h4,1\n")
    assert found.notes[-1] == "hosts have 1 to 3 cables: h4 has 1"


# --- LLDP ---


def view(*seen, kind="ifname"):
    rows = [
        {"name": port, "chassis": [{"name": [{"value": host}]}], "port": [{"id": [{"type": kind, "value": far}]}]}
        for port, host, far in seen
    ]
    return {"lldp": [{"interface": rows}]}


def test_a_cable_that_one_end_sees(tmp_path):
    text = json.dumps({"a": view(("e1", "b", "e1"), ("e2", "b", "e2")), "b": view(("e1", "a", "e1"))})
    found = read(tmp_path, text, "t.json")
    assert cables(found.thing) == [("a", "e1", "b", "e1"), ("a", "e2", "b", "e2")]
    assert found.notes == ("1 of 2 cables seen from one end only: a e2 - b e2",)


def test_views_say_whose_they_are_by_each_other(tmp_path):
    text = "\n".join(
        json.dumps(one)
        for one in (
            view(("e1", "b", "f1"), ("e2", "c", "g2")), view(("f1", "a", "e1"), ("f2", "c", "g1")),
            view(("g1", "b", "f2"), ("g2", "a", "e2")),
        )
    )  # fmt: skip
    found = read(tmp_path, text, "all.json")
    assert found.thing == TRIANGLE and found.notes == ()
    with pytest.raises(FileError, match="nothing says whose view the 1th is"):
        read(tmp_path, json.dumps(view(("e1", "b", "f1"))) * 2, "all.json")


def test_ports_known_only_by_their_addresses(tmp_path):
    text = json.dumps({"a": view(("e1", "b", "0:1"), kind="mac"), "b": view(("f1", "a", "0:2"), kind="mac")})
    found = read(tmp_path, text, "t.json")
    assert cables(found.thing) == [("a", "e1", "b", "f1")] and found.notes == ()


def test_a_port_that_sees_two_hosts_is_behind_a_switch(tmp_path):
    text = json.dumps({"a": view(("e1", "b", "e1"), ("e1", "c", "e1")), "b": view(), "c": view()})
    with pytest.raises(FileError, match="port 'e1' of 'a' is in use already, by cable 1"):
        read(tmp_path, text, "t.json")


def test_a_file_of_one_host_has_its_name(tmp_path):
    found = read(tmp_path, json.dumps(view(("e1", "b", "f1"))), "h7.json")
    assert cables(found.thing) == [("b", "f1", "h7", "e1")]


def test_folders_hold_views_only(tmp_path):
    shutil.copytree(HERE / "lldp", tmp_path / "seen")
    (tmp_path / "seen" / "x.json").write_text("[1]")
    with pytest.raises(FileError, match=r"seen: x\.json is not what lldpcli prints"):
        load(tmp_path / "seen")
    (tmp_path / "seen" / "x.json").write_text("{")
    with pytest.raises(FileError, match=r"seen: x\.json: line 1: is truncated or not JSON"):
        load(tmp_path / "seen")
    with pytest.raises(FileError, match="is a directory, not a file"):
        load(tmp_path)


# --- DOT ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("graph { a -- b -- c }", ["ab", "ba", "bc", "cb"]),
        ("digraph { a -> b -> c; }", ["ab", "bc"]),
        ("digraph { a -> b [dir=both] b -> c }", ["ab", "ba", "bc"]),
        ("strict graph G { a -- { b c } }", ["ab", "ac", "ba", "ca"]),
        ("graph { subgraph cluster_1 { label=x; a; b } a -- b }", ["ab", "ba"]),
        ("graph { node [shape=box]; edge [len=2]; a:n -- b:s; }", ["ab", "ba"]),
        ('graph { "a" + "b" -- c // end\n # more\n /* or\n less */ }', ["abc", "cab"]),
        ('graph { a [label="x"]; b [label="y"]; a -- b }', ["xy", "yx"]),
        ('graph { a [label="x"]; a -- b }', ["ab", "ba"]),
        ("graph { 1 -- 0; 0 -- 2; 3 }", ["01", "02", "10", "20"]),
        ("graph { <b>x</b> -- y }".replace("<b>x</b>", "<<b>x</b>>"), ["<<b>x</b>>y", "y<<b>x</b>>"]),
    ],
)
def test_dot(tmp_path, text, expected):
    assert links(read(tmp_path, text, "t.dot").thing) == expected


def test_dot_with_ports_one_way_and_simplex(tmp_path):
    found = read(tmp_path, 'digraph { "a":"1" -> "b":"1"; "b":"2" -> "a":"2" }', "t.gv")
    assert found.notes == ("2 lines have no return: they are 2 duplex cables",) and found.thing.num_links == 4
    found = read(tmp_path, 'digraph { "a":"1" -> "b":"1" [kind=simplex]; "b":"1" -> "a":"1" [kind=simplex] }', "t.gv")
    assert links(found.thing) == ["ab", "ba"] and not any(one.duplex for one in cables_of(found.thing))


# --- hostile files ---

WORDS = st.sampled_from(
    ["A side", "B side", "source", "from", "port", "kind", "duplex", "alpha", "9" * 400, "-1", "1e999", "h1", "h2", "",
     '"', "\0", "{", "}", "[", "]", "--", "->", "graph", ":", "=", "lldp", "a_terminations", "\ufeff", "サ", "#", "<"]
)  # fmt: skip


@pytest.mark.parametrize("suffix", READABLE)
@settings(deadline=10_000, max_examples=60)
@given(data=st.one_of(st.binary(max_size=200), st.lists(WORDS, max_size=30).map(lambda w: ",".join(w).encode()),
                      st.lists(WORDS, max_size=30).map(lambda w: " ".join(w).encode()),
                      st.lists(WORDS, max_size=12).map(lambda w: "\n".join(w).encode("utf-16"))))  # fmt: skip
@example(data=b"")
@example(data=b"\xef\xbb\xbf")
@example(data=b'{"lldp": [[[{"interface": [{"name": [[]], "chassis": [{"name": 5}]}]}]]]}')
@example(data=b'[{"a_terminations": [{"object": {"device": [], "name": {}}}], "b_terminations": [{"object": 7}]}]')
@example(data=b'{"cables": [{"from": 1, "to": [], "kind": "duplex"}]}')
@example(data=b'{"cables": [{"from": 1, "to": 2, "kind": "duplex"}, 7]}')
@example(data=b'{"results": [{"termination_a": 1}]}')
@example(data=b"[" * 100_000)
@example(data=b'{"lldp":' * 50_000)
@example(data=b"graph{a--" + b"{b " * 90 + b"}" * 91)
@example(data=b"A side,A side,B side,B side\nx,y,z,w\n")
@example(data=b"Port,Port,Port\n1,2,3\n")
def test_foreign_bytes_are_one_line(tmp_path_factory, suffix, data):
    path = tmp_path_factory.getbasetemp() / f"fuzz{suffix}"
    path.write_bytes(data)
    try:
        load(path)
    except FileError as error:
        assert "\n" not in str(error) and str(error).startswith(str(path)) and len(str(error)) < 600


@pytest.mark.parametrize("name", sorted(path.name for path in HERE.iterdir() if path.is_file()))
@settings(deadline=10_000, max_examples=25)
@given(data=st.data())
def test_damaged_files_are_one_line(tmp_path_factory, name, data):
    raw = bytearray((HERE / name).read_bytes())
    raw = raw[: data.draw(st.integers(0, len(raw)))]
    for _ in range(data.draw(st.integers(0, 4))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(raw)
    try:
        wire(load(path))
    except FileError as error:
        assert "\n" not in str(error) and str(path) in str(error)


def test_sizes_have_limits(tmp_path, monkeypatch):
    from linkstep.files import dot, tables

    monkeypatch.setattr(tables.read_limited, "__defaults__", (100,))
    with pytest.raises(FileError, match="is larger than the 100 bytes that linkstep reads of a wiring"):
        read(tmp_path, "a,b\n" * 30)
    monkeypatch.setattr(dot, "_MOST_BYTES", 50)
    with pytest.raises(FileError, match="is larger than the 50 bytes"):
        read(tmp_path, "graph { a -- b } //" + "x" * 100, "t.dot")
