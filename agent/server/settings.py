"""The settings of the server: its address, its clients and their limits.

Above them, the limits that modules of this room share.
"""

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TypeAlias

from ..config import check, finite
from ..errors import UsageError
from ..protocol.url import is_loopback

IDLE_TIMEOUT = 5.0  # for the next request of a connection to begin
TURNED_AWAY_BRIEFLY = 0.1  # for connections beyond TURNED_AWAY to read their refusal
VISITORS = 512  # connections without a place: heads being read, plain requests, refusals
FIRST_WORDS = 0.25  # seconds in which a new WebSocket need not give way: its first message may be on its way
WRONG_TOKENS = 20  # of one address in a minute that are answered at leisure
TOKEN_MIN = 16  # characters, where other machines can try
SIGN_KEY_MIN = 32  # characters: as many bytes as HMAC-SHA-256 puts out
NAME_MAX = 80  # characters of the name that an operator gives the page ...
GREETING_MAX = 300  # ... and of the greeting
WORKERS_MAX = 64
MAKE_SIGN_KEY = 'python3 -c "import secrets; print(secrets.token_urlsafe(32))" makes one'


def _one_line(text: str, most: int) -> bool:
    return len(text) <= most and text.isprintable()


Network: TypeAlias = IPv4Network | IPv6Network


def proxies(trusted: tuple[str, ...]) -> tuple[Network, ...]:
    """Parse the networks that `trust_proxy` names: addresses or CIDR networks, several separated by commas.

    Raises `UsageError` for any other text, and for a network of all addresses.
    """
    named = [name.strip() for value in trusted for name in value.split(",")]
    try:
        networks = tuple(ip_network(name) for name in named)
    except ValueError as error:
        raise UsageError(
            f"trust-proxy takes IP addresses and networks such as 10.0.0.5,10.1.0.0/16: {error}"
        ) from None
    if any(network.prefixlen == 0 for network in networks):
        raise UsageError("trust-proxy must not trust every address: name those of your proxies")
    return networks


def _is_secret(text: str) -> bool:
    return text.isascii() and text.isprintable() and text.strip() == text != ""


