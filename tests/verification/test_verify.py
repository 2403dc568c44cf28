"""The verifier of runtime files: right programs in styles not ours are accepted, and each rule refuses its breach."""

import json
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import support
from linkstep.cli import _verify
from linkstep.core.errors import FileError
from linkstep.verification import DIALECTS, Finding, verify_file, verify_text
from support import judge as verify_tools

PROGRAMS = Path(support.__file__).parent / "programs"
ACCEPTED = {
    "allpairs-allreduce.mscclpp.json": ("mscclpp",),
    "allpairs-allreduce.rccl.xml": ("msccl", "msccl-azure", "rccl"),
    "direct-all-to-all.rccl.xml": ("msccl", "msccl-azure", "rccl"),
    "ports-allgather.mscclpp.json": ("mscclpp",),
    "ring-allgather.msccl.xml": ("msccl",),
    "ring-allreduce.cpu.xml": ("cpu",),
    "ring-allreduce.msccl.xml": ("msccl",),
    "ring-reduce-scatter.azure.xml": ("msccl-azure",),
}


def text_of(name: str) -> str:
    return (PROGRAMS / name).read_text()


def rules(text: str, dialect: str | None = None) -> set[str]:
    """The rules a text breaks; {"unreadable"} if it cannot be read at all."""
    try:
        report = verify_text(text, dialect)
        return {f.rule for f in report.errors + report.unknowns}
    except FileError as error:
        assert "\n" not in str(error) and len(str(error)) < 400
        return {"unreadable"}


def warned(text: str, dialect: str) -> list[str]:
    return [f.message for f in verify_text(text, dialect).warnings]


@pytest.mark.parametrize("name", sorted(p.name for p in PROGRAMS.iterdir()))
def test_right_programs_are_accepted(name):
    report = verify_file(PROGRAMS / name)
    assert report.is_verified and not report.errors
    assert report.dialects == ACCEPTED[name] and report.dialect == report.dialects[0]
    for dialect in report.dialects:
        assert verify_file(PROGRAMS / name, dialect).is_verified


def test_report():
    report = verify_file(PROGRAMS / "ring-reduce-scatter.azure.xml")
    assert (report.dialect, report.collective, report.ranks, report.chunks) == ("msccl-azure", "reduce-scatter", 4, 8)
    with pytest.raises(AttributeError):
        report.ranks = 5
    finding = Finding("error", "race", "it races", 1, 2, 3)
    assert str(finding) == "error: race: rank 1 tb 2 step 3: it races"


def test_the_witness_is_the_step():
    ring = text_of("ring-allreduce.msccl.xml").replace(
        'type="r" srcbuf="i" srcoff="-1"', 'type="r" srcbuf="i" srcoff="0"'
    )
    tree = ET.fromstring(ring)
    tree[2][1][3].set("srcoff", "6")  # rank 2, tb 1: the last to add its part adds another chunk instead
    report = verify_text(verify_tools.write(tree))
    first = report.errors[0]
    assert (first.rule, first.rank, first.threadblock, first.step) == ("result", 2, 1, 3)
    assert "adds different chunks" in first.message


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


def test_messages_that_do_not_fit_are_sent_as_they_are_received():
    """Two ranks that both send before they receive: fine while the connection holds the message, else they hang."""

    def exchange(count: int, proto: str) -> str:
        step = 'srcbuf="i" srcoff="{}" dstbuf="o" dstoff="{}" cnt="{}" depid="-1" deps="-1" hasdep="0"/>'
        gpus = []
        for r in range(2):
            send = step.format((1 - r) * count, 0, count)
            receive = step.format(0, (1 - r) * count, count)
            copy = step.format(r * count, r * count, count)
            gpus.append(
                f'<gpu id="{r}" i_chunks="{2 * count}" o_chunks="{2 * count}" s_chunks="0">'
                f'<tb id="0" send="{1 - r}" recv="{1 - r}" chan="0"><step s="0" type="s" {send}'
                f'<step s="1" type="r" {receive}<step s="2" type="cpy" {copy}</tb></gpu>'
            )
        return (
            f'<algo name="x" ngpus="2" nchunksperloop="{2 * count}" nchannels="1" proto="{proto}" coll="alltoall" '
            f'inplace="0" minBytes="0" maxBytes="{2**33}">{"".join(gpus)}</algo>'
        )

    assert not rules(exchange(2, "Simple")) and not rules(exchange(8, "LL"))
    assert rules(exchange(3, "Simple")) == rules(exchange(9, "LL128")) == {"deadlock"}


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


def test_dialect_is_checked():
    with pytest.raises(FileError, match="unknown dialect 'nccl'"):
        verify_text("", "nccl")
    assert DIALECTS == ("mscclpp", "msccl", "msccl-azure", "rccl", "cpu")
    for name in ACCEPTED:
        for dialect in set(DIALECTS) - set(ACCEPTED[name]):
            assert rules(text_of(name), dialect)


