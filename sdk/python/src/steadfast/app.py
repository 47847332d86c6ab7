"""The application: its job definitions, its connection to the server, its middleware."""

from __future__ import annotations

import contextlib
import functools
import inspect
import secrets
import typing
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from . import types
from ._generated.options import JobOptions
from .client import AsyncClient, Client
from .context import Context
from .gathering import JOBS, Gathering, job_of, jobs_of
from .jobs import JobDefinition
from .steps import LocalSteps
from .worker import Worker, WorkerOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = ParamSpec("P")
R = TypeVar("R")

Middleware = Callable[
    [Context],
    "contextlib.AbstractContextManager[Any] | contextlib.AbstractAsyncContextManager[Any]",
]
MiddlewareFunction = TypeVar("MiddlewareFunction", bound=Callable[[Context], Any])


class JobDecorator(Protocol):
    """The type of `@app.job(…)`."""

    # The more special forms come first: a first parameter of type Context is not in the payload.
    @overload
    def __call__(
        self, function: Callable[Concatenate[Context, P], Awaitable[R]], /
    ) -> JobDefinition[P, R, Awaitable[R]]: ...
    @overload
    def __call__(
        self, function: Callable[P, Awaitable[R]], /
    ) -> JobDefinition[P, R, Awaitable[R]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Context, P], R], /
    ) -> JobDefinition[P, R, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> JobDefinition[P, R, R]: ...


class JobCreator(Protocol):
    """Creates and reads jobs in place of the server, in a test."""

    def create(self, requests: Sequence[types.CreateJobRequest]) -> list[types.Job]:
        """Creates all of the jobs, or none."""
        ...

    def get(self, job_id: str) -> types.Job:
        """The job as it is now."""
        ...

    def cancel(self, job_id: str) -> types.Job:
        """Cancels a job."""
        ...


class Steadfast:
    """Job definitions, and the server that they belong to.

    By default, the address of the server is `STEADFAST_URL` or `http://127.0.0.1:7373`, and the key
    is `STEADFAST_API_KEY`.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        version: str | None = None,
        traceparent: Callable[[], str | None] | None = None,
    ) -> None:
        self.client = Client(url, api_key)
        """Every operation of the API."""
        self.async_client = AsyncClient(settings=self.client.settings)
        """The same for `async` code."""
        self._gathering = Gathering(self.async_client)
        self.version = version
        """The version of your application, shown with its workers."""
        self.traceparent = traceparent
        """Returns the trace of jobs that are not enqueued by a handler."""
        self.middlewares: list[Middleware] = []
        self.has_async_middleware = False
        self.creator: JobCreator | None = None
        self._definitions: dict[str, JobDefinition[Any, Any, Any]] = {}

    @overload
    def job(
        self, kind: Callable[Concatenate[Context, P], Awaitable[R]], /
    ) -> JobDefinition[P, R, Awaitable[R]]: ...
    @overload
    def job(self, kind: Callable[P, Awaitable[R]], /) -> JobDefinition[P, R, Awaitable[R]]: ...
    @overload
    def job(self, kind: Callable[Concatenate[Context, P], R], /) -> JobDefinition[P, R, R]: ...
    @overload
    def job(self, kind: Callable[P, R], /) -> JobDefinition[P, R, R]: ...
    @overload
    def job(
        self, kind: str | None = None, /, *, interrupt: bool = True, **options: Unpack[JobOptions]
    ) -> JobDecorator: ...

    def job(
        self,
        kind: str | Callable[..., Any] | None = None,
        /,
        *,
        interrupt: bool = True,
        **options: Unpack[JobOptions],
    ) -> Any:
        """Turns a function into a job definition: `@app.job`, or `@app.job("kind", queue="mail")`.

        The kind is the name of the function unless given. With `interrupt=False` an abort does not
        raise `JobAborted` in a plain `def` handler, which must then check `Context.is_aborted`.
        """
        if callable(kind):
            return self._define(kind, None, {}, interrupt)
        return functools.partial(self._define, kind=kind, options=options, interrupt=interrupt)

    def _define(
        self, function: Callable[..., Any], kind: str | None, options: JobOptions, interrupt: bool
    ) -> JobDefinition[Any, Any, Any]:
        name = kind or function.__name__
        if name in self._definitions:
            raise ValueError(f"the kind {name!r} is defined twice")
        definition: JobDefinition[Any, Any, Any] = JobDefinition(
            self, function, name, options, interrupt=interrupt
        )
        self._definitions[name] = definition
        return definition

    def middleware(self, function: MiddlewareFunction) -> MiddlewareFunction:
        """Adds a context manager, or a generator with one `yield`, around every handler.

        The first one added is the outermost. One that is `async` is for applications whose handlers
        are all `async def`.
        """
        make: Any = function
        if inspect.isgeneratorfunction(function):
            make = contextlib.contextmanager(function)
        elif inspect.isasyncgenfunction(function):
            make = contextlib.asynccontextmanager(function)
            self.has_async_middleware = True
        self.middlewares.append(typing.cast("Middleware", make))
        return function

    def kinds(self) -> list[str]:
        """The kinds that its workers claim."""
        return list(self._definitions)

    def find(self, kind: str) -> JobDefinition[Any, Any, Any] | None:
        """The definition of this kind."""
        return self._definitions.get(kind)

    def enqueue_many(self, requests: Iterable[types.CreateJobRequest]) -> list[types.Job]:
        """Creates up to 1,000 jobs, all or none: `app.enqueue_many(job.request(n) for n in …)`."""
        batch = list(requests)
        if not batch:
            return []
        if self.creator:
            return self.creator.create(batch)
        check = functools.partial(jobs_of, count=len(batch))
        return check(self.client.request("POST", JOBS, **_create_many(batch), check=check))

    async def enqueue_many_async(
        self, requests: Iterable[types.CreateJobRequest]
    ) -> list[types.Job]:
        """As `enqueue_many`, without blocking the event loop."""
        batch = list(requests)
        if not batch:
            return []
        if self.creator:
            return self.creator.create(batch)
        check = functools.partial(jobs_of, count=len(batch))
        answer = await self.async_client.request("POST", JOBS, **_create_many(batch), check=check)
        return check(answer)

    def create_job(self, request: types.CreateJobRequest) -> types.Job:
        """Creates one job.

        It gets an idempotency key unless it has one, so that the request can be repeated.
        """
        if self.creator:
            return self.creator.create([request])[0]
        body = with_key(request)
        job = self.client.request("POST", JOBS, body=body, is_repeatable=True, check=job_of)
        return job_of(job)

    async def create_job_async(self, request: types.CreateJobRequest) -> types.Job:
        """As `create_job`, without blocking the event loop.

        Jobs that are created at the same moment share a request.
        """
        if self.creator:
            return self.creator.create([request])[0]
        if not request.get("idempotencyKey") and not request.get("unique"):
            return await self._gathering.create(with_key(request))
        # The answer may be a job that exists, with another payload.
        body = with_key(request)
        job = await self.async_client.request(
            "POST", JOBS, body=body, is_repeatable=True, check=job_of
        )
        return job_of(job)

    def worker(self, **options: Unpack[WorkerOptions]) -> Worker:
        """A worker for the jobs of this application."""
        return Worker(self, **options)

    def run_worker(self, **options: Unpack[WorkerOptions]) -> None:
        """Runs a worker until SIGTERM or SIGINT, then stops in order."""
        self.worker(**options).run()

    def local_context(self, definition: JobDefinition[Any, Any, Any]) -> Context:
        """A context for a handler that is called directly."""
        job: Any = {
            "id": "job_local",
            "kind": definition.kind,
            "queue": definition.options.get("queue", "default"),
            "type": "AT_LEAST_ONCE",
            "attempt": 1,
            "attemptsBefore": 0,
            "maxRetries": 0,
            "tags": {},
        }
        return Context(job, LocalSteps({}))


def with_key(request: types.CreateJobRequest) -> types.CreateJobRequest:
    """The request with an idempotency key: its own, or a new one."""
    if request.get("idempotencyKey"):
        return request
    return {**request, "idempotencyKey": secrets.token_urlsafe(16)}


def _create_many(batch: list[types.CreateJobRequest]) -> dict[str, Any]:
    return {"body": {"jobs": [with_key(request) for request in batch]}, "is_repeatable": True}
