"""A message of Celery as a job, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from kombu.utils.json import dumps, loads

TASK_TAG = "celery-task"
"""The tag with the id of the task. Retries of a task are jobs of their own, with the same tag."""
MESSAGE_KIND = "celery.message"
"""The kind of a message that is not a task."""
ETA_LEAD = timedelta(seconds=1)
"""A worker gets a task this much before its `eta`: its timer wakes once a second until then."""
KIND_BYTES_MAX = 255
TAG_BYTES_MAX = 256
PROPERTIES = frozenset(
    [
        *("app_id", "body_encoding", "cluster_id", "correlation_id", "delivery_info"),
        *("delivery_mode", "delivery_tag", "expiration", "message_id", "priority", "reply_to"),
        *("timestamp", "type", "user_id"),
    ]
)
"""Properties that are sent. Others, which AMQP does not have either, may not even be JSON."""
NODE_KINDS = frozenset({"http", "webhook"})
"""Kinds that the server runs itself."""

_NOT_IN_KIND = re.compile(r"[^A-Za-z0-9_.:/\\@#-]")
_QUEUE = re.compile(r"[A-Za-z0-9_.:/@-]{1,128}")


def job_of(message: Mapping[str, Any], queue: str, max_redeliveries: int) -> dict[str, Any]:
    """The body of a request to create the job of a message."""
    if not _QUEUE.fullmatch(queue):
        raise ValueError(
            f"{queue!r} cannot be the name of a queue: use letters, digits and _ . : / @ -"
        )
    headers = message.get("headers") or {}
    properties = message["properties"]
    job: dict[str, Any] = {
        "kind": kind_of(headers.get("task")),
        "queue": queue,
        "payload": message,
        "priority": _priority(properties.get("priority")),
        # Only a lost worker makes the server retry: the failures of a task are Celery's to retry.
        "retry": {
            "backoff": "fixed",
            "baseDelay": "0s",
            "jitter": "none",
            "maxRetries": max_redeliveries,
        },
        "idempotencyKey": properties["delivery_tag"],
    }
    task_id = headers.get("id")
    if task_id and len(str(task_id).encode()) <= TAG_BYTES_MAX:
        job["tags"] = {TASK_TAG: str(task_id)}
    if eta := _eta(headers.get("eta")):
        job["runAt"] = eta
    return job


def plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message as JSON has it, with the properties that AMQP has."""
    properties = {k: v for k, v in message["properties"].items() if k in PROPERTIES}
    result: dict[str, Any] = json.loads(dumps({**message, "properties": properties}))
    return result


def kind_of(task: Any) -> str:
    """The kind of a job: the name of the task, with `_` for characters that a kind cannot have."""
    if not task:
        return MESSAGE_KIND
    kind = _NOT_IN_KIND.sub("_", str(task))[:KIND_BYTES_MAX]
    return f"celery:{kind}" if kind in NODE_KINDS else kind


def message_of(claim: Mapping[str, Any]) -> dict[str, Any] | None:
    """The message of a claimed job; `None` if its payload is none."""
    job = claim["job"]
    payload = job.get("payload")
    if not isinstance(payload, dict) or not isinstance(payload.get("properties"), dict):
        return None
    message: dict[str, Any] = loads(json.dumps(payload))
    properties = message["properties"]
    info = properties.setdefault("delivery_info", {})
    info["redelivered"] = claim["fence"] > 1
    properties["delivery_tag"] = delivery_tag_of(claim["id"], claim["fence"])
    return message


def delivery_tag_of(job_id: str, fence: int) -> str:
    """The delivery tag of a claim. It is also what a pool process knows about the claim."""
    return f"{job_id}:{fence}"


def claim_of(delivery_tag: Any) -> tuple[str, int] | None:
    """The job and fence in a delivery tag; `None` for the tag of another transport."""
    job_id, _, fence = str(delivery_tag).partition(":")
    return (job_id, int(fence)) if job_id.startswith("job_") and fence.isdigit() else None


def _priority(priority: Any) -> int:
    try:
        return max(0, min(9, int(priority)))
    except (TypeError, ValueError):
        return 0


def _eta(eta: Any) -> str | None:
    """When the job of a task is due. A worker holds tasks back whose time cannot be read here."""
    try:
        time = datetime.fromisoformat(str(eta).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (time - ETA_LEAD).isoformat() if time.tzinfo else None
