"""Who may, for every route: those of the page and of questions by the server's token, or a user's own, else by a key.

Who calls the HTTP API: the operator, whose key is the server's token, or a project, which has keys of its own.

A key is shown as `X-AGENT-KEY` or as `Authorization: Bearer`. The token is compared in constant time; a project's key
is looked up by its SHA-256, so that nothing that is kept opens anything. One that has opened nothing here so far costs
its address one of the wrong tokens that it may show before it is looked up, and a right one gives that back: so who
guesses makes no work for the store, and keys in use are refused nothing for it. Not so on this machine, where a proxy
may bring everybody: there a right key must not wait for who guesses. Where the server has no token, who shows no
key is the operator, as on the other routes; a key that is shown must be right all the same: one that was revoked opens
nothing, and not everything.
"""

import re
import secrets
from collections import OrderedDict
from hashlib import sha256

import trio

from ...config import KEYS_REMEMBERED
from ...errors import AgentError, StorageFailed
from ...ports.projects import ProjectStore
from ...protocol.routes import Who
from ..addresses import THIS_MACHINE
from ..admission import Admission, bearers
from ..admitted import Caller
from ..rates import Rates
from ..sniff import Head

KEY = re.compile(rb"ak_[A-Za-z0-9_-]{22,86}")
"""What a project's key looks like: anything else is not looked up."""


def make_key() -> str:
    """Return a new key of 32 random bytes."""
    return f"ak_{secrets.token_urlsafe(32)}"


def digest_of(key: str) -> str:
    """Return what is kept of a key: its SHA-256 in hex."""
    return sha256(key.encode()).hexdigest()


class Guessing(AgentError):
    """More wrong keys came from an address than are told so at leisure."""


class Keys:
    """Finds out who calls. wrong: how many wrong keys an address may show. projects: who else has keys, if any has."""

    def __init__(self, admission: Admission, wrong: Rates, projects: ProjectStore | None = None) -> None:
        self._admission = admission
        self._projects = projects
        self._wrong = wrong
        self._opened: OrderedDict[str, None] = OrderedDict()  # digests that did, the last used last

    async def caller_for(self, who: Who, head: Head, address: str | None) -> Caller | None:
        """Return who calls, None where that is none of those who may. Raises as `caller` does."""
        if who in ("project", "operator"):
            return await self.caller(head, address)
        self.check_guesses(head, address)
        if who == "token" and not self._admission.authorised(head):
            return None
        if who == "user" and not self._admission.welcomes(head):
            return None
        return Caller()

    def check_guesses(self, head: Head, address: str | None) -> None:
        """Count a wrong token, for whatever it was shown. Raises `Guessing` where an address has shown too many.

        Who shows the right token is refused nothing for wrong ones: a lock on an address would also lock out whoever
        else is behind it, and the token is too long to be guessed. The limit saves the work on those who try.
        """
        if self._admission.shows_another(head):
            self._guess(address)

    async def caller(self, head: Head, address: str | None) -> Caller | None:
        """Return who shows the key that a request shows; None for a wrong one, several, or none where one is needed.

        Raises `Guessing` where an address has shown too many wrong ones, and `agent.errors.StorageFailed`.
        """
        keys = _shown(head)
        if not keys:  # it may be a page that will ask for one
            return Caller() if self._admission.token is None else None
        key = next(iter(keys))
        if len(keys) == 1 and self._admission.is_token(key):
            return Caller(keyed=True)
        if len(keys) > 1 or KEY.fullmatch(key) is None:
            self._guess(address)
            return None
        project = await self._opens(digest_of(key.decode("ascii")), address)
        return Caller(project, True) if project is not None else None

    async def _opens(self, digest: str, address: str | None) -> str | None:
        """Return the project that a key opens, or None for a wrong one, which is counted."""
        trusted = digest in self._opened or address == THIS_MACHINE
        if not trusted:
            self._guess(address)
        try:
            project = None if self._projects is None else await self._projects.project_of_key(digest)
        except StorageFailed:
            if not trusted:
                self._wrong.give_back(address, trio.current_time())
            raise
        if project is None:
            self._opened.pop(digest, None)
            if trusted:
                self._guess(address)
            return None
        if not trusted:
            self._wrong.give_back(address, trio.current_time())
        self._opened[digest] = None
        self._opened.move_to_end(digest)
        if len(self._opened) > KEYS_REMEMBERED:
            self._opened.popitem(last=False)
        return project

    def _guess(self, address: str | None) -> None:
        if not self._wrong.take(address, trio.current_time()):
            raise Guessing("too many wrong keys came from this address")


def _shown(head: Head) -> set[bytes]:
    """Return the different keys that a request shows."""
    own = (value.strip() for value in head.values(b"x-agent-key"))
    return {*own, *bearers(head.values(b"authorization"))}
