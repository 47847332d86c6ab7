"""Makes the schemes `steadfast://` and `steadfasts://` known to kombu.

Result backends have an entry point of their own (`celery.result_backends`), transports have none.
Kombu does load the entry points of serializers when it is imported, so this module is one of those.
It registers the name of a content type, which no message has, and no serializer.
"""

from __future__ import annotations

from kombu.transport import TRANSPORT_ALIASES

TRANSPORT = "steadfast.celery.transport:Transport"

for scheme in ("steadfast", "steadfasts"):
    TRANSPORT_ALIASES[scheme] = TRANSPORT

SERIALIZER = (None, None, "application/x-steadfast-celery")
