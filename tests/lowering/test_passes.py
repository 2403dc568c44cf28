"""Passes of lowering: receives fused with the sends that pass them on, scattered pieces gathered in scratch."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.lowering import Options, lower, place
from linkstep.lowering.fusion import fuse
from linkstep.verification import verify_text
from support import interpreters as runtimes
from support import judge as verify_tools
from support.strategies import Case, right_cases

XML = ("allgather", "reduce-scatter", "allreduce")


def kinds(lowered) -> Counter:
    return Counter(instruction.type for instruction in lowered.blocks.instructions())


@pytest.mark.parametrize("size", [3, 4, 8])
@pytest.mark.parametrize("to", ["msccl", "msccl-azure"])
def test_a_ring_is_fused_but_for_one_rank(to, size):
    """As msccl-tools would write it by hand, and no scratch: what passes by is not stored."""
    rounds, joined = size - 1, size - 1
    lowered = lower(linkstep.parse(f"UniRing(1,{size})").build("allgather"), to, inplace=True)
    assert kinds(lowered) == {"s": size + rounds - 1, "rcs": joined * (rounds - 1), "r": size + rounds - 1}
    lowered = lower(linkstep.parse(f"UniRing(1,{size})").build("reduce-scatter"), to)
    assert kinds(lowered) == {"s": size + rounds - 1, "rrs": joined * (rounds - 1), "rrc": size + rounds - 1}
    assert max(len(blocks) for blocks in lowered.blocks.ranks) == 2
    assert sorted(scratch for _, _, scratch in lowered.blocks.sizes) == [0] * joined + [rounds - 1]
    lowered = lower(linkstep.parse(f"UniRing(1,{size})").build("allreduce"), to)
    found = kinds(lowered)
    assert (found["rrs"], found["rrcs"], found["rcs"]) == (joined * (rounds - 1), joined, joined * (rounds - 1))
    assert {scratch for _, _, scratch in lowered.blocks.sizes} == {0}


def test_rccl_fuses_nothing():
    lowered = lower(linkstep.parse("UniRing(1,5)").build("allreduce"), "rccl")
    assert set(kinds(lowered)) == {"s", "r", "re"}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["UniRing(1,6)", "UniRing(2,4)", "BiRing(2,9)", "H(2,3)", "Paley(9)"])
def test_fused_programs_run_where_connections_hold_one_message(recipe):
    """The runtime waits for the data and for room to send it on before it takes either."""
    some = 0
    for collective in XML:
        schedule = linkstep.parse(recipe).build(collective)
        for options in (
            {},
            {"inplace": True, "instances": 2},
            {"chunks": 6 * lower(schedule, "cpu").placement.shard_chunks},
        ):
            lowered = lower(schedule, "msccl", **options)
            some += sum(n for kind, n in kinds(lowered).items() if kind in ("rcs", "rrs", "rrcs"))
            for seed in range(3):
                runtimes.run(lowered.text, "msccl", seed)
            for proto in ("Simple", "LL"):
                text = lowered.text.replace('proto="Simple"', f'proto="{proto}"')
                assert verify_text(text, "msccl").is_verified
    assert some > 0


@given(right_cases(XML))
@settings(max_examples=20, deadline=None)
def test_property_fusion_says_what_it_does(case):
    """Every message once, chains along connections that are joined, sends after what they need."""
    placement = place(case.schedule(), Options())
    fusion = fuse(placement)
    flat = [k for chain in fusion.chains for k in chain]
    assert sorted(flat) == list(range(len(placement.messages)))
    head, tail = placement.schedule.topology.head, placement.schedule.topology.tail
    for chain in fusion.chains:
        for a, b in pairwise(chain):
            first, then = placement.messages[a], placement.messages[b]
            assert fusion.onward[first.connection] == then.connection
            assert head[first.link] == tail[then.link] and first.channel == then.channel
            assert (first.dst, first.count) == (then.src, then.count) and first.step < then.step
    order = {k: n for n, k in enumerate(flat)}
    for connection in {m.connection for m in placement.messages}:
        carried = [k for k, m in enumerate(placement.messages) if m.connection == connection]
        assert sorted(carried, key=order.get) == carried
    for start in fusion.onward:
        seen, at = {start}, fusion.onward[start]
        while at in fusion.onward:
            assert at not in seen, "a whole circle is joined"
            seen.add(at)
            at = fusion.onward[at]


@pytest.mark.slow
def test_mutants_of_fused_programs():
    """The verifier and the slow interpreter agree on our own programs with one thing changed."""
    seen = Counter()
    for recipe, collective in [("UniRing(1,3)", "allreduce"), ("BiRing(2,5)", "allgather"), ("DBJ(2,2)", "allreduce")]:
        text = lower(linkstep.parse(recipe).build(collective), "msccl").text
        assert verify_tools.is_harmful(text) is None
        for what, mutant in verify_tools.mutants(text, count=70, seed=7):
            harm = verify_tools.is_harmful(mutant)
            assert bool(harm) == (not _is_verified(mutant)), (recipe, what, harm)
            seen[bool(harm)] += 1
    assert seen[True] >= 120 and seen[False] >= 20


def _is_verified(text: str) -> bool:
    try:
        return verify_text(text, "msccl").is_verified
    except linkstep.LinkstepError:
        return False


GATHERING = ["DBJ(2,4)", "C(12,{2,3})", "K_{3,3}", "L(K_{2,2})", "Pi_{2,12}"]


@pytest.mark.slow
@pytest.mark.parametrize("to", ["msccl", "msccl-azure", "rccl", "cpu"])
@pytest.mark.parametrize(
    ("recipes", "least"), [(GATHERING[2:4], 30), pytest.param(GATHERING, 300, marks=pytest.mark.slow)]
)
def test_gathered_programs_run(to, recipes, least):
    saved = 0
    for recipe in recipes:
        for collective in (*XML, "broadcast", "reduce"):
            schedule = linkstep.parse(recipe).build(collective)
            for inplace in (False, True):
                apart = lower(schedule, to, inplace=inplace, gather=0)
                together = lower(schedule, to, inplace=inplace, gather=2**20, max_bytes=2**20)
                runtimes.run(together.text, to, seed=3)
                assert verify_text(together.text, to).is_verified
                saved += len(apart.placement.messages) - len(together.placement.messages)
                steps = Counter((m.step, m.connection) for m in together.placement.messages)
                assert to != "cpu" or set(steps.values()) == {1}
    assert saved > least


@pytest.mark.slow
@given(right_cases(), st.booleans(), st.integers(1, 3), st.integers(1, 2), st.integers())
@settings(max_examples=20, deadline=None)
def test_property_gathered_schedules_run(case, inplace, largest, instances, seed):
    """Any valid schedule; only pieces up to a size are gathered."""
    schedule = case.schedule()
    inplace = inplace and not schedule.collective.exchanges
    placement = lower(schedule, "cpu", inplace=inplace, instances=instances, gather=0).placement
    options = {"inplace": inplace, "instances": instances, "gather": largest, "max_bytes": placement.num_chunks}
    for to in ("cpu", "msccl", "rccl"):
        lowered = lower(schedule, to, **options)
        runtimes.run(lowered.text, to, seed)
        assert verify_text(lowered.text, to).is_verified
        per_step = defaultdict(list)
        for m in placement.messages:
            per_step[m.step, m.connection].append(m.count)
        alone = sum(n > largest for counts in per_step.values() for n in counts)
        some = sum(any(n <= largest for n in counts) for counts in per_step.values())
        assert len(lowered.placement.messages) == alone + some or to != "cpu"


def test_gathering_leaves_the_places_of_passing_chunks_together():
    """Chunks that only pass through a rank lie in scratch, where gathering takes places of its own."""
    links = [(0, 1), (1, 2), (2, 0)]
    rows = [
        *[(0, 2, 3, 0, 1), (0, 5, 6, 0, 1), (1, 0, 2, 1, 1), (1, 4, 6, 1, 1), (2, 0, 1, 2, 1), (2, 1, 2, 2, 1)],
        *[(0, 3, 5, 0, 2), (1, 1, 2, 2, 2), (2, 2, 4, 2, 2)],
        *[(0, 4, 6, 1, 3), (1, 0, 1, 2, 3), (2, 2, 3, 0, 3), (2, 3, 4, 0, 4)],
    ]
    schedule = Case(3, links, 6, rows, "all-to-all").schedule()
    for to in ("cpu", "msccl", "rccl"):
        lowered = lower(schedule, to, instances=2, gather=1, max_bytes=36)
        runtimes.run(lowered.text, to, seed=0)
        assert verify_text(lowered.text, to).is_verified
        assert all(m.count >= 1 for m in lowered.placement.messages)


def test_gathering_follows_the_size_it_is_made_for():
    """Where pieces are small a message costs more than two copies; where they are large it does not."""
    schedule = linkstep.parse("Pi_{2,16}").build("allgather")
    small, large = (lower(schedule, "cpu", max_bytes=size) for size in (2**13, 2**20))
    assert len(small.placement.messages) < len(large.placement.messages)
    assert len(large.placement.messages) == len(lower(schedule, "cpu").placement.messages)
    assert not any(m.packs or m.unpacks for m in lower(schedule, "msccl", max_bytes=2**13).placement.messages)
    pieces = Counter((m.step, m.connection) for m in large.placement.messages)
    assert len(small.placement.messages) == sum(1 if n >= 4 else n for n in pieces.values())


def test_pieces_that_are_neighbours_on_one_side_are_copied_on_the_other_only():
    schedule = linkstep.parse("K_{3,3}").build("reduce-scatter")
    messages = [m for m in lower(schedule, "cpu", gather=99, max_bytes=99).placement.messages if m.packs or m.unpacks]
    assert {(bool(m.packs), bool(m.unpacks)) for m in messages} == {(False, True), (True, True)}
    for m in messages:
        assert sum(move.count for move in m.packs) in (0, m.count)
        assert sum(move.count for move in m.unpacks if move.src.buffer == "s") == m.count
