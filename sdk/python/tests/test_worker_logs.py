"""How a worker sends the logs of its attempts."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

from steadfast import Context, Steadfast, Worker, types
from steadfast.attempts import outcome
from steadfast.backoff import Backoff
from steadfast.logs import BYTES_MAX, LINES_MAX
from steadfast.payloads import to_json
from steadfast.worker.heartbeats import Heartbeats, unsent_logs
from steadfast.worker.held import SETTLEMENT_BYTES_MAX, Held, Registry

from .faulty import Fault, FaultyServer, claim_of

REQUEST_BYTES_MAX = 1024 * 1024
REFUSED: Fault = (422, b'{"code":"invalid","detail":"the log is refused"}')
AWAY: Fault = (503, b"")


def new_held(lease: float | None = None) -> Held:
    app = Steadfast("http://127.0.0.1:1")
    return Held(app, cast("types.Claim", claim_of("order")), lease)


def fill_log(held: Held) -> None:
    """As much as is kept, in text that has six bytes in JSON for each of its own."""
    for _ in range(LINES_MAX):
        held.context.attempt_log.add(logging.ERROR, "\x01" * (BYTES_MAX // LINES_MAX))


def texts(log: types.LogLines | None) -> list[str]:
    return [line["text"] for line in (log or {}).get("lines") or []]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    monkeypatch.setattr(Backoff, "pause", lambda self, asked=0: 0.01)
    server = FaultyServer("order")
    yield server
    server.close()


def settlement_of(server: FaultyServer, worker: Worker) -> dict[str, Any]:
    worker.start()
    deadline = time.monotonic() + 60
    while not server.has_settled.wait(0.05):
        worker.wait(0)
        assert time.monotonic() < deadline, server.requests
    worker.stop()
    assert worker.wait(30)
    assert len(server.settled) == 1
    return server.settled[0]


def heartbeats_of(server: FaultyServer) -> list[dict[str, Any]]:
    return [body["claims"][0] for _, path, body in server.requests if path == "/claims/heartbeat"]


def test_heartbeats_with_full_logs_fit_into_requests() -> None:
    claims = [new_held() for _ in range(4)]
    for held in claims:
        fill_log(held)
    for count in range(len(claims)):
        logs = unsent_logs(claims)
        assert sum(log is not None for log in logs) == 1, count
        assert len(to_json(logs).encode()) < REQUEST_BYTES_MAX
        for held, log in zip(claims, logs, strict=True):
            held.context.attempt_log.mark_stored(log)
    assert unsent_logs(claims) == [None] * len(claims)


def test_a_log_is_left_out_of_a_report_if_it_does_not_fit_beside_the_result() -> None:
    held = new_held()
    fill_log(held)
    held.outcome = outcome("succeed", result="x" * 600 * 1024)
    held.write_settlement()
    assert not held.has_log
    assert len(held.settlement) < SETTLEMENT_BYTES_MAX
    held.outcome = outcome("succeed")
    held.write_settlement()
    assert held.has_log
    assert len(held.settlement) < SETTLEMENT_BYTES_MAX


def test_the_last_lines_go_with_the_report_if_heartbeats_fail(server: FaultyServer) -> None:
    server.faults["/claims/heartbeat"] = [AWAY] * 1_000
    app = Steadfast(server.url)

    @app.job
    def order(ctx: Context) -> None:
        ctx.log.info("first")
        ctx.log.warning("last")

    settled = settlement_of(server, app.worker())
    assert texts(settled.get("log")) == ["first", "last"]


def test_leases_are_renewed_without_a_log_that_is_refused(server: FaultyServer) -> None:
    server.faults["/claims/heartbeat"] = [REFUSED]
    app = Steadfast(server.url)
    is_renewed = threading.Event()

    @app.job
    def order(ctx: Context) -> None:
        ctx.log.info("refused")
        while len(heartbeats_of(server)) < 2:
            ctx.sleep(0.01)
        is_renewed.set()

    settled = settlement_of(server, app.worker())
    assert is_renewed.is_set()
    first, second = heartbeats_of(server)[:2]
    assert texts(first["log"]) == ["refused"]
    assert "log" not in second
    assert (settled["outcome"], settled.get("log")) == ("succeed", None)


def test_a_log_that_is_refused_does_not_turn_a_success_into_a_failure(
    server: FaultyServer,
) -> None:
    server.faults["/claims/heartbeat"] = [AWAY] * 1_000
    server.faults["/claims/settle"] = [REFUSED]
    app = Steadfast(server.url)

    @app.job
    def order(ctx: Context) -> str:
        ctx.log.info("refused")
        return "done"

    settled = settlement_of(server, app.worker())
    assert (settled["outcome"], settled["result"], settled.get("log")) == ("succeed", "done", None)


class LoggingConnection:
    """Its heartbeats take long enough for another line."""

    def __init__(self, held: Held) -> None:
        self.held = held
        self.heartbeats: Heartbeats | None = None
        self.bodies: list[bytes] = []
        self.has_second = asyncio.Event()

    async def heartbeat(self, body: bytes, timeout: float, count: int) -> list[dict[str, Any]]:
        self.bodies.append(body)
        if len(self.bodies) == 1:
            self.held.context.add_log_line(logging.INFO, "second")
            await asyncio.sleep(0)
        else:
            self.has_second.set()
        return [{"ok": True}] * count


async def test_a_line_that_is_logged_while_others_are_sent_is_sent_soon() -> None:
    held = new_held(lease=3_600)
    registry = Registry()
    registry.add(held)
    connection = LoggingConnection(held)
    heartbeats = Heartbeats(cast("Any", connection), registry, "worker", None)
    heartbeats.watch([held])
    held.context.on_progress = heartbeats.announce
    task = asyncio.create_task(heartbeats.run())
    held.context.add_log_line(logging.INFO, "first")
    try:
        await asyncio.wait_for(connection.has_second.wait(), 60)
    finally:
        task.cancel()
    assert b"first" in connection.bodies[0]
    assert b"second" in connection.bodies[1]
