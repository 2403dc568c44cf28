"""What ranks leave for the launcher, and what it makes of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkstep.engines.bench.launch import _silent_end
from linkstep.engines.bench.roster import Roster
from linkstep.engines.transports.notes import FOLDER, register_end, report_silence, say


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return tmp_path


LEFT = {
    "end": lambda: register_end(3, 0),
    "said": lambda: say("gone"),
    "json": lambda: report_silence(3, (1,)),
}


@pytest.mark.parametrize("leave", LEFT.values(), ids=LEFT)
def test_files_appear_whole(folder, monkeypatch, leave):
    """The launcher reads at any moment: an empty file would look like a rank that is gone."""
    rename = Path.rename
    seen = []

    def watched(path, target):
        seen.append([found.name for found in folder.iterdir()])
        assert path.read_text()
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", watched)
    leave()
    [before] = seen
    [after] = [found.name for found in folder.iterdir()]
    assert before == [f"{after}.part"]


@pytest.mark.parametrize(
    ("waits", "verdict"),
    [
        ({1: (6,), 6: (1,), 0: (6,)}, "ranks 1 and 6 wait for each other: is the cable between them cut?"),
        ({1: (6,), 6: (), 0: ()}, "rank 1 waits for rank 6, which got further: is the cable between them cut?"),
        ({0: (), 1: (), 2: ()}, ""),  # where all meet, none is waited for in particular
        ({0: (2,), 1: (2,)}, ""),  # rank 2 said nothing: it may be stopped
    ],
)
def test_the_cable_that_is_suspected(folder, waits, verdict):
    for rank, peers in waits.items():
        report_silence(rank, peers)
    assert Roster(folder, 4).verdict() == verdict


def test_a_rank_that_registers_meanwhile_is_not_lost(folder, monkeypatch):
    """More ranks may be alive than were registered a moment before."""
    ranks = Roster(folder, 4)
    monkeypatch.setattr(ranks, "_known", lambda: {0: (10, "")})
    monkeypatch.setattr(ranks, "alive", lambda: {0: 10, 1: 11})
    assert not ranks.lost()


def test_a_rank_that_ends_meanwhile_is_not_lost(folder, monkeypatch):
    """It leaves its exit code before it ends."""
    ranks = Roster(folder, 4)
    monkeypatch.setattr(ranks, "_known", lambda: {0: (10, "")})

    def alive():
        register_end(0, 0)
        return {}

    monkeypatch.setattr(ranks, "alive", alive)
    assert not ranks.lost()
    (folder / "0.end").unlink()
    monkeypatch.setattr(ranks, "alive", dict)
    assert ranks.lost() == {0}


def test_a_run_that_fails_says_something():
    assert "SIGKILL" in _silent_end([-9], "the launcher of the ranks", set())
    assert "a rank ended with exit code 3" in _silent_end([0, 3, None], "a rank", set())
    assert "a rank was gone" in _silent_end([None], "the launcher", set())
