"""Define, enqueue and run jobs of Steadfast, a durable job queue whose speciality is retry.

app = Steadfast()

@app.job(queue="mail", retry="patient")
def welcome(user: str) -> None: ...

welcome.enqueue("ada")
app.run_worker(concurrency=20)
"""

from ._generated.options import JobOptions
from .app import Middleware, Steadfast
from .client import AsyncClient, Client
from .confirmations import NOT_DONE, UNKNOWN, Confirmation, done
from .context import Context, current_context
from .durations import Duration
from .errors import (
    ApiError,
    CertificateNotTrusted,
    JobAborted,
    JobError,
    JobFailed,
    PayloadError,
    PermanentError,
    RetryAfter,
    ServerUnavailable,
    Snooze,
    SteadfastError,
)
from .jobs import JobDefinition, JobHandle
from .logs import AttemptLogHandler
from .payloads import Json
from .version import VERSION
from .worker import Worker, WorkerOptions

__all__ = [
    "NOT_DONE",
    "UNKNOWN",
    "ApiError",
    "AsyncClient",
    "AttemptLogHandler",
    "CertificateNotTrusted",
    "Client",
    "Confirmation",
    "Context",
    "Duration",
    "JobAborted",
    "JobDefinition",
    "JobError",
    "JobFailed",
    "JobHandle",
    "JobOptions",
    "Json",
    "Middleware",
    "PayloadError",
    "PermanentError",
    "RetryAfter",
    "ServerUnavailable",
    "Snooze",
    "Steadfast",
    "SteadfastError",
    "Worker",
    "WorkerOptions",
    "__version__",
    "current_context",
    "done",
]

__version__ = VERSION
