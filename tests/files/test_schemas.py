"""Files that are saved are as docs/schemas/files/ says."""

import json
from fractions import Fraction

import pytest
from jsonschema import Draft202012Validator

import linkstep
from linkstep import Fabric, Rule, Selector, Topology, save, save_fabric
from linkstep.cli import main
from linkstep.simulation.training import Layer, save_layers
from linkstep.simulation.training.model_files import load_model, model_names
from support.schemas import FOLDER, check_document, objects_of

FILES = {path.stem: json.loads(path.read_text()) for path in (FOLDER / "files").glob("*.json")}


def check_file(path, name: str) -> dict:
    """Raise unless a file is as the schema of its format says, member by member; return what it holds."""
    document = json.loads(path.read_text())
    schema = json.loads(json.dumps(FILES[name]))
    for one in objects_of(schema).values():
        one["additionalProperties"] = False
    Draft202012Validator.check_schema(schema)
    assert list(document)[:2] == ["format", "version"]
    for error in Draft202012Validator(schema).iter_errors(document):
        raise AssertionError(f"{name}: {error.json_path}: {error.message[:300]}")
    return document


def test_topologies_and_schedules(tmp_path):
    plain = linkstep.parse("K_4").topology()
    rich = Topology.from_links(
        2, [0, 1], [1, 0], bandwidth=[10**9] * 2, alpha=[5, 6], labels=["a", "b"], hosts=["h"] * 2, racks=["r"] * 2
    )
    for topology in (plain, rich):
        save(topology, tmp_path / "t.json")
        check_file(tmp_path / "t.json", "topology")
    made = linkstep.schedule("Torus(2,4)", "allreduce").schedule
    save(made, tmp_path / "s.json")
    assert check_file(tmp_path / "s.json", "schedule")["chunks_per_shard"] == made.unit
    assert main(["schedule", "Torus(2,2)", "--forward", "3", "-o", str(tmp_path / "f.json")]) == 0
    assert check_file(tmp_path / "f.json", "schedule")["rank_nodes"] == [0, 1, 2]
    with pytest.raises(AssertionError, match="'linkstep/topology' was expected"):
        check_file(tmp_path / "s.json", "topology")


def test_fabrics(tmp_path):
    fabric = Fabric.of("10us", "100Gbps", 4, host_bandwidth="60Gbps", message="1us", hop="1ns", switching="1ms")
    save_fabric(fabric, tmp_path / "f.json", {"by": "a test"})
    check_file(tmp_path / "f.json", "fabric")
    save_fabric(Fabric(Fraction(1, 3), Fraction(10**9), 2), tmp_path / "f.json")
    assert check_file(tmp_path / "f.json", "fabric")["alpha"] == "1/3"


def test_selectors(tmp_path):
    rules = (
        Rule("allreduce", None, 9, "Pi_{2,9}", "arrival", steps=(4, 5), rounds=0, chunks=6, seed=3),
        Rule("allgather", 10, None, "a.json", dialect="mscclpp", inplace=True),
    )
    Selector(rules).save(tmp_path / "s.json")
    check_file(tmp_path / "s.json", "selector")


def test_models(tmp_path):
    for name in model_names():
        assert load_model(name).name
    from linkstep.simulation.training import model_files

    for path in model_files._folder().glob("*.json"):
        check_file(path, "model")
    layers = [(Layer("a", Fraction(1, 8), Fraction(1, 4)), 10)]
    save_layers(tmp_path / "m.json", "m", layers, source="by hand")
    check_file(tmp_path / "m.json", "model")


def test_a_plan_is_a_report(tmp_path):
    assert main(["wire", "K_4", "-o", str(tmp_path / "plan.json")]) == 0
    check_document(json.loads((tmp_path / "plan.json").read_text()), "cabling")


def test_the_fit_that_a_fabric_keeps_has_the_names_of_the_report(tmp_path, capsys):
    rows = [{"size": size, "median_seconds": time, "wrong": 0} for size, time in ((1024, 1e-4), (2**20, 2e-3))]
    run = {"format": "linkstep/run", "version": 2, "what": "K_4", "collective": "allreduce", "engine": "mpi"}
    (tmp_path / "r.json").write_text(json.dumps(run | {"degree": 3, "steps": 2, "t_b": "3/2", "rows": rows}))
    assert main(["fit", str(tmp_path / "r.json"), "-o", str(tmp_path / "f.json"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    source = check_file(tmp_path / "f.json", "fabric")["source"]
    assert source["rows"][0]["measured_seconds"] and source == {name: report[name] for name in source}
