"""A worker: claims jobs, runs their handlers, reports how they ended.

All requests are made on one thread with an event loop of its own, which runs no code of
handlers: a handler that blocks can hold up neither heartbeats nor reports. The parts on it:

- `claimer` asks for as many jobs as there are free slots;
- `heartbeats` renews the leases of all claims in one request;
- `settler` reports outcomes in batches, and again if an answer was lost.

Handlers run elsewhere (`runner`): `def` in threads, `async def` in one more event loop.
"""

from .worker import Worker, WorkerOptions

__all__ = ["Worker", "WorkerOptions"]
