"""Durations: `timedelta`, a number of seconds, or text as the server writes it (`1h30m`)."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TypeAlias

Duration: TypeAlias = "timedelta | float | str"

_TEXT = re.compile(r"(?:[0-9]{1,6}(?:d|h|ms|m|us|s))+")
_PART = re.compile(r"([0-9]{1,6})(d|h|ms|m|us|s)")
_SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}


def to_seconds(value: Duration) -> float:
    """The same as a number of seconds."""
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, str):
        if not _TEXT.fullmatch(value):
            raise ValueError(f"{value!r} is not a duration: write it as 30s, 5m or 1h30m")
        seconds = sum(int(n) * _SECONDS[unit] for n, unit in _PART.findall(value))
    else:
        seconds = float(value)
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"a duration must be finite and not negative, not {seconds:g} s")
    return seconds


def to_millis(value: Duration) -> int:
    """The same as the whole number of milliseconds that the API takes."""
    return round(to_seconds(value) * 1000)
