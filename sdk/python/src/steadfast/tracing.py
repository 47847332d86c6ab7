"""Spans of OpenTelemetry, if its API is installed; otherwise nothing here costs anything."""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Iterator, Mapping
from typing import Any

try:
    from opentelemetry import trace
    from opentelemetry.context import Context as TraceContext
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    _installed = False
else:
    _installed = True

from . import types
from .errors import class_of
from .version import VERSION


class AttemptSpan:
    """The span of an attempt, which learns how the attempt ended."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def fail(self, error: BaseException | None) -> None:
        """The attempt failed with this error."""
        if self._span is None or error is None:
            return
        name = class_of(error)
        self._span.set_attribute("error.type", name)
        self._span.set_status(trace.Status(trace.StatusCode.ERROR, name))


_NO_SPAN = AttemptSpan()


@contextlib.contextmanager
def attempt_span(job: types.Job) -> Iterator[AttemptSpan]:
    """The span of an attempt is the current one within.

    It begins a trace of its own, linked to the span that created the job.
    """
    if not _installed:
        yield _NO_SPAN
        return
    fields: Mapping[str, Any] = job
    tracer = trace.get_tracer("steadfast-jobs", VERSION)
    creator = _span_context(fields.get("traceparent"))
    attributes = {
        "messaging.system": "steadfast",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": job["queue"],
        "messaging.message.id": job["id"],
        "steadfast.job.kind": job["kind"],
        "steadfast.job.tenant": job["tenant"],
        "steadfast.job.attempt": job["attempt"],
    }
    worker = fields.get("worker")
    if worker:
        attributes["messaging.client.id"] = worker
    with tracer.start_as_current_span(
        f"process {job['queue']}",
        context=TraceContext(),
        kind=trace.SpanKind.CONSUMER,
        attributes=typing.cast("Any", attributes),
        links=[trace.Link(creator)] if creator else [],
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        yield AttemptSpan(span)


def current_traceparent() -> str | None:
    """The current span in the format of W3C, if there is one."""
    if not _installed or not trace.get_current_span().get_span_context().is_valid:
        return None
    headers: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(headers)
    return headers.get("traceparent")


def _span_context(traceparent: str | None) -> Any:
    if not traceparent:
        return None
    context = TraceContextTextMapPropagator().extract({"traceparent": traceparent}, TraceContext())
    span = trace.get_current_span(context).get_span_context()
    return span if span.is_valid else None
