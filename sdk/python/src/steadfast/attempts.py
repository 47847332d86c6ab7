"""Runs the handler of one attempt and folds everything it can do into one outcome.

The worker and the tests in process both come through here, so that they cannot differ.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import traceback
import typing
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from .confirmations import Confirmation
from .context import Context, set_current_context
from .errors import JobAborted, JobError, PermanentError, Snooze, class_of
from .payloads import to_json
from .tracing import AttemptSpan

if TYPE_CHECKING:
    from .app import Steadfast
    from .jobs import JobDefinition

log = logging.getLogger("steadfast.worker")

MESSAGE_CHARS_MAX = 4_000
TRACE_CHARS_MAX = 60_000


class Outcome(NamedTuple):
    """How an attempt ended."""

    name: str
    """`succeed`, `fail`, `snooze`, `release`, or `none` if there is nothing to report."""
    body: bytes
    """The settlement in JSON, but for the claim it belongs to."""
    error: BaseException | None = None


def outcome(name: str, error: BaseException | None = None, /, **fields: Any) -> Outcome:
    """An outcome with these fields, encoded here, where errors are those of the handler."""
    return Outcome(name, to_json({"outcome": name, **fields}).encode(), error)


RELEASE = outcome("release")
NONE = outcome("none")


class Attempt:
    """A handler about to run for one claim."""

    def __init__(
        self, app: Steadfast, definition: JobDefinition[Any, Any, Any] | None, context: Context
    ) -> None:
        self._app = app
        self._definition = definition
        self._context = context

    @property
    def is_async(self) -> bool:
        """Whether it runs in an event loop."""
        return self._definition is not None and self._definition.is_async

    @property
    def may_interrupt(self) -> bool:
        """Whether an abort may raise an exception in the handler's thread."""
        return self._definition is not None and self._definition.interrupt

    @property
    def _is_question(self) -> bool:
        """Whether it is no attempt but the question whether the last one took effect."""
        return self._context.job.get("questions") is not None

    def run(self) -> Outcome:
        """Runs a `def` handler in the calling thread."""
        if self._definition is None:
            # Another worker has its handler. A failure here would use up its attempts.
            kind = self._context.job["kind"]
            log.error("%s is given back: no job of kind %r is defined", self._context.id, kind)
            return RELEASE
        with AttemptSpan(self._context.job) as span:
            outcome = self._run()
            if outcome.name == "fail":
                span.fail(outcome.error)
            return outcome

    def _run(self) -> Outcome:
        assert self._definition is not None
        try:
            set_current_context(self._context)
            with contextlib.ExitStack() as stack:
                for middleware in self._app.middlewares:
                    stack.enter_context(
                        typing.cast(
                            "contextlib.AbstractContextManager[Any]", middleware(self._context)
                        )
                    )
                function, args, kwargs = self._prepare(self._definition)
                result = function(*args, **kwargs)
            return self._succeed(result)
        except BaseException as error:
            return self._outcome_of(error)

    async def run_async(self) -> Outcome:
        """Runs an `async def` handler in the calling task."""
        with AttemptSpan(self._context.job) as span:
            outcome = await self._run_async()
            if outcome.name == "fail":
                span.fail(outcome.error)
            return outcome

    async def _run_async(self) -> Outcome:
        assert self._definition is not None
        try:
            set_current_context(self._context)
            async with contextlib.AsyncExitStack() as stack:
                for middleware in self._app.middlewares:
                    around = middleware(self._context)
                    if isinstance(around, contextlib.AbstractAsyncContextManager):
                        await stack.enter_async_context(around)
                    else:
                        stack.enter_context(around)
                function, args, kwargs = self._prepare(self._definition)
                result = await function(*args, **kwargs)
            return self._succeed(result)
        except BaseException as error:
            return self._outcome_of(error)

    def aborted(self) -> Outcome:
        """The outcome of a handler that was stopped before it could begin or end by itself."""
        return self._outcome_of(JobAborted(self._context.abort_reason or "cancelled"))

    def _prepare(
        self, definition: JobDefinition[Any, Any, Any]
    ) -> tuple[Any, list[Any], dict[str, Any]]:
        self._context.check_aborted()
        function, signature = definition.function, definition.signature
        if self._is_question:
            # The server asks only workers that name the kind in `confirms`.
            assert definition.confirm_function
            assert definition.confirm_signature
            function, signature = definition.confirm_function, definition.confirm_signature
        args, kwargs = signature.decode(self._context.job.get("payload"))
        if signature.takes_context:
            args.insert(0, self._context)
        return function, args, kwargs

    def _succeed(self, result: Any) -> Outcome:
        fields: dict[str, Any] = {}
        name = "succeed"
        if self._is_question:
            if not isinstance(result, Confirmation):
                text = cut(repr(result), 100)
                message = f"the confirm function returned {text}, not done(), NOT_DONE or UNKNOWN"
                raise TypeError(message)
            name, fields["answer"] = "answer", result.answer
            if result.answer != "done":
                return self._ended(name, **fields)
            result = result.result
        if result is not None:
            fields["result"] = result
        if self._context.on_success_requests:
            fields["onSuccess"] = self._context.on_success_requests
        try:
            return self._ended(name, **fields)
        except (TypeError, ValueError, RecursionError) as error:
            message = f"cannot encode the result as JSON: {error}"
            raise PermanentError(message, failure_class="result") from error

    def _outcome_of(self, error: BaseException) -> Outcome:
        if isinstance(error, Snooze):
            return self._ended("snooze", delay=round(error.delay * 1000))
        reason = self._context.abort_reason
        if reason is None and isinstance(error, JobAborted):
            reason = str(error)
        # Whatever a handler raises after it was told to stop is a consequence of that.
        if reason == "stopping":
            return RELEASE
        if reason == "lost":
            return NONE
        if reason is not None:
            messages = {"timeout": "the attempt took longer than its timeout"}
            message = messages.get(reason, "stopped on request")
            failure = {"class": reason, "message": message, "trace": trace_of(error)}
            return self._ended("fail", error, failure=failure)
        # Ctrl-C of a test in process. Everything else is a failure, or the job would never end.
        if isinstance(error, KeyboardInterrupt) and _is_main_thread():
            raise error
        return self._ended("fail", error, failure=failure_of(error))

    def _ended(self, name: str, error: BaseException | None = None, /, **fields: Any) -> Outcome:
        """An outcome, with what the handler has reported as used."""
        if self._context.used:
            fields["usage"] = self._context.used
        return outcome(name, error, **fields)


