"""MSCCL XML as other tools make it: right programs of each style are accepted, their wrong twins refused."""

import re
from collections import Counter

import pytest

from linkstep.core.errors import FileError
from linkstep.verification import verify_text
from support import foreign
from support import judge as verify_tools

ALL = ("msccl", "msccl-azure", "rccl")
FUSED = ("msccl", "msccl-azure")
IN = {"outofplace": 0, "minBytes": 0, "maxBytes": 0}
OUT = {"outofplace": 1, "minBytes": 0, "maxBytes": 0}


def rules(text, dialect="msccl-azure", capacity="1"):
    return {f.rule for f in verify_text(text, dialect, capacity).errors}


def forget(program, rank, block, position, which=0):
    """Drop one of the steps that a step comes after."""
    del program.blocks[rank][block][position][4][which]
    return program


def nth(text, old, new, number=0):
    """Change one occurrence."""
    at = [m.start() for m in re.finditer(re.escape(old), text)][number]
    return text[:at] + new + text[at + len(old) :]


RIGHT = {
    "ring": (foreign.ring_allreduce(4), IN, FUSED),
    "ring-channels-instances": (foreign.ring_allreduce(4, 2).copies(3), IN, FUSED),
    "ring-both-ways": (foreign.ring_allreduce(4, 3, 1, "o"), IN | {"outofplace": 1}, FUSED),
    "ring-eight": (foreign.ring_allreduce(8, 4).copies(2), IN, FUSED),
    "allgather-in-place": (foreign.ring_allgather(5, True), IN, FUSED),
    "allgather-out-of-place": (foreign.ring_allgather(4, False).copies(2), OUT, FUSED),
    "reduce-scatter-in-place": (foreign.ring_reduce_scatter(4, True, "reduce_scatter"), IN, ("msccl",)),
    "reduce-scatter-out-of-place": (foreign.ring_reduce_scatter(4, False, "reducescatter"), OUT, ("msccl-azure",)),
    "tree": (foreign.tree_allreduce(7), IN, FUSED),
    "tree-instances": (foreign.tree_allreduce(6).copies(2), IN, FUSED),
    "halving-doubling": (foreign.halving_doubling(4), IN, FUSED),
    "all-to-all": (foreign.hierarchical_alltoall(2, 2), OUT, ALL),
    "all-to-all-three-nodes": (foreign.hierarchical_alltoall(3, 2), OUT, ALL),
    "halving-doubling-eight-ll": (foreign.halving_doubling(8), IN, FUSED),
    "allpairs-ll": (foreign.allpairs_allreduce(4), IN, ALL),
    "allpairs-out-of-place-ll": (foreign.allpairs_allreduce(4, False), OUT, ALL),
    "allpairs-eight-ll": (foreign.allpairs_allreduce(8), IN, ALL),
}


@pytest.mark.parametrize("proto", ["Simple", "LL", "LL128"])
@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_are_accepted(name, proto):
    program, head, dialects = RIGHT[name]
    text = program.text(proto, **head)
    report = verify_text(text)
    if proto == "Simple" and name.endswith("-ll"):
        assert {f.rule for f in report.errors} == {"deadlock"}
    else:
        assert report.dialects == dialects and report.instructions == text.count("<step")
        assert verify_text(program.text(proto), "msccl").is_verified == (
            "msccl" in dialects
        )  # old files have no window


def retype(old, new, number=0):
    return lambda text: nth(text, f'type="{old}"', f'type="{new}"', number)


def edit(old, new, number=0):
    return lambda text: nth(text, old, new, number)


