"""Hostile and merely odd input to the verifier is answered in one line, soon, and never with a traceback."""

import json
import random
import time
from pathlib import Path

import pytest

import support
from linkstep.core.errors import FileError
from linkstep.verification import DIALECTS, verify_file, verify_text

PROGRAMS = Path(support.__file__).parent / "programs"
NAMES = sorted(p.name for p in PROGRAMS.iterdir())
BOMB = (
    '<?xml version="1.0"?><!DOCTYPE s [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10 if k else "&a;" * 10}">' for k in range(9))
    + ']><schedule format="&a8;"></schedule>'
)
ALGO = (
    '<algo name="x" ngpus="{n}" nchunksperloop="{c}" nchannels="1" proto="Simple" coll="allreduce" inplace="1" '
    'outofplace="0" minBytes="0" maxBytes="1">{inside}</algo>'
)
CPU = '<schedule format="linkstep-cpu" version="1" coll="allreduce" ranks="{n}" chunks="{c}" inplace="0" root="-1">'


def answer(text: str, dialect: str | None = None) -> str:
    """Verify a text that must not be right; return the answer and insist that it is one short line, soon."""
    start = time.process_time()
    try:
        report = verify_text(text, dialect)
    except FileError as error:
        said = str(error)
    else:
        assert not report.is_verified and len(report.findings) < 200
        said = str(report.findings[0])
    assert time.process_time() - start < 20
    assert "\n" not in said and len(said) < 500
    return said


HOSTILE = {
    "nothing": "", "space": " \n ", "zero": "\0", "bomb": BOMB,
    "external": '<!DOCTYPE s SYSTEM "file:///etc/passwd"><schedule></schedule>',
    "deep": "<algo>" * 100_000, "deep-cpu": "<schedule>" * 100_000, "deep-json": "[" * 100_000,
    "deep-rank": CPU.format(n=1, c=1) + '<rank id="0" input="1" output="1" scratch="0">' + "<a>" * 10_000,
    "long-value": ALGO.format(n="9" * 10**6, c=1, inside=""),
    "many-attributes": "<algo" + ' a="1"' * 10**5 + "></algo>",
    "many-gpus": ALGO.format(n=4, c=4, inside='<gpu id="0" i_chunks="1" o_chunks="1" s_chunks="1"></gpu>' * 2000),
    "many-ranks": ALGO.format(n=10**9 - 1, c=1, inside=""),
    "many-chunks": ALGO.format(n=1, c=10**9 - 1, inside=""),
    "much-scratch": ALGO.format(n=1024, c=32767, inside="".join(
        f'<gpu id="{r}" i_chunks="32767" o_chunks="0" s_chunks="32767"></gpu>' for r in range(1024))),
    "many-steps": ALGO.format(n=1, c=1, inside='<gpu id="0" i_chunks="1" o_chunks="0" s_chunks="0">'
        '<tb id="0" send="-1" recv="-1" chan="0">' + "".join(
        f'<step s="{k}" type="re" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>'
        for k in range(50_000)) + "</tb></gpu>"),
    "cpu-chunks": CPU.format(n=1, c=999_999_999) + '<rank id="0" input="999999999" output="999999999" scratch="0">'
        '<copy n="0" src="i" srcoff="0" dst="o" dstoff="0" cnt="999999999"/></rank></schedule>',
    "cpu-text": CPU.format(n=1, c=1) + 'text<rank id="0" input="1" output="1" scratch="0"/></schedule>',
    "json-number": '{"gpus": ' + "9" * 100_000 + "}", "json-constant": '{"gpus": [NaN]}', "json-list": "[1, 2]",
    "json-wrong": json.dumps({"name": [], "collective": {}, "protocol": 1, "inplace": "yes", "gpus": [[]]}),
    "json-chunks": json.dumps({"name": "x", "collective": "allreduce", "protocol": "Simple", "inplace": True, "gpus": [
        {"id": 0, "input_chunks": 2**31 - 1, "output_chunks": 2**31 - 1, "scratch_chunks": 0, "threadblocks": []}]}),
}  # fmt: skip


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (case == "many-steps")) for case in sorted(HOSTILE)]
)
def test_hostile_input(case):
    answer(HOSTILE[case])
    for dialect in DIALECTS:
        answer(HOSTILE[case], dialect)


def test_entities_are_never_read():
    assert "DTD" in answer(BOMB, "cpu")


@pytest.mark.parametrize("name", NAMES)
def test_noise_never_escapes(name):
    """Characters changed, cut or repeated at random: a report or a FileError, nothing else."""
    text, rng = (PROGRAMS / name).read_text(), random.Random(name)
    for _ in range(150):
        a, b = sorted(rng.randrange(len(text)) for _ in range(2))
        b = min(b, a + rng.choice((1, 2, 40)))
        put = rng.choice(("", "9", "-", '"', "<", "\t", "é", "\0", "99999999999", text[a:b] * 2, "null", "{}", "[]"))
        try:
            report = verify_text(text[:a] + put + text[b:])
        except FileError as error:
            assert "\n" not in str(error)
        else:
            assert report.is_verified == (not report.errors and not report.unknowns)


@pytest.mark.parametrize("number", [50, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [n for n in NAMES if n.endswith(".json")])
def test_wrong_types_in_json(name, number):
    """Values of a plan, all of a small one in the end, replaced by every other kind of value."""

    def places(thing, path=()):
        yield path
        for key in thing if isinstance(thing, dict) else range(len(thing)) if isinstance(thing, list) else ():
            yield from places(thing[key], (*path, key))

    whole = json.loads((PROGRAMS / name).read_text())
    rng = random.Random(1)
    paths = [p for p in places(whole) if p]
    for path in rng.sample(paths, min(number, len(paths))):
        for value in (None, True, -1, 0, 1.5, 2**40, "x", [], {}, [[]], [None], {"a": 1}):
            plan = json.loads(json.dumps(whole))
            thing = plan
            for key in path[:-1]:
                thing = thing[key]
            thing[path[-1]] = value
            try:
                verify_text(json.dumps(plan))
            except FileError as error:
                assert "\n" not in str(error)


def test_files(tmp_path):
    with pytest.raises(FileError, match=r"none\.xml: no such file"):
        verify_file(tmp_path / "none.xml")
    with pytest.raises(FileError, match="is a directory"):
        verify_file(tmp_path)
    (tmp_path / "binary").write_bytes(b"<algo \xff")
    with pytest.raises(FileError, match="not a text file: byte 6"):
        verify_file(tmp_path / "binary")
