"""Who is waited for and for how long: by a clock of ours, with ranks that do what a table says."""

import json
import mmap
import os
import threading

import pytest

from linkstep.core.errors import EngineError
from linkstep.engines.bench import rank, watch
from linkstep.engines.bench.roster import Roster
from linkstep.engines.transports import processes
from linkstep.engines.transports.mpi import MpiTransport
from linkstep.engines.transports.notes import FOLDER, leave_shared, register_end, report_silence
from linkstep.engines.transports.peers import Beat, Meeting, Peers
from linkstep.engines.transports.processes import Activity, activity, shared_files, unlink_shared
from linkstep.engines.transports.torchjoin import wait_for_all
from linkstep.engines.transports.transport import SETUP, Silence

TIMEOUT = 5.0


def doing(what, now):
    """What the kernel says of a process: ``busy`` has run since the last look, ``asleep`` not, ``stopped`` cannot."""
    return Activity({"busy": "S", "asleep": "S", "stopped": "T"}[what], (int(now * 10) if what == "busy" else 0,), "1")


def test_ranks_see_each_others_pages():
    beats = [Beat(), Beat(), Beat()]
    peers = Peers(0, [beat.card() for beat in beats])
    assert peers.sees_all and peers.shares_clock and peers.shares_network
    assert beats[0].enter() == 1
    assert peers.late(1) == (1, 2)
    beats[1].enter()
    assert peers.late(1) == (2,)
    assert not peers.is_waiting(1)
    beats[2].enter()
    assert peers.late(1) == ()
    assert peers.is_waiting(1)
    beats[2].pass_on()
    assert peers.late(1) == ()
    assert not peers.is_waiting(1)
    assert peers.failed() == ()
    beats[2].fail()
    beats[2].enter()
    assert peers.failed() == (2,)
    assert peers.dead() == peers.stopped() == ()


def test_ranks_elsewhere_are_not_seen():
    own, beat = Beat(), Beat()
    other = json.loads(beat.card())
    far = Peers(0, [own.card(), json.dumps([*other[:3], "another boot pid:[1]"]).encode()])
    assert not far.sees_all and not far.shares_clock and not far.shares_network
    assert far.late(7) == far.dead() == ()
    emulated = Peers(0, [own.card(), json.dumps([*other[:2], "net:[1]", other[3]]).encode()])
    assert emulated.sees_all and emulated.shares_clock and not emulated.shares_network


class FakePeers(Peers):
    """Others, who are late until they come, and do as they are told."""

    def __init__(self, late=(), what="busy", dead=(), failed=(), sees_all=True, passed=False):
        self._late, self.what, self._dead, self._failed = tuple(late), what, tuple(dead), tuple(failed)
        self.sees_all, self.passed, self.now = sees_all, passed, 0.0

    def late(self, gather):
        return self._late

    def dead(self):
        return self._dead

    def failed(self):
        return self._failed

    def stopped(self):
        return self._late if self.what == "stopped" else ()

    def is_waiting(self, gather):
        return self.sees_all and not self._late and not self.passed

    def activity(self, rank):
        return doing(self.what, self.now)


def given_up(peers, patience, until=1000.0):
    """Return after how many seconds a rank gives up, and why; None if it still waits."""
    meeting = Meeting(peers, 1, TIMEOUT, patience, 0.0)
    for tick in range(int(until / 0.3)):
        peers.now = 0.3 * tick
        silence = meeting.look(peers.now)
        if silence:
            return peers.now, silence
    return None


@pytest.mark.parametrize(
    ("peers", "patience", "after", "named"),
    [
        (FakePeers([2], "busy"), SETUP, None, ()),  # who works is waited for
        (FakePeers([2], "busy"), None, TIMEOUT, (2,)),  # unless nobody has work to do
        (FakePeers([2], "stopped"), SETUP, TIMEOUT, (2,)),
        (FakePeers([1, 2], "asleep"), SETUP, SETUP, (1, 2)),
        (FakePeers([]), SETUP, TIMEOUT, ()),  # all wait, and nothing arrives
        (FakePeers([], passed=True), SETUP, SETUP, ()),  # some have what they need, and are at work
        (FakePeers([1], failed=[1]), SETUP, 0.0, (1,)),
        (FakePeers([], sees_all=False), SETUP, SETUP, ()),
    ],
)
def test_time_since_the_last_sign_of_life_counts(peers, patience, after, named):
    found = given_up(peers, patience)
    if after is None:
        assert found is None
    else:
        assert after <= found[0] < after + 1
        assert found[1].from_ranks == named


