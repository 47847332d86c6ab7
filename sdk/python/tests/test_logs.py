"""What handlers log is kept with the attempt."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from steadfast import AttemptLogHandler, Context
from steadfast.context import set_current_context
from steadfast.logs import BYTES_MAX, LINE_BYTES_MAX, LINES_MAX, AttemptLog, next_number
from steadfast.worker.session import Session


def new_context() -> Context:
    job: Any = {"id": "job_1", "kind": "k", "attempt": 1}
    return Context(job, cast("Any", None))


def texts(context: Context) -> list[str]:
    log = context.attempt_log.unsent(BYTES_MAX)
    return [line["text"] for line in (log or {}).get("lines") or []]


def test_the_newest_lines_are_kept_and_sent_once() -> None:
    log = AttemptLog()
    for number in range(LINES_MAX + 5):
        log.add(logging.INFO, str(number))
    sent = log.unsent(BYTES_MAX)
    assert sent is not None
    assert (sent.get("from"), next_number(sent)) == (5, LINES_MAX + 5)
    log.mark_stored(sent)
    assert not log.has_unsent
    assert log.unsent(BYTES_MAX) is None
    log.add(logging.ERROR, "é" * LINE_BYTES_MAX)
    last = log.unsent(BYTES_MAX)
    assert last is not None
    assert last.get("from") == LINES_MAX + 5
    assert len((last.get("lines") or [])[0]["text"].encode()) <= LINE_BYTES_MAX
    assert log.unsent(10) is None


def test_the_logger_of_a_job_keeps_its_records_whatever_logging_is_set_to() -> None:
    context = new_context()
    told: list[bool] = []
    context.on_progress = lambda: told.append(True)
    context.log.info("sent %d to %s", 3, "ada")
    context.log.debug("hidden")
    context.log.warning("100%")
    assert texts(context) == ["sent 3 to ada", "100%"]
    assert told == [True, True]


class Untold:
    def __str__(self) -> str:
        raise ValueError("no text")


def test_a_mistake_in_a_format_fails_no_job() -> None:
    context = new_context()
    context.log.info("%(a)s and %(b)s", {"a": 1, "b": 2})
    context.log.info("%d", "seven")
    context.log.info("%s")
    context.log.info("one", "too many")
    context.log.info(7)
    context.log.info(Untold())
    context.log.info("extra", extra=None)
    assert texts(context) == [
        "1 and 2",
        "%d",
        "%s",
        "one",
        "7",
        "a Untold without text",
        "extra",
    ]


def test_a_record_that_cannot_be_formatted_is_reported_as_logging_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = new_context()
    set_current_context(context)
    handler = AttemptLogHandler()
    reported: list[logging.LogRecord] = []
    monkeypatch.setattr(handler, "handleError", reported.append)
    record = logging.LogRecord("shop.mail", logging.INFO, "", 0, "%d", ("seven",), None)
    handler.handle(record)
    assert reported == [record]
    assert texts(context) == []


def test_a_note_is_text_that_a_heartbeat_can_carry() -> None:
    context = new_context()
    context.note("half \ud83d")
    assert context.news == ("half ?", None)
    context.note(cast("str", 7))
    assert context.news == ("7", None)


def test_a_handler_may_log_after_its_worker_has_ended() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    session = Session.__new__(Session)
    session._loop = loop
    session._heartbeats = cast("Any", SimpleNamespace(announce=None))
    context = new_context()
    context.on_progress = session._announce
    context.log.info("late")
    assert texts(context) == ["late"]


def test_other_loggers_are_bridged_while_a_job_runs() -> None:
    context = new_context()
    set_current_context(context)
    handler = AttemptLogHandler()
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        logging.getLogger("shop.mail").warning("connected")
        logging.getLogger("steadfast.worker").error("not the job's")
        context.log.warning("there already")
    finally:
        root.removeHandler(handler)
    assert texts(context) == ["connected", "there already"]
