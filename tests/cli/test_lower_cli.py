"""``linkstep lower``, in process and on exact text."""

import argparse
import contextlib
import json
import runpy
import sys

import pytest

import linkstep
from linkstep.cli import _lower, main
from linkstep.core.errors import FileError, LinkstepError
from linkstep.lowering import TARGETS
from support import fake_mscclpp as fake
from support import interpreters as runtimes

LOWERED = """\
K_{{2,2}}: allreduce, out of place, lowered to msccl and verified
  runtime       microsoft/msccl, the first runtime of such files
  schedule      4 alpha + 3/2 M/B
  data in       8 chunks
  scratch       none
  messages      40 over 1 channel
  a rank        at most 4 threadblocks
  instructions  80 in all
the runtime picks it up if
  ranks        4
  environment  MSCCL_XML_FILES={folder}/a.xml NCCL_ALGO=MSCCL,RING,TREE
  data in all  a multiple of 8 elements
  size         0 to 1099511627776 bytes, both included
  buffers      separate input and output
saved to a.xml
"""


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command as ``linkstep`` would, in an empty folder; return what it printed."""
    monkeypatch.chdir(tmp_path)

    def call(*argv: str) -> str:
        parser = argparse.ArgumentParser()
        _lower.COMMAND.add_arguments(parser)
        assert _lower.COMMAND.run(parser.parse_args(argv)) == 0
        return capsys.readouterr().out

    return call


def test_lower(run, tmp_path):
    assert run("K_{2,2}", "--to", "msccl", "-o", "a.xml") == LOWERED.format(folder=tmp_path)
    runtimes.run((tmp_path / "a.xml").read_text(), "msccl")


@pytest.mark.parametrize("to", ["msccl-azure", "rccl", "mscclpp", "cpu"])
def test_lower_json(run, tmp_path, to):
    argv = ["Diamond", "--to", to, "-o", "a", "--collective", "allgather", "--inplace", "--min-bytes", "1KiB", "--json"]
    facts = json.loads(run(*argv))
    assert (facts["target"], facts["inplace"], facts["ranks"], facts["min_bytes"]) == (to, True, 8, 1024)
    runtimes.run((tmp_path / "a").read_text(), to)


def test_lower_files(run, tmp_path):
    linkstep.save(linkstep.parse("K_4").build("reduce", 2), "reduce.npz")
    linkstep.save(linkstep.parse("K_4").topology(), "wiring.csv")
    assert "K_4: reduce, " in run("reduce.npz", "--to", "cpu", "-o", "a.xml")
    assert 'root="2"' in (tmp_path / "a.xml").read_text()
    assert "K_4: broadcast, " in run("wiring.csv", "--to", "cpu", "--collective", "broadcast", "-o", "a.xml")
    with pytest.raises(LinkstepError, match="the file holds a reduce, not the allgather of --collective"):
        run("reduce.npz", "--to", "cpu", "--collective", "allgather", "-o", "a.xml")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["K_4", "--to", "rccl", "-o", "no/a.xml"], "no/a.xml: there is no folder "),
        (["K_4", "--to", "rccl", "-o", "a.xml", "--max-bytes", "0.5B"], "--max-bytes must be whole bytes, not 0.5B"),
        (["K_4", "--to", "rccl", "-o", "a.xml", "--root", "4"], r"root must be a node in \[0, 4\), not 4"),
        (
            ["K_4", "--to", "rccl", "-o", "a", "--collective", "reduce", "--to", "mscclpp"],
            "mscclpp has no reduce: ",
        ),
    ],
)
def test_lower_refuses(run, tmp_path, argv, message):
    with pytest.raises((LinkstepError, FileError), match=message):
        run(*argv)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--to", "msccl", "-o", "x.json"], r"x.json: a file for msccl is named x.xml, not .json"),
        (["--to", "cpu", "-o", "x.JSON"], r"x.JSON: a file for cpu is named x.xml, not .json"),
        (["--to", "rccl", "-o", "x.npz"], r"x.npz: a file for rccl is named x.xml, not .npz"),
        (["--to", "mscclpp", "-o", "x.xml"], r"x.xml: a file for mscclpp is named x.json, not .xml"),
        (["--to", "msccl", "-o", ""], "'' is not the name of a file"),
        (["--to", "msccl", "-o", "."], "is a directory, not a file"),
        (["--to", "msccl", "-o", "x" * 300], "file name too long"),
        (["--to", "msccl", "-o", "x" * 300 + "/x.xml"], "file name too long"),
        (["--to", "msccl", "-o", "no/x.xml"], "no/x.xml: there is no folder "),
        (["--to", "msccl", "-o", "x.xml", "--gather", "0.5B"], "--gather must be whole bytes"),
        (["--to", "msccl", "-o", "x.xml", "--channels", "99999999999"], "channels: 99999999999, .* the limit of 32; "),
        (["--to", "cpu", "-o", "x.xml", "--channels", "99999999999"], "channels: 99999999999, .* the limit of 1024; "),
        (["--to", "mscclpp", "-o", "x.json", "--instances", "1000000"], "channels: 1000000, .* the limit of 1024; "),
        (
            ["--to", "cpu", "-o", "x.xml", "--chunks", "10000000000"],
            "moves of a chunk over a link: .* limit of 5",
        ),
        (["--to", "rccl", "-o", "x.xml", "--chunks", "0"], "chunks must be at least 1, not 0"),
    ],
)
def test_refused_before_a_schedule_is_made(run, tmp_path, monkeypatch, argv, message):
    monkeypatch.setattr(_lower, "schedule_of", None)
    with pytest.raises(LinkstepError, match=message):
        run("K_4", *argv)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("to", ["msccl", "msccl-azure", "rccl"])
def test_too_many_ranks_are_refused_before_a_schedule_is_made(run, monkeypatch, to):
    """A Kautz graph of 1280 nodes."""
    monkeypatch.setattr(_lower, "schedule_of", None)
    with pytest.raises(LinkstepError, match=r"ranks: 1280, 256 over the limit of 1024; lower it to mscclpp or cpu"):
        run("K(4,4)", "--to", to, "-o", "a.xml")


def test_the_environment_names_the_directory_absolutely(run, tmp_path):
    folder = tmp_path / "with space"
    folder.mkdir()
    text = run("K_3", "--to", "msccl-azure", "-o", "with space/a.xml")
    assert f"  environment  MSCCL_ALGO_DIR='{folder}'\n  data in all" in text
    text = run("K_3", "--to", "rccl", "-o", "with space/b.xml")
    assert f"  environment  MSCCL_ALGO_DIR='{folder}' RCCL_MSCCL_FORCE_ENABLE=1\n" in text
    advice = "other files are there, and the runtime parses them all: mkdir a directory for this one, mv it there, and"
    assert f" {advice} name that directory data in all " in " ".join(text.split())
    assert f"ExecutionPlan('{tmp_path}/c.json', rank)" in run("K_3", "--to", "mscclpp", "-o", "c.json")


def test_rccl_says_which_releases_it_serves(run):
    text = run("K_3", "--to", "rccl", "-o", "a.xml")
    assert "  runtime       older releases of RCCL: MSCCL was removed from it in 2026, and\n" in text
    assert "\n                newer ones ignore such files\n" in text


def test_scratch_is_said(run, capsys):
    argv = ["Torus(3,3)", "--collective", "reduce-scatter", "-o", "a.xml"]
    text = run(*argv, "--to", "msccl")
    assert "  scratch       1GiB on a rank, allocated when the runtime starts\n" in text
    assert "  size         0 to 3221225471 bytes, both included\n" in text
    assert "  scratch       at most 7/9 of a call's data on a rank\n" in run(*argv, "--to", "rccl")


def test_a_window_that_needs_much_scratch_is_warned_of(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = ["lower", "Torus(3,3)", "--collective", "reduce-scatter", "--to", "msccl", "-o", "a.xml"]
    assert main([*argv, "--max-bytes", "3GiB"]) == 0
    warning = "msccl allocates 1GiB of scratch on a rank when it starts; a smaller --max-bytes needs less"
    assert capsys.readouterr().err == f"linkstep: warning: {warning}\n"
    assert main([*argv, "--max-bytes", "1GiB"]) == 0
    assert capsys.readouterr().err == ""


def test_what_mscclpp_allocates_is_said(run, capsys):
    argv = ["K_{4,4}", "--to", "mscclpp", "-o", "a.json"]
    text = run(*argv)
    assert "  scratch   at most 1GiB on a rank: 3/4 of the allocation that holds the send\n" in text
    assert "\n            buffer, counted up to 1.333GiB\n" in text
    assert "  size           0 to 1431655424 bytes, both included\n" in text
    assert "  scratch   none\n" in run("K_4", "--collective", "allgather", *argv[1:])
    assert not capsys.readouterr().err
    text = run(*argv, "--max-bytes", "2GiB")
    scratch = "at most 1.5GiB on a rank: 3/4 of the allocation that holds the send buffer, counted up to 2GiB"
    assert f" {scratch} " in " ".join(text.split())


def test_an_allgather_needs_scratch_for_all_of_the_allocation(run):
    """Its window is of output, its scratch is sized by input, so there are four times as many bytes as chunks."""
    text = run("K_{4,4}", "--collective", "allgather", "--to", "mscclpp", "-o", "a.json")
    scratch = "at most 1GiB on a rank: 4 times the allocation that holds the send buffer, counted up to 256MiB"
    assert f" {scratch} " in " ".join(text.split())


def test_a_plan_that_needs_much_scratch_is_warned_of(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = ["lower", "K_{4,4}", "--to", "mscclpp", "-o", "a.json"]
    assert main([*argv, "--max-bytes", "2GiB"]) == 0
    why = "mscclpp allocates 1.5GiB of scratch on a rank where the send buffer lies in an allocation of 2GiB or more"
    assert capsys.readouterr().err == f"linkstep: warning: {why}; a smaller --max-bytes needs less\n"
    assert main(argv) == 0
    assert capsys.readouterr().err == ""


def test_a_window_that_is_cut_is_warned_of(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = ["lower", "K_4", "--collective", "broadcast", "--to", "mscclpp", "-o", "a.json"]
    assert main([*argv, "--max-bytes", "4GiB"]) == 0
    why = "the sizes of mscclpp are 32 bits: the window ends at 4294967280 bytes, not at --max-bytes"
    assert capsys.readouterr().err == f"linkstep: warning: {why}\n"
    assert main([*argv, "--max-bytes", "4294967280B"]) == 0
    assert capsys.readouterr().err == ""


def test_mscclpp_is_told_of_a_plan(run, tmp_path):
    text = run("K_3", "--to", "mscclpp", "-o", "a.json")
    name = json.loads((tmp_path / "a.json").read_text())["name"]
    plan = f"mscclpp.ExecutionPlan('{tmp_path}/a.json', rank)"
    constraint = "constraint=mscclpp.Algorithm.Constraint(3, ranks_per_node)"
    assert f"  registered by  mscclpp.Algorithm('{name}', {plan}, {constraint})\n" in text
    given = "given to AlgorithmCollectionBuilder; --selector FILE.json writes the Python for that"
    assert f" {given} " in " ".join(text.split())
    text = run("K_3", "--to", "mscclpp", "--collective", "all-to-all", "-o", "a.json")
    assert f"  run by       mscclpp.Executor with {plan}\n               no NCCL call asks for it\n" in text
    facts = json.loads(run("K_3", "--to", "mscclpp", "-o", "a.json", "--json"))
    assert facts["name"] == name and facts["scratch_by_allocation"] is True


@pytest.mark.parametrize("to", ["mscclpp", "msccl", "rccl", "cpu"])
@pytest.mark.parametrize("collective", ["allreduce", "broadcast"])
def test_lines_fit_a_terminal(run, to, collective):
    """Except those to be copied into a shell or a program."""
    code = ("  environment ", "  registered by ", "  run by ")
    for name in ("a", "b"):  # the second is beside another file, which some runtimes parse too
        text = run("K_3", "--to", to, "--collective", collective, "-o", f"{name}{TARGETS[to].suffix}")
        assert [line for line in text.splitlines() if len(line) > 80 and not line.startswith(code)] == []


def test_long_lists_of_hosts_are_wrapped_between_names(run, tmp_path):
    hosts = [f"gpu-host-{v:02}" for v in range(18)]
    lines = "".join(f"{a},{b}\n" for step in (-17, -1) for a, b in zip(hosts, hosts[step:] + hosts[:step], strict=True))
    (tmp_path / "ring.csv").write_text(lines)
    text = run("ring.csv", "--collective", "allgather", "--to", "cpu", "-o", "a.xml")
    assert "  hosts        rank 0, 1, ... on gpu-host-00, gpu-host-01, gpu-host-02,\n" in text
    assert "\n               gpu-host-13, gpu-host-14, gpu-host-15, ...\n" in text
    assert max(map(len, text.splitlines())) <= 80


def selected(capsys, *argv):
    code = main(["lower", "K_4", "--to", "mscclpp", "--selector", "my sel.json", *argv])
    return code, *capsys.readouterr()


def test_a_selector_gets_the_python_that_registers_its_plans(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = selected(capsys, "-o", "small.json", "--max-bytes", "64KiB")
    assert (code, err) == (0, "")
    assert "my sel.json selects it for allreduce of 0 to 65536 bytes\n" in out
    assert "my_sel_mscclpp.py registers it: call register(rank) before the communicator is made\n" in out
    assert selected(capsys, "-o", "large.json", "--min-bytes", "65537B")[0] == 0
    assert selected(capsys, "-o", "inplace.json", "--inplace")[0] == 0
    modules, builder = fake.fake()
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    module = runpy.run_path("my_sel_mscclpp.py")
    module["register"](3)
    files = {plan.name: plan.file for plan in module["PLANS"]}
    for size, in_place, file in (
        (2**16, False, "small.json"),
        (2**20, False, "large.json"),
        (2**16, True, "inplace.json"),
        (2**20, True, "inplace.json"),
    ):
        assert files[fake.chosen(builder, fake.call("allreduce", size, 4, 3, in_place=in_place)).plan.name] == file
    assert fake.chosen(builder, fake.call("allreduce", 2**40, 4, 3)) is None


def test_rules_of_other_runtimes_are_not_registered(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = ["lower", "K_4", "--to", "cpu", "-o", "a.xml", "--collective", "allgather", "--selector", "my sel.json"]
    assert main(argv) == 0
    assert not list(tmp_path.glob("*.py"))
    assert selected(capsys, "-o", "a.json")[0] == 0
    assert "a.xml" not in (tmp_path / "my_sel_mscclpp.py").read_text()


def test_a_file_of_the_users_is_not_replaced(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_lower, "schedule_of", None)
    (tmp_path / "my_sel_mscclpp.py").write_text("mine = 1\n")
    code, _, err = selected(capsys, "-o", "a.json")
    assert code == 2 and err.startswith("linkstep: my_sel_mscclpp.py: not written by linkstep, and --selector would ")
    assert [path.name for path in tmp_path.iterdir()] == ["my_sel_mscclpp.py"]


def test_a_selector_whose_plan_is_gone_says_so_and_nothing_is_written(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert selected(capsys, "-o", "a.json", "--max-bytes", "1KiB")[0] == 0
    before = (tmp_path / "my sel.json").read_text(), (tmp_path / "my_sel_mscclpp.py").read_text()
    (tmp_path / "a.json").unlink()
    code, _, err = selected(capsys, "-o", "b.json", "--min-bytes", "2KiB")
    assert code == 2 and err == "linkstep: a.json: no such file, but a rule of the selector names it: lower it again\n"
    assert not (tmp_path / "b.json").exists()
    assert before == ((tmp_path / "my sel.json").read_text(), (tmp_path / "my_sel_mscclpp.py").read_text())


def test_the_bar_moves(run, monkeypatch):
    """What a terminal would show after two seconds."""
    seen = []

    @contextlib.contextmanager
    def bar(label, unit):
        yield lambda done, total: seen.append((label, done, total))

    monkeypatch.setattr(_lower, "progress_bar", bar)
    run("Torus(4,4)", "--to", "msccl", "-o", "a.xml")
    lowering = [(done, total) for label, done, total in seen if label == "lower"]
    assert len(set(lowering)) > 4 and lowering == sorted(lowering) and lowering[-1][0] == lowering[-1][1]
    assert len({done for label, done, _ in seen if label == "verify"}) > 1
