"""A task that sends itself again, by `self.retry` or `self.replace`.

The next job is stored with the end of the job that runs: a crash leaves one of the two, and a limit
of waiting jobs, which refuses new work, does not refuse it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..client import Client
from ..errors import ApiError
from .messages import claim_of

NOT_FOUND = 404
_SENT = "_steadfast_sent"


def send_with_end(client: Client, message: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Stores the job of a message that the task of this thread sends to itself.

    Returns whether it is such a message. Fails if the job that runs was given to another worker,
    which will send it too.
    """
    request = _request_of(message)
    claim = claim_of((request.properties or {}).get("delivery_tag")) if request else None
    if claim is None:
        return False
    job_id, fence = claim
    # Reports of an end can be repeated, so its jobs need no keys.
    body = {key: value for key, value in job.items() if key != "idempotencyKey"}
    try:
        client.request(
            "POST",
            f"/api/v1/claims/{job_id}/succeed",
            body={"fence": fence, "onSuccess": [body]},
            is_repeatable=True,
        )
    except ApiError as error:
        if error.status == NOT_FOUND:
            return False  # It runs for another server.
        raise
    setattr(request, _SENT, True)
    return True


def _request_of(message: Mapping[str, Any]) -> Any:
    """The request of the task of this thread, if the message is the first with its id."""
    try:
        from celery import current_task
    except ImportError:
        return None  # Kombu is used without Celery.
    request = getattr(current_task, "request", None) if current_task else None
    if request is None or request.is_eager or getattr(request, _SENT, False):
        return None
    task_id = (message.get("headers") or {}).get("id")
    return request if task_id is not None and request.id == task_id else None
