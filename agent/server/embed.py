"""Serves the bubble for other websites: its script, `/embed.js`, and its first request, `/embed.json`.

Any website may load the script, which is the same for all. Whether it may be used there, the browser learns from the
answer to `/embed.json`: a page of an origin that is not allowed is refused there as everywhere (`admission.py`), and
only an allowed one may read the answer. Then all goes over the WebSocket, whose upgrade checks the origin again.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from .request_head import Head
from .responses import JSON, Answer
from .service import DoorHandler

_FOR_ALL = {
    "cross-origin-resource-policy": "cross-origin",
    "access-control-allow-origin": "*",
    "cache-control": "max-age=300",
}


def wrap_script(script: bytes) -> bytes:
    """Return a script whose names no other script of its page sees."""
    return b"(() => {\n" + script + b"})();\n"


def make_embed_handlers(
    answer_script: Callable[[Head], Answer], *, name: str, greeting: str, guests: bool
) -> Mapping[str, DoorHandler]:
    """Return the handlers of the bubble's routes, by their names in `agent.protocol.paths`.

    `answer_script`: answers with the script. `guests`: whether a visitor without a token may chat.
    """
    config = json.dumps({"name": name, "greeting": greeting, "guests": guests}).encode()

    async def of_script(head: Head, _: Mapping[str, str]) -> Answer:
        answer = answer_script(head)
        return replace(answer, headers={**answer.headers, **_FOR_ALL})

    async def of_config(head: Head, _: Mapping[str, str]) -> Answer:
        return Answer(status=200, content=config, headers=_let_read(head), kind=JSON)

    return {"embed": of_script, "embed_config": of_config}


def _let_read(head: Head) -> Mapping[str, str]:
    """Return the headers that let pages of the request's origin read its answer (Fetch, 3.3); admission let it pass."""
    (origin, *_) = (*head.values(b"origin"), b"")
    allowed = {"access-control-allow-origin": origin.decode("ascii", "ignore")} if origin else {}
    return {**allowed, "vary": "origin"}
