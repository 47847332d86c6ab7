"""HTTP/1.1 as small as this library needs it, for blocking and for asynchronous callers.

A general client costs more than the work of small jobs: `httpx` took ten times as long for a
request. One parser reads responses for both kinds of connection, so that they cannot differ.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import ssl
import time
from collections.abc import Generator, Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

HEAD_BYTES_MAX = 64 * 1024
READ_BYTES = 64 * 1024
CONNECT_TIME = 5.0

Need = bytes | int | None
"""What the parser needs next: all up to these bytes, this many bytes, or all to the end."""


class HttpSettings(Protocol):
    """Where the server is, and what every request says."""

    url: str

    def headers(self) -> dict[str, str]:
        """Headers of every request."""
        ...

    def tls(self) -> ssl.SSLContext | None:
        """The encryption of connections; `None` for plain HTTP."""
        ...


class Response(NamedTuple):
    """A response."""

    status: int
    headers: dict[str, str]
    content: bytes


class NotConnected(OSError):
    """No connection came about, so the request was not sent."""


class BadResponse(OSError):
    """The server, or a proxy in front of it, does not speak HTTP/1.1."""


class Target:
    """The address of a server, and the part of a request that is always the same."""

    def __init__(self, settings: HttpSettings) -> None:
        url = urlsplit(settings.url)
        self.host = url.hostname or "127.0.0.1"
        self.tls = settings.tls()
        self.port = url.port or (443 if self.tls else 80)
        self._prefix = url.path.rstrip("/")
        fields = {"host": url.netloc.rpartition("@")[2], **settings.headers()}
        self._headers = _header_lines(fields)

    def message(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str] | None
    ) -> bytes:
        """A request as it is sent."""
        more = _header_lines(headers) if headers else ""
        first = f"{method} {self._prefix}{path} HTTP/1.1\r\n"
        head = f"{first}{self._headers}{more}content-length: {len(body)}\r\n\r\n"
        return head.encode("latin-1") + body


class BlockingConnection:
    """Sends one request at a time for a thread, on a connection that is kept open."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._socket: socket.socket | None = None
        self._buffer = bytearray()

    def send(
        self,
        method: str,
        path: str,
        body: bytes,
        timeout: float,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """The response to a request. Raises `OSError` if there is none."""
        end = time.monotonic() + timeout
        message = self._target.message(method, path, body, headers)
        try:
            opened = self._open(end)
            opened.settimeout(_left(end))
            opened.sendall(message)
            parser = parse_response()
            need = next(parser)
            while True:
                need = parser.send(self._read(opened, need, end))
        except StopIteration as parsed:
            response: Response = parsed.value
            if _ends(response):
                self.close()
            return response
        except TimeoutError:
            self.close()
            raise OSError(f"no answer within {timeout:g} s") from None
        except OSError:
            self.close()
            raise
        except ValueError as error:
            self.close()
            raise BadResponse(f"not HTTP/1.1: {error}") from error
        except BaseException:
            self.close()
            raise

    def end_request(self) -> None:
        """Ends the request of another thread, which gets `OSError` unless its answer is coming."""
        opened = self._socket
        if opened is not None:
            with contextlib.suppress(OSError):
                opened.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Closes the connection; the next request opens another one."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
        self._socket = None
        self._buffer.clear()

    def _open(self, end: float) -> socket.socket:
        # A server closes connections that were idle for long.
        if self._socket is not None and not self._buffer and not _is_readable(self._socket):
            return self._socket
        self.close()
        target = self._target
        timeout = min(CONNECT_TIME, _left(end))
        try:
            opened = socket.create_connection((target.host, target.port), timeout)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if target.tls:
                opened = target.tls.wrap_socket(opened, server_hostname=target.host)
        except OSError as error:
            raise NotConnected(_reason_of(error)) from error
        self._socket = opened
        return opened

    def _read(self, opened: socket.socket, need: Need, end: float) -> bytes:
        buffer = self._buffer
        while True:
            if isinstance(need, bytes):
                found = buffer.find(need)
                if found >= 0:
                    return self._take(found + len(need))
                if len(buffer) > HEAD_BYTES_MAX:
                    raise ValueError("the headers are too long")
            elif need is not None and len(buffer) >= need:
                return self._take(need)
            opened.settimeout(_left(end))
            data = opened.recv(READ_BYTES)
            if not data and need is None:
                return self._take(len(buffer))
            if not data:
                raise BadResponse("the connection was closed")
            buffer += data

    def _take(self, count: int) -> bytes:
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data


class AsyncConnection:
    """Sends one request at a time in an event loop, on a connection that is kept open."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def send(
        self,
        method: str,
        path: str,
        body: bytes,
        timeout: float,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """The response to a request. Raises `OSError` if there is none."""
        message = self._target.message(method, path, body, headers)
        try:
            return await asyncio.wait_for(self._send(message), timeout)
        except (asyncio.TimeoutError, TimeoutError):
            self.close()
            raise OSError(f"no answer within {timeout:g} s") from None
        except EOFError:
            self.close()
            raise BadResponse("the connection was closed") from None
        except OSError:
            self.close()
            raise
        except (asyncio.LimitOverrunError, ValueError) as error:
            self.close()
            raise BadResponse(f"not HTTP/1.1: {error}") from error
        except BaseException:
            self.close()
            raise

    def end_request(self) -> bool:
        """Closes this side of the connection, and returns whether there is one.

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

    async def _send(self, message: bytes) -> Response:
        reader, writer = await self._streams()
        writer.write(message)
        await writer.drain()
        parser = parse_response()
        need = next(parser)
        try:
            while True:
                need = parser.send(await _read(reader, need))
        except StopIteration as parsed:
            response: Response = parsed.value
        if _ends(response):
            self.close()
        return response

    async def _streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        # A server closes connections that were idle for long.
        if self._reader and self._writer and not self._reader.at_eof():
            return self._reader, self._writer
        self.close()
        target = self._target
        opening = asyncio.open_connection(
            target.host, target.port, ssl=target.tls, limit=HEAD_BYTES_MAX
        )
        try:
            reader, writer = await asyncio.wait_for(opening, CONNECT_TIME)
        except (OSError, asyncio.TimeoutError) as error:
            raise NotConnected(_reason_of(error)) from error
        self._reader, self._writer = reader, writer
        return reader, writer


def parse_response() -> Generator[Need, bytes, Response]:
    """Reads a response. Yields what it needs next, and is sent that."""
    status, fields = _parse_head((yield b"\r\n\r\n"))
    while status < 200:
        status, fields = _parse_head((yield b"\r\n\r\n"))
    content = b""
    if fields.get("transfer-encoding", "").lower() == "chunked":
        while size := int((yield b"\n").partition(b";")[0], 16):
            content += yield size
            yield b"\n"
        while (yield b"\n").strip():
            continue  # Trailers.
    elif "content-length" in fields:
        content = yield int(fields["content-length"])
    elif status not in (204, 304):
        content = yield None
    return Response(status, fields, content)


def _parse_head(data: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = data.decode("latin-1").strip().split("\r\n")
    version, status, *_ = first.split(" ", 2)
    if not version.startswith("HTTP/1."):
        raise BadResponse(f"not HTTP/1.1: {first[:80]!r}")
    pairs = (line.partition(":") for line in lines)
    return int(status), {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _read(reader: asyncio.StreamReader, need: Need) -> bytes:
    if need is None:
        return await reader.read()
    if isinstance(need, bytes):
        return await reader.readuntil(need)
    return await reader.readexactly(need)


def _ends(response: Response) -> bool:
    """Whether the server closes the connection after this response."""
    fields = response.headers
    is_delimited = (
        "content-length" in fields or "transfer-encoding" in fields or response.status in (204, 304)
    )
    return fields.get("connection", "").lower() == "close" or not is_delimited


def _header_lines(fields: Mapping[str, str]) -> str:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    if lines.count("\r") + lines.count("\n") != 2 * len(fields):
        raise ValueError("a header must not contain a line break")
    return lines


def _is_readable(opened: socket.socket) -> bool:
    """Whether an idle connection was closed, or has data that nobody asked for."""
    if not hasattr(select, "poll"):
        return bool(select.select([opened], [], [], 0)[0])
    poll: Any = select.poll()
    poll.register(opened, select.POLLIN)
    return bool(poll.poll(0))


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _reason_of(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of the server is not trusted: {error.verify_message}"
    if isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        return "no connection in time"
    return str(error) or type(error).__name__
