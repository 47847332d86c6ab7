"""Connections, blocking and asynchronous, against answers as servers and proxies give them."""

from __future__ import annotations

import asyncio

import pytest

from steadfast.client import Settings
from steadfast.http import AsyncConnection, BlockingConnection, Target

from .scripted import ScriptedServer


def connect(url: str, api_key: str | None = None) -> AsyncConnection:
    return AsyncConnection(Target(Settings(url, api_key)))


HEAD = b"HTTP/1.1 200 OK\r\n"
ANSWERS = [
    (HEAD + b"Content-Length: 2\r\n\r\n{}", 200, b"{}"),
    (HEAD + b"content-length:0\r\n\r\n", 200, b""),
    (HEAD + b"Transfer-Encoding: Chunked\r\n\r\n1;x=y\r\n{\r\n1\r\n}\r\n0\r\n\r\n", 200, b"{}"),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA: b\r\n\r\n", 200, b"{}"),
    (HEAD + b"Server: old\r\n\r\n{}", 200, b"{}"),
    (b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"content-length: 1\r\n\r\n1", 200, b"1"),
    (b"HTTP/1.0 503 Busy\r\nconnection: close\r\ncontent-length: 1\r\n\r\n1", 503, b"1"),
    (b"HTTP/1.1 404\r\ncontent-length: 1\r\n\r\n1", 404, b"1"),
]
BROKEN = [
    b"",
    b"HTTP/1.1 200 OK\r\n",
    b"hello\r\n\r\n",
    b"SSH-2.0-x y\r\n\r\n",
    HEAD + b"content-length: 3\r\n\r\n{}",
    HEAD + b"content-length: many\r\n\r\n{}",
    HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
    HEAD + b"transfer-encoding: chunked\r\n\r\n5\r\n{}",
    HEAD + b"a: " + b"x" * 70_000,
]


@pytest.mark.parametrize(("answer", "status", "content"), ANSWERS)
async def test_answers_are_read_however_they_are_framed(
    answer: bytes, status: int, content: bytes
) -> None:
    server = ScriptedServer([answer])
    connection = connect(f"{server.url}/below/", "key")
    assert (await connection.send("POST", "/claims", b'{"a":1}', 5))[::2] == (status, content)
    connection.close()
    head, _, body = server.requests[0].decode().partition("\r\n\r\n")
    lines = head.split("\r\n")
    assert (lines[0], body) == ("POST /below/claims HTTP/1.1", '{"a":1}')
    assert f"host: {server.url.removeprefix('http://')}" in lines
    assert "authorization: Bearer key" in lines


@pytest.mark.parametrize(("answer", "status", "content"), ANSWERS)
def test_a_blocking_connection_reads_the_same(answer: bytes, status: int, content: bytes) -> None:
    server = ScriptedServer([answer])
    connection = BlockingConnection(Target(Settings(f"{server.url}/below/", "key")))
    sent = connection.send("PUT", "/claims?a=b", b'{"a":1}', 5, {"more": "less"})
    assert sent[::2] == (status, content)
    connection.close()
    head, _, body = server.requests[0].decode().partition("\r\n\r\n")
    assert (head.split("\r\n")[0], body) == ("PUT /below/claims?a=b HTTP/1.1", '{"a":1}')
    assert "more: less" in head


@pytest.mark.parametrize("answer", BROKEN)
def test_a_blocking_connection_recovers_the_same(answer: bytes) -> None:
    server = ScriptedServer([answer, ANSWERS[0][0]])
    connection = BlockingConnection(Target(Settings(server.url)))
    with pytest.raises(OSError):
        connection.send("GET", "/", b"", 5)
    assert connection.send("GET", "/", b"", 5)[::2] == (200, b"{}")
    connection.close()


def test_a_blocking_connection_is_kept_until_the_server_closes_it() -> None:
    server = ScriptedServer([ANSWERS[0][0]] * 3, kept=True)
    connection = BlockingConnection(Target(Settings(server.url)))
    for _ in range(3):
        assert connection.send("GET", "/", b"", 5).status == 200
    assert server.connections == 1
    connection.close()

    server = ScriptedServer([ANSWERS[0][0]] * 2)
    connection = BlockingConnection(Target(Settings(server.url)))
    assert connection.send("GET", "/", b"", 5).status == 200
    server.closed.wait(5)
    assert connection.send("GET", "/", b"", 5).status == 200
    assert server.connections == 2
    connection.close()


def test_a_header_cannot_hold_another_one() -> None:
    with pytest.raises(ValueError, match="line break"):
        Target(Settings("http://127.0.0.1:1", "key\r\nx: y"))


@pytest.mark.parametrize("answer", BROKEN)
async def test_whatever_is_no_answer_is_an_error_and_the_next_request_is_not(answer: bytes) -> None:
    server = ScriptedServer([answer, ANSWERS[0][0]])
    connection = connect(server.url)
    with pytest.raises(OSError):
        await connection.send("POST", "/", b"", 5)
    assert (await connection.send("POST", "/", b"", 5))[::2] == (200, b"{}")
    connection.close()


async def test_a_connection_is_kept_and_opened_again_after_the_server_closed_it() -> None:
    server = ScriptedServer([ANSWERS[0][0]] * 3, kept=True)
    connection = connect(server.url)
    for _ in range(3):
        assert (await connection.send("POST", "/", b"x", 5))[::2] == (200, b"{}")
    assert server.connections == 1
    connection.close()

    server = ScriptedServer([ANSWERS[0][0]] * 2)
    connection = connect(server.url)
    assert (await connection.send("POST", "/", b"x", 5))[::2] == (200, b"{}")
    reader = connection._reader
    assert reader
    await reader.read()  # Until the server has closed it.
    assert (await connection.send("POST", "/", b"x", 5))[::2] == (200, b"{}")
    assert server.connections == 2
    connection.close()


async def test_a_request_is_given_up_in_time_and_can_be_ended_from_one_side() -> None:
    seen = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        seen.set()
        await reader.read()  # Until the other side is closed; what was on its way is still sent.
        writer.write(ANSWERS[0][0])
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    connection = connect(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert not connection.end_request()
    with pytest.raises(OSError, match="no answer within"):
        await connection.send("POST", "/", b"", 0.05)
    seen.clear()
    request = asyncio.create_task(connection.send("POST", "/", b"", 10))
    await seen.wait()
    assert connection.end_request()
    assert (await request)[::2] == (200, b"{}")
    connection.close()
    server.close()
    await server.wait_closed()
