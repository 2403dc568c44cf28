"""Programs: formats as rows, texts into events, buffers as memory; unknown is neither verified nor refuted."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkstep
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError
from linkstep.lowering import TARGETS, lower
from linkstep.programs import DIALECTS, FORMATS, Memory, Moves, read_program, sniff
from linkstep.programs.memory import INPUT, KINDS, OUTPUT, SCRATCH
from linkstep.verification import verify_program, verify_text
from support.plans import OTHER_FEATURES, mixed_allreduce, packet_allgather, port_allgather, simple_allgather
from support.verdicts import ACCEPTED, text_of


def test_formats_are_told_by_their_text():
    assert [format.name for format in FORMATS] == ["mscclpp", "msccl", "cpu"]
    for name, dialects in ACCEPTED.items():
        assert dialects[0] in sniff(text_of(name)).dialects
    assert sniff("").name == "msccl" and sniff("<!-- <algo --><schedule").name == "msccl"
    assert {sniff("", dialect).name for dialect in DIALECTS} == {"mscclpp", "msccl", "cpu"}
    with pytest.raises(FileError, match="unknown dialect 'nccl': choose from mscclpp, msccl, "):
        sniff("", "nccl")


@pytest.mark.parametrize("name", sorted(ACCEPTED))
def test_a_program_is_the_files_collective_and_events(name):
    program, report = read_program(text_of(name)), verify_text(text_of(name))
    assert program.dialect == report.dialect and program.collective is Collective(report.collective)
    assert (program.num_ranks, program.chunks) == (report.ranks, report.chunks)
    assert program.num_instructions == report.instructions
    events, moves = program.events, program.events.moves
    assert all(a <= b for a, b in pairwise(moves.event.tolist()))
    assert events.rank.min() == 0 and events.rank.max() == program.num_ranks - 1
    for pairs in (events.edges, events.flags, events.waits, events.capacity):
        assert pairs.shape[1] == 2 and (pairs < events.num_events).all()
    assert verify_program(program).is_verified


@pytest.mark.parametrize("to", TARGETS)
def test_every_target_is_read_as_its_dialect(to):
    schedule = linkstep.parse("K_{2,2}").build("reduce-scatter")
    program = read_program(lower(schedule, to).text, to)
    assert program.dialect == to and program.collective is Collective.REDUCE_SCATTER


def test_columns_are_named():
    moves = Moves.from_rows([(1, 0, 2, 3, 4, -2, 0, 5), (0, 3, 0, 0, 1, -2, 0, 1)]).sorted()
    assert (moves.event.tolist(), moves.dst.tolist(), moves.count.tolist()) == ([0, 1], [3, 0], [1, 5])
    assert len(moves) == 2 and len(moves.take(np.array([True, False]))) == 1
    both = Moves.concatenate([moves, moves])
    assert len(both) == 4 and both.src_offset.tolist() == [1, 4, 1, 4]


@given(
    st.sampled_from(Collective),
    st.integers(1, 5),
    st.integers(1, 3),
    st.lists(st.integers(0, 4), min_size=5, max_size=5),
    st.booleans(),
)
def test_property_buffers_share_memory_in_place_only(collective, num_ranks, per_rank, scratch, inplace):
    """The i-th chunk of an input in place is where the collective puts that rank's part of the output, and v.v."""
    chunks = num_ranks * per_rank
    memory = Memory.of(collective, num_ranks, chunks, np.array(scratch[:num_ranks]), inplace)
    size_in, size_out = collective.num_chunks(num_ranks, chunks)
    owners = []
    for rank in range(num_ranks):
        base = {kind: int(memory.base[KINDS * rank + kind]) for kind in (INPUT, OUTPUT, SCRATCH)}
        data = [range(base[INPUT], base[INPUT] + size_in), range(base[OUTPUT], base[OUTPUT] + size_out)]
        cells = {*data[0], *data[1], *range(base[SCRATCH], base[SCRATCH] + scratch[rank])}
        assert cells == set(range(*memory.rank_ptr[rank : rank + 2].tolist()))
        owners += memory.owner(np.array(sorted(cells), np.int64)).tolist()
        large, small = sorted(data, key=len, reverse=True)
        shift = rank * len(small) if len(small) < len(large) else 0
        assert (set(data[0]) & set(data[1])) == (set(small) if inplace else set())
        assert not inplace or small.start == large.start + shift
        assert memory.describe(base[OUTPUT]) == f"o[0] of rank {rank}"
    assert owners == sorted(owners) and len(owners) == memory.num_cells


