"""Where results of `once` steps are kept: on the server under the claim's fence, or in memory."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .errors import ApiError, JobAborted, ServerUnavailable
from .payloads import to_json

if TYPE_CHECKING:
    from .app import Steadfast


class ServerSteps:
    """Steps of a claim. While the server is away they wait, for as long as the claim may hold."""

    def __init__(self, app: Steadfast, job_id: str, fence: int, lease: float) -> None:
        self._app = app
        self._job_id = job_id
        self._fence = fence
        self._lease = lease

    def load(self, name: str) -> tuple[bool, Any]:
        """Whether the step has succeeded before, and its result."""
        client, end = self._app.client, time.monotonic() + self._lease
        while True:
            try:
                query = {"fence": self._fence}
                return True, client.request("GET", self._at(name), query=query)["result"]
            except (ApiError, ServerUnavailable) as error:
                if is_absent(error, end):
                    return False, None

    def save(self, name: str, result: Any) -> Any:
        """Keeps the result of a step and returns it; the first one wins."""
        client, end = self._app.client, time.monotonic() + self._lease
        body = {"fence": self._fence, "result": result}
        while True:
            try:
                return client.request("PUT", self._at(name), body=body)["result"]
            except (ApiError, ServerUnavailable) as error:
                is_absent(error, end)

    async def load_async(self, name: str) -> tuple[bool, Any]:
        """As `load`."""
        client, end = self._app.async_client, time.monotonic() + self._lease
        while True:
            try:
                query = {"fence": self._fence}
                return True, (await client.request("GET", self._at(name), query=query))["result"]
            except (ApiError, ServerUnavailable) as error:
                if is_absent(error, end):
                    return False, None

    async def save_async(self, name: str, result: Any) -> Any:
        """As `save`."""
        client, end = self._app.async_client, time.monotonic() + self._lease
        body = {"fence": self._fence, "result": result}
        while True:
            try:
                return (await client.request("PUT", self._at(name), body=body))["result"]
            except (ApiError, ServerUnavailable) as error:
                is_absent(error, end)

    def _at(self, name: str) -> str:
        return f"/api/v1/claims/{quote(self._job_id, safe='')}/steps/{quote(name, safe='')}"


def is_absent(error: ApiError | ServerUnavailable, end: float) -> bool:
    """Whether there is no such step; raises unless another try may help."""
    if isinstance(error, ServerUnavailable):
        if time.monotonic() >= end:
            raise error
        return False
    if error.code == "stale_fence":
        raise JobAborted("lost") from error
    if error.code != "step_not_found":
        raise error
    return True


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
