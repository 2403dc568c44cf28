"""Numbers that no file should hold: huge, tiny or odd ones end in one short line, in every reader."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkstep.cli import main
from linkstep.core.errors import LinkstepError, UnitError
from linkstep.core.text import cut, shown
from linkstep.core.units import parse_bandwidth, parse_size, parse_time
from linkstep.costs import Fabric, fit, load_fabric, load_runs, save_fabric
from linkstep.recipe.names import HEADER, lines_by_size
from linkstep.search.catalog import best_entries
from linkstep.search.entry import Entry
from linkstep.simulation.training import Layer, load_model, save_layers
from linkstep.simulation.training.traces import read_trace

ODD = [
    0, 1, -1, 10**18, 10**60, 10**400, 1e-320, 1e-300, 1e-18, 5e-324, 1e300, 1.7e308, 0.1, "9" * 999, "1/" + "9" * 999,
    "9" * 999 + "/1", "9" * 6000, "1e40PB", "1e-40ps", "1e999us", "10us", "100Gbps", "1e-60", "", "x" * 5000, None,
    True, [], {}, [[[]]], "1/0", "٣us", "-1us", "3" * 500 + "/1" + "0" * 500,
]  # fmt: skip
"""What a member of a JSON file may be set to."""


def lines_of(capsys, argv):
    """Run a command; return its exit code and standard error: one line of at most 300 characters if it fails."""
    code = main(argv)
    captured = capsys.readouterr()
    if code:
        assert (code, captured.out) == (2, "")
        assert captured.err.startswith("linkstep: ") and captured.err.count("\n") == 1
        assert len(captured.err) <= 301, len(captured.err)
    return code, captured.err


# --- lines ---


def test_messages_are_short():
    for kind in (LinkstepError, UnitError):
        text = str(kind("a " * 5000 + "end"))
        assert len(text) == 280 and text.startswith("a a a") and text.endswith(" a end") and "..." in text
    assert str(LinkstepError("x" * 280)) == "x" * 280
    assert cut("0123456789", 9) == "0123...89"


def test_values_are_shown_short():
    assert shown(10**5000) == "a number of 5001 digits"
    assert shown(-(10**1000)) == "a number of 1001 digits"
    assert shown(10**1000 - 1).startswith("99999") and len(shown(10**1000 - 1)) == 40


LONG = "9" * 6000


@pytest.mark.parametrize(
    "argv",
    [
        ["show", f"K_{LONG}"],
        ["show", "x" * 5000],
        ["show", "\x1b" * 290],
        ["show", f"Torus({LONG},4)"],
        ["find", LONG, "4"],
        ["find", "8", LONG],
        ["find", "8", "4", "--size", LONG],
        ["find", "8", "4", "--sizes", LONG],
        ["find", "8", "4", "--alpha", LONG],
        ["find", "8", "4", "--bandwidth", f"{LONG}Gbps"],
        ["find", "8", "4", "--max-steps", f"-{LONG}"],
        ["schedule", "K_4", "--root", LONG, "--collective", "broadcast"],
        ["schedule", "K_4", "--chunks", LONG],
        ["schedule", "K_4", "--method", "x" * 4000],
        ["schedule", "K_4", "--cut", f"0,{LONG}"],
        ["schedule", "K_4", "--slow", f"0,1={LONG}Mbps"],
        ["schedule", "K_4", "-o", "y" * 200 + "/" + "z" * 200 + "/s.npz"],
        ["check", "z" * 3000],
        ["throughput", "K_4", "--gap", LONG],
        ["train-sim", "m" * 3000, "--nodes", "4"],
        ["w" * 3000],
        ["--" + "w" * 3000],
        ["wire", "K_4", "--names", ",".join(["n" * 100] * 60)],
        ["convert", "K_4", "c" * 240 + ".bad"],
        ["baselines", LONG, "2"],
        ["lower", "K_4", "--to", "q" * 2000, "-o", "x"],
        ["lower", "K_4", "--to", "cpu", "-o", "x.xml", "--max-bytes", LONG],
        ["simulate", "K_4", "--instruction", LONG],
        ["families", LONG],
        ["verify", "v" * 3000],
    ],
    ids=lambda argv: " ".join(argv)[:40].encode("ascii", "backslashreplace").decode(),
)
def test_error_lines_are_short(capsys, argv):
    code, _ = lines_of(capsys, argv)
    assert code == 2


def test_a_long_name_in_a_file(capsys, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text(f"tail,head\n{'a' * 4000},{'b' * 4000}\n{'c' * 4000}\n")
    assert lines_of(capsys, ["show", str(file)])[0] == 2


# --- quantities ---


@given(st.integers(-(10**400), 10**400), st.integers(1, 10**400))
def test_quantities_fit_a_float(top, bottom):
    """Whatever is taken, a product of several still is a float; whatever is refused is refused in a short line."""
    value = Fraction(top, bottom)
    for parse in (parse_time, parse_size, parse_bandwidth):
        try:
            taken = parse(value)
        except UnitError as error:
            assert len(str(error)) < 100
            assert value < 0 or not 10**-60 <= value <= 10**60
        else:
            assert taken == value and (not value or 0 < float(value) ** 4 < float("inf"))


def test_plain_bytes():
    assert parse_size("1008000") == parse_size(" 1008000 ") == parse_size(1008000) == parse_size("1008000B") == 1008000
    assert parse_size("1e6") == 10**6
    for parse in (parse_time, parse_bandwidth):
        with pytest.raises(UnitError, match="has no known unit"):
            parse("10")


@pytest.mark.parametrize(
    "argv",
    [
        ["schedule", "K_3", "--size", "{}"],
        ["show", "K_4", "--size", "{}"],
        ["find", "5", "4", "--size", "{}"],
        ["simulate", "K_4", "--size", "{}"],
        ["baselines", "5", "4", "--size", "{}"],
        ["throughput", "K_4", "--size", "{}"],
        ["find", "5", "4", "--sizes", "1000:{}"],
    ],
    ids=lambda argv: " ".join(argv),
)
def test_plain_bytes_on_the_command_line(capsys, argv):
    """The same answer, word for word, as with the unit."""
    printed = []
    for size in ("1008000", "1008000B"):
        assert main([word.format(size) for word in argv]) == 0, capsys.readouterr().err
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert "sizes" in argv[3] or "1008000B" in printed[0] or argv[0] == "throughput"


# --- fabrics ---

FABRIC = {"format": "linkstep/fabric", "version": 2, "alpha": "10us", "node_bandwidth": "100Gbps", "degree": 4}


@pytest.mark.parametrize("member", ["alpha", "node_bandwidth", "overhead", "reduction_bandwidth", "degree"])
def test_odd_fabrics(capsys, tmp_path, member):
    file = tmp_path / "f.json"
    taken = 0
    for value in ODD:
        file.write_text(json.dumps(FABRIC | {member: value}))
        code, _ = lines_of(capsys, ["schedule", "K_3", "--fabric", str(file)])
        taken += code == 0
        if code == 0:
            save_fabric(load_fabric(file), tmp_path / "again.json")
            assert load_fabric(tmp_path / "again.json") == load_fabric(file)
    assert taken >= 1


def test_a_fabric_that_cannot_be_read_again_is_not_written(tmp_path):
    with pytest.raises(LinkstepError, match="bandwidth must be 0 or lie in"):
        save_fabric(Fabric(Fraction(1), Fraction(10**70), 4), tmp_path / "f.json")
    assert not list(tmp_path.iterdir())


# --- runs ---


def run_file(path, rows, **members):
    run = {"format": "linkstep/run", "version": 2, "what": "K_5", "collective": "allreduce", "engine": "mpi"}
    run |= {"degree": 4, "steps": 2, "t_b": "8/5", "rows": rows} | members
    path.write_text(json.dumps(run))
    return path


@pytest.mark.parametrize("median", [1e-320, 1e-300, 1e-13, 2e9, 1e300, 10**400])
def test_times_that_nobody_measures(capsys, tmp_path, median):
    rows = [{"size": size, "median_seconds": median, "wrong": 0} for size in (10, 1000)]
    code, line = lines_of(capsys, ["fit", str(run_file(tmp_path / "r.json", rows)), "-o", str(tmp_path / "f.json")])
    assert code == 2 and "median_seconds must be seconds, from 1e-12 to 1e+09" in line
    assert not (tmp_path / "f.json").exists()


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 2**62), st.floats(1e-12, 1e9)), min_size=2, max_size=5),
    st.integers(1, 10**9),
    st.fractions(Fraction(1, 10**9), 10**9, max_denominator=10**9),
    st.integers(1, 10**6),
)
def test_every_fit_can_be_read_again(tmp_path_factory, points, steps, bandwidth, degree):
    """A fit of whatever times ends in a line, or in a fabric that every command takes."""
    folder = tmp_path_factory.mktemp("fit")
    rows = [{"size": size, "median_seconds": seconds, "wrong": 0} for size, seconds in points]
    file = run_file(folder / "r.json", rows, steps=steps, t_b=str(bandwidth), degree=degree)
    try:
        found = fit(load_runs(file)).fabric
        save_fabric(found, folder / "f.json")
    except LinkstepError:
        return
    assert load_fabric(folder / "f.json") == found


# --- models ---

MODEL = {
    "format": "linkstep/model", "version": 2, "name": "m", "kind": "layers", "batch": {"server": 1},
    "hardware": {"peak_flops": 1e12}, "layers": [{"name": "a", "parameters": 10, "flops": 1e18}],
}  # fmt: skip


def test_a_processor_that_computes_nothing(capsys, tmp_path):
    file = tmp_path / "m.json"
    file.write_text(json.dumps(MODEL | {"hardware": {"peak_flops": 1e-300}}))
    assert (
        "peak_flops must be 0 or at least 1e-18, not 1e-300"
        in lines_of(capsys, ["train-sim", str(file), "--nodes", "4"])[1]
    )


@pytest.mark.parametrize("place", ["peak_flops", "utilisation", "memory", "flops", "parameters", "all_to_all"])
def test_odd_models(tmp_path, place):
    """What is taken can be computed with, as floats."""
    file = tmp_path / "m.json"
    for value in ODD:
        layer, hardware = MODEL["layers"][0], MODEL["hardware"]
        if place in ("flops", "parameters", "all_to_all"):
            layer = layer | {place: value} | ({"experts": 4, "expert_parameters": 3} if place == "all_to_all" else {})
        else:
            hardware = hardware | {place: value}
        file.write_text(json.dumps(MODEL | {"layers": [layer], "hardware": hardware}))
        try:
            job = load_model(file).job(4)
        except LinkstepError as error:
            assert len(str(error)) <= 280
        else:
            assert float(job.compute) < 1e200 and float(job.gradient_bytes) < 1e200


# --- traces ---

STEP = "autograd::engine::evaluate_function: "


def trace(path, dims, *, name="MmBackward0", times=(10, 10, 10)):
    first, second, third = times
    rows = [
        {"ph": "X", "name": "aten::mm", "ts": 0, "dur": first, "tid": 1, "args": {"Sequence number": 1}},
        {"ph": "X", "name": STEP + name, "ts": 20, "dur": second, "tid": 2, "args": {"Sequence number": 1}},
        {"ph": "X", "name": f"{STEP}AccumulateGrad", "ts": 40, "dur": third, "tid": 2, "args": {}},
        {"ph": "X", "name": "aten::detach", "ts": 40, "dur": 0, "tid": 2, "args": {"Input Dims": [dims]}},
    ]
    path.write_text(json.dumps({"traceEvents": rows}))
    return path


@pytest.mark.parametrize("dims", [[10**18] * 300, [10**18 + 1], [2] * 61, [10**4000], [0, 10**4000], [10**18], []])
def test_shapes_of_any_size(capsys, tmp_path, dims):
    """Too large a gradient is refused; what is written is what train-sim takes."""
    model = tmp_path / "m.json"
    file = trace(tmp_path / "t.json", dims)
    code, line = lines_of(capsys, ["profile", "--trace", str(file), "-o", str(model)])
    if code:
        assert "has a gradient of more than 1000000000000000000 numbers" in line and not model.exists()
    else:
        assert load_model(model).job(2).gradient_bytes <= 4 * 10**18
    assert (code == 0) == (dims in ([10**18], [], [0, 10**4000]))


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("x" * 500, (10, 10, 10)),
        ("a\nb\x1b[2J", (10, 10, 10)),
        ("Mm", (1.2345678901e-310, 1.2345678901e-7, 3.3333333333333335)),
        ("Mm", (1e-300, 0, 5e-324)),
        ("Mm", (9.999999999999999e17, 1e-12, 123456.789)),
    ],
)
def test_what_profile_writes_train_sim_takes(tmp_path, name, times):
    model = tmp_path / "m.json"
    layers = read_trace(trace(tmp_path / "t.json", [10], name=name, times=times))
    save_layers(model, "m", layers, source="a trace")
    found = load_model(model)
    assert [part.seconds for part in found.parts] == [(layer.forward, layer.backward) for layer, _ in layers]
    assert found.job(8).compute == sum(layer.forward + layer.backward for layer, _ in layers)


def test_a_model_that_would_be_refused_is_not_written(tmp_path):
    file = tmp_path / "m.json"
    third = Fraction(1, 3)
    for layers in (
        [(Layer("a\n", third, third), 1)],
        [(Layer("a", third, third), 10**19)],
        [(Layer("a", Fraction(10**90, 3**40), third), 1)],
        [(Layer("a", Fraction(0), Fraction(0)), 0)],
        [],
    ):
        with pytest.raises(LinkstepError, match=r"m\.json: not written, for it could not be read again: "):
            save_layers(file, "m", layers, source="by hand")
    assert not file.exists()


# --- catalogs ---


@pytest.mark.parametrize("nodes", ["9" * 5000, "1" + "0" * 9, "٣", "-8", "", "8.0"])
def test_a_catalog_with_a_number_that_is_none(capsys, tmp_path, monkeypatch, nodes):
    folder = tmp_path / "linkstep" / "catalog"
    folder.mkdir(parents=True)
    (folder / "d4.csv").write_text(f"{HEADER}\n{nodes},4,bi,4,1,1b:4/5,,K_5\n", encoding="utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert set(lines_by_size(folder, 4)) == {0}
    assert lines_of(capsys, ["show", "Cat(8,4,1)"])[0] == 2
    code, line = lines_of(capsys, ["catalog", "merge", str(folder / "d4.csv"), "--into", str(tmp_path / "other")])
    assert code == 2 and "d4.csv, line 2: not an entry" in line


FIGURES = ["0", "1", "4", "0/1", "9" * 20, "1/" + "9" * 19, "", "1..0", "0..0", "5..2"]


@settings(deadline=None, max_examples=80)
@given(
    st.sampled_from(FIGURES),
    st.sampled_from(FIGURES),
    st.sampled_from(["1b:0", "1b:4/5", "999999999a:0/1 1b:3", "1b:1/0"]),
)
def test_odd_entries_can_be_read_or_are_refused(total, flow, half):
    try:
        entry = Entry.from_line(f"5,4,bi,{total},{flow},{half},,K_5")
    except LinkstepError:
        return
    assert best_entries([entry]) == [entry]
    assert entry.flow_range[0] <= entry.flow_range[1] and entry.most_flow > 0
