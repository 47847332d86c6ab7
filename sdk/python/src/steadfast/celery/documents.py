"""Values by key, kept in the server until they expire.

A value is a job in the queue `celery.results` that nobody claims. Its start time is the end of its
life: it counts while it is scheduled, and is cancelled soon afterwards. A newer value of a key is a
job of its own, because changing a job leaves an audit record.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from ..client import Client
from ..errors import ApiError
from .address import Address

QUEUE = "celery.results"
RESULT_KIND = "celery.result"
NUMBER_KIND = "celery.number"
KEY_TAG = "celery-key"
PART_TAG = "celery-part"
NUMBER_TAG = "celery-number"
EXPIRY_MARGIN = 60.0
"""A deadline must be later than the start."""
KEY_BYTES_MAX = 200
FOREVER = 10 * 365 * 86400.0
VERSIONS_READ = 5


class Documents:
    """The values of a tenant."""

    def __init__(self, client: Client, address: Address) -> None:
        self._client = client
        self._address = address

    def get(self, key: str) -> str | bytes | None:
        """The newest value of a key that has not expired."""
        jobs = self._list([f"{KEY_TAG}:{short(key)}"], VERSIONS_READ)
        if not jobs:
            return None
        newest = max(jobs, key=lambda job: str(job["createdAt"]))
        return _decode(self._client.get_job(newest["id"]).get("payload"))

    def set(self, key: str, value: str | bytes | None, expires: float | None) -> None:
        """Stores a value; `None` means that there is none."""
        body = self._document(RESULT_KIND, expires, {KEY_TAG: short(key)}, _encode(value))
        self._client.request("POST", "/api/v1/jobs", body=body)

    def number(self, key: str, part: str, expires: float | None) -> tuple[int, bool]:
        """Numbers the parts of a key: 1, 2, 3 and so on. Returns also whether the number is new.

        A part keeps its number. Each number is a unique job, so no two parts get the same one.
        """
        key = short(key)
        for job in self._list([f"{KEY_TAG}:{key}", f"{PART_TAG}:{short(part)}"], 1):
            return int(job["tags"][NUMBER_TAG]), False
        number = 1 + self.count(key)
        while not self._take(key, part, number, expires):
            number += 1
        return number, True

    def count(self, key: str) -> int:
        """How many parts have a number, or fewer if some are just getting theirs."""
        newest = self._list([f"{KEY_TAG}:{short(key)}"], VERSIONS_READ)
        return max((int(job["tags"][NUMBER_TAG]) for job in newest), default=0)

    def _take(self, key: str, part: str, number: int, expires: float | None) -> bool:
        tags = {KEY_TAG: key, PART_TAG: short(part), NUMBER_TAG: str(number)}
        body = self._document(NUMBER_KIND, expires, tags, None)
        body["unique"] = {"key": f"{key}#{number}", "onConflict": "reject"}
        try:
            self._client.request("POST", "/api/v1/jobs", body=body)
        except ApiError as error:
            if error.code == "unique_conflict":
                return False
            raise
        return True

    def _list(self, tags: list[str], limit: int) -> list[Any]:
        return self._client.list_jobs(
            queue=QUEUE, label="scheduled", tag=tags, limit=limit, tenant=self._address.tenant
        )["jobs"]

    def _document(
        self, kind: str, expires: float | None, tags: Mapping[str, str], payload: Any
    ) -> dict[str, Any]:
        seconds = expires or FOREVER
        return {
            "kind": kind,
            "queue": QUEUE,
            "payload": payload,
            "tags": dict(tags),
            "delay": round(seconds * 1000),
            "startBefore": f"{round((seconds + EXPIRY_MARGIN) * 1000)}ms",
            "onExpiry": "cancel",
            "maxRetries": 0,
            **self._address.of_tenant(),
        }


def short(key: str) -> str:
    """The key, or a digest of a long one."""
    if len(key.encode()) <= KEY_BYTES_MAX:
        return key
    return hashlib.sha256(key.encode()).hexdigest()


def _encode(value: str | bytes | None) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    return None if value is None else {"text": value}


def _decode(payload: Any) -> str | bytes | None:
    if not isinstance(payload, dict):
        return None
    if "base64" in payload:
        return base64.b64decode(payload["base64"])
    text = payload.get("text")
    return text if isinstance(text, str) else None
