"""The parts of a running worker, and how they stop in order."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import socket
from typing import TYPE_CHECKING, Any

from .. import types
from ..attempts import RELEASE, Outcome
from ..version import LIBRARY
from .claimer import Claimer
from .connection import Connection
from .heartbeats import Heartbeats
from .held import Held, Registry
from .runner import Runner
from .settler import Settler

if TYPE_CHECKING:
    from .worker import Worker

log = logging.getLogger("steadfast.worker")

UNSETTLED_MAX = 1_000
"""Outcomes that wait for the server; beyond that, no more jobs are claimed."""
ANSWER_TIME = 1.0
"""How long a stop waits for the answer to the last claim."""
ABORT_TIME = 1.0
"""How long handlers that were aborted may take before their jobs are given back."""
FLUSH_TIME_MIN = 5.0
"""How long reports are repeated on a stop, also if the grace period is over."""


class Session:
    """The parts of a running worker."""

    def __init__(
        self, worker: Worker, connection: Connection, handlers: asyncio.AbstractEventLoop
    ) -> None:
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self._registry = Registry()
        self._runner = Runner(self._loop, handlers, worker.concurrency, self._on_ends)
        self._heartbeats = Heartbeats(connection, self._registry, worker.name, worker.lease)
        self._settler = Settler(connection, self._registry, self._heartbeats)
        self._claimer = Claimer(
            connection,
            self._registry,
            worker.concurrency,
            UNSETTLED_MAX,
            functools.partial(claim_request, worker),
            self._on_claims,
            self._settler,
        )
        self._is_stopping = False

    async def run(self, stop: asyncio.Event) -> None:
        """Works until `stop` is set, and then stops in order."""
        worker = self._worker
        log.info("worker %s has started; up to %d jobs at once", worker.name, worker.concurrency)
        claims = asyncio.create_task(self._claimer.run())
        services = [
            asyncio.create_task(self._heartbeats.run()),
            asyncio.create_task(self._settler.run()),
        ]
        stopped = asyncio.create_task(stop.wait())
        try:
            tasks = [claims, *services, stopped]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            self._is_stopping = True
            for held in self._registry.running:
                held.context.is_stopping = True
            end = self._loop.time() + worker.grace
            if self._claimer.stop():
                await asyncio.wait([claims], timeout=ANSWER_TIME)
            claims.cancel()
            await self._finish_work(end)
            for task in done:
                await task
        finally:
            for task in (claims, *services, stopped):
                task.cancel()
            self._runner.stop()

    async def _finish_work(self, end: float) -> None:
        if await self._wait_for_handlers(end - self._loop.time()):
            log.warning("releasing %d jobs", len(self._registry.running))
            for held in list(self._registry.running):
                held.context.abort("stopping")
            await self._wait_for_handlers(ABORT_TIME)
            self._on_ends([(held, RELEASE) for held in self._registry.running])
        await self._settler.flush(max(FLUSH_TIME_MIN, end - self._loop.time()))

    async def _wait_for_handlers(self, timeout: float) -> int:
        """Waits until no handler runs, no longer than the timeout; returns how many still run."""
        end = self._loop.time() + timeout
        while self._registry.running and (left := end - self._loop.time()) > 0:
            self._registry.changed.clear()
            try:
                await asyncio.wait_for(self._registry.changed.wait(), left)
            except (asyncio.TimeoutError, TimeoutError):
                break
        return len(self._registry.running)

    def _on_claims(self, claims: list[types.Claim]) -> None:
        worker = self._worker
        batch = [Held(worker.app, claim, worker.lease) for claim in claims]
        for held in batch:
            self._registry.add(held)
        if self._is_stopping:
            # The answer came after the stop: nothing has started, so all of it goes back at once.
            self._on_ends([(held, RELEASE) for held in batch])
            return
        for held in batch:
            held.context.on_progress = self._announce
            if held.timeout is not None:
                held.timer = self._loop.call_later(held.timeout, held.context.abort, "timeout")
        self._heartbeats.watch(batch)
        self._runner.start(batch)

    def _announce(self) -> None:
        """On the handler's thread."""
        # The worker may have stopped without waiting for this handler.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._heartbeats.announce)

    def _on_ends(self, ends: list[tuple[Held, Outcome]]) -> None:
        reports: list[Held] = []
        for held, outcome in ends:
            if held.outcome is not None:
                continue  # It was given back before it ended.
            held.outcome = outcome
            if held.timer is not None:
                held.timer.cancel()
            if outcome.error is not None:
                fields = held.context.log_fields
                log.warning("%s failed: %r", held.id, outcome.error, extra=fields)
            if outcome.name == "none" or (held.id, held.fence) not in self._registry.held:
                self._registry.forget(held)
            else:
                reports.append(held)
            self._registry.end(held)
        if reports:
            self._settler.put(reports)


def claim_request(worker: Worker) -> dict[str, Any]:
    """The part of a claim that is always the same."""
    info: dict[str, Any] = {
        "host": socket.gethostname(),
        "concurrency": worker.concurrency,
        "library": LIBRARY,
    }
    if worker.app.version:
        info["version"] = worker.app.version
    # A claim without kinds is one for all kinds, also those of other applications.
    request: dict[str, Any] = {
        "worker": worker.name,
        "workerInfo": info,
        "kinds": worker.kinds,
    }
    confirms = worker.confirms
    if confirms:
        request["confirms"] = confirms
    if worker.queues:
        request["queues"] = worker.queues
    if worker.lease is not None:
        request["lease"] = round(worker.lease * 1000)
    if worker.tenant:
        request["tenant"] = worker.tenant
    return request
