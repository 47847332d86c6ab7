"""The delays of a retry policy, for jobs that run in process.

Without jitter, rules and `maxElapsed`: a test about those belongs on a real server.
"""

from __future__ import annotations

import typing
from typing import Any

from .. import types
from ..durations import to_seconds

_PRESETS: dict[str, dict[str, Any]] = {
    "http": {"maxRetries": 3, "baseDelay": "1s", "maxDelay": "5m"},
    "queue": {"maxRetries": 3, "baseDelay": "500ms", "maxDelay": "30s"},
    "patient": {"maxRetries": 3, "baseDelay": "1m", "maxDelay": "1h"},
    "webhook": {"maxRetries": 3, "backoff": "delays", "delays": ["30s", "60s", "120s"]},
    "conservative": {"maxRetries": 5, "baseDelay": "1s", "maxDelay": "60s"},
    "aggressive": {"maxRetries": 2, "baseDelay": "100ms", "maxDelay": "5s"},
    "once": {"maxRetries": 0},
}


class Policy:
    """How often a job is retried, and after how long."""

    def __init__(self, request: types.CreateJobRequest) -> None:
        given = request.get("retry")
        if isinstance(given, str):
            given = typing.cast("types.RetryPolicyFields", {"preset": given})
        fields: dict[str, Any] = dict(given or {})
        preset = fields.pop("preset", None) or "queue"
        if "maxAttempts" in fields:
            fields["maxRetries"] = fields.pop("maxAttempts") - 1
        self._fields: dict[str, Any] = {**_PRESETS[preset], **fields}
        self.max_retries: int = self._fields["maxRetries"]

    def delay(self, retry: int) -> float:
        """Before this retry, from 1, in seconds."""
        backoff = self._fields.get("backoff", "exponential")
        if backoff == "delays":
            delays: list[Any] = self._fields["delays"]
            return _seconds(delays[min(retry, len(delays)) - 1])
        times: float = {
            "exponential": self._fields.get("factor", 2) ** (retry - 1),
            "linear": retry,
            "fixed": 1,
            "fibonacci": _fibonacci(retry),
        }[backoff]
        cap = _seconds(self._fields.get("maxDelay", "30d"))
        return min(_seconds(self._fields.get("baseDelay", 0)) * times, cap)


def _seconds(value: Any) -> float:
    """As the API has it: a number is one of milliseconds."""
    return value / 1000 if isinstance(value, int | float) else to_seconds(value)


def _fibonacci(n: int) -> int:
    a, b = 1, 1
    for _ in range(n - 1):
        a, b = b, a + b
    return a
