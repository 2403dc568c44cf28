"""How kernels are run: plain while that is cheaper than compiling, with the same results; where they are kept."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import linkstep
from linkstep import _compiling, warming
from linkstep._compiling import UNKEPT_PASSES, Kernel, njit
from linkstep.cli import main

SOURCE = Path(linkstep.__file__).parent
NEEDS_JIT = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="compiles kernels")


def add_up(numbers):
    total = np.uint64(0)
    for i in range(numbers.size):
        total += numbers[i]
    return total, numbers


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setattr(Kernel, "plain_allowed", True)
    monkeypatch.setattr(Kernel, "_plain_in_all", 0)
    monkeypatch.setattr(Kernel, "is_kept", lambda kernel: False)


def test_a_kernel_is_plain_until_compiling_would_have_paid(plain, monkeypatch):
    made = []
    monkeypatch.setattr(_compiling, "_compiler", lambda options: lambda function: made.append(function) or function)
    kernel = njit(cache=True, passes=lambda a: a.numbers.size)(add_up)
    half = np.ones(UNKEPT_PASSES // 2, np.uint64)
    monkeypatch.setattr(kernel, "_call_plainly", lambda numbers: "plain")
    assert [kernel(half), kernel(half)] == ["plain", "plain"] and not made
    assert kernel(half[:1])[0] == 1 and made == [add_up]
    _compiling.FILES[add_up.__module__].remove(kernel)
    globals()["add_up"] = add_up


def test_plain_results_are_numbers_of_python_and_wrap_around(plain):
    kernel = njit(cache=True, passes=lambda a: 1)(add_up)
    total, numbers = kernel(np.array([2**63, 2**63, 5], np.uint64))
    assert total == 5 and type(total) is int and isinstance(numbers, np.ndarray)
    _compiling.FILES[add_up.__module__].remove(kernel)


def test_a_kernel_can_write_to_what_it_fills_alone(plain):
    """So that whoever calls it, it is compiled for one kind of array; the caller's own array stays as it was."""
    ones = np.ones(2, np.uint64)
    for fills, expected in ((), False), (("numbers",), True), (None, True):
        kernel = njit(cache=True, passes=lambda a: 1, fills=fills)(add_up)
        total, numbers = kernel(ones)
        assert total == 2 and numbers.flags.writeable == expected and np.shares_memory(numbers, ones)
        _compiling.FILES[add_up.__module__].remove(kernel)
    assert ones.flags.writeable


def test_kernels_that_say_nothing_of_their_passes_are_compiled(plain):
    kernel = njit(cache=True)(add_up)
    assert not kernel._is_cheap((np.ones(1),))
    _compiling.FILES[add_up.__module__].remove(kernel)


def summary(topology: str) -> str:
    """Return what commands make of a topology, in words that tell any difference."""
    made = linkstep.schedule(topology, "allreduce")
    rows = [np.asarray(column).tolist() for column in (made.schedule.source, made.schedule.link, made.schedule.step)]
    lowered = linkstep.lower(made.schedule, "mscclpp").text if made.schedule.topology.num_nodes < 9 else ""
    throughput = linkstep.all_to_all(made.schedule.topology)
    bound = linkstep.wiring_bound(made.schedule.topology, "allreduce").cost
    return json.dumps([str(made.cost), made.method, rows, lowered, str(throughput.value), str(bound)])


@NEEDS_JIT
@pytest.mark.parametrize(
    "recipe", ["K_{4,4}", *(pytest.param(r, marks=pytest.mark.slow) for r in ("Pi_{2,9}", "L(Diamond)", "Torus(4,4)"))]
)
def test_plain_and_compiled_agree(monkeypatch, recipe):
    compiled = summary(recipe)
    called = []
    monkeypatch.setattr(Kernel, "recorder", lambda kernel, args: called.append(kernel.py_func.__name__))
    assert summary(recipe) == compiled and len(set(called)) > 10


COMPILED = """
import sys
from linkstep._compiling import tell_of_compiling
from linkstep.cli import main
told = []
tell_of_compiling(told.append)
code = main(sys.argv[1:])
print("compiled", len(told), "numba" in sys.modules, file=sys.stderr)
sys.exit(code)
"""


def command(*words, source=COMPILED, **variables):
    """Run a command in a process of its own; return it with the kernels it compiled, and whether it imported numba."""
    done = subprocess.run(
        [sys.executable, "-c", source, *map(str, words)], capture_output=True, text=True, timeout=900,
        env=os.environ | {name: str(value) for name, value in variables.items()},
    )  # fmt: skip
    found = re.search(r"^compiled (\d+) (True|False)$", done.stderr, re.MULTILINE)
    assert found is not None, done.stderr
    return done, int(found[1]), found[2] == "True"


