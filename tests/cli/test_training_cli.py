"""train-sim, profile and find --job: exact text, JSON, pictures, and bad input as one line with exit code 2."""

import json
import re
import sys

import pytest

from linkstep.cli import main

pytestmark = pytest.mark.usefixtures("wide")

MODEL = {
    "format": "linkstep-model",
    "version": 1,
    "kind": "layers",
    "layers": [
        {"name": "first", "parameters": 250000, "forward": "100us", "backward": "200us"},
        {"name": "second", "parameters": 500000, "forward": "100us", "backward": "200us"},
    ],
}


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "two.json"
    path.write_text(json.dumps(MODEL))
    return str(path)


def run(capsys, *argv):
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_train_sim(capsys, model):
    """By hand: K_{4,4} takes 4 alpha + 7/4 M/B, so 320us for 2MB from 400us on, then 180us for 1MB."""
    code, out, err = run(capsys, "train-sim", model, "--nodes", "8")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "two: 750,000 parameters on 8 servers"
    assert lines[1] == "4 ports on each, alpha 10us, 100Gbps a server; compute times as measured"
    assert lines[2].startswith("3MB of gradients are averaged, 0 all-to-alls; 12MB of parameters")
    rows = {line.split("  ")[0]: line.split() for line in lines[6:9]}
    ours = lines[5].split()
    assert ours[1:] == ["900us", "1.00x", "600us", "300us", "0s", "-", "1MB"]
    assert rows["ShiftedRing(4,8)"][1:] == ["1.1ms", "1.22x", "600us", "500us", "0s", "-", "1MB"]
    assert lines[-1] == f"{ours[0]}: 0.0% above what no topology of 8 servers beats"


def test_train_sim_json(capsys, model):
    code, out, _ = run(capsys, "train-sim", model, "--nodes", "8", "--bandwidth", "200Gbps", "--json")
    facts = json.loads(out)
    assert code == 0
    assert (facts["nodes"], facts["degree"], facts["node_bandwidth"], facts["gradient_bytes"]) == (8, 4, 200e9, 3e6)
    ours, ring = facts["rows"][:2]
    assert ours["role"] == "ours"
    assert ours["seconds"] == pytest.approx(400e-6 + 180e-6 + 200e-6 + 110e-6 - 180e-6)
    for row in facts["rows"]:
        parts = ("compute_seconds", "exposed_allreduce_seconds", "all_to_all_seconds")
        assert row["seconds"] == pytest.approx(sum(row[part] for part in parts))
    assert facts["rows"][-1]["role"] == "bound"
    assert ring["name"] == "ShiftedRing(4,8)"


