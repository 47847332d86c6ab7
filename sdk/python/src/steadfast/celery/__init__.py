"""Steadfast as the broker and the result backend of Celery.

```python
app = Celery("shop", broker="steadfast://127.0.0.1:7373", backend="steadfast://127.0.0.1:7373")
```

A task message is a job: its kind is the name of the task, its queue is Celery's queue. The broker
is a transport of kombu (`Transport`), the backend is `SteadfastBackend`; both are found by the
scheme of their URL as soon as the package is installed. `docs/celery.md` is the page for users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .backend import SteadfastBackend
    from .transport import Transport

__all__ = ["SteadfastBackend", "Transport"]


def __getattr__(name: str) -> object:
    # Kombu imports `schemes` while it is itself being imported, so its parts come later.
    if name == "Transport":
        from .transport import Transport

        return Transport
    if name == "SteadfastBackend":
        from .backend import SteadfastBackend

        return SteadfastBackend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
