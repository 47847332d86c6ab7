"""The context of an attempt: its job, progress, steps, and jobs to create on success."""

from __future__ import annotations

import functools
import inspect
import logging
import threading
import typing
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from . import types
from .durations import Duration, to_seconds
from .errors import JobAborted, PermanentError
from .logs import AttemptLog, JobLogger
from .payloads import decode, to_json

T = TypeVar("T")

_current: ContextVar[Context | None] = ContextVar("steadfast_context", default=None)


class StepStore(Protocol):
    """Where the results of `once` steps are kept."""

    def load(self, name: str) -> tuple[bool, Any]:
        """Whether the step has succeeded before, and its result."""
        ...

    def save(self, name: str, result: Any) -> Any:
        """Keeps the result of a step and returns it; the first one wins."""
        ...

    async def load_async(self, name: str) -> tuple[bool, Any]:
        """As `load`."""
        ...

    async def save_async(self, name: str, result: Any) -> Any:
        """As `save`."""
        ...

    def prerequisites(self) -> list[types.PrerequisiteResult]:
        """The jobs that the job has waited for."""
        ...

    async def prerequisites_async(self) -> list[types.PrerequisiteResult]:
        """As `prerequisites`."""
        ...


class Context:
    """An attempt at a job, as its handler sees it.

    A handler gets it as its first parameter if that is annotated with this class; code that it
    calls can use `current_context()`.
    """

    def __init__(self, job: types.Job, steps: StepStore) -> None:
        self.job = job
        """The job, as the API describes it."""
        self.on_success_requests: list[types.CreateJobRequest] = []
        self.news: tuple[str | None, int | None] = (None, None)
        """The note and the progress in percent that the handler has given."""
        self.used: dict[str, float] = {}
        """What the handler says that the attempt has used, by unit."""
        self.attempt_log = AttemptLog()
        """What the handler has logged."""
        self.abort_reason: str | None = None
        """Why the handler should stop: `cancelled`, `timeout`, `lost` or `stopping`."""
        self.is_stopping = False
        """Whether the worker has begun to stop. The handler is aborted when the grace is over."""
        self.on_progress: Callable[[], object] | None = None
        self.on_abort: Callable[[], object] | None = None
        self._steps = steps
        self._aborted = threading.Event()

    @property
    def id(self) -> str:
        """The id of the job, the same for every attempt: an idempotency key for other systems."""
        return self.job["id"]

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self.job["attempt"]

    @property
    def is_last_attempt(self) -> bool:
        """Whether a failure of this attempt would be the end of the job."""
        if self.job["type"] == "AT_MOST_ONCE":
            return True
        return self.attempt - self.job["attemptsBefore"] > self.job["maxRetries"]

    @property
    def traceparent(self) -> str | None:
        """The trace that the job belongs to; jobs that the handler enqueues get it, too."""
        job: Mapping[str, Any] = self.job
        return job.get("traceparent")

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose records have the fields `job`, `kind` and `attempt`.

        From INFO on they are also kept with the attempt, for the page of the job and
        `steadfast jobs logs`: the newest 1,000 lines or 64 KiB.
        """
        return JobLogger(self.log_fields, self.add_log_line)

    def add_log_line(self, level: int, text: str) -> None:
        """Adds a line to the log of the attempt, with a level of `logging`."""
        self.attempt_log.add(level, text)
        if self.on_progress:
            self.on_progress()

    @property
    def log_fields(self) -> dict[str, Any]:
        """Fields for structured logs."""
        return {"job": self.id, "kind": self.job["kind"], "attempt": self.attempt}

    def progress(self, percent: int, note: str | None = None) -> None:
        """Reports the progress in percent, 0 to 100, with a short note.

        It is sent with the next heartbeat and before the outcome, so calling it often is cheap.
        """
        if not 0 <= percent <= 100:
            raise ValueError(f"progress must be 0 to 100, not {percent}")
        self._tell(self.news[0] if note is None else note, int(percent))

    def note(self, text: str) -> None:
        """Shows a note with the job."""
        self._tell(text, self.news[1])

    def usage(self, used: Mapping[str, float]) -> None:
        """Reports what this attempt has used, by unit: `context.usage({"tokens": 2210})`.

        Gates with rates in these units give back or charge the difference to the `cost` of the job
        when the attempt ends, whatever its outcome. The last report counts. Without one, the cost
        is charged.
        """
        for unit, amount in used.items():
            if not 0 <= amount < float("inf"):
                raise ValueError(f"usage of {unit} must be a number from 0, not {amount}")
        self.used = dict(used)

    def _tell(self, note: str | None, percent: int | None) -> None:
        self.check_aborted()
        # Without what UTF-8 does not have: a heartbeat with it would fail, for all jobs.
        text = None if note is None else str(note).encode(errors="replace").decode()
        self.news = (text, percent)
        if self.on_progress:
            self.on_progress()

    def on_success(self, *requests: types.CreateJobRequest) -> None:
        """Creates jobs if and only if this attempt succeeds: `other.request(…)`."""
        if len(self.on_success_requests) + len(requests) > ON_SUCCESS_MAX:
            raise ValueError(f"at most {ON_SUCCESS_MAX} jobs can be created on success")
        for request in requests:
            to_json(request)
        self.on_success_requests.extend(requests)

    def once(self, name: str, step: Callable[[], T], returns: type[T] | None = None) -> T:
        """Runs `step` unless it has succeeded in an earlier attempt; then returns its result.

        The result is stored as JSON. `returns` is its type, unless the step is a function whose
        return type is annotated, or the result is plain JSON.

        A crash between the end of the step and the write of its result forgets it. Give the job's
        id as an idempotency key to the systems that the step calls.
        """
        self.check_aborted()
        found, stored = self._steps.load(name)
        if not found:
            result = step()
            stored = self._steps.save(name, result)
            _check_comes_back(name, _step_type(step, returns), result)
        return typing.cast("T", _step_result(_step_type(step, returns), stored))

    async def once_async(
        self, name: str, step: Callable[[], Awaitable[T]], returns: type[T] | None = None
    ) -> T:
        """As `once`, for `async def` handlers and steps."""
        self.check_aborted()
        found, stored = await self._steps.load_async(name)
        if not found:
            result = await step()
            stored = await self._steps.save_async(name, result)
            _check_comes_back(name, _step_type(step, returns), result)
        return typing.cast("T", _step_result(_step_type(step, returns), stored))

    def prerequisites(self) -> list[types.PrerequisiteResult]:
        """The jobs that this one has waited for (`after`), by id, with their results."""
        self.check_aborted()
        return self._steps.prerequisites()

    async def prerequisites_async(self) -> list[types.PrerequisiteResult]:
        """As `prerequisites`, for `async def` handlers."""
        self.check_aborted()
        return await self._steps.prerequisites_async()

    @property
    def is_aborted(self) -> bool:
        """Whether the handler should stop."""
        return self.abort_reason is not None

    def check_aborted(self) -> None:
        """Raises `JobAborted` if the handler should stop."""
        if self.abort_reason is not None:
            raise JobAborted(self.abort_reason)

    def sleep(self, duration: Duration) -> None:
        """Waits in a handler that is a plain `def`; an abort ends the wait at once."""
        self._aborted.wait(to_seconds(duration))
        self.check_aborted()

    def abort(self, reason: str) -> None:
        """Makes the handler stop. The first reason counts."""
        if self.abort_reason is None:
            self.abort_reason = reason
            if self.on_abort:
                self.on_abort()
            self._aborted.set()


ON_SUCCESS_MAX = 100


def current_context() -> Context | None:
    """The attempt that the calling code is part of, if any."""
    return _current.get()


def set_current_context(context: Context) -> None:
    """Says that the calling thread or task works for this attempt from now on."""
    _current.set(context)


def _step_type(step: Callable[[], Any], returns: Any) -> Any:
    """The type of a step's result; `Any` if it is not known."""
    if returns is not None:
        return returns
    while isinstance(step, functools.partial):
        step = step.func
    hint = getattr(step, "__annotations__", {}).get("return", Any)
    return typing.get_type_hints(step).get("return", Any) if isinstance(hint, str) else hint


def _step_result(hint: Any, result: Any) -> Any:
    if inspect.isclass(hint) or typing.get_origin(hint):
        return decode(hint, result, "result")
    return result


def _check_comes_back(name: str, hint: Any, result: Any) -> None:
    """Fails the job if a later attempt would get a result of another type than this one."""
    if hint is Any and not _is_plain(result):
        kind = type(result).__name__
        raise PermanentError(
            f"the step {name!r} returned a {kind}, which a later attempt would get as plain JSON: "
            f"add returns={kind}, or annotate the return type of the step",
            failure_class="result",
        )


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_plain(one) for one in value)
    if isinstance(value, dict):
        items = value.items()
        return all(type(key) is str and _is_plain(one) for key, one in items)
    return value is None or type(value) in (bool, int, float, str)
