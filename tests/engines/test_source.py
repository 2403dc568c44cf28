"""What a run is made from: recipes, topologies, schedules, programs, files and selectors; no processes."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import linkstep
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError, LinkstepError, ScheduleError
from linkstep.core.schedule import COLLECTIVES, ROW_COLUMNS
from linkstep.core.topology import Topology
from linkstep.engines.bench.preparation import prepare
from linkstep.engines.plans.source import (
    PlanLibrary,
    Source,
    first_collective,
    is_selector,
    source_for,
    sources_of,
)
from linkstep.engines.transports.numbering import order_of
from linkstep.programs import runtime_text
from linkstep.selector import Rule, Selector

PROGRAMS = Path(__file__).parents[1] / "support" / "programs"
RING = PROGRAMS / "ring-allreduce.cpu.xml"
ALLREDUCE, REDUCE, BROADCAST = Collective.ALLREDUCE, Collective.REDUCE, Collective.BROADCAST


def kinds(what):
    return [source.kind for source in sources_of(what)]


def test_everything_that_can_be_given(tmp_path):
    recipe = linkstep.parse("K_4")
    schedule = recipe.build("allreduce")
    linkstep.save(schedule, tmp_path / "s.json")
    linkstep.save(recipe.topology(), tmp_path / "t.json")
    for what in ("K_4", recipe, recipe.topology(), str(tmp_path / "t.json")):
        assert kinds(what) == ["topology"]
        assert first_collective(what) is None
    for what in (schedule, tmp_path / "s.json", str(tmp_path / "s.json")):
        assert kinds(what) == ["schedule", "topology"]  # its topology serves what it does not
        assert first_collective(what) is ALLREDUCE
    text = linkstep.lower(schedule, "msccl").text
    (tmp_path / "r.xml").write_text(text)
    for what in (text, tmp_path / "r.xml", linkstep.read_program(text)):
        assert kinds(what) == ["program"]
        assert first_collective(what) is ALLREDUCE
    assert kinds([schedule, "K_4"]) == ["schedule", "topology"]
    with pytest.raises(LinkstepError, match=r"what runs must be a wiring .* or a result with one, not 4"):
        sources_of(4)
    with pytest.raises(LinkstepError, match="nothing was given to run"):
        sources_of([])


def test_names_of_files_and_recipes():
    for path in (RING, PROGRAMS / "ports-allgather.mscclpp.json"):
        assert runtime_text(path) == path.read_text()
    assert runtime_text("K_4") is None
    assert runtime_text("L(" * 5000) is None
    assert not is_selector("missing.json")


def test_ranks_must_agree():
    with pytest.raises(LinkstepError, match="it is for 5 ranks, and there are 4"):
        sources_of(["K_4", "K_5"])
    with pytest.raises(LinkstepError, match="it is for 4 ranks, and there are 3"):
        PlanLibrary("K_4", 0, 3)


def test_a_program_serves_its_own_collective_and_root():
    source = Source(linkstep.read_program(RING.read_text()))
    assert source.serves(ALLREDUCE, 10**9, 3)
    assert not source.serves(REDUCE, 1, 0)
    text = linkstep.lower(linkstep.schedule("K_4", "broadcast", root=2).schedule, "cpu").text
    rooted = Source(linkstep.read_program(text))
    assert [rooted.serves(BROADCAST, 1, root) for root in range(4)] == [False, False, True, False]
    with pytest.raises(LinkstepError, match="nothing here serves broadcast from root 1 of 64 bytes: give a schedule"):
        source_for([source, rooted], BROADCAST, 64, 1)


def test_a_schedule_serves_its_root_and_its_topology_the_others():
    given = linkstep.schedule("K_4", "broadcast", root=2).schedule
    sources = sources_of(given)
    assert source_for(sources, BROADCAST, 1, 2) is sources[0]
    assert source_for(sources, BROADCAST, 1, 1) is sources[1]
    assert sources[1].program(BROADCAST, False, 1).root == 1
    assert sources[1].schedule(BROADCAST, 1) is not given
    assert source_for(sources, Collective.ALL_TO_ALL, 8, 0) is sources[1]
    with pytest.raises(LinkstepError, match="nothing here serves all-to-all of 8 bytes"):
        source_for(sources[:1], Collective.ALL_TO_ALL, 8, 0)


def test_a_selector_chooses_by_size(tmp_path):
    (tmp_path / "ring.xml").write_bytes((PROGRAMS / "ring-allreduce.cpu.xml").read_bytes())
    n = linkstep.read_program(RING.read_text()).num_ranks
    rules = (Rule("allreduce", None, 1000, f"K_{n}"), Rule("allreduce", 1001, 5000, "ring.xml", dialect="cpu"))
    Selector(rules).save(tmp_path / "s.json")
    assert is_selector(str(tmp_path / "s.json"))
    small, large = sources_of(str(tmp_path / "s.json"))
    assert [(source.kind, source.rule) for source in (small, large)] == [("topology", rules[0]), ("program", rules[1])]
    assert first_collective(tmp_path / "s.json") is ALLREDUCE
    library = PlanLibrary(tmp_path / "s.json", 1, n)
    steps = [library.plan_for(ALLREDUCE, size, False, 0).num_steps for size in (0, 1000, 1001, 5000)]
    assert steps == [2, 2, 2 * (n - 1), 2 * (n - 1)]
    assert library.plan_for(ALLREDUCE, 7, False, 0) is library.plan_for(ALLREDUCE, 9, False, 0)
    with pytest.raises(LinkstepError, match=r"nothing here serves reduce.* of 10 bytes"):
        library.plan_for(REDUCE, 10, False, 0)
    with pytest.raises(LinkstepError, match=r"^the selector serves allreduce of 0B to 5KB by 2 plans: .*for 5001B$"):
        library.plan_for(ALLREDUCE, 5001, False, 0)
    prepared = prepare(str(tmp_path / "s.json"), ALLREDUCE, (8, 2000, 900, 4000), 0)
    assert prepared.cost is None  # it differs between sizes
    chosen = prepared.compiled[2]
    assert [chosen.plan_for(ALLREDUCE, size, False, 0).num_steps for size in (900, 2000)] == [2, 2 * (n - 1)]


def test_fingerprints_tell_what_was_given():
    topology = linkstep.parse("K_4").topology()
    other = Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0])
    given = ("K_4", "K_4*2", topology, other, linkstep.parse("K_4").build("allreduce"), RING)
    prints = [" ".join(source.fingerprint for source in sources_of(what)) for what in given]
    assert len(set(prints)) == len(prints)
    assert PlanLibrary("K_4", 0, 4).fingerprint == PlanLibrary("K_4", 3, 4).fingerprint


def test_a_program_runs_in_the_mode_it_has():
    library = PlanLibrary(str(RING), 0, linkstep.read_program(RING.read_text()).num_ranks)
    assert not library.plan_for(ALLREDUCE, 100, True, 0).is_inplace
    assert PlanLibrary("K_4", 0, 4).plan_for(ALLREDUCE, 100, True, 0).is_inplace
    assert not PlanLibrary("K_4", 0, 4).plan_for(Collective.ALL_TO_ALL, 100, True, 0).is_inplace


def test_wrong_programs_are_not_run(tmp_path):
    text = RING.read_text()
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(text.replace('reduce n="', 'copy n="', 1))
    with pytest.raises(FileError, match=r"wrong\.xml: not run, it is wrong: "):
        sources_of(wrong)
    wrong.write_text(text[: len(text) // 2])
    with pytest.raises(FileError, match=r"wrong\.xml: "):
        sources_of(wrong)
    (tmp_path / "s.json").write_text(json.dumps({"format": "linkstep-selector", "version": 1, "rules": 3}))
    with pytest.raises(FileError, match=r"s\.json: rules must be a list, not 3"):
        sources_of(str(tmp_path / "s.json"))


def dropped(schedule, row):
    """A schedule without one of its rows."""
    columns = {name: np.delete(getattr(schedule, name), row) for name in ROW_COLUMNS}
    return dataclasses.replace(schedule, **columns)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_wrong_schedules_are_not_run(tmp_path, collective):
    wrong = dropped(linkstep.schedule("K_4", collective).schedule, 1)
    with pytest.raises(ScheduleError, match=r"^the schedule: not run, it is wrong: "):
        sources_of(wrong)
    path = tmp_path / "wrong.json"
    linkstep.save(wrong, path)
    Selector((Rule(collective, None, None, "wrong.json"),)).save(tmp_path / "s.json")
    for what in (path, ["K_4", str(path)], tmp_path / "s.json"):
        with pytest.raises(ScheduleError, match=r"wrong\.json: not run, it is wrong: "):
            sources_of(what)


def test_a_schedule_is_checked_once(monkeypatch):
    checked = []
    monkeypatch.setattr("linkstep.engines.plans.source.check", checked.append)
    schedule = linkstep.schedule("K_4", "allgather").schedule
    for _ in range(3):
        sources_of(schedule)
    assert checked == [schedule]


def test_hosts_are_found_by_full_or_short_names():
    assert order_of(["b", "a", "c.x"], ["a.cluster", "c.x", "b"]) == [2, 0, 1]
    with pytest.raises(LinkstepError, match="rank 1 runs on d, which is none of the hosts that were named"):
        order_of(["a", "b"], ["a", "d"])
    with pytest.raises(LinkstepError, match="ranks 0 and 1 both run on a: start one rank on each host"):
        order_of(["a", "b"], ["a", "a"])
    with pytest.raises(LinkstepError, match="no rank runs on b"):
        order_of(["a", "b"], ["a"])
