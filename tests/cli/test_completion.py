"""Completion: scripts that shells take, and the words they ask for, as the shells themselves complete them."""

import re
import shutil
import subprocess

import pytest

from linkstep.cli import main
from linkstep.cli._commands import NAMES
from linkstep.cli._completion import SHELLS, script
from linkstep.cli._words import words
from linkstep.families import FAMILIES
from linkstep.recipe import parse
from linkstep.simulation.training import model_names

LINE = ["linkstep", "show", "'K_{2,2}'", "--names", "ant,bee,cat,dog"]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        (folder / shell).write_text(script(shell))
    return folder


def need(shell: str) -> str:
    if shutil.which(shell) is None or shutil.which("linkstep") is None:
        pytest.skip(f"{shell} or the linkstep script is not installed")
    return shell


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_takes_its_script(scripts, shell):
    done = subprocess.run([need(shell), "-n", str(scripts / shell)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_script_of_fish_has_every_command_and_option(scripts):
    """By its rules, whether or not fish is here: a `complete` a command, quotes and parentheses that match."""
    text = (scripts / "fish").read_text()
    lines = [line for line in text.splitlines() if line.startswith("complete -c linkstep")]
    assert {name for line in lines for name in re.findall(r" -a ([a-z-]+) ", line)} >= set(NAMES)
    options = {name for line in lines for name in re.findall(r"-l ([a-z-]+)", line)}
    assert {"size", "collective", "seconds", "down", "to"} <= options
    assert all(line.replace(r"'\''", "").replace("'\"'\"'", "").count("'") % 2 == 0 for line in lines)
    for kind in ("recipes", "models", "hosts", "cables", "testbeds"):
        assert f"__linkstep_words {kind}" in text


def fish(scripts, line: str) -> list[str]:
    command = f"source {scripts / 'fish'}; complete -C '{line}'"
    done = subprocess.run([need("fish"), "-c", command], capture_output=True, text=True, check=True)
    return [found.partition("\t")[0] for found in done.stdout.splitlines()]


def bash(scripts, *line: str) -> list[str]:
    quoted = " ".join(f'"{word}"' for word in line)
    command = (
        f"source {scripts / 'bash'}; COMP_WORDS=({quoted}); COMP_CWORD={len(line) - 1}; _shtab_linkstep; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run([need("bash"), "-c", command], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("linkstep sched", ["schedule"]),
        pytest.param("linkstep train-sim gpt2-s", ["gpt2-small"], marks=pytest.mark.slow),
        pytest.param("linkstep show Twisted", ["TwistedHypercube(", "TwistedTorus("], marks=pytest.mark.slow),
        pytest.param("linkstep lower x --to msccl-", ["msccl-azure"], marks=pytest.mark.slow),
        ("linkstep show K_4 --names ant,bee,cat,dog --down b", ["bee"]),
        ("linkstep schedule K_4 --coll", ["--collective"]),
    ],
)
def test_fish_completes(scripts, line, found):
    assert fish(scripts, line) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (["linkstep", "sched"], ["schedule"]),
        (["linkstep", "train-sim", "gpt2-s"], ["gpt2-small"]),
        pytest.param(["linkstep", "show", "'Twisted"], ["TwistedHypercube(", "TwistedTorus("], marks=pytest.mark.slow),
        pytest.param(["linkstep", "lower", "x", "--to", "msccl-"], ["msccl-azure"], marks=pytest.mark.slow),
        ([*LINE, "--down", "b"], ["bee"]),
        ([*LINE, "--cut", "ant"], ["ant,cat", "ant,dog"]),
    ],
    ids=lambda value: " ".join(value[1:]) if value[0] == "linkstep" else "",
)
def test_bash_completes(scripts, line, found):
    assert bash(scripts, *line) == found


def test_words_of_a_line(tmp_path):
    assert words("models", []) == list(model_names())
    assert words("hosts", [*LINE, "--down", ""]) == ["ant", "bee", "cat", "dog"]
    assert words("cables", [*LINE, "--cut", ""]) == ["ant,cat", "ant,dog", "bee,cat", "bee,dog"]
    wiring = tmp_path / "rack.csv"
    wiring.write_text("tail,head\nx1,x2\nx2,x1\n")
    assert words("hosts", ["linkstep", "schedule", str(wiring), "--root", "x"]) == ["x1", "x2"]
    assert words("hosts", ["linkstep", "schedule", "--root", ""]) == []
    assert words("hosts", ["linkstep", "show", "Nonsense(", "--down", ""]) == []


def test_recipes_begin_like_families_and_catalog_names_exist():
    begun = words("recipes", ["linkstep", "show", ""])
    assert all(any(family.notation.startswith(word) for word in begun) for family in FAMILIES)
    names = words("recipes", ["linkstep", "show", "'Cat(64,4,"])
    assert names and all(parse(name).num_nodes == 64 for name in names)
    assert words("recipes", ["linkstep", "show", "'L(Cat(64,4,2"]) == [f"L({name}" for name in names]


def test_completion_asks_for_a_shell(capsys):
    assert main(["completion"]) == 2
    assert capsys.readouterr().err == "linkstep: say which shell to complete for: bash, zsh, fish, tcsh\n"
    assert main(["completion", "--words", "models"]) == 0
    assert capsys.readouterr().out.split() == list(model_names())
