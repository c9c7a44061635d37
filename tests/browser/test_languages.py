"""The chat page in Swedish: whatever the server sends is said in Swedish, by its code. The server is a stand-in."""

import json
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import pytest

from agent.protocol.asyncapi import CLOSE_CODES
from agent.protocol.outbound import ActionClosed, Error

from . import check_accessibility
from .conftest import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import WebSocketRoute

pytestmark = pytest.mark.proof

ENGLISH = "This sentence is of the server."
WELCOME = {
    "type": "welcome",
    "session": "s",
    "protocol": 1,
    "limits": {
        "maxFrame": 65536,
        "maxText": 8000,
        "queuedMessages": 8,
        "liveSuggestions": 8,
        "confirmSeconds": 120,
        "rateLimit": 20,
    },
}
SUGGESTED = {
    "type": "action_suggestion",
    "suggestionId": "a",
    "action": "send_sms",
    "payload": {"phone": "070"},
}
BLOCKED = ("no_sources", "memory_unread", "number_mismatch", "model_failed")
RESULTS: tuple[dict[str, Any], ...] = (
    {"success": False, "error": "The webhook refused the action (status 404)."},
    {"success": False, "unknown": True, "error": "The server stopped before the outcome was known."},
    {"expired": True},
    {"cancelled": True},
    {"ignored": True},
)


def frames() -> list[dict[str, Any]]:
    """Return a frame for each thing that goes wrong, each after what it is about."""
    made: list[dict[str, Any]] = [
        {"type": "error", "code": code, "message": f"{ENGLISH} Ask again, or report fault f-{code}."}
        for code in get_args(get_type_hints(Error)["code"])
    ]
    for reason in get_args(get_type_hints(ActionClosed)["reason"]):
        made += [SUGGESTED, {"type": "action_closed", "suggestionId": "a", "reason": reason}]
    for result in RESULTS:
        made += [SUGGESTED, {"type": "action_executed", "suggestionId": "a", "result": result}]
    return made


def test_whatever_the_server_refuses_is_said_in_swedish(address: str, open_page: OpenPage) -> None:
    """Each error with the id of its log line, each refusal, each end of a suggestion and each reason of an outcome."""
    page = open_page("about:blank", lang="sv", width=360)

    def answer(socket: "WebSocketRoute", text: str | bytes) -> None:
        frame = json.loads(text)
        if frame["type"] != "message":
            return
        code = frame["text"]
        blocked = {"code": code, "message": ENGLISH}
        socket.send(json.dumps({"type": "stream_end", "reason": "done", "id": frame["id"]}))
        response = {
            "type": "response",
            "text": "",
            "citations": [],
            "id": frame["id"],
            "blocked": blocked,
        }
        socket.send(json.dumps(response))

    def serve_socket(socket: "WebSocketRoute") -> None:
        socket.on_message(lambda text: answer(socket, text))
        for frame in (WELCOME, *frames()):
            socket.send(json.dumps(frame))

    page.route_web_socket("**/ws", serve_socket)
    page.goto(address)
    page.locator("#state[data-state=idle]").wait_for()
    for code in BLOCKED:
        page.locator("#question").fill(code)
        page.locator("#question").press("Enter")
    page.locator("#log .answer.ended").nth(len(BLOCKED) - 1).wait_for()
    log = page.locator("#log").inner_text()
    assert "f-internal" in log
    assert "(status 404)" in log
    english = [word for word in (ENGLISH, "Ask again", "The ", "was ", "report", "fault") if word in log]
    assert english == []
    assert len(page.locator("#log > li").all()) > len(get_args(get_type_hints(Error)["code"]))
    check_accessibility(page)


def test_every_close_of_the_server_is_said_or_retried(address: str, open_page: OpenPage) -> None:
    """In Swedish where it is worth a sentence; no reason of the server is repeated."""
    for code in sorted(set(CLOSE_CODES) - {1000, 1007}):
        page = open_page("about:blank", lang="sv")
        closing: list[Any] = []

        def serve_socket(socket: "WebSocketRoute", closing: list[Any] = closing) -> None:
            socket.send(json.dumps(WELCOME))
            closing.append(socket)

        page.route_web_socket("**/ws", serve_socket)
        page.goto(address)
        page.locator("#state[data-state=idle]").wait_for()
        closing[0].close(code=code, reason=ENGLISH)
        page.locator("#state:not([data-state=idle])").wait_for()
        assert ENGLISH not in page.locator("body").inner_text()
        page.context.close()
