"""The URL of a broker or backend: `steadfast://:KEY@host:7373/TENANT`."""

from __future__ import annotations

from typing import Any, NamedTuple

from kombu.utils.url import url_to_parts

from ..client import Client, Settings

PORT = 7373
HTTPS_SCHEMES = ("steadfasts", "https")


class Address(NamedTuple):
    """A server, the key to it, and the tenant if the key is for all tenants."""

    url: str
    api_key: str | None = None
    tenant: str | None = None

    def client(self) -> Client:
        """The client of this process for the server. It keeps connections open for all threads."""
        return _clients.setdefault(self, Client(settings=Settings(self.url, self.api_key)))

    def of_tenant(self) -> dict[str, str]:
        """The field of a request that names the tenant."""
        return {"tenant": self.tenant} if self.tenant else {}


_clients: dict[Address, Client] = {}


def address_of_url(url: str | None) -> Address:
    """Reads a URL. Without a host, `STEADFAST_URL` and `STEADFAST_API_KEY` apply."""
    scheme, host, port, _, password, path, _ = url_to_parts(url or "")
    return _address(scheme in HTTPS_SCHEMES, host, port, password, path)


def address_of_connection(connection: Any) -> Address:
    """The address that a connection of kombu has."""
    is_https = bool(connection.ssl) or connection.transport_cls in HTTPS_SCHEMES
    return _address(
        is_https,
        connection.hostname,
        connection.port,
        connection.password,
        connection.virtual_host,
    )


def _address(
    is_https: bool, host: str | None, port: int | None, password: str | None, path: str | None
) -> Address:
    tenant = (path or "").strip("/") or None
    if not host:
        settings = Settings()
        return Address(settings.url, password or settings.api_key, tenant)
    scheme = "https" if is_https else "http"
    name = f"[{host}]" if ":" in host else host
    return Address(f"{scheme}://{name}:{port or PORT}", password or Settings().api_key, tenant)
