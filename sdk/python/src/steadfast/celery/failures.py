"""Failures of tasks as failures of their jobs.

Celery acknowledges the message of a failed task like any other. So that the dashboard shows the
failure, it is reported with the claim, whose job and fence are in the delivery tag: by the pool
process that has run the task, or by the worker itself if that process died.
"""

from __future__ import annotations

import logging
import os
import weakref
from typing import Any

from ..errors import SteadfastError
from .address import address_of_connection
from .held import Deliveries, Held
from .messages import claim_of

log = logging.getLogger("steadfast.celery")

MESSAGE_BYTES_MAX = 4096

_deliveries: weakref.WeakSet[Deliveries] = weakref.WeakSet()
_is_connected = False


def connect_signals() -> None:
    """Listens to failures of tasks in this process, and in pool processes that it forks."""
    global _is_connected
    if not _is_connected:
        try:
            from celery import signals
        except ImportError:
            return  # Kombu is used without Celery.
        _is_connected = True
        signals.task_failure.connect(on_task_failure, weak=False)
        signals.worker_init.connect(on_worker_init, weak=False)


def on_worker_init(sender: Any = None, **_: Any) -> None:
    """A worker starts. Its loop must not wait for a free pool process.

    Otherwise it could not be controlled while all of them are busy. The prefetch limit bounds the
    tasks that wait for the pool.
    """
    connection = getattr(sender, "_conninfo", None)
    if connection is not None and connection.transport.driver_type == "steadfast":
        sender.pool_putlocks = False


def watch(deliveries: Deliveries) -> None:
    """Failures of these deliveries are reported with their settlement."""
    _deliveries.add(deliveries)


def on_task_failure(
    sender: Any = None, task_id: str = "", exception: Any = None, einfo: Any = None, **_: Any
) -> None:
    """A task has failed, and Celery does not retry it."""
    request = getattr(sender, "request", None)
    properties = getattr(request, "properties", None) or {}
    tag = properties.get("delivery_tag") if getattr(request, "id", None) == task_id else None
    failure = failure_of(exception, einfo)
    held = _find(tag, task_id)
    if held is not None:
        held.failure = failure
    elif (claim := claim_of(tag)) is not None and getattr(request, "is_eager", False) is not True:
        _report(sender.app, claim, failure)


def failure_of(exception: Any, einfo: Any) -> dict[str, Any]:
    """The failure of a job, which no retry of the server follows."""
    failure: dict[str, Any] = {
        "class": type(exception).__name__,
        "message": str(exception)[:MESSAGE_BYTES_MAX],
        "permanent": True,
    }
    if trace := getattr(einfo, "traceback", None):
        failure["trace"] = str(trace)
    return failure


def _find(tag: Any, task_id: str) -> Held | None:
    """The delivery, if this process has claimed it."""
    for deliveries in list(_deliveries):
        if deliveries.process != os.getpid():
            continue  # A pool process has a copy of what its parent had when it was forked.
        held = deliveries.get(str(tag)) if tag else deliveries.of_task(task_id)
        if held is not None:
            return held
    return None


def _report(app: Any, claim: tuple[str, int], failure: dict[str, Any]) -> None:
    """Tells the server itself: this is a pool process."""
    try:
        with app.connection_for_read() as connection:
            client = address_of_connection(connection).client()
        job_id, fence = claim
        client.request(
            "POST",
            f"/api/v1/claims/{job_id}/fail",
            body={"fence": fence, "failure": failure},
            is_repeatable=True,
        )
    except (SteadfastError, OSError) as error:
        log.warning("the failure of %s could not be reported: %s", claim[0], error)
