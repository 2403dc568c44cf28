"""The verifier of runtime files: right programs in styles not ours are accepted, wrong ones refuted with a witness."""

import time
import xml.etree.ElementTree as ET

import pytest

from linkstep.core.errors import FileError
from linkstep.verification import DIALECTS, Finding, verify_file, verify_text
from support import judge as verify_tools
from support.verdicts import ACCEPTED, PROGRAMS, rules, text_of


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


def test_dialect_is_checked():
    with pytest.raises(FileError, match="unknown dialect 'nccl'"):
        verify_text("", "nccl")
    assert DIALECTS == ("mscclpp", "msccl", "msccl-azure", "rccl", "cpu")
    for name in ACCEPTED:
        for dialect in set(DIALECTS) - set(ACCEPTED[name]):
            assert rules(text_of(name), dialect)


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


@pytest.mark.slow
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
    start = time.process_time()
    report = verify_text(text, "msccl")
    assert report.is_verified and report.instructions == n * channels * (2 * n - 1)
    assert time.process_time() - start < 20
    last = text.rindex('type="rrcs"')
    report = verify_text(text[:last] + text[last:].replace("rrcs", "rcs", 1), "msccl")
    assert report.errors[0].rule == "result" and "lacks the part of rank 63" in report.errors[0].message