@pytest.mark.slow
def test_train_sim_draws(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    bars, streams = tmp_path / "bars.svg", tmp_path / "streams.svg"
    code, out, _ = run(
        capsys, "train-sim", "switch-base-128", "--nodes", "8", "--batch", "16", "--plot", str(bars),
        "--timeline", str(streams),
    )  # fmt: skip
    assert code == 0
    assert out.endswith(f"plotted to {bars}\ndrawn to {streams}\n")
    for text in ("compute", "exposed allreduce", "all-to-all", "time of an iteration, ms", "no wiring beats"):
        assert text in bars.read_text()
    for text in ("forward pass", "backward pass", "communication", "time, ms"):
        assert text in streams.read_text()


def test_find_for_a_job(capsys, model):
    code, out, _ = run(capsys, "find", "8", "4", "--job", model)
    assert code == 0
    assert "an iteration of two" in out
    assert "compute 67%, exposed allreduce 33%: compute dominates" in out
    assert re.search(r"^best for training two: \S+, 900us$", out, re.M)
    code, out, _ = run(capsys, "find", "8", "4", "--job", model, "--json")
    facts = json.loads(out)
    assert facts["best"]["seconds"] == pytest.approx(900e-6)
    assert facts["job"]["rows"][0]["name"] == facts["best"]["name"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["train-sim", "gpt9", "--nodes", "8"], "no model is called 'gpt9'"),
        (["train-sim", "none.json", "--nodes", "8"], "none.json: no such file"),
        (["train-sim", "switch-base-256", "--nodes", "48"], "256 experts of a layer cannot be divided equally over 48"),
        (["train-sim", "switch-c-2048", "--nodes", "64"], "more than the memory of 80GB that is stated"),
        (["train-sim", "gpt2-small", "--nodes", "8", "--memory", "1GB"], "more than the memory of 1GB that is stated"),
        (["train-sim", "gpt2-small", "--nodes", "8", "--batch", "0"], "batch must be at least 1, not 0"),
        (["train-sim", "gpt2-small", "--nodes", "8", "--utilisation", "2"], "utilisation must lie in (0, 1], not 2"),
        (["train-sim", "gpt2-small", "--nodes", "8", "--seconds", "0"], "--seconds must be more than 0"),
        (["train-sim", "gpt2-small", "--nodes", "8", "--plot", "x.pdf"], "must end in .svg or .png"),
        (
            ["train-sim", "gpt2-small", "--nodes", "8", "--plot", "x.svg", "--timeline", "x.svg"],
            "--plot and --timeline must be two files, not both x.svg",
        ),
        (["find", "8", "4", "--job", "none.json"], "none.json: no such file"),
        (["profile", "cnn", "-o", ".json"], "the name of a model file must end in .json"),
        (["find", "48", "4", "--job", "switch-base-256"], "256 experts of a layer cannot be divided equally over 48"),
        (["find", "8", "4", "--job", "gpt2-small", "--all-to-all"], "--job says what is communicated"),
        (["profile", "-o", "m.json"], "give FILE.py:CALLABLE to measure a model, or --trace"),
        (["profile", "cnn", "-o", "m.txt"], "the name of a model file must end in .json"),
        (["profile", "cnn", "-o", "m.json", "--repetitions", "0"], "--repetitions must lie in [1, 10000], not 0"),
        (["profile", "--trace", "none.json", "-o", "m.json"], "none.json: no such file"),
    ],
)
def test_bad_input_is_one_line_and_code_2(capsys, tmp_path, monkeypatch, argv, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *argv)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_profile_without_torch_says_so(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    code, out, err = run(capsys, "profile", "cnn", "-o", str(tmp_path / "m.json"))
    assert (code, out) == (2, "")
    assert err == "linkstep: measuring a model needs PyTorch, which is not installed: python -m pip install torch\n"


# --- traces ---


def event(name, start, long, category="cpu_op", thread=1, **details):
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": long, "tid": thread, "args": details}


def step(name, start, long, number, **details):
    return event(f"autograd::engine::evaluate_function: {name}", start, long, thread=2, **details) | {
        "args": {"Sequence number": number, **details}
    }


TRACE = [
    event("aten::linear", 0, 10, **{"Sequence number": 7, "External id": 1}),
    event("aten::addmm", 1, 8, **{"Sequence number": 7, "External id": 2}),
    event("aten::relu", 10, 5, **{"Sequence number": 8, "External id": 3}),
    event("aten::linear", 15, 20, **{"Sequence number": 9, "External id": 4}),
    step("AddmmBackward0", 40, 30, 9, **{"External id": 5}),
    step("torch::autograd::AccumulateGrad", 70, 2, -1),
    event("aten::detach", 71, 1, thread=2, **{"Input Dims": [[4, 10]]}),
    step("ReluBackward0", 72, 8, 8, **{"External id": 6}),
    step("AddmmBackward0", 80, 15, 7, **{"External id": 7}),
    step("torch::autograd::AccumulateGrad", 95, 1, -1),
    event("aten::detach", 95, 1, thread=2, **{"Input Dims": [[10, 3]]}),
    step("torch::autograd::AccumulateGrad", 96, 1, -1),
    event("aten::detach", 96, 1, thread=2, **{"Input Dims": [[10]]}),
]


def profiled(capsys, tmp_path, events):
    trace, out = tmp_path / "trace.json", tmp_path / "m.json"
    trace.write_text(json.dumps({"traceEvents": events}))
    code, said, err = run(capsys, "profile", "--trace", str(trace), "-o", str(out))
    assert (code, err) == (0, ""), err
    rows = json.loads(out.read_text())["layers"]
    return said, [(row["name"], row["parameters"], row["forward"], row["backward"]) for row in rows]


def test_a_trace(capsys, tmp_path):
    """The relu's forward pass (8) belongs to the first layer, whose gradients come after its backward pass."""
    said, layers = profiled(capsys, tmp_path, TRACE)
    assert layers == [("1 Addmm", 40, "15us", "25us"), ("2 Addmm", 40, "20us", "32us")]
    assert said.splitlines()[-2].split() == ["in", "all", "80", "35us", "57us"]


def test_a_trace_with_kernels_counts_these(capsys, tmp_path):
    kernels = [
        event("gemm", 100 + k, long, "kernel", 99, **{"External id": k})
        for k, long in ((2, 100), (3, 1), (4, 300), (5, 400), (6, 2), (7, 200))
    ]
    _, layers = profiled(capsys, tmp_path, [*TRACE, *kernels])
    assert layers == [("1 Addmm", 40, "101us", "202us"), ("2 Addmm", 40, "300us", "400us")]


def test_the_last_of_several_iterations(capsys, tmp_path):
    later = [row | {"ts": 2 * row["ts"] + 1000, "dur": 2 * row["dur"]} for row in TRACE]
    steps = [event("ProfilerStep#1", 0, 500, "user_annotation"), event("ProfilerStep#2", 1000, 500, "user_annotation")]
    _, layers = profiled(capsys, tmp_path, [*steps, *TRACE, *later])
    assert [row[1] for row in layers] == [40, 40]
    assert layers[1][2] == "40us"


HOSTILE = json.dumps(
    {
        "traceEvents": [
            event("a", 0, 1, thread=[1]),
            event("b", 0, 1, **{"External id": {}, "Sequence number": []}),
            event("k", 0, 1, "kernel", **{"External id": []}),
            event("c", -1, 1),
            event("d", 0, 1) | {"args": 3, "cat": []},
        ]
    }
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is truncated or not JSON"),
        ("{}", "is no trace of PyTorch's profiler"),
        (HOSTILE, "has no gradients that become ready (AccumulateGrad)"),
        ('{"traceEvents": [1, {"ph": "X"}]}', "has no gradients that become ready (AccumulateGrad)"),
        (
            json.dumps({"traceEvents": [row for row in TRACE if row["name"] != "aten::detach"]}),
            "has gradients without shapes: trace with torch.profiler.profile(record_shapes=True)",
        ),
    ],
)
def test_wrong_traces(capsys, tmp_path, text, message):
    trace = tmp_path / "trace.json"
    trace.write_text(text)
    code, _, err = run(capsys, "profile", "--trace", str(trace), "-o", str(tmp_path / "m.json"))
    assert code == 2
    assert message in err
    assert err.startswith(f"linkstep: {trace}:")
    assert not (tmp_path / "m.json").exists()