TWINS = [
    ("ring", retype("rrs", "rcs"), "result"),
    ("ring", retype("rrcs", "rrs", 1), "result"),
    ("ring", retype("rcs", "rrcs"), "result"),
    ("ring", edit('"rrs" srcbuf="i" srcoff="3"', '"rrs" srcbuf="i" srcoff="2"'), "result"),
    ("ring", edit('recv="3" chan="0"', 'recv="2" chan="0"'), "matching"),
    ("ring-both-ways", retype("rrs", "rrcs"), ""),
    ("ring-both-ways", retype("rcs", "rrs"), "result"),
    ("ring-both-ways", edit('"rcs" srcbuf="i" srcoff="0" dstbuf="o"', '"rcs" srcbuf="i" srcoff="0" dstbuf="i"'),
     "input-written"),
    ("ring-channels-instances", edit('nchunksperloop="24"', 'nchunksperloop="26"'), "result"),
    ("ring-channels-instances", edit('send="1" recv="3" chan="0"', 'send="1" recv="3" chan="1"'), "connection"),
    ("allgather-in-place", retype("rcs", "r"), "matching"),
    ("allgather-in-place", edit('inplace="1" outofplace="0"', 'inplace="0" outofplace="1"'), "result"),
    ("allgather-in-place", edit('dstbuf="o" dstoff="3"', 'dstbuf="o" dstoff="2"'), "result"),
    ("allgather-out-of-place", edit('inplace="0" outofplace="1"', 'inplace="1" outofplace="1"'), ""),
    ("allgather-out-of-place", retype("cpy", "re"), "result"),
    ("reduce-scatter-out-of-place", retype("rrc", "r"), "result"),
    ("reduce-scatter-out-of-place", retype("rrs", "rrcs"), "input-written"),
    ("reduce-scatter-out-of-place", edit('coll="reducescatter"', 'coll="reduce_scatter"'), "coll"),
    ("tree", retype("rrs", "rcs"), "result"),
    ("tree", edit('nchannels="2"', 'nchannels="1"'), "channel"),
    ("halving-doubling", edit('type="rrc" srcbuf="i" srcoff="0"', 'type="rrc" srcbuf="i" srcoff="2"'), "result"),
    ("all-to-all", edit('type="r" srcbuf="s" srcoff="0" dstbuf="o" dstoff="0"',
                        'type="r" srcbuf="s" srcoff="0" dstbuf="o" dstoff="1"'), "race"),
    ("all-to-all", edit('s_chunks="2"', 's_chunks="1"'), "bounds"),
    ("allpairs-ll", retype("re", "cpy"), "result"),
    ("allpairs-ll", edit('"re" srcbuf="s" srcoff="4"', '"re" srcbuf="s" srcoff="0"'), "result"),
    ("allpairs-out-of-place-ll", edit('inplace="0" outofplace="1"', 'inplace="1" outofplace="1"'), ""),
    ("allpairs-out-of-place-ll", retype("cpy", "re"), "result"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "rule"), TWINS)
def test_wrong_twins_are_refused(name, change, rule):
    program, head, _ = RIGHT[name]
    text = program.text("LL", **head)
    twin = change(text)
    broken = rules(twin)
    assert twin != text and ((rule in broken) if rule else not broken)
    if rule != "coll":
        assert bool(broken) == (verify_tools.is_harmful(twin) is not None)


FORGOTTEN = {
    "halving-doubling": forget(foreign.halving_doubling(4), 0, (1, 1, 0), 0),
    "tree-up": forget(foreign.tree_allreduce(7), 1, (0, 4, 0), 0),
    "tree-root": forget(foreign.tree_allreduce(7), 0, (1, -1, 1), 0),
    "all-to-all": forget(foreign.hierarchical_alltoall(2, 2), 0, (2, -1, 2), 0),
    "allpairs-received": forget(foreign.allpairs_allreduce(3), 0, (-1, -1, 0), 0),
    "allpairs-summed": forget(foreign.allpairs_allreduce(3), 0, (1, 1, 0), 4),
}


@pytest.mark.parametrize("name", FORGOTTEN)
def test_forgotten_dependencies_are_races(name):
    text = FORGOTTEN[name].text("LL", **(OUT if name == "all-to-all" else IN))
    assert rules(text) == {"race"} and verify_tools.is_harmful(text) == "race"


def test_dependencies_that_messages_imply_may_be_forgotten():
    """A rank of the tree overwrites its part with the sum, which can only come after its part was sent."""
    text = forget(foreign.tree_allreduce(7), 1, (3, 0, 1), 0).text("LL", **IN)
    assert not rules(text) and verify_tools.is_harmful(text) is None


@pytest.mark.parametrize(("proto", "most"), [("Simple", 1), ("LL", 7), ("LL128", 7)])
def test_fused_rings_end_while_a_slot_is_left(proto, most):
    """Each rank fills its connection with the first message; one slot more and the data goes around."""
    for cnt in (1, most, most + 1, 9):
        for program in (foreign.ring_allreduce(3, 1, cnt), foreign.ring_allgather(3, True, cnt)):
            text = program.text(proto, **IN)
            assert rules(text) == ({"deadlock"} if cnt > most else set())
            assert verify_tools.is_harmful(text) == ("hangs" if cnt > most else None)


