"""Who calls: the operator, whose key is the server's token, or a project, which has keys of its own.

A key is shown as `X-AGENT-KEY` or as `Authorization: Bearer`. The token is compared in constant time; a project's key
is looked up by its SHA-256, so that nothing that is kept opens anything. Where the server has no token, who shows no
key is the operator, as on the other routes; a key that is shown must be right all the same: one that was revoked opens
nothing, and not everything.
"""

import re
import secrets
from dataclasses import dataclass
from hashlib import sha256

from ...ports.projects import ProjectStore
from ..admission import Admission, bearers
from ..sniff import Head

KEY = re.compile(rb"ak_[A-Za-z0-9_-]{22,86}")
"""What a project's key looks like: anything else is not looked up."""
OPERATOR = "operator"


def make_key() -> str:
    """Return a new key of 32 random bytes."""
    return f"ak_{secrets.token_urlsafe(32)}"


def digest_of(key: str) -> str:
    """Return what is kept of a key: its SHA-256 in hex."""
    return sha256(key.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls. project: the only one that is there for it; None for the operator. keyed: whether a key was shown."""

    project: str | None = None
    keyed: bool = False

    @property
    def name(self) -> str:
        """What its requests are counted and kept under."""
        return OPERATOR if self.project is None else f"project {self.project}"

    def may_see(self, project: str | None) -> bool:
        """Whether a project that was named, if one was, is there for it."""
        return self.project is None or project is None or project == self.project


class Keys:
    """Finds out who calls."""

    def __init__(self, admission: Admission, projects: ProjectStore) -> None:
        self._admission = admission
        self._projects = projects

    async def caller(self, head: Head) -> Caller | None:
        """Return who shows the key that a request shows; None for a wrong one, several, or none where one is needed.

        Raises `agent.errors.StorageFailed`.
        """
        keys = _shown(head)
        if not keys:
            return Caller() if self._admission.token is None else None
        if len(keys) > 1:
            return None
        (key,) = keys
        if self._admission.is_token(key):
            return Caller(keyed=True)
        if KEY.fullmatch(key) is None:
            return None
        project = await self._projects.project_of_key(digest_of(key.decode("ascii")))
        return Caller(project, True) if project is not None else None

    @staticmethod
    def shows_one(head: Head) -> bool:
        """Whether a request shows any key; one that shows none may be a page that will ask for it."""
        return bool(_shown(head))


def _shown(head: Head) -> set[bytes]:
    """Return the different keys that a request shows."""
    own = (value.strip() for value in head.values(b"x-agent-key"))
    return {*own, *bearers(head.values(b"authorization"))}
