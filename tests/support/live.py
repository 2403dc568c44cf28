"""Asking a server of ``linkstep explore`` as a page does, and questions of a test's own that a worker is to answer."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from linkstep.explorer.packing import unpack

WAIT = 120.0
"""Seconds after which a test gives up: a busy machine is slow."""

QUESTIONS = '''
"""Questions that take as long as a test wants, end their process, or fail."""
import os, signal, subprocess, sys, time
import linkstep
from linkstep.costs import CostModel
from linkstep.explorer import questions
from linkstep.explorer.document import Document, Panel

def slow(question, watching):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    with open(question["pids"], "w") as file:
        file.write(f"{os.getpid()} {child.pid}\\n")
    for done in range(10**9):
        watching("sleeping", done, 10**9)
        time.sleep(0.001)

def quick(question, watching):
    for done in range(1000):
        watching("counting", done, 1000)
    return Document("quick", (Panel("wiring", "quick", {"pid": os.getpid()}),))

def fault(question, watching):
    raise KeyError("<b>a fault</b>\\nin two lines")

def killed(question, watching):
    os.kill(os.getpid(), signal.SIGKILL)

def memory(question, watching):
    raise MemoryError

rows = {"slow": slow, "quick": quick, "fault": fault, "killed": killed, "memory": memory}
questions.QUESTIONS += tuple(questions.QuestionRow(name, row) for name, row in rows.items())
linkstep.register(CostModel("waits", "what a plug-in must register", ("waits",), lambda step, fabric: 0))
'''
"""A plug-in that adds them, where a worker loads it."""


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has asked after does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return False
    return state != "Z"


class Client:
    """What a page does."""

    def __init__(self, url: str) -> None:
        self.url = urlsplit(url)

    def request(
        self, method: str, path: str = "", body: bytes | str | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        """Send a request to a path below the token, or to another that starts with a slash."""
        line = http.client.HTTPConnection(str(self.url.hostname), self.url.port, timeout=WAIT)
        usual = {"Content-Type": "application/json"} if body is not None else {}
        try:
            where = path if path.startswith("/") else self.url.path + path
            line.request(method, where, body, usual | (headers or {}))
            answer = line.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            line.close()

    def ask(self, **question: object) -> str:
        """Ask a question and return its job."""
        code, body, _ = self.request("POST", "api/ask", json.dumps(question))
        assert code == 200, body
        return str(json.loads(body)["job"])

    def events(self, job: str) -> list[tuple[str, dict[str, object]]]:
        """Return all that happens to a job, until it has ended."""
        code, body, headers = self.request("GET", f"api/jobs/{job}/events")
        assert (code, headers.get_content_type()) == (200, "text/event-stream")
        blocks = [block for block in body.decode().split("\n\n") if block and not block.startswith(":")]
        pairs = [block.removeprefix("event: ").split("\ndata: ") for block in blocks]
        return [(name, json.loads(text)) for name, text in pairs]

    def answer(self, **question: object) -> dict[str, object]:
        """Ask a question and return its document."""
        job = self.ask(**question)
        assert self.events(job)[-1] == ("done", {})
        code, body, _ = self.request("GET", f"api/jobs/{job}/result")
        assert code == 200
        return unpack(body)

    def error(self, **question: object) -> str:
        """Ask a question that has no answer and return why."""
        last = self.events(self.ask(**question))[-1]
        assert last[0] == "failed"
        return str(last[1]["error"])

    def stop(self, job: str) -> None:
        """End a job."""
        assert self.request("POST", f"api/jobs/{job}/stop", "{}")[0] == 200
