"""Requests with an `Idempotency-Key`: a repeated request gets the answer of the first one, and has no effect.

Only good answers are stored; a failed request may be tried again under its key. An answer is stored before it is
written, so that a client that lost it gets the same one again. A key belongs to its caller; with another body it is
refused.
"""

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress

import trio

from ...config import IDEMPOTENCY_KEY, STORE_TIMEOUT
from ...errors import StorageFailed
from ...ports.requests import RequestStore, StoredAnswer
from ...protocol.problems import ProblemError
from ..request_head import Head
from ..responses import Answer

_KEY = re.compile(rb"[\x21-\x7e]{1,%d}" % IDEMPOTENCY_KEY)
REPLAYED = {"Idempotent-Replayed": "true"}


def parse_idempotency_key(head: Head) -> str | None:
    """Return the `Idempotency-Key` of a request, or None. Raises `ProblemError` for several keys or a malformed one."""
    named = head.values(b"idempotency-key")
    if not named:
        return None
    if len(named) > 1 or _KEY.fullmatch(named[0]) is None:
        raise ProblemError(
            "bad_request", f"Send one Idempotency-Key of 1 to {IDEMPOTENCY_KEY} printable ASCII characters."
        )
    return named[0].decode("ascii")


async def answer_once(
    requests: RequestStore,
    owner: str,
    key: str,
    digest: str,
    at: int,
    project: str,
    act: Callable[[], Awaitable[Answer]],
) -> Answer:
    """Return the answer of `act`, or its stored answer if this request came before.

    Raises as `RequestStore.begin_request` and `act` do. After an exception of `act`, or its cancellation, the key is
    free again.
    """
    before = None
    with trio.move_on_after(
        STORE_TIMEOUT, shield=True
    ) as noting:  # a half-recorded key would stay in progress
        before = await requests.begin_request(owner, key, digest, at, project)
    if noting.cancelled_caught:
        raise StorageFailed("a request could not be noted in time")
    if before is not None:
        return Answer(status=before.status, content=before.body, headers=REPLAYED)
    stored: StoredAnswer | None = None
    try:
        answer = await act()
        if answer.status < 300:
            content = answer.content if answer.stored_content is None else answer.stored_content
            stored = StoredAnswer(answer.status, content, answer.created_project)
        return answer
    finally:
        with trio.move_on_after(STORE_TIMEOUT, shield=True), suppress(StorageFailed):
            await requests.record_answer(owner, key, stored)
