#!/usr/bin/env python3
"""Runs Celery's own integration tests with Redis and with Steadfast, and compares the results.

    STEADFAST_BIN=target/release/steadfast python3 sdk/python/scripts/celery_suite.py

Needs `redis-server` and Python 3.12 or later; installs Celery and what its tests need into
`.venv-celery`. Tests that Celery writes for Redis alone are skipped by Celery itself. A test that
passes with Redis and not with Steadfast must be in `KNOWN`, with its reason; otherwise the exit
code is 1. Arguments go to pytest, such as `-k chord`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import venv
import xml.etree.ElementTree
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

VERSION = "5.7.0"
NEEDS = [
    f"celery[auth,django,memcache,msgpack,redis,sqlalchemy,yaml]=={VERSION}",
    "azure-storage-blob",
    "gevent",
    "pydantic",
    "freezegun",
    "pytest<10",
    "pytest-celery",
    "pytest-order",
    "pytest-rerunfailures",
    "pytest-subtests",
    "pytest-timeout",
]
TEST_TIME = 300
PAIRS = [("redis", "redis"), ("steadfast", "redis"), ("steadfast", "steadfast")]
"""Broker and result backend of each run."""
PACKAGE = Path(__file__).resolve().parent.parent

KNOWN: dict[str, str] = {
    "test_canvas.test_chord.test_error_propagates_from_chord": (
        "issue 6437 of Celery: a group does not see the failure of a task before it; "
        "with Redis, Celery expects the test to fail"
    ),
    "test_inspect.test_Inspect.test_scheduled": (
        "a task with countdown waits in the store, so no worker has it to show"
    ),
    "test_tasks.test_tasks.test_expired": (
        "a worker hands tasks to its pool before a process is free, and Celery does not check "
        "again whether they have expired"
    ),
}
"""Tests that fail with Steadfast and not with Redis, with the reason."""


def main() -> int:
    binary = os.environ.get("STEADFAST_BIN") or shutil.which("steadfast")
    if not binary or not shutil.which("redis-server"):
        print("missing: " + ("redis-server" if binary else "STEADFAST_BIN"))
        return 2
    binary = str(Path(binary).resolve())
    python = make_environment(PACKAGE / ".venv-celery")
    with tempfile.TemporaryDirectory(prefix="celery-suite-") as name:
        directory = Path(name)
        source = download(python, directory)

        def run_pair(pair: tuple[str, str]) -> dict[str, str]:
            report = directory / f"{pair[0]}-{pair[1]}.xml"
            with servers(binary, directory) as urls:
                return run(python, source, urls, pair, report)

        # The tests wait most of the time.
        with ThreadPoolExecutor() as pool:
            running = [pool.submit(run_pair, pair) for pair in PAIRS]
            while left := wait(running, timeout=60).not_done:
                print(f"{len(left)} of {len(PAIRS)} runs go on", flush=True)
        runs = {pair: done.result() for pair, done in zip(PAIRS, running, strict=True)}
    return compare(runs)


def make_environment(directory: Path) -> Path:
    """The interpreter of an environment with Celery and this package."""
    python = directory / "bin" / "python"
    wanted = "\n".join(NEEDS)
    marker = directory / "wanted"
    if not marker.exists() or marker.read_text() != wanted:
        shutil.rmtree(directory, ignore_errors=True)
        venv.create(directory, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDS], check=True)
        marker.write_text(wanted)
    # Not editable: the tests of a running suite must not change with the source.
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(PACKAGE)]
    subprocess.run([str(python), *install], check=True)
    return python


def download(python: Path, directory: Path) -> Path:
    """Celery's source with its tests."""
    command = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    target = ["--dest", str(directory), f"celery=={VERSION}"]
    subprocess.run([str(python), *command, *target], check=True)
    with tarfile.open(next(directory.glob("celery-*.tar.gz"))) as archive:
        archive.extractall(directory, filter="data")
    return directory / f"celery-{VERSION}"


