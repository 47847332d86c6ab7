"""Where results of `once` steps are kept: on the server under the claim's fence, or in memory."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .backoff import Backoff
from .client import is_transient
from .errors import ApiError, JobAborted, ServerUnavailable
from .payloads import to_json

if TYPE_CHECKING:
    from .app import Steadfast
    from .context import Context


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
        return self._repeat("GET", name, {"query": {"fence": self._fence}})

    def save(self, name: str, result: Any) -> Any:
        """Keeps the result of a step and returns it; the first one wins."""
        return self._repeat("PUT", name, {"body": {"fence": self._fence, "result": result}})[1]

    async def load_async(self, name: str) -> tuple[bool, Any]:
        """As `load`."""
        return await self._repeat_async("GET", name, {"query": {"fence": self._fence}})

    async def save_async(self, name: str, result: Any) -> Any:
        """As `save`."""
        body = {"fence": self._fence, "result": result}
        return (await self._repeat_async("PUT", name, {"body": body}))[1]

    def _repeat(self, method: str, name: str, options: dict[str, Any]) -> tuple[bool, Any]:
        backoff = Backoff()
        while True:
            try:
                return result_of(self._app.client.request(method, self._at(name), **options))
            except (ApiError, ServerUnavailable) as error:
                if is_absent(error):
                    return False, None
                self.context.sleep(backoff.pause(error.retry_after))

    async def _repeat_async(
        self, method: str, name: str, options: dict[str, Any]
    ) -> tuple[bool, Any]:
        backoff = Backoff()
        while True:
            try:
                client = self._app.async_client
                return result_of(await client.request(method, self._at(name), **options))
            except (ApiError, ServerUnavailable) as error:
                if is_absent(error):
                    return False, None
                await asyncio.sleep(backoff.pause(error.retry_after))
                self.context.check_aborted()

    def _at(self, name: str) -> str:
        return f"/api/v1/claims/{quote(self._job_id, safe='')}/steps/{quote(name, safe='')}"


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
