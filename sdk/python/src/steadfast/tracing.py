"""Spans of OpenTelemetry, if its API is installed; otherwise nothing here costs anything."""

from __future__ import annotations

import contextlib
import logging
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

log = logging.getLogger("steadfast.worker")


class AttemptSpan:
    """The span of an attempt, which is the current one within and learns how the attempt ended.

    It begins a trace of its own, linked to the span that created the job. No error of a tracer or
    an exporter reaches the attempt.
    """

    def __init__(self, job: types.Job) -> None:
        self._job = job
        self._stack = contextlib.ExitStack()
        self._span: Any = None

    def __enter__(self) -> AttemptSpan:
        if _installed:
            with _errors_logged():
                self._span = self._stack.enter_context(_start(self._job))
        return self

    def fail(self, error: BaseException | None) -> None:
        """The attempt failed with this error."""
        if self._span is None or error is None:
            return
        with _errors_logged():
            name = class_of(error)
            self._span.set_attribute("error.type", name)
            self._span.set_status(trace.Status(trace.StatusCode.ERROR, name))

    def __exit__(self, *_: object) -> None:
        with _errors_logged():
            self._stack.close()


@contextlib.contextmanager
def _errors_logged() -> Iterator[None]:
    try:
        yield
    except Exception:
        log.exception("an attempt is not traced")


def _start(job: types.Job) -> contextlib.AbstractContextManager[Any]:
    fields: Mapping[str, Any] = job
    creator = _span_context(fields.get("traceparent"))
    attributes = {
        "messaging.system": "steadfast",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": fields.get("queue"),
        "messaging.message.id": fields.get("id"),
        "messaging.client.id": fields.get("worker"),
        "steadfast.job.kind": fields.get("kind"),
        "steadfast.job.tenant": fields.get("tenant"),
        "steadfast.job.attempt": fields.get("attempt"),
    }
    known = {name: value for name, value in attributes.items() if value is not None}
    tracer = trace.get_tracer("steadfast-jobs", VERSION)
    return tracer.start_as_current_span(
        f"process {fields.get('queue', '')}",
        context=TraceContext(),
        kind=trace.SpanKind.CONSUMER,
        attributes=known,
        links=[trace.Link(creator)] if creator else [],
        record_exception=False,
        set_status_on_exception=False,
    )


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
