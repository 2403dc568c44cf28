"""What surrounds a command: names from elsewhere, standard output, signals, memory. One line and no traceback, ever."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import linkstep
from linkstep.cli import main
from linkstep.cli._parser import NAMES
from linkstep.cli._progress import progress_bar
from linkstep.cli._terminal import printable
from linkstep.core.topology import Topology


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def in_shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command in which ``linkstep`` is this package's."""
    script = f'linkstep() {{ "{sys.executable}" -m linkstep "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, env=os.environ | environment
    )


# --- names ---

EVIL = "\x1b[2J\x1b]0;owned\x07\rsafe\ud800\u202e\x9b"


@pytest.mark.parametrize("command", ["show", "schedule"])
def test_names_in_files_cannot_act_on_the_terminal(capsys, tmp_path, command):
    file = str(tmp_path / "t.json")
    linkstep.save(Topology.from_links(2, [0, 1], [1, 0], "plain"), file)
    Path(file).write_text(Path(file).read_text().replace('"plain"', json.dumps(EVIL)))
    code, out, err = run(capsys, command, file)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not set("\x1b\x07\r\ud800\u202e\x9b") & set(err)
    assert r"not '\x1b[2J\x1b]0;owned\x07\rsafe\ud800\u202e\x9b'" in err


def test_names_on_the_command_line_cannot_act_on_the_terminal(capsys):
    for argv in (["show", f"{EVIL}.npz"], ["show", EVIL], ["show", "K_5", f"--{EVIL}"], [EVIL], ["show", "a\nb.npz"]):
        code, out, err = run(capsys, *argv)
        assert (code, out) == (2, "")
        assert err.startswith("linkstep: ") and err.count("\n") == 1
        assert not set("\x1b\x07\r\ud800\u202e\x9b") & set(err)


def test_printable_leaves_text_alone():
    text = "tab\tnewline\n10µs Π □ é 日本"
    assert printable(text) == text


@pytest.mark.slow
def test_standard_output_of_few_characters(tmp_path):
    linkstep.save(Topology.from_links(2, [0, 1], [1, 0], "Zürich"), tmp_path / "é.json")
    done = in_shell(f"cd {tmp_path}; linkstep show é.json; linkstep show gone-é.npz", PYTHONIOENCODING="ascii")
    assert done.stdout.startswith("Z\\xfcrich\n  servers N")
    assert done.stderr == "linkstep: gone-\\xe9.npz: no such file\n"


def test_output_names_too_long(capsys, tmp_path):
    for file in (tmp_path / f"{'n' * 300}.npz", tmp_path / ("f" * 300) / "s.npz"):
        code, out, err = run(capsys, "schedule", "K_5", "-o", str(file))
        assert (code, out) == (2, "")
        assert err.endswith("...: file name too long\n") and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("written", ["*1", "^1"])
def test_deep_recipes(capsys, written):
    code, out, err = run(capsys, "wire", "./K_5" + written * 90)
    assert (code, out, err.count("\n")) == (2, "", 1)
    code, out, err = run(capsys, "show", "K_5" + written * 110)
    assert (code, out) == (2, "")
    assert err.endswith("character 205: more than 100 expansions of one another\n")


# --- standard output and standard error ---


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("linkstep families >&-", "linkstep: standard output is closed\n"),
        pytest.param("linkstep families --json >&-", "linkstep: standard output is closed\n", marks=pytest.mark.slow),
        ("linkstep families > /dev/full", "linkstep: standard output: cannot be written: no space left on device\n"),
        pytest.param(
            "linkstep find --help > /dev/full",
            "linkstep: standard output: cannot be written: no space left on device\n",
            marks=pytest.mark.slow,
        ),
        pytest.param("linkstep frobnicate 2>&-", "", marks=pytest.mark.slow),
        ("linkstep frobnicate 2> /dev/full", ""),
    ],
)
def test_streams_that_cannot_be_written(command, message):
    if "/dev/full" in command and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    done = in_shell(command)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def test_a_closed_standard_output_is_not_the_next_file(tmp_path):
    done = in_shell(f"linkstep convert K_5 {tmp_path / 'k.csv'} >&- 2>&-")
    assert done.returncode == 2
    assert not list(tmp_path.iterdir())


def test_a_reader_that_has_seen_enough_is_no_error():
    done = in_shell("set -o pipefail; linkstep families | head -1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("written")


# --- what is not the command's fault ---


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "out of memory"),
        (MemoryError("Unable to allocate 8.00 TiB"), "out of memory: Unable to allocate 8.00 TiB"),
        (OSError(24, "Too many open files", "x.npz"), "x.npz: too many open files"),
        (OSError(11, "Resource temporarily unavailable"), "the system: resource temporarily unavailable"),
        (KeyboardInterrupt(), "interrupted"),
    ],
)
def test_failures_of_the_machine_are_one_line(capsys, monkeypatch, error, message):
    def fail(args):
        raise error

    monkeypatch.setattr("linkstep.cli._parser.build_parser", lambda names=NAMES: Parser())

    class Parser:
        def parse_args(self, words):
            return self

        run = staticmethod(fail)

    code, out, err = run(capsys, "families")
    assert (code, out, err) == (130 if message == "interrupted" else 2, "", f"linkstep: {message}\n")


