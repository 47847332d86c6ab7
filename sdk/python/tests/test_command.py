"""The command line, the README and the package itself, as a user would run them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from steadfast import Steadfast
from steadfast.testing import Server

PACKAGE = Path(__file__).resolve().parent.parent
JOBS = """
from steadfast import Steadfast
app = Steadfast()
@app.job(queue="{queue}")
def work() -> None: ...
"""


def start(directory: Path, server: Server, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=directory,
        env={**os.environ, "STEADFAST_URL": server.url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while process.poll() is None:
        if is_so():
            return
    pytest.fail(f"the process has ended: {process.communicate()}")


def test_the_lines_at_the_top_of_the_readme_work(tmp_path: Path, running_server: Server) -> None:
    block = re.search(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    assert block
    lines = [line for line in block[1].splitlines() if line.strip()]
    assert len(lines) <= 20
    (tmp_path / "jobs.py").write_text(block[1])
    process = start(tmp_path, running_server, "-u", "jobs.py")
    assert process.stdout
    job = process.stdout.readline().strip()
    client = running_server.client
    wait_until(lambda: client.get_job(job)["label"] == "succeeded", process)
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert client.list_attempts(job)["attempts"][0].get("result") == "Hello, Ada!"


def test_the_command_runs_an_application(tmp_path: Path, live_app: Steadfast, queue: str) -> None:
    (tmp_path / "shop.py").write_text(JOBS.format(queue=queue))
    server = Server(live_app.client.settings.url)
    process = start(
        tmp_path, server, "-m", "steadfast.command", "shop:app", "--queue", queue, "--grace", "1s"
    )
    job = live_app.create_job({"kind": "work", "queue": queue})["id"]
    wait_until(lambda: live_app.client.get_job(job)["label"] == "succeeded", process)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "has stopped" in output[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere:app"], "No module named 'nowhere'"),
        (["shop:other"], "has no attribute 'other'"),
        (["shop:work"], "is a JobDefinition, not an application"),
        (["shop:app", "--concurrency", "0"], "must be at least 1"),
        (["shop:app", "--grace", "soon"], "write it as 30s, 5m or 1h30m"),
    ],
)
def test_mistakes_are_named(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from steadfast.command import main

    (tmp_path / "shop.py").write_text(JOBS.format(queue="q"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("steadfast-worker: ")
    assert message in error


def test_generated_files_fit_the_api() -> None:
    result = subprocess.run(
        [sys.executable, PACKAGE / "scripts" / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
