"""Tests of jobs: in process without a server, or with a server whose clock stands still.

with in_process(app) as queue:          with server() as steadfast:
    welcome.enqueue("ada")                  app = make_app(steadfast.url)
    queue.run_until_idle()                  steadfast.advance("3s")
"""

from .in_process import LocalJob, LocalQueue, in_process
from .server import Server, server

__all__ = ["LocalJob", "LocalQueue", "Server", "in_process", "server"]
