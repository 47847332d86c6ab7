"""The transport and the result backend of Celery, with real workers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from steadfast.testing import Server

pytest.importorskip(
    "celery", reason="Celery is not installed: pip install 'steadfast-jobs[celery]'"
)

from steadfast.celery import content
from steadfast.celery.address import address_of_url
from steadfast.celery.messages import ETA_LEAD

PACKAGE = Path(__file__).resolve().parent.parent
TIMEOUT = 30


@pytest.fixture(scope="module")
def tasks(running_server: Server) -> Iterator[Any]:
    os.environ["CELERY_SITE_URL"] = running_server.url
    from tests.celery_site import tasks

    yield tasks
    del os.environ["CELERY_SITE_URL"]
    tasks.app.close()
    address_of_url(tasks.URL).client().close()


class CeleryWorker:
    """A worker in a process of its own."""

    def __init__(self, queue: str, *arguments: str) -> None:
        self.name = f"{queue}@test"
        command = [sys.executable, "-m", "celery", "-A", "tests.celery_site.tasks", "worker"]
        options = ["-Q", queue, "-n", self.name, "-c", "2", *arguments]
        self.process = subprocess.Popen(
            [*command, *options],
            cwd=PACKAGE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def kill(self) -> None:
        # Pool processes outlive a worker that was killed.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate(timeout=TIMEOUT)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        error = self.process.communicate(timeout=TIMEOUT)[1]
        assert self.process.returncode == 0, error


StartCelery = Callable[..., CeleryWorker]


@pytest.fixture
def start_celery(tasks: Any) -> Iterator[StartCelery]:
    started: list[CeleryWorker] = []

    def start(queue: str, *arguments: str) -> CeleryWorker:
        worker = CeleryWorker(queue, *arguments)
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.kill()


@pytest.fixture(scope="module")
def worker(tasks: Any) -> Iterator[CeleryWorker]:
    worker = CeleryWorker("site", "-E")
    assert tasks.add.delay(1, 1).get(timeout=TIMEOUT) == 2
    yield worker
    worker.stop()


def jobs_of(server: Server, result: Any, count: int, label: str) -> list[Any]:
    """The jobs of a task, as soon as so many have the label."""
    end = time.monotonic() + TIMEOUT
    while True:
        jobs = server.client.list_jobs(tag=[f"celery-task:{result.id}"])["jobs"]
        if sum(job["label"] == label for job in jobs) >= count or time.monotonic() > end:
            assert sum(job["label"] == label for job in jobs) == count, jobs
            return list(jobs)
        time.sleep(0.05)


def test_a_task_is_a_job_of_its_name(
    running_server: Server, tasks: Any, worker: CeleryWorker
) -> None:
    result = tasks.add.apply_async((2, 3), priority=7)
    assert result.get(timeout=TIMEOUT) == 5
    [job] = jobs_of(running_server, result, 1, "succeeded")
    assert (job["kind"], job["queue"], job["priority"]) == (
        "tests.celery_site.tasks.add",
        "site",
        7,
    )


def test_a_failed_task_is_a_failed_job_with_class_and_message(
    running_server: Server, tasks: Any, worker: CeleryWorker
) -> None:
    result = tasks.fail.delay("no such order")
    with pytest.raises(LookupError, match="no such order"):
        result.get(timeout=TIMEOUT)
    [job] = jobs_of(running_server, result, 1, "failed")
    assert (job["failure"]["class"], job["failure"]["message"]) == ("LookupError", "no such order")
    assert job["attempt"] == 1
    [attempt] = running_server.client.list_attempts(job["id"])["attempts"]
    assert "in fail" in str(attempt["failure"])


def test_each_retry_of_a_task_is_a_job_with_the_same_tag(
    running_server: Server, tasks: Any, worker: CeleryWorker
) -> None:
    result = tasks.retry_once.delay()
    assert result.get(timeout=TIMEOUT) == 1
    assert len(jobs_of(running_server, result, 2, "succeeded")) == 2


def test_a_full_queue_refuses_new_tasks_and_no_retries(
    running_server: Server, tasks: Any, worker: CeleryWorker
) -> None:
    client = running_server.client
    client.pause_queue("site", {})
    result = tasks.retry_once.delay()
    waiting = tasks.add.apply_async((1, 2), countdown=3600)
    client.set_gate("queue", "site", {"maxWaiting": 1})
    try:
        client.resume_queue("site")
        assert result.get(timeout=TIMEOUT) == 1
        assert len(jobs_of(running_server, result, 2, "succeeded")) == 2
    finally:
        client.delete_gate("queue", "site")
        [job] = jobs_of(running_server, waiting, 1, "scheduled")
        client.cancel_job(job["id"])


def test_a_task_with_eta_waits_in_the_store(
    running_server: Server, tasks: Any, worker: CeleryWorker
) -> None:
    eta = datetime.now(timezone.utc) + timedelta(seconds=2)
    result = tasks.eta_of.apply_async(eta=eta)
    [job] = jobs_of(running_server, result, 1, "scheduled")
    assert datetime.fromisoformat(job["runAt"].replace("Z", "+00:00")) == eta - ETA_LEAD
    assert result.get(timeout=TIMEOUT) >= eta.timestamp()


def test_a_chord_counts_each_task_once(tasks: Any, worker: CeleryWorker) -> None:
    from celery import chord

    header = [tasks.add.s(number, number) for number in range(12)]
    result: Any = chord(header)(tasks.total.s())
    assert result.get(timeout=TIMEOUT) == 132


def test_a_part_that_runs_again_keeps_its_number(tasks: Any) -> None:
    documents = tasks.app.backend._documents
    numbers = [documents.number("chord-1", part, 60)[0] for part in ("a", "b", "a", "c", "b")]
    assert numbers == [1, 2, 1, 3, 2]


def test_concurrent_parts_get_different_numbers(tasks: Any) -> None:
    documents = tasks.app.backend._documents
    found: list[int] = []
    threads = [
        threading.Thread(
            target=lambda part=part: found.append(documents.number("chord-2", part, 60)[0])
        )
        for part in "abcdefgh"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 9))


def test_remote_control_reaches_a_worker(tasks: Any, worker: CeleryWorker) -> None:
    replies = tasks.app.control.ping(destination=[worker.name], timeout=TIMEOUT)
    assert replies == [{worker.name: {"ok": "pong"}}]
    stats = tasks.app.control.inspect([worker.name], timeout=TIMEOUT).stats()
    assert list(stats) == [worker.name]


def test_a_revoked_task_does_not_run(tasks: Any, worker: CeleryWorker) -> None:
    from celery.exceptions import TaskRevokedError

    result = tasks.add.apply_async((1, 2), countdown=2)
    tasks.app.control.revoke(result.id, reply=True, timeout=TIMEOUT, destination=[worker.name])
    with pytest.raises(TaskRevokedError):
        result.get(timeout=TIMEOUT)


def test_a_task_does_not_overtake_its_revoke(tasks: Any) -> None:
    from kombu import Consumer, Exchange, Queue

    control = Exchange("overtaken.control", type="fanout", durable=False)
    broadcasts = Queue("overtaken.mailbox", control, auto_delete=True)
    work = Queue("overtaken", Exchange("overtaken"), routing_key="overtaken")
    arrived: list[int] = []

    def on_message(body: Any, message: Any) -> None:
        arrived.append(body)
        message.ack()

    with tasks.app.connection() as connection, tasks.app.connection() as other:
        producer = other.Producer()
        with Consumer(connection, [broadcasts, work], callbacks=[on_message]):
            for number in range(20):
                producer.publish(2 * number, exchange=control, declare=[control])
                producer.publish(2 * number + 1, routing_key="overtaken", declare=[work])
                while len(arrived) < 2 * (number + 1):
                    connection.drain_events(timeout=TIMEOUT)
    assert arrived == list(range(40))


def test_a_monitor_receives_events(tasks: Any, worker: CeleryWorker) -> None:
    seen = threading.Event()

    def monitor() -> None:
        handlers = {"task-succeeded": lambda _: seen.set()}
        with tasks.app.connection() as connection:
            receiver = tasks.app.events.Receiver(connection, handlers=handlers)
            while not seen.is_set():
                with contextlib.suppress(TimeoutError):
                    receiver.capture(limit=100, timeout=1, wakeup=False)

    thread = threading.Thread(target=monitor)
    thread.start()
    end = time.monotonic() + TIMEOUT
    while not seen.wait(0.5) and time.monotonic() < end:
        tasks.add.delay(1, 2).get(timeout=TIMEOUT)
    is_seen = seen.is_set()
    seen.set()
    thread.join()
    assert is_seen


def test_a_late_acknowledged_task_of_a_dead_worker_runs_again(
    running_server: Server, tasks: Any, start_celery: StartCelery, queue: str, tmp_path: Path
) -> None:
    start_celery(queue)
    marker = tmp_path / "ran"
    result = tasks.stop_worker_once.apply_async((str(marker),), queue=queue)
    wait_until(marker.exists)
    start_celery(queue)
    assert result.get(timeout=TIMEOUT) == "ran again"
    [job] = jobs_of(running_server, result, 1, "succeeded")
    assert job["attempt"] == 2


def test_an_early_acknowledged_task_of_a_dead_worker_is_a_dead_letter(
    running_server: Server, tasks: Any, start_celery: StartCelery, queue: str
) -> None:
    first = start_celery(queue)
    result = tasks.sleep_early.apply_async((60,), queue=queue)
    [job] = jobs_of(running_server, result, 1, "running")
    wait_until(lambda: running_server.client.get_job(job["id"]).get("note"))
    first.kill()
    start_celery(queue)
    [job] = jobs_of(running_server, result, 1, "failed")
    assert job["failure"]["class"] == "WorkerLostError"


def test_a_task_that_outlasts_its_lease_runs_once(
    running_server: Server, tasks: Any, worker: CeleryWorker
) -> None:
    result = tasks.sleep_late.delay(5)
    assert result.get(timeout=TIMEOUT) == "slept"
    [job] = jobs_of(running_server, result, 1, "succeeded")
    assert job["attempt"] == 1


def test_a_stopped_worker_gives_back_the_tasks_it_has_not_begun(
    running_server: Server, tasks: Any, start_celery: StartCelery, queue: str
) -> None:
    first = start_celery(queue, "--prefetch-multiplier", "4")
    long = [tasks.sleep_late.apply_async((1,), queue=queue) for _ in range(6)]
    wait_until(lambda: long[0].ready())
    first.stop()
    start_celery(queue)
    assert [result.get(timeout=TIMEOUT) for result in long] == ["slept"] * 6
    jobs = [job for result in long for job in jobs_of(running_server, result, 1, "succeeded")]
    assert {job["attempt"] for job in jobs} == {1}


def test_only_queues_of_a_worker_are_consumed(
    running_server: Server, tasks: Any, worker: CeleryWorker
) -> None:
    result = tasks.routed.delay()
    [job] = jobs_of(running_server, result, 1, "ready")
    assert job["queue"] == "routed"
    control = tasks.app.control
    control.add_consumer("routed", destination=[worker.name], reply=True, timeout=TIMEOUT)
    assert result.get(timeout=TIMEOUT) == "from another queue"


@pytest.mark.parametrize("value", ["short", "long " * 100_000, b"\xff\x00", b"\xff" * 500_000])
def test_content_survives_its_encoding(value: str | bytes) -> None:
    text, encoding = content.encode(value)
    assert content.decode(text, encoding) == value
    assert len(text) < 100_000


def test_a_long_argument_and_a_long_result_are_compressed(tasks: Any, worker: CeleryWorker) -> None:
    text = "a long text " * 50_000
    assert tasks.echo.delay(text).get(timeout=TIMEOUT) == text


def test_a_success_stays_when_the_task_runs_again_and_fails(tasks: Any) -> None:
    backend = tasks.app.backend
    backend.store_result("again", 1, "SUCCESS")
    backend.store_result("again", LookupError("no"), "FAILURE")
    assert backend.get_state("again") == "SUCCESS"
    backend.forget("again")
    assert tasks.app.AsyncResult("again").state == "PENDING"


def wait_until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
