"""The bubble: who may load and ask for what, and its conversation against a socket that is played here."""

import json
import re
from functools import cache
from gzip import compress
from typing import Any

import pytest
import quickjs

from agent.protocol.codec import decode
from agent.protocol.inbound import Cancel, ConfirmAction, Message, OpenThread, RejectAction
from agent.server.admission import Admission
from agent.server.embed import wrap_script
from agent.server.page_bundle import join_modules
from agent.server.page_routes import PageContents, read_module
from agent.server.settings import ServerSettings

from ..client.test_agent_js import HARNESS, MODULE
from . import exchange, later, page, parted

SHOP, OTHER = "https://shop.example", "https://evil.example"
CONTENTS = PageContents(
    asyncapi=b"",
    session_diagram="",
    metrics=later(lambda: b""),
    unready=later(lambda: ""),
    name="Almvik",
    greeting="Hej & hå",
    guests=False,
)
EDGE = page(CONTENTS, Admission.of(ServerSettings(allow_origin=(SHOP,), token="a-token-of-length")))


async def get(path: str, *headers: str, host: str = "localhost") -> tuple[int, dict[str, str], bytes]:
    """Ask the server; return status, headers and body."""
    lines = "".join(f"{each}\r\n" for each in ("Connection: close", *headers))
    return parted(await exchange(EDGE, f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n".encode()))


async def test_any_website_may_load_the_script() -> None:
    """As a plain script and, with its origin, as one whose content it checks; small, and cached for minutes."""
    status, headers, body = await get("/embed.js")
    assert status == 200
    assert headers["content-type"] == "text/javascript; charset=utf-8"
    assert headers["cross-origin-resource-policy"] == "cross-origin"
    assert headers["access-control-allow-origin"] == "*"
    assert headers["cache-control"] == "max-age=300"
    assert len(compress(body)) < 100_000
    status, again, packed = await get("/embed.js", "Accept-Encoding: gzip", f"Origin: {SHOP}")
    assert (status, again["content-encoding"], again["vary"]) == (200, "gzip", "accept-encoding")
    assert len(packed) < 100_000
    assert (await get("/embed.js", f"If-None-Match: {headers['etag']}"))[0] == 304


async def test_only_an_allowed_page_may_read_what_comes_first() -> None:
    """The name, the greeting, and whether guests may chat; for its own pages and programs without more."""
    status, headers, body = await get("/embed.json", f"Origin: {SHOP}")
    assert status == 200
    assert (headers["access-control-allow-origin"], headers["vary"]) == (SHOP, "origin")
    assert "access-control-allow-credentials" not in headers
    assert json.loads(body) == {"name": "Almvik", "greeting": "Hej & hå", "guests": False}
    status, headers, _ = await get("/embed.json")
    assert status == 200
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("path", ["/embed.json", "/embed.js", "/ws", "/"])
@pytest.mark.parametrize(
    "shown",
    [
        (f"Origin: {OTHER}",),
        ("Origin: null",),
        (f"Origin: {SHOP}.evil.example",),
        ("Origin: https://shop.example:444",),
        ("Origin: http://shop.example",),
        (f"Origin: {SHOP}", f"Origin: {OTHER}"),
    ],
)
async def test_a_page_of_another_origin_is_refused(path: str, shown: tuple[str, ...]) -> None:
    """Before anything else, and its browser lets it read nothing of that."""
    upgrade = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + "A" * 22 + "==")
    for extra in ((), (*upgrade, "Connection: Upgrade") if path in ("/ws", "/") else ()):
        status, headers, _ = await get(path, *shown, *extra)
        assert status == 403
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("path", ["/embed.json", "/embed.js"])
async def test_a_rebound_name_is_refused(path: str) -> None:
    """A foreign name that leads to this address, also with an origin that is allowed."""
    for origin in ((), (f"Origin: {SHOP}",), ("Origin: http://evil.example",)):
        assert (await get(path, *origin, host="evil.example"))[0] == 421


@pytest.mark.parametrize(
    "path", ["/", "/openers.json", "/healthz", "/agent.js", "/asyncapi.json", "/source/kb/a.md"]
)
async def test_an_allowed_page_reads_nothing_else(path: str) -> None:
    """No other route says that another origin may read it."""
    _, headers, _ = await get(path, f"Origin: {SHOP}", "Authorization: Bearer a-token-of-length")
    assert "access-control-allow-origin" not in headers
    assert headers["cross-origin-resource-policy"] == "same-origin"


# --- its code

WATCH = """
let given = [];
const warned = [];
const token = () => {
  const next = given.length > 1 ? given.shift() : given[0];
  return next instanceof Error ? Promise.reject(next) : next;
};
const hear = (event) => event.kind === "state" || log.push(event);
const chat = new Chat("http://h:1", token, hear, {
  WebSocket: Played, warn: (text) => warned.push(text), lang: LANG,
});
"""


class Bubble:
    """The conversation of a bubble, and the server's end of its sockets."""

    def __init__(self, *tokens: Any, lang: str | None = None) -> None:
        self._context = quickjs.Context()
        client = re.sub("^export ", "", MODULE, flags=re.MULTILINE)
        chat = re.sub(r"^import .*;\n|^export ", "", read_module("/static/embed_chat.js"), flags=re.MULTILINE)
        hasown = "Object.hasOwn ??= (of, name) => Object.prototype.hasOwnProperty.call(of, name);"
        start = f"const TOKEN = null; const LANG = {json.dumps(lang)};"
        self._context.eval(f"{hasown} {start} {client} {HARNESS} {chat} {WATCH}")
        self.run(f"given = {json.dumps(list(tokens))}, 0")

    def run(self, source: str) -> Any:
        """Evaluate an expression, and let what waits go on."""
        value = self._context.eval(source)
        while self._context.execute_pending_job():
            pass
        return value

    def read(self, source: str) -> Any:
        """Return an expression's value, by way of JSON."""
        return json.loads(self.run(f"JSON.stringify({source})"))

    def ask(self, text: str = "cost?") -> str:
        """Ask; return the question's id."""
        return str(self.run(f"chat.ask({json.dumps(text)})"))

    def tell(self, *frames: dict[str, Any]) -> None:
        """Send frames from the server over the last socket."""
        for frame in frames:
            self.run(f"sockets[sockets.length - 1].tells({json.dumps(json.dumps(frame))})")

    def welcome(self, memory: bool = False) -> None:
        """Open the last socket."""
        self.run("sockets[sockets.length - 1].opens()")
        self.tell({"type": "welcome", "session": "s", "protocol": 1, "limits": {}, "memory": memory})

    def close(self, code: int, reason: str = "") -> None:
        """Close the last socket."""
        self.run(f"sockets[sockets.length - 1].close({code}, {json.dumps(reason)})")

    def wait(self, most: int = 60_000) -> None:
        """Let the timers of so many milliseconds go off."""
        self.run(f"due({most})")

    def sent(self) -> list[Any]:
        """Return what was sent over the last socket since the last call, as the server reads it."""
        return [decode(text) for text in self.read("sockets[sockets.length - 1].sent.splice(0)")]

    def log(self) -> list[tuple[str, str]]:
        """Return what was heard since the last call: each event's kind, and what it says most of all."""
        events = self.read("log.splice(0)")
        return [
            (each["kind"], each.get("why") or each.get("text") or each.get("frame", {}).get("text", ""))
            for each in events
        ]

    @property
    def state(self) -> str:
        """The state of the conversation."""
        return str(self.run("chat.state"))

    @property
    def sockets(self) -> int:
        """How many connections there were."""
        return int(self.run("sockets.length"))


CALL = {"type": "action_suggestion", "suggestionId": "s1", "action": "a", "payload": {}, "id": "b1"}
ANSWER = {"type": "response", "text": "It is.", "citations": [], "id": "b1"}


def test_the_first_question_connects() -> None:
    """As a guest, without a token; nothing is connected before."""
    bubble = Bubble()
    assert (bubble.sockets, bubble.state) == (0, "idle")
    assert bubble.ask() == "b1"
    assert bubble.state == "connecting"
    assert bubble.read("sockets[0].protocols") == ["agent.v1"]
    bubble.welcome()
    assert bubble.sent() == [Message("b1", "cost?", progress=True)]
    assert (bubble.state, bubble.run("chat.step")) == ("buffering", "")
    bubble.tell(
        {"type": "progress", "id": "b1", "step": "searching"}, {"type": "progress", "id": "x", "step": "y"}
    )
    assert (bubble.state, bubble.run("chat.step")) == ("buffering", "searching")
    bubble.tell({"type": "stream", "id": "b1", "delta": "It is."})
    assert bubble.state == "streaming"
    bubble.tell({"type": "stream_end", "id": "b1", "reason": "done"}, ANSWER)
    assert bubble.log() == [("delta", "It is."), ("answered", "It is.")]
    assert bubble.state == "idle"
    bubble.ask("and then?")
    assert bubble.sockets == 1
    assert bubble.sent() == [Message("b2", "and then?", progress=True)]


def test_a_question_is_asked_in_the_language_that_the_website_names() -> None:
    """Otherwise the server finds out."""
    bubble = Bubble(lang="sv")
    bubble.ask()
    bubble.welcome()
    assert bubble.sent() == [Message("b1", "cost?", "sv", progress=True)]


def test_each_connection_has_a_token_of_its_own() -> None:
    """Which the website gives then: after the end of one, the next question asks for another."""
    bubble = Bubble("first", "second")
    bubble.ask()
    bubble.welcome()
    bubble.tell(ANSWER)
    bubble.close(4401, "the token is over: connect again with a new one")
    assert bubble.read("warned") == ["the connection ended: the token is over: connect again with a new one"]
    assert bubble.sockets == 1
    bubble.ask()
    assert bubble.read("sockets.map((each) => each.protocols[1])") == ["bearer.first", "bearer.second"]
    bubble.welcome()
    assert bubble.sent() == [Message("b2", "cost?", progress=True)]


def test_a_refused_token_is_renewed_once() -> None:
    """Then the question fails in words, and may be asked again."""
    bubble = Bubble("over", "good")
    bubble.ask()
    bubble.run("sockets[0].opens()")
    bubble.close(4401, "not authorised")
    bubble.welcome()
    assert bubble.sent() == [Message("b1", "cost?", progress=True)]
    assert bubble.log() == []

    bubble = Bubble("over")
    for _ in range(2):
        bubble.ask()
        for _ in range(2):
            bubble.run("sockets[sockets.length - 1].opens()")
            bubble.close(4401, "not authorised")
        assert bubble.log() == [("failed", "expired")]
        assert bubble.state == "idle"
    assert bubble.sockets == 4


@pytest.mark.parametrize("token", ["a b", 'a"b', "å", "a,b", "a\n", "x" * 5000, 7, {}])
def test_a_token_that_no_browser_can_send_is_told_to_the_developer(token: Any) -> None:
    """Without it, and no connection is opened."""
    bubble = Bubble(token)
    bubble.ask()
    assert bubble.log() == [("failed", "expired")]
    assert bubble.sockets == 0
    why = "the website gave no token of its user: its token is not one that a browser can send"
    assert bubble.read("warned") == [why]


def test_a_website_that_gives_no_token_is_not_waited_for_forever() -> None:
    """Neither where its function fails, nor where it never answers."""
    bubble = Bubble()
    bubble.run("given = [new Error('signed out')], 0")
    bubble.ask()
    assert bubble.log() == [("failed", "expired")]
    assert bubble.read("warned") == ["the website gave no token of its user: signed out"]
    bubble.run("given = [new Promise(() => {})], 0")
    bubble.ask()
    assert bubble.log() == []
    bubble.wait(20_000)
    assert bubble.log() == [("failed", "expired")]
    assert bubble.sockets == 0


def test_a_server_that_is_away_is_tried_a_few_times() -> None:
    """While a question waits; then it fails, and the next one tries again."""
    bubble = Bubble()
    bubble.ask()
    for tried in range(1, 5):
        assert bubble.sockets == tried
        bubble.close(1006)
        bubble.wait()
    assert bubble.sockets == 4
    assert bubble.log() == [("failed", "unreachable")]
    bubble.ask()
    assert bubble.sockets == 5
    bubble.close(1013, "all places are taken; come back in 400 s")
    assert bubble.log() == [("failed", "unreachable")]


def test_a_lost_connection_ends_what_was_open() -> None:
    """The question that was on its way, and the suggestions; nothing is asked twice by itself."""
    bubble = Bubble()
    bubble.ask()
    bubble.welcome()
    bubble.tell(CALL)
    assert bubble.read("[...chat.open]") == ["s1"]
    bubble.close(1001, "going down")
    assert bubble.log() == [("suggested", ""), ("failed", "interrupted"), ("lost", "")]
    assert (bubble.read("[...chat.open]"), bubble.state, bubble.sockets) == ([], "idle", 1)


def test_a_conversation_goes_on_in_its_thread() -> None:
    """Where the server remembers; a thread that is gone is opened anew."""
    bubble = Bubble()
    bubble.ask()
    bubble.welcome(memory=True)
    assert bubble.sent() == [OpenThread()]
    bubble.tell({"type": "thread", "thread": "t1"})
    assert bubble.sent() == [Message("b1", "cost?", progress=True)]
    bubble.close(1006)
    bubble.ask()
    bubble.welcome(memory=True)
    assert bubble.sent() == [OpenThread(thread="t1")]
    bubble.tell({"type": "error", "code": "unknown_thread", "message": "."})
    assert bubble.sent() == [OpenThread()]
    bubble.tell({"type": "error", "code": "memory_failed", "message": "."})
    assert bubble.sent() == [Message("b2", "cost?", progress=True)]


def test_a_suggestion_is_confirmed_or_declined_once() -> None:
    """With its outcome; a second result of a confirm that was ignored is no outcome."""
    bubble = Bubble()
    bubble.ask()
    bubble.welcome()
    bubble.tell(ANSWER, CALL, CALL | {"suggestionId": "s2"})
    assert bubble.state == "awaiting_confirmation"
    bubble.sent()
    bubble.run('chat.confirm("s1", { type: "confirm_action", suggestionId: "s1" }), chat.reject("s2")')
    assert bubble.sent() == [ConfirmAction("s1"), RejectAction("s2")]
    assert bubble.state == "executing"
    bubble.log()
    bubble.tell({"type": "action_closed", "suggestionId": "s1", "reason": "expired"})
    bubble.tell({"type": "action_executed", "suggestionId": "s1", "result": {"ignored": True}})
    assert bubble.log() == []
    bubble.tell({"type": "action_closed", "suggestionId": "s2", "reason": "rejected"})
    bubble.tell({"type": "action_executed", "suggestionId": "s1", "result": {"success": True}})
    assert [kind for kind, _ in bubble.log()] == ["closed", "executed"]
    assert bubble.state == "idle"


def test_a_confirm_that_lacks_something_can_be_repeated() -> None:
    """The suggestion stays; any other error ends it."""
    bubble = Bubble()
    bubble.ask()
    bubble.welcome()
    bubble.tell(ANSWER, CALL)
    for code, stays in (("bad_message", ["s1"]), ("unknown_suggestion", [])):
        bubble.run('chat.confirm("s1", { type: "confirm_action", suggestionId: "s1" })')
        bubble.tell({"type": "error", "code": code, "message": ".", "suggestionId": "s1"})
        assert bubble.read("[...chat.open]") == stays
        assert bubble.log()[-1][0] == "unaccepted"


def test_stop_cancels_what_was_sent_and_what_waits() -> None:
    """And what the server then says ends the question."""
    bubble = Bubble()
    bubble.ask()
    bubble.run("chat.stop()")
    assert bubble.log() == [("failed", "stopped")]
    bubble.ask()
    bubble.welcome()
    assert bubble.sent() == [Message("b2", "cost?", progress=True)]
    bubble.run("chat.stop()")
    assert bubble.sent() == [Cancel()]
    bubble.tell({"type": "stream_end", "id": "b2", "reason": "cancelled"})
    assert bubble.log() == [("failed", "stopped")]


def test_who_leaves_closes_and_who_comes_back_may_ask() -> None:
    """The browser may keep a page that was left."""
    bubble = Bubble()
    bubble.ask()
    bubble.welcome()
    bubble.run("chat.leave()")
    assert bubble.run("sockets[0].readyState") == 3
    bubble.log()
    bubble.run("chat.comeBack()")
    bubble.ask()
    assert bubble.sockets == 2


def test_errors_and_strange_frames_break_nothing() -> None:
    """A refused question ends, a broken turn still answers, and what is not known is nothing."""
    bubble = Bubble()
    bubble.ask()
    bubble.welcome()
    bubble.tell({"type": "constructor"}, {"type": "toString"}, {"type": "of a later server"}, {"no": "type"})
    bubble.tell(
        {"type": "response", "id": "nobody's", "text": "x"}, {"type": "stream", "id": 7, "delta": "x"}
    )
    bubble.tell({"type": "error", "code": "internal", "message": "broken", "id": "b1"})
    assert bubble.log() == [("note", "")]
    bubble.tell({"type": "error", "code": "rate_limited", "message": "fast", "id": "b1"})
    assert bubble.log() == [("failed", "refused")]


@cache
def script() -> quickjs.Context:
    """Return the entry's own functions; it says that it was loaded wrongly, and does nothing."""
    context = quickjs.Context()
    modules = join_modules("/static/embed.js", read_module)
    start = "var said = []; var console = { error: (text) => said.push(text) }; var document = { currentScript: null };"
    hasown = "Object.hasOwn ??= (of, name) => Object.prototype.hasOwnProperty.call(of, name);"
    context.eval(f"{start} {hasown} {modules}")
    return context


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        (["sv", "en", "en"], "sv"),
        ([None, "sv-SE", "en"], "sv"),
        (["", "", "SV"], "sv"),
        (["fi", "", "de-DE"], "en"),
        ([None, None, None], "en"),
        (["constructor", "__proto__", "sv"], "sv"),
    ],
)
def test_it_speaks_the_language_of_its_page(wanted: list[str | None], chosen: str) -> None:
    """The one that is asked for, else the page's, else the browser's, else the default."""
    (name,) = re.findall(
        r"const (module\d+) = \(\(\) => \{\n// A chat for any", join_modules("/static/embed.js", read_module)
    )
    call = f"{name}.chooseLanguage(...{json.dumps(wanted)})"
    assert script().eval(call) == chosen


