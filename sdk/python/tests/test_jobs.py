"""Definitions and handlers, in process."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from steadfast import (
    Context,
    JobError,
    JobFailed,
    JobOptions,
    PayloadError,
    PermanentError,
    RetryAfter,
    Snooze,
    Steadfast,
    current_context,
)
from steadfast._generated.options import OPTIONS
from steadfast.testing import LocalQueue, in_process

OPENAPI = Path(__file__).resolve().parents[3] / "docs" / "openapi.json"
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
    with pytest.raises(PayloadError, match=r"payload\.user must be a text, but is 3"):
        welcome.enqueue(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(PayloadError):
        later.enqueue(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="no option 'quue'"):
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
        ("ready", None),
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

    with pytest.raises(ValueError, match="at most 100 jobs"):
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


def test_every_option_of_the_api_can_be_given(app: Steadfast) -> None:
    schemas = json.loads(OPENAPI.read_text())["components"]["schemas"]
    work = {"kind", "payload", "api", "http", "like", "schedule", "isRecurring", "timezone"}
    known = {name for name, _ in OPTIONS.values()}
    assert known == set(schemas["CreateJobRequest"]["properties"]) - work

    @app.job
    def report(day: str) -> None: ...

    deadline = datetime(2030, 1, 1, tzinfo=timezone.utc)
    request = report.using(
        unique={"key": "report", "while": "waiting", "onConflict": "replace"},
        debounce="10s",
        after=["job_1"],
        on_failure="run",
        batch="bat_1",
        start_before=deadline,
        on_expiry="cancel",
        max_retries=2,
        job_name="daily report",
    ).request("today")
    assert request == {
        "kind": "report",
        "payload": {"day": "today"},
        "unique": {"key": "report", "while": "waiting", "onConflict": "replace"},
        "debounce": 10_000,
        "after": ["job_1"],
        "onFailure": "run",
        "batch": "bat_1",
        "startBefore": "2030-01-01T00:00:00Z",
        "onExpiry": "cancel",
        "maxRetries": 2,
        "jobName": "daily report",
    }
    assert report.using(start_before="1h30m").request("today").get("startBefore") == "5400000ms"


def test_a_payload_is_checked_when_it_is_enqueued(app: Steadfast, jobs: LocalQueue) -> None:
    pydantic = pytest.importorskip("pydantic")

    class Order(pydantic.BaseModel):  # type: ignore[name-defined, misc]
        number: int = pydantic.Field(gt=0)
        at: datetime

    @app.job
    def ship(order: Order) -> None: ...

    with pytest.raises(PayloadError, match="number"):
        ship.enqueue(Order.model_construct(number=0, at=datetime(2030, 1, 1)))
    given: Any = {"number": 1}
    with pytest.raises(PayloadError, match="at"):
        ship.enqueue(given)
    ship.enqueue(Order(number=1, at=datetime(2030, 1, 1)))
    assert len(jobs.jobs) == 1


@dataclass
class Charge:
    receipt: str


def test_a_step_returns_the_same_type_in_every_attempt(app: Steadfast, jobs: LocalQueue) -> None:
    seen: list[Any] = []

    def charge(amount: int) -> Charge:
        return Charge(f"for {amount}")

    @app.job
    def pay(ctx: Context) -> None:
        seen.append(ctx.once("lambda", lambda: charge(1), returns=Charge))
        seen.append(ctx.once("partial", functools.partial(charge, 2)))
        seen.append(ctx.once("plain", lambda: {"a": [1, None]}))
        if ctx.attempt == 1:
            raise ConnectionError

    pay.enqueue()
    jobs.run_to_end()
    assert seen == [Charge("for 1"), Charge("for 2"), {"a": [1, None]}] * 2


def test_a_step_whose_type_is_not_known_fails_at_once(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job
    def pay(ctx: Context) -> None:
        ctx.once("charge", lambda: Charge("one"))

    pay.enqueue()
    jobs.run_to_end()
    failure = dict(jobs.jobs[0].failure or {})
    assert (jobs.jobs[0].attempt, failure["class"]) == (1, "result")
    assert "returns=Charge" in str(failure["message"])


def test_options_that_are_not_played_in_process_are_refused(
    app: Steadfast, jobs: LocalQueue
) -> None:
    @app.job
    def report() -> None: ...

    options: list[JobOptions] = [
        {"unique": {"key": "one"}},
        {"after": ["job_1"]},
        {"batch": "bat_1"},
        {"start_before": "1h"},
        {"debounce": "1s", "unique": {"key": "one"}},
    ]
    for option in options:
        with pytest.raises(NotImplementedError, match="does not play"):
            report.using(**option).enqueue()
    assert jobs.jobs == []


def test_rules_and_priorities_are_played_in_process(app: Steadfast, jobs: LocalQueue) -> None:
    order: list[str] = []

    @app.job
    def work(name: str, error: str) -> None:
        order.append(name)
        if error:
            raise JobError(f"about {name}", failure_class=error, http_status=503)

    rules: Any = [
        {"match": {"class": "smtp", "message": "*two"}, "then": "fail"},
        {"match": {"status": "5xx", "class": ["other"]}, "then": {"retry": "7s"}},
        {"match": {"class": "ValidationError"}, "then": {"retry": "1s"}},
    ]
    policy: Any = {"maxRetries": 1, "baseDelay": "1s", "rules": rules}
    work.using(retry=policy, priority=1).enqueue("one", "other")
    work.using(retry=policy, priority=9).enqueue("two", "smtp")
    work.using(retry=policy).enqueue("three", "validation")
    work.using(max_retries=0).enqueue("four", "smtp")
    jobs.run_until_idle()
    assert order == ["two", "three", "four", "one"]
    assert [job.label for job in jobs.jobs] == ["retrying", "failed", "retrying", "failed"]
    assert [job.reason for job in jobs.jobs] == [None, "rule", None, "exhausted"]
    jobs.advance("6s")
    jobs.run_until_idle()
    assert order[4:] == ["three"]
    jobs.advance("1s")
    jobs.run_until_idle()
    assert order[5:] == ["one"]


async def test_handles_answer_in_process(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job(retry="once")
    async def double(number: int) -> int:
        if number < 0:
            raise ValueError("below 0")
        return 2 * number

    handle = await double.enqueue_async(2)
    with pytest.raises(TimeoutError, match="still ready"):
        handle.result()
    result, _ = await asyncio.gather(handle.result_async(), jobs.run_until_idle_async())
    assert result == handle.result() == 4
    assert handle.fetch()["label"] == "succeeded"
    failing = double.enqueue(-1)
    await jobs.run_until_idle_async()
    with pytest.raises(JobFailed, match="ValueError: below 0"):
        failing.result()
    waiting = double.using(delay="1h").enqueue(1)
    assert waiting.cancel()["label"] == "cancelled"
    assert jobs.run_to_end() == 0


def test_async_middleware_wraps_async_handlers(app: Steadfast, jobs: LocalQueue) -> None:
    events: list[str] = []

    @app.middleware
    async def outer(ctx: Context) -> AsyncIterator[None]:
        await asyncio.sleep(0)
        events.append("begin")
        yield
        events.append("end")

    @app.middleware
    def inner(ctx: Context) -> Iterator[None]:
        events.append("inner")
        yield

    @app.job
    async def work() -> None:
        events.append("work")

    work.enqueue()
    jobs.run_until_idle()
    assert events == ["begin", "inner", "work", "end"]

    @app.job
    def blocking() -> None: ...

    with pytest.raises(ValueError, match="async middleware cannot wrap a `def` handler"):
        app.worker().start()


def test_timeouts_are_played_in_process(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job(timeout="500ms", retry="once")
    def blocking(seconds: float) -> str:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        return "done"

    @app.job(timeout="500ms", retry="once")
    async def waiting(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "done"

    for job in (blocking, waiting):
        job.enqueue(20)
        job.enqueue(0)
    jobs.run_until_idle()
    classes = [dict(job.failure or {}).get("class") for job in jobs.jobs]
    assert classes == ["timeout", None, "timeout", None]
