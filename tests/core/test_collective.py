"""Collectives: each one's definition against a plain twin written out case by case."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep.core.collective import Collective, Phase
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import COLLECTIVES
from linkstep.correctness import CHECKS


def wanted(collective: str, num_ranks: int, shard: int, root: int) -> set:
    """Return (rank, output chunk, source or "all", input chunk) for every output chunk, from the textbook."""
    ranks, whole = range(num_ranks), range(num_ranks * shard)
    if collective == "allgather":
        return {(r, v * shard + c, v, c) for r in ranks for v in ranks for c in range(shard)}
    if collective == "reduce-scatter":
        return {(r, c, "all", r * shard + c) for r in ranks for c in range(shard)}
    if collective == "allreduce":
        return {(r, c, "all", c) for r in ranks for c in whole}
    if collective == "broadcast":
        return {(r, c, root, c) for r in ranks for c in whole}
    if collective == "reduce":
        return {(root, c, "all", c) for c in whole}
    return {(r, v * shard + c, v, r * shard + c) for r in ranks for v in ranks for c in range(shard)}


@given(st.sampled_from(Collective), st.integers(1, 5), st.integers(1, 3), st.data())
def test_property_postconditions_are_the_textbook_s(collective, num_ranks, shard, data):
    root = data.draw(st.integers(0, num_ranks - 1))
    found = collective.postcondition(num_ranks, num_ranks * shard, root)
    columns = (found.rank.tolist(), found.index.tolist(), found.source.tolist(), found.chunk.tolist())
    rows = [(r, i, "all" if v < 0 else v, c) for r, i, v, c in zip(*columns, strict=True)]
    assert len(rows) == len(set(rows))
    assert set(rows) == wanted(collective, num_ranks, shard, root)


@pytest.mark.parametrize("collective", Collective)
def test_reversing_twice_changes_nothing(collective):
    assert collective.reverse.reverse is collective
    assert collective.reverse.phases == tuple(
        {Phase.GATHER: Phase.REDUCE, Phase.REDUCE: Phase.GATHER}.get(phase, phase) for phase in collective.phases[::-1]
    )


def test_a_collective_is_its_name():
    assert Collective("allreduce") is Collective.ALLREDUCE
    assert Collective.ALLREDUCE == "allreduce"
    assert f"{Collective.REDUCE_SCATTER}" == "reduce-scatter"
    assert pickle.loads(pickle.dumps(Collective.REDUCE)) is Collective.REDUCE
    with pytest.raises(LinkstepError, match=r"collective must be one of allgather, .*, not 'gossip'"):
        Collective("gossip")


def test_buffers():
    assert [collective.num_chunks(4, 8) for collective in Collective] == [
        (2, 8), (8, 2), (8, 8), (8, 8), (8, 8), (8, 8)
    ]  # fmt: skip
    assert [c for c in Collective if c.is_divided] == ["allgather", "reduce-scatter", "all-to-all"]
    assert [c.num_shards(4) for c in Collective] == [4, 4, 4, 1, 1, 1]


def test_every_schedule_s_collective_has_a_check():
    assert set(COLLECTIVES) == set(CHECKS)
