"""Cabling plans: they realise the topology, use each side of each port once, and say so in files."""

import csv
import json
from dataclasses import replace

import pytest
from hypothesis import given

from linkstep.cabling import Cable, check_cabling, wire
from linkstep.cli import main
from linkstep.core.errors import TopologyError
from linkstep.core.topology import Topology
from linkstep.recipe import parse
from support.strategies import topologies


@given(topologies())
def test_property_a_plan_realises_its_topology(topology):
    plan = wire(topology)
    check_cabling(plan, topology)
    ports = max(topology.degree, 1)
    fibres = [(a // ports, b // ports) for a, b in plan.cross_connects()]
    links = [(u, w) for u, w in zip(topology.tail.tolist(), topology.head.tolist(), strict=True) if u != w]
    assert sorted(fibres) == sorted(links)
    assert len({a for a, _ in plan.cross_connects()}) == len({b for _, b in plan.cross_connects()}) == len(links)


@pytest.mark.parametrize("recipe", ["K_5", "Torus(4,4)", "BiRing(4,6)", "DistReg(4,32)"])
def test_bidirectional_topologies_need_only_duplex_cables(recipe):
    topology = parse(recipe).topology()
    plan = wire(topology)
    assert all(cable.duplex for cable in plan.cables)
    assert len(plan.cables) == topology.num_links // 2


def test_check_cabling_refuses():
    ring = parse("UniRing(1,3)").topology()
    plan = wire(ring)
    with pytest.raises(TopologyError, match="not the topology's links"):
        check_cabling(replace(plan, cables=plan.cables[:-1]), ring)
    with pytest.raises(TopologyError, match="two cables use the out side of node 2 port 0"):
        check_cabling(replace(plan, cables=(*plan.cables, Cable(2, 0, 1, 0, False))), ring)
    with pytest.raises(TopologyError, match="node 0 has 1 ports, but a cable is plugged into port 1"):
        check_cabling(replace(plan, cables=(Cable(0, 1, 1, 0, False),)), ring)
    with pytest.raises(TopologyError, match="not the topology's links"):
        check_cabling(wire(parse("UniRing(2,3)").topology()), Topology.from_links(3, [0, 1, 2], [1, 2, 0]))


@pytest.mark.usefixtures("wide")
def test_command(capsys, tmp_path):
    assert main(["wire", "K_3"]) == 0
    assert capsys.readouterr().out == (
        "cable  from  port  to  port  kind    panel  panel\n"
        "0      0     0     1   0     duplex  0      2\n"
        "1      0     1     2   0     duplex  1      4\n"
        "2      1     1     2   1     duplex  3      5\n"
        "\n"
        "3 duplex cables, 0 simplex fibres; 3 servers, 2 ports each; the plan is checked against the topology\n"
    )
    assert main(["wire", "K_3", "--cross-connects"]) == 0
    assert capsys.readouterr().out.startswith("input  output\n0      2\n1      4\n2      0\n")


def test_command_files(capsys, tmp_path):
    wiring = tmp_path / "hosts.csv"
    wiring.write_text("ant,bee\nbee,cat\ncat,ant\n")
    plan = tmp_path / "plan.csv"
    assert main(["wire", str(wiring), "-o", str(plan)]) == 0
    rows = list(csv.DictReader(plan.read_text().splitlines()))
    assert [(r["from"], r["to"], r["kind"]) for r in rows] == [
        ("ant", "bee", "simplex"), ("bee", "cat", "simplex"), ("cat", "ant", "simplex"),
    ]  # fmt: skip
    assert main(["wire", "K_4", "-o", str(tmp_path / "plan.json")]) == 0
    assert len(json.loads((tmp_path / "plan.json").read_text())["cross_connects"]) == 12
    capsys.readouterr()
    assert main(["wire", "K_4", "-o", str(tmp_path / "plan.txt")]) == 2
    assert capsys.readouterr().err.endswith("must end in .csv or .json\n")
