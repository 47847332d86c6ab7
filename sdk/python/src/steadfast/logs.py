"""The log of an attempt: the newest lines, which are sent with heartbeats."""

from __future__ import annotations

import logging
import threading
import typing
from collections import deque
from collections.abc import Callable, MutableMapping
from datetime import datetime, timezone
from typing import Any

from . import types
from .payloads import to_json

LINES_MAX = 1_000
BYTES_MAX = 64 * 1024
LINE_BYTES_MAX = 8 * 1024
"""What the server keeps of an attempt and of a line."""
JOB_LOGGER = "steadfast.job"


class AttemptLog:
    """The newest lines of an attempt, numbered from 0; the server stores each number once.

    Handlers log on threads of their own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: deque[types.LogLine] = deque()
        self._bytes = 0
        self._first = 0
        self._stored = 0

    def add(self, level: int, text: str) -> None:
        """Adds a line, with a level of `logging`."""
        line: types.LogLine = {
            "at": datetime.now(timezone.utc).isoformat().replace("+00:00", "Z"),
            "level": _level_name(level),
            "text": _shorten(text),
        }
        with self._lock:
            self._lines.append(line)
            self._bytes += _length(line)
            while len(self._lines) > LINES_MAX or self._bytes > BYTES_MAX:
                self._bytes -= _length(self._lines.popleft())
                self._first += 1

    @property
    def has_unsent(self) -> bool:
        """Whether the server has not stored all lines."""
        return self._stored < self._first + len(self._lines)

    def unsent(self, bytes_max: int) -> types.LogLines | None:
        """The lines that the server has not stored, unless they are longer than that as JSON."""
        with self._lock:
            start = max(self._first, self._stored)
            lines = list(self._lines)[start - self._first :]
        log: types.LogLines = {"from": start, "lines": lines}
        return log if lines and json_length(log) <= bytes_max else None

    def mark_stored(self, sent: types.LogLines | None) -> None:
        """The server has stored these lines."""
        if sent is not None:
            with self._lock:
                self._stored = max(self._stored, next_number(sent))

    def drop(self) -> None:
        """Leaves out the lines so far: the server refuses a request with them."""
        with self._lock:
            self._stored = self._first + len(self._lines)


class JobLogger(logging.LoggerAdapter[logging.Logger]):
    """Writes to the logger `steadfast.job`, and to the log of the attempt."""

    def __init__(self, fields: dict[str, Any], add: Callable[[int, str], object]) -> None:
        super().__init__(logging.getLogger(JOB_LOGGER), fields)
        self._add = add

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """As `logging.Logger.log`. Everything from INFO on is kept with the attempt."""
        if level >= logging.INFO or self.isEnabledFor(level):
            self._add(level, _text_of(level, msg, args))
        kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
        super().log(level, msg, *args, **kwargs)

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        """Adds the fields of the job beside those of the call."""
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs


class AttemptLogHandler(logging.Handler):
    """Puts what a program logs while a job runs into the log of its attempt.

    Add it to the loggers whose records belong there: `logging.getLogger().addHandler(…)`.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Adds a record of a handler's thread or task; others are not kept."""
        from .context import current_context

        context = current_context()
        # What a job's own logger writes is there already; the worker's records are not the job's.
        if context is None or record.name.startswith("steadfast."):
            return
        try:
            context.add_log_line(record.levelno, self.format(record))
        except RecursionError:
            raise
        except Exception:
            self.handleError(record)


def next_number(lines: types.LogLines) -> int:
    """The number of the line after these."""
    return (lines.get("from") or 0) + len(lines.get("lines") or [])


def json_length(log: types.LogLines) -> int:
    """How many bytes of a request these take."""
    return len(to_json(log).encode())


def _text_of(level: int, msg: object, args: tuple[object, ...]) -> str:
    """The message as `logging` formats it; a mistake in a format does not fail the job."""
    try:
        return logging.LogRecord(JOB_LOGGER, level, "", 0, msg, args, None).getMessage()
    except Exception:
        return str(msg) if isinstance(msg, str) else f"a {type(msg).__name__} without text"


def _level_name(level: int) -> types.LogLevel:
    for least, name in (
        (logging.ERROR, "error"),
        (logging.WARNING, "warn"),
        (logging.INFO, "info"),
    ):
        if level >= least:
            return typing.cast("types.LogLevel", name)
    return "debug"


def _length(line: types.LogLine) -> int:
    return len(line["text"].encode(errors="replace"))


def _shorten(text: str) -> str:
    data = text.encode(errors="replace")
    if len(data) <= LINE_BYTES_MAX:
        return data.decode()
    return data[: LINE_BYTES_MAX - 3].decode(errors="ignore") + "…"
