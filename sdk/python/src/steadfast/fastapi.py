"""A webhook receiver for FastAPI: `pip install steadfast-jobs[fastapi]`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable

from fastapi import HTTPException, Request

from .webhooks import InvalidSignature, WebhookEvent, key_of, verify

SECRET = "STEADFAST_WEBHOOK_SECRET"
BODY_BYTES_MAX = 1024 * 1024
"""Read before the signature is checked, so anyone can send it."""


def webhook_event(
    secret: str | Iterable[str] | None = None,
) -> Callable[[Request], Awaitable[WebhookEvent]]:
    """A dependency that verifies the signature and returns the event; answers 401 if it is wrong.

        @api.post("/webhooks")
        async def receive(event: Annotated[WebhookEvent, Depends(webhook_event())]) -> None: ...

    The secret comes from `STEADFAST_WEBHOOK_SECRET` unless given.
    """
    secrets = secret or os.environ.get(SECRET)
    if not secrets:
        raise ValueError(f"no secret: give one, or set {SECRET}")
    known = [secrets] if isinstance(secrets, str) else list(secrets)

    for one in known:
        key_of(one)

    async def receive(request: Request) -> WebhookEvent:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_BYTES_MAX:
                raise HTTPException(413, "the body is too large")
        try:
            return verify(known, request.headers, bytes(body))
        except InvalidSignature as error:
            raise HTTPException(401, str(error)) from error

    # FastAPI resolves annotations in the module's globals; `Request` is there.
    return receive
