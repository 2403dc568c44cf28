"""``linkstep fit``, ``--fabric`` on every command that counts time, and the selectors that find and lower write."""

import json

import pytest

from linkstep.cli import main
from linkstep.cli._parser import NAMES, build_parser
from linkstep.costs import Fabric, load_fabric, save_fabric
from linkstep.selector import Rule, Selector
from support.runs import ALLREDUCES, documents

pytestmark = pytest.mark.usefixtures("wide")

FABRIC = Fabric.of("350us", "197Mbps", 4, overhead="120us")


@pytest.fixture
def fabric(tmp_path):
    path = tmp_path / "fabric.json"
    save_fabric(FABRIC, path)
    return str(path)


@pytest.fixture
def measured(tmp_path):
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(documents(FABRIC, sizes=(1024, 2**20))))
    return str(path)


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def figures(facts: dict) -> tuple:
    """Return alpha, B and the overhead that a report has."""
    return facts["alpha_seconds"], facts["node_bandwidth"], facts["overhead_seconds"]


def facts(capsys, *argv: str):
    code, out, err = run(capsys, *argv, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


FITTED = """\
fitted to 6 times on 3 topologies, engine mpi
  alpha     350us a step
  overhead  120us a call
  B         197Mbps a node of 4 ports
  error     0.00% on average, 0.00% at most

topology          collective  T_L     T_B    bytes  measured   fitted   error
K_{4,4}           allreduce     4  1.7500     1024   1.593ms  1.593ms  +0.00%
K_{4,4}           allreduce     4  1.7500  1048576   76.04ms  76.04ms  +0.00%
ShiftedRing(4,8)  allreduce    14  1.7500     1024   5.093ms  5.093ms  +0.00%
ShiftedRing(4,8)  allreduce    14  1.7500  1048576   79.54ms  79.54ms  +0.00%
C(12,{2,3})       allreduce     4  1.8333     1024   1.596ms  1.596ms  +0.00%
C(12,{2,3})       allreduce     4  1.8333  1048576   79.59ms  79.59ms  +0.00%
"""


def test_fit(capsys, tmp_path, measured):
    out = tmp_path / "out.json"
    code, said, err = run(capsys, "fit", measured, "-o", str(out))
    assert (code, err) == (0, "")
    assert said == f"{FITTED}saved to {out}\n"
    assert load_fabric(out) == FABRIC
    source = json.loads(out.read_text())["source"]
    assert (source["engine"], source["fitted_to"], len(source["rows"])) == ("mpi", [measured], 6)


def test_fit_json(capsys, measured):
    found = facts(capsys, "fit", measured)
    assert (found["alpha_seconds"], found["overhead_seconds"]) == (350e-6, 120e-6)
    assert (found["node_bandwidth"], found["degree"]) == (197_000_000, 4)
    assert found["rows"][0]["what"] == "K_{4,4}"
    assert found["max_relative_error"] == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
def test_fit_plots(capsys, tmp_path, measured):
    code, out, _ = run(capsys, "fit", measured, "--plot", str(tmp_path / "f.svg"))
    assert code == 0
    assert out.endswith(f"plotted to {tmp_path / 'f.svg'}\n")
    assert (tmp_path / "f.svg").read_text().startswith("<?xml")


def test_fit_speaks_of_what_it_left_out(capsys, tmp_path):
    path = tmp_path / "one.json"
    made = documents(FABRIC)[0]
    made["rows"][0]["wrong"] = 1
    path.write_text(json.dumps(made))
    code, out, err = run(capsys, "fit", str(path))
    assert code == 0 and "overhead  0s a call" in out
    assert err == (
        "linkstep: left out, as results were wrong: K_{4,4} at 1024 bytes\n"
        "linkstep: all runs take 4 steps, which does not tell the overhead of a call from alpha: it is taken as 0\n"
    )


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["gone.json"], "gone.json: no such file"),
        (["{runs}", "-o", "f.csv"], "f.csv: the name of a fabric file must end in .json"),
        (["{runs}", "--plot", "f.pdf"], "f.pdf: the name of a picture must end in .svg or .png"),
        (["{fabric}"], "fabric.json is a fabric, not a run file: commands take it as `--fabric {fabric}`"),
    ],
)
def test_fit_refuses_in_one_line(capsys, measured, fabric, argv, message):
    code, out, err = run(capsys, "fit", *(word.format(runs=measured, fabric=fabric) for word in argv))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.endswith(f"{message.replace('{fabric}', str(fabric))}\n")


