"""Pauses between tries while the server is away."""

from __future__ import annotations

import random

FIRST = 0.1
LONGEST = 5.0


class Backoff:
    """Pauses of 0.1 s to 5 s, doubled each time, each spread over its upper half.

    Without the spread, all workers of a server that was away would come back at the same moment.
    """

    def __init__(self) -> None:
        self._next = FIRST

    def pause(self, asked: float = 0) -> float:
        """How long to wait now: at least what the server asks for, up to the longest pause."""
        pause = self._next * random.uniform(0.5, 1.0)
        self._next = min(self._next * 2, LONGEST)
        return max(pause, min(asked, LONGEST))

    def reset(self) -> None:
        """The server has answered."""
        self._next = FIRST
