"""One connection to the server, as small as a worker needs it.

A general client costs a worker more than the handlers of small jobs do: this one took a tenth of
the time of `httpx` per request. It also lets a claim be ended from one side of its connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from urllib.parse import urlsplit

from ..client import Settings

HEAD_BYTES_MAX = 64 * 1024
CONNECT_TIME = 5.0


class BadResponse(OSError):
    """The server, or something in front of it, does not speak HTTP/1.1."""


class HttpConnection:
    """Sends one request at a time, on a connection that it keeps."""

    def __init__(self, settings: Settings) -> None:
        url = urlsplit(settings.url)
        self._host = url.hostname or "127.0.0.1"
        self._tls = settings.tls() or None
        self._port = url.port or (443 if self._tls else 80)
        self._prefix = url.path.rstrip("/")
        fields = {"host": url.netloc.rpartition("@")[2], **settings.headers()}
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(
        self, path: str, body: bytes, timeout: float
    ) -> tuple[int, dict[str, str], bytes]:
        """The status, headers and body of the response. Raises `OSError` if there is none."""
        try:
            return await asyncio.wait_for(self._post(path, body), timeout)
        except (asyncio.TimeoutError, TimeoutError):
            self.close()
            raise OSError(f"no answer within {timeout:g} s") from None
        except EOFError:
            self.close()
            raise BadResponse("the connection broke off") from None
        except (asyncio.LimitOverrunError, ValueError) as error:
            self.close()
            raise BadResponse(f"not HTTP/1.1: {error}") from error
        except BaseException:
            self.close()
            raise

    def end_request(self) -> bool:
        """Closes this side of the connection, and says whether there is one.

        A server that has not answered gives up; an answer that is on its way can still be read.
        """
        if self._writer is None:
            return False
        try:
            self._writer.get_extra_info("socket").shutdown(socket.SHUT_WR)
        except (AttributeError, OSError):
            return False
        return True

    def close(self) -> None:
        """Closes the connection; the next request opens another one."""
        if self._writer is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._writer.transport.abort()
        self._reader = self._writer = None

    async def _post(self, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        reader, writer = await self._streams()
        first = f"POST {self._prefix}{path} HTTP/1.1\r\n"
        head = f"{first}{self._headers}content-length: {len(body)}\r\n\r\n"
        writer.write(head.encode("latin-1") + body)
        await writer.drain()
        status, fields = await _read_head(reader)
        while status < 200:
            status, fields = await _read_head(reader)
        content = await _read_body(reader, fields)
        is_delimited = "content-length" in fields or "transfer-encoding" in fields
        if fields.get("connection", "").lower() == "close" or not is_delimited:
            self.close()
        return status, fields, content

    async def _streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        # A server closes connections that were idle for long.
        if self._reader and self._writer and not self._reader.at_eof():
            return self._reader, self._writer
        self.close()
        opening = asyncio.open_connection(
            self._host, self._port, ssl=self._tls, limit=HEAD_BYTES_MAX
        )
        reader, writer = await asyncio.wait_for(opening, CONNECT_TIME)
        self._reader, self._writer = reader, writer
        return reader, writer


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    version, status, *_ = first.split(" ", 2)
    if not version.startswith("HTTP/1."):
        raise BadResponse(f"not HTTP/1.1: {first[:80]!r}")
    pairs = (line.partition(":") for line in lines)
    return int(status), {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _read_body(reader: asyncio.StreamReader, fields: dict[str, str]) -> bytes:
    if fields.get("transfer-encoding", "").lower() == "chunked":
        return await _read_chunks(reader)
    if "content-length" in fields:
        return await reader.readexactly(int(fields["content-length"]))
    return await reader.read()


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    while size := int((await reader.readline()).partition(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    while (await reader.readline()).strip():
        continue  # Trailers.
    return b"".join(parts)
