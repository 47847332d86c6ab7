"""Every piece of Python in the README, in its order, with what a program around it would have."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest

from steadfast import Context, JobError, PermanentError, RetryAfter, Snooze, Steadfast
from steadfast.testing import LocalQueue, Server, in_process

from .test_webhooks import BODY, SECRET, signed

README = Path(__file__).resolve().parent.parent / "README.md"


class Readme:
    """The code blocks, which share their names as the lines of one module."""

    def __init__(self) -> None:
        self._blocks = iter(re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL))
        self.module = types.ModuleType("readme")
        self.names: dict[str, Any] = self.module.__dict__
        self.names |= {"Context": Context, "Iterator": Iterator, "time": time}

    async def run(self, beginning: str) -> dict[str, Any]:
        """Runs the next block, which has to begin like this."""
        text = next(self._blocks)
        assert text.startswith(beginning)
        code = compile(text, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        running: Any = eval(code, self.names)
        if inspect.isawaitable(running):
            await running
        return self.names

    def is_at_end(self) -> bool:
        return next(self._blocks, None) is None


@pytest.mark.asyncio
async def test_every_snippet_of_the_readme_runs(
    running_server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("STEADFAST_URL", running_server.url)
    monkeypatch.setenv("STEADFAST_WEBHOOK_SECRET", SECRET)
    caplog.set_level("INFO")
    readme = Readme()
    monkeypatch.setitem(sys.modules, "readme", readme.module)

    names = await readme.run("import logging")
    app: Steadfast = names["app"]
    names["names"] = ["a.png", "b.png"]
    await readme.run("@app.job\nasync def resize")
    worker = app.worker(queues=["mail"])
    worker.start()
    await readme.run("greeting =")
    worker.stop()
    assert worker.wait(30)
    assert names["greeting"] == "Hello, Ada!"
    await readme.run("resize.using(unique=")

    @app.job
    def ship(number: int, receipt: str) -> None: ...

    @app.job
    def report() -> None: ...

    names |= {"ship": ship, "report": report, "charge": lambda number, **_: f"receipt {number}"}
    await readme.run('@app.job(timeout="10m")\ndef order')
    await readme.run("@app.middleware\ndef measure")
    with in_process(app) as queue:
        names["order"].enqueue(7)
        await run_all(queue)
        assert [(job.kind, job.label) for job in queue.jobs] == [
            ("order", "succeeded"),
            ("ship", "succeeded"),
        ]
        assert queue.jobs[1].payload == {"number": 7, "receipt": "receipt 7"}
    assert any("took" in record.getMessage() for record in caplog.records)

    await readme.run("app.client.create_schedule")
    await readme.run("from steadfast.testing import in_process")
    names["test_welcome"]()
    await readme.run("INSTALLED_APPS")
    assert names["TASKS"]["default"]["BACKEND"] == "steadfast.django.backend.SteadfastBackend"
    fastapi = pytest.importorskip("fastapi")
    testclient = pytest.importorskip("fastapi.testclient")
    names |= {"api": fastapi.FastAPI(), "Annotated": Annotated, "Depends": fastapi.Depends}
    await readme.run("from steadfast.fastapi import webhook_event")
    client = testclient.TestClient(names["api"])
    at = int(time.time())
    assert client.post("/webhooks", content=BODY, headers=signed(BODY, at)).status_code == 200
    assert client.post("/webhooks", content=BODY, headers=signed(b"{}", at)).status_code == 401
    assert readme.is_at_end()


async def run_all(queue: LocalQueue) -> None:
    assert await queue.run_until_idle_async() > 0


def test_what_the_table_of_failures_raises_exists() -> None:
    rows = re.findall(r"^\| `(\w+\(.*?\))` \|", README.read_text(), re.MULTILINE)
    raised = [eval(row) for row in rows]
    assert {type(error) for error in raised} == {JobError, RetryAfter, PermanentError, Snooze}
