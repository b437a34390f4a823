"""Where a client sends, and with which key: checked once, before anything leaves."""

from __future__ import annotations

import ipaddress
import re

import httpx

from sfumato.core.errors import InvalidInput

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{8,512}")


def check_address(url: str, *, allow_http: bool) -> httpx.URL:
    """The base address of a server; without TLS only this machine is believed."""
    try:
        address = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        raise InvalidInput(f"url must be the address of a server, got {url!r}.") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise InvalidInput(f"url must begin with https:// and name a host, got {str(address)!r}.")
    if address.userinfo or address.query or address.fragment:
        raise InvalidInput(
            "url must be a plain address without user, password, query or fragment; the key goes "
            "in key."
        )
    if address.scheme == "http" and not allow_http and not _is_this_machine(address.host):
        raise InvalidInput(
            f"http:// to {address.host} would send the key and the release unencrypted; use "
            "https://, or allow it explicitly for a network you trust (allow_http=True, "
            "--allow-http)."
        )
    return address.copy_with(path=address.path.rstrip("/") + "/")


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_key(key: str) -> str:
    """An API key as it goes into a header; what is wrong with it is told without showing it."""
    if not isinstance(key, str) or not _TOKEN.fullmatch(key):
        raise InvalidInput(
            "key must be an API key of the server, 8 to 512 letters, digits or . _ ~ + / = -; "
            "what was given is not one (a line break at its end?)."
        )
    return key
