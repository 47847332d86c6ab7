"""The worker's own connections, which give each request one try and no longer than it is worth."""

from __future__ import annotations

import socket
from typing import Any

import httpx

from ..client import Settings, answer_of, describe
from ..errors import ApiError, ServerUnavailable

# Statuses of a server that cannot answer now, but may soon.
_AWAY = {408, 425, 429, 500, 502, 503, 504}


class Connection:
    """Sends requests; what is worth another try raises `ServerUnavailable`."""

    def __init__(self, settings: Settings) -> None:
        # A claim waits for up to half a minute, so it has a connection of its own, which can be
        # closed at one end without disturbing the others.
        self._claims = httpx.AsyncClient(
            **settings.options(), limits=httpx.Limits(max_connections=1)
        )
        self._others = httpx.AsyncClient(**settings.options())
        self._claim_stream: Any = None

    async def claim(self, body: bytes, timeout: float) -> Any:
        """Asks for jobs, waiting for the first."""
        extensions = {"trace": self._trace}
        return await _post(self._claims, "", body, timeout, extensions)

    async def post(self, path: str, body: bytes, timeout: float) -> Any:
        """Sends anything else about claims."""
        return await _post(self._others, path, body, timeout, {})

    def end_claim(self) -> bool:
        """Tells the server that a claim which still waits is not wanted any more.

        Only this end of the connection is closed. If the server has answered already, the answer
        can still be read, so that no job is left claimed by a worker that has stopped. Says whether
        there was a connection.
        """
        if self._claim_stream is None:
            return False
        raw = self._claim_stream.get_extra_info("socket")
        try:
            raw.shutdown(socket.SHUT_WR)
        except (AttributeError, OSError):
            return False
        return True

    async def close(self) -> None:
        """Closes all connections."""
        await self._claims.aclose()
        await self._others.aclose()

    async def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.connect_unix_socket.complete"):
            self._claim_stream = info["return_value"]


async def _post(
    client: httpx.AsyncClient,
    path: str,
    body: bytes,
    timeout: float,
    extensions: dict[str, Any],
) -> Any:
    try:
        response = await client.post(
            f"/api/v1/claims{path}",
            content=body,
            timeout=httpx.Timeout(timeout, connect=min(timeout, 5.0)),
            extensions=extensions,
        )
        return answer_of(response)
    except httpx.TransportError as error:
        raise ServerUnavailable(describe(error)) from error
    except ApiError as error:
        if error.status in _AWAY:
            raise ServerUnavailable(str(error)) from error
        raise
    except ValueError as error:
        raise ServerUnavailable(f"an answer that is not JSON: {error}") from error
