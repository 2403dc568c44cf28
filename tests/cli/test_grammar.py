"""One grammar: options mean the same in every command, help is where it is looked for, misspellings are understood."""

import argparse
import re
import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from linkstep.cli import main
from linkstep.cli._commands import COMMANDS, GROUPS, NAMES, nearest, overview
from linkstep.cli._methods import ABOUT
from linkstep.cli._nccl_options import nccl_sizes
from linkstep.cli._parser import build_parser
from linkstep.cli._quantities import rate_option, seconds_option, size_option, sizes_option, time_option
from linkstep.core.units import parse_sizes
from linkstep.scheduling import BEST, METHODS


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


def options(parser: argparse.ArgumentParser):
    """Yield every option of a parser and of its actions' parsers, with the command it is of."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from options(sub)
        else:
            yield from ((option, parser.prog, action) for option in action.option_strings)


SURVEY = defaultdict(list)
for _option, _prog, _action in options(build_parser()):
    SURVEY[_option].append((_prog, _action))

MEANINGS = {
    "--size": (size_option, "M, the bytes of data on each server"),
    "--sizes": (sizes_option, ""),
    "--seconds": (seconds_option, "time to spend "),
    "--timeout": (seconds_option, ""),
    "--alpha": (time_option, "latency of a step"),
    "--delay": (time_option, ""),
    "--instruction": (time_option, ""),
    "--bandwidth": (rate_option, "B: what a server sends"),
    "--host-bandwidth": (rate_option, "what all ports of a host carry together"),
    "--rate": (rate_option, ""),
    "--reduction": (rate_option, ""),
    "--memory": (size_option, ""),
    "--gather": (size_option, ""),
    "--min-bytes": (size_option, ""),
    "--max-bytes": (size_option, ""),
    "--nodes": (None, "how many servers"),
    "--degree": (None, "ports on each"),
    "--names": (None, "names of the hosts: a file with one a line, or a list"),
    "--seed": (int, "of "),
    "--plot": (None, "draw "),
    "--chunks": (int, "equal chunks of each shard"),
    "--repetitions": (int, "calls "),
    "--gap": (None, "stop when bound and value are this near"),
    "--json": (None, "print JSON instead of text"),
}
"""What an option's value is read by, and how its help begins, wherever it is."""


@pytest.mark.parametrize("option", MEANINGS)
def test_an_option_has_one_meaning(option):
    read, begins = MEANINGS[option]
    assert SURVEY[option]
    for prog, action in SURVEY[option]:
        assert action.help.startswith(begins), prog
        assert read is None or action.type is read, prog


@pytest.mark.parametrize("option", sorted(SURVEY))
def test_an_option_takes_the_same_everywhere(option):
    """A value or none, under one name; some commands take several values, or a file, where others take one."""
    takes = {
        (type(action), action.dest, re.sub(r"\|.*|,\.\.\.|\[.*", "", str(action.metavar)))
        for _, action in SURVEY[option]
    }
    if option in ("-o", "--output"):  # what a command makes or, where it makes nothing, its JSON
        takes = {
            (kind, dest.replace("json_file", "output"), metavar.replace("DIR", "FILE")) for kind, dest, metavar in takes
        }
    if option == "--ranks":  # of `show`, which prints them; of `run` how many there are
        takes = {take for take in takes if take[0] is argparse._StoreAction}
    assert len(takes) == 1


def test_budgets_and_quantities_are_read_by_nothing_else():
    for option, found in SURVEY.items():
        for prog, action in found:
            if action.metavar in ("TIME", "RATE", "BYTES"):
                assert action.type in (time_option, seconds_option, rate_option, size_option), (option, prog)


# --- quantities ---


