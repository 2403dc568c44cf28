"""The server of a live page: whom it answers, what it takes, and that nobody has to wait for anybody."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.explorer import jobs, serving
from linkstep.explorer.serving import Server
from support.live import QUESTIONS, Client, is_alive, until


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Iterator[object]:
    """A folder with a wiring that the server was given, one that it was not, and questions of our own."""
    found = tmp_path_factory.mktemp("live")
    linkstep.save(linkstep.parse("K_4").topology(), found / "given.csv")
    linkstep.save(linkstep.parse("K_5").topology(), found / "secret.csv")
    (found / "link.csv").symlink_to(found / "secret.csv")
    (found / "schedule").mkdir()
    (found / "questions.py").write_text(QUESTIONS)
    return found


@pytest.fixture(scope="module")
def server(folder) -> Iterator[Server]:
    linkstep.parse("K_3").topology()  # plug-ins of this process are loaded: those below are for workers
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINKSTEP_PLUGINS", str(folder / "questions.py"))
        patch.chdir(folder)
        made = Server([str(folder / "given.csv")])
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield made
        made.shutdown()
        thread.join()
        made.close()


@pytest.fixture
def client(server) -> Client:
    return Client(server.url)


def test_it_listens_on_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.url.startswith("http://127.0.0.1:") and len(server.token) >= 32


def test_the_page(client):
    code, body, headers = client.request("GET")
    assert code == 200 and b'id="linkstep-live"' in body
    assert headers.get_content_type() == "text/html"
    policy = headers["Content-Security-Policy"]
    for part in ("default-src 'none'", "script-src 'sha256-", "connect-src 'self'", "frame-ancestors 'none'"):
        assert part in policy


def test_every_answer_keeps_to_itself(client):
    asked = [("GET", ""), ("GET", "/"), ("GET", "api/jobs/x/result"), ("POST", "api/ask")]
    for method, path in asked:
        headers = client.request(method, path, None if method == "GET" else "{}")[2]
        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Server"] == "linkstep"


# --- who is answered ---


def sent(client: Client, target: str) -> bytes:
    """Return what comes for a target that is sent as it stands."""
    with socket.create_connection((client.url.hostname, client.url.port), timeout=60) as line:
        line.sendall(f"GET {target} HTTP/1.1\r\nHost: {client.url.netloc}\r\n\r\n".encode("latin-1"))
        return line.makefile("rb").read()


@pytest.mark.parametrize(
    "target",
    ["/", "/index.html", "/favicon.ico", "/x/", "/api/ask", "//", "/..", "/%2e%2e/", "*", "/\u00e9/", "http://{}",
     "x{}", "/x/..{}", "/.{}"],
)  # fmt: skip
def test_without_the_token_there_is_nothing(client, target):
    answer = sent(client, target.format(client.url.path if "//" not in target else client.url.netloc + client.url.path))
    assert answer.startswith(b"HTTP/1.0 404 ") and answer.endswith(b"\r\n\r\nnot found\n")


def test_a_token_that_is_nearly_right(client, server):
    for token in (server.token[:-1], server.token + "x", server.token.swapcase(), server.token[::-1]):
        assert client.request("GET", f"/{token}/")[:2] == (404, b"not found\n")


@pytest.mark.parametrize(
    "path", ["../", "..%2f..%2fetc%2fpasswd", "../../etc/passwd", "bundle/explorer.js", "?x", "api", "%00"]
)
def test_paths_that_are_none_of_ours(client, path):
    assert client.request("GET", path)[:2] == (404, b"not found\n")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", ""]
)
def test_a_name_that_was_made_to_lead_here(client, host):
    there = {"Host": host.format(port=client.url.port)}
    assert client.request("GET", "", None, there)[0] == 404
    assert client.request("POST", "api/ask", '{"ask": "wiring", "what": "K_3"}', there)[0] == 404


def test_this_machine_has_two_names(client):
    assert client.request("GET", "", None, {"Host": f"localhost:{client.url.port}"})[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1", "http://localhost:{port}"]
)
def test_pages_from_elsewhere(client, origin):
    there = {"Origin": origin.format(port=client.url.port)}
    assert client.request("POST", "api/ask", '{"ask": "wiring", "what": "K_3"}', there)[0] == 404
    assert client.request("GET", "", None, there)[0] == 404


def test_its_own_origin(client):
    here = {"Origin": f"http://127.0.0.1:{client.url.port}"}
    assert client.request("POST", "api/ask", '{"ask": "wiring", "what": "K_3"}', here)[0] == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "HEAD"])
def test_other_methods(client, method):
    code, _, headers = client.request(method, "api/ask")
    assert code == 404 and "Allow" not in headers


# --- what is taken ---


def test_a_form_cannot_post(client):
    for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"):
        for path in ("api/ask", "api/jobs/x/stop"):
            code, body, _ = client.request("POST", path, "{}", {"Content-Type": kind})
            assert code == 415 and json.loads(body)["error"]


@pytest.mark.parametrize("body", ["", "{", "[" * 10**5, "null", "\xff", "{'ask': 1}", "1" * 5000 + "x"])
def test_what_is_no_json(client, body):
    code, answer, _ = client.request("POST", "api/ask", body.encode("latin-1"))
    assert code == 400 and json.loads(answer)["error"]


@pytest.mark.parametrize("body", ["[]", "5", '"wiring"', "true"])
def test_json_that_is_no_question(client, body):
    code, answer, _ = client.request("POST", "api/ask", body)
    assert (code, json.loads(answer)) == (400, {"error": "a question is a JSON object"})


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Content-Length": str(serving.LARGEST + 1)}, 413),
        ({"Content-Length": "9" * 19}, 413),
        ({"Content-Length": "-1"}, 411),
        ({"Content-Length": "2, 2"}, 411),
        ({"Content-Length": "\u00b2"}, 411),
        ({"Transfer-Encoding": "chunked", "Content-Length": "2"}, 411),
    ],
    ids=str,
)
def test_lengths(client, headers, code):
    """What is too large is refused before it is sent."""
    text = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection((client.url.hostname, client.url.port), timeout=60) as line:
        head = (
            f"POST {client.url.path}api/ask HTTP/1.1\r\nHost: {client.url.netloc}\r\nContent-Type: application/json\r\n"
        )
        line.sendall(f"{head}{text}\r\n".encode("latin-1"))
        assert line.makefile("rb").readline().split()[1] == str(code).encode()


@pytest.mark.parametrize(
    "sent",
    [b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\r\n" * 100, b"GET / HTTP/9.9\r\n\r\n", b"x" * 70000 + b"\r\n"],
)
def test_what_is_no_http(client, sent):
    with socket.create_connection((client.url.hostname, client.url.port), timeout=60) as line:
        try:
            line.sendall(sent)
            line.shutdown(socket.SHUT_WR)
            answer = line.makefile("rb").read()
        except ConnectionError:
            answer = b""
    assert b"linkstep-live" not in answer
    assert client.request("GET")[0] == 200


def test_an_unknown_job(client):
    for path in ("api/jobs/nothing/events", "api/jobs/nothing/result"):
        code, body, _ = client.request("GET", path)
        assert (code, json.loads(body)) == (404, {"error": "this answer is kept no longer: ask again"})
    client.stop("nothing")


# --- slow and broken clients ---


def test_clients_that_say_nothing_are_left(client, monkeypatch):
    monkeypatch.setattr(serving, "READING", 0.2)
    with socket.create_connection((client.url.hostname, client.url.port), timeout=60) as line:
        line.sendall(b"POST /")
        assert line.recv(1) == b""


def test_clients_that_drip_are_left(client, monkeypatch):
    """A byte now and then does not keep a connection."""
    monkeypatch.setattr(serving, "READING", 0.5)
    with socket.create_connection((client.url.hostname, client.url.port), timeout=60) as line:
        line.settimeout(0.05)

        def is_left() -> bool:
            try:
                line.sendall(b"x")
                return line.recv(1) == b""
            except TimeoutError:
                return False
            except OSError:
                return True

        until(is_left)


def test_a_body_that_does_not_come(client, monkeypatch):
    monkeypatch.setattr(serving, "READING", 0.2)
    with socket.create_connection((client.url.hostname, client.url.port), timeout=60) as line:
        head = f"POST {client.url.path}api/ask HTTP/1.1\r\nHost: {client.url.netloc}\r\n"
        line.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
        assert line.recv(1) == b""


def test_many_connections_leave_room_again(client, monkeypatch):
    monkeypatch.setattr(serving, "READING", 1.0)
    lines = [
        socket.create_connection((client.url.hostname, client.url.port), timeout=60)
        for _ in range(serving.MOST_CONNECTIONS + 8)
    ]

    def is_answered() -> bool:
        try:
            return client.request("GET")[0] == 200
        except OSError:
            return False

    until(is_answered)
    for line in lines:
        line.close()


# --- answers ---


def test_an_answer_is_what_the_library_says(client):
    document = client.answer(ask="wiring", what="Torus(4,4)", faults=[{"kind": "cut", "text": "0,1"}])
    [panel] = document["panels"]
    assert panel["data"]["facts"]["num_links"] == 62
    assert panel["data"]["facts"]["faults"] == ["cut 0,1"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"ask": "wiring", "what": "Tors(4,4)"}, "did you mean 'Torus'?"),
        ({"ask": "wiring", "what": 5}, "what must be a str, not 5"),
        ({"ask": "wiring"}, "name a wiring"),
        ({"ask": "gossip"}, "a page can ask for choose, document, wiring"),
        ({}, "a page can ask for"),
        ({"ask": "wiring", "what": "K_3", "size": "1Mb"}, "is in bits"),
        ({"ask": "wiring", "what": "K_3", "faults": [5]}, "a fault must be a dict, not 5"),
        ({"ask": "wiring", "what": "<script>alert(1)</script>"}, "recipe"),
        ({"ask": "memory"}, "out of memory"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_a_line(client, question, said):
    error = client.error(**question)
    assert said in error and "\n" not in error and "Traceback" not in error and "please report" not in error


def test_a_fault_of_ours_is_a_line_too(client):
    assert client.error(ask="fault") == (
        "KeyError: '<b>a fault</b>\\nin two lines'. "
        "This is a fault of linkstep: please report it, with what the terminal shows"
    )
    assert client.answer(ask="quick")["title"] == "quick"


def test_a_process_that_is_killed_is_replaced(client):
    assert client.error(ask="killed") == (
        "the process that worked on it ended (killed, perhaps for want of memory): ask again, or for less"
    )
    for _ in range(jobs.WORKERS + 1):
        assert client.answer(ask="quick")["title"] == "quick"


def test_stopping_ends_the_process_and_what_it_started(client, server, tmp_path):
    pids = tmp_path / "pids"
    job = server.crew.ask({"ask": "slow", "pids": str(pids)}).name
    until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    working = [int(word) for word in pids.read_text().split()]
    assert all(is_alive(pid) for pid in working)
    code, body, _ = client.request("GET", f"api/jobs/{job}/result")
    assert (code, json.loads(body)) == (409, {"error": "there is no answer yet"})
    client.stop(job)
    assert client.events(job)[-1] == ("failed", {"error": "stopped"})
    until(lambda: not any(is_alive(pid) for pid in working))
    client.stop(job)
    assert client.answer(ask="quick")["title"] == "quick"


def test_two_jobs_at_once(client, server, tmp_path):
    """A long one is no reason to wait."""
    pids = tmp_path / "pids"
    job = server.crew.ask({"ask": "slow", "pids": str(pids)}).name
    until(pids.exists)
    assert client.answer(ask="quick")["title"] == "quick"
    assert client.answer(ask="wiring", what="K_3")["title"] == "K_3"
    assert client.request("GET", f"api/jobs/{job}/result")[0] == 409
    client.stop(job)


@pytest.mark.slow
def test_too_many_jobs(client, server, tmp_path):
    made = [server.crew.ask({"ask": "slow", "pids": str(tmp_path / str(k))}) for k in range(jobs.MOST_OPEN)]
    code, body, _ = client.request("POST", "api/ask", '{"ask": "wiring", "what": "K_3"}')
    assert code == 400 and "questions are being worked on" in json.loads(body)["error"]
    events = client_events_of_waiting(client, made[-1].name)
    assert events[0][1]["label"] == "waiting for its turn"
    for job in made:
        client.stop(job.name)
    assert client.answer(ask="quick")["title"] == "quick"


def client_events_of_waiting(client: Client, job: str) -> list[tuple[str, dict[str, object]]]:
    """Stop a job once somebody listens to it, and return what was heard."""
    threading.Timer(1.0, client.stop, [job]).start()
    return client.events(job)


@pytest.mark.slow
def test_a_browser_that_goes_away_stops_nothing(client, server, tmp_path):
    pids = tmp_path / "pids"
    job = server.crew.ask({"ask": "slow", "pids": str(pids)})
    with socket.create_connection((client.url.hostname, client.url.port), timeout=60) as line:
        line.sendall(
            f"GET {client.url.path}api/jobs/{job.name}/events HTTP/1.0\r\nHost: {client.url.netloc}\r\n\r\n".encode()
        )
        assert line.recv(100)
    until(pids.exists)
    assert client.answer(ask="quick")["title"] == "quick"
    assert job.is_open
    client.stop(job.name)


def test_a_word_now_and_then_where_nothing_happens(client, monkeypatch):
    monkeypatch.setattr(serving, "SILENCE", 0.05)
    job = jobs.LiveJob({})
    job.worker = 1
    events = job.events(0.01)
    assert [next(events), next(events)] == [None, None]
    job.advance("counting", 1, 2)
    assert next(events) == ("progress", {"label": "counting", "done": 1, "total": 2})
    job.finish(b"")
    assert list(events) == [("done", {})]


@pytest.mark.slow
def test_answers_are_forgotten(client, server, monkeypatch):
    old = client.ask(ask="quick")
    client.events(old)
    for _ in range(jobs.MOST_ENDED + 1):
        last = client.ask(ask="quick")
        client.events(last)
    assert client.request("GET", f"api/jobs/{old}/result")[0] == 404
    assert client.request("GET", f"api/jobs/{last}/result")[0] == 200
    monkeypatch.setattr(jobs, "KEPT", -1.0)
    assert client.request("GET", f"api/jobs/{last}/result")[0] == 404


# --- files ---


def test_a_file_that_was_given(client, folder):
    for what in ("given.csv", str(folder / "given.csv"), "./given.csv", "schedule/../given.csv"):
        assert client.answer(ask="wiring", what=what)["panels"][0]["data"]["wires"]["nodes"] == 4
    assert client.answer(ask="document", what="given.csv")["panels"][0]["data"]["wires"]["nodes"] == 4


@pytest.mark.parametrize(
    "what",
    ["secret.csv", "{}/secret.csv", "./secret.csv", "link.csv", "missing.csv", "MISSING.JSON", "/etc/passwd", "../x",
     "schedule", "questions.py", "~/x", "given.csv/../secret.csv", "C:\\x"],
)  # fmt: skip
def test_files_that_were_not_given(client, folder, what):
    """In any member of a question, wherever it stands."""
    what = what.format(folder)
    for question in (
        {"ask": "wiring", "what": what},
        {"ask": "document", "what": what},
        {"ask": "wiring", "what": "K_3", "fabric": what},
        {"ask": "wiring", "what": "K_3", "beside": [{"what": what}]},
        {"ask": "wiring", "what": "K_3", "text": what},
    ):
        code, body, _ = client.request("POST", "api/ask", json.dumps(question))
        assert code == 400 and "was not opened" in json.loads(body)["error"]


def test_a_folder_called_as_a_question_is_does_not_matter(client):
    assert client.answer(ask="schedule", what="K_3", collective="allgather")["panels"][0]["kind"] == "schedule"


def test_text_of_a_file_is_no_name(client):
    code, _, _ = client.request("POST", "api/ask", json.dumps({"ask": "quick", "text": "<algo/>\n", "name": "a.xml"}))
    assert code == 200


# --- ports ---


@pytest.mark.slow
def test_a_port_that_is_taken(server):
    with pytest.raises(LinkstepError, match=f"port {server.server_port} cannot be had: address already in use"):
        Server(port=server.server_port)


@pytest.mark.slow
def test_closing_leaves_nobody(tmp_path, folder, monkeypatch):
    monkeypatch.setenv("LINKSTEP_PLUGINS", str(folder / "questions.py"))
    made = Server()
    job = made.crew.ask({"ask": "slow", "pids": str(tmp_path / "pids")})
    until((tmp_path / "pids").exists)
    until(lambda: (tmp_path / "pids").read_text().endswith("\n"))
    working = [int(word) for word in (tmp_path / "pids").read_text().split()]
    start = time.monotonic()
    made.close()
    assert not job.is_open and time.monotonic() - start < 60
    until(lambda: not any(is_alive(pid) for pid in working))
