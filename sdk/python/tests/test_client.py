"""Requests: what is repeated, and how refusals are reported."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from steadfast import (
    ApiError,
    AsyncClient,
    CertificateNotTrusted,
    Client,
    ServerUnavailable,
    Steadfast,
    SteadfastError,
)
from steadfast.backoff import Backoff
from steadfast.client import Call
from steadfast.http import NotConnected
from steadfast.testing import Server

from .scripted import ScriptedServer

OK = b'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{"jobs": []}'
JOB = b'HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{"id": "job_1"}'
BUSY = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nretry-after: 1\r\n\r\n"
CUT = b""


@contextmanager
def fast_backoff(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(Backoff, "pause", lambda self, asked=0: 0.0)
        yield


def test_a_read_is_repeated_and_a_write_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with fast_backoff(monkeypatch):
        script = ScriptedServer([CUT, BUSY, OK])
        with Client(script.url) as client:
            assert client.list_jobs() == {"jobs": []}
        assert len(script.requests) == 3

        script = ScriptedServer([CUT, OK])
        with Client(script.url) as client, pytest.raises(ServerUnavailable):
            client.create_job({"kind": "a"})
        assert len(script.requests) == 1

        # 503 says that it was not done, and a key makes it harmless to do it twice.
        script = ScriptedServer([BUSY, OK])
        with Client(script.url) as client:
            client.create_job({"kind": "a"})
        # An answer without a job is no answer.
        script = ScriptedServer([CUT, OK, JOB])
        app = Steadfast(script.url)
        assert app.create_job({"kind": "a", "idempotencyKey": "one"})["id"] == "job_1"
        app.client.close()
        assert len(script.requests) == 3


async def test_the_same_without_blocking(monkeypatch: pytest.MonkeyPatch) -> None:
    with fast_backoff(monkeypatch):
        script = ScriptedServer([CUT, BUSY, OK])
        async with AsyncClient(script.url) as client:
            assert await client.list_jobs() == {"jobs": []}
        script = ScriptedServer([CUT, OK])
        async with AsyncClient(script.url) as client:
            with pytest.raises(ServerUnavailable):
                await client.create_job({"kind": "a"})


def test_a_server_that_is_not_there_is_reported_after_a_few_tries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        fast_backoff(monkeypatch),
        pytest.raises(ServerUnavailable, match=r"no answer from http://127\.0\.0\.1:1: "),
    ):
        Client("http://127.0.0.1:1").create_job({"kind": "a"})


def test_a_refusal_names_the_field(live_app: Steadfast) -> None:
    with pytest.raises(ApiError) as error:
        live_app.client.create_job({"kind": "a", "priority": 10})
    assert (error.value.status, error.value.field) == (422, "priority")
    with pytest.raises(ApiError) as error:
        live_app.client.get_job("job_none")
    assert error.value.status in (404, 422)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEADFAST_URL", "http://example.com:80/")
    monkeypatch.setenv("STEADFAST_API_KEY", "secret")
    settings = Client().settings
    assert settings.url == "http://example.com:80"
    assert settings.headers()["authorization"] == "Bearer secret"
    assert Client("http://other").settings.url == "http://other"
    monkeypatch.setenv("STEADFAST_API_KEY", "")
    assert "authorization" not in Client().settings.headers()


def test_the_rest_of_the_api_is_there(live_app: Steadfast, queue: str) -> None:
    @live_app.job(queue=queue)
    def report(day: str) -> None: ...

    client = live_app.client
    schedule = client.create_schedule(
        {"name": queue, "schedule": "0 3 * * *", "job": report.request("today")}
    )
    assert schedule["job"]["kind"] == "report"
    client.pause_schedule(schedule["id"])
    client.delete_schedule(schedule["id"])
    report.enqueue("today")
    assert [job["kind"] for job in client.list_jobs(queue=queue, label="ready")["jobs"]] == [
        "report"
    ]
    client.pause_queue(queue)
    assert [one["paused"] for one in client.list_queues()["queues"] if one["name"] == queue] == [
        True
    ]
    gate = client.set_gate("queue", queue, {"maxRunning": 5})
    assert gate.get("maxRunning") == 5
    client.delete_gate("queue", queue)
    keyed = report.using(concurrency_key="c-1", destination="https://api.example.com")
    job = keyed.enqueue("tomorrow").job
    assert job.get("concurrencyKey") == "c-1"
    assert job.get("destination") == "https://api.example.com"
    assert client.preview_policy({"retry": "patient"})["retry"]["maxRetries"] == 3
    assert client.get_stats()["ready"] >= 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_process_has_connections_of_its_own(live_app: Steadfast) -> None:
    live_app.client.get_stats()
    parent = live_app.client._idle[0]  # pyright: ignore[reportPrivateUsage]
    child = os.fork()
    if child == 0:
        live_app.client.get_stats()
        os._exit(0 if parent not in live_app.client._idle else 1)  # pyright: ignore[reportPrivateUsage]
    assert os.waitpid(child, 0)[1] == 0
    live_app.client.get_stats()


def test_many_threads_enqueue_at_once(live_app: Steadfast, queue: str) -> None:
    @live_app.job(queue=queue)
    def count(number: int) -> None: ...

    errors: list[BaseException] = []
    ids: set[str] = set()

    def enqueue() -> None:
        try:
            for number in range(20):
                ids.add(count.enqueue(number).id)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=enqueue) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert len(ids) == 1000


ODD = [
    b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>",
    b"HTTP/1.1 502 Bad\r\ncontent-length: 6\r\n\r\n<html>",
    b"HTTP/1.1 429 Slow\r\ncontent-length: 0\r\nretry-after: 1\r\n\r\n",
]


@pytest.mark.parametrize("answer", ODD)
def test_an_answer_of_a_proxy_is_an_error_of_this_package(
    answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fast_backoff(monkeypatch):
        script = ScriptedServer([answer] * 4)
        with Client(script.url) as client, pytest.raises(SteadfastError):
            client.list_jobs()


async def test_enqueues_of_one_moment_share_a_request(running_server: Server, queue: str) -> None:
    app = Steadfast(running_server.url)

    @app.job(queue=queue)
    async def count(number: int) -> None: ...

    sent: list[int] = []
    send = app.async_client.request

    async def request(*args: Any, **options: Any) -> Any:
        sent.append(options["body"].count(b'"kind"'))
        return await send(*args, **options)

    app.async_client.request = request  # type: ignore[method-assign]
    handles = await asyncio.gather(*(count.enqueue_async(n) for n in range(1001)))
    assert sorted(sent) == [1, 1000]
    assert [handle.job.get("payload") for handle in handles] == [{"number": n} for n in range(1001)]
    sent.clear()
    # One that is refused does not hinder the others.
    given = [count, count.using(priority=10), count]
    results = await asyncio.gather(*(one.enqueue_async(7) for one in given), return_exceptions=True)
    assert [isinstance(one, ApiError) for one in results] == [False, True, False]
    assert sent == [3, 1, 1, 1]
    await app.async_client.close()


def test_every_enqueue_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    job = b'{"id":"job_1"}'
    answer = b"HTTP/1.1 201 Created\r\ncontent-length: 14\r\n\r\n" + job
    with fast_backoff(monkeypatch):
        script = ScriptedServer([CUT, b"HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n", answer])
        app = Steadfast(script.url)
        app.job("work")(lambda: None)
        app.create_job({"kind": "work"})
        app.client.close()
    bodies = [json.loads(request.partition(b"\r\n\r\n")[2]) for request in script.requests]
    assert len(bodies) == 3
    assert bodies[0] == bodies[1] == bodies[2]
    assert len(bodies[0]["idempotencyKey"]) > 20


def test_a_certificate_that_is_not_trusted_is_reported_at_once() -> None:
    error = NotConnected("the certificate of the server is not trusted")
    error.__cause__ = ssl.SSLCertVerificationError()
    call = Call("http://here", "GET", "/", None, None, None, None, None)
    with pytest.raises(CertificateNotTrusted):
        call.pause_after_error(error)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
async def test_a_certificate_is_trusted_if_the_file_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
    for client in (Client(url), AsyncClient(url)):
        with pytest.raises(CertificateNotTrusted, match="not trusted"):
            await list_jobs(client)
    monkeypatch.setenv("STEADFAST_CA_FILE", str(certificate))
    for client in (Client(url), AsyncClient(url)):
        assert await list_jobs(client) == {"jobs": []}
    server.close()


def make_certificate(directory: Path) -> tuple[Path, Path]:
    """A key, and a certificate that no authority vouches for."""
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    names = ["-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    return key, certificate


async def list_jobs(client: Client | AsyncClient) -> Any:
    if isinstance(client, AsyncClient):
        try:
            return await client.list_jobs()
        finally:
            await client.close()
    with client:
        return await asyncio.to_thread(client.list_jobs)