def test_small_data_needs_fewer_slots():
    """What exchanges many chunks in Simple ends up to the size at which they fit, and the finding says which."""
    for program in (foreign.allpairs_allreduce(4), foreign.halving_doubling(8), foreign.ring_allreduce(3, 1, 4)):
        found = verify_text(program.text("Simple", **IN), "msccl-azure").errors
        size = int(re.search(r"ends if maxBytes is at most (\d+)$", found[0].message)[1])
        for most, ends in ((size, True), (size + 1, False), (4096, True)):
            text = program.text("Simple", **IN | {"maxBytes": most})
            assert rules(text) == (set() if ends else {"deadlock"})
            assert (verify_tools.is_harmful(text) is None) == ends
    old = foreign.halving_doubling(8).text("Simple")  # no window: microsoft/msccl takes 128 MiB
    assert rules(old, "msccl") == {"deadlock"} and "attribute" in rules(old)


def test_slots_are_smaller_in_one_runtime():
    """A slot of LL has 32 KiB of data, in RCCL 16; there is a second opinion on Simple only, these are large."""
    allpairs = foreign.allpairs_allreduce(9)
    for program, dialect, size in (
        (foreign.halving_doubling(32), "msccl-azure", 2**14 * 32),
        (allpairs, "msccl-azure", 2**14 * 81),
        (allpairs, "rccl", 2**13 * 81),
    ):
        for most in (0, size, size + 1):
            found = verify_text(program.text("LL", **IN | {"maxBytes": most}), dialect).errors
            assert [f.message.split()[-1] for f in found] == ([] if most == size else [str(size)])
    between = allpairs.text("LL", **IN | {"maxBytes": 2**14 * 81})
    assert verify_text(between).dialects == ("msccl", "msccl-azure")


@pytest.mark.parametrize(("source", "target", "overlaps"), [(0, 1, True), (1, 0, True), (0, 0, False), (0, 2, False)])
def test_input_and_output_are_one_buffer_in_place(source, target, overlaps):
    """The threads of one step do not wait for each other: two chunks of i go to o, of which one may be the other."""
    program = foreign.ring_allreduce(3)
    program.add(0, (-1, -1, 0), "cpy", ("i", source), ("o", target), 2)
    text = program.text("LL", **IN).replace('o_chunks="0"', 'o_chunks="3"')
    assert ("overlap" in rules(text)) == overlaps


@pytest.mark.parametrize(("proto", "slots"), [("Simple", 2), ("LL", 8)])
def test_all_sends_before_all_receives(proto, slots):
    """Two ranks send all their chunks one by one before they receive any."""
    for number in (slots, slots + 1):
        program = foreign.Program("alltoall", 2, False)
        for rank in range(2):
            for x in range(number):
                at, to = ("i", (1 - rank) * number + x), ("o", rank * number + x)
                program.add(rank, (1 - rank, 1 - rank, 0), "s", at, to)
            for x in range(number):
                at = ("o", (1 - rank) * number + x)
                program.add(rank, (1 - rank, 1 - rank, 0), "r", ("i", rank * number + x), at)
            program.add(rank, (1 - rank, 1 - rank, 0), "cpy", ("i", rank * number), ("o", rank * number), number)
        text = program.text(proto, **OUT)
        assert rules(text, capacity="runtime") == (set() if number == slots else {"deadlock"})
        assert verify_tools.is_harmful(text, strict=False) == (None if number == slots else "hangs")
        assert rules(text) == {"deadlock"} and verify_tools.is_harmful(text) == "hangs"
        says = verify_text(text, "msccl-azure").errors[0].message
        assert ("holds" in says) == (number == slots)


@pytest.mark.parametrize(("source", "target", "races"), [(4, 5, True), (5, 4, False), (4, 4, False), (4, 6, False)])
def test_a_stream_comes_around_before_all_has_left(source, target, races):
    """A rank sends two chunks that the next passes on, back to another block of the first."""
    for waits in (False, True):
        program = foreign.hierarchical_alltoall(2, 1)
        sent = program.add(0, (1, -1, 3), "s", ("s", source), ("s", 4), 2)
        program.add(1, (0, 0, 3), "rcs", ("s", source), ("s", 4), 2)
        program.add(0, (-1, 1, 3), "r", ("s", 4), ("s", target), 2, [sent] if waits else ())
        text = program.text("LL", **OUT)
        assert rules(text) == ({"race"} if races and not waits else set())
        assert verify_tools.is_harmful(text) == ("race" if races and not waits else None)


