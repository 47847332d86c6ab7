"""Workers whose server, or a proxy before it, answers anything at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from steadfast import Context, Steadfast, Worker
from steadfast.backoff import Backoff

from .faulty import FAULTS, Fault, FaultyServer

StartServer = Callable[[str], FaultyServer]


@pytest.fixture
def start_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StartServer]:
    # Longer than the four tries of a call, and without the pauses between them.
    monkeypatch.setattr(Backoff, "pause", lambda self, asked=0: 0.01)
    servers: list[FaultyServer] = []

    def start(kind: str) -> FaultyServer:
        servers.append(FaultyServer(kind))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def outcome_of(server: FaultyServer, worker: Worker) -> str:
    worker.start()
    deadline = time.monotonic() + 60
    while not server.has_settled.wait(0.05):
        worker.wait(0)
        assert time.monotonic() < deadline, server.requests
    worker.stop()
    assert worker.wait(30)
    assert len(server.settled) == 1
    return str(server.settled[0]["outcome"])


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize(
    "call", ["GET /claims/job_1/steps/charge", "PUT /claims/job_1/steps/charge"]
)
def test_a_step_is_done_once_although_the_server_is_unwell(
    start_server: StartServer, fault: Fault, call: str
) -> None:
    server = start_server("order")
    server.faults[call] = [fault] * 10
    app = Steadfast(server.url)
    charges: list[str] = []

    def charge() -> str:
        charges.append("charged")
        return "receipt"

    @app.job
    def order(ctx: Context) -> str:
        return ctx.once("charge", charge)

    assert outcome_of(server, app.worker()) == "succeed"
    assert charges == ["charged"]
    assert server.settled[0]["result"] == "receipt"
    app.client.close()


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_an_async_step_is_done_once_although_the_server_is_unwell(
    start_server: StartServer, fault: Fault
) -> None:
    server = start_server("order")
    server.faults["/steps/charge"] = [fault] * 10
    app = Steadfast(server.url)
    charges: list[str] = []

    async def charge() -> str:
        charges.append("charged")
        return "receipt"

    @app.job
    async def order(ctx: Context) -> str:
        result = await ctx.once_async("charge", charge)
        await app.async_client.close()
        return result

    assert outcome_of(server, app.worker()) == "succeed"
    assert charges == ["charged"]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("call", ["/claims", "/claims/settle"])
def test_no_answer_ends_a_worker_that_has_worked(
    start_server: StartServer, fault: Fault, call: str
) -> None:
    server = start_server("order")
    # The first claim is answered, so that a refusal is no wrong setting.
    first: list[Fault] = [(200, b'{"claims":[]}')] if call == "/claims" else []
    server.faults[call] = [*first, fault, fault]
    app = Steadfast(server.url)
    app.job("order")(lambda: None)
    assert outcome_of(server, app.worker()) == "succeed"


ODD_CLAIMS = [
    b'{"claims":{}}',
    b'{"claims":[1]}',
    b'{"claims":[{}]}',
    b'{"claims":[{"id":"job_1","fence":1,"job":{}}]}',
]


@pytest.mark.parametrize("answer", ODD_CLAIMS)
def test_a_claim_of_an_odd_shape_is_asked_for_again(
    start_server: StartServer, answer: bytes
) -> None:
    server = start_server("order")
    server.faults["/claims"] = [(200, answer)]
    app = Steadfast(server.url)
    app.job("order")(lambda: None)
    assert outcome_of(server, app.worker()) == "succeed"


@pytest.mark.parametrize("answer", [b'{"settled":[]}', b'{"settled":[{}]}'])
def test_a_report_that_is_not_confirmed_is_repeated(
    start_server: StartServer, answer: bytes
) -> None:
    server = start_server("order")
    server.faults["/claims/settle"] = [(200, answer)]
    app = Steadfast(server.url)
    app.job("order")(lambda: None)
    assert outcome_of(server, app.worker()) == "succeed"


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_odd_answers_to_heartbeats_end_nothing(start_server: StartServer, fault: Fault) -> None:
    server = start_server("order")
    server.faults["/claims/heartbeat"] = [fault] * 2
    app = Steadfast(server.url)

    @app.job
    def order(ctx: Context) -> None:
        ctx.progress(10)
        while sum(path.endswith("heartbeat") for _, path, _ in server.requests) < 3:
            ctx.sleep("10ms")

    assert outcome_of(server, app.worker(lease="3s")) == "succeed"


def test_a_job_of_an_unknown_kind_is_given_back(start_server: StartServer) -> None:
    server = start_server("of-another-service")
    app = Steadfast(server.url)
    app.job("order")(lambda: None)
    assert outcome_of(server, app.worker()) == "release"


def test_a_worker_claims_only_the_kinds_that_it_can_run(start_server: StartServer) -> None:
    server = start_server("order")
    app = Steadfast(server.url)
    with pytest.raises(ValueError, match="defines no jobs"):
        app.worker().start()
    assert server.requests == []
    worker = app.worker()
    app.job("order")(lambda: None)
    with pytest.raises(ValueError, match="no job of kind other"):
        app.worker(kinds=["order", "other"]).start()
    with pytest.raises(ValueError, match="defines no jobs"):
        app.worker(kinds=[]).start()
    # Also those that were defined after the worker was made.
    assert outcome_of(server, worker) == "succeed"
    assert server.requests[0][2]["kinds"] == ["order"]


def test_a_handler_hears_of_a_stop_before_the_grace_is_over(start_server: StartServer) -> None:
    server = start_server("order")
    app = Steadfast(server.url)
    started = threading.Event()

    @app.job
    def order(ctx: Context) -> str:
        started.set()
        while not ctx.is_stopping:
            ctx.sleep("5ms")
        return "saved"

    worker = app.worker()
    worker.start()
    assert started.wait(30)
    worker.stop()
    assert worker.wait(30)
    assert server.settled[0]["result"] == "saved"