def test_a_rank_that_is_gone_is_named_at_once():
    assert given_up(FakePeers([1], dead=[2]), SETUP) == (0.0, Silence(0.0, (), (), (2,)))


def transport(shares_clock, is_emulated, sizes):
    """An MPI transport that waits for messages of some sizes, one from each rank."""
    made = object.__new__(MpiTransport)
    made.timeout, made.shares_clock, made._is_emulated, made._others = TIMEOUT, shares_clock, is_emulated, FakePeers([])
    handles = [object() for _ in sizes]
    made._bytes = {id(handle): size for handle, size in zip(handles, sizes, strict=True)}
    made._peers = {id(handle): (False, number) for number, handle in enumerate(handles)}
    return made, handles


def test_long_messages_add_their_own_time_once():
    sizes = [32 * 10**6] * 8
    here, handles = transport(True, False, sizes)
    assert here._allowed(handles) == pytest.approx(TIMEOUT + 6.4)
    far, handles = transport(False, False, sizes)
    assert far._allowed(handles) == pytest.approx(TIMEOUT + 16)
    seen, handles = transport(True, True, sizes)  # what moves on the cables is seen
    assert seen._allowed(handles) == TIMEOUT
    here, handles = transport(True, False, sizes)
    here._others = FakePeers([3], "stopped")
    assert here._allowed(handles) == TIMEOUT
    assert here._allowed(handles[:3]) > TIMEOUT


def test_an_error_of_mpi_waits_for_news_of_a_rank_that_is_gone(monkeypatch):
    made, _ = transport(True, False, [])
    looks = iter([(), (), (3,)])
    monkeypatch.setattr(made, "dead", lambda: next(looks))
    assert made._failure((), RuntimeError("MPI_ERR_OTHER\nmore")) == Silence(0.0, (), (), (3,))
    monkeypatch.setattr("linkstep.engines.transports.mpi._NEWS", 0.0)
    monkeypatch.setattr(made, "dead", tuple)
    alone = made._failure((), RuntimeError("MPI_ERR_OTHER\nmore"))
    assert alone.reason == "MPI_ERR_OTHER"
    assert "0 s" not in alone.words()


class FakeStore:
    """A store to which ranks come at given times."""

    def __init__(self, times):
        self.times, self.now = times, 0.0

    def set(self, key, value):
        self.times[int(key)] = self.now

    def check(self, keys):
        return all(self.times[int(key)] <= self.now for key in keys)

    def sleep(self, seconds):
        self.now += 1.0


def test_ranks_that_do_not_come_are_named():
    slow = FakeStore([0, 50, 100, 150])  # never sixty seconds without anyone coming
    wait_for_all(slow, 0, 4, SETUP, lambda: slow.now, slow.sleep)
    assert slow.now == 150
    never = FakeStore([0, 50, 10**9, 10**9])
    with pytest.raises(EngineError, match="ranks 2, 3 did not come for 60 s"):
        wait_for_all(never, 0, 4, SETUP, lambda: never.now, never.sleep)
    assert never.now == 111


def started(folder, *ranks):
    for number in ranks:
        (folder / f"{number}.start").write_text(f"{1000 + number} 1")


