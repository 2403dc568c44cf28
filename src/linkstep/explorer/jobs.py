"""Questions that are being answered: a few at once, each by a worker; stopped, they make room at once.

A job that is stopped may end by itself within a moment; else its process is ended and another one started, while
the other workers go on. Not here: what comes by HTTP (``linkstep.explorer.serving``).
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue

from linkstep.core.errors import LinkstepError
from linkstep.explorer.worker import DONE, FAILED, PROGRESS, READY, Worker

WORKERS = 2
"""Processes: one works while another is being started, or on another page's question."""
MOST_OPEN = 8
"""Jobs that wait or are worked on."""
MOST_ENDED = 16
"""Jobs whose answers are kept, the last ones."""
KEPT = 600.0
"""Seconds for which an answer is kept."""
GRACE = 0.5
"""Seconds that a stopped job may take to end by itself: starting a process takes longer."""
_PATIENCE = 0.3
"""Seconds after which a page hears that its question waits."""
_TICK = 0.05

Event = tuple[str, dict[str, object]]
"""Its name and what it says: "progress", "done" or "failed"."""

STOPPED = "stopped"


class LiveJob:
    """A question, and what became of it."""

    def __init__(self, question: object) -> None:
        self.question = question
        self.name = secrets.token_urlsafe(12)
        self.result: bytes | None = None
        self.error: str | None = None
        self.ended: float | None = None
        """When, on the monotonic clock."""
        self.worker: int | None = None
        """The process that works on it."""
        self._progress: dict[str, object] | None = None
        self._version = 0
        self._changed = threading.Condition()

    @property
    def is_open(self) -> bool:
        """Whether it has no answer yet, nor an error."""
        return self.ended is None

    def stop(self) -> None:
        """End it without an answer; nothing happens if it has ended."""
        self.fail(STOPPED)

    def fail(self, error: str) -> None:
        """End it with a line that says what is wrong."""
        self._end(None, error)

    def finish(self, result: bytes) -> None:
        """End it with its answer."""
        self._end(result, None)

    def advance(self, label: str, done: int, total: int | None) -> None:
        """Note how far it is."""
        with self._changed:
            self._progress = {"label": label, "done": done, "total": total}
            self._version += 1
            self._changed.notify_all()

    def _end(self, result: bytes | None, error: str | None) -> None:
        with self._changed:
            if self.ended is None:
                self.result, self.error, self.ended = result, error, time.monotonic()
                self._changed.notify_all()

    def events(self, silence: float) -> Iterator[Event | None]:
        """Yield what happens until it has ended; None where nothing did for so many seconds."""
        seen = 0
        if self._news(seen, _PATIENCE) is None and self.worker is None:
            yield "progress", {"label": "waiting for its turn", "done": 0, "total": None}
        while True:
            news = self._news(seen, silence)
            if news is None:
                yield None
                continue
            seen, event = news
            yield event
            if event[0] != "progress":
                return

    def _news(self, seen: int, seconds: float) -> tuple[int, Event] | None:
        with self._changed:
            self._changed.wait_for(lambda: self.ended is not None or self._version > seen, seconds)
            if self.error is not None:
                return seen, ("failed", {"error": self.error})
            if self.ended is not None:
                return seen, ("done", {})
            if self._version > seen and self._progress is not None:
                return self._version, ("progress", self._progress)
            return None


class Crew:
    """Workers, and the jobs that wait for them."""

    def __init__(self, workers: int = WORKERS, start: Callable[[], Worker] = Worker) -> None:
        self._start = start
        self._waiting: SimpleQueue[LiveJob | None] = SimpleQueue()
        self._jobs: dict[str, LiveJob] = {}
        self._lock = threading.Lock()
        self._is_closing = False
        self._threads = [threading.Thread(target=self._attend, daemon=True) for _ in range(workers)]
        for thread in self._threads:
            thread.start()

    def ask(self, question: object) -> LiveJob:
        """Have a question answered; LinkstepError where there are too many already."""
        job = LiveJob(question)
        with self._lock:
            self._forget()
            if sum(one.is_open for one in self._jobs.values()) >= MOST_OPEN:
                raise LinkstepError(f"{MOST_OPEN} questions are being worked on: stop one of them, or wait")
            self._jobs[job.name] = job
        self._waiting.put(job)
        return job

    def job(self, name: str) -> LiveJob | None:
        """Return a job by its name; None where there is none, or where it was long ago."""
        with self._lock:
            self._forget()
            return self._jobs.get(name)

    def close(self) -> None:
        """End all workers and what they started, and all jobs."""
        self._is_closing = True
        with self._lock:
            open_jobs = [job for job in self._jobs.values() if job.is_open]
        for job in open_jobs:
            job.stop()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _forget(self) -> None:
        ended = sorted((job.ended, name) for name, job in self._jobs.items() if job.ended is not None)
        old = time.monotonic() - KEPT
        for number, (when, name) in enumerate(ended):
            if when < old or number < len(ended) - MOST_ENDED:
                del self._jobs[name]

    def _attend(self) -> None:
        """Keep a worker at work, and start another one when it has ended."""
        worker = self._start()
        try:
            while not self._is_closing:
                wrong = self._wait_for(worker)
                job = self._waiting.get()
                if job is None:
                    return
                if wrong:
                    job.fail(wrong)
                elif self._see_through(worker, job):
                    continue
                worker.end()
                if not self._is_closing:
                    worker = self._start()
        finally:
            worker.end()

    def _wait_for(self, worker: Worker) -> str:
        """Wait until a worker can be asked; return what is wrong if it cannot."""
        try:
            while not (worker.is_ready or self._is_closing):
                message = worker.message(_TICK)
                if message is not None and message[0] == FAILED:
                    return str(message[1])
                worker.is_ready = message == (READY,)
        except EOFError:
            return f"the process that answers questions ended at its start ({_how(worker.end())})"
        return ""

    def _see_through(self, worker: Worker, job: LiveJob) -> bool:
        """Have a worker answer a job; whether it can be given another one."""
        if not job.is_open:
            return True
        job.worker = worker.pid
        try:
            worker.ask(job.question)
            while not self._is_closing:
                message = worker.message(_TICK)
                if message is None:
                    pass
                elif message[0] == PROGRESS:
                    job.advance(*message[1:])
                else:
                    (job.finish if message[0] == DONE else job.fail)(message[1])
                    return True
                if job.ended is not None and time.monotonic() > job.ended + GRACE:
                    return False
        except EOFError:
            job.fail(f"the process that worked on it ended ({_how(worker.end())}): ask again, or for less")
        return False


def _how(code: int | None) -> str:
    """Say how a process ended: what the system ends without being asked has usually taken too much memory."""
    if code == -9:
        return "killed, perhaps for want of memory"
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
