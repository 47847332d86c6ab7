"""The transport of kombu: a connection to a server, for channels that share it."""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from typing import Any

from kombu.transport import base, virtual

from ..errors import ApiError, ServerUnavailable
from ..version import VERSION
from . import failures
from .address import PORT, Address, address_of_connection
from .broadcast import Broadcaster
from .channel import Channel
from .mailbox import Binding, Mailbox

_states: dict[Address, virtual.BrokerState] = {}
"""Exchanges and bindings that this process has declared, by server."""


class Transport(virtual.Transport):
    """Messages of kombu as jobs of Steadfast."""

    Channel = Channel
    default_port = PORT
    driver_type = "steadfast"
    driver_name = "steadfast"
    polling_interval = None
    connection_errors = (*virtual.Transport.connection_errors, ServerUnavailable, OSError)
    channel_errors = (*virtual.Transport.channel_errors, ApiError)
    recoverable_connection_errors = (ServerUnavailable, OSError)
    recoverable_channel_errors = ()
    implements = base.Transport.implements.extend(
        asynchronous=False,
        exchange_type=frozenset(["direct", "topic", "fanout"]),
        heartbeats=False,
    )

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        self.address = address_of_connection(client)
        self.api = self.address.client()
        self.state = _states.setdefault(self.address, virtual.BrokerState())
        self.broadcaster = Broadcaster(self.api, self.address)
        self.inbox: SimpleQueue[tuple[Any, str, dict[str, Any]]] = SimpleQueue()
        self.transient_queues: set[str] = set()
        self._mailboxes: dict[str, dict[Binding, Mailbox]] = {}
        failures.connect_signals()

    def driver_version(self) -> Any:
        """The version of this package."""
        return VERSION

    def establish_connection(self) -> Any:
        """Checks that the server answers and accepts the key."""
        self.api.request("GET", "/api/v1/queues", query={"limit": 1, **self.address.of_tenant()})
        return super().establish_connection()

    def verify_connection(self, connection: Any) -> Any:
        """Every request has its own connection, so there is none that could be lost."""
        return True

    def close_connection(self, connection: Any) -> None:
        """Closes all channels."""
        for queue in list(self._mailboxes):
            self.delete_mailboxes(queue)
        super().close_connection(connection)
        self.broadcaster.flush()

    def drain_events(self, connection: Any, timeout: float | None = None) -> None:
        """Delivers one message; raises `TimeoutError` if none comes in time."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            try:
                channel, queue, raw = self.inbox.get(timeout=left)
            except Empty:
                raise TimeoutError from None
            if queue in (self._callbacks or {}) and not channel.closed:
                self._deliver(raw, queue)
                return
            # Its consumer is gone.
            channel.keeper.deliveries.reject(raw["properties"]["delivery_tag"], requeue=True)

    # Mailboxes.

    def bind_mailbox(self, queue: str, binding: Binding) -> None:
        """Receives messages of an address from now on."""
        found = self._mailboxes.setdefault(queue, {})
        if binding not in found:
            # A queue with an exchange of its own is not addressed by its name.
            for other in [it for it in found if it.to == f"/{queue}"]:
                found.pop(other).stop()
            found[binding] = Mailbox(self.api, self.address, binding)

    def mailbox_queues(self) -> set[str]:
        """Queues that are no queues of the server."""
        return set(self._mailboxes)

    def start_mailboxes(self, channel: Any, queue: str) -> bool:
        """Delivers the messages of a queue; whether it is one for broadcasts."""
        if queue not in self._mailboxes:
            return False
        for mailbox in self._mailboxes[queue].values():
            mailbox.start(lambda raw: self.inbox.put((channel, queue, raw)))
        return True

    def catch_up(self) -> None:
        """Delivers broadcasts that were sent before now, so that no task overtakes its revoke."""
        for mailboxes in list(self._mailboxes.values()):
            for mailbox in list(mailboxes.values()):
                if mailbox.binding.has_bell:
                    mailbox.catch_up()

    def stop_mailboxes(self, queue: str) -> None:
        """Its consumer is gone."""
        for mailbox in self._mailboxes.get(queue, {}).values():
            mailbox.stop()

    def delete_mailboxes(self, queue: str) -> None:
        """The queue is gone."""
        self.stop_mailboxes(queue)
        self._mailboxes.pop(queue, None)
        self.transient_queues.discard(queue)
