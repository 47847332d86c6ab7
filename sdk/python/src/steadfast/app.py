"""The application: its job definitions, its connection to the server, its middleware."""

from __future__ import annotations

import contextlib
import functools
import inspect
import typing
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from . import types
from .client import AsyncClient, Client
from .context import Context
from .jobs import JobDefinition, JobOptions
from .steps import LocalSteps
from .worker import Worker, WorkerOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = ParamSpec("P")
R = TypeVar("R")

Middleware = Callable[[Context], contextlib.AbstractContextManager[Any]]
MiddlewareFunction = TypeVar("MiddlewareFunction", bound=Callable[[Context], Any])


class JobDecorator(Protocol):
    """What `@app.job(…)` does to a function, typed."""

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
    """Where new jobs go; the server unless a test takes its place."""

    def create(self, requests: Sequence[types.CreateJobRequest]) -> list[types.Job]:
        """Creates all of the jobs, or none."""
        ...


class Steadfast:
    """Job definitions and the server that they belong to.

    Where the server is comes from `STEADFAST_URL` (`http://127.0.0.1:7373` by default), the key
    from `STEADFAST_API_KEY`, unless given here.
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
        self.version = version
        """The version of your application, shown with its workers."""
        self.traceparent = traceparent
        """Asked for the trace of jobs that are not enqueued by a handler."""
        self.middlewares: list[Middleware] = []
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
        """Makes a job definition of a function: `@app.job`, or `@app.job("kind", queue="mail")`.

        The kind is the name of the function unless given. With `interrupt=False` an abort does not
        raise `JobAborted` in a plain `def` handler, which must then look at `Context.is_aborted`.
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

        The first one added is the outermost.
        """
        make = (
            contextlib.contextmanager(function)
            if inspect.isgeneratorfunction(function)
            else function
        )
        self.middlewares.append(typing.cast("Middleware", make))
        return function

    def kinds(self) -> list[str]:
        """Those that its workers claim; none means all."""
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
        return _jobs_of(self.client.request("POST", JOBS, **_create_many(batch)))

    async def enqueue_many_async(
        self, requests: Iterable[types.CreateJobRequest]
    ) -> list[types.Job]:
        """As `enqueue_many`, without blocking the event loop."""
        batch = list(requests)
        if not batch:
            return []
        if self.creator:
            return self.creator.create(batch)
        return _jobs_of(await self.async_client.request("POST", JOBS, **_create_many(batch)))

    def create_job(self, request: types.CreateJobRequest) -> types.Job:
        """Creates one job."""
        if self.creator:
            return self.creator.create([request])[0]
        job = self.client.request("POST", JOBS, **_create(request))
        return typing.cast("types.Job", job)

    async def create_job_async(self, request: types.CreateJobRequest) -> types.Job:
        """As `create_job`, without blocking the event loop."""
        if self.creator:
            return self.creator.create([request])[0]
        job = await self.async_client.request("POST", JOBS, **_create(request))
        return typing.cast("types.Job", job)

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


JOBS = "/api/v1/jobs"


def _create(request: types.CreateJobRequest) -> dict[str, Any]:
    return {"body": request, "is_repeatable": "idempotencyKey" in request}


def _create_many(batch: list[types.CreateJobRequest]) -> dict[str, Any]:
    is_repeatable = all("idempotencyKey" in request for request in batch)
    return {"body": {"jobs": batch}, "is_repeatable": is_repeatable}


def _jobs_of(answer: Any) -> list[types.Job]:
    return typing.cast("types.JobList", answer)["jobs"]