# --- --fabric ---


def test_every_command_that_takes_a_bandwidth_takes_a_fabric(capsys):
    parser = build_parser()
    for name in NAMES:
        with pytest.raises(SystemExit):
            parser.parse_args([name, "--help"])
        text = capsys.readouterr().out
        assert ("--bandwidth RATE" in text) == ("--fabric FILE" in text), name


def test_times_are_those_of_the_file(capsys, fabric):
    seconds = float(FABRIC.time(ALLREDUCES["K_{4,4}"], "allreduce", "1MB"))
    made = facts(capsys, "schedule", "K_{4,4}", "--fabric", fabric)
    assert made["seconds"] == pytest.approx(seconds)
    assert figures(made) == (350e-6, 197_000_000, 120e-6)
    assert made["fabric"] == "alpha 350us, 197Mbps a server, 120us a call"
    shown = facts(capsys, "show", "K_{4,4}", "--fabric", fabric)
    assert shown["bfb"]["allreduce_seconds"] == pytest.approx(seconds)
    simulated = facts(capsys, "simulate", "K_{4,4}", "--to", "cpu", "--fabric", fabric)
    assert simulated["simulated_seconds"] == pytest.approx(seconds, rel=0.02)
    assert simulated["predicted_seconds"] == pytest.approx(seconds)
    assert figures(simulated) == (350e-6, 197_000_000, 120e-6)
    found = facts(capsys, "find", "8", "4", "--fabric", fabric)
    assert found["best"]["seconds"] == pytest.approx(seconds)
    assert figures(found) == (350e-6, 197_000_000, 120e-6)


def test_wires_keep_their_rate_on_topologies_of_other_degrees(capsys, fabric):
    made = facts(capsys, "schedule", "BiRing(2,4)", "--fabric", fabric)
    assert made["node_bandwidth"] == 98_500_000
    assert facts(capsys, "find", "8", "2", "--fabric", fabric)["node_bandwidth"] == 98_500_000
    given = facts(capsys, "schedule", "BiRing(2,4)", "--alpha", "350us", "--bandwidth", "98.5Mbps")
    assert made["seconds"] - given["seconds"] == pytest.approx(120e-6)


def test_without_a_file_all_is_as_it_was(capsys):
    made = facts(capsys, "schedule", "K_{4,4}")
    assert figures(made) == (10e-6, 10**11, 0)
    assert made["fabric"] == "alpha 10us, 100Gbps a server"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--fabric", "{f}", "--alpha", "1us"], "--alpha"),
        (["--alpha", "1us", "--fabric", "{f}"], "--alpha"),
        (["--bandwidth", "1Gbps", "--alpha", "1us", "--fabric", "{f}"], "--alpha and --bandwidth"),
        (["--fabric", "{f}", "--bandwidth", "100Gbps"], "--bandwidth"),
    ],
)
def test_a_fabric_goes_with_neither_alpha_nor_bandwidth(capsys, fabric, options, named):
    code, out, err = run(capsys, "show", "K_5", *(word.format(f=fabric) for word in options))
    assert (code, out) == (2, "")
    assert err == (
        f"linkstep: --fabric names a file that says alpha and bandwidth: leave out {named}; "
        "`linkstep show --help` shows how\n"
    )


def test_a_bad_fabric_is_one_line(capsys, monkeypatch, measured):
    folder, _, name = measured.rpartition("/")
    monkeypatch.chdir(folder)  # a long name would be cut out of the middle of the line
    code, out, err = run(capsys, "find", "8", "4", "--fabric", name)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{name} is a measured run, not a fabric file: `linkstep fit {name}` makes a fabric of it" in err


def test_faults_take_the_rate_of_the_file(capsys, tmp_path, fabric):
    """The links that are not slow have the file's rate, on commands where only rates count too."""
    out = tmp_path / "t.csv"
    assert run(capsys, "convert", "BiRing(2,4)", str(out), "--slow", "0,1=1Mbps", "--fabric", fabric)[0] == 0
    assert "1,2,49250000" in out.read_text()
    assert run(capsys, "wire", "K_5", "--cut", "0,1", "--fabric", fabric)[0] == 0


