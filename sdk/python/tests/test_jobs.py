"""Definitions and handlers, in process."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pytest

from steadfast import (
    Context,
    JobError,
    PermanentError,
    RetryAfter,
    Snooze,
    Steadfast,
    current_context,
)
from steadfast.testing import LocalQueue, in_process

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def app() -> Steadfast:
    return Steadfast("http://127.0.0.1:1")


@pytest.fixture
def jobs(app: Steadfast) -> Iterator[LocalQueue]:
    with in_process(app) as queue:
        yield queue


def test_one_symbol_enqueues_and_runs(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job(queue="mail", retry="patient", tags={"a": "b"})
    def welcome(user: str, count: int = 1) -> str:
        return user * count

    handle = welcome.using(priority=9, timeout="1m").enqueue("ada", count=2)
    assert handle.id == jobs.jobs[0].id
    assert jobs.jobs[0].request == {
        "kind": "welcome",
        "queue": "mail",
        "retry": "patient",
        "tags": {"a": "b"},
        "priority": 9,
        "timeout": 60_000,
        "payload": {"user": "ada", "count": 2},
    }
    assert jobs.run_until_idle() == 1
    assert (jobs.jobs[0].label, jobs.jobs[0].result) == ("succeeded", "adaada")
    assert welcome("x") == "x"


def test_types_of_calls_are_checked(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job
    def welcome(ctx: Context, user: str) -> int:
        return len(user)

    @app.job(queue="mail")
    async def later(user: str) -> int:
        return len(user)

    # Each of these is an error for the type checker, which would also report a needless ignore.
    with pytest.raises(TypeError):
        welcome.enqueue()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    welcome.enqueue(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    later.enqueue(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    welcome.using(quue="mail")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    length: int = welcome("ada")
    assert length == asyncio.run(_await(later("ada"))) == 3


async def _await(awaitable: Any) -> Any:
    return await awaitable


def test_a_failure_is_retried_when_the_clock_says_so(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job(retry={"maxRetries": 2, "backoff": "exponential", "baseDelay": "1s"})
    def flaky(ctx: Context) -> str:
        if ctx.attempt < 3:
            raise ConnectionError("no")
        assert ctx.is_last_attempt
        return "yes"

    flaky.enqueue()
    job = jobs.jobs[0]
    assert (jobs.run_until_idle(), job.label) == (1, "retrying")
    assert jobs.run_until_idle() == 0
    jobs.advance("1s")
    assert (jobs.run_until_idle(), job.label) == (1, "retrying")
    jobs.advance("1s")
    assert jobs.run_until_idle() == 0
    jobs.advance("1s")
    assert (jobs.run_until_idle(), job.label, job.result) == (1, "succeeded", "yes")
    assert [type(error) for error in job.errors] == [ConnectionError, ConnectionError]


def test_exceptions_carry_the_retry_decision(app: Steadfast, jobs: LocalQueue) -> None:
    class CardExpired(PermanentError): ...

    class SmtpError(JobError): ...

    class Expired(JobError):
        permanent = True

    class Busy(RetryAfter): ...

    class Störung(Exception): ...

    def raised_from(cause: Exception) -> Exception:
        error = PermanentError("no")
        error.__cause__ = cause
        return error

    raised: list[tuple[Exception, str, dict[str, Any]]] = [
        (ValueError("bad"), "retrying", {"class": "ValueError", "message": "bad"}),
        (KeyError(), "retrying", {"class": "KeyError", "message": "KeyError"}),
        (SmtpError("450"), "retrying", {"class": "SmtpError", "message": "450"}),
        (JobError("no"), "retrying", {"class": "error", "message": "no"}),
        (JobError("no", failure_class="x"), "retrying", {"class": "x", "message": "no"}),
        (JobError("no", http_status=503), "retrying", {"class": "error", "httpStatus": 503}),
        (RetryAfter("10s", "busy"), "retrying", {"class": "error", "retryAfter": 10_000}),
        (JobError("no", http_status=404), "failed", {"class": "error", "permanent": None}),
        (PermanentError("no"), "failed", {"class": "validation", "permanent": True}),
        (PermanentError("no", failure_class="not_found"), "failed", {"class": "not_found"}),
        (PermanentError("no", failure_class="x"), "failed", {"class": "x", "permanent": True}),
        (CardExpired("no"), "failed", {"class": "CardExpired", "permanent": True}),
        (Expired("no"), "failed", {"class": "Expired", "permanent": True}),
        (raised_from(SmtpError("550")), "failed", {"class": "SmtpError", "permanent": True}),
        (raised_from(Exception("?")), "failed", {"class": "validation", "permanent": True}),
        (Busy("10s"), "retrying", {"class": "Busy", "retryAfter": 10_000}),
        (Störung("ja"), "retrying", {"class": "Störung"}),
        (Snooze("5m"), "scheduled", {}),
    ]

    @app.job
    def fail(number: int) -> None:
        raise raised[number][0]

    for number, (_, label, fields) in enumerate(raised):
        fail.enqueue(number)
        jobs.run_until_idle()
        job = jobs.jobs[-1]
        assert job.label == label
        failure: dict[str, Any] = dict(job.failure or {})
        assert {key: failure.get(key) for key in fields} == fields
        if fields:
            assert "in fail\n    raise raised" in failure["trace"]
            assert "steadfast/attempts.py" not in failure["trace"]


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, BaseException])
def test_whatever_a_handler_raises_ends_its_attempt(
    app: Steadfast, jobs: LocalQueue, kind: type[BaseException]
) -> None:
    @app.job
    def work() -> None:
        raise kind("out")

    work.enqueue()
    jobs.run_until_idle()
    failure: dict[str, Any] = dict(jobs.jobs[0].failure or {})
    assert (jobs.jobs[0].label, failure["class"]) == ("retrying", kind.__name__)


def test_an_exception_without_a_text_is_a_failure_all_the_same(
    app: Steadfast, jobs: LocalQueue
) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    @app.job
    def work() -> None:
        raise Mute

    work.enqueue()
    jobs.run_until_idle()
    failure: dict[str, Any] = dict(jobs.jobs[0].failure or {})
    assert failure["class"] == "Mute"
    assert failure["message"] == "the exception has no text: RuntimeError"


def test_a_result_that_is_not_json_is_no_reason_to_run_again(
    app: Steadfast, jobs: LocalQueue
) -> None:
    circle: list[Any] = []
    circle.append(circle)
    results: list[Any] = [object(), circle, float("nan")]

    @app.job
    def work(number: int) -> Any:
        return results[number]

    for number in range(len(results)):
        work.enqueue(number)
    jobs.run_until_idle()
    assert [(job.label, dict(job.failure or {}).get("class")) for job in jobs.jobs] == [
        ("failed", "result")
    ] * len(results)


def test_a_snooze_is_not_counted(app: Steadfast, jobs: LocalQueue) -> None:
    attempts: list[int] = []

    @app.job
    def wait(ctx: Context) -> None:
        attempts.append(ctx.attempt)
        if len(attempts) < 3:
            raise Snooze(60)

    wait.enqueue()
    assert jobs.run_to_end() == 3
    assert attempts == [1, 1, 1]


def test_a_misfitting_payload_is_not_retried(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job
    def count(number: int) -> None: ...

    app.enqueue_many([{"kind": "count", "payload": {"number": "many"}}, {"kind": "unknown"}])
    jobs.run_until_idle()
    assert [(job.label, dict(job.failure or {}).get("class")) for job in jobs.jobs] == [
        ("failed", "payload"),
        ("retrying", "unknown_kind"),
    ]


def test_a_result_that_json_cannot_hold_fails_the_attempt(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job(retry="once")
    def bad(which: int) -> Any:
        return [object(), "\ud800", float("inf")][which]

    for which in range(3):
        bad.enqueue(which)
    jobs.run_until_idle()
    assert [job.label for job in jobs.jobs] == ["failed"] * 3


def test_a_message_that_utf8_cannot_hold_is_mended(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job(retry="once")
    def bad() -> None:
        raise ValueError("a\ud800b" + "x" * 10_000)

    bad.enqueue()
    jobs.run_until_idle()
    message = dict(jobs.jobs[0].failure or {})["message"]
    assert isinstance(message, str)
    assert message.startswith("a?bx")
    assert "characters left out" in message


@dataclass
class Receipt:
    number: int


def test_once_runs_a_step_in_one_attempt_only(app: Steadfast, jobs: LocalQueue) -> None:
    charged: list[str] = []

    def charge() -> Receipt:
        charged.append("sync")
        return Receipt(7)

    async def charge_async() -> Receipt:
        charged.append("async")
        return Receipt(8)

    @app.job
    def order(ctx: Context) -> int:
        receipt = ctx.once("charge", charge)
        if ctx.attempt == 1:
            raise ConnectionError
        return receipt.number

    @app.job
    async def order_async(ctx: Context) -> int:
        receipt = await ctx.once_async("charge", charge_async)
        if ctx.attempt == 1:
            raise ConnectionError
        return receipt.number

    order.enqueue()
    order_async.enqueue()
    jobs.run_to_end()
    assert [job.result for job in jobs.jobs] == [7, 8]
    assert charged == ["sync", "async"]


def test_jobs_on_success_are_made_only_then(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job
    def parent(ctx: Context) -> None:
        ctx.on_success(child.request(ctx.attempt))
        if ctx.attempt == 1:
            raise ConnectionError

    @app.job
    def child(number: int) -> None: ...

    parent.enqueue()
    jobs.run_until_idle()
    assert [job.kind for job in jobs.jobs] == ["parent"]
    jobs.run_to_end()
    assert [(job.kind, job.payload) for job in jobs.jobs] == [
        ("parent", None),
        ("child", {"number": 2}),
    ]


def test_more_jobs_on_success_than_the_server_takes_are_refused(app: Steadfast) -> None:
    @app.job
    def parent(ctx: Context) -> None:
        ctx.on_success(*[parent.request() for _ in range(101)])

    with pytest.raises(ValueError, match="more than 100 jobs on success"):
        parent()


def test_traces_are_passed_on(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job
    def parent(ctx: Context) -> None:
        assert ctx.traceparent == TRACE
        child.enqueue()

    @app.job
    def child() -> None: ...

    app.traceparent = lambda: TRACE
    parent.enqueue()
    app.traceparent = None
    jobs.run_until_idle()
    assert [job.request.get("traceparent") for job in jobs.jobs] == [TRACE, TRACE]


def test_progress_and_notes_are_kept(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job
    def work(ctx: Context) -> None:
        ctx.note("begun")
        ctx.progress(50)
        with pytest.raises(ValueError, match="0 to 100"):
            ctx.progress(101)

    work.enqueue()
    jobs.run_until_idle()
    assert (jobs.jobs[0].note, jobs.jobs[0].percent) == ("begun", 50)


def test_middleware_surrounds_every_handler(app: Steadfast, jobs: LocalQueue) -> None:
    seen: list[str] = []
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")

    @app.middleware
    def outer(ctx: Context) -> Iterator[None]:
        seen.append(f"outer {ctx.job['kind']}")
        tenant.set("acme")
        try:
            yield
        except ConnectionError:
            seen.append("failed")
            raise
        finally:
            seen.append("end")

    @app.middleware
    def inner(ctx: Context) -> Iterator[None]:
        seen.append("inner")
        yield

    @app.job(retry="once")
    def sync_job() -> None:
        context = current_context()
        assert context
        assert context.attempt == 1
        raise ConnectionError

    @app.job
    async def async_job() -> str:
        return tenant.get()

    sync_job.enqueue()
    async_job.enqueue()
    jobs.run_until_idle()
    assert seen == ["outer sync_job", "inner", "failed", "end", "outer async_job", "inner", "end"]
    assert jobs.jobs[1].result == "acme"
    assert current_context() is None


async def test_async_handlers_can_run_in_the_loop_of_the_test(
    app: Steadfast, jobs: LocalQueue
) -> None:
    loop = asyncio.get_running_loop()

    @app.job
    async def here() -> bool:
        return asyncio.get_running_loop() is loop

    await here.enqueue_async()
    assert await jobs.run_until_idle_async() == 1
    assert jobs.jobs[0].result is True
    here.enqueue()
    assert jobs.run_until_idle() == 1
    assert jobs.jobs[1].result is False


def test_times_and_keys(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job
    def work() -> None: ...

    later = datetime(2030, 1, 2, tzinfo=timezone.utc)
    work.using(run_at=later).enqueue()
    work.using(delay=90).enqueue()
    first = work.using(idempotency_key="one").enqueue()
    assert work.using(idempotency_key="one").enqueue().id == first.id
    assert jobs.run_until_idle() == 1
    assert jobs.run_to_end() == 2
    assert jobs.now == later


def test_a_kind_is_defined_once(app: Steadfast) -> None:
    @app.job("Mail::Welcome")
    def welcome() -> None: ...

    assert app.find("Mail::Welcome") is welcome
    with pytest.raises(ValueError, match="defined twice"):
        app.job("Mail::Welcome")(lambda: None)
