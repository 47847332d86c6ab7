"""Content of messages and results as text of JSON: readable if it is short, compressed if long.

The server takes payloads of 256 KiB by default, and a canvas of a thousand tasks is longer. Its
JSON repeats itself, so that compression makes it several times shorter.
"""

from __future__ import annotations

import base64
import zlib

LONG = 64 * 1024
UTF8, BASE64, ZLIB_TEXT, ZLIB = "utf-8", "base64", "zlib-utf-8", "zlib"


def encode(content: str | bytes) -> tuple[str, str]:
    """The content as text, and the name of its encoding."""
    if isinstance(content, str):
        if len(content) <= LONG:
            return content, UTF8
        return _compress(content.encode()), ZLIB_TEXT
    if len(content) <= LONG:
        return base64.b64encode(content).decode(), BASE64
    return _compress(content), ZLIB


def decode(text: str, encoding: str | None) -> str | bytes:
    """The content again."""
    if encoding == BASE64:
        return base64.b64decode(text)
    if encoding == ZLIB:
        return zlib.decompress(base64.b64decode(text))
    if encoding == ZLIB_TEXT:
        return zlib.decompress(base64.b64decode(text)).decode()
    return text


def _compress(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()
