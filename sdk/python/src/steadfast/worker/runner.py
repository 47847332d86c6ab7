"""Runs handlers: `def` in threads, `async def` in an event loop, apart from the requests."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import functools
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from ..attempts import Attempt, Outcome
from ..context import Context
from ..errors import JobAborted
from .held import Held


class Runner:
    """Starts attempts and hands back their outcomes, in batches, on the requests' thread."""

    def __init__(
        self,
        io: asyncio.AbstractEventLoop,
        handlers: asyncio.AbstractEventLoop,
        concurrency: int,
        on_ends: Callable[[list[tuple[Held, Outcome]]], None],
    ) -> None:
        self._io = io
        self._handlers = handlers
        self._threads = Threads(concurrency, self._finish)
        self._on_ends = on_ends
        self._ended: deque[tuple[Held, Outcome]] = deque()
        self._is_drain_due = False

    def start(self, claims: Sequence[Held]) -> None:
        """Starts their handlers."""
        for_loop: list[Held] = []
        for held in claims:
            if held.attempt.is_async:
                for_loop.append(held)
            else:
                self._threads.start(held)
        if for_loop:
            self._handlers.call_soon_threadsafe(self._spawn, for_loop)

    def stop(self) -> None:
        """Lets idle threads end."""
        self._threads.stop()

    def _spawn(self, claims: list[Held]) -> None:
        for held in claims:
            task = self._handlers.create_task(held.attempt.run_async())

            held.context.on_abort = functools.partial(self._cancel, task)
            task.add_done_callback(functools.partial(self._finish_task, held))

    def _cancel(self, task: asyncio.Task[Outcome]) -> None:
        self._handlers.call_soon_threadsafe(task.cancel)

    def _finish_task(self, held: Held, task: asyncio.Task[Outcome]) -> None:
        # A task that was cancelled before its first step has no outcome.
        self._finish(held, held.attempt.aborted() if task.cancelled() else task.result())

    def _finish(self, held: Held, outcome: Outcome) -> None:
        """Many ends cost one wake-up of the requests' thread."""
        self._ended.append((held, outcome))
        if not self._is_drain_due:
            self._is_drain_due = True
            try:
                self._io.call_soon_threadsafe(self._drain)
            except RuntimeError:
                return  # The worker has stopped without waiting for this one.

    def _drain(self) -> None:
        self._is_drain_due = False
        ends: list[tuple[Held, Outcome]] = []
        while self._ended:
            ends.append(self._ended.popleft())
        self._on_ends(ends)


class Threads:
    """Threads for `def` handlers, made when needed, that do not keep the process alive.

    `concurrent.futures` would wait for a handler that does not return when the process ends.
    """

    def __init__(self, count_max: int, finish: Callable[[Held, Outcome], None]) -> None:
        self._count_max = count_max
        self._finish = finish
        self._count = 0
        self._idle = threading.Semaphore(0)
        self._queue: queue.SimpleQueue[Held | None] = queue.SimpleQueue()

    def start(self, held: Held) -> None:
        """Runs it in a thread that is idle, or in a new one."""
        self._queue.put(held)
        if not self._idle.acquire(blocking=False) and self._count < self._count_max:
            self._count += 1
            name = f"steadfast-handler-{self._count}"
            threading.Thread(target=self._work, name=name, daemon=True).start()

    def stop(self) -> None:
        """Lets idle threads end."""
        for _ in range(self._count):
            self._queue.put(None)

    def _work(self) -> None:
        while True:
            try:
                held = self._queue.get_nowait()
            except queue.Empty:
                self._idle.release()
                held = self._queue.get()
            if held is None:
                return
            run = contextvars.copy_context().run
            self._finish(held, run(run_interruptibly, held.attempt, held.context))


def run_interruptibly(attempt: Attempt, context: Context) -> Outcome:
    """Runs an attempt so that an abort raises `JobAborted` inside its handler."""
    if not attempt.may_interrupt:
        return attempt.run()
    interrupt = Interrupt()
    outcome: Outcome | None = None
    try:
        context.on_abort = interrupt.send
        try:
            outcome = attempt.run()
        finally:
            interrupt.disarm()
    except JobAborted:
        # It arrived between the end of the handler and `disarm`; it is sent only once.
        interrupt.disarm()
    return outcome or attempt.aborted()


class Interrupt:
    """Raises `JobAborted` in one thread, at most once, and never after `disarm`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = threading.get_ident()
        self._is_sent = False

    def send(self) -> None:
        """Raises the exception at the next step of Python code in the thread."""
        with self._lock:
            if self._thread is not None and not self._is_sent:
                self._is_sent = True
                _raise_in(self._thread, JobAborted)

    def disarm(self) -> None:
        """The handler has ended. Takes back an exception that has not been raised yet."""
        with self._lock:
            if self._thread is not None and self._is_sent:
                _raise_in(self._thread, None)
            self._thread = None


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    error: Any = ctypes.py_object(kind) if kind else None
    # Other implementations than CPython have no such thing; there, handlers look at the context.
    if hasattr(ctypes, "pythonapi"):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)
