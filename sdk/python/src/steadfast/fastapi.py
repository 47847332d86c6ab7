"""A webhook receiver for FastAPI: `pip install steadfast-jobs[fastapi]`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable

from fastapi import HTTPException, Request

from .webhooks import InvalidSignature, WebhookEvent, verify

SECRET = "STEADFAST_WEBHOOK_SECRET"


def webhook_event(
    secret: str | Iterable[str] | None = None,
) -> Callable[[Request], Awaitable[WebhookEvent]]:
    """A dependency with the event of a request whose signature is right; others get 401.

        @api.post("/webhooks")
        async def receive(event: Annotated[WebhookEvent, Depends(webhook_event())]) -> None: ...

    The secret comes from `STEADFAST_WEBHOOK_SECRET` unless given.
    """
    secrets = secret or os.environ.get(SECRET)
    if not secrets:
        raise ValueError(f"no secret: give one, or set {SECRET}")
    known = [secrets] if isinstance(secrets, str) else list(secrets)

    async def receive(request: Request) -> WebhookEvent:
        try:
            return verify(known, request.headers, await request.body())
        except InvalidSignature as error:
            raise HTTPException(401, str(error)) from error

    # FastAPI resolves annotations in the module's globals; `Request` is there.
    return receive