# --- commands ---


@pytest.mark.parametrize(
    ("written", "meant"), [("scedule", "schedule"), ("Find", "find"), ("simulat", "simulate"), ("verfy", "verify")]
)
def test_a_misspelt_command(capsys, written, meant):
    assert run(capsys, written, "K_5") == (
        2,
        "",
        f"linkstep: no command is called {written!r}; did you mean {meant!r}?\n",
    )


def test_an_unknown_option_is_one_line(capsys):
    assert run(capsys, "show", "K_5", "--frobnicate") == (
        2,
        "",
        "linkstep: unrecognized arguments: --frobnicate; `linkstep show --help` shows how\n",
    )


def test_public_names_are_imported_when_used():
    program = "import linkstep, sys; print('numpy' in sys.modules, [hasattr(linkstep, n) for n in linkstep.__all__])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"False {[True] * len(linkstep.__all__)}\n"
    assert set(linkstep.__all__) <= set(dir(linkstep))
    with pytest.raises(AttributeError, match="module 'linkstep' has no attribute 'nonsense'"):
        linkstep.nonsense  # noqa: B018


# --- interrupts ---


def interrupt_at_import(module: str, start: str) -> subprocess.CompletedProcess[str]:
    """Run ``linkstep show K_5``, interrupted when the module is looked for."""
    program = f"""
import os, runpy, signal, sys

class Interrupt:
    @staticmethod
    def find_spec(name, path, target=None):
        if name == {module!r}:
            sys.meta_path.remove(Interrupt)
            os.kill(os.getpid(), signal.SIGINT)

if {module!r} == "numba":  # or so small a topology is looked at without
    from linkstep._compiling import Kernel
    Kernel.plain_allowed = False
sys.meta_path.insert(0, Interrupt)
sys.argv = ["linkstep", "show", "K_5"]
{start}
"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


STARTS = {
    "script": "from linkstep.cli import entry; entry()",
    "module": "runpy.run_module('linkstep', run_name='__main__')",
}


@pytest.mark.parametrize(
    "start", [pytest.param(STARTS["script"]), pytest.param(STARTS["module"], marks=pytest.mark.slow)], ids=STARTS
)
@pytest.mark.parametrize("module", ["linkstep.cli._signals", "argparse", "numpy", "numba", "linkstep.cli._show"])
def test_interrupt_while_importing(module, start):
    done = interrupt_at_import(module, start)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "linkstep: interrupted\n")


DROPPED = """
import ctypes, os, signal, sys, time
from linkstep.cli import _parser, entry

def work(args):
    callback = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))
    callback()  # what is raised in here is dropped
    print("went on", flush=True)
    time.sleep(60)

class Parser:
    run = staticmethod(work)
    def parse_args(self, words):
        return self

_parser.build_parser = lambda names=None: Parser()
sys.argv = ["linkstep", "families"]
entry()
"""


def test_an_interrupt_dropped_by_compiled_code_comes_again():
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", DROPPED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "went on\n", "linkstep: interrupted\n")
    assert time.monotonic() - start < 30


def test_ignored_interrupts_stay_ignored():
    """A shell starts background jobs so."""
    program = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{DROPPED.replace('60', '0')}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("went on\n", "")


# --- progress ---


class Terminal:
    """A standard error that is a terminal."""

    encoding = "utf-8"

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return True


@pytest.mark.parametrize("total", [None, 0, 8])
def test_progress_of_known_and_unknown_total(monkeypatch, total):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    clock = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: clock[0])
    with progress_bar("work", " parts") as bar:
        bar(1, total)
        assert terminal.text == ""
        clock[0] += 5
        bar(4, total)
        shown = terminal.text
    assert ("work: 4 parts [00:05]" in shown) == (not total)
    assert ("4/8" in shown) == bool(total)


def test_no_progress_without_a_terminal(capsys):
    with progress_bar("work") as bar:
        bar(1, None)
    assert capsys.readouterr() == ("", "")


def test_leaving_at_once_leaves_no_semaphore():
    """A pool's are still there when Ctrl-C ends a search that has just begun; nothing is printed of them."""
    code = (
        "from multiprocessing import get_context; from linkstep.cli._signals import leave_at_once\n"
        "queue = get_context('spawn').Queue(); leave_at_once(3)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")