def test_a_rate_of_adding_up_goes_with_a_fabric(capsys, fabric):
    plain = facts(capsys, "simulate", "K_4", "--fabric", fabric)
    adding = facts(capsys, "simulate", "K_4", "--fabric", fabric, "--reduction", "100Mbps")
    assert adding["predicted_seconds"] > plain["predicted_seconds"]


# --- selectors ---


def test_find_writes_a_selector(capsys, tmp_path):
    path = tmp_path / "sel.json"
    options = ["find", "16", "4", "--directed", "--families", "paper", "--sizes", "1KiB:1GiB", "--selector", str(path)]
    code, out, _ = run(capsys, *options)
    assert code == 0
    assert (
        "\n"
        "from bytes    to bytes  fastest allreduce  cost                 takes       to\n"
        "      1024      400000  Pi_{4,16}          4 alpha + 5/2 M/B   40.2us    120us\n"
        "    400001  1073741824  C(16,{3,4})        6 alpha + 15/8 M/B   120us  161.1ms\n"
    ) in out
    assert f"saved to {path}\n" in out
    selector = Selector.load(path)
    assert selector.rule_for("allreduce", 400_000) == Rule("allreduce", 1024, 400_000, "Pi_{4,16}", "bfb")
    found = facts(capsys, *options)
    assert found["selector"] == str(path)
    assert [(w["min_bytes"], w["max_bytes"], w["recipe"]) for w in found["windows"]] == [
        (1024, 400_000, "Pi_{4,16}"),
        (400_001, 2**30, "C(16,{3,4})"),
    ]
    assert found["windows"][0]["max_bytes_seconds"] == pytest.approx(120e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--selector", "s.json"], "--selector says which serves which size: give --sizes too, such as 1KiB:1GiB"),
        (["--sizes", "1KB:1MB", "--selector", "s.xml"], "s.xml: the name of a selector must end in .json"),
        (["--sizes", "gone.csv"], "gone.csv: cannot be read: "),
        (
            ["--sizes", "gone"],
            "--sizes names no file that exists, and as a range of sizes: size must be a number with a unit",
        ),
    ],
)
def test_find_refuses_in_one_line(capsys, options, message):
    code, out, err = run(capsys, "find", "8", "4", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"linkstep: {message}")


def test_a_sweep_without_a_selector_prints_the_windows(capsys):
    code, out, _ = run(capsys, "find", "5", "4", "--sizes", "1KB,1MB")
    assert code == 0
    line = out.splitlines()[1 + next(k for k, text in enumerate(out.splitlines()) if text.startswith("from bytes"))]
    assert line.split() == [
        "1000",
        "1000000",
        "K_5",
        "2",
        "alpha",
        "+",
        "8/5",
        "M/B",
        "20.13us",
        "148us",
    ]


def test_lower_adds_itself_to_a_selector(capsys, tmp_path):
    path = tmp_path / "sel.json"
    (tmp_path / "files").mkdir()

    def lower(recipe: str, name: str, smallest: str, largest: str) -> tuple[int, str, str]:
        window = ["--min-bytes", smallest, "--max-bytes", largest]
        file = str(tmp_path / "files" / name)
        return run(capsys, "lower", recipe, "--to", "cpu", "-o", file, *window, "--selector", str(path))

    code, out, _ = lower("K_4", "small.xml", "1B", "64KiB")
    assert code == 0
    assert out.endswith(f"{path} selects it for allreduce of 1 to 65536 bytes\n")
    assert lower("K_4", "large.xml", "65537B", "1GiB")[0] == 0
    assert Selector.load(path).rules == (
        Rule("allreduce", 1, 65536, "files/small.xml", dialect="cpu"),
        Rule("allreduce", 65537, 2**30, "files/large.xml", dialect="cpu"),
    )
    assert lower("K_4", "small.xml", "1KiB", "64KiB")[0] == 0  # in place of its own rule
    assert Selector.load(path).rules[0].smallest == 1024
    code, out, err = lower("BiRing(2,4)", "other.xml", "1KiB", "1MiB")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("linkstep: two rules serve allreduce of 1024 bytes: files/")
    assert not (tmp_path / "files" / "other.xml").exists()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["files", "sel.json"]