@pytest.mark.parametrize(
    ("argv", "shown", "notes"),
    [
        (["--size", "1M"], "an allreduce of 1MB", "linkstep: 1M read as 1MB\n"),
        (["--size", "1mb"], "an allreduce of 1MB", "linkstep: 1mb read as 1MB\n"),
        (["--size", "1 MB"], "an allreduce of 1MB", ""),
        (["--size", "1048576"], "an allreduce of 1048576B", ""),
        (["--bandwidth", "100G"], "100Gbps a server", "linkstep: 100G read as 100Gbps\n"),
        (["--bandwidth", "12.5 GBps"], "12.5GB/s a server", ""),
        (["--bandwidth", "100GbE"], "100Gbps a server", ""),
        (["--alpha", "5 µs"], "alpha 5us", ""),
        (["--alpha", "5usec"], "alpha 5us", ""),
        (["--seconds", "0"], "16 servers", ""),
        (["--seconds", "500ms"], "16 servers", ""),
        (["--seconds", "1m"], "16 servers", "linkstep: 1m read as 1min\n"),
        (["--sizes", "1k:4k"], "\n      1000      4000  ", "linkstep: 1k:4k read as 1KB:4KB\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_find_says_what_it_understood(capsys, argv, shown, notes):
    code, out, err = run(capsys, "find", "16", "4", *argv)
    assert (code, err) == (0, notes)
    assert shown in out


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["--size", "1Mb"], "argument --size: size '1Mb' is in bits: write 1MB for bytes"),
        (["--bandwidth", "100"],
         "argument --bandwidth: bandwidth '100' has no known unit: write it like 100Gbps or 100GB/s"),
        (["--bandwidth", "100GB"], "argument --bandwidth: bandwidth '100GB' is a size: write 100GB/s or 100Gbps"),
        (["--alpha", "10m"], "argument --alpha: time '10m' may be in minutes or milliseconds: write 10min or 10ms"),
        (["--alpha", "10"], "argument --alpha: time '10' has no known unit: write it like 10us or 10s"),
        (["--seconds", "soon"], "argument --seconds: time must be a number with a unit, such as 5s, not 'soon'"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_could_mean_two_things(capsys, argv, line):
    assert run(capsys, "find", "16", "4", *argv) == (2, "", f"linkstep: {line}; `linkstep find --help` shows how\n")


def test_of_many_ranks_the_first_says_how_it_read(capsys, monkeypatch):
    monkeypatch.setenv("PMI_RANK", "1")
    assert size_option("1M") == "1MB" and capsys.readouterr().err == ""
    monkeypatch.setenv("PMI_RANK", "0")
    assert size_option("1M") == "1MB" and capsys.readouterr().err == "linkstep: 1M read as 1MB\n"


@pytest.mark.parametrize(("text", "seconds"), [("5", 5), ("5s", 5), ("2m", 120), ("500ms", 0.5), ("1h", 3600)])
def test_seconds(text, seconds):
    assert seconds_option(text) == seconds


@pytest.mark.parametrize("option", ["--seconds", "--time-limit"])
def test_a_search_that_has_no_time(capsys, option):
    words = ["synthesize", "Pi_{2,12}", "--steps", "4", "--chunks", "4", "--at-most", "23/24", option, "1ms"]
    code, out, _ = run(capsys, *words)
    assert code == 1 and "unknown whether there is" in out


# --- nccl-tests ---


def asked(*words: str) -> tuple[tuple[int, ...], str] | None:
    return nccl_sizes(build_parser(["run"]).parse_args(["run", "K_4", *words]))


def test_sizes_of_nccl_tests():
    sizes, sweep = asked("-b", "8", "-e", "1G", "-f", "2")
    assert (sizes, sweep) == (parse_sizes("8:1GiB:x2"), "8B:1GiB:x2")
    assert len(sizes) == 28 and sizes[-1] == 2**30
    assert asked("-b", "32M")[0] == (2**25,)
    assert asked("-b", "1k", "-e", "5K", "-f", "4") == ((1024, 4096), "1KiB:4KiB:x4")  # 5K is not met: left out
    assert asked("-b", "3", "-e", "24") == ((3, 6, 12, 24), "3B:24B:x2")
    assert asked() is None


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["-e", "1G"], "-e goes with -b, the first size, as in -b 8 -e 1G -f 2"),
        (["-b", "8", "--sizes", "1KB:1MB"], "-b says which sizes to run, and so does --sizes: leave out one of them"),
        (["-b", "1G", "-e", "8"], "-b must be at most -e, not 1073741824 and 8 bytes"),
        (["-b", "1MiB"], "argument -b/--minbytes: sizes of nccl-tests are written 8, 64K, 32M or 1G, not '1MiB'; "
         "`linkstep run --help` shows how"),
        (["-b", "8", "-f", "1"], "argument -f/--stepfactor: the factor must be a whole number from 2, not '1'; "
         "`linkstep run --help` shows how"),
        (["-w", "-1"], "--warmups must lie in [0, 1000000], not -1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_what_nccl_tests_would_not_take(capsys, argv, line):
    assert run(capsys, "run", "K_4", *argv) == (2, "", f"linkstep: {line}\n")


def test_a_run_with_the_options_of_nccl_tests(capsys):
    pytest.importorskip("mpi4py")
    code, out, err = run(capsys, "run", "K_2", "-b", "8", "-e", "1K", "-f", "16", "-n", "2", "-w", "3", "--no-own")
    assert (code, err.splitlines()[0]) == (0, "linkstep: sizes of nccl-tests read as --sizes 8B:128B:x16")
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["8B", "128B"]


# --- names of hosts ---


NAMES_OF_HOSTS = ["--names", "ant,bee,cat,dog"]


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["schedule", "K_{2,2}", "--down", "dog"], "down dog"),
        (["show", "K_{2,2}", "--cut", "ant,cat"], "cut ant,cat"),
        (["simulate", "K_{2,2}"], "ant to cat"),
        (["throughput", "K_{2,2}", "--down", "bee"], "down bee"),
        (["wire", "K_{2,2}"], "dog"),
        (["convert", "K_{2,2}", "{}.csv"], "wrote"),
        (["lower", "K_{2,2}", "--to", "cpu", "-o", "{}.xml"], "on ant, bee, cat, dog"),
        (["synthesize", "K_{2,2}", "--steps", "3", "--chunks", "1", "--down", "dog"], "down dog"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_hosts_are_called_by_their_names(capsys, tmp_path, argv, shown):
    if argv[0] == "synthesize":
        pytest.importorskip("ortools")
    code, out, _ = run(
        capsys, *(word.format(tmp_path / "x") if word[0] == "{" else word for word in argv), *NAMES_OF_HOSTS
    )
    assert code == 0 and shown in out


def test_a_schedule_of_a_recipe_keeps_the_names(capsys, tmp_path):
    file = tmp_path / "s.json"
    assert run(capsys, "schedule", "K_{2,2}", *NAMES_OF_HOSTS, "-o", str(file))[0] == 0
    assert '"ant"' in file.read_text()
    assert run(capsys, "schedule", "K_{2,2}", "--names", "ant,bee")[::2] == (
        2,
        "linkstep: --names must name all 4 hosts, not 2: 'ant,bee'\n",
    )


# --- help ---


@pytest.mark.parametrize("argv", [[], ["help"], ["--help"], ["-h"], ["--he"]], ids=" ".join)
def test_help_lists_commands_by_work(capsys, argv):
    code, out, err = run(capsys, *argv)
    assert (code, err) == (0, "")
    assert overview() in out
    assert max(map(len, out.splitlines())) <= 80
    groups = re.findall(r"^([a-z ]+) \((docs/[a-z/-]+\.md)\)$", out, re.M)
    assert groups == list(GROUPS) and [name for name, _ in groups][:6] == [
        "plan", "wire", "schedule", "run", "predict", "research",
    ]  # fmt: skip
    assert re.findall(r"^  ([a-z][a-z-]+)  +[a-z]", out, re.M) == [*NAMES, "help"]


@pytest.mark.parametrize("name", NAMES)
def test_help_of_a_command(capsys, name):
    code, out, _ = run(capsys, "help", name)
    assert code == 0 and run(capsys, name, "--help") == (0, out, "")
    assert out.startswith(f"usage: linkstep {name} ")
    text, page = COMMANDS[name]
    assert f"\n{text[0].upper()}{text[1:]}.\n" in out and out.endswith(f"\ndocs: {page}\n")


def test_help_of_an_action(capsys):
    code, out, _ = run(capsys, "help", "testbed", "up")
    assert code == 0 and out.startswith("usage: linkstep testbed up ")


def test_methods_are_explained(capsys):
    assert set(ABOUT) == {BEST, *METHODS}
    _, out, _ = run(capsys, "schedule", "--help")
    explained = out[out.index("\nmethods:\n") : out.index("\nexample:")]
    assert re.findall(r"^  (\w+) +\S", explained, re.M) == [BEST, *METHODS]
    assert " ".join(ABOUT["bfb"].split()) in " ".join(explained.split())


def test_help_and_version_import_no_command_and_take_little_time():
    code = "import sys; from linkstep.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    for words in (["--help"], ["--version"], ["help"], []):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
        modules = set(done.stderr.split())
        assert not modules & {"numpy", "numba", "shtab", "tqdm", "difflib", "fractions"}
        assert not any(f"linkstep.cli._{name.replace('-', '_')}" in modules for name in NAMES)


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_seconds_of_help_and_version(word):
    """Seconds of processor time, the least of some runs: others may share the cores."""
    spent = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "linkstep", word], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) < 0.15


# --- did you mean ---


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["scedule", "K_5"], "no command is called 'scedule'; did you mean 'schedule'?"),
        (["hlep"], "no command is called 'hlep'; did you mean 'help'?"),
        (["help", "fnd"], "no command is called 'fnd'; did you mean 'find'?"),
        (["--size", "find"], "--size comes after a command, as in `linkstep find 16 4`; `linkstep --help` lists them"),
        (["schedule", "K_5", "--colective", "all"], "no option is called --colective; did you mean --collective?"),
        (["schedule", "K_5", "--colective=allgather"], "no option is called --colective; did you mean --collective?"),
        (["lower", "K_4", "--too", "cpu"], "no option is called --too; did you mean --to?"),
        (["find", "--nodes", "64", "--degree", "4"],
         "no option is called --nodes; write NODES alone, as in `linkstep find --help`"),
        (["testbed", "up", "K_4", "--nane", "x"], "no option is called --nane; did you mean --name?"),
        (["schedule", "K_5", "--collective", "allredcue"],
         "argument --collective: invalid choice: 'allredcue', did you mean 'allreduce'? (choose from allgather, "
         "reduce-scatter, allreduce, broadcast, reduce, all-to-all); `linkstep schedule --help` shows how"),
        (["schedule", "K_5", "--method", "BFB"],
         "argument --method: invalid choice: 'BFB', did you mean 'bfb'? (choose from best, bfb, arrival, overlapped, "
         "rooted, relayed, expand, stored, synthesized, exchange); `linkstep schedule --help` shows how"),
        (["lower", "K_4", "--to", "msccl++", "-o", "x"],
         "argument --to: invalid choice: 'msccl++', did you mean 'msccl'? (choose from mscclpp, msccl, msccl-azure, "
         "rccl, cpu); `linkstep lower --help` shows how"),
        (["testbed", "upp"], "argument ACTION: invalid choice: 'upp', did you mean 'up'? (choose from up, status, "
         "exec, cut, mend, down); `linkstep testbed --help` shows how"),
        (["show", "Tors(4,4)"], "recipe 'Tors(4,4)', character 1: no family is called 'Tors'; did you mean 'Torus'?"),
        (["show", "K_{2,2}", "--names", "ant,bee,cat,dog", "--down", "dogg"],
         "no host is called 'dogg': did you mean 'dog'?"),
        (["run", "K_{2,2}", "--names", "ant,bee,cat,dog", "--collective", "reduce", "--root", "dogg"],
         "--root must be one of the 4 hosts, not 'dogg'; did you mean 'dog'?"),
        (["show", "K_5", "K_6"], "unrecognized arguments: K_6; `linkstep show --help` shows how"),
        (["schedule", "K_5", "--steps", "few"],
         "argument --steps: steps are written 6 or 6,5, not 'few'; `linkstep schedule --help` shows how"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_did_you_mean(capsys, argv, line):
    assert run(capsys, *argv) == (2, "", f"linkstep: {line}\n")


def test_did_you_mean_a_model(capsys):
    code, out, err = run(capsys, "train-sim", "gpt2-smal", "--nodes", "8")
    assert (code, out) == (2, "")
    assert err.startswith("linkstep: no model is called 'gpt2-smal' (did you mean 'gpt2-small'?): name a .json file")


def test_nothing_is_meant_by_noise():
    assert nearest("frobnicate", NAMES) is None
    assert nearest("SHOW", NAMES) == "show"


def test_words_after_two_dashes_are_no_options(capsys):
    code, _, err = run(capsys, "show", "--", "--colective")
    assert code == 2 and "--colective" in err and "no option" not in err


def test_the_quick_start_of_the_page_of_commands():
    """What docs/reference/commands.md shows of error lines is what is printed."""
    text = (Path(__file__).parents[2] / "docs" / "reference" / "commands.md").read_text()
    assert "linkstep: no command is called 'scedule'; did you mean 'schedule'?\n" in text
    assert "linkstep: no option is called --colective; did you mean --collective?\n" in text
    assert "linkstep: 100G read as 100Gbps\n" in text
