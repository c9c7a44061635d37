"""Finds the user whose things a request is about, on the routes that users may call themselves (the access `owner`).

A user's own token names its user, who has no other user's things, and none of a project. The operator and a project's
key name the user by `user_id`.
"""

from typing import Any

from msgspec import UNSET

from ...ports.conversation import NO_SCOPE, Scope
from ...protocol.problems import ProblemError, missing_fields
from ...protocol.route import Route
from ..service import AdmittedRequest, Caller


def check_owner(caller: Caller, route: Route, query: Any = None, body: Any = None) -> None:
    """Check that the caller of an owner's route may call it for the user that its `query` or `body` names.

    Raises `agent.protocol.problems.ProblemError`: `bad_request` where the operator or a project's key names no user,
    and `not_found`, as for things that never existed, where a user names another user.
    """
    given = query if body is None else body
    named = getattr(given, "user_id", UNSET)
    if route.access != "owner" or given is None:
        return
    if caller.user:
        if named not in (UNSET, None, caller.user):
            raise ProblemError("not_found")
    elif named is UNSET and hasattr(given, "user_id"):
        if body is not None:
            raise missing_fields("user_id")
        raise ProblemError("bad_request", "The query's user_id: Add this field.")


def find_owner(admitted: AdmittedRequest, body: Any, project: str, own_project: str) -> Scope:
    """Return the scope of the user whose things a request is about; `NO_SCOPE` on a route without the access `owner`.

    `project`: of the request. `own_project`: in which users with tokens of their own have their things.
    """
    if admitted.route.access != "owner":
        return NO_SCOPE
    if admitted.caller.user:
        return Scope(own_project, "", admitted.caller.user)
    named = getattr(admitted.query if body is None else body, "user_id", None)
    return Scope(project, "", named or getattr(admitted.query, "user_id", None) or "")
