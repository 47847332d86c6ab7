"""Where results of `once` steps are kept: on the server under the claim's fence, or in memory."""

from __future__ import annotations

import asyncio
import json
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from . import types
from .backoff import Backoff
from .client import is_transient
from .errors import ApiError, JobAborted, ServerUnavailable
from .payloads import to_json

if TYPE_CHECKING:
    from .app import Steadfast
    from .context import Context


R = TypeVar("R")


class ServerSteps:
    """Steps of a claim. A request is repeated for as long as the attempt may go on.

    A step that was done must not be forgotten because the server was unwell for a moment.
    """

    context: Context
    """The attempt; an abort ends the repeats."""

    def __init__(self, app: Steadfast, job_id: str, fence: int) -> None:
        self._app = app
        self._job_id = job_id
        self._fence = fence

    def load(self, name: str) -> tuple[bool, Any]:
        """Whether the step has succeeded before, and its result."""
        found = self._repeat("GET", self._at(name), {"query": {"fence": self._fence}}, result_of)
        return found or (False, None)

    def save(self, name: str, result: Any) -> Any:
        """Keeps the result of a step and returns it; the first one wins."""
        body = {"fence": self._fence, "result": result}
        return (self._repeat("PUT", self._at(name), {"body": body}, result_of) or (False, None))[1]

    async def load_async(self, name: str) -> tuple[bool, Any]:
        """As `load`."""
        options = {"query": {"fence": self._fence}}
        return await self._repeat_async("GET", self._at(name), options, result_of) or (False, None)

    async def save_async(self, name: str, result: Any) -> Any:
        """As `save`."""
        options = {"body": {"fence": self._fence, "result": result}}
        saved = await self._repeat_async("PUT", self._at(name), options, result_of)
        return (saved or (False, None))[1]

    def prerequisites(self) -> list[types.PrerequisiteResult]:
        """The jobs that the job has waited for."""
        found: list[types.PrerequisiteResult] = []
        after: str | None = None
        while True:
            page = self._repeat("GET", self._prerequisites, self._page(after), page_of)
            found += page["prerequisites"] if page else []
            after = page["nextCursor"] if page else None
            if after is None:
                return found

    async def prerequisites_async(self) -> list[types.PrerequisiteResult]:
        """As `prerequisites`."""
        found: list[types.PrerequisiteResult] = []
        after: str | None = None
        while True:
            page = await self._repeat_async("GET", self._prerequisites, self._page(after), page_of)
            found += page["prerequisites"] if page else []
            after = page["nextCursor"] if page else None
            if after is None:
                return found

    def _repeat(
        self, method: str, path: str, options: dict[str, Any], read: Callable[[Any], R]
    ) -> R | None:
        """What `read` finds in the answer; `None` if there is no such step."""
        backoff = Backoff()
        while True:
            try:
                return read(self._app.client.request(method, path, **options))
            except (ApiError, ServerUnavailable) as error:
                if is_absent(error):
                    return None
                self.context.sleep(backoff.pause(error.retry_after))

    async def _repeat_async(
        self, method: str, path: str, options: dict[str, Any], read: Callable[[Any], R]
    ) -> R | None:
        backoff = Backoff()
        while True:
            try:
                return read(await self._app.async_client.request(method, path, **options))
            except (ApiError, ServerUnavailable) as error:
                if is_absent(error):
                    return None
                await asyncio.sleep(backoff.pause(error.retry_after))
                self.context.check_aborted()

    @property
    def _claim(self) -> str:
        return f"/api/v1/claims/{quote(self._job_id, safe='')}"

    @property
    def _prerequisites(self) -> str:
        return f"{self._claim}/prerequisites"

    def _at(self, name: str) -> str:
        return f"{self._claim}/steps/{quote(name, safe='')}"

    def _page(self, after: str | None) -> dict[str, Any]:
        return {"query": {"fence": self._fence, "after": after}}


def page_of(answer: Any) -> types.PrerequisiteList:
    """The page of prerequisites in an answer of the server."""
    if not isinstance(answer, dict) or not isinstance(answer.get("prerequisites"), list):
        raise ServerUnavailable("an unexpected answer: not a list of prerequisites")
    answer.setdefault("nextCursor", None)
    return typing.cast("types.PrerequisiteList", answer)


def result_of(answer: Any) -> tuple[bool, Any]:
    """The result in an answer of the server."""
    if not isinstance(answer, dict) or "result" not in answer:
        raise ServerUnavailable("an unexpected answer: a step without its result")
    return True, answer["result"]


def is_absent(error: ApiError | ServerUnavailable) -> bool:
    """Whether there is no such step; raises unless another try may help."""
    if isinstance(error, ServerUnavailable):
        return False
    if error.code in ("stale_fence", "not_found"):
        raise JobAborted("lost") from error
    if error.code == "step_not_found":
        return True
    # A key that was revoked may be replaced on the server's side.
    if is_transient(error.status) or error.status in (401, 403):
        return False
    raise error


class LocalSteps:
    """Steps in memory, as JSON, so that a test sees what a second attempt would see."""

    def __init__(self, results: dict[str, str]) -> None:
        self._results = results

    def load(self, name: str) -> tuple[bool, Any]:
        """Whether the step has succeeded before, and its result."""
        if name in self._results:
            return True, json.loads(self._results[name])
        return False, None

    def save(self, name: str, result: Any) -> Any:
        """Keeps the result of a step and returns it; the first one wins."""
        return json.loads(self._results.setdefault(name, to_json(result)))

    async def load_async(self, name: str) -> tuple[bool, Any]:
        """As `load`."""
        return self.load(name)

    async def save_async(self, name: str, result: Any) -> Any:
        """As `save`."""
        return self.save(name, result)

    def prerequisites(self) -> list[types.PrerequisiteResult]:
        """None: jobs with `after` are refused in tests without a server."""
        return []

    async def prerequisites_async(self) -> list[types.PrerequisiteResult]:
        """As `prerequisites`."""
        return []