# --- with torch ---

SCRIPT = """
import torch

def make():
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2, bias=False))
    data = torch.ones(3, 8)
    return model, lambda net: net(data).sum()

def broken():
    return make()[0], lambda net: undefined

def leaves():
    return make()[0], lambda net: exit(3)

def nothing():
    return 3
"""


@pytest.mark.slow
def test_profile_a_model(capsys, tmp_path):
    torch = pytest.importorskip("torch")
    script, out = tmp_path / "train.py", tmp_path / "m.json"
    script.write_text(SCRIPT)
    code, said, err = run(capsys, "profile", f"{script}:make", "-o", str(out))
    assert (code, err) == (0, "")
    assert said.splitlines()[0].split() == ["layer", "parameters", "forward", "backward"]
    rows = json.loads(out.read_text())["layers"]
    assert [(row["name"], row["parameters"]) for row in rows] == [("0", 36), ("2", 8)]
    for name, message in (
        ("broken", "its loss fails: NameError: name 'undefined' is not defined"),
        ("leaves", "its loss fails: SystemExit: 3"),
        ("nothing", "must return (model, loss)"),
        ("missing", "cannot be called: AttributeError"),
    ):
        code, _, err = run(capsys, "profile", f"{script}:{name}", "-o", str(out))
        assert (code, err.count("\n")) == (2, 1)
        assert message in err
    code, _, _ = run(capsys, "train-sim", str(out), "--nodes", "8")
    assert code == 0
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Linear(4, 2))
    with torch.profiler.profile(record_shapes=True) as profiler:
        model(torch.ones(3, 8)).sum().backward()
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    code, _, err = run(capsys, "profile", "--trace", str(tmp_path / "trace.json"), "-o", str(out))
    assert (code, err) == (0, "")
    assert sum(row["parameters"] for row in json.loads(out.read_text())["layers"]) == 46
