"""One rank of a test under mpiexec: ``python mpi_worker.py FILE`` runs the cases of a pickled file, or of this one.

Inputs are random numbers of a seed, so every rank knows everyone's; results are worked out here by plain numpy.
"""

import os
import pickle
import sys
from pathlib import Path

import numpy as np

COMBINE = {"sum": np.add, "min": np.minimum, "max": np.maximum, "prod": np.multiply}
PATIENT = 60.0
"""Seconds: on a busy machine nothing must fail that would end."""


def inputs(case, size):
    """Return every rank's input: small whole numbers, whose sums are exact."""
    rng = np.random.default_rng(case["seed"])
    low, high = (1, 3) if case["op"] == "prod" else (-1000, 1000)
    return [rng.integers(low, high, case["length"]).astype(case["type"]) for _ in range(size)]


def wanted(collective, given, rank, root, op):
    """Return what a rank ends with; None where the collective does not say."""
    part = len(given[0]) // len(given)
    own = slice(rank * part, (rank + 1) * part)
    if collective == "allgather":
        return np.concatenate(given)
    if collective == "all-to-all":
        return np.concatenate([array[own] for array in given])
    if collective == "broadcast":
        return given[root]
    total = given[0].copy()
    for array in given[1:]:
        total = COMBINE[op](total, array)
    if collective == "reduce" and rank != root:
        return None
    return total[own] if collective == "reduce-scatter" else total


def arrays(case, own, rank, size):
    """Return a rank's input and output, one inside the other in place."""
    collective, length = case["collective"], len(own)
    if not case["inplace"]:
        return own.copy(), None
    if collective == "allgather":
        out = np.full(length * size, 77, own.dtype)
        array = out[rank * length : (rank + 1) * length]
        array[:] = own
        return array, out
    array = own.copy()
    part = length // size
    return array, array[rank * part : (rank + 1) * part] if collective == "reduce-scatter" else array


def run_case(communicator, case):
    """Run one call and compare."""
    rank, size = communicator.rank, communicator.size
    given = inputs(case, size)
    array, out = arrays(case, given[rank], rank, size)
    got = communicator.run(case["collective"], array, out, case["op"], case["root"])
    want = wanted(case["collective"], given, rank, case["root"], case["op"])
    if want is not None:
        assert got.dtype == want.dtype
        assert np.array_equal(got, want), case
    if not case["inplace"] and case["collective"] != "broadcast":
        assert np.array_equal(array, given[rank]), f"{case}: the input was changed"


def run_cases(path):
    """Run pickled batches: (every rank's plans, calls)."""
    from linkstep.engines.communicator import Communicator
    from linkstep.engines.transports.mpi import MpiTransport

    transport, done = MpiTransport(timeout=PATIENT), 0
    for plans, cases in pickle.loads(Path(path).read_bytes()):
        communicator = Communicator(plans[transport.rank], transport)
        for case in cases:
            run_case(communicator, case)
            done += 1
        communicator.close()
    return transport.rank, done


def scene_several(folder):
    """Several communicators at once, of several things, used in turns."""
    import linkstep

    made = [linkstep.Communicator(what, timeout=PATIENT) for what in ("K_4", linkstep.parse("UniRing(1,4)"))]
    made.append(linkstep.Communicator(linkstep.schedule("K_{2,2}", "allreduce").schedule, timeout=PATIENT))
    rank = made[0].rank
    for k in range(30):
        communicator = made[k % 3]
        got = communicator.allreduce(np.full(11 + k, rank + k, np.int64))
        assert got.tolist() == [6 + 4 * k] * (11 + k)
        gathered = communicator.allgather(np.array([rank], np.int32))
        assert gathered.tolist() == [0, 1, 2, 3]
    return rank, 60


def scene_selector(folder):
    """A file that chooses by size, among a recipe and files of runtimes."""
    import linkstep

    communicator = linkstep.Communicator(str(Path(folder) / "selector.json"), timeout=PATIENT)
    steps = [communicator.plan_for("allreduce", size).num_steps for size in (100, 1000, 10**6)]
    assert steps == [2, 2, 6]
    for length in (3, 250, 251, 100_003):
        got = communicator.allreduce(np.arange(length, dtype=np.float32))
        assert np.array_equal(got, 4 * np.arange(length, dtype=np.float32))
    try:
        communicator.allgather(np.zeros(3))
    except linkstep.LinkstepError as error:
        assert "nothing here serves allgather of 96 bytes" in str(error)
    else:
        raise AssertionError
    return communicator.rank, 5


