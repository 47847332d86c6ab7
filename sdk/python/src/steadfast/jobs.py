"""A job definition: the one symbol that enqueues jobs of a kind and runs them."""

from __future__ import annotations

import copy
import inspect
import time
import typing
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypedDict, TypeVar

from . import types
from .context import Context, current_context
from .durations import Duration, to_millis, to_seconds
from .errors import JobFailed
from .payloads import Signature, decode

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .app import Steadfast

P = ParamSpec("P")
R = TypeVar("R")
"""What the handler returns, awaited if it is `async`."""
C = TypeVar("C")
"""What a direct call returns: R, or an awaitable of it."""

WAIT_MAX = 30.0


class JobOptions(TypedDict, total=False):
    """What can be said about jobs besides their payload; defaults are the server's."""

    queue: str
    """The queue it waits in."""
    retry: types.RetryPolicyInput
    """A preset (`"patient"`), or the fields of a retry policy."""
    priority: int
    """0 to 9, higher first."""
    delay: Duration
    """Not before this long from now."""
    run_at: datetime
    """Not before this time."""
    timeout: Duration
    """How long one attempt may take."""
    lease: Duration
    """How long a claim holds without being renewed."""
    idempotency_key: str
    """One key, one job: enqueuing again with it answers with the same job."""
    concurrency_key: str
    """What is limited together by a gate, such as the id of a customer."""
    destination: str
    """The system that the handler calls, as an origin: gates and its health go by it."""
    tags: Mapping[str, str]
    """Names and values for finding it."""
    type: types.Guarantee
    """How often it may start: `AT_LEAST_ONCE` or `AT_MOST_ONCE`."""
    webhook: types.WebhookRequest
    """Where events of this job are sent."""
    traceparent: str
    """The trace it belongs to; by default that of the handler that enqueues it."""
    tenant: str
    """Whose it is. Only for keys that see all tenants."""


class JobDefinition(Generic[P, R, C]):
    """A kind of job: its handler, its payload and its options.

    Made by `@app.job`. A direct call runs the handler here and now, as a plain function.
    """

    def __init__(
        self,
        app: Steadfast,
        function: Callable[..., Any],
        kind: str,
        options: JobOptions,
        *,
        interrupt: bool = True,
    ) -> None:
        self.app = app
        self.function = function
        self.kind = kind
        self.options = options
        self.interrupt = interrupt
        self.signature = Signature(function, Context)
        self.is_async = inspect.iscoroutinefunction(function)
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", kind)
        self.__wrapped__ = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> C:
        """Runs the handler in the calling code, without a queue and without retries."""
        if self.signature.takes_context:
            context = current_context() or self.app.local_context(self)
            return typing.cast("C", self.function(context, *args, **kwargs))
        return typing.cast("C", self.function(*args, **kwargs))

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Creates a job. When this returns, it is durable."""
        return JobHandle(self.app, self.app.create_job(self.request(*args, **kwargs)), self)

    async def enqueue_async(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """As `enqueue`, without blocking the event loop."""
        job = await self.app.create_job_async(self.request(*args, **kwargs))
        return JobHandle(self.app, job, self)

    def request(self, *args: P.args, **kwargs: P.kwargs) -> types.CreateJobRequest:
        """The request that would create a job: for `enqueue_many`, `on_success` and schedules."""
        request = fields_of(self.options)
        request["kind"] = self.kind
        request["payload"] = self.signature.encode(args, kwargs)
        context = current_context()
        traceparent = context.traceparent if context else None
        if traceparent is None and self.app.traceparent:
            traceparent = self.app.traceparent()
        if traceparent:
            request.setdefault("traceparent", traceparent)
        return typing.cast("types.CreateJobRequest", request)

    def using(self, **options: Unpack[JobOptions]) -> JobDefinition[P, R, C]:
        """The same definition with other options: `welcome.using(delay="5m").enqueue(…)`."""
        other = copy.copy(self)
        other.options = typing.cast("JobOptions", {**self.options, **options})
        return other

    def __repr__(self) -> str:
        return f"<job definition {self.kind}>"


class JobHandle(Generic[R]):
    """A job that was created."""

    def __init__(
        self, app: Steadfast, job: types.Job, definition: JobDefinition[Any, R, Any]
    ) -> None:
        self._app = app
        self._definition = definition
        self.job = job
        """The job as it was when it was created, or fetched last."""

    @property
    def id(self) -> str:
        """`job_…`"""
        return self.job["id"]

    def fetch(self) -> types.Job:
        """The job as it is now."""
        self.job = self._app.client.get_job(self.id)
        return self.job

    def cancel(self) -> types.Job:
        """Cancels it; a handler that runs is stopped."""
        self.job = self._app.client.cancel_job(self.id)
        return self.job

    def result(self, timeout: Duration = 30) -> R:
        """Waits for the end of the job and returns what its handler returned."""
        end = time.monotonic() + to_seconds(timeout)
        while True:
            wait = _wait_until(end)
            path, query = f"/api/v1/jobs/{self.id}", {"wait": f"{round(wait * 1000)}ms"}
            self.job = self._app.client.request("GET", path, query=query, timeout=wait + 10)
            if self._has_ended(end):
                return self._result()

    async def result_async(self, timeout: Duration = 30) -> R:
        """As `result`, without blocking the event loop."""
        end = time.monotonic() + to_seconds(timeout)
        client = self._app.async_client
        while True:
            wait = _wait_until(end)
            path, query = f"/api/v1/jobs/{self.id}", {"wait": f"{round(wait * 1000)}ms"}
            self.job = await client.request("GET", path, query=query, timeout=wait + 10)
            if self._has_ended(end):
                return self._result()

    def _has_ended(self, end: float) -> bool:
        if self.job["label"] in ("succeeded", "failed", "cancelled"):
            return True
        if time.monotonic() >= end:
            raise TimeoutError(f"{self.id} is still {self.job['label']}")
        return False

    def _result(self) -> R:
        if self.job["label"] != "succeeded":
            explanation = self.job.get("explanation") or "no explanation"
            raise JobFailed(self.id, self.job["label"], explanation)
        hint = self._definition.signature.result
        return typing.cast("R", decode(hint, self.job.get("result"), "result"))

    def __repr__(self) -> str:
        return f"<job {self.id} of kind {self._definition.kind}>"


def _wait_until(end: float) -> float:
    return min(max(end - time.monotonic(), 0.0), WAIT_MAX)


NAMES = {"idempotency_key": "idempotencyKey", "concurrency_key": "concurrencyKey"}


def fields_of(options: JobOptions) -> dict[str, Any]:
    """The options by their names in the API."""
    request: dict[str, Any] = {}
    for name, value in options.items():
        if name in ("delay", "timeout", "lease"):
            request[name] = to_millis(typing.cast("Duration", value))
        elif name == "run_at":
            request["runAt"] = time_text(typing.cast("datetime", value))
        elif name in NAMES:
            request[NAMES[name]] = value
        else:
            request[name] = value
    return request


def time_text(value: datetime) -> str:
    """A time as the API takes it. One without a zone is local time, as everywhere in Python."""
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
