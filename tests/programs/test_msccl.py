"""MSCCL XML: what the tokenizers do not read, each rule and each limit refuses its breach, harmless changes pass."""

import xml.etree.ElementTree as ET

import pytest

from linkstep.verification import verify_text
from support import judge as verify_tools
from support.verdicts import ACCEPTED, rules, text_of, warned

# A change to one text of one program, and the rule it must break. [number] picks the occurrence.
CHANGES = [
    ("ring-allreduce.msccl.xml", 'coll="allreduce"', 'coll="allsum"', "coll"),
    ("ring-allreduce.msccl.xml", 'proto="Simple"', 'proto="LL64"', "proto"),
    ("ring-allreduce.msccl.xml", 'ngpus="4"', 'ngpus="0"', "ngpus"),
    ("ring-allreduce.msccl.xml", 'ngpus="4"', 'ngpus="1025"', "ngpus"),
    ("ring-allreduce.msccl.xml", 'ngpus="4"', 'ngpus="5"', "gpu"),
    ("ring-allreduce.msccl.xml", 'gpu id="1"', 'gpu id="0"', "gpu"),
    ("ring-allreduce.msccl.xml", 'nchunksperloop="8"', 'nchunksperloop="32768"', "chunks"),
    ("ring-allreduce.msccl.xml", 'nchunksperloop="8"', 'nchunksperloop="9"', "chunks"),
    ("ring-allgather.msccl.xml", 'nchunksperloop="8"', 'nchunksperloop="6"', "chunks"),
    ("ring-allreduce.msccl.xml", 's_chunks="0"', 's_chunks="40000"', "chunks"),
    ("ring-allreduce.msccl.xml", 'nchannels="2"', 'nchannels="1"', "channel"),
    ("ring-allreduce.msccl.xml", 'nchannels="2"', 'nchannels="33"', "channels"),
    ("ring-allreduce.msccl.xml", 'tb id="1"', 'tb id="2"', "tb-id"),
    ("ring-allreduce.msccl.xml", 'tb id="1"', 'tb id="0"', "tb-id"),
    ("ring-allreduce.msccl.xml", 'send="1" recv="3"', 'send="4" recv="3"', "peer"),
    ("ring-allreduce.msccl.xml", 'send="1" recv="3"', 'send="0" recv="3"', "peer"),
    ("ring-allreduce.msccl.xml", 'send="1" recv="3"', 'send="-1" recv="3"', "peer"),
    ("ring-allreduce.msccl.xml", 'send="3" recv="1" chan="1"', 'send="1" recv="1" chan="0"', "connection"),
    ("ring-allreduce.msccl.xml", 'type="rrs"', 'type="rrx"', "type"),
    ("ring-allreduce.msccl.xml", 'srcbuf="i"', 'srcbuf="x"', "buffer"),
    ("ring-allreduce.msccl.xml", 's="1"', 's="2"', "step-id"),
    ("ring-allreduce.msccl.xml", 'cnt="1"', 'cnt="0"', "count"),
    ("ring-allreduce.msccl.xml", 'cnt="1"', 'cnt="72"', "count"),
    ("ring-allreduce.msccl.xml", 'srcoff="0"', 'srcoff="32768"', "offset"),
    ("ring-allreduce.msccl.xml", 'srcoff="0"', 'srcoff="8"', "bounds"),
    ("ring-allreduce.msccl.xml", 'cnt="1"', 'cnt="2"', "matching"),
    ("ring-allreduce.msccl.xml", 'hasdep="0"', 'hasdep="2"', "hasdep"),
    ("ring-allreduce.msccl.xml", 'depid="-1" deps="-1"', 'depid="1" deps="0"', "dependency"),
    ("ring-allreduce.msccl.xml", 'minBytes="0" maxBytes="268435456"', 'minBytes="9" maxBytes="8"', "window"),
    ("ring-allreduce.msccl.xml", "<algo ", '<algo nthreads="100" ', "attribute"),
    ("allpairs-allreduce.rccl.xml", 'depid="3" deps="5"', 'depid="3" deps="6"', "dependency"),
    ("allpairs-allreduce.rccl.xml", 'depid="3" deps="5"', 'depid="4" deps="0"', "dependency"),
    ("allpairs-allreduce.rccl.xml", 'depid="3" deps="5"', 'depid="3" deps="1"', "dependency"),
    ("allpairs-allreduce.rccl.xml", 'depid="3" deps="5"', 'depid="3" deps="4"', "dependency"),
    ("allpairs-allreduce.rccl.xml", 'depid="3" deps="5"', 'depid="-1" deps="-1"', "race"),
    ("allpairs-allreduce.rccl.xml", 'depid="2" deps="1" hasdep="0"', 'depid="-1" deps="-1" hasdep="0"', "nop"),
    ("allpairs-allreduce.rccl.xml", 'depid="0" deps="1"', 'depid="-1" deps="-1"', "nop"),
    ("ring-reduce-scatter.azure.xml", 'coll="reducescatter"', 'coll="reduce_scatter"', "coll"),
    ("ring-reduce-scatter.azure.xml", 'coll="reducescatter"', 'coll="allgather"', "bounds"),
    ("ring-reduce-scatter.azure.xml", ' outofplace="1"', "", "attribute"),
    ("ring-reduce-scatter.azure.xml", ' maxBytes="1048576"', "", "attribute"),
    ("ring-reduce-scatter.azure.xml", 'type="rrc"', 'type="r"', "result"),
    ("direct-all-to-all.rccl.xml", 'type="cpy" srcbuf="i" srcoff="0"', 'type="cpy" srcbuf="i" srcoff="1"', "result"),
    ("direct-all-to-all.rccl.xml", 'coll="alltoall"', 'coll="allreduce"', "result"),
    ("direct-all-to-all.rccl.xml", 'inplace="0"', 'inplace="1"', "race"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "rule"), CHANGES)
