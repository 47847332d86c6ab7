"""Claims jobs: one request at a time, for as many jobs as there are free slots."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from .. import types
from ..backoff import Backoff
from ..errors import ApiError, CertificateNotTrusted, ServerUnavailable
from ..payloads import to_json
from .connection import Connection
from .held import Registry

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
    ) -> None:
        self._connection = connection
        self._registry = registry
        self._concurrency = concurrency
        self._unsettled_max = unsettled_max
        self._request = request
        self._on_claims = on_claims
        self._backoff = Backoff()
        self._is_stopping = False
        self._has_worked = False
        self._has_info = True

    async def run(self) -> None:
        """Claims until it is stopped."""
        while not self._is_stopping:
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
        request = {**self._request(), "max": most, "wait": round(WAIT * 1000)}
        if not self._has_info:
            del request["workerInfo"]
        body = to_json(request).encode()
        asked_at = time.monotonic()
        claims = await self._connection.claim(body, WAIT + ANSWER_TIME)
        self._has_worked = True
        if claims:
            self._on_claims(claims)
        elif time.monotonic() < asked_at + QUICK and not self._is_stopping:
            # A node that has too many waiting requests, or is about to stop, does not wait.
            await asyncio.sleep(self._backoff.pause())
            return
        self._backoff.reset()

    async def _free_slots(self) -> int:
        while (free := self._free()) == 0:
            await self._next_change(None)
        enough = max(1, self._concurrency // SHARE)
        end = asyncio.get_running_loop().time() + PATIENCE
        while free < enough and (left := end - asyncio.get_running_loop().time()) > 0:
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
