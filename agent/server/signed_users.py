"""Signs and checks tokens that name a user until a time, as a website's backend signs them for its own users.

A token is a JSON Web Token (RFC 7519) with HMAC-SHA-256, `HS256`, so libraries in any language make it:

    base64url({"alg": "HS256", "typ": "JWT"}) . base64url({"sub": NAME, "exp": UNIX SECONDS}) . base64url(HMAC)

It carries no other claim but `iat`, which libraries add: a token that is meant for something else, or limited in a way
that is not checked here, opens nothing. The signature is checked first and with every key, so that neither the time nor
the reason of a refusal depends on a text that its holder could have made up. `alg` never chooses how it is checked.
"""

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from ..errors import AgentError
from ..ports.clock import Clock
from .users import NAME_RULE, is_user_name

TOKEN_MOST = 2048  # bytes; a name of 128 characters takes under 1100

_FORM = re.compile(rb"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_LAST_SECOND = 253_402_300_799  # of the year 9999


class TokenRefused(AgentError):
    """A token names no user here. Its text is the reason, for the log, and holds nothing of the token."""


class _TokenHeader(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    alg: Literal["HS256"] = "HS256"
    typ: Literal["JWT"] = "JWT"
    kid: str = ""


class _TokenClaims(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    sub: str
    exp: Annotated[float, msgspec.Meta(ge=0, le=_LAST_SECOND)]
    iat: float = 0


@dataclass(frozen=True, slots=True)
class SignedUser:
    """The user that a token names. `seconds`: until the token is over."""

    name: str
    seconds: float


def sign_user(key: str, name: str, end: int) -> str:
    """Return the token of the user `name`, signed with `key`, until the Unix time `end`, in seconds."""
    header = b'{"alg":"HS256","typ":"JWT"}'
    text = _encode(header) + b"." + _encode(msgspec.json.encode({"sub": name, "exp": end}))
    return (text + b"." + _encode(hmac.digest(key.encode(), text, "sha256"))).decode()


class SignedUsers:
    """Reads signed tokens. `keys`: any of them may have signed; without one no token is right."""

    def __init__(self, keys: tuple[str, ...], clock: Clock) -> None:
        self._keys = tuple(key.encode() for key in keys)
        self._clock = clock

    def __bool__(self) -> bool:
        """Return whether there is a key."""
        return bool(self._keys)

    def find_user(self, token: bytes) -> SignedUser | None:
        """Return the user that `token` names now, or None."""
        try:
            return self.read_user(token)
        except TokenRefused:
            return None

    def read_user(self, token: bytes) -> SignedUser:
        """Return the user that `token` names now. Raises `TokenRefused`."""
        if len(token) > TOKEN_MOST or _FORM.fullmatch(token) is None:
            raise TokenRefused("it is not a signed token")
        text, _, shown = token.rpartition(b".")
        signatures = [_encode(hmac.digest(key, text, "sha256")) for key in self._keys]
        if sum(hmac.compare_digest(shown, each) for each in signatures) == 0:
            raise TokenRefused("no key of this server has signed it")
        header, _, claims = text.partition(b".")
        try:
            msgspec.json.decode(_decode(header), type=_TokenHeader)
            found = msgspec.json.decode(_decode(claims), type=_TokenClaims)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise TokenRefused("its header or its claims are not those of a user's token") from None
        if not is_user_name(found.sub):
            raise TokenRefused(f"its sub is no name of a user: {NAME_RULE}")
        seconds = found.exp - self._clock.now_ms() / 1000
        if seconds <= 0:
            raise TokenRefused("its time is over")
        return SignedUser(found.sub, seconds)


def _encode(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


def _decode(text: bytes) -> bytes:
    return urlsafe_b64decode(text + b"=" * (-len(text) % 4))
