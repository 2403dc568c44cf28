"""A cost model is a row and a field: one added here is in fabric files, ``seconds_of`` and what commands print."""

import json
from dataclasses import dataclass, field
from fractions import Fraction

import pytest

import linkstep
from linkstep.cli import main
from linkstep.core.errors import LinkstepError
from linkstep.costs import MODELS, Cost, CostModel, Fabric, fabric_files, load_fabric, models, save_fabric, seconds_of
from linkstep.costs.fabric import SECONDS

SYNC = Fraction(1, 10**4)
OF_A_CALL = {"overhead", "reduction_bandwidth", "hop"}
"""Members that no step counts."""


@dataclass(frozen=True)
class SyncFabric(Fabric):
    """A fabric whose ranks wait for each other at the end of every step: what CONTRIBUTING says a model's number is."""

    sync: Fraction = field(default=Fraction(0), metadata=SECONDS)


@pytest.fixture
def fabric_file(monkeypatch, tmp_path):
    """Add the model's row and field, and return a file that says it."""

    def sync(loads, fabric):
        return fabric.sync if isinstance(fabric, SyncFabric) else Fraction(0)

    row = CostModel("sync", "waiting for all ranks", ("sync",), sync, adds=True)
    monkeypatch.setattr(models, "MODELS", (*MODELS, row))
    monkeypatch.setattr(fabric_files, "Fabric", SyncFabric)
    path = tmp_path / "sync.json"
    save_fabric(SyncFabric.of("10us", "100Gbps", 4, sync="100us"), path)
    return path


def test_its_number_is_in_files(fabric_file):
    assert json.loads(fabric_file.read_text())["sync"] == "100us"
    assert load_fabric(fabric_file) == SyncFabric.of("10us", "100Gbps", 4, sync=SYNC)
    fabric_file.write_text(fabric_file.read_text().replace("sync", "snyc"))
    with pytest.raises(LinkstepError, match="has 'snyc', which no fabric has: did you mean 'sync'"):
        load_fabric(fabric_file)


def test_schedules_and_costs_are_worth_the_same(fabric_file):
    made, fabric = linkstep.schedule("Torus(4,4)", "allreduce"), load_fabric(fabric_file)
    plain = Fabric.of("10us", "100Gbps", 4)
    expected = plain.time(made.cost, "allreduce", "1MB") + 8 * SYNC
    assert fabric.time(made.cost, "allreduce", "1MB") == seconds_of(made.schedule, fabric, "1MB") == expected
    assert fabric.time(Cost(0, Fraction(1)), "allreduce", "1MB") == plain.time(Cost(0, Fraction(1)), "allreduce", "1MB")


def _both_halves(row):
    return row["allreduce_seconds"], row["steps"]


@pytest.mark.parametrize(
    ("argv", "seconds"),
    [
        (["schedule", "K_{4,4}"], lambda facts: [(facts["seconds"], facts["steps"])]),
        (["show", "K_{4,4}"], lambda facts: [(facts["best"]["allreduce_seconds"], facts["best"]["steps"])]),
        (["find", "16", "4"], lambda facts: [_both_halves(row) for row in facts["frontier"]]),
        (["baselines", "16", "4"], lambda facts: [_both_halves(r) for r in facts["baselines"] if r["depth"] is None]),
        (["simulate", "K_{4,4}"], lambda facts: [(facts["predicted_seconds"], 4)]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_commands_print_it(fabric_file, capsys, argv, seconds):
    found = []
    for more in ([], ["--fabric", str(fabric_file)]):
        assert main([*argv, "--json", *more]) == 0
        found.append(seconds(json.loads(capsys.readouterr().out)))
    assert found[0]
    assert found[1] == [(pytest.approx(time + steps * float(SYNC)), steps) for time, steps in found[0]]


def test_rows_name_members_of_fabric_files():
    named = [member for model in MODELS for member in model.members]
    assert len(named) == len(set(named))
    assert set(named) == set(fabric_files.members()) - OF_A_CALL


@pytest.mark.parametrize("message", ["0s", "1us"])
def test_a_cost_counts_one_message_a_step(message):
    """All that a schedule sends where each link carries one message a step; at most that where it carries more."""
    fabric = Fabric.of("10us", "100Gbps", 4, message=message)
    for recipe, is_exact in (("K_5", True), ("Torus(4,4)", message == "0s")):
        made = linkstep.schedule(recipe, "allreduce")
        time, taken = fabric.time(made.cost, "allreduce", "1MB"), seconds_of(made.schedule, fabric, "1MB")
        assert time <= taken
        assert (time == taken) == is_exact


def test_what_no_fabric_has():
    with pytest.raises(
        LinkstepError, match=r"^a fabric has no 'mesage': there are alpha, node_bandwidth, .*, switching$"
    ):
        Fabric.of("10us", "100Gbps", 4, mesage="1us")
