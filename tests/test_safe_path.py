"""Processes that linkstep starts run no code that lies in the current folder, no matter who put it there."""

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
HOSTILE = """
import os
from pathlib import Path

with (Path(__file__).parent / "ran").open("a") as file:
    file.write(f"{__name__} in {Path('/proc/self/cmdline').read_bytes()!r}\\n")
raise ImportError(f"{__name__} of the current folder")
"""
NAMES = (
    "json", "linkstep", "logging", "mpi4py", "multiprocessing", "numba", "numpy", "ortools", "pickle", "random",
    "runpy", "select", "signal", "socket", "struct", "subprocess", "tempfile", "threading", "torch", "usercustomize",
)  # fmt: skip


def test_every_interpreter_is_started_safely():
    """``sys.executable`` is followed by ``-P`` (no current folder) or ``-I`` (no environment either)."""
    found = 0
    for path in SOURCES:
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "sys.executable" in text else ():
            if isinstance(node, ast.List) and node.elts and ast.unparse(node.elts[0]) == "sys.executable":
                found += 1
                assert ast.unparse(node.elts[1]) in ("'-P'", "'-I'"), f"{path}:{node.lineno}"
    assert found >= 5


@pytest.fixture
def folder(tmp_path):
    """A folder with modules of the names that are imported first, each of which leaves word that it ran."""
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    for name in NAMES:
        (hostile / f"{name}.py").write_text(HOSTILE)
    return hostile


def run_in(folder, code, *words):
    """Run a script that lies elsewhere, as the command ``linkstep`` does, in a folder."""
    script = folder.parent / "script.py"
    script.write_text(code)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONSAFEPATH", None)
    done = subprocess.run(
        [sys.executable, str(script), *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    ran = folder / "ran"
    assert not ran.exists(), ran.read_text()
    assert done.returncode == 0, done.stderr
    return done.stdout


LINKSTEP = "from linkstep.cli import entry\nentry()\n"
POOL = """
import os
from linkstep.search.sweep.pools import over_all

if __name__ == "__main__":
    assert [*over_all(abs, range(4), workers=2)] and "PYTHONSAFEPATH" not in os.environ
"""
SOLVER = "from linkstep.methods.synthesis.worker import WORKER\nWORKER.check_ready()\n"
RUN = ("run", "K_4", "--size", "1KiB", "--repetitions", "1", "--no-own", "--timeout", "60s")


@pytest.mark.slow
def test_the_workers_of_a_pool(folder):
    run_in(folder, POOL)


@pytest.mark.slow
def test_the_solver(folder):
    pytest.importorskip("ortools", reason="needs OR-tools")
    run_in(folder, SOLVER)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mpi4py") is None, reason="needs MPI: pip install '.[mpi]'")
def test_ranks_of_mpi(folder):
    assert "K_4: allreduce by mpi" in run_in(folder, LINKSTEP, *RUN)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch: pip install torch")
def test_ranks_of_torch(folder):
    assert "K_4: allreduce by torch" in run_in(folder, LINKSTEP, *RUN, "--engine", "torch")
