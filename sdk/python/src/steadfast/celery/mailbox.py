"""Receives the messages of an address for one consumer.

Somebody who waits for remote control may wait for days, so there is a bell: a job that one of the
receivers holds, and that a sender ends. All receivers wait for its end with a long poll.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ..backoff import Backoff
from ..client import Client
from .address import Address
from .broadcast import (
    ADDRESS_TAG,
    BELL_KIND,
    BELL_LEASE,
    BELL_TAG,
    MESSAGE_KIND,
    QUEUE,
    SUBSCRIPTION_KIND,
    SUBSCRIPTION_TIME,
    short_lived,
)
from .claimer import worker_name

log = logging.getLogger("steadfast.celery")

BELL_WAIT = 10.0
REPLY_INTERVAL = 0.1
EVENT_INTERVAL = 0.5
OVERLAP = timedelta(seconds=2)
"""Two nodes may store messages in another order than that of their times."""
PAGE = 100


class Binding(NamedTuple):
    """An address that a queue receives messages of."""

    to: str
    has_bell: bool = False
    """Whether its senders ring the bell; otherwise the address is polled."""
    needs_subscription: bool = False
    """Whether its senders send only if somebody has subscribed."""


class Mailbox:
    """The messages of one address, from the moment when its queue was bound."""

    def __init__(self, client: Client, address: Address, binding: Binding) -> None:
        self.binding = binding
        self._client = client
        self._address = address
        self._seen: dict[str, datetime] = {}
        self._newest: datetime | None = None
        self._deliver: Callable[[Any], None] | None = None
        self._reading = threading.Lock()
        self._stop = threading.Event()
        self._subscribed_until = 0.0
        for job in self._list():
            self._has_seen(job)

    def start(self, deliver: Callable[[Any], None]) -> None:
        """Delivers messages on a thread of its own."""
        self._stop = threading.Event()
        self._deliver = deliver
        threading.Thread(
            target=self._run, args=(deliver, self._stop), name="steadfast-mailbox", daemon=True
        ).start()

    def stop(self) -> None:
        """Delivers nothing more. What was not delivered comes after the next start."""
        self._stop.set()

    def catch_up(self) -> None:
        """Delivers what was sent before now."""
        if self._deliver is not None:
            self._read(self._deliver, self._stop)

    def _run(self, deliver: Callable[[Any], None], stop: threading.Event) -> None:
        backoff = Backoff()
        while not stop.is_set():
            try:
                self._round(deliver, stop)
                backoff.reset()
            except Exception as error:  # Without this thread the worker could not be controlled.
                log.warning("messages to %s could not be read: %s", self.binding.to, error)
                stop.wait(backoff.pause(getattr(error, "retry_after", 0)))

    def _round(self, deliver: Callable[[Any], None], stop: threading.Event) -> None:
        # The bell comes first: a message that the list below lacks rings it.
        bell = self._bell() if self.binding.has_bell else None
        self._subscribe()
        self._read(deliver, stop)
        if stop.is_set():
            return
        if bell is None:
            stop.wait(EVENT_INTERVAL if self.binding.needs_subscription else REPLY_INTERVAL)
        else:
            self._client.request(
                "GET",
                f"/api/v1/jobs/{bell}",
                query={"wait": f"{round(BELL_WAIT)}s"},
                timeout=BELL_WAIT + 10,
            )

    def _read(self, deliver: Callable[[Any], None], stop: threading.Event) -> None:
        with self._reading:
            jobs = [job for job in self._list() if job["id"] not in self._seen]
            for job in sorted(jobs, key=_created):
                if stop.is_set():
                    return
                payload = self._client.get_job(job["id"]).get("payload")
                for message in payload.get("messages", []) if isinstance(payload, dict) else []:
                    deliver(message)
                self._has_seen(job)
            self._forget_old()

    def _list(self) -> list[Any]:
        query: dict[str, Any] = {"tag": [f"{ADDRESS_TAG}:{self.binding.to}"], "queue": QUEUE}
        if self._newest is not None:
            query["from"] = (self._newest - OVERLAP).isoformat()
        query |= {"kind": MESSAGE_KIND, "limit": PAGE, "tenant": self._address.tenant}
        jobs: list[Any] = []
        while True:
            page = self._client.request("GET", "/api/v1/jobs", query=query)
            jobs += page["jobs"]
            # At the first look everything is old, and the newest page says when it ends.
            if self._newest is None or not page.get("nextCursor"):
                return jobs
            query["after"] = page["nextCursor"]

    def _has_seen(self, job: Any) -> None:
        created = _created(job)
        self._seen[job["id"]] = created
        self._newest = created if self._newest is None else max(created, self._newest)

    def _forget_old(self) -> None:
        if self._newest is not None:
            oldest = self._newest - 2 * OVERLAP
            self._seen = {it: created for it, created in self._seen.items() if created >= oldest}

    def _bell(self) -> str:
        """The bell of the address, held by somebody."""
        to = self.binding.to
        body: dict[str, Any] = {
            "kind": BELL_KIND,
            "queue": QUEUE,
            "tags": {BELL_TAG: to},
            "unique": {"key": f"{BELL_TAG}:{to}"},
            "lease": round(BELL_LEASE * 1000),
            **self._address.of_tenant(),
        }
        bell = self._client.request("POST", "/api/v1/jobs", body=body)
        if bell["label"] not in ("running", "succeeded"):
            claim = {"worker": worker_name(), "queues": [QUEUE], "kinds": [BELL_KIND]}
            body = claim | self._address.of_tenant()
            self._client.request("POST", "/api/v1/claims", body=body)
        return str(bell["id"])

    def _subscribe(self) -> None:
        """Tells senders that somebody wants messages of this address."""
        if not self.binding.needs_subscription:
            return
        if time.monotonic() >= self._subscribed_until:
            tags = {ADDRESS_TAG: self.binding.to}
            job = short_lived(
                SUBSCRIPTION_KIND, SUBSCRIPTION_TIME, tags=tags, **self._address.of_tenant()
            )
            self._client.request("POST", "/api/v1/jobs", body=job)
            self._subscribed_until = time.monotonic() + SUBSCRIPTION_TIME * 0.6


def _created(job: Any) -> datetime:
    return datetime.fromisoformat(job["createdAt"].replace("Z", "+00:00"))
