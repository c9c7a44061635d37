"""Requests that name an `Idempotency-Key`: the same one again gets the answer of the first, and does nothing.

What is kept is a good answer; one that failed may be tried again under its key. It is kept before anybody is told, so
that who heard nothing and asks again hears the same. A key belongs to who calls; with another body it is refused.
"""

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress

import trio

from ...config import IDEMPOTENCY_KEY, STORE_TIMEOUT
from ...errors import StorageFailed
from ...ports.requests import Answered, RequestStore
from ...protocol.problems import Unanswerable
from ..answers import Answer
from ..sniff import Head

_KEY = re.compile(rb"[\x21-\x7e]{1,%d}" % IDEMPOTENCY_KEY)
REPLAYED = {"Idempotent-Replayed": "true"}


def key_of(head: Head) -> str | None:
    """Return the key that a request names, None where it names none. Raises Unanswerable for one that is none."""
    named = head.values(b"idempotency-key")
    if not named:
        return None
    if len(named) > 1 or _KEY.fullmatch(named[0]) is None:
        raise Unanswerable(
            "bad_request", f"Send one Idempotency-Key of 1 to {IDEMPOTENCY_KEY} printable ASCII characters."
        )
    return named[0].decode("ascii")


async def once(
    requests: RequestStore,
    owner: str,
    key: str,
    digest: str,
    at: int,
    project: str,
    act: Callable[[], Awaitable[Answer]],
) -> Answer:
    """Return what `act` answers, or what it answered when this request came before.

    Raises what `RequestStore.first` does, and what `act` does, after which the key is free again; cancelled, too.
    """
    before = None
    with trio.move_on_after(
        STORE_TIMEOUT, shield=True
    ) as noting:  # half noted, the key would stay in progress
        before = await requests.first(owner, key, digest, at, project)
    if noting.cancelled_caught:
        raise StorageFailed("a request could not be noted in time")
    if before is not None:
        return Answer(before.status, before.body, REPLAYED)
    kept: Answered | None = None
    try:
        answer = await act()
        if answer.status < 300:
            content = answer.content if answer.kept is None else answer.kept
            kept = Answered(answer.status, content, answer.made)
        return answer
    finally:
        with trio.move_on_after(STORE_TIMEOUT, shield=True), suppress(StorageFailed):
            await requests.answered(owner, key, kept)