def scene_foreign(folder):
    """Files of other tools, written for GPUs."""
    import linkstep

    done = 0
    for path in sorted(Path(folder).glob("foreign-*")):
        program = linkstep.read_program(path.read_text())
        communicator = linkstep.Communicator(str(path), timeout=PATIENT)
        for length, inplace in ((1, False), (7, True), (40_001, False), (40_000, True)):
            length = length if program.collective.starts_with_shard else length * communicator.size
            case = {"collective": program.collective, "length": length, "type": "float64", "op": "sum", "root": 0}
            case |= {"inplace": inplace and program.collective != "all-to-all", "seed": done}
            run_case(communicator, case)
            done += 1
    return communicator.rank, done


def scene_shapes(folder):
    """Arrays of every shape: with gaps, in Fortran's order, of two dimensions, of none, without elements."""
    import linkstep

    communicator = linkstep.Communicator("K_4", timeout=PATIENT)
    rank = communicator.rank
    for base in (np.arange(24.0).reshape(4, 6), np.arange(80_000.0).reshape(400, 200)):
        for array in (base, np.asfortranarray(base), base[::2, 1::3], base.T, base[:, ::-1]):
            given = array + rank
            strided = np.empty_like(np.repeat(given, 2, 1))[:, ::2]
            strided[...] = given
            want = 4 * array + 6
            for x in (given, strided):
                got = communicator.allreduce(x)
                assert got.shape == x.shape
                assert np.array_equal(got, want)
                out = np.zeros((*x.shape, 2))[..., 0]
                assert communicator.allreduce(x, out) is out
                assert np.array_equal(out, want)
            assert communicator.allreduce(strided, strided) is strided
            assert np.array_equal(strided, want)
    gathered = communicator.allgather(np.array([[rank, 9]]))
    assert gathered.tolist() == [0, 9, 1, 9, 2, 9, 3, 9]
    assert communicator.allreduce(np.array(2.5)).item() == 10
    for method in (communicator.allreduce, communicator.allgather, communicator.reduce_scatter, communicator.reduce):
        assert method(np.zeros(0, np.float32)).size == 0
    return rank, 2


def scene_loop(folder):
    """One communicator in a long loop: arrays that come again, new ones, several sizes and types."""
    import linkstep

    communicator = linkstep.Communicator("K_4", timeout=PATIENT)
    rank, kept = communicator.rank, np.zeros(50_000, np.float32)
    for k in range(200):
        kept[:] = rank + k
        communicator.allreduce(kept, kept)
        assert kept[0] == kept[-1] == 6 + 4 * k
        fresh = np.full((17, 20_000, 50_000, 1)[k % 4] + k, rank * k, (np.float64, np.int32, np.int64)[k % 3])
        got = communicator.allreduce(fresh, op=("sum", "max")[k % 2])
        assert got[0] == got[-1] == (6 * k, 3 * k)[k % 2]
    communicator.close()
    assert communicator.allreduce(np.ones(3)).tolist() == [4, 4, 4]
    return rank, 400


def scene_misuse(folder):
    """What a caller gets wrong is said before anything is sent; the communicator goes on."""
    import linkstep

    communicator = linkstep.Communicator("K_4", timeout=PATIENT)
    for wrong, words in (
        (lambda: communicator.reduce_scatter(np.zeros(6)), "reduce-scatter needs a multiple of 4 elements"),
        (lambda: communicator.allreduce([1, 2]), "data must be a numpy array or a torch tensor, not list"),
        (lambda: communicator.allreduce(np.zeros(3, bool)), "arrays must be of integers or floats, not bool"),
        (lambda: communicator.allreduce(np.zeros(3), np.zeros(4)), "out must have 3 elements, not 4"),
        (lambda: communicator.allreduce(np.zeros(3), np.zeros(3, "f4")), "out must be like the array, of float64"),
        (lambda: communicator.allreduce(np.zeros(3), op="avg"), "the operation must be one of sum, min, max, prod"),
        (lambda: communicator.reduce(np.zeros(3), root=4), r"root must be a rank in [0, 4), not 4"),
        (lambda: communicator.run("scan", np.zeros(3)), "collective must be one of"),
    ):
        try:
            wrong()
        except linkstep.LinkstepError as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)
    assert communicator.allreduce(np.ones(3)).tolist() == [4, 4, 4]
    return communicator.rank, 1


SCENES = {name.removeprefix("scene_"): scene for name, scene in globals().items() if name.startswith("scene_")}


def main(path, *scenes):
    """Run and say how many calls were right; a failure ends all ranks at once."""
    try:
        rank, done = 0, 0
        for scene in scenes:
            rank, more = SCENES[scene](path)
            done += more
        if not scenes:
            rank, done = run_cases(path)
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        from mpi4py import MPI

        MPI.COMM_WORLD.Abort(1)
    if rank == 0:
        print(f"{done} right", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(*sys.argv[1:])
