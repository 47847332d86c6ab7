"""A real server for a test, in memory, whose clock stands still until the test moves it."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..client import Client, Settings
from ..durations import Duration, to_millis, to_seconds
from ..http import BlockingConnection, Target

START_TIME = 20.0


class Server:
    """A server that a test has started."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = Client(url)
        """Every operation of the API."""

    def advance(self, by: Duration) -> str:
        """Moves the clock; returns the time it shows then."""
        body = {"by": to_millis(by)}
        return str(self.client.request("POST", "/api/v1/test/advance", body=body)["now"])

    def run_until_idle(self, timeout: Duration = 10) -> None:
        """Waits until nothing is due and nothing runs; raises `TimeoutError` after the timeout."""
        left = self.client.request(
            "POST",
            "/api/v1/test/run-until-idle",
            body={"timeout": to_millis(timeout)},
            timeout=to_seconds(timeout) + 10,
        )
        if left["due"] or left["running"]:
            raise TimeoutError(f"{left['due']} jobs are due and {left['running']} run")


@contextlib.contextmanager
def server(binary: str | None = None, arguments: Sequence[str] = ()) -> Iterator[Server]:
    """Starts `steadfast serve` on a free port, and stops it at the end.

    The binary is that of `STEADFAST_BIN`, or `steadfast` on the path, unless given. With arguments,
    it is started with those instead of a store in memory and a clock that stands still.
    """
    found = binary or os.environ.get("STEADFAST_BIN") or shutil.which("steadfast")
    if not found:
        raise FileNotFoundError("no server: put steadfast on the path, or set STEADFAST_BIN")
    address = f"127.0.0.1:{_free_port()}"
    chosen = list(arguments) or ["--store", "memory:", "--clock", "manual"]
    with tempfile.TemporaryDirectory(prefix="steadfast-") as directory:
        output = Path(directory) / "output"
        with output.open("wb") as log:
            process = subprocess.Popen(
                [found, "serve", "--listen", address, "--log-level", "warn", *chosen],
                cwd=directory,
                env={k: v for k, v in os.environ.items() if not k.startswith("STEADFAST_")},
                stdout=log,
                stderr=log,
            )
        try:
            _wait_until_ready(process, f"http://{address}", output)
            started = Server(f"http://{address}")
            with started.client:
                yield started
        finally:
            process.kill()
            process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, output: Path) -> None:
    end = time.monotonic() + START_TIME
    connection = BlockingConnection(Target(Settings(url)))
    with contextlib.closing(connection):
        while time.monotonic() < end and process.poll() is None:
            with contextlib.suppress(OSError):
                if connection.send("GET", "/readyz", b"", START_TIME).status == 200:
                    return
            time.sleep(0.02)
    raise RuntimeError(f"the server did not start: {output.read_text().strip()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
