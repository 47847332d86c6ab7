"""Renews the leases of all claims in one request, and hears which of them have to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from typing import Any

from .. import types
from ..backoff import Backoff
from ..errors import ApiError, ServerUnavailable
from ..logs import json_length
from ..payloads import to_json
from .connection import Connection
from .held import Held, Registry

log = logging.getLogger("steadfast.worker")

HEARTBEAT_MAX = 1_000
NEWS_PAUSE = 0.5
"""Progress is sent this often at most."""
ANSWER_TIME_MAX = 10.0
LOG_BYTES_MAX = 512 * 1024
"""Lines of logs in one request, as JSON; the server takes 1 MiB.

One full log always fits: JSON has at most six bytes for each byte of text."""
NEVER = float("inf")


def unsent_logs(claims: Sequence[Held]) -> list[types.LogLines | None]:
    """What these have logged; what would make the request too large is sent with the next."""
    room = LOG_BYTES_MAX
    logs: list[types.LogLines | None] = []
    for held in claims:
        log = held.context.attempt_log.unsent(room)
        room -= json_length(log) if log else 0
        logs.append(log)
    return logs


def mark_stored(claims: Sequence[Held], logs: Sequence[types.LogLines | None]) -> None:
    """The server has these, or refuses them."""
    for held, lines in zip(claims, logs, strict=True):
        held.context.attempt_log.mark_stored(lines)


class Heartbeats:
    """One timer for all claims, at a third of the shortest lease."""

    def __init__(
        self, connection: Connection, registry: Registry, worker: str, lease: float | None
    ) -> None:
        self._connection = connection
        self._registry = registry
        self._worker = worker
        self._lease = lease
        self._backoff = Backoff()
        self._wake = asyncio.Event()
        self._lock = asyncio.Lock()
        self._due_at = NEVER
        self._news_at = NEVER

    def watch(self, claims: Sequence[Held]) -> None:
        """These have been claimed just now."""
        due_at = time.monotonic() + min(held.lease for held in claims) / 3
        if due_at < self._due_at:
            self._due_at = due_at
            self._wake.set()

    def announce(self) -> None:
        """A handler has reported progress, or logged something."""
        if self._news_at == NEVER:
            self._news_at = time.monotonic()
            self._wake.set()

    async def run(self) -> None:
        """Sends heartbeats for as long as the worker lives."""
        while True:
            await self._wait()
            now = time.monotonic()
            if now < self._due_at:
                # Before the request: what comes while it is under way is sent soon after it.
                self._news_at = NEVER
                await self.send_news(list(self._registry.held.values()))
                await asyncio.sleep(max(0, min(NEWS_PAUSE, self._due_at - time.monotonic())))
                continue
            claims = list(self._registry.held.values())
            self._due_at = now + min((held.lease for held in claims), default=NEVER) / 3
            if not claims or await self._send(claims):
                self._backoff.reset()
            else:
                self._due_at = min(self._due_at, time.monotonic() + self._backoff.pause())
                self._expire()

    async def send_news(self, claims: Sequence[Held]) -> None:
        """Sends unsent progress and logs of these, after a heartbeat that is under way."""
        if any(held.has_news for held in claims):
            async with self._lock:
                news = [held for held in claims if held.has_news]
                if news:
                    await self._send_locked(news)

    async def _send(self, claims: Sequence[Held]) -> bool:
        async with self._lock:
            return await self._send_locked(claims)

    async def _send_locked(self, claims: Sequence[Held]) -> bool:
        is_answered = True
        for start in range(0, len(claims), HEARTBEAT_MAX):
            is_answered &= await self._send_part(claims[start : start + HEARTBEAT_MAX])
        return is_answered

    async def _send_part(self, claims: Sequence[Held]) -> bool:
        news = [held.context.news for held in claims]
        logs = unsent_logs(claims)
        try:
            try:
                sent_at, leases = await self._post(claims, logs)
            except ApiError as error:
                if error.status not in (400, 413, 422) or not any(logs):
                    raise
                # A log must not cost the leases of all claims.
                log.warning("the server refuses the logs of %d jobs: %s", len(claims), error)
                mark_stored(claims, logs)
                sent_at, leases = await self._post(claims, [None] * len(claims))
        except (ServerUnavailable, ApiError) as error:
            log.warning("cannot renew %d leases yet: %s", len(claims), error)
            return False
        mark_stored(claims, logs)
        for held, lease, sent in zip(claims, leases, news, strict=True):
            # The server renews later than it was asked to, so this errs on the safe side.
            held.expires_at = sent_at + held.lease
            held.sent_news = sent
            self._heed(held, lease)
        return True

    async def _post(
        self, claims: Sequence[Held], logs: Sequence[types.LogLines | None]
    ) -> tuple[float, list[dict[str, Any]]]:
        """Sends one request, and returns when it was sent beside the answers."""
        entries = [held.heartbeat(self._lease, log) for held, log in zip(claims, logs, strict=True)]
        body = to_json({"worker": self._worker, "claims": entries}).encode()
        timeout = min(ANSWER_TIME_MAX, min(held.lease for held in claims) / 3)
        sent_at = time.monotonic()
        return sent_at, await self._connection.heartbeat(body, timeout, len(claims))

    def _heed(self, held: Held, lease: dict[str, Any]) -> None:
        if held not in self._registry.running:
            # Its outcome waits to be reported; the answer to that report decides.
            return
        if not lease["ok"]:
            self._lose(held, lease.get("detail") or "")
        elif lease.get("timedOut"):
            held.context.abort("timeout")
        elif lease.get("cancelRequested"):
            held.context.abort("cancelled")

    def _expire(self) -> None:
        """Without an answer for the whole of a lease, another worker may have the job."""
        now = time.monotonic()
        for held in [held for held in self._registry.running if held.expires_at <= now]:
            self._lose(held, "no heartbeat was answered within the lease")

    def _lose(self, held: Held, why: str) -> None:
        if not held.context.is_aborted:
            log.warning(
                "the claim of %s has expired: %s", held.id, why, extra=held.context.log_fields
            )
        self._registry.forget(held)
        held.context.abort("lost")

    async def _wait(self) -> None:
        while (left := min(self._due_at, self._news_at) - time.monotonic()) > 0:
            self._wake.clear()
            with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
                await asyncio.wait_for(self._wake.wait(), None if left == NEVER else left)
