"""Tasks, with the server that `CELERY_SITE_URL` names as broker and result backend."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from celery import Celery

URL = os.environ["CELERY_SITE_URL"].replace("http:", "steadfast:")

app = Celery("site", broker=URL, backend=URL)
app.conf.update(
    task_default_queue="site",
    task_routes={"tests.celery_site.tasks.routed": {"queue": "routed"}},
    worker_prefetch_multiplier=1,
    broker_transport_options={"lease": 2},
    broker_connection_retry_on_startup=True,
)


@app.task
def add(a: int, b: int) -> int:
    return a + b


@app.task
def total(numbers: list[int]) -> int:
    return sum(numbers)


@app.task
def fail(text: str) -> None:
    raise LookupError(text)


@app.task(bind=True, max_retries=1)
def retry_once(self: Any) -> int:
    if self.request.retries == 0:
        raise self.retry(countdown=0.1)
    return int(self.request.retries)


@app.task
def echo(value: str) -> str:
    return value


@app.task
def routed() -> str:
    return "from another queue"


@app.task
def eta_of() -> float:
    return time.time()


@app.task(acks_late=True)
def sleep_late(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


@app.task
def sleep_early(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


@app.task(acks_late=True)
def stop_worker_once(path: str) -> str:
    """Kills its worker the first time."""
    if os.path.exists(path):
        return "ran again"
    with open(path, "w"):
        os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"
