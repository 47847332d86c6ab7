"""A channel of kombu: publishes messages as jobs, and receives claimed jobs as messages."""

from __future__ import annotations

import logging
from queue import Empty
from typing import Any

from kombu.transport import virtual

from ..errors import SteadfastError
from . import content, failures
from .broadcast import Broadcaster
from .claimer import UNLIMITED, Claimer
from .held import ACKNOWLEDGED, Held
from .keeper import Keeper
from .mailbox import Binding
from .messages import delivery_tag_of, job_of, message_of, plain
from .retries import send_with_end

log = logging.getLogger("steadfast.celery")

TRANSIENT = 1
"""The delivery mode of a message that need not survive."""
CLOSE_TIME = 5.0
NOT_A_MESSAGE = {
    "class": "ValidationError",
    "message": "the payload is not a message of Celery; it needs a worker of another kind",
    "permanent": True,
}
WORKER_LOST = {
    "class": "WorkerLostError",
    "message": "the worker died after it had acknowledged the task; with acks_late it would be run "
    "again",
    "permanent": True,
}


class QoS(virtual.QoS):
    """The prefetch limit of a channel. Deliveries are counted by its keeper."""

    restore_at_shutdown = False

    def can_consume(self) -> bool:
        """Messages are claimed only while there is room, so all of them can be delivered."""
        return True

    def ack(self, delivery_tag: Any) -> None:
        """The message was processed, or its task begins."""
        self.channel.keeper.deliveries.acknowledge(delivery_tag)
        super().ack(delivery_tag)

    def reject(self, delivery_tag: Any, requeue: bool = False) -> None:
        """The message goes back to its queue, or becomes a dead letter."""
        self.channel.keeper.deliveries.reject(delivery_tag, requeue)
        super().ack(delivery_tag)

    def restore_unacked(self) -> list[Any]:
        """Gives back all messages that were not acknowledged."""
        for tag in list(self._delivered or ()):
            super().ack(tag)
        self._flush()
        self.channel.keeper.deliveries.release_undelivered()
        return []