def test_each_rule_refuses_its_breach(name, old, new, rule):
    text = text_of(name)
    assert old in text
    assert rule in rules(text.replace(old, new, 1), ACCEPTED[name][-1])


# What the runtimes' tokenizers do not read.
UNREADABLE = [
    ("<algo ", "<?xml version='1.0'?>\n<algo "),
    ("<algo ", "<!DOCTYPE a [<!ENTITY b 'c'>]>\n<algo "),
    ("  <gpu", "\t<gpu"),
    ('s="0" type', 's="0"  type'),
    ('s="0" type', 's="0"\ntype'),
    ('s="0" type', "s='0' type"),
    ('s="0" type', 's=0 type'),
    ('s="0" type', 's="zero" type'),
    ('s="0" type', 's="99999999999999999999" type'),
    ('s="0" type', 's="0" s="0" type'),
    ('s="0" type', " ".join(f'a{k}="0"' for k in range(8)) + ' s="0" type'),
    (' cnt="1"', ""),
    ('name="', 'name="' + "n" * 256),
    ("two_rings", "two&amp;rings"),
    ("</tb>", "words</tb>"),
    ("</tb>", ""),
    ("</gpu>", "</tb>"),
    ("<tb ", "<block "),
    ("</algo>", '</algo>\n<algo name="second"></algo>'),
    ("<!-- one", "<!-- a=b one"),
    ("</algo>", "<!-- no end"),
    ('inplace="1"', 'inplace="yes"'),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), UNREADABLE)
def test_what_the_tokenizers_do_not_read(old, new):
    text = text_of("ring-allreduce.msccl.xml")
    assert old in text
    assert rules(text.replace(old, new, 1), "msccl") == {"unreadable"}


