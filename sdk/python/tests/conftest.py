"""A real server for all tests, and queues of its own for each."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Protocol

import pytest

from steadfast import Steadfast, Worker
from steadfast.testing import Server, server

_numbers = itertools.count(1)


class StartWorker(Protocol):
    """Starts a worker that the test's end stops."""

    def __call__(self, app: Steadfast, queue: str) -> Worker: ...


@pytest.fixture(scope="session")
def running_server() -> Iterator[Server]:
    if "STEADFAST_BIN" not in os.environ:
        pytest.fail("STEADFAST_BIN must name the server's binary")
    with server(arguments=["--store", "memory:", "--sweep-every", "500ms"]) as started:
        yield started


@pytest.fixture(scope="session")
def manual_server() -> Iterator[Server]:
    with server() as started:
        yield started


@pytest.fixture
def live_app(running_server: Server) -> Iterator[Steadfast]:
    app = Steadfast(running_server.url, version="1.2.3")
    yield app
    app.client.close()


@pytest.fixture
def queue() -> str:
    return f"queue-{next(_numbers)}"


@pytest.fixture
def start_worker() -> Iterator[StartWorker]:
    workers: list[Worker] = []

    def start(app: Steadfast, queue: str) -> Worker:
        worker = app.worker(queues=[queue], concurrency=5, lease=6, grace=2)
        worker.start()
        workers.append(worker)
        return worker

    yield start
    for worker in workers:
        worker.stop()
    for worker in workers:
        assert worker.wait(30)
