"""Collectives over MPI: all of them, on topologies of every kind, at odd lengths, checked by plain numpy.

There is one start of ranks for each number of them; a worker script goes through all its cases.
"""

import itertools
import os
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import linkstep
from linkstep.core.faults import Cut, apply
from linkstep.core.schedule import COLLECTIVES
from linkstep.engines.plans.compile import compile_plans
from linkstep.engines.plans.plan import CompiledPlans
from linkstep.engines.transports.start import mpi_launcher
from linkstep.selector import Rule, Selector

pytestmark = pytest.mark.slow
pytest.importorskip("mpi4py", reason="needs MPI: pip install '.[mpi]'")

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "support" / "programs"
WORKER = ROOT / "tests" / "support" / "mpi_worker.py"
CUT = "K_{4,4} with a cut cable"
TOPOLOGIES = {
    4: ("K_4",),
    5: ("UniRing(1,5)",),
    6: ("BiRing(2,6)",),
    8: ("K_{4,4}", CUT, "L(K_{2,2})", "Cayley(Z8,{1,3})"),
    9: ("Torus(3,3)",),
    12: ("C(12,{2,3})",),
    16: ("Pi_{4,16}",),
}
LENGTHS = (1, 7, 1003, 65537)
"""Elements of a part: of a rank's N-th where a collective divides the data, else of all."""
TYPES, OPS = ("float32", "float64", "int32", "int64"), ("sum", "min", "max", "prod")


def mpiexec(num_ranks, *words, seconds=300, **variables):
    """Run the worker in ranks and return what it printed."""
    launcher, more = mpi_launcher()
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | more | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | variables
    command = [*launcher, "-n", str(num_ranks), sys.executable, str(WORKER), *map(str, words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def topology_of(name):
    if name != CUT:
        return linkstep.parse(name).topology()
    whole = linkstep.parse("K_{4,4}").topology()
    return apply(whole, [Cut("0", "4")], Fraction(10**9))


def compiled(topology, collective, inplace, root):
    """Every rank's plan; an all-to-all is made out of place, and who calls it in place gets a copy."""
    inplace = inplace and not collective.exchanges
    schedule = linkstep.schedule(topology, collective, root=root).schedule
    program = linkstep.read_program(linkstep.lower(schedule, "cpu", inplace=inplace).text, "cpu")
    prints = program.fingerprint
    return [CompiledPlans(prints, root, ((2**63, plan),)) for plan in compile_plans(program, inplace)]


def batches(num_ranks):
    """Every collective in both modes at every length, types and operations taking turns.

    With few ranks, every reduction has all of them at a small length.
    """
    turns = itertools.count()
    for k, name in enumerate(TOPOLOGIES[num_ranks]):
        topology = topology_of(name)
        for collective, inplace in itertools.product(COLLECTIVES, (False, True)):
            root = (num_ranks - 1 + k) % num_ranks if collective.has_root else 0
            whole = num_ranks if collective.is_divided and not collective.starts_with_shard else 1
            turning = [(length, TYPES[n % 4], OPS[n // 4 % 4]) for length, n in zip(LENGTHS, turns)]  # noqa: B905
            every = (
                [(7, *pair) for pair in itertools.product(TYPES, OPS)] if collective.reduces and num_ranks < 9 else []
            )
            yield compiled(topology, collective, inplace, root), [
                {"collective": collective, "inplace": inplace, "root": root, "length": length * whole, "type": kind,
                 "op": op, "seed": seed}
                for seed, (length, kind, op) in enumerate(turning + every)
            ]  # fmt: skip


@pytest.mark.parametrize("num_ranks", TOPOLOGIES)
def test_every_collective_on_every_topology(num_ranks, tmp_path):
    made = list(batches(num_ranks))
    (tmp_path / "cases").write_bytes(pickle.dumps(made))
    assert mpiexec(num_ranks, tmp_path / "cases") == f"{sum(len(cases) for _, cases in made)} right\n"


def test_a_library_of_four_ranks(tmp_path):
    """What users do in their own scripts; see the worker's scenes."""
    ring = linkstep.lower(linkstep.parse("UniRing(1,4)").build("allreduce"), "msccl").text
    (tmp_path / "ring.xml").write_text(ring)
    rules = (Rule("allreduce", None, 1000, "K_4"), Rule("allreduce", 1001, None, "ring.xml", dialect="msccl"))
    Selector(rules).save(tmp_path / "selector.json")
    scenes = ("several", "selector", "shapes", "loop", "misuse")
    assert mpiexec(4, tmp_path, *scenes) == f"{60 + 5 + 2 + 400 + 1} right\n"


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_files_of_other_tools_run_without_their_hardware(num_ranks, tmp_path):
    found = [p for p in PROGRAMS.iterdir() if linkstep.read_program(p.read_text()).num_ranks == num_ranks]
    if not found:
        pytest.skip(f"no file is for {num_ranks} ranks")
    for path in found:
        (tmp_path / f"foreign-{path.name}").write_bytes(path.read_bytes())
    assert mpiexec(num_ranks, tmp_path, "foreign") == f"{4 * len(found)} right\n"
