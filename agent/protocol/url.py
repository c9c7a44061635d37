"""Checks the URLs of servers: usable at all, reachable from this machine only, and split for clients and commands."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from ..errors import UsageError


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host`, a name or an IP address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_web_address(url: str) -> bool:
    """Return whether `url` can be called: http or https, with a host, and a port that exists where one is given."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def parse_server_url(url: str, example: str) -> tuple[str, int, bool, str]:
    """Return host, port, whether TLS is used, and the path of the WebSocket (by default /ws) of a server's URL.

    `url` may come without its scheme. Raises `UsageError`, with `example`, for a URL that cannot be used.
    """
    wrong = UsageError(f"the URL must look like {example}")
    try:
        split = urlsplit(url if "://" in url else f"ws://{url}")
        secure = split.scheme in ("wss", "https")
        port = split.port or (443 if secure else 80)
    except ValueError:  # odd brackets, or an invalid port
        raise wrong from None
    if not split.hostname or split.scheme not in ("ws", "wss", "http", "https"):
        raise wrong
    return split.hostname, port, secure, split.path if split.path not in ("", "/") else "/ws"


def parse_local_url(url: str) -> tuple[str, int, str]:
    """Return host, port and path of a server on this machine, for a command that puts it under load.

    `url` may come without its scheme. Raises `UsageError` for another URL, or another machine's.
    """
    split = urlsplit(url if "://" in url else f"ws://{url}")
    try:
        port = split.port or 80
    except ValueError:
        port = 0
    if not split.hostname or not port or split.scheme not in ("ws", "http"):
        raise UsageError("the URL must look like ws://127.0.0.1:8787/ws")
    if not is_loopback(split.hostname):
        raise UsageError("only a server on this machine can be put under load")
    return split.hostname, port, split.path
