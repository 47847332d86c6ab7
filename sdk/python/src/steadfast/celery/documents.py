"""Values by key, kept in the server until they expire.

A value is a job in the queue `celery.results` that nobody claims. Its start time is the end of its
life: it counts while it is scheduled, and is cancelled soon afterwards. A newer value of a key is a
job of its own, because changing a job leaves an audit record.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from ..client import Client
from ..errors import ApiError
from . import content
from .address import Address

QUEUE = "celery.results"
RESULT_KIND = "celery.result"
NUMBER_KIND = "celery.number"
KEY_TAG = "celery-key"
PART_TAG = "celery-part"
NUMBER_TAG = "celery-number"
VALUE_TAG = "celery-value"
CURRENT, FINAL, DELETED = "current", "final", "deleted"
CONFLICT = 409
EXPIRY_MARGIN = 60.0
"""A deadline must be later than the start."""
KEY_BYTES_MAX = 200
FOREVER = 10 * 365 * 86400.0
VERSIONS_READ = 5
NUMBERS_MAX = 1000
"""Keys whose last number is remembered."""


class Documents:
    """The values of a tenant."""

    def __init__(self, client: Client, address: Address) -> None:
        self._client = client
        self._address = address
        self._numbers: OrderedDict[str, int] = OrderedDict()

    def get(self, key: str) -> str | bytes | None:
        """The value of a key that has not expired: a final one, or the newest."""
        jobs = self._list([f"{KEY_TAG}:{short(key)}"], VERSIONS_READ)
        jobs.sort(key=lambda job: str(job["createdAt"]), reverse=True)
        kinds = [job["tags"].get(VALUE_TAG) for job in jobs]
        if DELETED in kinds:
            jobs = jobs[: kinds.index(DELETED)]
        chosen = jobs[kinds.index(FINAL)] if FINAL in kinds[: len(jobs)] else next(iter(jobs), None)
        return (
            None if chosen is None else _decode(self._client.get_job(chosen["id"]).get("payload"))
        )

    def set(
        self, key: str, value: str | bytes, expires: float | None, is_final: bool = False
    ) -> None:
        """Stores a value. Later values do not replace a final one."""
        text, encoding = content.encode(value)
        payload = {"value": text, "encoding": encoding}
        self._write(key, payload, FINAL if is_final else CURRENT, expires)

    def delete(self, key: str, expires: float | None) -> None:
        """From now on there is no value. Earlier ones are kept until they expire."""
        self._write(key, None, DELETED, expires)

    def number(self, key: str, part: str, expires: float | None) -> tuple[int, bool]:
        """Numbers the parts of a key: 1, 2, 3 and so on. Returns also whether the number is new.

        A part keeps its number. Each number is a unique job, so no two parts get the same one, and
        the part is its idempotency key, so no part gets two.
        """
        key = short(key)
        number = self._numbers.get(key, 0) + 1
        while True:
            code = self._take(key, part, number, expires)
            if code == "":
                self._remember(key, number)
                return number, True
            if code != "unique_conflict":
                [job] = self._list([f"{KEY_TAG}:{key}", f"{PART_TAG}:{short(part)}"], 1)
                return int(job["tags"][NUMBER_TAG]), False
            number = max(number, self.count(key)) + 1

    def count(self, key: str) -> int:
        """How many parts have a number, or fewer if some are just getting theirs."""
        newest = self._list([f"{KEY_TAG}:{short(key)}"], VERSIONS_READ)
        return max((int(job["tags"][NUMBER_TAG]) for job in newest), default=0)

    def _take(self, key: str, part: str, number: int, expires: float | None) -> str:
        """Gives a number to a part; returns the code of the error if one of them is taken."""
        tags = {KEY_TAG: key, PART_TAG: short(part), NUMBER_TAG: str(number)}
        # A second request of a part must differ from the first, to be refused.
        body = self._document(NUMBER_KIND, expires, tags, uuid.uuid4().hex)
        body["unique"] = {"key": f"{key}#{number}", "onConflict": "reject"}
        body["idempotencyKey"] = short(f"{key}:{part}")
        try:
            self._client.request("POST", "/api/v1/jobs", body=body)
        except ApiError as error:
            if error.status == CONFLICT:
                return error.code
            raise
        return ""

    def _remember(self, key: str, number: int) -> None:
        """The next part of this process begins its search there."""
        self._numbers[key] = number
        while len(self._numbers) > NUMBERS_MAX:
            self._numbers.popitem(last=False)

    def _write(self, key: str, payload: Any, kind: str, expires: float | None) -> None:
        tags = {KEY_TAG: short(key), VALUE_TAG: kind}
        body = self._document(RESULT_KIND, expires, tags, payload)
        self._client.request("POST", "/api/v1/jobs", body=body)

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


def _decode(payload: Any) -> str | bytes | None:
    if not isinstance(payload, dict) or "value" not in payload:
        return None
    return content.decode(payload["value"], payload.get("encoding"))
