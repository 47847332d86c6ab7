"""Jobs that are enqueued at the same moment in an event loop share one request.

The server syncs its disk once for a request, however many jobs it has. With 50 callers at a time,
a job costs a tenth of what it costs in a request of its own.
"""

from __future__ import annotations

import asyncio
import functools
import typing
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import types
from .client import AsyncClient
from .errors import ApiError, ServerUnavailable
from .payloads import to_json

JOBS = "/api/v1/jobs"
JOBS_MAX = 1_000
BYTES_MAX = 512 * 1024
"""Of one request; the server takes 1 MiB by default."""


class Entry(NamedTuple):
    """A job to be created, and who waits for it."""

    request: types.CreateJobRequest
    text: bytes
    future: asyncio.Future[types.Job]


class Gathering:
    """Creates jobs, those of one turn of an event loop together."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._waiting: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[Entry]] = (
            weakref.WeakKeyDictionary()
        )
        self._tasks: set[asyncio.Task[None]] = set()

    async def create(self, request: types.CreateJobRequest) -> types.Job:
        """Creates a new job. The request must have a new idempotency key, as it may be repeated."""
        loop = asyncio.get_running_loop()
        entry = Entry(request, to_json(request).encode(), loop.create_future())
        waiting = self._waiting.setdefault(loop, [])
        waiting.append(entry)
        if len(waiting) == 1:
            loop.call_soon(self._flush, loop)
        return await entry.future

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        # A caller that was cancelled before the request was sent wants no job.
        waiting = [entry for entry in self._waiting.pop(loop) if not entry.future.cancelled()]
        for part in _parts(waiting):
            task = loop.create_task(self._send(part))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _send(self, part: Sequence[Entry]) -> None:
        try:
            jobs = await self._create(part)
        except ApiError as error:
            if len(part) == 1:
                _fail(part, error)
                return
            # One of them is at fault, and the others must not fail because of it.
            await asyncio.gather(*(self._send([entry]) for entry in part))
        except BaseException as error:
            _fail(part, error)
        else:
            for entry, job in zip(part, jobs, strict=True):
                # The answer to a request for several jobs has no payloads.
                job["payload"] = entry.request.get("payload")
                if not entry.future.done():
                    entry.future.set_result(job)

    async def _create(self, part: Sequence[Entry]) -> list[types.Job]:
        if len(part) == 1:
            text = part[0].text
            job = await self._client.request(
                "POST", JOBS, body=text, is_repeatable=True, check=job_of
            )
            return [job_of(job)]
        body = b'{"jobs":[' + b",".join(entry.text for entry in part) + b"]}"
        check = functools.partial(jobs_of, count=len(part))
        answer = await self._client.request(
            "POST", JOBS, body=body, is_repeatable=True, check=check
        )
        return check(answer)


def job_of(answer: Any) -> types.Job:
    """The job that a request has created. A proxy, or a broken server, may answer anything."""
    if not isinstance(answer, dict) or not isinstance(answer.get("id"), str):
        raise ServerUnavailable("an unexpected answer: not a job")
    return typing.cast("types.Job", answer)


def jobs_of(answer: Any, count: int) -> list[types.Job]:
    """The jobs that a request for several has created."""
    jobs: Any = answer.get("jobs") if isinstance(answer, dict) else None
    if not isinstance(jobs, list) or len(jobs) != count:
        raise ServerUnavailable("an unexpected answer: not one job for each request")
    return [job_of(job) for job in jobs]


def _parts(entries: Sequence[Entry]) -> list[list[Entry]]:
    parts: list[list[Entry]] = []
    size = BYTES_MAX
    for entry in entries:
        size += len(entry.text) + 1
        if size > BYTES_MAX or len(parts[-1]) == JOBS_MAX:
            parts.append([])
            size = len(entry.text)
        parts[-1].append(entry)
    return parts


def _fail(part: Sequence[Entry], error: BaseException) -> None:
    for entry in part:
        if not entry.future.done():
            entry.future.set_exception(error)
