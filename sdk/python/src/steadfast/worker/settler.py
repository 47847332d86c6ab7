"""Reports outcomes: everything that waits in one request, and again until there is an answer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..attempts import NONE, outcome
from ..backoff import Backoff
from ..errors import ApiError, ServerUnavailable
from .connection import Connection
from .heartbeats import Heartbeats
from .held import Held, Registry

log = logging.getLogger("steadfast.worker")

SETTLE_MAX = 1_000
BYTES_MAX = 512 * 1024
"""Of one request; the server takes 1 MiB by default."""
ANSWER_TIME = 15.0


def settlements_of(batch: Sequence[Held]) -> bytes:
    """The field of a request that reports these outcomes."""
    return b'"settlements":[' + b",".join(held.settlement for held in batch) + b"]"


class Settler:
    """Keeps outcomes until the server has answered for each of them."""

    def __init__(self, connection: Connection, registry: Registry, heartbeats: Heartbeats) -> None:
        self._connection = connection
        self._registry = registry
        self._heartbeats = heartbeats
        self._waiting: deque[Held] = deque()
        self._has_work = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._is_sending = False
        self._taken = 0
        """Outcomes that are under way with a claim."""
        self._is_left: Callable[[], bool] = lambda: False
        """Whether the claimer is about to take what waits."""

    @contextlib.contextmanager
    def leave_outcomes_to(self, is_due: Callable[[], bool]) -> Iterator[None]:
        """Meanwhile a claim that is due takes the outcomes along."""
        self._is_left = is_due
        try:
            yield
        finally:
            self._is_left = lambda: False
            self._wake()

    def take(self) -> list[Held]:
        """Outcomes for a claim to take along; `heed` or `put_back` follows."""
        batch = self._take()
        self._taken += len(batch)
        return batch

    async def send_news(self, batch: Sequence[Held]) -> None:
        """Sends the last notes of these: after the report they would come too late."""
        await self._heartbeats.send_news([held for held in batch if held.has_report])

    def heed(self, batch: Sequence[Held], results: Sequence[dict[str, Any]]) -> None:
        """Acts on the results of a claim that took outcomes along."""
        self._taken -= len(batch)
        for held, result in zip(batch, results, strict=True):
            self._heed(held, result)
        self._wake()
        self._registry.changed.set()

    def put_back(self, batch: Sequence[Held]) -> None:
        """The claim failed: its outcomes are reported without one."""
        self._taken -= len(batch)
        self._waiting.extendleft(reversed(batch))
        self._wake()

    def _wake(self) -> None:
        if self._waiting:
            self._has_work.set()
        elif not self._taken and not self._is_sending:
            self._is_idle.set()

    def put(self, claims: Sequence[Held]) -> None:
        """These have ended and are to be reported."""
        for held in claims:
            held.write_settlement()
        self._waiting.extend(claims)
        self._is_idle.clear()
        self._has_work.set()

    async def run(self) -> None:
        """Reports outcomes for as long as the worker lives."""
        while True:
            await self._has_work.wait()
            if self._is_left() or not self._waiting:
                self._has_work.clear()
                continue
            self._is_sending = True
            batch = self._take()
            await self.send_news(batch)
            await self._send(batch)
            self._is_sending = False
            self._wake()
            # Slots may wait for reports to be answered.
            self._registry.changed.set()

    async def flush(self, timeout: float) -> None:
        """Waits until everything is reported, no longer than the timeout."""
        try:
            await asyncio.wait_for(self._is_idle.wait(), timeout)
        except (asyncio.TimeoutError, TimeoutError):
            log.error("%d outcomes could not be reported", len(self._registry.held))

    def _take(self) -> list[Held]:
        batch: list[Held] = []
        size = 0
        while self._waiting and len(batch) < SETTLE_MAX:
            size += len(self._waiting[0].settlement) + 1
            if batch and size > BYTES_MAX:
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _send(self, batch: Sequence[Held]) -> None:
        body = b"{" + settlements_of(batch) + b"}"
        backoff = Backoff()
        while True:
            try:
                results = await self._connection.settle(body, ANSWER_TIME, len(batch))
            except ServerUnavailable as error:
                pause = backoff.pause(error.retry_after)
                log.warning(
                    "cannot report %d outcomes, next try in %.1f s: %s", len(batch), pause, error
                )
                await asyncio.sleep(pause)
            except ApiError as error:
                if error.status in (401, 403):
                    # A key that was revoked may be replaced on the server's side.
                    log.error("the server refuses %d outcomes: %s", len(batch), error)
                    await asyncio.sleep(backoff.pause())
                else:
                    await self._send_without(batch, error)
                    return
            else:
                for held, result in zip(batch, results, strict=True):
                    self._heed(held, result)
                return

    async def _send_without(self, batch: Sequence[Held], error: ApiError) -> None:
        """Something in the request is bad; it must not hold up the rest."""
        named = re.match(r"settlements\[(\d+)\]", error.field or "")
        bad = int(named[1]) if named and len(batch) > 1 else 0
        if len(batch) == 1 or (named and bad < len(batch)):
            held = batch[bad]
            if held.has_log:
                # A log must not turn a success into a failure.
                log.warning("the log of %s was refused: %s", held.id, error)
                held.context.attempt_log.drop()
                self.put([held])
            else:
                self._refuse(held, error.code, error.detail)
            parts = [batch[:bad], batch[bad + 1 :]]
        else:
            half = len(batch) // 2
            parts = [batch[:half], batch[half:]]
        for part in parts:
            if part:
                await self._send(part)

    def _heed(self, held: Held, result: dict[str, Any]) -> None:
        code = result.get("code") or ""
        if result["ok"]:
            self._registry.forget(held)
        else:
            self._refuse(held, code, result.get("detail") or "")

    def _refuse(self, held: Held, code: str, detail: str) -> None:
        fields = held.context.log_fields
        assert held.outcome is not None
        if code in ("stale_fence", "not_found") or held.is_refused:
            log.warning(
                "the outcome of %s was not accepted: %s %s", held.id, code, detail, extra=fields
            )
            self._registry.forget(held)
            held.outcome = NONE
            return
        log.error("the outcome of %s was refused: %s %s", held.id, code, detail, extra=fields)
        message = f"the server refused the outcome: {detail or code}"
        failure = {"class": "result", "message": message, "permanent": True}
        held.outcome, held.is_refused = outcome("fail", failure=failure), True
        self.put([held])
