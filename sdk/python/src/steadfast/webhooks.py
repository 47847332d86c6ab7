"""Checks the signatures of webhooks, as Standard Webhooks 1.0 defines them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from . import types
from .durations import Duration, to_seconds
from .errors import SteadfastError

PREFIX = "whsec_"


class WebhookEvent(TypedDict):
    """The event that a webhook delivers."""

    id: str
    """`evt_…`: the same for every endpoint and every retry, so that duplicates can be dropped."""
    type: types.EventType
    timestamp: str
    data: Any
    """A `types.Job`, or a `types.Alert` for events of alerts."""


class InvalidSignature(SteadfastError):
    """The request is not from the server, is too old, or was changed on its way."""


def verify(
    secret: str | Iterable[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: Duration = 300,
    now: float | None = None,
) -> WebhookEvent:
    """Verifies the signature and the time of a webhook, and returns its event.

    Raises `InvalidSignature`, and `ValueError` for a secret that is not one.

    `body` is the request's body as it came: JSON that was parsed and written again does not fit.
    Several secrets are for a rotation.
    """
    by_name = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, sent_at = by_name["webhook-id"], by_name["webhook-timestamp"]
        given = by_name["webhook-signature"]
    except KeyError as error:
        raise InvalidSignature(f"the header {error} is missing") from None
    _check_time(sent_at, to_seconds(tolerance), time.time() if now is None else now)
    signed = f"{message_id}.{sent_at}.".encode("utf-8", "replace") + body
    secrets = [secret] if isinstance(secret, str) else list(secret)
    expected = [_sign(key_of(one), signed) for one in secrets]
    # Every pair is compared, in constant time.
    # A header may hold anything.
    signatures = [one.encode("utf-8", "replace") for one in given.split()]
    matches = [hmac.compare_digest(a.encode(), b) for a in expected for b in signatures]
    if not any(matches):
        raise InvalidSignature("no signature matches")
    return typing.cast("WebhookEvent", json.loads(body))


def _check_time(sent_at: str, tolerance: float, now: float) -> None:
    if not sent_at.isascii() or not sent_at.isdigit() or len(sent_at) > 20:
        raise InvalidSignature("webhook-timestamp is not a number")
    if abs(now - int(sent_at)) > tolerance:
        raise InvalidSignature("webhook-timestamp is too old, or too far in the future")


def key_of(secret: str) -> bytes:
    """The key in a secret; raises `ValueError` if it has none."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        key = b""
    # Anyone can sign with an empty key.
    if not key:
        raise ValueError("a webhook secret must be whsec_ followed by base64")
    return key


def _sign(key: bytes, signed: bytes) -> str:
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
