"""The result backend: results, groups and the counters of chords as documents of the server."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from celery import states
from celery.backends.base import KeyValueStoreBackend
from celery.exceptions import TimeoutError as CeleryTimeout
from kombu.utils.encoding import bytes_to_str
from kombu.utils.url import maybe_sanitize_url

from .address import address_of_url
from .documents import Documents

FIRST_PAUSE = 0.01
PAUSE_FACTOR = 1.5
SIZES_MAX = 1000
"""Chords whose size is remembered."""


class SteadfastBackend(KeyValueStoreBackend):
    """Results of tasks in Steadfast: `result_backend = "steadfast://host:7373"`."""

    implements_incr = True
    supports_autoexpire = True
    supports_native_join = True
    persistent = True

    def __init__(
        self,
        app: Any,
        url: str | None = None,
        expires: Any = None,
        expires_type: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(app, url=url, **kwargs)
        self.url = url
        self.expires = self.prepare_expires(expires, expires_type)
        address = address_of_url(url)
        self._documents = Documents(address.client(), address)
        self._current = threading.local()
        self._sizes: OrderedDict[str, int] = OrderedDict()

    def get(self, key: Any) -> Any:
        """The value of a key."""
        return self._documents.get(bytes_to_str(key))

    def mget(self, keys: Iterable[Any]) -> list[Any]:
        """The values of keys."""
        return [self.get(key) for key in keys]

    def set(self, key: Any, value: Any) -> None:
        """Stores a value, for as long as results are kept."""
        self._documents.set(bytes_to_str(key), value, self._seconds())

    def delete(self, key: Any) -> None:
        """Forgets a value."""
        self._documents.delete(bytes_to_str(key), self._seconds())

    def _store_result(
        self,
        task_id: str,
        result: Any,
        state: str,
        traceback: Any = None,
        request: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Stores a result. A success stays, even if the task is run again and fails.

        Celery's own way is to read the result before each write.
        """
        meta = self._get_result_meta(
            result=result, state=state, traceback=traceback, request=request
        )
        meta["task_id"] = bytes_to_str(task_id)
        key = bytes_to_str(self.get_key_for_task(task_id))
        is_final = state == states.SUCCESS
        self._documents.set(key, self.encode(meta), self._seconds(), is_final)
        return result

    def incr(self, key: Any) -> int:
        """The number of the task of a chord that has ended."""
        return int(self._current.number)

    def set_chord_size(self, group_id: str, chord_size: int) -> None:
        """Stores how many tasks a chord waits for, those of nested groups included."""
        self.set(self._size_key(group_id), str(chord_size))

    def add_to_chord(self, chord_id: str, result: Any) -> None:
        """Lets a chord wait for another task."""
        key = bytes_to_str(self.get_key_for_group(chord_id, ".added"))
        self._documents.number(key, result.id, self._seconds())

    def on_chord_part_return(self, request: Any, state: Any, result: Any, **kwargs: Any) -> Any:
        """A task of a chord has ended. The last one starts the body.

        A task that runs again is counted once. If it is the last one, it starts the body again,
        unless that has happened, which deletes the group: its worker may have died before.
        """
        group = request.group
        if not group:
            return None
        numbers = f"{bytes_to_str(self.get_key_for_chord(group))}.parts"
        number, is_new = self._documents.number(numbers, request.id, self._seconds())
        size = self._chord_size(group)
        # Celery stores the size before it sends the last task.
        if not size or number < size:
            return None
        if not is_new and not self.get(self.get_key_for_group(group)):
            return None
        added = bytes_to_str(self.get_key_for_group(group, ".added"))
        request.chord["chord_size"] = size + self._documents.count(added)
        self._current.number = number
        return super().on_chord_part_return(request, state, result, **kwargs)

    def wait_for(
        self,
        task_id: str,
        timeout: float | None = None,
        interval: float = 0.5,
        no_ack: bool = True,
        on_interval: Callable[[], None] | None = None,
    ) -> Any:
        """Waits for the result of a task. Short tasks are looked for more often."""
        self._ensure_not_eager()
        started = time.monotonic()
        pause = FIRST_PAUSE
        while True:
            meta = self.get_task_meta(task_id)
            if meta["status"] in states.READY_STATES:
                return meta
            if on_interval:
                on_interval()
            if timeout is not None and time.monotonic() - started >= timeout:
                raise CeleryTimeout("The operation timed out.")
            time.sleep(min(pause, interval))
            pause *= PAUSE_FACTOR

    def as_uri(self, include_password: bool = False) -> str:
        """The URL of the backend, without the key unless asked for."""
        url = self.url or "steadfast://"
        return url if include_password else maybe_sanitize_url(url)

    def __reduce__(self, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {**(kwargs or {}), "url": self.url, "expires": self.expires}
        return super().__reduce__(args, kwargs)

    def _chord_size(self, group_id: str) -> int:
        """The number of tasks of a chord; 0 if it is not known yet."""
        size = self._sizes.get(group_id) or int(self.get(self._size_key(group_id)) or 0)
        if size:
            self._sizes[group_id] = size
            while len(self._sizes) > SIZES_MAX:
                self._sizes.popitem(last=False)
        return size

    def _size_key(self, group_id: str) -> Any:
        return self.get_key_for_group(group_id, ".size")

    def _seconds(self) -> float | None:
        expires = self.expires
        return None if not expires else float(expires)