def run(capsys, *argv):
    import argparse

    parser = argparse.ArgumentParser()
    _verify.COMMAND.add_arguments(parser)
    code = _verify.COMMAND.run(parser.parse_args([str(a) for a in argv]))
    return code, *capsys.readouterr()


def test_command(capsys, tmp_path):
    path = PROGRAMS / "ring-allreduce.msccl.xml"
    text = f"{path}: verified allreduce of 4 ranks, 8 chunks, 56 instructions, for msccl\n"
    assert run(capsys, path) == (0, text, "")
    broken = tmp_path / "broken.xml"
    broken.write_text(path.read_text().replace('type="rrcs"', 'type="rcs"', 1))
    code, out, err = run(capsys, broken, "--dialect", "msccl")
    assert code == 1 and not out and err.startswith(f"linkstep: {broken} is refuted as msccl: allreduce of 4 ranks")
    code, out, _ = run(capsys, broken, "--json")
    facts = json.loads(out)
    assert code == 1 and not facts["verified"] and facts["dialect"] == "msccl"
    assert facts["findings"][0]["severity"] == "error" and facts["findings"][0]["rule"] == "result"
    with pytest.raises(FileError, match="no such file"):
        run(capsys, tmp_path / "none.xml")


def chain(coll: str, n: int, root: int, inplace: bool) -> str:
    """A broadcast along the ring from a root, or a reduce along it to the root, in MSCCL XML."""
    where = 'srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2"'
    gpus = []
    for r in range(n):
        place = (r - root) % n
        if coll == "broadcast":
            names = ("cpy", "s") if place == 0 else ("rcs",) if place < n - 1 else ("r",)
            send, recv = ((r + 1) % n if place < n - 1 else -1), ((r - 1) % n if place else -1)
        else:
            names = ("s",) if place == 1 else ("rrs",) if place else ("rrc",)
            send, recv = ((r + 1) % n if place else -1), ((r - 1) % n if place != 1 else -1)
        steps = "".join(
            f'<step s="{k}" type="{name}" {where} depid="-1" deps="-1" hasdep="0"/>' for k, name in enumerate(names)
        )
        gpus.append(
            f'<gpu id="{r}" i_chunks="2" o_chunks="2" s_chunks="0">'
            f'<tb id="0" send="{send}" recv="{recv}" chan="0">{steps}</tb></gpu>'
        )
    return (
        f'<algo name="{coll}" ngpus="{n}" nchunksperloop="2" nchannels="1" proto="LL" coll="{coll}" '
        f'inplace="{int(inplace)}" outofplace="{int(not inplace)}" minBytes="0" maxBytes="9">{"".join(gpus)}</algo>'
    )


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("coll", ["broadcast", "reduce"])
def test_rooted_collectives(coll, inplace):
    for root in range(3):
        text = chain(coll, 3, root, inplace)
        assert verify_text(text).dialects == ("msccl", "msccl-azure")
        other = {"broadcast": 'type="rcs"', "reduce": 'type="rrs"'}[coll]
        worse = {"broadcast": 'type="rrs"', "reduce": 'type="rcs"'}[coll]
        assert "result" in rules(text.replace(other, worse))


def test_sixty_four_ranks_take_seconds():
    n, channels = 64, 4
    step = (
        '<step s="{0}" type="{1}" srcbuf="i" srcoff="{2}" dstbuf="i" dstoff="{2}" cnt="1" '
        'depid="-1" deps="-1" hasdep="0"/>\n'
    )
    names = ["s", *["rrs"] * (n - 2), "rrcs", *["rcs"] * (n - 2), "r"]
    lines = [
        f'<algo name="ring" ngpus="{n}" nchunksperloop="{n * channels}" nchannels="{channels}" proto="Simple" '
        'coll="allreduce" inplace="1" minBytes="0" maxBytes="1048576">\n'
    ]
    for r in range(n):
        lines.append(f'<gpu id="{r}" i_chunks="{n * channels}" o_chunks="0" s_chunks="0">\n')
        for c in range(channels):
            lines.append(f'<tb id="{c}" send="{(r + 1) % n}" recv="{(r - 1) % n}" chan="{c}">\n')
            lines += [step.format(k, name, c * n + (r - k) % n) for k, name in enumerate(names)]
            lines.append("</tb>\n")
        lines.append("</gpu>\n")
    text = "".join(lines) + "</algo>\n"
    start = time.monotonic()
    report = verify_text(text, "msccl")
    assert report.is_verified and report.instructions == n * channels * (2 * n - 1)
    assert time.monotonic() - start < 20
    last = text.rindex('type="rrcs"')
    report = verify_text(text[:last] + text[last:].replace("rrcs", "rcs", 1), "msccl")
    assert report.errors[0].rule == "result" and "lacks the part of rank 63" in report.errors[0].message
