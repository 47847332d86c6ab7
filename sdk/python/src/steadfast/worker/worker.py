"""The life of a worker: start, work, stop in order."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from .. import types
from ..attempts import RELEASE, Outcome
from ..durations import Duration, to_seconds
from ..version import LIBRARY
from .claimer import Claimer
from .connection import Connection
from .heartbeats import Heartbeats
from .held import Held, Registry
from .runner import Runner
from .settler import Settler

if TYPE_CHECKING:
    from ..app import Steadfast

log = logging.getLogger("steadfast.worker")

KINDS_MAX = 100
UNSETTLED_MAX = 1_000
"""Outcomes that wait for the server; beyond that, no more jobs are claimed."""
ANSWER_TIME = 1.0
"""How long the answer to a claim that is not wanted any more is waited for."""
ABORT_TIME = 1.0
"""How long handlers that are told to stop may take before their jobs are given back."""
SIGNAL_PAUSE = 1.0
"""On Windows, a wait without an end would hide signals."""
FLUSH_TIME_MIN = 5.0
"""How long reports are repeated on a stop, also if the grace period is over."""


class Worker:
    """Claims jobs of an application and runs them until it is told to stop."""

    def __init__(
        self,
        app: Steadfast,
        *,
        concurrency: int = 10,
        queues: Sequence[str] = (),
        kinds: Sequence[str] | None = None,
        lease: Duration | None = None,
        grace: Duration = 30,
        name: str | None = None,
        tenant: str | None = None,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"a concurrency of {concurrency}: it must be at least 1")
        self.app = app
        self.concurrency = concurrency
        self.queues = list(queues)
        self.kinds = app.kinds() if kinds is None else list(kinds)
        if len(self.kinds) > KINDS_MAX:
            raise ValueError(
                f"{len(self.kinds)} kinds: a worker claims at most {KINDS_MAX}; "
                "say which ones (kinds=…), and start another worker for the rest"
            )
        self.lease = None if lease is None else to_seconds(lease)
        self.grace = to_seconds(grace)
        self.name = name or default_name()
        self.tenant = tenant
        self._io_thread: threading.Thread | None = None
        self._io: asyncio.AbstractEventLoop | None = None
        self._handlers: asyncio.AbstractEventLoop | None = None
        self._stop_requested = threading.Event()
        self._has_stopped = threading.Event()
        self._error: BaseException | None = None
        self._stop_async: asyncio.Event | None = None

    # --- from outside ----------------------------------------------------------------------------

    def run(self) -> None:
        """Runs until SIGTERM or SIGINT, then stops in order. A second signal ends the process."""
        previous: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                previous[number] = signal.signal(number, self._on_signal)
        try:
            self.start()
            while not self.wait(SIGNAL_PAUSE):
                continue
        finally:
            for each, handler in previous.items():
                signal.signal(each, handler)

    async def run_async(self) -> None:
        """Runs in the calling event loop until `stop` is called or the task is cancelled.

        `async def` handlers run in this loop. It installs no signal handlers.
        """
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        self.start(loop)

        def watch() -> None:
            self._has_stopped.wait()
            _set_soon(loop, ended)

        threading.Thread(target=watch, name="steadfast-wait", daemon=True).start()
        try:
            await ended.wait()
        except asyncio.CancelledError:
            self.stop()
            await ended.wait()
            raise
        if self._error:
            raise self._error

    def start(self, handlers: asyncio.AbstractEventLoop | None = None) -> None:
        """Starts it in threads of its own; `async def` handlers run in the given loop."""
        if self._io_thread is not None:
            raise RuntimeError("a worker runs only once; make another one")
        if handlers is None:
            handlers = asyncio.new_event_loop()
            threading.Thread(
                target=_run_loop, args=(handlers,), name="steadfast-handlers", daemon=True
            ).start()
            self._handlers = handlers
        self._io_thread = threading.Thread(
            target=self._run_io, args=(handlers,), name="steadfast-io", daemon=True
        )
        self._io_thread.start()

    def stop(self) -> None:
        """Begins to stop: no further claim, handlers may finish within `grace`. Returns at once."""
        self._stop_requested.set()
        if self._io is not None and self._stop_async is not None:
            _set_soon(self._io, self._stop_async)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it has stopped; says whether it has, or raises what made it stop."""
        has_stopped = self._has_stopped.wait(timeout)
        if self._error:
            raise self._error
        return has_stopped

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._stop_requested.is_set():
            os._exit(128 + number)
        self.stop()

    # --- on the thread of the requests -----------------------------------------------------------

    def _run_io(self, handlers: asyncio.AbstractEventLoop) -> None:
        try:
            asyncio.run(self._main(handlers))
        except BaseException as error:
            self._error = error
        finally:
            if self._handlers is not None:
                self._handlers.call_soon_threadsafe(self._handlers.stop)
            self._has_stopped.set()

    async def _main(self, handlers: asyncio.AbstractEventLoop) -> None:
        self._stop_async = asyncio.Event()
        self._io = asyncio.get_running_loop()
        if self._stop_requested.is_set():
            self._stop_async.set()
        connection = Connection(self.app.client.settings)
        try:
            await Session(self, connection, handlers).run(self._stop_async)
        finally:
            connection.close()
        log.info("worker %s has stopped", self.name)


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
            claim_request(worker),
            self._on_claims,
        )
        self._is_stopping = False

    async def run(self, stop: asyncio.Event) -> None:
        """Works until `stop` is set, and then stops in order."""
        worker = self._worker
        log.info("worker %s runs %d jobs at a time", worker.name, worker.concurrency)
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
            log.warning("%d jobs are given back", len(self._registry.running))
            for held in list(self._registry.running):
                held.context.abort("stopping")
            await self._wait_for_handlers(ABORT_TIME)
            self._on_ends([(held, RELEASE) for held in self._registry.running])
        await self._settler.flush(max(FLUSH_TIME_MIN, end - self._loop.time()))

    async def _wait_for_handlers(self, timeout: float) -> int:
        """Waits until no handler runs, no longer than the timeout; says how many still run."""
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
            held.context.on_progress = functools.partial(self._announce, held)
            if held.timeout is not None:
                held.timer = self._loop.call_later(held.timeout, held.context.abort, "timeout")
        self._heartbeats.watch(batch)
        self._runner.start(batch)

    def _announce(self, held: Held) -> None:
        """On the handler's thread."""
        self._loop.call_soon_threadsafe(self._heartbeats.announce, held)

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
    """What every claim of this worker says."""
    info: dict[str, Any] = {
        "host": socket.gethostname(),
        "concurrency": worker.concurrency,
        "library": LIBRARY,
    }
    if worker.app.version:
        info["version"] = worker.app.version
    request: dict[str, Any] = {"worker": worker.name, "workerInfo": info}
    if worker.kinds:
        request["kinds"] = worker.kinds
    if worker.queues:
        request["queues"] = worker.queues
    if worker.lease is not None:
        request["lease"] = round(worker.lease * 1000)
    if worker.tenant:
        request["tenant"] = worker.tenant
    return request


def default_name() -> str:
    """The host and the process."""
    host = re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname())[:100] or "host"
    return f"{host}-{os.getpid()}"


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def _set_soon(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    try:
        loop.call_soon_threadsafe(event.set)
    except RuntimeError:
        return  # The loop has ended, and with it whatever waited.
