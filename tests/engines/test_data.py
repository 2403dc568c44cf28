"""Arrays of a run: how they are cut, the numbers they are checked with, and what a result must be."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.engines.bench.data import EXACT, count_wrong, expected, fill, numbers
from linkstep.engines.bench.measure import busfactor, check_type, count_for
from linkstep.engines.plans.layout import BufferLayout
from linkstep.engines.transports.arrays import OPERATIONS, check_operation, kind_of

NUMPY_TYPES = ("float32", "float64", "float16", "int32", "int64")
COMBINE = {"sum": sum, "min": min, "max": max, "prod": np.prod}


def plain(collective, inputs, rank, root, operation):
    """What a rank ends with, from lists; None where the collective does not say."""
    n = len(inputs)
    part = len(inputs[0]) // n
    columns = [COMBINE[operation]([x[i] for x in inputs]) for i in range(len(inputs[0]))]
    return {
        Collective.ALLREDUCE: columns,
        Collective.REDUCE_SCATTER: columns[rank * part : (rank + 1) * part],
        Collective.REDUCE: columns if rank == root else None,
        Collective.BROADCAST: inputs[root],
        Collective.ALLGATHER: [value for x in inputs for value in x],
        Collective.ALL_TO_ALL: [value for x in inputs for value in x[rank * part : (rank + 1) * part]],
    }[collective]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("collective", list(Collective))
def test_a_right_result_passes_and_a_wrong_one_is_counted(collective, operation):
    n, root = 5, 3
    count = 7 if collective.starts_with_shard else 35
    layout = BufferLayout.of(collective, n, n, count)
    for type_name, repetition in itertools.product(NUMPY_TYPES, range(2)):
        inputs = [np.zeros(count, type_name) for _ in range(n)]
        for rank, array in enumerate(inputs):
            fill(array, rank, repetition, n, operation, type_name)
        for rank in range(n):
            wanted = plain(collective, [x.tolist() for x in inputs], rank, root, operation)
            if wanted is None:
                continue
            result = np.array(wanted).astype(type_name)
            assert result.tolist() == wanted  # exact in this type
            given = collective, layout, rank, repetition, n, operation, type_name, root
            assert count_wrong(result, *given) == 0
            result[[0, -1]] += 1
            assert count_wrong(result, *given) == 2
            assert len(expected(collective, layout, rank, np.arange(3), *given[3:])) == 3


def test_a_reduce_says_nothing_of_other_ranks():
    layout = BufferLayout.of(Collective.REDUCE, 4, 4, 8)
    assert count_wrong(np.zeros(8), Collective.REDUCE, layout, 1, 0, 4, "sum", "float64", 0) == 0


@pytest.mark.parametrize("type_name", ["float32", "float64", "int32", "int64"])
def test_numbers_tell_rank_position_and_repetition_apart(type_name):
    made = [
        numbers(rank, np.arange(2000), repetition, 16, "sum", type_name) for rank in range(4) for repetition in range(3)
    ]
    for one, other in itertools.combinations(made, 2):
        assert (one == other).mean() < 0.005
    for one in made:
        assert len(np.unique(one)) > 1990
        assert (one[1:] == one[:-1]).mean() < 0.005


def test_sums_are_exact():
    """Even a sum of the largest numbers is one that the type holds; of products only signs differ."""
    for type_name, operation in itertools.product(EXACT, OPERATIONS):
        got = numbers(np.arange(64), 3, 0, 64, operation, type_name)
        assert abs(got).max() * (64 if operation == "sum" else 1) <= EXACT[type_name]
    assert set(numbers(0, np.arange(99), 0, 8, "prod", "int32").tolist()) == {-1, 1}
    with pytest.raises(LinkstepError, match=r"the element type must be one of .*, not 'float8'"):
        numbers(0, 0, 0, 8, "sum", "float8")


@pytest.mark.parametrize("collective", list(Collective))
def test_layouts_cover_the_data(collective):
    for n, per_section, length in itertools.product((1, 4), (1, 3), (1, 2, 12, 13)):
        sections = n if collective.is_divided else 1
        count = length if collective.starts_with_shard else length * sections
        layout = BufferLayout.of(collective, n, per_section * sections, count)
        assert layout.section * layout.input_sections == count
        assert 0 <= layout.padded_section - layout.section < per_section
        assert layout.is_padded == bool(length % per_section)
        assert layout.total == length * sections
        inside, outside = collective.num_chunks(n, per_section * sections)
        assert (layout.input_sections * layout.chunks, layout.output_sections * layout.chunks) == (inside, outside)


def test_a_divided_collective_needs_a_part_for_each_rank():
    with pytest.raises(LinkstepError, match=r"reduce-scatter needs a multiple of 4 elements, .*, not 10"):
        BufferLayout.of(Collective.REDUCE_SCATTER, 4, 4, 10)


@pytest.mark.parametrize("collective", list(Collective))
def test_counts_are_about_the_size(collective):
    for size, item in itertools.product((1, 3, 64, 1000003), (4, 8)):
        count = count_for(collective, 5, size, item)
        total = BufferLayout.of(collective, 5, 5, count).total
        parts = 5 if collective.is_divided else 1
        assert total == max(size // item // parts, 1) * parts
        assert size - total * item < item * parts


def test_busfactors_are_those_of_nccl_tests():
    found = {collective: busfactor(collective, 8) for collective in Collective}
    assert found == {
        Collective.ALLREDUCE: Fraction(14, 8), Collective.REDUCE_SCATTER: Fraction(7, 8),
        Collective.ALLGATHER: Fraction(7, 8), Collective.ALL_TO_ALL: Fraction(7, 8), Collective.BROADCAST: 1,
        Collective.REDUCE: 1,
    }  # fmt: skip


def test_what_is_no_array_or_operation_is_refused():
    with pytest.raises(LinkstepError, match="data must be a numpy array or a torch tensor, not list"):
        kind_of([1, 2])
    with pytest.raises(LinkstepError, match="arrays must be of integers or floats, not complex128"):
        kind_of(np.zeros(1, complex)).type_name(np.zeros(1, complex))
    with pytest.raises(LinkstepError, match="the operation must be one of sum, min, max, prod, not 'avg'"):
        check_operation("avg")
    with pytest.raises(LinkstepError, match="numpy has no bfloat16: use --engine torch"):
        check_type("bfloat16", "mpi")