@contextlib.contextmanager
def servers(binary: str, directory: Path) -> Iterator[dict[str, str]]:
    """An empty Redis and an empty Steadfast; yields their URLs."""
    redis, steadfast = free_port(), free_port()
    url = f"http://127.0.0.1:{steadfast}"
    serve = [binary, "serve", "--store", "memory:", "--listen", f"127.0.0.1:{steadfast}"]
    commands: list[list[str]] = [
        ["redis-server", "--port", str(redis), "--save", "", "--appendonly", "no"],
        [*serve, "--log-level", "warn"],
    ]
    processes = [
        subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL) for command in commands
    ]
    try:
        wait_until_ready(f"{url}/readyz")
        yield {
            "redis": f"redis://127.0.0.1:{redis}/0",
            "steadfast": url.replace("http:", "steadfast:"),
            "redis port": str(redis),
        }
    finally:
        for process in processes:
            process.kill()
            process.wait()


def wait_until_ready(url: str) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(url):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def run(
    python: Path, source: Path, urls: dict[str, str], pair: tuple[str, str], report: Path
) -> dict[str, str]:
    """The outcome of each test."""
    broker, backend = pair
    # Other forms of a traceback parse the source, which fails in deep recursion.
    options = ["-q", "-p", "no:cacheprovider", "--timeout", str(TEST_TIME), "--tb", "native"]
    command = [str(python), "-m", "pytest", "t/integration", *options, f"--junitxml={report}"]
    subprocess.run(
        [*command, *sys.argv[1:]],
        cwd=source,
        env={
            **os.environ,
            # Some tests start the command `celery`.
            "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
            # As Celery's own settings for tox have it: some tests read the log.
            "WORKER_LOGLEVEL": "INFO",
            "TEST_BROKER": urls[broker],
            "TEST_BACKEND": urls[backend],
            "REDIS_HOST": "127.0.0.1",
            "REDIS_PORT": urls["redis port"],
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return outcomes(report)


def outcomes(report: Path) -> dict[str, str]:
    """Of each test in a report: passed, failed or skipped. Subtests count with their test."""
    found: dict[str, str] = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        if not case.get("name"):
            continue  # A crash of pytest itself.
        name = f"{case.get('classname', '').removeprefix('t.integration.')}.{case.get('name')}"
        kinds = {child.tag for child in case}
        outcome = "skipped" if "skipped" in kinds else "passed"
        for child in case:
            if child.tag in ("failure", "error"):
                lines = child.get("message", "").splitlines() or [""]
                print(f"{report.stem}: {name}: {lines[0][:200]}", flush=True)
        if kinds & {"failure", "error"} or found.get(name) == "failed":
            outcome = "failed"
        found[name] = outcome
    return found


def compare(runs: dict[tuple[str, str], dict[str, str]]) -> int:
    """Prints the counts and each test that Steadfast fails."""
    print("\n| broker | backend | passed | failed | skipped or expected to fail |")
    print("|---|---|---|---|---|")
    for (broker, backend), found in runs.items():
        counts = [sum(it == kind for it in found.values()) for kind in OUTCOMES]
        print(f"| {broker} | {backend} | " + " | ".join(map(str, counts)) + " |")
        for kind, count in zip(OUTCOMES, counts, strict=True):
            tell(f"{broker} as broker, {backend} as result backend: {kind}", count)
    unknown = 0
    with_redis = runs["redis", "redis"]
    for (broker, backend), found in runs.items():
        for name in sorted(it for it, outcome in found.items() if outcome == "failed"):
            if broker == "redis":
                reason = "with Redis"
            elif with_redis.get(name) == "failed":
                reason = "fails with Redis, too"
            elif name in KNOWN:
                reason = KNOWN[name]
            else:
                reason = "passes with Redis"
                unknown += 1
            print(f"failed ({broker}, {backend}): {name}: {reason}")
    return 1 if unknown else 0


OUTCOMES = ("passed", "failed", "skipped")


def tell(figure: str, count: int) -> None:
    """For `cargo xtask prove`."""
    if report := os.environ.get("STEADFAST_PROVE_REPORT"):
        with open(report, "a") as file:
            file.write(f"doors: Celery's own tests\t{figure}\t{count}\n")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
