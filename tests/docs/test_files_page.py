"""The examples of docs/reference/files.md are one wiring, and its headers are read as the page says."""

import re
from pathlib import Path

import networkx as nx
import pytest

from linkstep.core.topology import Topology
from linkstep.files import READABLE, cables_of, load

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "files.md").read_text()
EXAMPLES = dict(re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```", PAGE, re.M | re.S))


def test_there_is_an_example_of_each():
    assert list(EXAMPLES) == ["cables.csv", "netbox.json", "netbox.csv", "seen.json", "ptm.dot", "mlx.dot"]
    table = set(re.findall(r"`(\.\w+)`", PAGE.split("## Lists of cables")[0]))
    assert table == set(READABLE) - {".npz"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_one_wiring(tmp_path, name):
    (tmp_path / name).write_text(EXAMPLES[name])
    topology = load(tmp_path / name)
    assert topology == Topology.from_networkx(nx.complete_graph(3)) and topology.labels == ("h1", "h2", "h3")
    ends = [
        {(topology.host(one.tail), one.tail_port), (topology.host(one.head), one.head_port)}
        for one in cables_of(topology)
    ]
    wanted = [("h1", "eth1", "h2", "eth1"), ("h2", "eth2", "h3", "eth1"), ("h3", "eth2", "h1", "eth2")]
    assert all({row[:2], row[2:]} in ends for row in wanted) and len(ends) == 3


def test_the_page_of_formats_has_them_all():
    page = (ROOT / "docs" / "reference" / "formats.md").read_text()
    assert set(re.findall(r"`(\.\w+)`", page)) >= set(READABLE) | {".xml"}
    schemas = {path.name for path in (ROOT / "docs" / "schemas" / "files").glob("*.json")}
    assert set(re.findall(r"\(\.\./schemas/files/([\w.]+)\)", page)) == schemas
