"""Reads the file of users with tokens of their own: lines `name = "token"`, in TOML.

A user's token opens the chat page's socket, its openers and its sources, as that user, and over HTTP the user's own
things. It does not open the operator's routes: the metrics, the rest of the HTTP API and plain questions. So a user's
name is never a client's claim.
"""

import hmac
import tomllib
from pathlib import Path

from ..errors import UsageError
from .settings import TOKEN_MIN
from .visitors import VISITOR

USERS_MOST = 1000  # with tokens of their own: a token is compared with all, in 0.3 ms
USERS_FILE_BYTES = 256 * 1024
USER_NAME = 128  # characters

NAME_RULE = f"one line of 1 to {USER_NAME} characters, and must not begin with {VISITOR}"
_LIKE = 'it must hold lines like ana = "a token that is hard to guess"'


class Users:
    """Users by their tokens. `tokens`: tokens as UTF-8, by user name."""

    def __init__(self, tokens: dict[str, bytes] | None = None) -> None:
        self._tokens = tokens or {}

    def find_user(self, token: bytes) -> str:
        """Return the name of the user with this token, or "". Compares every token, each in constant time."""
        user = ""
        for name, secret in self._tokens.items():
            if hmac.compare_digest(token, secret):
                user = name
        return user


def is_user_name(name: str) -> bool:
    """Return whether a token may name the user `name`."""
    return 0 < len(name) <= USER_NAME and name.isprintable() and not name.startswith(VISITOR)


def read_users(path: Path, token: str | None) -> Users:
    """Read the users of a file. `token`: the operator's, which no user may have. Blocks; called at the start.

    Raises `agent.errors.UsageError`, one line that names the file and never a token, if the file cannot be used.
    """
    try:
        with path.open("rb") as file:
            data = file.read(USERS_FILE_BYTES + 1)
        if len(data) > USERS_FILE_BYTES:
            raise _file_error(path, f"it has over {USERS_FILE_BYTES} bytes")
        found = tomllib.loads(data.decode())
    except OSError as error:
        raise _file_error(path, f"it cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):  # its message may quote a token
        raise _file_error(path, _LIKE) from None
    named: dict[str, bytes] = {}
    for name, secret in found.items():
        if not is_user_name(name):
            raise _file_error(path, f"a name must be {NAME_RULE}")
        if not isinstance(secret, str):
            raise _file_error(path, _LIKE)
        if not (secret.isascii() and secret.isprintable() and secret.strip() == secret):
            raise _file_error(path, f"the token of {name} must be printable ASCII, without spaces around it")
        if len(secret) < TOKEN_MIN:
            raise _file_error(path, f"the token of {name} must have at least {TOKEN_MIN} characters")
        if secret == token or secret.encode() in named.values():
            raise _file_error(path, f"the token of {name} is another's, too; give each a token of its own")
        named[name] = secret.encode()
    if not 0 < len(named) <= USERS_MOST:
        raise _file_error(path, f"it must name 1 to {USERS_MOST} users; {_LIKE}")
    return Users(named)


def _file_error(path: Path, why: str) -> UsageError:
    return UsageError(f"users {path}: {why}")
