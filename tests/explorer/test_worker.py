"""The process that answers questions: it is warm, ends with its server, and says what goes wrong in a line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.explorer import jobs, worker
from linkstep.explorer.jobs import Crew, LiveJob
from linkstep.explorer.packing import unpack
from linkstep.explorer.worker import DONE, PROGRESS, READY, Worker
from support.live import QUESTIONS, is_alive, until


@pytest.fixture
def questions(tmp_path, monkeypatch):
    """Questions of a test's own, for workers that are started from now on."""
    linkstep.parse("K_3").topology()  # plug-ins of this process are loaded
    path = tmp_path / "questions.py"
    path.write_text(QUESTIONS)
    monkeypatch.setenv("LINKSTEP_PLUGINS", str(path))
    return path


def last(job: LiveJob) -> tuple[str, dict[str, object]]:
    """Wait for a job's end."""
    *_, event = (event for event in job.events(60) if event is not None)
    return event


def test_a_worker_is_warm_before_it_is_asked():
    one = Worker()
    try:
        until(lambda: one.message(0.1) == (READY,))
        one.ask({"ask": "wiring", "what": "K_4"})
        while (message := one.message(60))[0] == PROGRESS:
            assert message[1]
        assert message[0] == DONE and unpack(message[1])["title"] == "K_4"
    finally:
        assert one.end() in (-signal.SIGKILL, 0)
    with pytest.raises(EOFError):
        one.ask({})


def test_modules_of_the_current_folder_are_not_run(tmp_path, monkeypatch):
    """A worker is started where the user is, and must not run what lies there."""
    for name in ("multiprocessing", "random", "zlib", "numpy"):
        (tmp_path / f"{name}.py").write_text("open('run', 'w').write('run')\nraise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)
    one = Worker()
    try:
        until(lambda: one.message(0.1) == (READY,))
    finally:
        one.end()
    assert not (tmp_path / "run").exists() and "PYTHONSAFEPATH" not in os.environ


def test_progress_is_sent_ten_times_a_second_and_when_the_work_changes(monkeypatch):
    sent: list[tuple[object, ...]] = []
    now = [100.0]
    monkeypatch.setattr(worker.time, "monotonic", lambda: now[0])
    watch = worker._Watch(type("Line", (), {"send": staticmethod(sent.append)})())
    for done in range(1000):
        watch("counting", done, 1000)
        now[0] += 0.001
    assert 8 <= len(sent) <= 11
    watch("sorting", 0, None)
    assert sent[0] == (PROGRESS, "counting", 0, 1000) and sent[-1] == (PROGRESS, "sorting", 0, None)


@pytest.mark.slow
def test_a_plug_in_that_fails_is_said_in_the_answer(questions):
    questions.write_text("1 / 0\n")
    crew = Crew(1)
    try:
        event = last(crew.ask({"ask": "wiring", "what": "K_3"}))
        assert event[0] == "failed" and f"plug-in {questions}, line 1" in str(event[1]["error"])
    finally:
        crew.close()


class Dying(Worker):
    """A worker that ends at its start."""

    def __init__(self) -> None:
        super().__init__()
        os.kill(self.pid, signal.SIGTERM)


def test_workers_that_do_not_start_are_said_in_the_answer():
    crew = Crew(1, Dying)
    try:
        for _ in range(2):
            event = last(crew.ask({"ask": "wiring", "what": "K_3"}))
            assert event == ("failed", {"error": "the process that answers questions ended at its start (signal 15)"})
    finally:
        crew.close()


@pytest.mark.slow
def test_a_job_that_ends_soon_keeps_its_worker(questions, monkeypatch):
    """What is stopped and ends by itself costs no process."""
    monkeypatch.setattr(jobs, "GRACE", 60.0)
    crew = Crew(1)
    try:
        first = crew.ask({"ask": "quick"})
        assert last(first) == ("done", {})
        stopped = crew.ask({"ask": "quick"})
        stopped.stop()
        assert last(stopped) == ("failed", {"error": "stopped"})
        again = crew.ask({"ask": "quick"})
        assert last(again) == ("done", {})
        assert again.worker == first.worker
    finally:
        crew.close()


def test_no_more_than_a_few_jobs(monkeypatch):
    monkeypatch.setattr(jobs, "MOST_OPEN", 0)
    crew = Crew(0)
    with pytest.raises(LinkstepError, match="0 questions are being worked on: stop one of them, or wait"):
        crew.ask({})
    crew.close()


SERVER = """
import sys, time
from linkstep.explorer.jobs import Crew

if __name__ == "__main__":
    crew = Crew(1)
    job = crew.ask({"ask": "slow", "pids": sys.argv[1]})
    time.sleep(1000)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)], ids=str)
def test_workers_end_with_their_server_however_that_ends(questions, tmp_path, how):
    """A server that is killed cannot end them."""
    (tmp_path / "server.py").write_text(SERVER)
    pids = tmp_path / "pids"
    server = subprocess.Popen([sys.executable, str(tmp_path / "server.py"), str(pids)])
    try:
        until(lambda: pids.exists() and pids.read_text().endswith("\n"))
        working = [int(word) for word in pids.read_text().split()]
        assert len(working) == 2 and all(is_alive(pid) for pid in working)
        server.send_signal(how)
        server.wait(60)
        until(lambda: not any(is_alive(pid) for pid in working))
    finally:
        server.kill()
        server.wait()
