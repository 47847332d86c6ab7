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
from ..attempts import Attempt
from ..context import Context
from ..durations import Duration, to_seconds
from ..errors import PERMANENT_CLASSES, JobAborted
from ..jobs import time_text
from ..payloads import to_json
from ..steps import LocalSteps
from .policy import Policy


@contextlib.contextmanager
def in_process(app: Steadfast) -> Iterator[LocalQueue]:
    """Jobs that the application enqueues stay here, until the test runs them."""
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
    label: types.JobLabel = "ready"
    result: Any = None
    errors: list[BaseException] = field(default_factory=list)
    """What its attempts raised, the newest last."""
    failure: types.Failure | None = None
    """The newest failure, as the server would show it."""
    percent: int | None = None
    note: str | None = None
    steps: dict[str, str] = field(default_factory=dict)

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
        """Runs everything that is due, and what that enqueues; says how many attempts."""
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
            await self._run(due[0])
            count += 1
        return count

    def run_to_end(self) -> int:
        """Runs everything, moving the clock to each retry; says how many attempts."""
        count = self.run_until_idle()
        while waiting := self._waiting():
            self.now = waiting[0].due_at
            count += self.run_until_idle()
        return count

    def _waiting(self) -> list[LocalJob]:
        waiting = [one for one in self.jobs if one.label in ("ready", "scheduled", "retrying")]
        return sorted(waiting, key=lambda one: one.due_at)

    def _create(self, request: types.CreateJobRequest) -> LocalJob:
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
        job = typing.cast("types.Job", {**one.job, "attempt": one.attempt, "label": "running"})
        context = Context(job, LocalSteps(one.steps))
        attempt = Attempt(self._app, self._app.find(one.kind), context)
        outcome = await attempt.run_async() if attempt.is_async else attempt.run()
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
        policy = Policy(one.request)
        is_final = (
            _is_permanent(failure)
            or one.job["type"] == "AT_MOST_ONCE"
            or one.attempt > policy.max_retries
        )
        if is_final:
            one.label = "failed"
        else:
            delay = max(policy.delay(one.attempt), failure.get("retryAfter", 0) / 1000)
            self._wait(one, "retrying", delay)

    def _wait(self, one: LocalJob, label: types.JobLabel, seconds: float) -> None:
        one.label = label
        one.due_at = self.now + timedelta(seconds=seconds)


def _is_permanent(failure: dict[str, Any]) -> bool:
    status: int = failure.get("httpStatus", 0)
    is_permanent_status = 300 <= status < 500 and status not in (408, 425, 429)
    is_permanent_class = failure["class"] in PERMANENT_CLASSES
    return failure.get("permanent", False) or is_permanent_class or is_permanent_status