def test_a_script_that_is_no_classic_one_says_so() -> None:
    """A module does not know its own element."""
    assert json.loads(script().eval("JSON.stringify(said)")) == [
        "agent: load /embed.js by a classic <script> with a src, not as a module or inline"
    ]


@pytest.mark.parametrize(
    ("color", "black"),
    [
        ((255, 213, 0), True),
        ((31, 95, 139), False),
        ((255, 255, 255), True),
        ((0, 0, 0), False),
        ((200, 30, 30), False),
    ],
)
def test_the_text_on_a_colour_can_be_read(color: tuple[int, int, int], black: bool) -> None:
    """Black or white, whichever has the higher contrast: at least 4.5."""
    (name,) = re.findall(
        r"const (module\d+) = \(\(\) => \{\n// The bubble's button",
        join_modules("/static/embed.js", read_module),
    )
    light = float(script().eval(f"{name}.luminance{color}"))
    assert (light > 0.179) is black
    assert max((light + 0.05) / 0.05, 1.05 / (light + 0.05)) >= 4.5


def test_the_script_leaves_no_name_behind() -> None:
    """Also where it is loaded twice."""
    context = quickjs.Context()
    loaded = wrap_script(join_modules("/static/embed.js", read_module).encode()).decode()
    context.eval("var console = { error() {} }; var document = { currentScript: null };")
    before = context.eval("Object.getOwnPropertyNames(globalThis).length")
    hasown = "Object.hasOwn ??= (of, name) => Object.prototype.hasOwnProperty.call(of, name);"
    context.eval(hasown)
    for _ in range(2):
        context.eval(loaded)
    assert context.eval("Object.getOwnPropertyNames(globalThis).length") == before
