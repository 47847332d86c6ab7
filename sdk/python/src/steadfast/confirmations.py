"""What a `confirm` function says about the last attempt of its job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Confirmation:
    """Whether the last attempt of a job took effect: `done(…)`, `NOT_DONE` or `UNKNOWN`."""

    answer: Literal["done", "not_done", "unknown"]
    result: Any = None
    """The result of the job, if it is done."""


def done(result: Any = None) -> Confirmation:
    """The attempt took effect: the job succeeds with this result."""
    return Confirmation("done", result)


NOT_DONE = Confirmation("not_done")
"""The attempt took no effect: the retry policy decides what follows."""
UNKNOWN = Confirmation("unknown")
"""Nobody knows yet: the question is repeated later."""