def failure_of(error: BaseException) -> dict[str, Any]:
    """An exception as the API takes it."""
    failure: dict[str, Any] = {
        "class": class_of(error),
        "message": cut(_text_of(error) or type(error).__name__, MESSAGE_CHARS_MAX),
        "trace": trace_of(error),
    }
    if isinstance(error, JobError):
        if error.permanent:
            failure["permanent"] = True
        if error.retry_after is not None:
            failure["retryAfter"] = round(error.retry_after * 1000)
        if error.http_status is not None:
            failure["httpStatus"] = error.http_status
    return failure


def trace_of(error: BaseException) -> str:
    """The stack trace, from the handler's own code on."""
    trace = error.__traceback__
    while trace and _is_ours(trace) and trace.tb_next:
        trace = trace.tb_next
    lines = traceback.format_exception(type(error), error, trace)
    return cut("".join(lines), TRACE_CHARS_MAX)


def cut(text: str, chars_max: int) -> str:
    """The text without its middle, if it is too long, and without what UTF-8 does not have."""
    text = text.encode("utf-8", "replace").decode()
    if len(text) <= chars_max:
        return text
    half = chars_max // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:
        return f"the exception has no text: {type(broken).__name__}"


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _is_ours(trace: TracebackType) -> bool:
    directory = os.path.dirname(trace.tb_frame.f_code.co_filename)
    return directory.startswith(os.path.dirname(__file__))
