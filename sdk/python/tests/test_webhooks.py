from __future__ import annotations

import base64
import hashlib
import hmac
import time
from typing import Annotated, Any

import pytest

from steadfast.webhooks import InvalidSignature, WebhookEvent, verify

# From the specification of Standard Webhooks and the tests of its libraries.
PUBLISHED = [
    (
        "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
        "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
        1_649_367_553,
        b'{"email":"test@example.com","username":"test_user"}',
        "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
    ),
    (
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1_614_265_330,
        b'{"test": 2432232314}',
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    ),
]
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
BODY = b'{"id":"evt_1","type":"job.failed","timestamp":"2030-01-01T00:00:00Z","data":{}}'


def headers_of(message: str, at: int, signature: str) -> dict[str, str]:
    return {
        "Webhook-Id": message,
        "webhook-timestamp": str(at),
        "WEBHOOK-SIGNATURE": signature,
    }


def signed(body: bytes, at: int) -> dict[str, str]:
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    code = hmac.digest(key, f"msg_1.{at}.".encode() + body, hashlib.sha256)
    return headers_of("msg_1", at, "v1," + base64.b64encode(code).decode())


@pytest.mark.parametrize(("secret", "message", "at", "body", "signature"), PUBLISHED)
def test_the_published_examples_are_accepted(
    secret: str, message: str, at: int, body: bytes, signature: str
) -> None:
    headers = headers_of(message, at, f"v1,bm90IHRoaXM= {signature}")
    assert verify(secret, headers, body, now=at + 299)
    assert verify([OTHER, SECRET], headers, body, now=at - 299)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"now": 1_614_265_330 + 301}, "too far"),
        ({"now": 1_614_265_330 - 301}, "too far"),
        ({"body": b"{}"}, "no signature matches"),
        ({"secret": OTHER}, "no signature matches"),
        ({"headers": {}}, "'webhook-id' is missing"),
        ({"headers": headers_of("m", -1, "v1,")}, "not a number"),
        ({"headers": headers_of("m", 10**21, "v1,")}, "not a number"),
        (
            {"headers": headers_of("msg_other", 1_614_265_330, PUBLISHED[1][4])},
            "no signature matches",
        ),
    ],
)
def test_anything_else_is_refused(change: dict[str, Any], why: str) -> None:
    secret, message, at, body, signature = PUBLISHED[1]
    call: dict[str, Any] = {
        "secret": secret,
        "headers": headers_of(message, at, signature),
        "body": body,
        "now": at,
    }
    with pytest.raises(InvalidSignature, match=why):
        verify(**(call | change))


def test_a_header_may_hold_anything() -> None:
    headers = signed(BODY, 0)
    for name in ("webhook-id", "webhook-signature"):
        with pytest.raises(InvalidSignature):
            verify(SECRET, {**headers, name: "v1,\ud800"}, BODY, now=0)


def test_a_secret_that_is_none_is_an_error_of_the_caller() -> None:
    for secret in ["whsec_!", "whsec_", ""]:
        with pytest.raises(ValueError, match="whsec_"):
            verify(secret, signed(BODY, 0), BODY, now=0)


def test_fastapi_gets_the_event_or_answers_401(monkeypatch: pytest.MonkeyPatch) -> None:
    fastapi = pytest.importorskip("fastapi")
    testclient = pytest.importorskip("fastapi.testclient")
    from steadfast.fastapi import webhook_event

    monkeypatch.setenv("STEADFAST_WEBHOOK_SECRET", SECRET)
    api = fastapi.FastAPI()
    Event = Annotated[WebhookEvent, fastapi.Depends(webhook_event())]  # noqa: N806

    async def receive(event: Any) -> str:
        return str(event["type"])

    receive.__annotations__["event"] = Event
    api.post("/webhooks")(receive)
    client = testclient.TestClient(api)
    answer = client.post("/webhooks", content=BODY, headers=signed(BODY, int(time.time())))
    assert (answer.status_code, answer.json()) == (200, "job.failed")
    answer = client.post("/webhooks", content=BODY, headers=signed(BODY, 0))
    assert answer.status_code == 401
    large = b" " * (1024 * 1024 + 1)
    answer = client.post("/webhooks", content=large, headers=signed(large, int(time.time())))
    assert answer.status_code == 413
    with pytest.raises(ValueError, match="whsec_"):
        webhook_event("whsec_!")
    monkeypatch.delenv("STEADFAST_WEBHOOK_SECRET")
    with pytest.raises(ValueError, match="STEADFAST_WEBHOOK_SECRET"):
        webhook_event()
