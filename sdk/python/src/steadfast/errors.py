"""What goes wrong: in handlers, where the exception carries the retry decision, and in calls."""

from __future__ import annotations

from .durations import Duration, to_seconds

# Names that the server does not retry, in its own spelling and in that of others.
PERMANENT_CLASSES = frozenset(
    {"validation", "not_found", "unauthorized", "forbidden", "syntax", "redirect", "blocked"}
    | {"ValidationError", "NotFoundError", "UnauthorizedError", "ForbiddenError", "SyntaxError"}
    | {"payload"}
)


class SteadfastError(Exception):
    """The base of all exceptions of this package."""


class JobError(SteadfastError):
    """A failure of an attempt, with what the retry policy should know about it.

    Any other exception is a failure, too; its class is the name of the exception's type, and so is
    that of a subclass of this one. Rules of a retry policy match on it.
    """

    default_class: str | None = None

    def __init__(
        self,
        message: str = "",
        *,
        failure_class: str | None = None,
        retry_after: Duration | None = None,
        http_status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.failure_class = failure_class or self.default_class or _class_of(self)
        self.retry_after = None if retry_after is None else to_seconds(retry_after)
        self.http_status = http_status


class PermanentError(JobError):
    """A failure that no retry can cure: the job becomes a dead letter at once.

    Its class is one that the server does not retry: `validation`, unless another of them is given
    (`not_found`, `unauthorized`, `forbidden`, `syntax`). The name of a subclass, or any other
    class, stands before the message.
    """

    def __init__(
        self,
        message: str = "",
        *,
        failure_class: str | None = None,
        http_status: int | None = None,
    ) -> None:
        name = failure_class or ("" if type(self) is PermanentError else type(self).__name__)
        if name in PERMANENT_CLASSES:
            super().__init__(message, failure_class=name, http_status=http_status)
        else:
            message = f"{name}: {message}" if name else message
            super().__init__(message, failure_class="validation", http_status=http_status)


class RetryAfter(JobError):
    """A failure that should not be tried again before `delay` has passed."""

    default_class = "error"

    def __init__(
        self, delay: Duration, message: str = "", *, failure_class: str | None = None
    ) -> None:
        super().__init__(message, failure_class=failure_class, retry_after=delay)


class PayloadError(JobError):
    """The payload does not fit the parameters of the handler. Not retried."""

    default_class = "payload"


class Snooze(SteadfastError):
    """Raised by a handler to be run again after `delay`, without counting this attempt."""

    def __init__(self, delay: Duration) -> None:
        super().__init__(f"snoozed for {delay}")
        self.delay = to_seconds(delay)


class JobAborted(BaseException):
    """Raised inside a handler that should stop: cancelled, timed out, stopping, or lease lost.

    It is no `Exception`, so that `except Exception` does not swallow it. In an `async def` handler
    the task is cancelled instead.
    """


class ApiError(SteadfastError):
    """The server refused a request."""

    def __init__(self, status: int, code: str, detail: str, field: str | None = None) -> None:
        super().__init__(f"{status} {code}: {detail}" + (f" (field {field})" if field else ""))
        self.status = status
        self.code = code
        self.detail = detail
        self.field = field


class ServerUnavailable(SteadfastError):
    """The server did not answer. Whether it has done what it was asked for is not known."""


class JobFailed(SteadfastError):
    """Raised by `JobHandle.result` for a job that ended without success."""

    def __init__(self, job_id: str, label: str, explanation: str) -> None:
        super().__init__(f"{job_id} {label}: {explanation}")
        self.job_id = job_id
        self.label = label


def _class_of(error: JobError) -> str:
    return "error" if type(error) is JobError else type(error).__name__