@pytest.mark.parametrize("name", sorted(ACCEPTED))
def test_truncated_files_are_refused(name):
    text = text_of(name).rstrip()
    for k in range(40):
        assert rules(text[: k * len(text) // 40]) == {"unreadable"}


HARMLESS = [
    ("<algo ", "<!-- a comment, a = b inside -->\n<algo "),
    (" />", "/>"),
    ("\n", "\r\n"),
    ("two_rings", "another name"),
    ('maxBytes="268435456"', 'maxBytes="268435456" nthreads="256"'),
    ('<gpu id="0" i_chunks="8" o_chunks="0"', '<gpu id="0" i_chunks="8" o_chunks="8"'),
]


@pytest.mark.parametrize(("old", "new"), HARMLESS)
def test_harmless_changes_are_accepted(old, new):
    text = text_of("ring-allreduce.msccl.xml")
    assert old in text
    report = verify_text(text.replace(old, new), "msccl")
    assert report.is_verified and not report.findings


def test_order_of_attributes_blocks_and_gpus_is_free():
    tree = ET.fromstring(text_of("ring-allreduce.msccl.xml"))
    tree[:] = tree[::-1]
    for k, step in enumerate(tree.iter("step")):
        step.attrib = dict(sorted(step.attrib.items(), reverse=bool(k % 3)))
    for gpu in tree:
        gpu[:] = gpu[::-1]
    assert verify_text(verify_tools.write(tree)).is_verified


def test_limits_of_the_runtimes():
    wide = ET.fromstring(text_of("ring-allreduce.msccl.xml"))
    for tb in list(wide[0]):
        wide[0].remove(tb)
    for t in range(220):
        ET.SubElement(wide[0], "tb", id=str(t), send="-1", recv="-1", chan="0")
    assert "threadblocks" in rules(verify_tools.write(wide), "msccl")
    for tb in list(wide[0])[150:]:
        wide[0].remove(tb)
    assert any("cannot run them all" in m for m in warned(verify_tools.write(wide), "msccl"))

    long = ET.fromstring(text_of("direct-all-to-all.rccl.xml"))
    tb = long[0][-1]
    step = dict(tb[0].attrib)
    for k in range(1, 70):
        ET.SubElement(tb, "step", step | {"s": str(k)})
    text = verify_tools.write(long)
    assert verify_text(text).dialects == ("msccl",)
    assert rules(text, "rccl") == rules(text, "msccl-azure") == {"steps"}
    assert "type" in rules(text_of("ring-reduce-scatter.azure.xml"), "rccl")

    peers = ET.fromstring(text_of("direct-all-to-all.rccl.xml"))
    for t in range(len(peers[0]), 40):
        ET.SubElement(peers[0], "tb", id=str(t), send="1", recv="-1", chan="0")
    assert {"connection", "peers"} <= rules(verify_tools.write(peers), "rccl")


def reduces(count: int, chain: int) -> str:
    """A program whose rank 0 does ``count`` re in one tb, the last ``chain`` of them to another scratch chunk."""
    tree = ET.fromstring(text_of("direct-all-to-all.rccl.xml"))
    tree[0].set("s_chunks", "2")
    step = dict(tree[0][-1][0].attrib) | {"type": "re", "dstbuf": "s"}
    for k in range(1, count + 1):
        ET.SubElement(tree[0][-1], "step", step | {"s": str(k), "dstoff": str(int(k > count - chain))})
    return verify_tools.write(tree)


def test_fused_reductions():
    assert not rules(reduces(16, 16), "msccl")
    assert not rules(reduces(30, 15), "msccl")  # the runtimes cut a chain after the 16th re of a threadblock
    assert "fusion" in rules(reduces(40, 20), "msccl")
    tree = ET.fromstring(text_of("allpairs-allreduce.rccl.xml"))
    tree[0][3][4].set("srcbuf", "o")
    tree[0][3][4].set("srcoff", "1")
    assert "fusion" not in rules(verify_tools.write(tree))  # another source buffer is another instruction


def test_selection_warnings():
    ring = text_of("ring-allreduce.msccl.xml")
    assert any("never selects" in m for m in warned(ring.replace('maxBytes="268435456"', 'maxBytes="0"'), "msccl"))
    assert any("only below 134217728" in m for m in warned(ring.replace(' maxBytes="268435456"', ""), "msccl"))
    assert any("no runtime reads" in m for m in warned(ring.replace("<algo ", '<algo colour="red" '), "msccl"))
    pairs = text_of("allpairs-allreduce.rccl.xml")
    assert not warned(pairs, "rccl") and not warned(pairs, "msccl-azure")  # to these 0 is no limit
    assert any("never selects" in m for m in warned(pairs.replace('outofplace="1"', 'outofplace="0"'), "rccl"))
    window = pairs.replace('minBytes="0" maxBytes="0"', 'minBytes="8" maxBytes="4"')
    assert any("never selects" in m for m in warned(window, "rccl"))


def test_scratch_allocated_at_start_is_warned_of():
    """microsoft/msccl allocates maxBytes * s_chunks / nchunksperloop with the communicator; the others do not."""
    pairs = text_of("allpairs-allreduce.rccl.xml")
    assert 's_chunks="3"' in pairs and 'nchunksperloop="4"' in pairs
    safe = 2**30 * 4 // 3
    for most, warns in ((safe, False), (safe + 1, True), (2**40, True)):
        text = pairs.replace('maxBytes="0"', f'maxBytes="{most}"')
        found = [f for f in verify_text(text, "msccl").warnings if f.rule == "scratch"]
        assert bool(found) == warns
        assert not [f for d in ("msccl-azure", "rccl") for f in verify_text(text, d).warnings if f.rule == "scratch"]
    assert "allocates 824633720832 bytes (768.0 GiB) of scratch" in found[0].message
    assert f"a maxBytes of at most {safe} keeps it to 1 GiB" in found[0].message and found[0].rank == 0
    report = verify_text(pairs.replace('maxBytes="0"', 'maxBytes="1099511627776"'), "msccl")
    assert report.is_verified
    default = pairs.replace(' maxBytes="0"', "").replace('s_chunks="3"', 's_chunks="400"')
    assert any("allocates 13421772800 bytes" in m for m in warned(default, "msccl"))


def test_the_upper_end_of_the_window_is_exclusive_in_one_runtime():
    ring = text_of("ring-allreduce.msccl.xml")
    same = ring.replace('minBytes="0" maxBytes="268435456"', 'minBytes="4096" maxBytes="4096"')
    assert any("minBytes <= bytes < maxBytes" in m and "never selects" in m for m in warned(same, "msccl"))
    scatter = text_of("ring-reduce-scatter.azure.xml")
    same = scatter.replace('minBytes="1024"', 'minBytes="1048576"')
    assert same != scatter and not any("never" in m for m in warned(same, "msccl-azure"))
