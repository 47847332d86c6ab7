"""Errors: in handlers, where the exception carries the retry decision, and in calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .durations import Duration, to_seconds

if TYPE_CHECKING:
    from . import types


class SteadfastError(Exception):
    """The base of all exceptions of this package."""


class JobError(SteadfastError):
    """A failure of an attempt, with details for the retry policy.

    Any other exception is a failure, too. The class of a failure, which rules of a retry policy
    match, is the name of the exception's type, also for subclasses of this one.
    """

    default_class: str | None = None
    """The class of all errors of this type and its subclasses."""
    permanent: bool = False
    """Whether a retry cannot help. A subclass can set it."""

    def __init__(
        self,
        message: str = "",
        *,
        failure_class: str | None = None,
        retry_after: Duration | None = None,
        http_status: int | None = None,
    ) -> None:
        super().__init__(message)
        self._failure_class = failure_class
        self.retry_after = None if retry_after is None else to_seconds(retry_after)
        self.http_status = http_status

    @property
    def failure_class(self) -> str:
        """The class that was given, that of the type, or the name of a subclass."""
        return self._failure_class or self.default_class or _name_of(self)


class PermanentError(JobError):
    """A failure that a retry cannot fix: the job becomes a dead letter at once.

    A rule of its policy can still retry its class. The class is `failure_class` if given, the name
    of a subclass, or the class of the exception that it was raised from; otherwise `validation`.
    """

    permanent = True

    def __init__(
        self,
        message: str = "",
        *,
        failure_class: str | None = None,
        http_status: int | None = None,
    ) -> None:
        super().__init__(message, failure_class=failure_class, http_status=http_status)

    @property
    def failure_class(self) -> str:
        """The class of any other error, or the class of the cause."""
        cause = self.__cause__
        is_plain = type(self) is PermanentError and not self._failure_class
        # Causes may form a circle.
        if not is_plain or cause is None or type(cause) in (Exception, PermanentError):
            return super().failure_class
        return class_of(cause)


class RetryAfter(JobError):
    """A failure that should not be tried again before `delay` has passed."""

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

    It is not an `Exception`, so that `except Exception` does not swallow it. In an `async def`
    handler the task is cancelled instead.
    """


class ApiError(SteadfastError):
    """The server refused a request."""

    def __init__(self, status: int, code: str, detail: str, field: str | None = None) -> None:
        super().__init__(f"{status} {code}: {detail}" + (f" (field {field})" if field else ""))
        self.status = status
        self.code = code
        self.detail = detail
        self.field = field
        self.retry_after: float = 0
        """The seconds that the server asks callers to wait, or 0."""


class ServerUnavailable(SteadfastError):
    """The server did not answer. It may have carried out the request."""

    retry_after: float = 0
    """The seconds that the server asks callers to wait, or 0."""


class CertificateNotTrusted(ServerUnavailable):
    """The certificate of the server is not trusted. `STEADFAST_CA_FILE` can add a trusted one."""


class JobFailed(SteadfastError):
    """Raised by `JobHandle.result` for a job that ended without success."""

    def __init__(self, job: types.Job) -> None:
        failure: Any = job.get("failure") or {}
        self.job = job
        """The job, as the API describes it."""
        self.job_id = job["id"]
        self.label = job["label"]
        """`failed` or `cancelled`."""
        self.failure_class: str | None = failure.get("class")
        """The class of the last failure; `None` if no attempt failed."""
        self.failure_message: str | None = failure.get("message")
        """The message of the last failure."""
        parts = [
            ": ".join(part for part in (self.failure_class, self.failure_message) if part),
            job.get("explanation") or job.get("reason") or "",
        ]
        why = "; ".join(part for part in parts if part) or "no explanation"
        super().__init__(f"{self.job_id} {self.label}: {why}")


def class_of(error: BaseException) -> str:
    """The class of a failure: its own, or the name of the exception's type."""
    return error.failure_class if isinstance(error, JobError) else type(error).__name__


def _name_of(error: JobError) -> str:
    return _PLAIN.get(type(error)) or type(error).__name__


# The classes of those that are raised as they are; a subclass has its own name.
_PLAIN: dict[type[JobError], str] = {
    JobError: "error",
    RetryAfter: "error",
    PermanentError: "validation",
}
