"""Calls to the server, blocking and asynchronous.

A request is repeated only where that does no harm: if no connection came about, if the server says
that the request had no effect (429 and 503), or if doing it twice is the same as doing it once.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode

from ._generated.operations_async import AsyncOperations
from ._generated.operations_sync import Operations
from .backoff import Backoff
from .errors import ApiError, CertificateNotTrusted, ServerUnavailable
from .http import AsyncConnection, BlockingConnection, NotConnected, Response, Target
from .payloads import to_json
from .version import LIBRARY

DEFAULT_URL = "http://127.0.0.1:7373"
TRIES = 4
TIMEOUT = 30.0
CONNECTIONS_MAX = 100
"""Connections of an event loop, and idle connections that a blocking client keeps."""
# Statuses of a server that cannot answer now, but may soon.
TRANSIENT = frozenset({408, 425, 429})
# Statuses of a request that had no effect.
NO_EFFECT = frozenset({429, 503})


class Settings:
    """Where the server is, and the key to it."""

    def __init__(self, url: str | None = None, api_key: str | None = None) -> None:
        self.url = (url or os.environ.get("STEADFAST_URL") or DEFAULT_URL).rstrip("/")
        self.api_key = api_key or os.environ.get("STEADFAST_API_KEY") or None
        self._tls: ssl.SSLContext | None = None
        self._target: Target | None = None

    def headers(self) -> dict[str, str]:
        """Headers of every request."""
        headers = {"content-type": "application/json", "user-agent": LIBRARY}
        if self.api_key:
            headers["authorization"] = f"Bearer {self.api_key}"
        return headers

    def tls(self) -> ssl.SSLContext | None:
        """The encryption of connections. Loading certificates takes long, so it is done once.

        `STEADFAST_CA_FILE` names certificates that are trusted in addition to those of the system.
        """
        if self._tls is None and self.url.startswith("https:"):
            self._tls = ssl.create_default_context()
            if more := os.environ.get("STEADFAST_CA_FILE"):
                self._tls.load_verify_locations(more)
        return self._tls

    def target(self) -> Target:
        """The address of the server."""
        if self._target is None:
            self._target = Target(self)
        return self._target


class Client(Operations):
    """A blocking client. It may be used by many threads, and after a fork."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings or Settings(url, api_key)
        self._idle: deque[BlockingConnection] = deque()
        self._process = 0

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        is_repeatable: bool | None = None,
        check: Callable[[Any], object] | None = None,
    ) -> Any:
        """Sends a request and returns the JSON of the answer.

        `is_repeatable` says whether it may be sent again after its answer was lost; by default,
        all but POST may. `check` raises `ServerUnavailable` if the answer has another shape than
        expected, which is like no answer.
        """
        call = Call(self.settings.url, method, path, query, body, headers, timeout, is_repeatable)
        while True:
            connection = self._connection()
            try:
                response = connection.send(*call.message)
            except OSError as error:
                pause = call.pause_after_error(error)
            else:
                if len(self._idle) < CONNECTIONS_MAX:
                    self._idle.append(connection)
                else:
                    connection.close()
                answer, found = call.read(response, check)
                if found is None:
                    return answer
                pause = found
            time.sleep(pause)

    def close(self) -> None:
        """Closes idle connections. The next request opens new ones."""
        if self._process == os.getpid():
            while self._idle:
                self._idle.pop().close()
        self._idle = deque()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _connection(self) -> BlockingConnection:
        # Connections of the parent process are not for its children.
        if self._process != os.getpid():
            self._process = os.getpid()
            self._idle = deque()
        try:
            return self._idle.pop()
        except IndexError:
            return BlockingConnection(self.settings.target())


class AsyncClient(AsyncOperations):
    """A client for `async` code. Each event loop has its own connections."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings or Settings(url, api_key)
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = (
            weakref.WeakKeyDictionary()
        )

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        is_repeatable: bool | None = None,
        check: Callable[[Any], object] | None = None,
    ) -> Any:
        """Sends a request and returns the JSON of the answer.

        `is_repeatable` says whether it may be sent again after its answer was lost; by default,
        all but POST may. `check` raises `ServerUnavailable` if the answer has another shape than
        expected, which is like no answer.
        """
        call = Call(self.settings.url, method, path, query, body, headers, timeout, is_repeatable)
        pool = self._pool()
        while True:
            try:
                response = await pool.send(call)
            except OSError as error:
                pause = call.pause_after_error(error)
            else:
                answer, found = call.read(response, check)
                if found is None:
                    return answer
                pause = found
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Closes the connections of the running event loop."""
        pool = self._by_loop.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            pool.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _pool(self) -> Pool:
        loop = asyncio.get_running_loop()
        pool = self._by_loop.get(loop)
        if pool is None:
            pool = self._by_loop[loop] = Pool(self.settings.target())
        return pool


