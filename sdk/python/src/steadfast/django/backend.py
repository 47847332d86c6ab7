"""Tasks of Django as jobs: the kind is the path of the task's function."""

from __future__ import annotations

import contextlib
import re
import typing
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from django.db import DEFAULT_DB_ALIAS, close_old_connections, transaction
from django.tasks import Task, TaskContext, TaskResult, TaskResultStatus
from django.tasks.backends.base import BaseTaskBackend
from django.tasks.base import TaskError
from django.tasks.exceptions import TaskResultDoesNotExist
from django.tasks.signals import task_enqueued, task_finished, task_started
from django.utils.json import normalize_json
from django.utils.module_loading import import_string

from .. import types
from .._generated.options import JobOptions
from ..app import Steadfast
from ..context import Context
from ..errors import ApiError
from ..jobs import JobDefinition, fields_of, time_text

STATUSES = {
    "running": TaskResultStatus.RUNNING,
    "succeeded": TaskResultStatus.SUCCESSFUL,
    "failed": TaskResultStatus.FAILED,
    "cancelled": TaskResultStatus.FAILED,
}
ATTEMPTS_SHOWN = 100


class SteadfastBackend(BaseTaskBackend):
    """Enqueues tasks as jobs of a Steadfast server.

    `OPTIONS` may have `url` and `api_key`, and options of jobs such as `retry`, `timeout` and
    `tags`, which hold for all tasks of the backend.

    With `enqueue_on_commit` a task that is enqueued inside a transaction of Django becomes a job
    when that commits, and never if it is rolled back. Until then the result has no id. `True`
    means the default database; the name of another one may be given instead.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        options = dict(self.options)
        self.app = TaskApp(self, options.pop("url", None), options.pop("api_key", None))
        self.commits_of = _database(options.pop("enqueue_on_commit", False))
        self.job_options = typing.cast("JobOptions", options)
        self.tasks: dict[str, Task] = {}
        """The defined tasks, by kind: Django validates each of them here."""

    def validate_task(self, task: Task) -> None:
        """Checks a task that is being defined, and remembers it for the worker."""
        super().validate_task(task)
        self.tasks.setdefault(task.module_path, task)

    def enqueue(self, task: Task, args: Any, kwargs: Any) -> Any:
        """Creates a job, which is durable when this returns; see `enqueue_on_commit`."""
        self.validate_task(task)
        # What is wrong with the task or its arguments is raised here, and not after the commit.
        request = self._request(task, args, kwargs)
        if self.commits_of is None or not _is_in_transaction(self.commits_of):
            return self._enqueued(task, self.app.create_job(request))
        result = self._uncommitted(task, request)
        create = partial(self._create_committed, result, request)
        transaction.on_commit(create, using=self.commits_of)
        return result

    async def aenqueue(self, task: Task, args: Any, kwargs: Any) -> Any:
        """As `enqueue`, without blocking the event loop."""
        if self.commits_of is not None:
            # Transactions of Django belong to a thread.
            return await super().aenqueue(task, args, kwargs)
        self.validate_task(task)
        job = await self.app.create_job_async(self._request(task, args, kwargs))
        return self._enqueued(task, job)

    def get_result(self, result_id: str) -> TaskResult:
        """The current state of a task. Its id is the id of the job."""
        try:
            job = self.app.client.get_job(result_id)
            attempts = self.app.client.list_attempts(result_id, limit=ATTEMPTS_SHOWN)["attempts"]
        except ApiError as error:
            raise _not_found(result_id, error) from error
        return self._result(self._task_of(job), job, attempts)

    async def aget_result(self, result_id: str) -> TaskResult:
        """As `get_result`, without blocking the event loop."""
        client = self.app.async_client
        try:
            job = await client.get_job(result_id)
            attempts = (await client.list_attempts(result_id, limit=ATTEMPTS_SHOWN))["attempts"]
        except ApiError as error:
            raise _not_found(result_id, error) from error
        return self._result(self._task_of(job), job, attempts)

    def running(self, task: Task, context: Context) -> TaskResult:
        """The result that a task with `takes_context` gets."""
        result = self._result(task, context.job, [])
        worker = context.job.get("worker") or ""
        result.worker_ids.extend([worker] * context.attempt)
        return result

    def _request(self, task: Task, args: Any, kwargs: Any) -> types.CreateJobRequest:
        request = fields_of(self.job_options)
        request["kind"] = task.module_path
        request["payload"] = {"args": normalize_json(args), "kwargs": normalize_json(kwargs)}
        request["queue"] = task.queue_name
        request["priority"] = priority_of(task.priority)
        if task.run_after is not None:
            request["runAt"] = time_text(task.run_after)
        return typing.cast("types.CreateJobRequest", request)

    def _enqueued(self, task: Task, job: types.Job) -> TaskResult:
        result = self._result(task, job, [])
        task_enqueued.send(type(self), task_result=result)
        return result

    def _uncommitted(self, task: Task, request: types.CreateJobRequest) -> TaskResult:
        """The result of a task whose job is not created yet."""
        payload: Any = request.get("payload")
        return TaskResult(
            task=task,
            id="",
            status=TaskResultStatus.READY,
            enqueued_at=None,
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=payload["args"],
            kwargs=payload["kwargs"],
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )

    def _create_committed(self, result: TaskResult, request: types.CreateJobRequest) -> None:
        job = self.app.create_job(request)
        object.__setattr__(result, "id", job["id"])
        object.__setattr__(result, "enqueued_at", _time(job["createdAt"]))
        task_enqueued.send(type(self), task_result=result)

    def _task_of(self, job: types.Job) -> Task:
        task = self.tasks.get(job["kind"])
        if task is None:
            raise TaskResultDoesNotExist(
                f"{job['id']} is of kind {job['kind']}, which is not a task"
            )
        return task

    def _result(self, task: Task, job: types.Job, attempts: list[types.Attempt]) -> TaskResult:
        payload: Any = job.get("payload") or {}
        attempts = attempts[::-1]  # The API lists the newest first.
        result = TaskResult(
            task=task,
            id=job["id"],
            status=STATUSES.get(job["label"], TaskResultStatus.READY),
            enqueued_at=_time(job["createdAt"]),
            started_at=_time(attempts[0]["executionTime"] if attempts else job.get("startedAt")),
            finished_at=_time(job.get("finishedAt")),
            last_attempted_at=_time(job.get("startedAt")),
            args=payload.get("args", []),
            kwargs=payload.get("kwargs", {}),
            backend=self.alias,
            errors=[_error_of(one) for one in attempts if one.get("failure")],
            worker_ids=[one.get("worker") or "" for one in attempts],
        )
        object.__setattr__(result, "_return_value", job.get("result"))
        return result


class TaskApp(Steadfast):
    """The application behind a backend: its job definitions are the tasks."""

    def __init__(self, backend: SteadfastBackend, url: str | None, api_key: str | None) -> None:
        super().__init__(url, api_key)
        self._backend = backend
        self._by_kind: dict[str, JobDefinition[Any, Any, Any]] = {}
        self.middleware(_with_connections)

    def kinds(self) -> list[str]:
        """All tasks that were imported."""
        return list(self._backend.tasks)

    def find(self, kind: str) -> JobDefinition[Any, Any, Any] | None:
        """The definition made of a task."""
        task = self._backend.tasks.get(kind)
        if task is not None and kind not in self._by_kind:
            self._by_kind[kind] = JobDefinition(self, _handler_of(self._backend, task), kind, {})
        return self._by_kind.get(kind)


def _handler_of(backend: SteadfastBackend, task: Task) -> Any:
    def begin(context: Context, payload: dict[str, Any]) -> tuple[TaskResult, list[Any]]:
        result = backend.running(task, context)
        task_started.send(type(backend), task_result=result)
        first = [TaskContext(task_result=result)] if task.takes_context else []
        return result, [*first, *payload.get("args", [])]

    def end(result: TaskResult, status: TaskResultStatus) -> None:
        object.__setattr__(result, "status", status)
        task_finished.send(type(backend), task_result=result)

    def run(context: Context, payload: dict[str, Any]) -> Any:
        result, args = begin(context, payload)
        try:
            value = normalize_json(task.func(*args, **payload.get("kwargs", {})))
        except BaseException:
            end(result, TaskResultStatus.FAILED)
            raise
        end(result, TaskResultStatus.SUCCESSFUL)
        return value

    async def run_async(context: Context, payload: dict[str, Any]) -> Any:
        result, args = begin(context, payload)
        try:
            value = normalize_json(await task.func(*args, **payload.get("kwargs", {})))
        except BaseException:
            end(result, TaskResultStatus.FAILED)
            raise
        end(result, TaskResultStatus.SUCCESSFUL)
        return value

    return run_async if iscoroutinefunction(task.func) else run


def _with_connections(context: Context) -> Iterator[None]:
    """As around a request: connections that are broken or too old are not used again."""
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()


def _database(on_commit: bool | str) -> str | None:
    """The database whose commits are waited for."""
    if isinstance(on_commit, str):
        return on_commit
    return DEFAULT_DB_ALIAS if on_commit else None


def _is_in_transaction(database: str) -> bool:
    return bool(transaction.get_connection(database).in_atomic_block)


def priority_of(priority: int) -> int:
    """Django's -100 to 100 as 0 to 9; both have their default in the middle."""
    return 5 + (priority * 4 // 100 if priority > 0 else -(-priority * 5 // 100))


def _error_of(attempt: types.Attempt) -> TaskError:
    failure: Any = attempt.get("failure") or {}
    trace: str = failure.get("trace") or failure.get("message") or ""
    path = _exception_path(str(failure.get("class") or ""), trace)
    return TaskError(exception_class_path=path, traceback=trace)


def _exception_path(name: str, trace: str) -> str:
    """The path of an exception, which the stack trace has if it is not one of Python's own.

    Failures that are no exceptions, such as a lost lease, have a path that can be imported, too.
    """
    found = re.findall(rf"^((?:\w+\.)+{re.escape(name)})(?::|$)", trace, re.MULTILINE)
    for path in (*found[-1:], f"builtins.{name}"):
        with contextlib.suppress(ImportError, TypeError):
            if issubclass(import_string(path), BaseException):
                return path
    return "builtins.Exception"


def _not_found(result_id: str, error: ApiError) -> Exception:
    return TaskResultDoesNotExist(result_id) if error.status in (400, 404, 422) else error


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))
