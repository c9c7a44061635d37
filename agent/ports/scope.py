"""Whose a question is: which project's, in which conversation, by which user."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """Three names, each "" where it is not known. Nobody may be shown what belongs to another scope.

    project: what the server was set up for. thread: one conversation; a connection is one. user: who asks.
    """

    project: str = ""
    thread: str = ""
    user: str = ""


NO_SCOPE = Scope()
