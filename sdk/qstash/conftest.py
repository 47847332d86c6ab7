"""A target that records what arrives, and the official clients for the server of the script."""

from __future__ import annotations

import json
import os
import queue
import threading
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from qstash import QStash, Receiver

WAIT = 30


@dataclass
class Arrival:
    """A request that reached the target."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict:
        return json.loads(self.body)


@dataclass
class Target:
    """Answers with the status in the path: `/200/name`. Requests are kept by their path."""

    url: str
    arrivals: dict[str, queue.Queue[Arrival]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def at(self, path: str) -> queue.Queue[Arrival]:
        with self.lock:
            return self.arrivals.setdefault(path, queue.Queue())

    def path(self, status: int = 200) -> str:
        return f"/{status}/{uuid.uuid4().hex}"

    def next(self, path: str) -> Arrival:
        return self.at(path).get(timeout=WAIT)


@pytest.fixture(scope="session")
def target() -> Iterator[Target]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            arrival = Arrival(self.command, self.path, headers, self.rfile.read(length))
            status = int(self.path.split("/")[1])
            said = f"{status} {self.responses[status][0]}".encode() if status in self.responses else b"odd"
            self.send_response(status)
            self.send_header("content-length", str(len(said)))
            self.send_header("x-said", "so")
            self.end_headers()
            self.wfile.write(said)
            target.at(self.path).put(arrival)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    target = Target(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield target
    server.shutdown()


@pytest.fixture
def client() -> QStash:
    return QStash(token=os.environ["QSTASH_TOKEN"], retry=False)


@pytest.fixture
def receiver(client: QStash) -> Receiver:
    keys = client.signing_key.get()
    return Receiver(current_signing_key=keys.current, next_signing_key=keys.next)


def call(method: str, path: str, body: object = None, key: str | None = None) -> dict:
    """A call of Steadfast's own API."""
    request = urllib.request.Request(
        os.environ["STEADFAST_URL"] + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "authorization": f"Bearer {key or os.environ['STEADFAST_API_KEY']}",
            "content-type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=WAIT * 3) as response:
        return json.loads(response.read() or b"null")


@pytest.fixture
def ended() -> Callable[[str], dict]:
    """Waits until a message has ended."""

    def wait(message: str) -> dict:
        job = call("GET", f"/api/v1/jobs/{message}?wait={WAIT}s")
        assert job["label"] in ("succeeded", "failed", "cancelled"), job
        return job

    return wait


@pytest.fixture
def name() -> str:
    return f"n{uuid.uuid4().hex}"
