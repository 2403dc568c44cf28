"""The server of ``linkstep explore``: for this machine's browsers, at a URL that nobody else knows.

It listens on 127.0.0.1; its paths begin with a token, and without that all of them are 404. The Host must be its own
(a page elsewhere whose name is made to lead here sends another one), the Origin too where there is one; nothing is
allowed to other origins, and what is posted must be JSON, which a form cannot send. Not here: what a question means
(``linkstep.explorer.questions``), and the work (``jobs``, ``worker``).
"""

from __future__ import annotations

import hmac
import io
import json
import secrets
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from linkstep.core.errors import LinkstepError
from linkstep.explorer.jobs import Crew, LiveJob
from linkstep.explorer.page import live_page, live_policy
from linkstep.explorer.permission import Permission

ADDRESS = "127.0.0.1"
LARGEST = 8 * 2**20
"""Bytes of a question."""
MOST_CONNECTIONS = 64
READING = 10.0
"""Seconds in which a request must have come."""
WRITING = 60.0
"""Seconds in which what is written at once must have been taken."""
SILENCE = 15.0
"""Seconds after which a word is sent where nothing happens, so that nothing in between closes a connection."""

_JSON = "application/json"
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_NOTHING = "default-src 'none'; frame-ancestors 'none'"
"""The content security policy of what is no page."""


class Server(ThreadingHTTPServer):
    """Serves one page and answers its questions; ``close`` ends all of it."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = MOST_CONNECTIONS
    timeout = 0.2  # of ``handle_request``: how long an interrupt may wait

    def __init__(self, files: Iterable[str] = (), port: int = 0, crew: Crew | None = None) -> None:
        self.token = secrets.token_urlsafe(24)
        self.permission = Permission(files)
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        try:
            super().__init__((ADDRESS, port), Handler)
        except OSError as error:
            raise LinkstepError(f"port {port} cannot be had: {(error.strerror or str(error)).lower()}") from None
        self.crew = Crew() if crew is None else crew
        self.page = live_page("linkstep").encode()

    def server_bind(self) -> None:
        """Bind without asking for the machine's name, which may take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, self.server_address[1]

    @property
    def url(self) -> str:
        """Where the page is: whoever knows it can ask."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a request may call this server."""
        return (f"{ADDRESS}:{self.server_port}", f"localhost:{self.server_port}")

    def close(self) -> None:
        """End the server, its workers and all that these started."""
        self.server_close()
        self.crew.close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a connection, unless there are too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection, and make room for another."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of browsers that went away."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Timely(io.RawIOBase):
    """What comes on a connection, all of it within some seconds."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection, self._end = connection, time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class Handler(BaseHTTPRequestHandler):
    """A request."""

    server: Server
    protocol_version = "HTTP/1.0"  # a connection a request: none waits for another

    def setup(self) -> None:
        """Read with an end to it, whatever comes."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_Timely(self.connection, READING))

    def version_string(self) -> str:
        """Say no more than who it is."""
        return "linkstep"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the terminal is the user's."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request of ours in few words."""
        with suppress(OSError):
            self._send(code if code != 501 else 404, b"not found\n", "text/plain; charset=utf-8")

    # --- requests ---

    def do_GET(self) -> None:
        """Send the page, what a job does, or its answer."""
        match self._path():
            case [""]:
                self._send(200, self.server.page, "text/html; charset=utf-8", live_policy())
            case ["api", "jobs", name, "events"] if (job := self.server.crew.job(name)) is not None:
                self._send_events(job)
            case ["api", "jobs", name, "result"] if (job := self.server.crew.job(name)) is not None:
                if job.result is None:
                    self._send_json(409, {"error": job.error or "there is no answer yet"})
                else:
                    self._send(200, job.result, "application/octet-stream")
            case ["api", "jobs", _, "events" | "result"]:
                self._send_json(404, {"error": "this answer is kept no longer: ask again"})
            case _:
                self.send_error(404)

    def do_POST(self) -> None:
        """Take a question, or end a job."""
        path = self._path()
        if path is None:
            self.send_error(404)
            return
        data = self._json()
        if data is None:
            return
        match path:
            case ["api", "ask"]:
                self._ask(data)
            case ["api", "jobs", name, "stop"]:
                job = self.server.crew.job(name)
                if job is not None:
                    job.stop()
                self._send_json(200, {})
            case _:
                self.send_error(404)

    def _ask(self, question: object) -> None:
        try:
            if not isinstance(question, dict):
                raise LinkstepError("a question is a JSON object")
            self.server.permission.check(question)
            job = self.server.crew.ask(question)
        except LinkstepError as error:
            self._send_json(400, {"error": str(error)})
            return
        self._send_json(200, {"job": job.name})

    def _path(self) -> list[str] | None:
        """Return the parts of the path after the token; None where the request is not from a page of this server."""
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            return None
        if origins and origins != [f"http://{hosts[0]}"]:
            return None
        parts = self.path.split("/")
        if len(parts) < 3 or parts[0] or not hmac.compare_digest(parts[1].encode(), self.server.token.encode()):
            return None
        return parts[2:]

    def _json(self) -> object:
        """Return what was posted; None where it cannot be taken, which is answered then."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != _JSON:
            self._send_json(415, {"error": f"a question is posted as {_JSON}"})
        elif "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit() and len(length) < 20):
            self._send_json(411, {"error": "a question says how long it is"})
        elif int(length) > LARGEST:
            self._send_json(413, {"error": f"a question has {LARGEST // 2**20} MiB at most"})
        else:
            body = self.rfile.read(int(length))
            try:
                found: object = json.loads(body)
            except (ValueError, RecursionError):
                found = None
            if found is not None:
                return found
            self._send_json(400, {"error": "this is not JSON, or nothing"})
        return None

    # --- answers ---

    def _send_events(self, job: LiveJob) -> None:
        """Send what a job does as it happens; a browser that goes away is no reason to end the job."""
        self._send_head(200, "text/event-stream; charset=utf-8")
        for event in job.events(SILENCE):
            text = ": at work\n\n" if event is None else f"event: {event[0]}\ndata: {json.dumps(event[1])}\n\n"
            self.wfile.write(text.encode())

    def _send_json(self, code: int, value: object) -> None:
        self._send(code, json.dumps(value).encode(), _JSON)

    def _send(self, code: int, body: bytes, kind: str, policy: str = _NOTHING) -> None:
        self._send_head(code, kind, policy, len(body))
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_head(self, code: int, kind: str, policy: str = _NOTHING, length: int | None = None) -> None:
        self.connection.settimeout(WRITING)
        self.send_response(code)
        for name, value in _ALWAYS.items():
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", policy)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()