def test_chunk_counts_are_checked_by_one_runtime():
    """Tools count the chunks a rank uses; microsoft/msccl refuses other counts than the collective's."""
    program = foreign.Program("allreduce", 2, True)
    for rank in range(2):
        for x in range(2):
            block, at = (1 - rank, 1 - rank, x), ("i", x)
            program.add(rank, block, "s", at, at)
            program.add(rank, block, "rrc", at, at)
    text = program.text("LL", **IN)
    assert verify_text(text).dialects == FUSED
    wide = text.replace('i_chunks="2"', 'i_chunks="3"')
    assert verify_text(wide).dialects == ("msccl-azure",) and rules(wide, "msccl") == {"chunks"}
    assert rules(text.replace('i_chunks="2"', 'i_chunks="1"')) == {"bounds"}
    assert rules(text.replace('i_chunks="2"', 'i_chunks="-1"')) == {"chunks"}
    beyond = wide.replace('srcoff="1" dstbuf="i" dstoff="1"', 'srcoff="2" dstbuf="i" dstoff="2"')
    assert "bounds" in rules(beyond)  # the caller's buffer has two chunks, whatever is declared


def test_what_runtimes_do_not_mind():
    program, head, _ = RIGHT["ring-channels-instances"]
    text = program.text("LL", **head)
    assert verify_text(text.replace(' maxBytes="0"', ' maxBytes="0" maxcount="1" nthreadblocks="6"')).dialects == FUSED
    assert verify_text(text.replace('">\n', '" >\n').replace('"/>', '" />')).dialects == FUSED
    assert verify_text(f"<!-- Copyright (c) somebody. -->\n<!-- Licensed.      -->\n{text}").dialects == FUSED
    pairs = foreign.allpairs_allreduce(3).text("LL", **IN)
    flagged = nth(pairs, 'hasdep="0"', 'hasdep="1"')
    assert 'type="nop"' in flagged.split('hasdep="1"')[0].rsplit("<step", 1)[1] and not rules(flagged)
    gpu = pairs[pairs.rindex("<gpu") :]
    target, number = gpu.split("</tb>")[0].count("<step") - 1, gpu.split("</tb>")[-2].count("<step")
    nop = f'<step s="{number}" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" '
    at = pairs.rindex("</tb>")
    ended = f'{pairs[:at]}{nop}depid="0" deps="{target}" hasdep="0"/>{pairs[at:]}'
    report = verify_text(ended, "rccl")
    assert report.is_verified and any("end of its tb" in w.message for w in report.warnings)


def test_elements_no_runtime_reads():
    """Synthesizers note copies that in place are not needed, and print a block without steps."""
    text = RIGHT["allgather-in-place"][0].text("LL", **IN)
    copy = '<copy i_off="0" o_off="0"/>'
    for more in (copy, '<copies><copy n="1"></copy><step s="0"/></copies>'):
        report = verify_text(text.replace('s_chunks="0">\n', f's_chunks="0">\n    {more}\n'))
        assert report.dialects == FUSED and any("no runtime reads element cop" in w.message for w in report.warnings)
    idle = '    <tb id="1" send="-1" recv="-1" chan="0"/>\n  </gpu>'
    assert verify_text(text.replace("  </gpu>", idle)).dialects == FUSED
    inside = text.replace('hasdep="0"/>', f'hasdep="0">{copy}</step>', 1)
    with pytest.raises(FileError, match=r"line 4: element copy inside step"):
        verify_text(inside)
    with pytest.raises(FileError, match="inside x, where nothing may be"):
        verify_text(text.replace("  </gpu>", "<x>" * 20 + "</x>" * 20 + "  </gpu>", 1))
    lost = text.replace("    <tb ", "    <none><tb ", 1).replace("    </tb>", "    </tb></none>", 1)
    assert "matching" in rules(lost)  # the steps in it are not read


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "proto", "head"),
    [
        (foreign.ring_allreduce(3, 1, 4), "LL", IN),
        (foreign.ring_allgather(3, True, 3), "Simple", IN | {"maxBytes": 65536}),
        (foreign.tree_allreduce(5), "Simple", IN),
        (foreign.halving_doubling(4), "Simple", IN),
        (foreign.hierarchical_alltoall(2, 2), "LL", OUT),
        (foreign.allpairs_allreduce(3, False), "LL128", OUT),
    ],
)
def test_mutants(program, proto, head):
    """The slow interpreter is exact, so the two must agree on every mutant."""
    text = program.text(proto, **head)
    assert verify_tools.is_harmful(text) is None and not rules(text)
    seen = Counter()
    for what, mutant in verify_tools.mutants(text, count=72, seed=7):
        harm, broken = verify_tools.is_harmful(mutant), rules(mutant)
        assert bool(broken) == (harm is not None), (what, harm, broken)
        seen[bool(broken)] += 1
    assert seen[True] >= 40 and seen[False] >= 8
