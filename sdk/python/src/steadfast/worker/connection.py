"""The worker's own connections, which give each request one try and no longer than it is worth."""

from __future__ import annotations

import json
from typing import Any

from ..client import Settings, describe, problem_of
from ..errors import ServerUnavailable
from .http import HttpConnection

# Statuses of a server that cannot answer now, but may soon.
_AWAY = {408, 425, 429, 500, 502, 503, 504}


class Connection:
    """Sends requests; what is worth another try raises `ServerUnavailable`."""

    def __init__(self, settings: Settings) -> None:
        # Each service sends one request at a time, and a claim waits for long.
        self._claims = HttpConnection(settings)
        self._heartbeats = HttpConnection(settings)
        self._settlements = HttpConnection(settings)

    async def claim(self, body: bytes, timeout: float) -> Any:
        """Asks for jobs, waiting for the first."""
        return await _post(self._claims, "/api/v1/claims", body, timeout)

    async def heartbeat(self, body: bytes, timeout: float) -> Any:
        """Renews leases."""
        return await _post(self._heartbeats, "/api/v1/claims/heartbeat", body, timeout)

    async def settle(self, body: bytes, timeout: float) -> Any:
        """Reports outcomes."""
        return await _post(self._settlements, "/api/v1/claims/settle", body, timeout)

    def end_claim(self) -> bool:
        """Ends a claim that still waits, and says whether its answer may still come.

        Whatever the server has claimed by now must not be left with a worker that has stopped, so
        the connection stays open for reading.
        """
        return self._claims.end_request()

    def close(self) -> None:
        """Closes all connections."""
        for connection in (self._claims, self._heartbeats, self._settlements):
            connection.close()


async def _post(connection: HttpConnection, path: str, body: bytes, timeout: float) -> Any:
    try:
        status, fields, content = await connection.post(path, body, timeout)
    except OSError as error:
        raise ServerUnavailable(describe(error)) from error
    if 200 <= status < 300:
        try:
            return json.loads(content)
        except ValueError as error:
            raise ServerUnavailable(f"an answer that is not JSON: {error}") from error
    problem = problem_of(status, content)
    if status in _AWAY:
        unavailable = ServerUnavailable(str(problem))
        unavailable.retry_after = _seconds(fields.get("retry-after", ""))
        raise unavailable
    raise problem


def _seconds(text: str) -> float:
    """A number of seconds; dates are for browsers."""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
