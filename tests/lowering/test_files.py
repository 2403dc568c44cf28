"""What files say besides their program: windows that are safe, and places on both sides of a message."""

import json
import xml.etree.ElementTree as ElementTree
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.lowering import MAX_BYTES, MAX_SCRATCH, lower
from linkstep.verification import verify_text
from support.strategies import right_cases

XML = ("msccl", "msccl-azure", "rccl")
RECIPES = ["UniRing(1,4)", "BiRing(2,5)", "Torus(3,3)", "K_{2,2}", "DBJ(2,3)", "Diamond", "L(K_{2,2})"]
COLLECTIVES = ["allgather", "reduce-scatter", "allreduce", "broadcast", "reduce", "all-to-all"]


def allocated(text: str) -> int:
    """What microsoft/msccl allocates when it starts: maxBytes * s_chunks / nchunksperloop, of the largest rank."""
    algo = ElementTree.fromstring(text)
    scratch = max(int(gpu.get("s_chunks")) for gpu in algo)
    return int(algo.get("maxBytes")) * scratch // int(algo.get("nchunksperloop"))


@pytest.mark.slow
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_default_windows_allocate_little(collective):
    for recipe in RECIPES:
        for options in ({}, {"inplace": collective != "all-to-all"}, {"min_bytes": 1000, "instances": 2}):
            lowered = lower(linkstep.parse(recipe).build(collective), "msccl", **options)
            assert allocated(lowered.text) <= MAX_SCRATCH == 2**30
            assert lowered.scratch_bytes == pytest.approx(allocated(lowered.text), abs=1)
            assert lowered.window.largest == MAX_BYTES or allocated(lowered.text) > 0.99 * MAX_SCRATCH
            assert verify_text(lowered.text, "msccl").is_verified


def test_some_default_windows_are_smaller_than_others():
    """Only where there is scratch, and only where it is allocated before it is known how large the data is."""
    schedule = linkstep.parse("Torus(3,3)").build("reduce-scatter")
    assert lower(schedule, "msccl").window == (0, 3 * 2**30 - 1)
    assert {lower(schedule, to).window for to in ("msccl-azure", "rccl", "cpu")} == {(0, MAX_BYTES)}
    assert lower(linkstep.parse("Torus(3,3)").build("allgather"), "msccl").window == (0, MAX_BYTES)


def test_a_window_that_is_asked_for_is_kept():
    lowered = lower(linkstep.parse("Torus(3,3)").build("reduce-scatter"), "msccl", max_bytes=2**40)
    assert lowered.window == (0, 2**40) and lowered.scratch_bytes == pytest.approx(allocated(lowered.text), abs=1)
    assert lowered.scratch_bytes > 300 * 2**30


@pytest.mark.parametrize(("to", "written"), [("msccl", "1000001"), ("msccl-azure", "1000000"), ("rccl", "1000000")])
def test_the_largest_data_is_in_the_window(to, written):
    """msccl selects a file for less than its maxBytes, the others up to it."""
    lowered = lower(linkstep.parse("K_5").build("allreduce"), to, max_bytes=10**6)
    assert ElementTree.fromstring(lowered.text).get("maxBytes") == written
    assert lowered.window == (0, 10**6)


def test_the_largest_data_of_mscclpp():
    lowered = lower(linkstep.parse("K_5").build("allreduce"), "mscclpp", max_bytes=10**6)
    assert json.loads(lowered.text)["max_message_size"] == lowered.window.largest == 10**6


def ends(text: str) -> list[tuple[ElementTree.Element, ElementTree.Element]]:
    """The k-th send of every connection with its k-th receive."""
    sends, receives = defaultdict(list), defaultdict(list)
    for gpu in ElementTree.fromstring(text):
        for tb in gpu:
            me, channel = gpu.get("id"), tb.get("chan")
            for step in tb:
                if step.get("type") in ("s", "rcs", "rrs", "rrcs"):
                    sends[me, tb.get("send"), channel].append(step)
                if step.get("type") in ("r", "rcs", "rrc", "rrs", "rrcs"):
                    receives[tb.get("recv"), me, channel].append(step)
    assert sends.keys() == receives.keys()
    return [pair for key in sends for pair in zip(sends[key], receives[key], strict=True)]


def place(step: ElementTree.Element, which: str) -> tuple[str, str]:
    return step.get(f"{which}buf"), step.get(f"{which}off")


def check_both_sides_agree(text: str) -> int:
    """Sends and receives name the same places; what adds or forwards needs a field of its own for other things."""
    alike = 0
    for sent, received in ends(text):
        if sent.get("type") == "s":
            assert place(sent, "dst") == place(received, "dst")
        if (sent.get("type"), received.get("type")) in (("s", "r"), ("s", "rcs")):
            assert place(sent, "src") == place(received, "src")
            alike += 1
        if sent.get("type") in ("rcs", "rrcs") and received.get("type") in ("r", "rcs"):
            assert place(sent, "dst") == place(received, "src")
    return alike


@pytest.mark.slow
@pytest.mark.parametrize("to", XML)
def test_both_sides_of_a_message_name_the_same_places(to):
    alike = 0
    for k, recipe in enumerate(RECIPES):
        for collective in COLLECTIVES[k % 2 :: 2]:
            inplace = collective != "all-to-all"
            for options in ({}, {"inplace": inplace, "channels": 2}, {"gather": 2**20, "max_bytes": 2**20}):
                text = lower(linkstep.parse(recipe).build(collective), to, **options).text
                alike += check_both_sides_agree(text)
                assert verify_text(text, to).is_verified
    assert alike > 500


@given(right_cases(), st.sampled_from(XML), st.booleans(), st.integers(1, 2))
@settings(max_examples=15, deadline=None)
def test_property_both_sides_agree(case, to, inplace, instances):
    inplace = inplace and case.collective != "all-to-all"
    text = lower(case.schedule(), to, inplace=inplace, instances=instances).text
    check_both_sides_agree(text)
    assert verify_text(text, to).is_verified
