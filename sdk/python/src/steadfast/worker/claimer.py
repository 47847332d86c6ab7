"""Claims jobs: one request at a time, for as many jobs as there are free slots."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from typing import Any

from .. import types
from ..backoff import Backoff
from ..errors import ApiError, CertificateNotTrusted, ServerUnavailable
from ..payloads import to_json
from .connection import Connection
from .held import Registry
from .settler import Settler, settlements_of

log = logging.getLogger("steadfast.worker")

WAIT = 20.0
"""How long a claim waits for the first job."""
ANSWER_TIME = 10.0
"""How long the answer may take beyond that."""
QUICK = 1.0
"""An answer without jobs that comes sooner than this has not waited."""
CLAIM_MAX = 1_000
SHARE = 4
"""A claim is made when a quarter of the slots is free, …"""
PATIENCE = 0.005
"""… or this long after the first one, so that a burst of short jobs costs few requests."""


class Claimer:
    """Asks for jobs while there are slots for them."""

    def __init__(
        self,
        connection: Connection,
        registry: Registry,
        concurrency: int,
        unsettled_max: int,
        request: Callable[[], dict[str, Any]],
        on_claims: Callable[[list[types.Claim]], None],
        settler: Settler,
    ) -> None:
        self._connection = connection
        self._registry = registry
        self._settler = settler
        self._concurrency = concurrency
        self._enough = max(1, concurrency // SHARE)
        self._unsettled_max = unsettled_max
        self._request = request
        self._on_claims = on_claims
        self._backoff = Backoff()
        self._is_stopping = False
        self._has_worked = False
        self._has_info = True
        self._session = uuid.uuid4().hex
        """Names this process, so that claims of an answer that got lost go back at once."""
        self._sequence = 0
        self._received = 0

    async def run(self) -> None:
        """Claims until it is stopped."""
        while not self._is_stopping:
            with self._settler.leave_outcomes_to(self._has_room):
                free = await self._free_slots()
            try:
                await self._claim(min(free, CLAIM_MAX))
            except ServerUnavailable as error:
                if isinstance(error, CertificateNotTrusted) and not self._has_worked:
                    raise
                await self._pause(error, error.retry_after)
            except ApiError as error:
                if error.field == "workerInfo" and self._has_info:
                    self._has_info = False
                    continue  # A server that keeps no list of workers.
                if not self._has_worked:
                    raise
                await self._pause(error)

    def stop(self) -> bool:
        """No further claim; one that waits is ended. Returns whether an answer may still come."""
        self._is_stopping = True
        return self._connection.end_claim()

    async def _claim(self, most: int) -> None:
        """Claims jobs and reports outcomes in one request, which then does not wait for jobs."""
        outcomes = self._settler.take()
        self._sequence += 1
        sequence = self._sequence
        session = {"id": self._session, "sequence": sequence, "received": self._received}
        request = {**self._request(), "max": most, "wait": round(WAIT * 1000), "session": session}
        if not self._has_info:
            del request["workerInfo"]
        body = to_json(request).encode()
        if outcomes:
            body = body[:-1] + b"," + settlements_of(outcomes) + b"}"
        asked_at = time.monotonic()
        try:
            await self._settler.send_news(outcomes)
            answer = await self._connection.claim(body, WAIT + ANSWER_TIME, len(outcomes))
        except BaseException:
            self._settler.put_back(outcomes)
            raise
        claims, results = answer
        self._received = sequence
        self._settler.heed(outcomes, results)
        self._has_worked = True
        if claims:
            self._on_claims(claims)
        elif not outcomes and time.monotonic() < asked_at + QUICK and not self._is_stopping:
            # A node that has too many waiting requests, or is about to stop, does not wait.
            await asyncio.sleep(self._backoff.pause())
            return
        self._backoff.reset()

    def _has_room(self) -> bool:
        return not self._is_stopping and self._free() >= self._enough

    async def _free_slots(self) -> int:
        while (free := self._free()) == 0:
            await self._next_change(None)
        end = asyncio.get_running_loop().time() + PATIENCE
        while free < self._enough and (left := end - asyncio.get_running_loop().time()) > 0:
            await self._next_change(left)
            free = max(free, self._free())
        return free

    def _free(self) -> int:
        unsettled = len(self._registry.held) - len(self._registry.running)
        if unsettled >= self._unsettled_max:
            return 0
        return self._concurrency - len(self._registry.running)

    async def _next_change(self, timeout: float | None) -> None:
        self._registry.changed.clear()
        try:
            await asyncio.wait_for(self._registry.changed.wait(), timeout)
        except (asyncio.TimeoutError, TimeoutError):
            return

    async def _pause(self, error: Exception, asked: float = 0) -> None:
        if self._is_stopping:
            return
        pause = self._backoff.pause(asked)
        log.warning("cannot claim jobs, next try in %.1f s: %s", pause, error)
        await asyncio.sleep(pause)
