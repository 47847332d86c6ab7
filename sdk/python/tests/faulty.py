"""A server with one job, which answers some requests with faults."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Fault = tuple[int, bytes]

FAULTS: dict[str, Fault] = {
    "an error": (500, b'{"code":"internal","detail":"a bug"}'),
    "a proxy without server": (502, b"<html>Bad Gateway</html>"),
    "a server that is away": (503, b""),
    "too many requests": (429, b'{"code":"busy","detail":"too many"}'),
    "a revoked key": (403, b'{"code":"forbidden","detail":"the key is revoked"}'),
    "rubbish": (200, b"<html>hello</html>"),
    "an empty object": (200, b"{}"),
    "an empty list": (200, b"[]"),
}


class FaultyServer:
    """Gives out one job. `faults` are the next answers to requests whose path ends like this."""

    def __init__(self, kind: str) -> None:
        self.faults: dict[str, list[Fault]] = {}
        self.requests: list[tuple[str, str, Any]] = []
        self.settled: list[dict[str, Any]] = []
        self.has_settled = threading.Event()
        self._steps: dict[str, Any] = {}
        self._claims = [claim_of(kind)]
        self._lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                status, content = owner.answer(self.command, self.path, body)
                self.send_response(status)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_any  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, target: str, body: bytes) -> Fault:
        path = target.partition("?")[0].removeprefix("/api/v1")
        request = json.loads(body) if body else None
        with self._lock:
            self.requests.append((method, path, request))
            for end, faults in self.faults.items():
                if f"{method} {path}".endswith(end) and faults:
                    return faults.pop(0)
            status, answer = self._answer(method, path, request)
        return status, json.dumps(answer).encode()

    def _answer(self, method: str, path: str, request: Any) -> tuple[int, Any]:
        if path == "/claims":
            given, self._claims = self._claims, []
            return 200, {"claims": given}
        if path == "/claims/heartbeat":
            return 200, {"claims": [{"ok": True} for _ in request["claims"]]}
        if path == "/claims/settle":
            self.settled += request["settlements"]
            self.has_settled.set()
            return 200, {"settled": [{"ok": True} for _ in request["settlements"]]}
        if method == "PUT":
            return 200, {"result": self._steps.setdefault(path, request["result"])}
        if path in self._steps:
            return 200, {"result": self._steps[path]}
        return 404, {"code": "step_not_found", "detail": "there is no such step"}


def claim_of(kind: str) -> dict[str, Any]:
    job = {
        "id": "job_1",
        "kind": kind,
        "queue": "default",
        "type": "AT_LEAST_ONCE",
        "attempt": 1,
        "attemptsBefore": 0,
        "maxRetries": 3,
        "leaseMs": 30_000,
        "label": "running",
        "payload": None,
        "tags": {},
    }
    return {"id": "job_1", "fence": 1, "job": job}
