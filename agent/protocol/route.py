"""The record of a route: one method of one path of HTTP, as the server and its descriptions need it; pure.

A path's parts in braces are names: letters, digits and `._~-`, at most `MAX_ID`; any other name does not exist, and
neither does a path in another spelling (percent escapes, an extra slash). A last part `{name:path}` takes any rest.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

import msgspec

from ..config import BODY_MAX, MAX_ID
from .http import NoQuery, Upload

Access: TypeAlias = Literal["open", "user", "token", "owner", "project", "operator"]
"""The client that may use a route: any; one with the token or a user's own; one with the token; the user whose things
it is about, with a token of the user's own, or one with a key of the operator or of the project in question; one with
such a key; one with a key of the operator.
"""
Shape: TypeAlias = Literal["plain", "openai", "rpc", "problem"]
"""The form of a path's errors: words, an error in the form of OpenAI's services, an error of JSON-RPC, or
`application/problem+json`.
"""
Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]

_PART = rf"[A-Za-z0-9._~-]{{1,{MAX_ID}}}"


@cache
def _path_pattern(path: str) -> "re.Pattern[str]":
    return re.compile("/".join(map(_part_pattern, path.split("/"))), re.DOTALL)


def _part_pattern(part: str) -> str:
    if not part.startswith("{"):
        return re.escape(part)
    name, _, rest = part[1:-1].partition(":")
    return f"(?P<{name}>{'.*' if rest else _PART})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method of one path.

    `name` is of its handler, and its operation. `answers` maps each good status to its Struct, None for an empty body
    or one that no Struct describes; those of a page are all of its statuses. `access` is, unless given, a key of the
    project or the operator. `problems` are codes beyond those of every request. `turn` says that it may take as long as
    a turn does, and ends with its client. `events` says that the answer can be had as events. `body_optional` says that
    its body may be left out. `shape` is of its errors, `kind` the media type of its answers. `live` says that its
    events have no end. `other` is the Struct of its answer in another form. `body_most` bounds the body in
    bytes; where that is more than usual, the handler gets the bytes.
    """

    name: str
    method: Method
    path: str
    summary: str
    access: Access = "project"
    answers: Mapping[int, type[msgspec.Struct] | None]
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] = NoQuery
    problems: tuple[str, ...] = ()
    turn: bool = False
    events: bool = False
    body_optional: bool = False
    shape: Shape = "problem"
    kind: str = "application/json"
    live: bool = False
    other: type[msgspec.Struct] | None = None
    body_most: int = BODY_MAX

    @property
    def pattern(self) -> "re.Pattern[str]":
        """The pattern of its path, with a group for each name in it."""
        return _path_pattern(self.path)

    @property
    def template(self) -> str:
        """The path as the OpenAPI document writes it."""
        return self.path.replace(":path}", "}")

    @property
    def names(self) -> tuple[str, ...]:
        """The parts of the path that are names, in order."""
        return tuple(self.pattern.groupindex)

    @property
    def has_body(self) -> bool:
        """Whether a body is read."""
        return self.body is not None

    @property
    def takes_raw_body(self) -> bool:
        """Whether the handler reads the body, which may be too large to be read beside other requests."""
        return self.body_most > BODY_MAX

    @property
    def uploads(self) -> bool:
        """Whether its body is a file and not JSON."""
        return self.body is Upload