class Channel(virtual.Channel):
    """A channel. Its threads start with the first consumer of a queue of tasks."""

    QoS = QoS
    supports_fanout = True
    from_transport_options = (*virtual.Channel.from_transport_options, "lease", "max_redeliveries")
    lease = 30.0
    """Seconds after which the task of a dead worker is run again."""
    max_redeliveries = 10
    """How often that happens before the job becomes a dead letter."""

    def __init__(self, connection: Any, **kwargs: Any) -> None:
        super().__init__(connection, **kwargs)
        address = connection.address
        self.client = connection.api
        self.keeper = Keeper(self.client, self.lease, self._on_room)
        failures.watch(self.keeper.deliveries)
        self.claimer = Claimer(address, self.lease, self._room, self._on_claims)

    # Publishing.

    def basic_publish(
        self, message: Any, exchange: str | None, routing_key: str | None, **kwargs: Any
    ) -> None:
        """Stores a message in the queues that its exchange is bound to."""
        self._inplace_augment_message(message, exchange or "", routing_key or "")
        message = plain(message)
        broadcaster: Broadcaster = self.connection.broadcaster
        if not exchange:
            is_task = "task" in message["headers"]
            if message["properties"].get("delivery_mode") == TRANSIENT and not is_task:
                broadcaster.send(f"/{routing_key}", message)
            else:
                self._put(routing_key or "", message)
            return
        kind = self.typeof(exchange).type
        queues: list[Any] = []
        if not self._is_transient(exchange):
            queues = self._lookup(exchange, routing_key)
        for queue in queues:
            self._put(queue, message)
        if kind == "fanout":
            broadcaster.send(exchange, message)
        elif kind == "topic":
            broadcaster.send_soon(exchange, message)
        elif self._is_transient(exchange):
            broadcaster.send(f"{exchange}/{routing_key}", message)
        elif not queues:
            raise ValueError(
                f"no queue is bound to exchange {exchange!r} with routing key {routing_key!r}; "
                "declare it in task_queues"
            )

    def encode_body(self, body: Any, encoding: str | None = None) -> tuple[Any, str]:
        """The body as text, and the name of its encoding."""
        return content.encode(body)

    def decode_body(self, body: Any, encoding: str | None = None) -> Any:
        """The body as it was published."""
        return content.decode(body, encoding)

    def _put(self, queue: str, message: Any, **kwargs: Any) -> None:
        job = job_of(message, queue, self.max_redeliveries)
        job |= self.connection.address.of_tenant()
        if send_with_end(self.client, message, job):
            return
        # One message in two queues is two jobs.
        job["idempotencyKey"] = f"{job['idempotencyKey']}:{queue}"
        self.client.request("POST", "/api/v1/jobs", body=job, is_repeatable=True)

    # Queues.

    def queue_declare(self, queue: str | None = None, passive: bool = False, **kwargs: Any) -> Any:
        """A queue of the server needs no declaration; one for broadcasts is remembered."""
        declared = super().queue_declare(queue=queue, passive=passive, **kwargs)
        if kwargs.get("auto_delete") or kwargs.get("exclusive"):
            self.connection.transient_queues.add(declared.queue)
            self.connection.bind_mailbox(declared.queue, Binding(f"/{declared.queue}"))
        return declared

    def queue_bind(
        self,
        queue: str,
        exchange: str | None = None,
        routing_key: str = "",
        arguments: Any = None,
        **kwargs: Any,
    ) -> None:
        """Routes messages of an exchange to a queue, for senders in this process."""
        name = exchange or "amq.direct"
        if queue not in self.connection.transient_queues and not self._is_transient(name):
            super().queue_bind(queue, exchange, routing_key, arguments, **kwargs)
            return
        kind = self.typeof(name).type
        if kind == "fanout":
            binding = Binding(name, has_bell=True)
        elif kind == "topic":
            binding = Binding(name, needs_subscription=True)
        else:
            binding = Binding(f"{name}/{routing_key}")
        self.connection.bind_mailbox(queue, binding)

    def queue_delete(
        self, queue: str, if_unused: bool = False, if_empty: bool = False, **kwargs: Any
    ) -> None:
        """Forgets a queue. Jobs of a queue stay until they are purged."""
        self.connection.delete_mailboxes(queue)
        self.state.queue_bindings_delete(queue)

    def _is_transient(self, exchange: str) -> bool:
        return not self.state.exchanges.get(exchange, {}).get("durable", True)

    def _queue_bind(self, *args: Any) -> None:
        """Bindings are kept by the process that sends."""

    def _purge(self, queue: str) -> int:
        """Cancels the jobs of a queue that wait."""
        count = 0
        for label in ("ready", "scheduled"):
            body = {"kind": "cancel", "filter": {"queue": queue, "label": label}}
            body |= self.connection.address.of_tenant()
            operation = self.client.request("POST", "/api/v1/operations", body=body)
            count += operation.get("total") or 0
        return count

    # Consuming.

    def basic_consume(
        self, queue: str, no_ack: bool, callback: Any, consumer_tag: str, **kwargs: Any
    ) -> None:
        """Delivers messages of a queue to a callback."""

        def receive(message: Any) -> Any:
            if no_ack:
                self.keeper.deliveries.acknowledge(message.delivery_tag)
            return callback(message)

        super().basic_consume(queue, no_ack, receive, consumer_tag, **kwargs)
        if not self.connection.start_mailboxes(self, queue):
            self._set_queues()

    def basic_cancel(self, consumer_tag: str) -> None:
        """Delivers no more messages to a consumer."""
        queue = self._tag_to_queue.get(consumer_tag)
        super().basic_cancel(consumer_tag)
        if queue is not None:
            self.connection.stop_mailboxes(queue)
            self._set_queues()

    def basic_get(self, queue: str, no_ack: bool = False, **kwargs: Any) -> Any:
        """A message that is there now, or `None`."""
        claim = self.claimer.claim_one(queue)
        raw = None if claim is None else self._hold(claim)
        if raw is None:
            return None
        message = self.Message(raw, channel=self)
        if no_ack:
            self.keeper.deliveries.acknowledge(str(message.delivery_tag))
        else:
            self.qos.append(message, message.delivery_tag)
        return message

    def basic_qos(
        self, prefetch_size: int = 0, prefetch_count: int = 0, apply_global: bool = False
    ) -> None:
        """Sets how many messages may be held without being acknowledged."""
        super().basic_qos(prefetch_size, prefetch_count, apply_global)
        self._on_room()

    def drain_events(self, timeout: float | None = None, callback: Any = None) -> None:
        """Messages come through the connection."""
        raise Empty

    def close(self) -> None:
        """Gives back messages that were not acknowledged."""
        if not self.closed:
            self.claimer.stop()
            super().close()
            self.keeper.close(CLOSE_TIME)

    def _set_queues(self) -> None:
        transient = self.connection.mailbox_queues()
        self.claimer.set_queues(
            sorted({queue for queue in self._active_queues if queue not in transient})
        )

    def _room(self) -> int:
        limit = self.qos.prefetch_count or UNLIMITED
        return int(limit) - self.keeper.deliveries.count_unacknowledged()

    def _on_room(self) -> None:
        self.claimer.notify()

    def _on_claims(self, claims: list[Any]) -> None:
        """On the claimer's thread."""
        held = [(claim["job"]["queue"], self._hold(claim)) for claim in claims]
        connection = self.connection
        if connection is not None:
            try:
                connection.catch_up()
            except Exception as error:  # The tasks are claimed, and must start nevertheless.
                log.warning("remote control may come late: %s", error)
        for queue, raw in held:
            if raw is None:
                continue
            if self.closed or connection is None:
                self.keeper.deliveries.reject(raw["properties"]["delivery_tag"], requeue=True)
            else:
                connection.inbox.put((self, queue, raw))

    def _hold(self, claim: Any) -> dict[str, Any] | None:
        """The message of a claimed job, which its keeper holds from now on."""
        job = claim["job"]
        tag = delivery_tag_of(claim["id"], claim["fence"])
        raw = message_of(claim)
        headers = (raw or {}).get("headers") or {}
        held = Held(claim, headers.get("id"), job["queue"])
        failure = NOT_A_MESSAGE if raw is None else self._failure_before(job)
        if failure is not None:
            held.settle("fail", failure=failure)
            raw = None
        self.keeper.add(tag, held)
        return raw

    def _failure_before(self, job: Any) -> dict[str, Any] | None:
        """Why a job must not be delivered again: its message was acknowledged already."""
        if job["attempt"] <= job["attemptsBefore"] + 1:
            return None
        try:
            attempts = self.client.list_attempts(job["id"], limit=10)["attempts"]
        except (SteadfastError, OSError) as error:
            log.warning("the history of %s could not be read: %s", job["id"], error)
            return None
        budget = [it for it in attempts if it["attemptsBefore"] == job["attemptsBefore"]]
        is_lost = any(it["status"] == "LOST" and it.get("note") == ACKNOWLEDGED for it in budget)
        return WORKER_LOST if is_lost else None
