"""The backend for `django.tasks`, with a worker started by `manage.py`."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from steadfast.testing import Server

pytest.importorskip("django.tasks", reason="django.tasks needs Django 6.0, which needs Python 3.12")

PACKAGE = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def tasks(running_server: Server) -> Iterator[Any]:
    os.environ["STEADFAST_URL"] = running_server.url
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.django_site.settings"
    import django

    django.setup()
    from tests.django_site import tasks

    yield tasks
    del os.environ["STEADFAST_URL"]
    from django.tasks import task_backends

    task_backends["default"].app.client.close()


@pytest.fixture(scope="module")
def worker(tasks: Any) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "django", "steadfast_worker", "--grace", "1s"],
        cwd=PACKAGE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield
    process.send_signal(signal.SIGTERM)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 0, error


def finished(result: Any) -> Any:
    end = time.monotonic() + 30
    while not result.is_finished and time.monotonic() < end:
        result.refresh()
    return result


def test_tasks_run_and_have_results(tasks: Any, worker: None) -> None:
    result = tasks.add.enqueue(1, b=2)
    assert (result.args, result.kwargs, result.is_finished) == ([1], {"b": 2}, False)
    assert finished(result).return_value == 3
    assert result.attempts == 1
    assert result.enqueued_at <= result.started_at <= result.finished_at
    assert finished(tasks.later.enqueue("Ada")).return_value == "Hello, Ada!"
    assert tasks.add.get_result(result.id).return_value == 3


def test_a_failed_attempt_is_kept_and_the_next_one_knows(tasks: Any, worker: None) -> None:
    result = finished(tasks.second_time.enqueue(a=1))
    assert result.return_value == {"id": result.id, "a": 1}
    assert result.attempts == 2
    (error,) = result.errors
    assert error.exception_class is ConnectionError
    assert "the first attempt fails" in error.traceback


def test_the_same_without_blocking(tasks: Any, worker: None) -> None:
    from django.tasks import task_backends

    async def run() -> Any:
        result = await tasks.add.aenqueue(2, 3)
        while not result.is_finished:
            await result.arefresh()
        await task_backends["default"].app.async_client.close()
        return result.return_value

    assert asyncio.run(run()) == 5


def test_options_of_a_task_become_those_of_its_job(tasks: Any, running_server: Server) -> None:
    at = datetime(2040, 1, 1, tzinfo=timezone.utc)
    result = tasks.later.using(run_after=at).enqueue("Ada")
    job = running_server.client.get_job(result.id)
    assert (job["kind"], job["queue"]) == ("tests.django_site.tasks.later", "django")
    assert (job["priority"], job["runAt"], job["maxRetries"]) == (9, "2040-01-01T00:00:00Z", 2)


def test_priorities_and_unknown_results(tasks: Any) -> None:
    from django.tasks import task_backends
    from django.tasks.exceptions import TaskResultDoesNotExist

    from steadfast.django.backend import priority_of

    assert [priority_of(p) for p in (-100, -99, -1, 0, 1, 50, 100)] == [0, 1, 5, 5, 5, 7, 9]
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result("job_none")


def test_attempts_are_listed_in_their_order(tasks: Any, worker: None) -> None:
    result = finished(tasks.third_time.enqueue())
    assert result.return_value == "paid"
    assert [error.exception_class for error in result.errors] == [tasks.CardDeclined] * 2
    for number, error in enumerate(result.errors, start=1):
        assert f"attempt {number}" in error.traceback
    assert result.started_at < result.last_attempted_at


def test_a_failure_that_is_no_exception_can_be_looked_at(tasks: Any) -> None:
    from steadfast.django.backend import _error_of  # pyright: ignore[reportPrivateUsage]

    attempt: Any = {"failure": {"class": "timeout", "message": "it took too long"}}
    assert _error_of(attempt).exception_class is Exception


def test_a_worker_without_tasks_is_refused(tasks: Any) -> None:
    from django.core.management import CommandError, call_command
    from django.tasks import task_backends

    backend = task_backends["default"]
    known, backend.tasks = backend.tasks, {}
    try:
        with pytest.raises(CommandError, match="no task uses this backend"):
            call_command("steadfast_worker")
        backend.tasks = {f"shop.tasks.task_{n}": known[tasks.add.module_path] for n in range(101)}
        with pytest.raises(CommandError, match="a worker claims at most 100"):
            call_command("steadfast_worker")
    finally:
        backend.tasks = known


@pytest.fixture
def on_commit(tasks: Any) -> Iterator[None]:
    """The backend waits for commits."""
    from django.db import connection
    from django.tasks import task_backends

    backend = task_backends["default"]
    backend.commits_of = "default"
    yield
    backend.commits_of = None
    connection.close()


def test_a_task_is_enqueued_when_its_transaction_commits(
    tasks: Any, on_commit: None, running_server: Server
) -> None:
    from django.db import transaction as of_django

    transaction: Any = of_django

    def count() -> int:
        return len(running_server.client.list_jobs(kind=tasks.later.module_path)["jobs"])

    before = count()
    with transaction.atomic():
        committed = tasks.later.enqueue("Ada")
        with transaction.atomic():
            rolled_back = tasks.later.enqueue("Bob")
            transaction.set_rollback(True)
        assert (committed.id, committed.args, count()) == ("", ["Ada"], before)
    assert count() == before + 1
    assert running_server.client.get_job(committed.id)["payload"]["args"] == ["Ada"]
    assert rolled_back.id == ""
    # Outside a transaction at once.
    assert tasks.later.enqueue("Eve").id
    assert count() == before + 2


def test_wrong_arguments_are_refused_before_the_commit(tasks: Any, on_commit: None) -> None:
    from django.db import transaction as of_django

    transaction: Any = of_django
    with transaction.atomic(), pytest.raises(TypeError):
        tasks.later.enqueue(object())


def test_a_task_waits_for_a_commit_without_blocking(
    tasks: Any, on_commit: None, running_server: Server
) -> None:
    result = asyncio.run(tasks.later.aenqueue("Ada"))
    assert running_server.client.get_job(result.id)["payload"]["args"] == ["Ada"]


def test_the_database_of_commits_is_an_option(tasks: Any) -> None:
    from steadfast.django.backend import SteadfastBackend

    for option, database in ((True, "default"), ("other", "other"), (False, None)):
        params = {"OPTIONS": {"enqueue_on_commit": option}}
        assert SteadfastBackend("default", params).commits_of == database
