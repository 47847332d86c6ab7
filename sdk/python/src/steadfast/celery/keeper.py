"""Keeps the claims of a channel by heartbeats and reports how they ended.

Reports are collected for a moment: many acknowledgements are one request, and a failure that Celery
reports right after the acknowledgement still decides the outcome.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from ..backoff import Backoff
from ..client import Client
from .claimer import worker_name
from .held import ACKNOWLEDGED, Deliveries, Held

log = logging.getLogger("steadfast.celery")

COLLECT_TIME = 0.1
BATCH_MAX = 1000
IDLE_TIME = 1.0
EXPIRED = frozenset({"stale_fence", "not_found"})


class Keeper:
    """A thread that runs while there are deliveries."""

    def __init__(self, client: Client, lease: float, on_room: Callable[[], None]) -> None:
        self.deliveries = Deliveries()
        self._client = client
        self._lease = lease
        self._on_room = on_room
        self._thread: threading.Thread | None = None
        self._is_closing = False
        self._beat_at = 0.0
        self._backoff = Backoff()

    def add(self, tag: str, held: Held) -> None:
        """A job was claimed."""
        with self.deliveries.changed:
            self.deliveries.add(tag, held)
            if self._thread is None:
                self._beat_at = time.monotonic() + self._lease / 3
                self._thread = threading.Thread(
                    target=self._run, name="steadfast-keeper", daemon=True
                )
                self._thread.start()

    def close(self, seconds: float) -> None:
        """Gives back what was not acknowledged and reports the rest.

        Tasks that still run keep their claims until they end.
        """
        if self._thread is None:
            return
        self._is_closing = True
        self.deliveries.release_undelivered()
        if not any(held.is_running for held in self.deliveries.all()):
            self.deliveries.wait_until_empty(seconds)

    def _run(self) -> None:
        process = os.getpid()
        while os.getpid() == process:
            all_held = self.deliveries.all()
            if self._is_closing and not all_held:
                return
            is_busy = any(held.is_acknowledged or held.settlement for held in all_held)
            if not is_busy:
                until_beat = self._beat_at - time.monotonic()
                self.deliveries.wait(max(0.0, min(IDLE_TIME, until_beat)))
            time.sleep(COLLECT_TIME)
            try:
                self._report()
            except Exception as error:  # Without this thread all claims would expire.
                log.warning("the server could not be told about %d tasks: %s", len(all_held), error)
                time.sleep(self._backoff.pause())
            else:
                self._backoff.reset()

    def _report(self) -> None:
        all_held = self.deliveries.all()
        for held in all_held:
            if held.is_acknowledged and held.settlement is None and not held.is_running:
                held.settle_acknowledged()
        ended = [held for held in all_held if held.settlement]
        for start in range(0, len(ended), BATCH_MAX):
            self._settle(ended[start : start + BATCH_MAX])
        self._beat([held for held in all_held if not held.settlement])
        self._on_room()

    def _settle(self, ended: list[Held]) -> None:
        body = {"settlements": [held.settlement for held in ended]}
        answer = self._client.request(
            "POST", "/api/v1/claims/settle", body=body, is_repeatable=True
        )
        for held, result in zip(ended, answer["settled"], strict=True):
            # A pool process may have reported the failure of its task already.
            if not result["ok"] and result["code"] not in EXPIRED:
                log.warning("the end of %s was refused: %s", held.id, result["detail"])
            self.deliveries.forget(held)

    def _beat(self, running: list[Held]) -> None:
        is_due = time.monotonic() >= self._beat_at
        if is_due:
            self._beat_at = time.monotonic() + self._lease / 3
        chosen = [held for held in running if is_due or (held.is_acknowledged > held.has_note)]
        for start in range(0, len(chosen), BATCH_MAX):
            self._renew(chosen[start : start + BATCH_MAX])

    def _renew(self, chosen: list[Held]) -> None:
        noted = [held for held in chosen if held.is_acknowledged]
        claims = [self._heartbeat(held) for held in chosen]
        body = {"worker": worker_name(), "claims": claims}
        answer = self._client.request(
            "POST", "/api/v1/claims/heartbeat", body=body, is_repeatable=True
        )
        for held in noted:
            held.has_note = True
        for held, result in zip(chosen, answer["claims"], strict=True):
            if not result["ok"] and result["code"] in EXPIRED:
                self.deliveries.forget(held)

    def _heartbeat(self, held: Held) -> dict[str, Any]:
        entry = {"id": held.id, "fence": held.fence, "lease": round(self._lease * 1000)}
        if held.is_acknowledged:
            entry["note"] = ACKNOWLEDGED
        return entry
