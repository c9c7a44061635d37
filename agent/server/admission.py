"""Who may speak to this server: Host, then Origin, for every request and before any upgrade; and the token.

What needs the token, or another key, is found out with the route (`api/keys`).

A page of a foreign site can make a browser connect to 127.0.0.1. If its name was rebound to our address the Host
gives it away; if it calls us by our own name the Origin does. Neither can be set by a page's script.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..config import WRONG_TOKENS
from .settings import ServerSettings
from .sniff import Head, Refusal
from .users import Users, read_users

SUBPROTOCOL = "agent.v1"
_BEARER = "bearer."
NEEDS_TOKEN = Refusal(401, "Send Authorization: Bearer and the token.", {"WWW-Authenticate": "Bearer"})
GUESSING = Refusal(
    429, f"More than {WRONG_TOKENS} wrong tokens in a minute came from your address.", {"Retry-After": "60"}
)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Admission:
    """The rules of one listening server.

    hosts: names that a Host may hold alone or with `port`; in brackets when IPv6; lower case.
    port: the port that is really listened on.
    allowed_hosts: further names; with a port of their own, or good for any port.
    allowed_origins: further origins, as `scheme://host[:port]`, lower case.
    token: what a client has to show for the WebSocket, every POST, and the routes that say so; or None.
    users: whose own tokens open the WebSocket too, and the routes that its page needs.
    """

    hosts: tuple[str, ...]
    port: int
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    token: str | None = None
    users: Users = field(default_factory=Users)

    @classmethod
    def of(cls, settings: ServerSettings, port: int | None = None) -> "Admission":
        """Return the rules that `settings` ask for; `port` is the one bound, where it was left to the system.

        Blocks while it reads the users' file. Raises `agent.errors.UsageError` where that cannot be used.
        """
        return cls(
            hosts=(_bracketed(settings.host.lower()), *_LOOPBACK),
            port=settings.port if port is None else port,
            allowed_hosts=tuple(host.lower() for host in settings.allow_host),
            allowed_origins=tuple(origin.lower().rstrip("/") for origin in settings.allow_origin),
            token=settings.token,
            users=Users() if settings.users is None else read_users(settings.users, settings.token),
        )

    def check(self, head: Head, local: str | None = None) -> Refusal | None:
        """Return why this request may not go on, or None.

        local: the address that the client reached, where that is known; it is a number, so no foreign name can
        have been rebound to it, and a server on a wildcard address can be called by it.
        A WebSocket without its token is not refused here: it is accepted and closed with 4401 (see `authorised`),
        because a browser tells its page nothing about a refused upgrade.
        """
        hosts = head.values(b"host")
        if len(hosts) != 1:
            return Refusal(400, "Send exactly one Host header.")
        host = hosts[0].decode("latin-1").lower()
        if not self._ours(host, local):
            return Refusal(421, "This server does not answer to that Host; see --allow-host.")
        if not self._friendly(head.values(b"origin"), host):
            return Refusal(403, "Requests from that Origin are not allowed; see --allow-origin.")
        return None

    def authorised(self, head: Head) -> bool:
        """Whether the request shows the token, in a header or (for a WebSocket) as a subprotocol; in constant time."""
        return self.shows_token(_authorization(head))

    def welcomes(self, head: Head) -> bool:
        """Whether the request may open a WebSocket: it shows the token, or a user's own."""
        return self.shows_any_token(_authorization(head))

    def user(self, head: Head) -> str:
        """Return whose own token the request shows, "" where it is nobody's."""
        return self._user_of(_authorization(head))

    def shows_another(self, head: Head) -> bool:
        """Whether the request shows a token, and it is not ours. One that shows none may be a page that will ask."""
        shown = _authorization(head)
        return bool(bearers(shown)) and not self.shows_any_token(shown)

    def shows_token(self, authorization: Sequence[bytes]) -> bool:
        """Whether one of these values of the header Authorization shows the token; in constant time."""
        if self.token is None:
            return True
        return any(self.is_token(value) for value in bearers(authorization))

    def shows_any_token(self, authorization: Sequence[bytes]) -> bool:
        """Whether one of these values of the header Authorization shows the token, or a user's own."""
        return self.shows_token(authorization) or self._user_of(authorization) != ""

    def is_token(self, shown: bytes) -> bool:
        """Whether this is the token, in constant time; where there is none, nothing is."""
        return self.token is not None and hmac.compare_digest(shown, self.token.encode())

    def _user_of(self, authorization: Sequence[bytes]) -> str:
        return next((name for name in map(self.users.of, bearers(authorization)) if name), "")

    def _ours(self, host: str, local: str | None) -> bool:
        bare, port = _split(host)
        if host in self.allowed_hosts or bare in self.allowed_hosts:
            return True
        names = self.hosts if local is None else (*self.hosts, _bracketed(local))
        return bare in names and port in ("", str(self.port))

    def _friendly(self, origins: tuple[bytes, ...], host: str) -> bool:
        if not origins:
            return True
        origin = origins[0].decode("latin-1").lower()
        same = origin in (f"http://{host}", f"https://{host}")
        return len(origins) == 1 and (same or origin in self.allowed_origins)


def _authorization(head: Head) -> tuple[bytes, ...]:
    """Return what a request shows as values of the header Authorization, a WebSocket's subprotocols too."""
    shown = head.values(b"authorization")
    if not head.upgrade:
        return shown
    offered = (name.removeprefix(_BEARER) for name in head.subprotocols if name.startswith(_BEARER))
    return shown + tuple(b"Bearer " + name.encode("latin-1") for name in offered)


def bearers(authorization: Sequence[bytes]) -> list[bytes]:
    """Return what is shown in values of the header Authorization that are of the kind Bearer."""
    return [value[7:].strip() for value in authorization if value[:7].lower() == b"bearer "]


def _split(host: str) -> tuple[str, str]:
    """Split `name:port`; the port is empty when there is none. IPv6 keeps its brackets."""
    bare, colon, port = host.rpartition(":")
    return (bare, port) if colon and not port.endswith("]") else (host, "")


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address and not address.startswith("[") else address