class Pool:
    """The connections of one event loop."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._idle: list[AsyncConnection] = []
        self._free = asyncio.Semaphore(CONNECTIONS_MAX)

    async def send(self, call: Call) -> Response:
        """Sends a request on an idle connection, or on a new one."""
        async with self._free:
            connection = self._idle.pop() if self._idle else AsyncConnection(self._target)
            response = await connection.send(*call.message)
            self._idle.append(connection)
            return response

    def close(self) -> None:
        """Closes idle connections."""
        while self._idle:
            self._idle.pop().close()


class Call:
    """One request and the decision whether to send it again."""

    def __init__(
        self,
        url: str,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Any,
        headers: Mapping[str, str] | None,
        timeout: float | None,
        is_repeatable: bool | None,
    ) -> None:
        given = [pair for k, v in (query or {}).items() for pair in _query_pairs(k, v)]
        target = f"{path}?{urlencode(given, quote_via=quote)}" if given else path
        content = b"" if body is None else body
        if not isinstance(content, bytes):
            content = to_json(content).encode()
        seconds = TIMEOUT if timeout is None else timeout
        self.message = (method, target, content, seconds, dict(headers or {}))
        """The arguments of `send` of a connection."""
        self._url = url
        self._is_repeatable = method != "POST" if is_repeatable is None else is_repeatable
        self._tries_left = TRIES
        self._backoff = Backoff()

    def pause_after_error(self, error: OSError) -> float:
        """The pause before the next try; raises if there is none."""
        self._tries_left -= 1
        was_never_sent = isinstance(error, NotConnected)
        if (
            self._tries_left == 0
            or is_certificate_error(error)
            or not (was_never_sent or self._is_repeatable)
        ):
            raise unavailable(error, self._url) from error
        return self._backoff.pause()

    def read(
        self, response: Response, check: Callable[[Any], object] | None
    ) -> tuple[Any, float | None]:
        """The answer, or the pause before the next try."""
        pause = self.pause_after_response(response)
        if pause is not None:
            return None, pause
        try:
            answer = answer_of(response)
            if check is not None:
                check(answer)
        except ServerUnavailable:
            if self._tries_left == 0 or not self._is_repeatable:
                raise
            return None, self._backoff.pause()
        return answer, None

    def pause_after_response(self, response: Response) -> float | None:
        """The pause before the next try; `None` if this is the answer."""
        self._tries_left -= 1
        had_no_effect = response.status in NO_EFFECT
        may_help = is_transient(response.status) and self._is_repeatable
        if self._tries_left == 0 or not (had_no_effect or may_help):
            return None
        return self._backoff.pause(retry_after_of(response))


def answer_of(response: Response) -> Any:
    """The JSON of a successful response; any other raises `ApiError`."""
    if not 200 <= response.status < 300:
        error = problem_of(response.status, response.content)
        error.retry_after = retry_after_of(response)
        raise error
    if not response.content:
        return None
    try:
        return json.loads(response.content)
    except ValueError as error:
        raise ServerUnavailable(f"the answer is not JSON: {error}") from error


def problem_of(status: int, content: bytes) -> ApiError:
    """The error in a response, with as much detail as the response has."""
    try:
        said: Any = json.loads(content)
    except ValueError:
        said = None
    problem: dict[str, Any] = said if isinstance(said, dict) else {}
    text = content[:200].decode("utf-8", "replace")
    return ApiError(
        status,
        problem.get("code") or "http_error",
        problem.get("detail") or problem.get("title") or text or "no explanation",
        problem.get("field"),
    )


def is_transient(status: int) -> bool:
    """Whether the same request may succeed later."""
    return status >= 500 or status in TRANSIENT


def retry_after_of(response: Response) -> float:
    """The seconds that the server asks callers to wait; dates are not read."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def is_certificate_error(error: BaseException) -> bool:
    """Whether the server's certificate is not trusted, which no repeat can cure."""
    return isinstance(error.__cause__, ssl.SSLCertVerificationError)


def unavailable(error: OSError, url: str) -> ServerUnavailable:
    """An error of the connection as the caller gets it."""
    kind = CertificateNotTrusted if is_certificate_error(error) else ServerUnavailable
    return kind(f"no answer from {url}: {str(error) or type(error).__name__}")


def _query_pairs(name: str, value: Any) -> list[tuple[str, str]]:
    """A list repeats the name; None is left out."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return [(name, _query_text(one)) for one in values if one is not None]


def _query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
