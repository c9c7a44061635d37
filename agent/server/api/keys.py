"""Finds the caller of every request by its key.

Routes of the page and of questions take the server's token, or a user's own. Routes of the HTTP API take a key: the
operator's is the server's token, and a project has keys of its own. Routes with the access `owner` take a user's own
token too, as a bearer and alone; on every other route of the API it is a wrong key.

A key is shown as `X-AGENT-KEY` or as `Authorization: Bearer`. The token is compared in constant time; a project's key
is looked up by its SHA-256, so that the store holds no usable key. Before the look-up, a key that has opened no project
here so far costs its address one of its wrong tokens, and a right key gives that token back. So guesses make no work
for the store, and keys in use are not refused because of them. An address of this machine pays only for wrong keys,
after the look-up: all clients may come from here through a proxy, and a right key must not wait for the guesses of
others. On a server without a token, a request without a key is the operator's, as on the other routes, and so is one
with a text that cannot be a project's key: clients of other servers always send one. A project's key must still be
right there: a revoked one opens no project, and never counts as no key.

A project's key also opens a WebSocket, whose session answers from the project's documents, and the page's routes that
take a user's token, for what is the project's.
"""

import re
import secrets
from collections import OrderedDict
from hashlib import sha256

import trio

from ...errors import AgentError, StorageFailed
from ...ports.projects import ProjectKey, ProjectStore
from ...protocol.route import Access
from ..addresses import THIS_MACHINE
from ..admission import Admission, parse_bearers
from ..rates import Rates
from ..request_head import Head
from ..service import Caller, ShownKey

KEYS_REMEMBERED = 1000  # of projects that have worked: they are looked up also while other keys are guessed

_PREFIX = b"ak_"
KEY = re.compile(rb"ak_[A-Za-z0-9_-]{22,86}")
"""The form of a project's key. Other text is not looked up."""


def make_key() -> str:
    """Return a new key of 32 random bytes."""
    return f"ak_{secrets.token_urlsafe(32)}"


def hash_key(key: str) -> str:
    """Return the form in which a key is stored: its SHA-256 in hex."""
    return sha256(key.encode()).hexdigest()


class TooManyGuesses(AgentError):
    """An address has shown more wrong keys than `WRONG_TOKENS` per minute."""


class Keys:
    """Finds the caller of a request.

    `wrong`: the rate of wrong keys per address. `projects`: the store of the projects' keys; None if there are no
    projects.
    """

    def __init__(self, admission: Admission, wrong: Rates, projects: ProjectStore | None = None) -> None:
        self._admission = admission
        self._projects = projects
        self._wrong = wrong
        self._good_digests: OrderedDict[str, None] = OrderedDict()  # digests that did, the last used last

    async def caller_for(self, access: Access, head: Head, address: str | None) -> Caller | None:
        """Return the caller if it has the `access`, else None. Raises as `find_caller` does."""
        if access == "owner" and (user := self._find_user(head)):
            return Caller(keyed=True, key="", user=user)
        if access in ("owner", "project", "operator"):
            return await self.find_caller(head, address)
        shown = await self.find_shown_key(head, address) if access == "user" else None
        if shown is not None:
            return Caller(shown.project, True, shown.id) if shown.project is not None else None
        self.check_guesses(head, address)
        if access == "token" and not self._admission.shows_operator_token(head):
            return None
        if access == "user" and not self._admission.may_open_socket(head):
            return None
        return Caller()

    def _find_user(self, head: Head) -> str:
        """Return the name of the user whose token is the only key that a request shows, as a bearer; else ""."""
        keys = _find_keys(head)
        if len(keys) != 1 or keys != set(parse_bearers(head.values(b"authorization"))):
            return ""
        (key,) = keys
        if self._admission.is_token(key) or key.startswith(_PREFIX):
            return ""
        return self._admission.find_token_user(head)

    async def find_shown_key(self, head: Head, address: str | None) -> ShownKey | None:
        """Return the project's key that a request shows as a bearer; None if it shows no such text.

        A key that opens nothing is returned without a project, and so are several keys. Raises as `find_caller` does.
        """
        shown = self._list_keys(head)
        if not shown:
            return None
        key = next(iter(shown))
        if len(shown) > 1 or KEY.fullmatch(key) is None:
            self._guess(address)
            return ShownKey("", None)
        digest = hash_key(key.decode("ascii"))
        found = await self._find_key(digest, address)
        return ShownKey(digest, None) if found is None else ShownKey(digest, found.project, found.id)

    def shows_key(self, head: Head) -> bool:
        """Return whether a request shows a text that begins as a project's key does, as a bearer."""
        return bool(self._list_keys(head))

    def _list_keys(self, head: Head) -> set[bytes]:
        shown = {each for each in self._admission.list_bearers(head) if each.startswith(_PREFIX)}
        return {each for each in shown if not self._admission.is_token(each)}

    def check_guesses(self, head: Head, address: str | None) -> None:
        """Count a wrong token, whatever its route needs. Raises `TooManyGuesses` if `address` has shown too many.

        The right token is never refused because of wrong ones: a lock on an address would also lock out the other
        clients behind it, and the token is too long to be guessed. The limit saves the work on guesses.
        """
        if self._admission.shows_wrong_token(head):
            self._guess(address)

    async def find_caller(self, head: Head, address: str | None) -> Caller | None:
        """Return the caller that a request's key belongs to; None for a wrong or missing key, or several keys.

        Raises `TooManyGuesses` if `address` has shown too many wrong keys, and `agent.errors.StorageFailed`.
        """
        keys = _find_keys(head)
        if self._admission.token is None:
            keys = {each for each in keys if each.startswith(_PREFIX)}
        if not keys:  # no guess: it may come from a page that will ask for a key
            return Caller() if self._admission.token is None else None
        key = next(iter(keys))
        if len(keys) == 1 and self._admission.is_token(key):
            return Caller(keyed=True)
        if len(keys) > 1 or KEY.fullmatch(key) is None:
            self._guess(address)
            return None
        found = await self._find_key(hash_key(key.decode("ascii")), address)
        return Caller(found.project, True, found.id) if found is not None else None

    async def _find_key(self, digest: str, address: str | None) -> ProjectKey | None:
        """Return a key that opens a project, or None for a wrong key, which is counted."""
        trusted = digest in self._good_digests or address == THIS_MACHINE
        if not trusted:
            self._guess(address)
        try:
            found = None if self._projects is None else await self._projects.find_key(digest)
        except StorageFailed:
            if not trusted:
                self._wrong.give_back(address, trio.current_time())
            raise
        if found is None:
            self._good_digests.pop(digest, None)
            if trusted:
                self._guess(address)
            return None
        if not trusted:
            self._wrong.give_back(address, trio.current_time())
        self._good_digests[digest] = None
        self._good_digests.move_to_end(digest)
        if len(self._good_digests) > KEYS_REMEMBERED:
            self._good_digests.popitem(last=False)
        return found

    def _guess(self, address: str | None) -> None:
        if not self._wrong.take(address, trio.current_time()):
            raise TooManyGuesses("too many wrong keys came from this address")


def _find_keys(head: Head) -> set[bytes]:
    """Return the different keys that a request shows."""
    own = (value.strip() for value in head.values(b"x-agent-key"))
    return {*own, *parse_bearers(head.values(b"authorization"))}
