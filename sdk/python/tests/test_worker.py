"""Workers against a real server. What server faults do to them is in ../conformance."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time

import pytest

from steadfast import ApiError, Context, JobAborted, JobFailed, Json, Steadfast, Worker
from steadfast.testing import Server

from .conftest import StartWorker
from .scripted import ScriptedServer


def test_a_result_is_waited_for_and_typed(
    live_app: Steadfast, queue: str, start_worker: StartWorker
) -> None:
    @live_app.job(queue=queue)
    def add(a: int, b: int) -> int:
        return a + b

    @live_app.job(queue=queue, retry="once")
    async def fail() -> None:
        raise ValueError("it went wrong")

    start_worker(live_app, queue)
    assert add.enqueue(1, b=2).result() == 3
    with pytest.raises(JobFailed, match="failed: ValueError: it went wrong") as failed:
        fail.enqueue().result()
    assert failed.value.failure_class == "ValueError"
    assert failed.value.failure_message == "it went wrong"
    with pytest.raises(TimeoutError):
        add.using(delay="1h").enqueue(1, 2).result(timeout=0)


async def test_async_calls_do_the_same(
    live_app: Steadfast, queue: str, start_worker: StartWorker
) -> None:
    @live_app.job(queue=queue)
    async def echo(payload: Json, /) -> Json:
        return payload

    start_worker(live_app, queue)
    handle = await echo.enqueue_async({"text": "ä 🦀"})
    assert await handle.result_async() == {"text": "ä 🦀"}
    jobs = await live_app.enqueue_many_async(echo.request(n) for n in range(3))
    assert [job["kind"] for job in jobs] == ["echo"] * 3
    await live_app.async_client.close()


def test_a_cancel_interrupts_a_busy_thread(
    live_app: Steadfast, queue: str, start_worker: StartWorker
) -> None:
    started, ended = threading.Event(), threading.Event()
    caught: list[BaseException] = []

    @live_app.job(queue=queue)
    def spin(ctx: Context) -> None:
        try:
            started.set()
            while True:
                pass
        except JobAborted as error:
            caught.append(error)
            raise
        finally:
            ended.set()

    start_worker(live_app, queue)
    handle = spin.enqueue()
    assert started.wait(30)
    handle.cancel()
    assert ended.wait(30)
    with pytest.raises(JobFailed, match="cancelled"):
        handle.result()
    assert len(caught) == 1


def test_a_handler_that_may_not_be_interrupted_looks_for_itself(
    live_app: Steadfast, queue: str, start_worker: StartWorker
) -> None:
    started = threading.Event()
    reasons: list[str | None] = []

    @live_app.job(queue=queue, interrupt=False)
    def careful(ctx: Context) -> str:
        started.set()
        try:
            ctx.sleep(30)
        except JobAborted:
            reasons.append(ctx.abort_reason)
        return "cleaned up"

    start_worker(live_app, queue)
    handle = careful.enqueue()
    assert started.wait(30)
    handle.cancel()
    # It was asked to stop, and reported how it stands: done.
    assert handle.result() == "cleaned up"
    assert reasons == ["cancelled"]


def test_an_interrupt_never_hits_the_next_job(
    live_app: Steadfast, queue: str, start_worker: StartWorker
) -> None:
    """A timeout is due at the moment in which handlers end; no other job may be hit."""

    @live_app.job(queue=queue, timeout="20ms", retry="once")
    def close_call(seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass

    @live_app.job(queue=queue, retry="once")
    def innocent() -> str:
        return "fine"

    requests = [
        request for _ in range(20) for request in (close_call.request(0.019), innocent.request())
    ]
    worker = live_app.worker(queues=[queue], concurrency=1, grace=5)
    worker.start()
    jobs = live_app.enqueue_many(requests)
    end = time.monotonic() + 30
    labels: list[str] = []
    while time.monotonic() < end:
        labels = [live_app.client.get_job(job["id"])["label"] for job in jobs[1::2]]
        if set(labels) <= {"succeeded", "failed"}:
            break
    assert set(labels) == {"succeeded"}
    worker.stop()
    assert worker.wait(30)


def test_context_variables_do_not_leak_from_one_job_to_the_next(
    live_app: Steadfast, queue: str
) -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="none")

    @live_app.job(queue=queue)
    def work() -> str:
        before = tenant.get()
        tenant.set("leaked")
        return before

    worker = live_app.worker(queues=[queue], concurrency=1)
    worker.start()
    assert [work.enqueue().result() for _ in range(3)] == ["none"] * 3
    worker.stop()
    assert worker.wait(30)


async def test_a_worker_runs_in_the_loop_of_an_application(live_app: Steadfast, queue: str) -> None:
    loop = asyncio.get_running_loop()

    @live_app.job(queue=queue)
    async def here() -> bool:
        return asyncio.get_running_loop() is loop

    worker = live_app.worker(queues=[queue])
    task = asyncio.create_task(worker.run_async())
    handle = await here.enqueue_async()
    assert await handle.result_async() is True
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert worker.wait(0)
    await live_app.async_client.close()


def test_a_stop_before_the_start_ends_it_at_once(live_app: Steadfast, queue: str) -> None:
    @live_app.job(queue=queue)
    def work() -> None: ...

    worker = live_app.worker(queues=[queue])
    worker.stop()
    worker.start()
    assert worker.wait(30)
    with pytest.raises(RuntimeError, match="only once"):
        worker.start()


def test_a_claim_that_is_refused_from_the_beginning_ends_the_worker(live_app: Steadfast) -> None:
    @live_app.job
    def work() -> None: ...

    worker = live_app.worker(queues=["no such name!"])
    worker.start()
    with pytest.raises(ApiError) as error:
        worker.wait(30)
    assert error.value.field == "queues[0]"


def test_a_server_that_keeps_no_list_of_workers_is_served_all_the_same() -> None:
    refusal = b'{"code":"unknown_field","detail":"there is no field","field":"workerInfo"}'
    head = f"HTTP/1.1 422 No\r\ncontent-length: {len(refusal)}\r\n\r\n".encode()
    server = ScriptedServer([head + refusal, b""])
    app = Steadfast(server.url)
    app.job("work")(lambda: None)
    worker = app.worker()
    worker.start()
    while len(server.requests) < 2:
        assert not worker.wait(0.01)
    worker.stop()
    assert worker.wait(30)
    assert [b"workerInfo" in request for request in server.requests[:2]] == [True, False]


def test_options_that_make_no_sense_are_refused(live_app: Steadfast) -> None:
    for number in range(101):
        live_app.job(f"kind-{number}")(lambda: None)
    with pytest.raises(ValueError, match="at most 100"):
        live_app.worker().start()
    with pytest.raises(ValueError, match="at least 1"):
        live_app.worker(concurrency=0, kinds=["kind-1"])
    with pytest.raises(ValueError, match="30s, 5m or 1h30m"):
        Worker(live_app, kinds=["kind-1"], grace="soon")


def test_retries_follow_a_clock_that_the_test_moves(manual_server: Server) -> None:
    app = Steadfast(manual_server.url)

    @app.job(retry={"maxRetries": 2, "baseDelay": "1s", "jitter": "none"})
    def flaky(ctx: Context) -> str:
        if ctx.attempt < 3:
            raise ConnectionError("not yet")
        return "at last"

    worker = app.worker()
    worker.start()
    handle = flaky.enqueue()
    manual_server.run_until_idle()
    assert handle.fetch()["label"] == "retrying"
    manual_server.advance("1s")
    manual_server.run_until_idle()
    assert handle.fetch()["label"] == "retrying"
    manual_server.advance("2s")
    manual_server.run_until_idle()
    assert handle.result() == "at last"
    worker.stop()
    assert worker.wait(30)
    app.client.close()
