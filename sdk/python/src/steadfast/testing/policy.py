"""What a retry policy decides, for jobs that run in process.

The server decides in production. Jitter is left out, so that a test can say when an attempt comes.
"""

from __future__ import annotations

import re
import typing
from typing import Any, Literal

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
_PERMANENT = frozenset(
    {"validation", "not_found", "unauthorized", "forbidden", "syntax", "redirect", "blocked"}
    | {"payload"}
)
_SPELLINGS = {
    "ValidationError": "validation",
    "NotFoundError": "not_found",
    "UnauthorizedError": "unauthorized",
    "ForbiddenError": "forbidden",
    "SyntaxError": "syntax",
}
# Short for fields of the policy.
_SHORT = ("maxRetries", "maxRetryCount", "maxAttempts")

End = Literal["rule", "non_retryable", "exhausted", "expired"]


class Policy:
    """How often a job is retried, and after how long."""

    def __init__(self, request: types.CreateJobRequest) -> None:
        given = request.get("retry")
        if isinstance(given, str):
            given = typing.cast("types.RetryPolicyFields", {"preset": given})
        fields: dict[str, Any] = dict(given or {})
        short: dict[str, Any] = dict(request)
        fields |= {name: short[name] for name in _SHORT if short.get(name) is not None}
        preset = fields.pop("preset", None) or "queue"
        if "maxRetryCount" in fields:
            fields["maxRetries"] = fields.pop("maxRetryCount")
        if "maxAttempts" in fields:
            fields["maxRetries"] = fields.pop("maxAttempts") - 1
        self._fields: dict[str, Any] = {**_PRESETS[preset], **fields}
        self.max_retries: int = self._fields["maxRetries"]

    def decide(self, failure: dict[str, Any], retries: int, elapsed: float) -> float | End:
        """The delay before the next attempt in seconds, or why there is none."""
        rules: list[Any] = self._fields.get("rules") or []
        rule = next((one for one in rules if _matches(one["match"], failure)), None)
        then = rule["then"] if rule else None
        if then == "fail":
            return "rule"
        if rule is None and _is_permanent(failure):
            return "non_retryable"
        if retries >= self.max_retries:
            return "exhausted"
        longest = self._fields.get("maxElapsed")
        if longest is not None and elapsed > _seconds(longest):
            return "expired"
        delay = _seconds(then["retry"]) if isinstance(then, dict) else self.delay(retries + 1)
        return max(delay, _seconds(failure.get("retryAfter") or 0))

    def delay(self, retry: int) -> float:
        """Before this retry, from 1, in seconds."""
        backoff = self._fields.get("backoff", "exponential")
        cap = _seconds(self._fields.get("maxDelay", "30d"))
        if backoff == "delays":
            delays: list[Any] = self._fields["delays"]
            return min(_seconds(delays[min(retry, len(delays)) - 1]), cap)
        times: float = {
            "exponential": self._fields.get("factor", 2) ** (retry - 1),
            "linear": retry,
            "fixed": 1,
            "fibonacci": _fibonacci(retry),
        }[backoff]
        return min(_seconds(self._fields.get("baseDelay", 0)) * times, cap)


def _class_of(name: str) -> str:
    return _SPELLINGS.get(name, name)


def _is_permanent(failure: dict[str, Any]) -> bool:
    status: int = failure.get("httpStatus") or 0
    is_permanent_status = 300 <= status < 500 and status not in (408, 425, 429)
    is_permanent_class = _class_of(failure["class"]) in _PERMANENT
    return failure.get("permanent", False) or is_permanent_class or is_permanent_status


def _matches(match: Any, failure: dict[str, Any]) -> bool:
    if match == "any":
        return True
    classes = {_class_of(one) for one in _list(match.get("class"))}
    statuses = [str(one) for one in _list(match.get("status"))]
    pattern: str | None = match.get("message")
    status: int = failure.get("httpStatus") or 0
    return (
        (not classes or _class_of(failure["class"]) in classes)
        and (not statuses or any(_fits_status(one, status) for one in statuses))
        and (pattern is None or _fits_message(pattern, failure.get("message") or ""))
    )


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _fits_status(pattern: str, status: int) -> bool:
    if re.fullmatch("[0-9]xx", pattern, re.IGNORECASE):
        return status // 100 == int(pattern[0])
    first, _, last = pattern.partition("-")
    return int(first) <= status <= int(last or first)


def _fits_message(pattern: str, message: str) -> bool:
    parts = [re.escape(part) for part in pattern.split("*")]
    return re.fullmatch(".*".join(parts), message, re.DOTALL) is not None


def _seconds(value: Any) -> float:
    """As the API has it: a number is one of milliseconds."""
    return value / 1000 if isinstance(value, int | float) else to_seconds(value)


def _fibonacci(n: int) -> int:
    a, b = 1, 1
    for _ in range(n - 1):
        a, b = b, a + b
    return a
