"""A job definition: the one symbol that enqueues jobs of a kind and runs them."""

from __future__ import annotations

import asyncio
import copy
import inspect
import time
import typing
from collections.abc import Awaitable, Callable
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from . import types
from ._generated.options import OPTIONS, JobOptions
from .confirmations import Confirmation
from .context import Context, current_context
from .durations import Duration, to_millis, to_seconds
from .errors import JobFailed
from .payloads import Signature, decode
from .tracing import current_traceparent

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .app import Steadfast

P = ParamSpec("P")
R = TypeVar("R")
"""The result of the handler, awaited if it is `async`."""
C = TypeVar("C")
"""What a direct call returns: R, or an awaitable of it."""

ConfirmFunction = TypeVar(
    "ConfirmFunction", bound=Callable[..., Confirmation | Awaitable[Confirmation]]
)

WAIT_MAX = 30.0
EARLY = 1.0
"""An answer that comes sooner than this has not waited."""
PAUSE = 0.05


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
        check_options(options)
        self.app = app
        self.function = function
        self.kind = kind
        self.options = options
        self.interrupt = interrupt
        self.signature = Signature(function, Context)
        self.is_async = inspect.iscoroutinefunction(function)
        self.confirm_function: Callable[..., Any] | None = None
        self.confirm_signature: Signature | None = None
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", kind)
        self.__wrapped__ = function

    def confirm(self, function: ConfirmFunction) -> ConfirmFunction:
        """Adds the function that says whether the last attempt took effect: `@charge.confirm`.

        It takes the parameters of the handler and returns `done(result)`, `NOT_DONE` or `UNKNOWN`.
        Jobs ask it after an end that leaves that open, before anything is repeated. An error is an
        unknown answer.
        """
        if inspect.iscoroutinefunction(function) != self.is_async:
            form = "async def" if self.is_async else "def"
            raise TypeError(f"the confirm function of {self.kind} must be {form}, as its handler")
        self.confirm_function = function
        self.confirm_signature = Signature(function, Context)
        return function

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
        if self.confirm_function is not None:
            request.setdefault("confirm", {})
        request["payload"] = self.signature.encode(args, kwargs)
        context = current_context()
        traceparent = current_traceparent()
        if traceparent is None and context:
            traceparent = context.traceparent
        if traceparent is None and self.app.traceparent:
            traceparent = self.app.traceparent()
        if traceparent:
            request.setdefault("traceparent", traceparent)
        return typing.cast("types.CreateJobRequest", request)

    def using(self, **options: Unpack[JobOptions]) -> JobDefinition[P, R, C]:
        """The same definition with other options: `welcome.using(delay="5m").enqueue(…)`."""
        check_options(options)
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
        creator = self._app.creator
        self.job = creator.get(self.id) if creator else self._app.client.get_job(self.id)
        return self.job

    def cancel(self) -> types.Job:
        """Cancels it; a handler that runs is stopped."""
        creator = self._app.creator
        self.job = creator.cancel(self.id) if creator else self._app.client.cancel_job(self.id)
        return self.job

    def result(self, timeout: Duration = 30) -> R:
        """Waits for the end of the job and returns the result of its handler.

        Raises `JobFailed` if the job ended without success, and `TimeoutError` after the timeout.
        """
        if self._app.creator:
            # Nothing runs by itself in a test in process.
            self.fetch()
            self._has_ended(0)
            return self._result()
        end = time.monotonic() + to_seconds(timeout)
        while True:
            wait = _wait_until(end)
            asked_at = time.monotonic()
            self.job = self._app.client.request(*self._wait_request(wait), timeout=wait + 10)
            if self._has_ended(end):
                return self._result()
            time.sleep(_pause_after(asked_at, end))

    async def result_async(self, timeout: Duration = 30) -> R:
        """As `result`, without blocking the event loop."""
        end = time.monotonic() + to_seconds(timeout)
        client = self._app.async_client
        while True:
            wait = _wait_until(end)
            asked_at = time.monotonic()
            if self._app.creator:
                self.fetch()
            else:
                request = client.request(*self._wait_request(wait), timeout=wait + 10)
                self.job = await request
            if self._has_ended(end):
                return self._result()
            await asyncio.sleep(_pause_after(asked_at, end))

    def _wait_request(self, wait: float) -> tuple[str, str]:
        return "GET", f"/api/v1/jobs/{self.id}?wait={round(wait * 1000)}ms"

    def _has_ended(self, end: float) -> bool:
        if self.job["label"] in ("succeeded", "failed", "cancelled"):
            return True
        if time.monotonic() >= end:
            raise TimeoutError(f"{self.id} is still {self.job['label']}")
        return False

    def _result(self) -> R:
        if self.job["label"] != "succeeded":
            raise JobFailed(self.job)
        hint = self._definition.signature.result
        return typing.cast("R", decode(hint, self.job.get("result"), "result"))

    def __repr__(self) -> str:
        return f"<job {self.id} of kind {self._definition.kind}>"


def _wait_until(end: float) -> float:
    return min(max(end - time.monotonic(), 0.0), WAIT_MAX)


def _pause_after(asked_at: float, end: float) -> float:
    """The pause before the next request: none if the server waited before it answered."""
    now = time.monotonic()
    return 0 if now > asked_at + EARLY else max(0.0, min(PAUSE, end - now))


def check_options(options: JobOptions) -> None:
    """Raises `TypeError` for an option that jobs do not have."""
    for option in options:
        if option not in OPTIONS:
            raise TypeError(f"a job has no option {option!r}; there are {', '.join(OPTIONS)}")


def fields_of(options: JobOptions) -> dict[str, Any]:
    """The options by their names in the API."""
    request: dict[str, Any] = {}
    check_options(options)
    for option, value in typing.cast("dict[str, Any]", options).items():
        name, form = OPTIONS[option]
        if value is None:
            continue
        if form == "duration":
            value = to_millis(value)
        elif form == "time" or (form == "deadline" and isinstance(value, datetime)):
            value = time_text(value)
        elif form == "deadline":
            value = f"{to_millis(value)}ms"
        request[name] = value
    return request


def time_text(value: datetime) -> str:
    """A time as the API takes it. One without a zone is local time, as everywhere in Python."""
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
