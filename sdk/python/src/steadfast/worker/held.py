"""A claim that the worker holds, from the answer to its claim to the answer to its report."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from .. import types
from ..attempts import Attempt, Outcome
from ..context import Context
from ..payloads import to_json
from ..steps import ServerSteps

if TYPE_CHECKING:
    from ..app import Steadfast

SETTLEMENT_BYTES_MAX = 900 * 1024
"""Of a report with its log; the server takes requests of 1 MiB."""


class Held:
    """A claim and the attempt that runs under it."""

    def __init__(self, app: Steadfast, claim: types.Claim, lease: float | None) -> None:
        job = claim["job"]
        self.id = claim["id"]
        self.fence = claim["fence"]
        # Durations only: the clock of this machine may be wrong, and the server's is not here.
        self.lease = job["leaseMs"] / 1000 if lease is None else lease
        timeout = job.get("timeoutMs")
        self.timeout = None if timeout is None else timeout / 1000
        steps = ServerSteps(app, self.id, self.fence)
        self.context = steps.context = Context(job, steps)
        self.attempt = Attempt(app, app.find(job["kind"]), self.context)
        self.timer: asyncio.TimerHandle | None = None
        self.expires_at = time.monotonic() + self.lease
        """When the lease is over unless it is renewed."""
        self.sent_news = self.context.news
        """The newest note and progress that the server has answered for."""
        self.outcome: Outcome | None = None
        """How the attempt ended; set once, on the thread of the requests."""
        self.is_refused = False
        """Whether the server refused that, and the outcome is a failure that says so."""
        self.settlement = b""
        """The report of the outcome, in JSON."""
        self.has_log = False
        """Whether the report has lines of the log."""

    @property
    def has_report(self) -> bool:
        """Whether the server has not answered for the newest progress or note."""
        return self.context.news != self.sent_news

    @property
    def has_news(self) -> bool:
        """Whether there is progress, a note or a line of the log that the server does not have."""
        return self.has_report or self.context.attempt_log.has_unsent

    def write_settlement(self) -> None:
        """Makes the report of the outcome, with the rest of the log if it fits."""
        assert self.outcome is not None
        head = f'{{"id":{json.dumps(self.id)},"fence":{self.fence},'
        self.settlement = head.encode() + self.outcome.body[1:]
        log = self.context.attempt_log.unsent(SETTLEMENT_BYTES_MAX - len(self.settlement))
        self.has_log = log is not None
        if log is not None:
            self.settlement = self.settlement[:-1] + f',"log":{to_json(log)}}}'.encode()

    def heartbeat(self, lease: float | None, log: types.LogLines | None) -> dict[str, Any]:
        """The entry of a heartbeat, with what is new."""
        entry: dict[str, Any] = {"id": self.id, "fence": self.fence}
        if log is not None:
            entry["log"] = log
        if lease is not None:
            entry["lease"] = round(lease * 1000)
        if self.has_report:
            note, percent = self.context.news
            if note is not None:
                entry["note"] = note
            if percent is not None:
                entry["progress"] = percent
        return entry


class Registry:
    """All claims that the worker holds, and those of them whose handler runs."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, int], Held] = {}
        self.running: set[Held] = set()
        self.changed = asyncio.Event()
        """Set whenever a handler has ended."""

    def add(self, held: Held) -> None:
        """A claim was answered and its handler starts."""
        self.held[held.id, held.fence] = held
        self.running.add(held)

    def end(self, held: Held) -> None:
        """Its handler has ended, or is no longer waited for."""
        self.running.discard(held)
        self.changed.set()

    def forget(self, held: Held) -> None:
        """Its report was answered, or its lease is lost."""
        self.held.pop((held.id, held.fence), None)
