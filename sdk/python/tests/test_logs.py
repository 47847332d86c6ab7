"""What handlers log is kept with the attempt."""

from __future__ import annotations

import logging
from typing import Any, cast

from steadfast import AttemptLogHandler, Context
from steadfast.context import set_current_context
from steadfast.logs import BYTES_MAX, LINE_BYTES_MAX, LINES_MAX, AttemptLog, next_number


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


def test_other_loggers_are_bridged_while_a_job_runs() -> None:
    context = new_context()
    set_current_context(context)
    handler = AttemptLogHandler()
    logger = logging.getLogger("shop.mail")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        logger.info("connected")
        logging.getLogger("steadfast.worker").error("not the job's")
    finally:
        logger.removeHandler(handler)
    assert texts(context) == ["connected"]
