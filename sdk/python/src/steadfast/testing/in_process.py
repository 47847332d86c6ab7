"""Jobs that run in the test's own process, on a clock that the test moves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from .. import types
from ..app import Steadfast
from ..attempts import Attempt, Outcome
from ..context import Context
from ..durations import Duration, to_seconds
from ..errors import JobAborted
from ..jobs import time_text
from ..payloads import to_json
from ..steps import LocalSteps
from ..worker.runner import run_interruptibly
from .policy import Policy


@contextlib.contextmanager
def in_process(app: Steadfast) -> Iterator[LocalQueue]:
    """Jobs that the application enqueues stay here, until the test runs them.

    Options that are not played here, such as `unique` and `after`, raise `NotImplementedError`.
    """
    queue = LocalQueue(app)
    previous, app.creator = app.creator, queue
    try:
        yield queue
    finally:
        app.creator = previous


@dataclass(eq=False)
class LocalJob:
    """A job in memory."""

    request: types.CreateJobRequest
    job: types.Job
    due_at: datetime
    attempt: int = 0
    retries: int = 0
    label: types.JobLabel = "ready"
    reason: str | None = None
    """Why it failed, as the server would say: `exhausted`, `non_retryable`, `rule`, …"""
    first_started_at: datetime | None = None
    result: Any = None
    errors: list[BaseException] = field(default_factory=list)
    """The exceptions of its attempts, the newest last."""
    failure: types.Failure | None = None
    """The newest failure, as the server would show it."""
    percent: int | None = None
    note: str | None = None
    steps: dict[str, str] = field(default_factory=dict)

    def job_now(self) -> types.Job:
        """The job as the API would describe it now."""
        now: Any = {
            **self.job,
            "attempt": self.attempt,
            "retryCount": self.retries,
            "label": self.label,
            "reason": self.reason,
            "result": self.result,
            "failure": self.failure,
            "progress": self.percent,
            "note": self.note,
            "runAt": time_text(self.due_at),
        }
        return typing.cast("types.Job", now)

    @property
    def id(self) -> str:
        """`job_…`"""
        return self.job["id"]

    @property
    def kind(self) -> str:
        """Which handler it is for."""
        return self.job["kind"]

    @property
    def payload(self) -> Any:
        """Its input, after a round trip through JSON."""
        return self.job.get("payload")


class LocalQueue:
    """The jobs of an application, in memory."""

    def __init__(self, app: Steadfast) -> None:
        self._app = app
        self.now = datetime(2030, 1, 1, tzinfo=timezone.utc)
        """The time. It stands still."""
        self.jobs: list[LocalJob] = []
        """All jobs that were enqueued, in that order."""

    def create(self, requests: Sequence[types.CreateJobRequest]) -> list[types.Job]:
        """Takes the place of the server for new jobs."""
        return [self._create(typing.cast("Any", json.loads(to_json(one)))).job for one in requests]

    def advance(self, by: Duration) -> None:
        """Moves the clock. Jobs that become due run with `run_until_idle`."""
        self.now += timedelta(seconds=to_seconds(by))

    def run_until_idle(self) -> int:
        """Runs all due jobs, and those that they enqueue; returns the number of attempts."""
        counts: list[int] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                counts.append(asyncio.run(self.run_until_idle_async()))
            except BaseException as error:
                errors.append(error)

        # In a thread of its own, because the test may have an event loop that runs.
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if errors:
            raise errors[0]
        return counts[0]

    async def run_until_idle_async(self) -> int:
        """As `run_until_idle`, with `async def` handlers in the test's own event loop."""
        count = 0
        while due := [one for one in self._waiting() if one.due_at <= self.now]:
            await self._run(min(due, key=lambda one: (-priority_of(one.request), one.due_at)))
            count += 1
        return count

    def run_to_end(self) -> int:
        """Runs all jobs, moving the clock to each retry; returns the number of attempts."""
        count = self.run_until_idle()
        while waiting := self._waiting():
            self.now = waiting[0].due_at
            count += self.run_until_idle()
        return count

    def _waiting(self) -> list[LocalJob]:
        # Jobs of kinds that are not defined here wait for a worker of another application.
        waiting = [
            one
            for one in self.jobs
            if one.label in ("ready", "scheduled", "retrying") and self._app.find(one.kind)
        ]
        return sorted(waiting, key=lambda one: one.due_at)

    def get(self, job_id: str) -> types.Job:
        """The job as it is now."""
        return self._find(job_id).job_now()

    def cancel(self, job_id: str) -> types.Job:
        """Cancels a job that has not ended."""
        one = self._find(job_id)
        if one.label not in ENDED:
            one.label = "cancelled"
        return one.job_now()

    def _find(self, job_id: str) -> LocalJob:
        for one in self.jobs:
            if one.id == job_id:
                return one
        raise KeyError(f"there is no job {job_id}")

    def _create(self, request: types.CreateJobRequest) -> LocalJob:
        refused = sorted(name for name, value in request.items() if value and name not in PLAYED)
        if refused:
            raise NotImplementedError(
                f"in_process does not play {', '.join(refused)}: use steadfast.testing.server"
            )
        key = request.get("idempotencyKey")
        for one in self.jobs:
            if key is not None and one.request.get("idempotencyKey") == key:
                return one
        due_at = self.now + timedelta(milliseconds=typing.cast("int", request.get("delay") or 0))
        if run_at := request.get("runAt"):
            due_at = datetime.fromisoformat(run_at.replace("Z", "+00:00"))
        job: Any = {
            "id": f"job_{len(self.jobs) + 1}",
            "kind": request.get("kind"),
            "payload": request.get("payload"),
            "queue": request.get("queue") or "default",
            "tenant": request.get("tenant") or "default",
            "type": request.get("type") or "AT_LEAST_ONCE",
            "priority": priority_of(request),
            "tags": request.get("tags") or {},
            "traceparent": request.get("traceparent"),
            "attempt": 0,
            "attemptsBefore": 0,
            "retryCount": 0,
            "maxRetries": Policy(request).max_retries,
            "label": "scheduled" if due_at > self.now else "ready",
            "createdAt": time_text(self.now),
            "runAt": time_text(due_at),
        }
        created = LocalJob(request, job, due_at, label=job["label"])
        self.jobs.append(created)
        return created

    async def _run(self, one: LocalJob) -> None:
        one.attempt += 1
        one.label = "running"
        if one.first_started_at is None:
            one.first_started_at = self.now
        context = Context(one.job_now(), LocalSteps(one.steps))
        attempt = Attempt(self._app, self._app.find(one.kind), context)
        outcome = await _run_with_timeout(attempt, context, one.request.get("timeout"))
        one.note, one.percent = context.news
        if outcome.error is not None:
            one.errors.append(outcome.error)
        settlement: dict[str, Any] = json.loads(outcome.body)
        if outcome.name == "succeed":
            one.label, one.result = "succeeded", settlement.get("result")
            self.create(settlement.get("onSuccess", []))
        elif outcome.name == "snooze":
            one.attempt -= 1
            self._wait(one, "scheduled", settlement["delay"] / 1000)
        elif outcome.name == "fail":
            self._fail(one, settlement["failure"])
        else:
            raise JobAborted(f"{one.id} was aborted in process")

    def _fail(self, one: LocalJob, failure: dict[str, Any]) -> None:
        one.failure = typing.cast("types.Failure", failure)
        if one.job["type"] == "AT_MOST_ONCE":
            one.label, one.reason = "failed", "at_most_once"
            return
        started_at = one.first_started_at or self.now
        elapsed = (self.now - started_at).total_seconds()
        decision = Policy(one.request).decide(failure, one.retries, elapsed)
        if isinstance(decision, str):
            one.label, one.reason = "failed", decision
            return
        one.retries += 1
        self._wait(one, "retrying", decision)

    def _wait(self, one: LocalJob, label: types.JobLabel, seconds: float) -> None:
        one.label = label
        one.due_at = self.now + timedelta(seconds=seconds)


async def _run_with_timeout(attempt: Attempt, context: Context, timeout: Any) -> Outcome:
    """Runs a handler, and aborts it when its timeout is over, in real time."""
    timer = threading.Timer(timeout / 1000, context.abort, ["timeout"]) if timeout else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        if not attempt.is_async:
            return run_interruptibly(attempt, context)
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(attempt.run_async())
        context.on_abort = lambda: loop.call_soon_threadsafe(task.cancel)
        return await task
    finally:
        if timer is not None:
            timer.cancel()


ENDED = ("succeeded", "failed", "cancelled")
# Options that a job in process obeys, or that change nothing there: there are no gates, no other
# tenants, no leases and no webhooks.
PLAYED = frozenset(
    {"kind", "payload", "delay", "runAt", "retry", "maxRetries", "maxRetryCount", "maxAttempts"}
    | {"priority", "idempotencyKey", "type", "traceparent", "queue", "tenant", "tags", "jobName"}
    | {"concurrencyKey", "destination", "timeout", "lease", "webhook"}
)


def priority_of(request: types.CreateJobRequest) -> int:
    """0 to 9, higher first."""
    given = request.get("priority")
    return 5 if given is None else given