@pytest.mark.parametrize(
    "words",
    [("find", "64", "4"), ("schedule", "Torus(8,8)"),
     *(pytest.param(words, marks=pytest.mark.slow)
       for words in [("schedule", "Cat(64,4,26778)"), ("show", "K_{4,4}"), ("throughput", "Torus(8,8)"),
                     ("lower", "K_{4,4}", "--to", "mscclpp", "-o", "plan.json")])],
)  # fmt: skip
def test_first_commands_compile_nothing(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    done, compiled, _ = command(*words, NUMBA_CACHE_DIR=tmp_path / "cache")
    assert done.returncode == 0 and compiled == 0, done.stderr


# --- where compiled kernels are kept ---


@pytest.fixture(scope="module")
def shared_install(tmp_path_factory):
    """A copy of linkstep beside which nothing can be kept, by whoever runs it: the folder's name is that of a file."""
    where = tmp_path_factory.mktemp("install")
    shutil.copytree(SOURCE, where / "linkstep", ignore=shutil.ignore_patterns("__pycache__"))
    (where / "linkstep" / "_kernels" / "__pycache__").write_text("")
    return where


BIG = "import numpy as np\nfrom linkstep._compiling import Kernel\nKernel.plain_allowed = False\n" + COMPILED


@NEEDS_JIT
@pytest.mark.slow
@pytest.mark.parametrize("is_safe", [True, False])
def test_no_writable_cache_or_home(shared_install, tmp_path, is_safe):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    folder = temporary / f"linkstep-kernels-{os.getuid()}"
    if not is_safe:
        folder.mkdir()
        folder.chmod(0o777)
    variables = {
        "PYTHONPATH": shared_install, "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/x", "TMPDIR": temporary,
        "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": "/dev/null/x",
    }  # fmt: skip
    done, compiled, _ = command("show", "K_5", source=BIG, **variables)
    assert done.returncode == 0 and compiled > 0 and "Traceback" not in done.stderr, done.stderr
    assert bool(list(folder.rglob("*.nbi"))) == is_safe
    if is_safe:
        assert folder.stat().st_mode & 0o077 == 0
        assert command("show", "K_5", source=BIG, **variables)[1] == 0


def test_a_cache_that_cannot_be_written_is_done_without(plain, monkeypatch):
    """As on a full disk: numba raises what the system says, after it compiled and before anything ran."""

    def full(*args):
        raise OSError(28, "No space left on device")

    options = []
    monkeypatch.setattr(_compiling, "_compiler", lambda o: options.append(o) or (lambda f: full if o["cache"] else f))
    monkeypatch.setattr(_compiling, "FILES", {})  # or kernels that are compiled already would be made again, by this
    kernel = njit(cache=True)(add_up)
    before = globals()["add_up"]
    try:
        assert kernel(np.ones(3, np.uint64))[0] == 3
    finally:
        globals()["add_up"] = before
    assert [one["cache"] for one in options][:1] == [True] and options[-1]["cache"] is False


def test_the_temporary_folder_must_be_ones_own(tmp_path, monkeypatch):
    monkeypatch.setattr(_compiling, "temporary_folder", lambda: tmp_path / "kernels")
    assert _compiling._safe_folder() == tmp_path / "kernels" and (tmp_path / "kernels").stat().st_mode & 0o777 == 0o700
    (tmp_path / "kernels").chmod(0o755)
    assert _compiling._safe_folder() is None
    (tmp_path / "kernels").rmdir()
    (tmp_path / "kernels").symlink_to(tmp_path)
    assert _compiling._safe_folder() is None


# --- warm ---


@pytest.mark.slow
def test_warm_knows_the_kernels_that_modules_import():
    """Those it leaves out are small, and only long searches call them."""
    imported = set()
    for path in SOURCE.rglob("*.py"):
        lines = re.findall(r"^from (linkstep\._kernels\.\w+) import (.*)$", path.read_text(), re.MULTILINE)
        for module, names in lines:
            imported |= {(module, name.strip()) for name in names.split(",")}
    kernels = {one for one in imported if isinstance(_as_written(*one), Kernel)}
    left = {name for _, name in kernels - {(call.module, call.name) for call in warming.kernel_calls()}}
    assert left <= {"_draw", "_swap", "_may_swap"}


def _as_written(module: str, name: str) -> object:
    importlib.import_module(module)
    found = [kernel for kernel in _compiling.FILES[module] if kernel.py_func.__name__ == name]
    return found[0] if found else None


@NEEDS_JIT
@pytest.mark.slow
def test_after_warm_nothing_is_compiled(tmp_path):
    few = "from linkstep import warming\nwarming.WORK = warming.WORK[:1]\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{few}from linkstep.cli import entry\nentry()", "warm", "--json"], check=True,
        capture_output=True, text=True, env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}, timeout=1800,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["compiled"] > 0 and found["folder"].startswith(str(tmp_path)) and found["format"] == "linkstep/warm"
    for words in (("schedule", "Torus(16,16)"), ("check", tmp_path / "made.npz")):
        if words[0] == "schedule":
            words = (*words, "-o", tmp_path / "made.npz")
        assert command(*words, NUMBA_CACHE_DIR=tmp_path)[1] == 0


@pytest.mark.parametrize(
    ("words", "variables", "message"),
    [(["--workers", "0"], {}, "--workers must be at least 1, not 0"),
     ([], {"NUMBA_DISABLE_JIT": "1"}, "NUMBA_DISABLE_JIT is set")],
)  # fmt: skip
def test_warm_refuses(capsys, monkeypatch, words, variables, message):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["warm", *words]) == 2
    assert message in capsys.readouterr().err
