"""A server that gives prepared answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence


class ScriptedServer:
    """Answers with these bytes, each on a connection of its own unless it is `kept`."""

    def __init__(self, answers: Sequence[bytes], *, kept: bool = False) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self.closed = threading.Event()
        """Set when a connection was closed from this side."""
        self._answers = list(answers)
        self._kept = kept
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with self._socket:
            while self._answers:
                connection, _ = self._socket.accept()
                self.connections += 1
                with connection:
                    self._answer(connection)
                self.closed.set()

    def _answer(self, connection: socket.socket) -> None:
        while self._answers and (request := connection.recv(65536)):
            self.requests.append(request)
            connection.sendall(self._answers.pop(0))
            if not self._kept:
                return
