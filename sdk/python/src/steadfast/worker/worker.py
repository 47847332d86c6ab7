"""The life of a worker: start, work, stop in order."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, TypedDict

from ..durations import Duration, to_seconds
from .connection import Connection
from .session import Session

if TYPE_CHECKING:
    from ..app import Steadfast

log = logging.getLogger("steadfast.worker")

KINDS_MAX = 100
SIGNAL_PAUSE = 1.0
"""On Windows, a wait without an end would hide signals."""


class WorkerOptions(TypedDict, total=False):
    """Options of a worker."""

    concurrency: int
    """Maximum number of jobs that run at once; 10 by default."""
    queues: Sequence[str]
    """Queues to claim from; all by default."""
    kinds: Sequence[str]
    """Kinds to claim; by default all that the application defines."""
    lease: Duration
    """Lease duration, instead of each job's own lease."""
    grace: Duration
    """Grace period for running handlers when the worker stops; 30 s by default."""
    name: str
    """Name of the worker, shown with every attempt; host and process by default."""
    tenant: str
    """Only this tenant. Requires a key for all tenants."""


class Worker:
    """Claims jobs of an application and runs them until it is stopped."""

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
            raise ValueError(f"concurrency must be at least 1, not {concurrency}")
        self.app = app
        self.concurrency = concurrency
        self.queues = list(queues)
        self._kinds = None if kinds is None else list(kinds)
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

    @property
    def confirms(self) -> list[str]:
        """The kinds whose jobs can ask whether an attempt took effect."""
        found = {kind: self.app.find(kind) for kind in self.kinds}
        return [kind for kind, it in found.items() if it and it.confirm_function is not None]

    @property
    def kinds(self) -> list[str]:
        """The kinds that it claims: by default all of the application, also those defined later."""
        return self.app.kinds() if self._kinds is None else self._kinds

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
            raise RuntimeError("a worker can run only once; create another one")
        check_kinds(self.app, self.kinds)
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
        """Waits until it has stopped. Returns whether it has; raises the error that stopped it."""
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


def check_kinds(app: Steadfast, kinds: Sequence[str]) -> None:
    """Refuses kinds that a worker of this application cannot run."""
    if not kinds:
        raise ValueError(
            "this application defines no jobs: import the modules that define them "
            "before the worker starts"
        )
    unknown = [kind for kind in kinds if app.find(kind) is None]
    if unknown:
        raise ValueError(f"this application defines no job of kind {', '.join(unknown)}")
    blocking = [
        kind for kind in kinds if (found := app.find(kind)) is not None and not found.is_async
    ]
    if app.has_async_middleware and blocking:
        raise ValueError(
            f"async middleware cannot wrap a `def` handler: make {', '.join(blocking)} "
            "`async def`, or the middleware a plain generator"
        )
    if len(kinds) > KINDS_MAX:
        raise ValueError(
            f"{len(kinds)} kinds: a worker claims at most {KINDS_MAX}; "
            "name some of them, and start another worker for the others"
        )


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