@pytest.mark.parametrize(
    ("what", "after", "named"),
    [
        ({0: "busy", 1: "stopped"}, 7, {1}),
        ({0: "asleep", 1: "busy"}, None, set()),
        ({0: "asleep", 1: "asleep"}, 60, {0, 1}),
        ({0: "asleep"}, 60, {0, 1}),  # rank 1 never began
    ],
)
def test_the_launcher_names_ranks_without_a_sign_of_life(tmp_path, monkeypatch, what, after, named):
    roster, clock = Roster(tmp_path, 2), [0.0]
    started(tmp_path, *what)
    monkeypatch.setattr("linkstep.engines.bench.roster.activity", lambda pid: doing(what[pid - 1000], clock[0]))
    for tick in range(300):
        clock[0] = tick / 3
        roster.look(clock[0])
        if found := roster.silent(clock[0], 7, SETUP):
            break
    assert found == named
    assert after is None or after <= clock[0] < after + 1


def test_no_verdict_on_cables_where_a_rank_is_gone(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    report_silence(0, (2,))
    report_silence(2, (0,))
    roster = Roster(tmp_path, 4)
    assert "cable" in roster.verdict()
    started(tmp_path, 3)
    monkeypatch.setattr("linkstep.engines.bench.roster.activity", lambda pid: None)
    roster.look(0.0)
    assert roster.first_lost == {3}
    assert roster.verdict() == ""


def test_only_files_that_are_mapped_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_SHARED", str(tmp_path / "mpich_shm_"))
    mine, reused, other = (tmp_path / f"mpich_shm_{k}" for k in range(3))
    maps = []
    for path in (mine, reused):
        path.write_bytes(bytes(4096))
        with path.open("r+b") as file:
            maps.append(mmap.mmap(file.fileno(), 4096))
    other.write_bytes(bytes(4096))
    found = shared_files(os.getpid())
    assert {name for name, _ in found} == {str(mine), str(reused)}
    (tmp_path / "new").write_bytes(b"of another job")
    (tmp_path / "new").rename(reused)
    unlink_shared(found)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mpich_shm_1", "mpich_shm_2"]
    assert not shared_files(os.getpid())


def test_what_a_rank_shared_is_removed_though_nobody_saw_it(tmp_path, monkeypatch):
    """A rank may be gone before its launcher looks: what it left when it joined is enough."""
    monkeypatch.setattr(processes, "_SHARED", str(tmp_path / "mpich_shm_"))
    file, folder = tmp_path / "mpich_shm_0", tmp_path / "run"
    file.write_bytes(bytes(4096))
    folder.mkdir()
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 4096):
        leave_shared(folder, 2)
    assert file.exists()
    Roster(folder, 4).kill()
    assert not file.exists()


def test_a_stopped_process_shows_no_sign_of_life():
    now = activity(os.getpid())
    assert now.follows(None)
    assert not now._replace(state="T").follows(None)
    assert not now._replace(state="S").follows(now)
    assert now._replace(state="S", work=()).follows(now)


class Left(Exception):
    """What stands for the end of the process."""


@pytest.mark.parametrize("engine", ["torch", "mpi"])
def test_a_rank_of_torch_does_not_wait_for_its_threads(tmp_path, monkeypatch, engine):
    def leave(code):
        raise Left(code)

    (tmp_path / "job").write_bytes(rank.pickle.dumps(None))
    monkeypatch.setattr("linkstep.engines.bench.job.run_job", lambda job, progress: (1, []))
    monkeypatch.setattr(rank, "leave_process", leave)
    if engine == "torch":
        with pytest.raises(Left):
            rank.main(engine, tmp_path)
    else:
        assert rank.main(engine, tmp_path) == 0  # MPI must be finalized


@pytest.mark.parametrize(("ended", "spoken"), [(False, 1), (True, 0)])
def test_a_call_that_never_returns_is_ended_where_a_rank_is_gone(tmp_path, monkeypatch, ended, spoken):
    """Not where that rank has got to its end, and not twice."""
    looks, failed = threading.Semaphore(0), []

    def dead():
        looks.release()
        return (3,)

    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setattr(watch, "_LOOK", 0.001)
    monkeypatch.setattr(watch, "fail", failed.append)
    if ended:
        register_end(3, 0)
    with watch.guarded("rank 1: allreduce", dead):
        for _ in range(8):
            looks.acquire()
    assert len(failed) == spoken
    said = [path.read_text() for path in tmp_path.glob("*.said")]
    assert said == ["rank 1: allreduce: rank 3 ended before the others"] * spoken
