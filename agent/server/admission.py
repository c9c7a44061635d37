"""Checks `Host`, then `Origin`, of every request before any upgrade, and the token.

Whether a request needs the token or another key depends on its route (`api/keys.py`).

A page of a foreign site can make a browser connect to 127.0.0.1. If the site's name was rebound to our address, the
`Host` header gives it away; if the page uses our own name, the `Origin` header does. No page's script can set either.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from ..host import WallClock
from ..ports.clock import Clock
from .request_head import Head, Refusal
from .settings import WRONG_TOKENS, ServerSettings
from .signed_users import SignedUser, SignedUsers, TokenRefused
from .users import Users, read_users
from .visitors import find_visitor

_BEARER = "bearer."
NEEDS_TOKEN = Refusal(401, "Send Authorization: Bearer and the token.", {"WWW-Authenticate": "Bearer"})
TOO_MANY_GUESSES = Refusal(
    429, f"More than {WRONG_TOKENS} wrong tokens in a minute came from your address.", {"Retry-After": "60"}
)
_NO_USER = SignedUser("", inf)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The admission rules of one listening server.

    `hosts`: names that a `Host` header may hold alone or with `port`; in brackets if IPv6; lower case. `port`: the port
    that is bound. `allowed_hosts`: further names, each with a port of its own, or good for any port. `allowed_origins`:
    further origins, as `scheme://host[:port]`, lower case. `token`: the secret for the WebSocket, every POST, and the
    routes that need it; None if the server has no token. `users`: users with tokens of their own, which open the
    WebSocket too, and the routes that its page needs. `signed`: users by signed tokens, which open the same. `guests`:
    whether no token at all opens that, too.
    """

    hosts: tuple[str, ...]
    port: int
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    token: str | None = None
    users: Users = field(default_factory=Users)
    signed: SignedUsers = field(default_factory=lambda: SignedUsers((), WallClock()))
    guests: bool = False

    @classmethod
    def of(cls, settings: ServerSettings, port: int | None = None, clock: Clock | None = None) -> "Admission":
        """Return the rules that `settings` ask for. `port`: the bound port, if `settings` left it to the system.

        `clock`: says when signed tokens are over; None is the system's.

        Blocks while it reads the users' file. Raises `agent.errors.UsageError` if that file cannot be used.
        """
        return cls(
            hosts=(_bracket_ipv6(settings.host.lower()), *_LOOPBACK),
            port=settings.port if port is None else port,
            allowed_hosts=tuple(host.lower() for host in settings.allow_host),
            allowed_origins=tuple(origin.lower().rstrip("/") for origin in settings.allow_origin),
            token=settings.token,
            users=Users() if settings.users is None else read_users(settings.users, settings.token),
            signed=SignedUsers(
                tuple(key for key in (settings.sign_key, settings.old_sign_key) if key is not None),
                clock or WallClock(),
            ),
            guests=settings.guests,
        )

    def check(self, head: Head, local: str | None = None) -> Refusal | None:
        """Return the `Refusal` of a request with a wrong `Host` or `Origin`, or None.

        `local`: the address that the client reached, if known. It is a number, so no foreign name can have been rebound
        to it, and a server on a wildcard address can be called by it. A WebSocket without its token is not refused
        here: it is accepted and closed with 4401 (see `may_open_socket`), because a browser tells its page nothing
        about a refused upgrade.
        """
        hosts = head.values(b"host")
        if len(hosts) != 1:
            return Refusal(400, "Send exactly one Host header.")
        host = hosts[0].decode("latin-1").lower()
        if not self._is_our_host(host, local):
            return Refusal(421, "This server does not answer to that Host; see --allow-host.")
        if not self._is_allowed_origin(head.values(b"origin"), host):
            return Refusal(403, "Requests from that Origin are not allowed; see --allow-origin.")
        return None

    def shows_operator_token(self, head: Head) -> bool:
        """Return whether a request shows `token`, in a header or as a WebSocket subprotocol; in constant time."""
        return self.shows_token(_authorization(head))

    @property
    def lets_guests_in(self) -> bool:
        """Whether a client without a token may open a WebSocket."""
        return self.token is None or self.guests

    def may_open_socket(self, head: Head) -> bool:
        """Return whether a request may open a WebSocket: it shows `token` or a user's own, or it may do without.

        On a server without `token` other tokens are ignored, unless there are signed ones: a caller with a wrong
        one is refused there, and is not a guest in place of the user that the token names.
        """
        shown = _authorization(head)
        if not parse_bearers(shown):
            return self.lets_guests_in
        return (self.token is None and not self.signed) or self._shows_known_token(shown)

    def list_bearers(self, head: Head) -> list[bytes]:
        """Return the credentials that a request shows, in a header or as a WebSocket subprotocol."""
        return parse_bearers(_authorization(head))

    def find_user(self, head: Head) -> str:
        """Return the name of the user that the token of a request belongs to, else that of its secret, or ""."""
        return self._user_of(_authorization(head)).name or find_visitor(head)

    def find_token_user(self, head: Head) -> str:
        """Return the name of the user whose own token, or signed one, a request shows; "" for none."""
        return self._user_of(_authorization(head)).name

    def find_time_left(self, head: Head) -> float:
        """Return the seconds until the token of a request is over; `inf` unless it is a signed one."""
        return self._user_of(_authorization(head)).seconds if self.signed else inf

    def explain_refusal(self, head: Head) -> str:
        """Return the reason why the first token of a request names no user, for the log; "" without signed tokens."""
        for shown in parse_bearers(_authorization(head)) if self.signed else ():
            try:
                self.signed.read_user(shown)
            except TokenRefused as refused:
                return str(refused)
        return ""

    def shows_wrong_token(self, head: Head) -> bool:
        """Return whether a request shows a wrong token. A request without one may be a page's that will ask for it.

        A server without `token` counts none: clients of other servers always send one.
        """
        shown = _authorization(head)
        return self.token is not None and bool(parse_bearers(shown)) and not self._shows_known_token(shown)

    def shows_token(self, authorization: Sequence[bytes]) -> bool:
        """Return whether a value of the header `Authorization` shows `token`; in constant time."""
        if self.token is None:
            return True
        return any(self.is_token(value) for value in parse_bearers(authorization))

    def is_token(self, shown: bytes) -> bool:
        """Return whether `shown` is `token`, in constant time; False if the server has none."""
        return self.token is not None and hmac.compare_digest(shown, self.token.encode())

    def _shows_known_token(self, authorization: Sequence[bytes]) -> bool:
        """Return whether a value of the header `Authorization` shows `token`, or a user's own."""
        known = [self.is_token(value) for value in parse_bearers(authorization)]
        return any(known) or self._user_of(authorization).name != ""

    def _user_of(self, authorization: Sequence[bytes]) -> SignedUser:
        for shown in parse_bearers(authorization):
            name = self.users.find_user(shown)
            found = SignedUser(name, inf) if name else self.signed.find_user(shown)
            if found is not None:
                return found
        return _NO_USER

    def _is_our_host(self, host: str, local: str | None) -> bool:
        bare, port = _split(host)
        if host in self.allowed_hosts or bare in self.allowed_hosts:
            return True
        names = self.hosts if local is None else (*self.hosts, _bracket_ipv6(local))
        return bare in names and port in ("", str(self.port))

    def _is_allowed_origin(self, origins: tuple[bytes, ...], host: str) -> bool:
        if not origins:
            return True
        origin = origins[0].decode("latin-1").lower()
        same = origin in (f"http://{host}", f"https://{host}")
        return len(origins) == 1 and (same or origin in self.allowed_origins)


def _authorization(head: Head) -> tuple[bytes, ...]:
    """Return the values of the header `Authorization`, and a WebSocket's `bearer.` subprotocols in the same form."""
    shown = head.values(b"authorization")
    if not head.upgrade:
        return shown
    offered = (name.removeprefix(_BEARER) for name in head.subprotocols if name.startswith(_BEARER))
    return shown + tuple(b"Bearer " + name.encode("latin-1") for name in offered)


def parse_bearers(authorization: Sequence[bytes]) -> list[bytes]:
    """Return the credentials of the `Bearer` values of the header `Authorization`."""
    return [value[7:].strip() for value in authorization if value[:7].lower() == b"bearer "]


def _split(host: str) -> tuple[str, str]:
    """Split `name:port`; without a port it is "". IPv6 keeps its brackets."""
    bare, colon, port = host.rpartition(":")
    return (bare, port) if colon and not port.endswith("]") else (host, "")


def _bracket_ipv6(address: str) -> str:
    return f"[{address}]" if ":" in address and not address.startswith("[") else address