def _check_sign_keys(key: str | None, old: str | None, token: str | None) -> Iterator[tuple[bool, str]]:
    """Give the checks of the keys that sign users' tokens; no message holds a key."""
    for name, each in (("sign-key", key), ("old-sign-key", old)):
        if each is not None:
            yield not _is_secret(each), f"{name} must be printable ASCII, not empty, without spaces around it"
            yield (
                len(each) < SIGN_KEY_MIN,
                f"{name} must have at least {SIGN_KEY_MIN} characters: {MAKE_SIGN_KEY}",
            )
            yield each == token, f"{name} must not be token, which opens more: give each a secret of its own"
    yield old is not None and key is None, "old-sign-key needs sign-key: one key alone is sign-key"
    yield old is not None and old == key, "old-sign-key must be another key than sign-key: leave it out"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The address of a server, its clients and their limits.

    Raises `agent.errors.UsageError`, one line that names the setting, if a value cannot work.

    Args:
        host: Address to listen on. An address that other machines reach needs a token, or insecure.
        port: TCP port. 0 takes a free port.
        name: Name of the assistant: the title of the chat page, and the model in /v1/models.
        greeting: Text that the chat page shows before the first question.
        starters: Text file of questions to begin with, one a line; a line [sv] or [en] gives the language of the lines
            after it. Left out, they are questions that stand in the documents and are answered from there.
        logo: Image that the chat page shows beside its name: an SVG or PNG file of at most 64 KiB.
        token: Secret that clients must send. Set it as AGENT_TOKEN: other users of this machine can read flags.
        users: File with a line name = "token" for each user. A user's token opens sockets as that user, so all
            connections share one memory. Needs token too, which stays the operator's.
        sign_key: Secret of at least 32 characters that your website's backend signs tokens of its users with. Such a
            token opens sockets as the user that it names, until its time is over. Set it as AGENT_SIGN_KEY.
        old_sign_key: The key before sign-key, while tokens that it has signed are still in use. It signs no more.
        guests: Let clients without a token chat, each without a name. The HTTP API and the metrics still need token.
        insecure: Serve other machines without a token.
        allow_host: Another Host header to accept, such as the name of a proxy. Repeat it for several.
        allow_origin: Another Origin whose pages may connect. Repeat it for several.
        max_connections: Most WebSockets and plain questions at a time. When all places are taken, a client that never
            sent a message makes room for a new client; else the new client is told to come back later.
        max_per_address: Most WebSockets of one address (IPv6: of one /64). 0 is no limit. Default: half of
            max-connections, and no limit for this machine.
        address_rate: Most messages per second of one address, over all its sessions and requests. 0 is no limit.
            Default: ten times rate-limit, and no limit for this machine.
        api_rate: Most requests per minute to the HTTP API with one key, or from one address without a key. 0 is no
            limit. Default: 100, and no limit for this machine where no key is needed.
        idle_timeout: Seconds that a WebSocket may stay open without a first message. 0 is no limit.
        trust_proxy: Address or network of a proxy in front of the server, whose X-Forwarded-For names the client.
            Separate several with commas.
        workers: Number of processes that serve; one per core is the most that helps. Limits hold for all of them
            together. More than one needs Unix.
    """

    host: str = "127.0.0.1"
    port: int = 8787
    name: str = ""
    greeting: str = ""
    starters: Path | None = None
    logo: Path | None = None
    token: str | None = None
    users: Path | None = None
    sign_key: str | None = None
    old_sign_key: str | None = None
    guests: bool = False
    insecure: bool = False
    allow_host: tuple[str, ...] = ()
    allow_origin: tuple[str, ...] = ()
    max_connections: int = 1000
    max_per_address: int | None = None
    address_rate: float | None = None
    api_rate: float | None = None
    idle_timeout: float = 3600.0
    trust_proxy: tuple[str, ...] = ()
    workers: int = 1

    def __post_init__(self) -> None:
        """Check the values beyond their types."""
        token = self.token
        proxies(self.trust_proxy)
        check(
            finite(self.address_rate or 0.0, self.api_rate or 0.0, self.idle_timeout),
            (
                token is not None and not _is_secret(token),
                "token must be printable ASCII, not empty, without spaces around it",
            ),
            (
                token is not None and len(token) < TOKEN_MIN and not is_loopback(self.host),
                f"token must have at least {TOKEN_MIN} characters where other machines can try (host {self.host}): "
                'python3 -c "import secrets; print(secrets.token_urlsafe())" makes one',
            ),
            (
                self.users is not None and token is None,
                "users needs a token too, the operator's: without one the server is open to everybody",
            ),
            *_check_sign_keys(self.sign_key, self.old_sign_key, token),
            (
                self.guests and token is None,
                "guests needs a token, the operator's: without one the server is open to everybody",
            ),
            (
                not self.insecure and token is None and not is_loopback(self.host),
                f"host {self.host} is open to other machines: set a token, or --insecure to serve without one",
            ),
            (not _one_line(self.name, NAME_MAX), f"name must be one line of at most {NAME_MAX} characters"),
            (
                not _one_line(self.greeting, GREETING_MAX),
                f"greeting must be one line of at most {GREETING_MAX} characters",
            ),
            (not 0 <= self.port <= 65535, "port must be 0 to 65535"),
            (self.max_connections < 1, "max-connections must be at least 1"),
            ((self.max_per_address or 0) < 0, "max-per-address must not be negative"),
            ((self.address_rate or 0) < 0, "address-rate must not be negative"),
            ((self.api_rate or 0) < 0, "api-rate must not be negative"),
            (self.idle_timeout < 0, "idle-timeout must not be negative"),
            (not 1 <= self.workers <= WORKERS_MAX, f"workers must be 1 to {WORKERS_MAX}"),
            (
                self.workers > 1 and not hasattr(socket, "send_fds"),
                "workers must be 1 on this system: only Unix can pass a connection from one process to another",
            ),
        )