@pytest.mark.parametrize("feature", OTHER_FEATURES)
def test_what_is_not_followed_is_unknown(feature):
    plan = mixed_allreduce()
    OTHER_FEATURES[feature](plan)
    report = verify_text(json.dumps(plan))
    assert report.status == "unknown" and not report.is_verified and not report.errors and not report.dialects
    assert all(finding.message.startswith("cannot be verified: ") for finding in report.unknowns)
    assert report.ranks == 2 and report.instructions == 27
    with pytest.raises(FileError, match="cannot run: "):
        read_program(json.dumps(plan))


def test_what_is_wrong_besides_is_refuted():
    plan = mixed_allreduce()
    OTHER_FEATURES["pipeline"](plan)
    plan["gpus"][1]["threadblocks"][0]["ops"][0]["src_buff"][0]["index"] = 99
    report = verify_text(json.dumps(plan))
    assert report.status == "refuted" and [f.severity for f in report.findings] == ["error", "unknown"]


def test_too_much_to_follow_is_unknown():
    gpu = '<gpu id="{}" i_chunks="32767" o_chunks="0" s_chunks="32767"></gpu>'
    algo = (
        '<algo name="x" ngpus="1024" nchunksperloop="32767" nchannels="1" proto="Simple" coll="allreduce" inplace="1" '
        f'outofplace="0" minBytes="0" maxBytes="1">{"".join(gpu.format(r) for r in range(1024))}</algo>'
    )
    report = verify_text(algo)
    assert report.status == "unknown" and report.unknowns[0].rule == "size"


def test_a_custom_collective_is_unknown():
    """microsoft/msccl runs it; a word that it does not know is refuted."""
    ring = text_of("ring-allreduce.msccl.xml")
    assert verify_text(ring.replace('coll="allreduce"', 'coll="custom"'), "msccl").status == "unknown"
    assert verify_text(ring.replace('coll="allreduce"', 'coll="allsum"'), "msccl").status == "refuted"


def flushes(plan):
    return [f for f in verify_text(json.dumps(plan)).warnings if f.rule == "flush"]


def test_a_flush_that_does_not_happen_is_said_where_it_matters():
    """Rank 0 has put twice through the port, and its caller may change the input while they run."""
    report = verify_text(json.dumps(port_allgather(flush=False)))
    assert report.is_verified and [(f.rank, f.step) for f in report.warnings] == [(0, 6), (1, 5)]
    for finding in report.warnings:
        assert finding.message.startswith("this flush does not happen: 0 of 1 channels are flushed")
        assert finding.message.endswith("the input may be changed while a put still reads it")
    fused = [f.message for f in flushes(json.loads(text_of("ports-allgather.mscclpp.json")))]
    assert fused and all("this flush does not happen: some versions run pwsf as pws" in m for m in fused)
    assert not flushes(port_allgather())


def test_a_flush_that_nobody_needs_is_not_warned_of():
    """No put has gone through the port: without the flush nothing races either."""
    plan = simple_allgather()
    for gpu in plan["gpus"]:
        gpu["threadblocks"][0]["ops"].append({"name": "flush", "channel_ids": [0], "channel_type": "port"})
    assert verify_text(json.dumps(plan)).is_verified and not flushes(plan)


def test_simulated_programs_may_exceed_limits_of_the_runtime():
    plan = packet_allgather()
    plan["gpus"][0]["threadblocks"][0]["ops"] += [{"name": "nop"}] * 70
    assert verify_text(json.dumps(plan)).status == "refuted"
    assert read_program(json.dumps(plan)).dialect == "mscclpp"
