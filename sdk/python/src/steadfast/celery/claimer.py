"""Claims jobs for the queues of a channel, up to its prefetch limit.

A thread waits for jobs with a long poll, so that a message arrives as soon as its job is due, and
the thread that calls `drain_events` can also receive broadcasts meanwhile.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
import uuid
from collections.abc import Callable
from typing import Any

from ..backoff import Backoff
from ..client import answer_of
from ..http import BlockingConnection
from ..payloads import to_json
from ..version import LIBRARY
from .address import Address

log = logging.getLogger("steadfast.celery")

WAIT = 20.0
"""Seconds that a claim waits for jobs."""
UNLIMITED = 100
"""Messages that are held at most if Celery sets no prefetch limit."""
CLAIMS_MAX = 1000


def worker_name() -> str:
    """The name of this process among the workers of the server."""
    host = re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname())[:100]
    return f"celery@{host}:{os.getpid()}"


class Claimer:
    """A thread that claims jobs while there are queues and room for messages."""

    def __init__(
        self,
        address: Address,
        lease: float,
        room: Callable[[], int],
        on_claims: Callable[[list[Any]], None],
    ) -> None:
        self._address = address
        self._lease = lease
        self._room = room
        self._on_claims = on_claims
        self._changed = threading.Condition()
        self._queues: list[str] = []
        self._is_stopped = False
        self._thread: threading.Thread | None = None
        self._connection = BlockingConnection(address.client().settings.target())
        self._session = uuid.uuid4().hex
        self._sequence = 0
        self._received = 0
        self._backoff = Backoff()

    def set_queues(self, queues: list[str]) -> None:
        """Claims from these queues from now on."""
        with self._changed:
            if queues == self._queues:
                return
            self._queues = list(queues)
            self._changed.notify_all()
            if queues and self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="steadfast-claimer", daemon=True
                )
                self._thread.start()
        self._connection.end_request()

    def notify(self) -> None:
        """There may be room for messages."""
        with self._changed:
            self._changed.notify_all()

    def stop(self) -> None:
        """Claims nothing more. A claim that is on its way is given back by the server."""
        with self._changed:
            self._is_stopped = True
            self._queues = []
            self._changed.notify_all()
        self._connection.end_request()

    def claim_one(self, queue: str) -> Any:
        """A job that is due now in a queue, without waiting."""
        body = self._body([queue], 1)
        claims = self._address.client().request("POST", "/api/v1/claims", body=body)["claims"]
        return claims[0] if claims else None

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._is_stopped and (not self._queues or self._room() <= 0):
                    self._changed.wait(1.0)
                if self._is_stopped:
                    break
                queues = self._queues
            self._claim(queues, min(self._room(), CLAIMS_MAX))
        self._connection.close()

    def _claim(self, queues: list[str], count: int) -> None:
        self._sequence += 1
        session = {"id": self._session, "sequence": self._sequence, "received": self._received}
        body = {**self._body(queues, count), "wait": round(WAIT * 1000), "session": session}
        try:
            response = self._connection.send(
                "POST", "/api/v1/claims", to_json(body).encode(), WAIT + 10
            )
            claims = answer_of(response)["claims"]
        except Exception as error:  # Without this thread no task would start.
            self._pause_after(error, queues)
            return
        self._backoff.reset()
        self._received = self._sequence
        if claims:
            self._on_claims(claims)

    def _pause_after(self, error: Exception, queues: list[str]) -> None:
        with self._changed:
            if self._is_stopped or self._queues != queues:
                return  # The request was ended on purpose.
            log.warning("no jobs could be claimed: %s", error)
            self._changed.wait(self._backoff.pause(getattr(error, "retry_after", 0)))

    def _body(self, queues: list[str], count: int) -> dict[str, Any]:
        return {
            "worker": worker_name(),
            "workerInfo": {"host": socket.gethostname(), "library": f"{LIBRARY} celery"},
            "queues": queues,
            "max": count,
            "lease": round(self._lease * 1000),
            **self._address.of_tenant(),
        }
