"""The worker's own connections: one try for each request, with a timeout of its own."""

from __future__ import annotations

import typing
from typing import Any

from .. import types
from ..client import Settings, answer_of, is_transient, unavailable
from ..errors import ApiError, ServerUnavailable
from ..http import AsyncConnection


class Connection:
    """Sends requests; an error that is worth another try raises `ServerUnavailable`.

    An answer of another shape than expected is such an error: it is from a proxy, or from a server
    that is broken, and must not end the worker.
    """

    def __init__(self, settings: Settings) -> None:
        # Each service sends one request at a time, and a claim waits for long.
        target = settings.target()
        self._url = settings.url
        self._claims = AsyncConnection(target)
        self._heartbeats = AsyncConnection(target)
        self._settlements = AsyncConnection(target)

    async def claim(
        self, body: bytes, timeout: float, settlements: int
    ) -> tuple[list[types.Claim], list[dict[str, Any]]]:
        """Asks for jobs, waiting for the first; returns them beside the results of settlements."""
        answer = await _post(self._url, self._claims, "/api/v1/claims", body, timeout)
        claims = _objects(answer, "claims")
        results = _results(answer, "settled", settlements) if settlements else []
        for claim in claims:
            job = claim.get("job")
            if not (
                isinstance(claim.get("id"), str)
                and isinstance(claim.get("fence"), int)
                and isinstance(job, dict)
                and all(name in job for name in JOB_FIELDS)
            ):
                raise _unexpected("a claim without its job")
        return typing.cast("list[types.Claim]", claims), results

    async def heartbeat(self, body: bytes, timeout: float, count: int) -> list[dict[str, Any]]:
        """Renews leases; the answers are in the order of the request."""
        answer = await _post(self._url, self._heartbeats, "/api/v1/claims/heartbeat", body, timeout)
        return _results(answer, "claims", count)

    async def settle(self, body: bytes, timeout: float, count: int) -> list[dict[str, Any]]:
        """Reports outcomes; the answers are in the order of the request."""
        answer = await _post(self._url, self._settlements, "/api/v1/claims/settle", body, timeout)
        return _results(answer, "settled", count)

    def end_claim(self) -> bool:
        """Ends a claim that still waits, and returns whether its answer may still come.

        Jobs that the server has already claimed must not be left with a worker that has stopped, so
        the connection stays open for reading.
        """
        return self._claims.end_request()

    def close(self) -> None:
        """Closes all connections."""
        for connection in (self._claims, self._heartbeats, self._settlements):
            connection.close()


JOB_FIELDS = ("id", "kind", "queue", "type", "attempt", "attemptsBefore", "maxRetries", "leaseMs")


async def _post(
    url: str, connection: AsyncConnection, path: str, body: bytes, timeout: float
) -> Any:
    try:
        response = await connection.send("POST", path, body, timeout)
    except OSError as error:
        raise unavailable(error, url) from error
    try:
        return answer_of(response)
    except ApiError as error:
        if not is_transient(error.status):
            raise
        away = ServerUnavailable(str(error))
        away.retry_after = error.retry_after
        raise away from error


def _objects(answer: Any, name: str) -> list[dict[str, Any]]:
    entries: Any = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise _unexpected(f"no list {name!r}")
    return typing.cast("list[dict[str, Any]]", entries)


def _results(answer: Any, name: str, count: int) -> list[dict[str, Any]]:
    results = _objects(answer, name)
    if len(results) != count:
        raise _unexpected(f"{len(results)} of {count} entries in {name!r}")
    if not all(isinstance(one.get("ok"), bool) for one in results):
        raise _unexpected(f"an entry without 'ok' in {name!r}")
    return results


def _unexpected(what: str) -> ServerUnavailable:
    return ServerUnavailable(f"an unexpected answer: {what}")
