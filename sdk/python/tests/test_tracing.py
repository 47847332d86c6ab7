"""Spans of attempts, with the SDK of OpenTelemetry and without it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from steadfast import PermanentError, Snooze, Steadfast
from steadfast.testing import LocalQueue, in_process

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
EXPORTER = InMemorySpanExporter()
TRACERS = TracerProvider()
TRACERS.add_span_processor(SimpleSpanProcessor(EXPORTER))


@pytest.fixture(autouse=True)
def provider(monkeypatch: pytest.MonkeyPatch) -> None:
    # A program sets its provider once and for all; these tests have theirs to themselves.
    monkeypatch.setattr(trace, "get_tracer", TRACERS.get_tracer)


@pytest.fixture
def app() -> Steadfast:
    return Steadfast("http://127.0.0.1:1")


@pytest.fixture
def jobs(app: Steadfast) -> Iterator[LocalQueue]:
    EXPORTER.clear()
    with in_process(app) as queue:
        yield queue


def finished() -> list[ReadableSpan]:
    return [span for span in EXPORTER.get_finished_spans() if span.name.startswith("process")]


def text_of(span: ReadableSpan | trace.Span) -> str:
    context = span.get_span_context()
    assert context
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def test_a_handler_runs_in_a_span_that_is_linked_to_the_creating_span(
    app: Steadfast, jobs: LocalQueue
) -> None:
    @app.job(queue="mail")
    def second() -> None:
        pass

    @app.job(queue="mail")
    def first() -> None:
        second.enqueue()

    first.using(traceparent=TRACE).enqueue()
    jobs.run_until_idle()
    span, next_span = finished()
    assert span.name == "process mail"
    assert span.kind is trace.SpanKind.CONSUMER
    assert span.parent is None
    (link,) = span.links
    assert f"{link.context.trace_id:032x}" == TRACE[3:35]
    attributes = dict(span.attributes or {})
    assert attributes["messaging.system"] == "steadfast"
    assert attributes["messaging.operation.name"] == "process"
    assert attributes["messaging.destination.name"] == "mail"
    assert attributes["steadfast.job.kind"] == "first"
    assert attributes["steadfast.job.attempt"] == 1
    assert str(attributes["messaging.message.id"]).startswith("job_")
    # What the handler creates carries its span.
    assert jobs.jobs[1].request["traceparent"] == text_of(span)
    assert next_span.links[0].context.span_id == int(text_of(span)[36:52], 16)


async def test_an_async_handler_has_its_span_and_a_failure_its_class(
    app: Steadfast, jobs: LocalQueue
) -> None:
    @app.job
    async def broken() -> None:
        assert trace.get_current_span().is_recording()
        raise PermanentError("no")

    @app.job
    async def later() -> None:
        raise Snooze("1m")

    await broken.enqueue_async()
    await later.enqueue_async()
    await jobs.run_until_idle_async()
    failed, snoozed = finished()
    assert not failed.status.is_ok
    assert (failed.attributes or {})["error.type"]
    assert snoozed.status.is_unset


def test_a_job_carries_the_current_span(app: Steadfast, jobs: LocalQueue) -> None:
    @app.job
    def plain() -> None:
        pass

    with trace.get_tracer("test").start_as_current_span("request") as span:
        plain.enqueue()
    assert jobs.jobs[0].request["traceparent"] == text_of(span)


@pytest.mark.parametrize("moment", ["on_start", "on_end"])
def test_errors_of_a_tracer_do_not_reach_the_attempt(
    app: Steadfast, jobs: LocalQueue, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.job
    def plain() -> str:
        return "done"

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the exporter has a bug")

    plain.enqueue()
    with monkeypatch.context() as patch:
        patch.setattr(TRACERS._active_span_processor, moment, broken)
        jobs.run_until_idle()
    assert jobs.jobs[0].result == "done"


def test_it_works_without_opentelemetry() -> None:
    program = """
import sys
sys.modules["opentelemetry"] = None
from steadfast import Steadfast
from steadfast.testing import in_process
app = Steadfast("http://127.0.0.1:1")
@app.job
def plain() -> str:
    return "done"
with in_process(app) as jobs:
    plain.enqueue()
    jobs.run_until_idle()
    assert "traceparent" not in jobs.jobs[0].request
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
