"""Calls to the server, blocking and asynchronous.

A request is repeated only where that does no harm: if no connection came about, if the server says
that it has not done it (503), or if doing it twice is the same as doing it once.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import time
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal

import httpx

from ._operations_async import AsyncOperations
from ._operations_sync import Operations
from .backoff import Backoff
from .errors import ApiError, ServerUnavailable
from .payloads import to_json
from .version import LIBRARY

DEFAULT_URL = "http://127.0.0.1:7373"
TRIES = 4
TIMEOUT = 30.0


class Settings:
    """Where the server is, and the key to it."""

    def __init__(self, url: str | None = None, api_key: str | None = None) -> None:
        self.url = (url or os.environ.get("STEADFAST_URL") or DEFAULT_URL).rstrip("/")
        self.api_key = api_key or os.environ.get("STEADFAST_API_KEY") or None
        self._tls: ssl.SSLContext | None = None

    def headers(self) -> dict[str, str]:
        """Those that every request has."""
        headers = {"content-type": "application/json", "user-agent": LIBRARY}
        if self.api_key:
            headers["authorization"] = f"Bearer {self.api_key}"
        return headers

    def options(self) -> dict[str, Any]:
        """Those of an `httpx` client. Proxies of the environment are not for a job queue."""
        return {
            "base_url": self.url,
            "headers": self.headers(),
            "timeout": TIMEOUT,
            "trust_env": False,
            "verify": self.tls(),
        }

    def tls(self) -> ssl.SSLContext | Literal[False]:
        """How connections are encrypted. Loading certificates takes long, so it is done once."""
        if self._tls is None and self.url.startswith("https:"):
            self._tls = httpx.create_ssl_context()
        return self._tls or False


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
        self._http: httpx.Client | None = None
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
    ) -> Any:
        """Sends a request and returns what the answer says.

        `is_repeatable` says whether it may be sent again after its answer was lost; by default,
        all but POST may.
        """
        call = Call(method, path, query, body, headers, timeout, is_repeatable)
        while True:
            try:
                response = self._client().send(call.build(self._client()))
            except httpx.TransportError as error:
                time.sleep(call.pause_after_error(error))
            else:
                pause = call.pause_after_response(response)
                if pause is None:
                    return answer_of(response)
                time.sleep(pause)

    def close(self) -> None:
        """Closes the connections. The next request opens new ones."""
        if self._http is not None and self._process == os.getpid():
            self._http.close()
        self._http = None

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _client(self) -> httpx.Client:
        # Connections of the parent process are not for its children.
        if self._http is None or self._process != os.getpid():
            self._process = os.getpid()
            self._http = httpx.Client(**self.settings.options())
        return self._http


class AsyncClient(AsyncOperations):
    """A client for `async` code. It has connections for each event loop that it is used in."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings or Settings(url, api_key)
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]
        self._by_loop = weakref.WeakKeyDictionary()

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
    ) -> Any:
        """Sends a request and returns what the answer says.

        `is_repeatable` says whether it may be sent again after its answer was lost; by default,
        all but POST may.
        """
        call = Call(method, path, query, body, headers, timeout, is_repeatable)
        client = self._client()
        while True:
            try:
                response = await client.send(call.build(client))
            except httpx.TransportError as error:
                await asyncio.sleep(call.pause_after_error(error))
            else:
                pause = call.pause_after_response(response)
                if pause is None:
                    return answer_of(response)
                await asyncio.sleep(pause)

    async def close(self) -> None:
        """Closes the connections of the running event loop."""
        client = self._by_loop.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._by_loop.get(loop)
        if client is None:
            client = self._by_loop[loop] = httpx.AsyncClient(**self.settings.options())
        return client


class Call:
    """One request and the decision whether to send it again."""

    def __init__(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Any,
        headers: Mapping[str, str] | None,
        timeout: float | None,
        is_repeatable: bool | None,
    ) -> None:
        self._method = method
        self._path = path
        self._query = {k: _query_text(v) for k, v in (query or {}).items() if v is not None}
        self._content = None if body is None else to_json(body).encode()
        self._headers = dict(headers or {})
        self._timeout = TIMEOUT if timeout is None else timeout
        self._is_repeatable = method != "POST" if is_repeatable is None else is_repeatable
        self._tries_left = TRIES
        self._backoff = Backoff()

    def build(self, client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """The request itself."""
        return client.build_request(
            self._method,
            self._path,
            params=self._query or None,
            content=self._content,
            headers=self._headers,
            timeout=self._timeout,
        )

    def pause_after_error(self, error: httpx.TransportError) -> float:
        """How long to wait before the next try; raises if there is none."""
        self._tries_left -= 1
        was_never_sent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        if self._tries_left == 0 or not (was_never_sent or self._is_repeatable):
            raise ServerUnavailable(describe(error)) from error
        return self._backoff.pause()

    def pause_after_response(self, response: httpx.Response) -> float | None:
        """How long to wait before the next try; `None` if this is the answer."""
        self._tries_left -= 1
        if response.status_code != 503 or self._tries_left == 0:
            return None
        return self._backoff.pause()


def answer_of(response: httpx.Response) -> Any:
    """What a successful response says; any other raises `ApiError`."""
    if response.is_success:
        return response.json() if response.content else None
    raise problem_of(response.status_code, response.content)


def problem_of(status: int, content: bytes) -> ApiError:
    """The error that a response describes, as well as it does."""
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


def describe(error: Exception) -> str:
    """An error of the connection in words; some of them have no text."""
    return f"no answer from the server: {str(error) or type(error).__name__}"


def _query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
