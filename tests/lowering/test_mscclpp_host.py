"""MSCCL++ plans as the runtime's host code takes them: names that key its contexts, scratch, 32-bit sizes."""

import json
import re

import pytest

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.lowering import MAX_SCRATCH, TARGETS, lower
from linkstep.verification import verify_text

COLLECTIVES = ["allgather", "reduce-scatter", "allreduce", "broadcast", "all-to-all"]
CASES = [(c, inplace) for c in COLLECTIVES for inplace in (False, True) if c != "all-to-all" or not inplace]


def plan(recipe, collective, **options):
    return json.loads(lower(linkstep.parse(recipe).build(collective), "mscclpp", **options).text)


def name(recipe, collective, **options):
    return plan(recipe, collective, **options)["name"]


def allocated(data, rank, send_allocation, receive_allocation):
    """What the executor allocates as scratch of a rank: by the allocations that hold the buffers, cut at the window."""
    gpu, most = data["gpus"][rank], data["max_message_size"]
    if gpu["input_chunks"]:
        chunk = -(-min(send_allocation, most) // gpu["input_chunks"])
    else:
        chunk = -(-min(receive_allocation, most) // gpu["output_chunks"])
    align = data["buffer_alignment"]
    return -(-chunk * gpu["scratch_chunks"] // align) * align


def operation_sizes(data, size):
    """The bytes of every buffer of every operation when the data is ``size``, as the loader computes them: uint32."""
    for gpu in data["gpus"]:
        chunk = size // max(data["gpus"][0]["input_chunks"], data["gpus"][0]["output_chunks"])
        for tb in gpu["threadblocks"]:
            for op in tb["ops"]:
                for ref in (*op.get("src_buff", ()), *op.get("dst_buff", ())):
                    yield ref["size"] * chunk, ref["size"] * chunk % 2**32, ref["index"] * chunk


def test_a_name_tells_what_the_plan_is_for():
    found = name("K_{4,4}", "allreduce", max_bytes=2**20)
    assert re.fullmatch(r"K_\{4,4\}:allreduce:outofplace:0-1048576:[0-9a-f]{16}", found)
    found = name("Torus(3,3)", "reduce-scatter", inplace=True, min_bytes=4096, max_bytes=2**20)
    assert re.fullmatch(r"Torus\(3,3\):reducescatter:inplace:4096-1048576:[0-9a-f]{16}", found)


def test_names_differ_where_programs_do_and_only_there():
    names = [name("Torus(3,3)", c, inplace=inplace) for c, inplace in CASES]
    names += [name("Torus(3,3)", "allreduce", **o) for o in ({"max_bytes": 2**20}, {"max_bytes": 2**21})]
    names += [name("Torus(3,3)", "allreduce", **o) for o in ({"channels": 2}, {"instances": 2}, {"chunks": 2})]
    names.append(plan("Torus(3,3)", "broadcast")["name"])
    assert names[-1] == names[CASES.index(("broadcast", False))]
    assert len(set(names)) == len(names) - 1


def test_schedules_of_one_topology_have_names_of_their_own():
    topology = linkstep.parse("Torus(3,3)").topology()
    made = [linkstep.schedule(topology, "broadcast", root=root).schedule for root in (0, 1)]
    texts = [json.loads(lower(schedule, "mscclpp").text) for schedule in made]
    assert texts[0]["gpus"] != texts[1]["gpus"] and texts[0]["name"] != texts[1]["name"]


def test_a_name_is_no_matter_of_the_version(monkeypatch):
    from linkstep.lowering.writers import naming

    before = name("K_4", "allgather")
    monkeypatch.setattr(naming, "__version__", "99.9")
    assert name("K_4", "allgather") == before


def test_names_stay_printable_and_short():
    schedule = linkstep.parse("K_3").build("allgather")
    object.__setattr__(schedule.topology, "name", 'ü"\n\x1b' * 500)
    found = json.loads(lower(schedule, "mscclpp").text)["name"]
    assert len(found) <= 200 and found.isascii() and found.isprintable() and '"' not in found


@pytest.mark.parametrize("recipe", ["K_4", "K_{4,4}", "Torus(3,3)", "UniRing(1,5)", "Diamond"])
def test_scratch_of_a_default_window_is_at_most_a_gibibyte(recipe):
    """Wherever the buffers lie: MSCCL++ sees the allocation that holds the send buffer, here of 20 GiB."""
    for collective, inplace in CASES:
        lowered = lower(linkstep.parse(recipe).build(collective), "mscclpp", inplace=inplace)
        data = json.loads(lowered.text)
        sizes = [allocated(data, rank, 20 * 2**30, 20 * 2**30) for rank in range(len(data["gpus"]))]
        assert max(sizes) == lowered.scratch_bytes <= MAX_SCRATCH == 2**30
        largest = lowered.window.largest
        assert largest % (16 * lowered.placement.num_chunks) == 0  # so that there is a call of that size
        # No more than what one more chunk of 16 bytes would do is given away.
        if lowered.scratch_chunks and largest < 2**31:
            assert lowered.scratch_bytes > 0.99 * MAX_SCRATCH


def test_a_window_that_is_asked_for_is_kept_whatever_its_scratch():
    lowered = lower(linkstep.parse("K_{4,4}").build("allreduce"), "mscclpp", max_bytes=2**31)
    data = json.loads(lowered.text)
    assert lowered.window.largest == data["max_message_size"] == 2**31
    assert lowered.scratch_bytes == 3 * 2**29 == max(allocated(data, r, 2**40, 2**40) for r in range(8))


def test_a_default_window_holds_the_smallest_message_that_is_asked_for():
    for smallest in (2**31, 2**31 + 1):
        lowered = lower(linkstep.parse("K_{4,4}").build("allreduce"), "mscclpp", min_bytes=smallest)
        assert lowered.window == (smallest, 2**31 + 16 * lowered.placement.num_chunks)
        assert lowered.scratch_bytes > MAX_SCRATCH


@pytest.mark.parametrize(("collective", "inplace"), CASES)
def test_sizes_and_offsets_stay_below_32_bits(collective, inplace):
    """At 2^32 bytes a broadcast's put, which covers all of the data, would move nothing."""
    for recipe in ("K_4", "K_{4,4}", "UniRing(1,4)"):
        data = plan(recipe, collective, inplace=inplace, max_bytes=2**40)
        largest = data["max_message_size"]
        assert 2**30 < largest < 2**32
        for real, kept, offset in operation_sizes(data, largest):
            assert 0 < real == kept and offset + real <= 2**32 - 1


def test_a_broadcast_at_its_limit():
    data = plan("K_4", "broadcast")
    assert data["max_message_size"] == 2**32 - 16
    with pytest.raises(LinkstepError, match="bytes of the smallest message: 4294967296, 16 over the limit"):
        plan("K_4", "broadcast", min_bytes=2**32, max_bytes=2**33)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_default_windows_verify_without_a_word(collective):
    text = lower(linkstep.parse("K_{4,4}").build(collective), "mscclpp").text
    assert not [f for f in verify_text(text).findings if f.rule in ("window", "scratch", "name")]


def test_the_target_says_what_scratch_is_sized_by():
    assert [t.name for t in TARGETS.values() if t.scratch_at_start] == ["msccl"]
    assert [t.name for t in TARGETS.values() if t.scratch_by_allocation] == ["mscclpp"]
