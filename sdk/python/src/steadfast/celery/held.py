"""Deliveries that a channel holds, and what the server must still be told about them."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

ACKNOWLEDGED = "acknowledged by Celery"
"""The note of an attempt whose message was acknowledged before the task ended."""


class Held:
    """A claimed job."""

    def __init__(self, claim: Any, task_id: str | None, queue: str) -> None:
        self.id: str = claim["id"]
        self.fence: int = claim["fence"]
        self.task_id = task_id
        self.queue = queue
        self.is_acknowledged = False
        """Whether Celery has acknowledged the message, while its task may still run."""
        self.has_note = False
        """Whether the server knows that."""
        self.settlement: dict[str, Any] | None = None
        """The outcome that the server must be told."""
        self.failure: dict[str, Any] | None = None
        """How the task failed, if this process knows it."""

    @property
    def is_running(self) -> bool:
        """Whether a Celery worker of this process still has the task.

        Celery acknowledges a message when its task begins, unless `acks_late` is set; the job must
        not end before the task does.
        """
        state = sys.modules.get("celery.worker.state")
        return self.task_id is not None and self.task_id in getattr(state, "requests", ())

    def settle(self, outcome: str, **fields: Any) -> None:
        """Decides the outcome. The first decision counts."""
        if self.settlement is None:
            self.settlement = {"id": self.id, "fence": self.fence, "outcome": outcome, **fields}

    def settle_acknowledged(self) -> None:
        """The task has ended: with the failure that is known, or successfully."""
        if self.failure is not None:
            self.settle("fail", failure=self.failure)
        else:
            self.settle("succeed")


class Deliveries:
    """All deliveries of a channel, by delivery tag. Safe for use by many threads."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.process = os.getpid()
        self._held: dict[str, Held] = {}

    def add(self, tag: str, held: Held) -> None:
        """A job was claimed."""
        with self.changed:
            self._held[tag] = held

    def get(self, tag: str) -> Held | None:
        """A delivery that the server may still be told about."""
        with self.changed:
            return self._held.get(tag)

    def of_task(self, task_id: str) -> Held | None:
        """The newest delivery of a task."""
        with self.changed:
            found = [held for held in self._held.values() if held.task_id == task_id]
            return found[-1] if found else None

    def forget(self, held: Held) -> None:
        """The server has answered for its end, or the claim has expired."""
        with self.changed:
            self._held.pop(f"{held.id}:{held.fence}", None)
            self.changed.notify_all()

    def all(self) -> list[Held]:
        """All of them, oldest first."""
        with self.changed:
            return list(self._held.values())

    def count_unacknowledged(self) -> int:
        """How many count against the prefetch limit."""
        with self.changed:
            return sum(
                not held.is_acknowledged and held.settlement is None for held in self._held.values()
            )

    def acknowledge(self, tag: str) -> None:
        """Celery has acknowledged a message: the job ends now, or when its task does."""
        with self.changed:
            held = self._held.get(tag)
            if held is not None:
                held.is_acknowledged = True
                self.changed.notify_all()

    def reject(self, tag: str, requeue: bool) -> None:
        """Celery has rejected a message: the job is released, or becomes a dead letter."""
        with self.changed:
            held = self._held.get(tag)
            if held is None:
                return
            if requeue:
                held.settle("release")
            else:
                held.settle("fail", failure=held.failure or REJECTED)
            self.changed.notify_all()

    def release_undelivered(self) -> None:
        """Gives back all messages that were not acknowledged."""
        with self.changed:
            for held in self._held.values():
                if not held.is_acknowledged:
                    held.settle("release")
            self.changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Waits for a change."""
        with self.changed:
            self.changed.wait(seconds)

    def wait_until_empty(self, seconds: float) -> None:
        """Waits until the server knows about all of them."""
        end = time.monotonic() + seconds
        with self.changed:
            while self._held and (left := end - time.monotonic()) > 0:
                self.changed.wait(left)


REJECTED: dict[str, Any] = {
    "class": "Reject",
    "message": "the message was rejected without being requeued",
    "permanent": True,
}
