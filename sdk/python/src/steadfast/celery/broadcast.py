"""Messages for many receivers: remote control, its replies, and events.

They are not tasks. Their receivers come and go, and each gets a copy, so a queue per receiver would
leave thousands of queues behind. Instead a message is one job in the queue `celery.mailbox`, tagged
with its address, which nobody claims: receivers list the jobs of their addresses and read them. It
is cancelled after a minute, whether or not anybody has read it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections import deque
from typing import Any

from ..client import Client
from ..errors import SteadfastError
from .address import Address

log = logging.getLogger("steadfast.celery")

QUEUE = "celery.mailbox"
MESSAGE_KIND = "celery.broadcast"
BELL_KIND = "celery.bell"
SUBSCRIPTION_KIND = "celery.subscription"
ADDRESS_TAG = "celery-to"
BELL_TAG = "celery-bell"
LIFETIME = 60.0
"""Seconds that a message can be read."""
EXPIRY_MARGIN = 5.0
"""A deadline must be later than the start, and the start of these jobs is the end of their use."""
BELL_LEASE = 24 * 3600.0
SUBSCRIPTION_TIME = 20.0
SUBSCRIBERS_CACHED = 5.0
FLUSH_TIME = 0.5
BUFFER_MAX = 10_000
"""Events that wait to be sent; the oldest beyond them are dropped."""
BATCH_BYTES_MAX = 128 * 1024


def short_lived(kind: str, seconds: float, **fields: Any) -> dict[str, Any]:
    """A job that is cancelled after some seconds, because nobody claims it."""
    return {
        "kind": kind,
        "queue": QUEUE,
        "delay": round(seconds * 1000),
        "startBefore": f"{round((seconds + EXPIRY_MARGIN) * 1000)}ms",
        "onExpiry": "cancel",
        "maxRetries": 0,
        **fields,
    }


class Broadcaster:
    """Sends messages to addresses."""

    def __init__(self, client: Client, address: Address) -> None:
        self._client = client
        self._address = address
        self._subscribers: dict[str, tuple[float, bool]] = {}
        self._buffer: deque[tuple[str, Any]] = deque(maxlen=BUFFER_MAX)
        self._flush_lock = threading.Lock()
        self._thread_of = 0
        """The process that has the thread for events. A forked process needs its own."""

    def send(self, to: str, message: Any, has_bell: bool = False) -> None:
        """Stores a message, and wakes its receivers if they wait for a bell."""
        self._store(to, [message])
        if has_bell:
            self._ring(to)

    def send_soon(self, to: str, message: Any) -> None:
        """Sends a message together with others, if anybody has subscribed to the address."""
        if not self._has_subscribers(to):
            return
        self._buffer.append((to, message))
        if self._thread_of != os.getpid():
            self._thread_of = os.getpid()
            threading.Thread(target=self._run, name="steadfast-events", daemon=True).start()

    def flush(self) -> None:
        """Sends what waits. Events are dropped if the server cannot be reached."""
        with self._flush_lock:
            waiting: dict[str, list[Any]] = {}
            while self._buffer:
                to, message = self._buffer.popleft()
                waiting.setdefault(to, []).append(message)
            try:
                for to, messages in waiting.items():
                    for batch in _batches(messages):
                        self._store(to, batch)
            except (SteadfastError, OSError) as error:
                log.warning("events were dropped: %s", error)

    def _run(self) -> None:
        while True:
            time.sleep(FLUSH_TIME)
            self.flush()

    def _store(self, to: str, messages: list[Any]) -> None:
        job = short_lived(
            MESSAGE_KIND,
            LIFETIME,
            tags={ADDRESS_TAG: to},
            payload={"messages": messages},
            **self._address.of_tenant(),
        )
        self._client.request("POST", "/api/v1/jobs", body=job)

    def _ring(self, to: str) -> None:
        """Ends the bell of an address. Receivers that miss it look again within seconds."""
        with contextlib.suppress(SteadfastError, OSError):
            bells = self._client.list_jobs(
                kind=BELL_KIND,
                tag=[f"{BELL_TAG}:{to}"],
                label="running",
                tenant=self._address.tenant,
            )["jobs"]
            if bells:
                # The fence of a job that was never released is the number of its attempts.
                settlements = [
                    {"id": bell["id"], "fence": bell["attempt"], "outcome": "succeed"}
                    for bell in bells
                ]
                self._client.request(
                    "POST", "/api/v1/claims/settle", body={"settlements": settlements}
                )

    def _has_subscribers(self, to: str) -> bool:
        now = time.monotonic()
        checked, found = self._subscribers.get(to, (0.0, False))
        if not checked or now - checked >= SUBSCRIBERS_CACHED:
            with contextlib.suppress(SteadfastError, OSError):
                jobs = self._client.list_jobs(
                    kind=SUBSCRIPTION_KIND,
                    tag=[f"{ADDRESS_TAG}:{to}"],
                    label="scheduled",
                    limit=1,
                    tenant=self._address.tenant,
                )["jobs"]
                found = bool(jobs)
            self._subscribers[to] = (now, found)
        return found


def _batches(messages: list[Any]) -> list[list[Any]]:
    batches: list[list[Any]] = []
    size = BATCH_BYTES_MAX
    for message in messages:
        length = len(str(message))
        if size + length > BATCH_BYTES_MAX:
            batches.append([])
            size = 0
        batches[-1].append(message)
        size += length
    return batches
