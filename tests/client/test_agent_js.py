"""The client in JavaScript: its own code against a socket that is played here, and as a proof against a server."""

import json
import re
import shutil
import subprocess
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import quickjs
import trio
from trio_websocket import open_websocket_url

from agent import serve
from agent.guide.pages import read_page
from agent.protocol.asyncapi import CLOSE_CODES
from agent.protocol.codec import decode
from agent.protocol.inbound import Cancel, ConfirmAction, Message, OpenThread, RateAnswer, RejectAction

FOLDER = files("agent").joinpath("client", "js")
MODULE = FOLDER.joinpath("agent.js").read_text(encoding="utf-8")
TYPES = FOLDER.joinpath("agent.d.ts").read_text(encoding="utf-8")

HARNESS = """
const timers = [];
const setTimeout = (act, wait) => timers.push({ act, wait });
const clearTimeout = (number) => { timers[number - 1] = undefined; };
const due = (most) => timers.forEach((each, at) => {
  if (!each || each.wait > most) return;
  timers[at] = undefined;
  each.act();
});
const sockets = [];
class Played {
  constructor(url, protocols) {
    Object.assign(this, { url, protocols, sent: [], heard: {}, readyState: 0 });
    if (protocols[1] === "bearer.a b") throw new SyntaxError("no token");
    sockets.push(this);
  }
  addEventListener(kind, act) { this.heard[kind] = act; }
  send(text) { this.sent.push(text); }
  opens() { this.readyState = 1; this.heard.open(); }
  tells(data) { this.heard.message({ data }); }
  close(code, reason = "") { this.readyState = 3; this.heard.close({ code, reason }); }
}
const log = [];
const inWords = (error) => `${error.name} ${error.code}: ${error.message}`;
const note = (name) => (value) => { log.push([name, value instanceof Error ? inWords(value) : value]); };
const agent = connect("http://h:1", { token: TOKEN, WebSocket: Played, onEvent: note("late") });
async function read(turn, most = 99) {
  try {
    let count = 0;
    for await (const event of turn) { log.push(["event", event]); if (++count >= most) break; }
    log.push(["end", null]);
  } catch (error) { note("error")(error); }
}
class Signal {
  heard = new Set();
  addEventListener(_, act) { this.heard.add(act); }
  removeEventListener(_, act) { this.heard.delete(act); }
  abort() { this.aborted = true; this.reason = new Error("stop"); this.heard.forEach((each) => each()); }
}
"""
LIMITS: dict[str, Any] = {"type": "welcome", "session": "s", "protocol": 1, "limits": {}}
DELTA = {"type": "stream", "delta": "It is.", "id": "1"}
END = {"type": "stream_end", "reason": "done", "id": "1"}
ANSWER = {"type": "response", "text": "It is.", "citations": [], "id": "1"}
CALL = {"type": "action_suggestion", "suggestionId": "s1", "action": "a", "payload": {}, "id": "1"}


class Page:
    """A program with the client, and the server's end of its sockets."""

    def __init__(self, token: str | None = None) -> None:
        self._context = quickjs.Context()
        source = re.sub("^export ", "", MODULE, flags=re.MULTILINE)
        self._context.eval(f"const TOKEN = {json.dumps(token)};" + source + HARNESS)

    def run(self, source: str) -> Any:
        """Evaluate an expression, and let what waits go on."""
        value = self._context.eval(source)
        while self._context.execute_pending_job():
            pass
        return value

    def read(self, source: str) -> Any:
        """Return an expression's value, by way of JSON."""
        return json.loads(self.run(f"JSON.stringify({source})"))

    def tell(self, *frames: dict[str, Any] | str) -> None:
        """Send frames from the server over the last socket."""
        for frame in frames:
            text = frame if isinstance(frame, str) else json.dumps(frame)
            self.run(f"sockets[sockets.length - 1].tells({json.dumps(text)})")

    def welcome(self, **fields: Any) -> None:
        """Open the last socket."""
        self.run("sockets[sockets.length - 1].opens()")
        self.tell(LIMITS | fields)

    def sent(self) -> list[Any]:
        """Return what the client has sent since the last call, as the server reads it."""
        texts = self.read("sockets[sockets.length - 1].sent.splice(0)")
        return [decode(text) for text in texts]

    def log(self) -> list[Any]:
        """Return what the program has seen since the last call."""
        found: list[Any] = self.read("log.splice(0)")
        return found


@pytest.fixture
def asked() -> Page:
    """A page whose first question is on its way."""
    page = Page()
    page.run('read(agent.ask("cost?", { lang: "en" })), 0')
    page.welcome()
    assert page.sent() == [Message("1", "cost?", "en")]
    return page


def test_a_turn_is_its_frames(asked: Page) -> None:
    """Its suggestions come before its end; one that comes later is told to the program all the same."""
    asked.tell(DELTA, END, ANSWER, CALL)
    asked.run("due(100)")
    assert asked.log() == [*(["event", each] for each in (DELTA, END, ANSWER, CALL)), ["end", None]]
    late = CALL | {"suggestionId": "s2"}
    asked.tell(late)
    assert asked.log() == [["late", late]]
    assert asked.sent() == []
    assert asked.read("[agent.turns.size, timers.filter(Boolean).length]") == [0, 0]


def test_a_loop_that_is_left_cancels_its_turn() -> None:
    """The connection serves the next question; after the response there is nothing to cancel."""
    page = Page()
    page.run('read(agent.ask("a"), 1), 0')
    page.welcome()
    page.tell(DELTA)
    assert page.sent() == [Message("1", "a"), Cancel("1")]
    page.tell(DELTA, {"type": "stream_end", "reason": "cancelled", "id": "1"})
    page.run('read(agent.ask("b"), 1), 0')
    page.tell(ANSWER | {"id": "2"})
    assert page.sent() == [Message("2", "b")]
    assert [name for name, _ in page.log()] == ["event", "end", "event", "end"]
    assert page.read("sockets.length") == 1


def test_a_signal_cancels_a_turn(asked: Page) -> None:
    """Before it is sent nothing is sent; an event that was not read yet is not read any more."""
    asked.run('var signal = new Signal(); read(agent.ask("b", { signal })), 0')
    asked.run(f"var other = sockets[0]; other.tells({json.dumps(json.dumps(DELTA | {'id': '2'}))})")
    asked.run("signal.abort()")
    assert asked.sent() == [Message("2", "b"), Cancel("2")]
    assert asked.log() == [["event", DELTA | {"id": "2"}], ["error", "Error undefined: stop"]]
    assert asked.read("signal.heard.size") == 0
    asked.run('read(agent.ask("c", { signal })), 0')
    assert asked.sent() == []
    assert asked.log() == [["error", "Error undefined: stop"]]


def test_a_turn_that_the_server_cancels_ends(asked: Page) -> None:
    """And a refused one throws with the server's code."""
    cancelled = {"type": "stream_end", "reason": "cancelled", "id": "1"}
    asked.run("agent.cancel()")
    assert asked.sent() == [Cancel(None)]
    asked.tell(cancelled)
    assert asked.log() == [["event", cancelled], ["end", None]]
    asked.run('read(agent.ask("b")), 0')
    asked.tell({"type": "error", "code": "internal", "message": "It broke.", "id": "2"})
    assert asked.log() == []
    asked.tell({"type": "error", "code": "rate_limited", "message": "Wait.", "id": "2"})
    assert asked.log() == [["error", "RequestRefused rate_limited: Wait."]]


def test_a_decision_returns_its_outcome(asked: Page) -> None:
    """Of a confirm, with what was missing, of a second one, and of a rejection; an unknown suggestion throws."""
    done = {"type": "action_executed", "suggestionId": "s1", "result": {"success": True}}
    closed = {"type": "action_closed", "suggestionId": "s2", "reason": "rejected"}
    asked.run(
        'agent.confirm("s1", {phone: "1"}).then(note("first")); agent.confirm("s1").then(note("second"))'
    )
    asked.run('agent.reject("s2").then(note("reject")); agent.reject("s3").catch(note("unknown"))')
    assert asked.sent() == [
        ConfirmAction("s1", {"phone": "1"}),
        ConfirmAction("s1"),
        RejectAction("s2"),
        RejectAction("s3"),
    ]
    unknown = {"type": "error", "code": "unknown_suggestion", "message": "None.", "suggestionId": "s3"}
    asked.tell(done, closed, unknown)
    assert asked.log() == [
        ["first", done],
        ["second", done],
        ["reject", closed],
        ["unknown", "RequestRefused unknown_suggestion: None."],
    ]


def test_feedback_returns_once_it_is_stored(asked: Page) -> None:
    """In the server's frame; what is refused throws, and so does what waits for a connection that is lost."""
    asked.run(
        'agent.feedback("1", "up").then(note("first")); agent.feedback("1", "down", "Old").catch(note("no"))'
    )
    assert asked.sent() == [
        RateAnswer("1", "up", "", "feedback-1"),
        RateAnswer("1", "down", "Old", "feedback-2"),
    ]
    stored = {"type": "feedback_stored", "message": "1", "verdict": "up", "id": "feedback-1"}
    asked.tell(stored, {"type": "error", "code": "unknown_answer", "message": "None.", "id": "feedback-2"})
    assert asked.log() == [["first", stored], ["no", "RequestRefused unknown_answer: None."]]
    asked.run('agent.feedback("1", "up").catch(note("lost")), 0')
    asked.run('sockets[0].close(1006); agent.feedback("1", "up").catch(note("gone"))')
    said = dict(asked.log())
    assert said["lost"].endswith(": send the feedback again")
    assert "ask again, then rate the new answer" in said["gone"]


def test_a_lost_connection_is_said_and_made_anew() -> None:
    """What waited throws; the next turn begins with what was lost, and goes on with the thread."""
    page = Page("a-token")
    page.run('read(agent.ask("a")), 0')
    assert page.read("[sockets[0].url, sockets[0].protocols]") == [
        "ws://h:1/ws",
        ["agent.v1", "bearer.a-token"],
    ]
    page.welcome(memory=True)
    page.tell({"type": "thread", "thread": "t1"}, CALL)
    page.run('agent.confirm("s9").catch(note("confirm"))')
    page.run('sockets[0].close(1006); agent.confirm("s1").catch(note("gone"))')
    assert dict(page.log()) == {
        "event": CALL,
        "error": "ConnectionLost 1006: the connection ended (code 1006) before the answer: ask again",
        "confirm": "ConnectionLost 1006: the connection ended (code 1006):"
        " the action may have been carried out, or not",
        "gone": "ConnectionLost undefined: the suggestion went with the connection:"
        " ask again to get a new one",
    }
    page.run('read(agent.ask("b")), 0')
    page.welcome(memory=True)
    assert page.sent() == [OpenThread("t1")]
    page.tell({"type": "error", "code": "unknown_thread", "message": "No."})
    assert page.sent() == [OpenThread(None)]
    page.tell({"type": "thread", "thread": "t2"})
    assert page.sent() == [Message("2", "b")]
    assert page.log() == [["event", {"type": "reconnected", "lost": ["s1"], "continues": False}]]


def test_a_visitors_secret_is_offered_beside_the_token() -> None:
    """As a subprotocol of its own, since a page can send no header with a WebSocket."""
    page = Page()
    page.run('connect("http://h:1", { token: "t", visitor: "s", WebSocket: Played }).open(), 0')
    page.run('connect("http://h:1", { visitor: "s", WebSocket: Played }).open(), 0')
    assert page.read("sockets.map((each) => each.protocols)") == [
        ["agent.v1", "bearer.t", "visitor.s"],
        ["agent.v1", "visitor.s"],
    ]


@pytest.mark.parametrize("text", ["{", "7", "null", json.dumps("x" * (4 * 1024 * 1024))])
def test_a_server_that_breaks_the_protocol_is_left(asked: Page, text: str) -> None:
    """With a close code that the server does not use."""
    asked.tell(text)
    ((name, said),) = asked.log()
    assert (name, said.partition(":")[0]) == ("error", "ConnectionLost 4002")
    assert 4002 not in CLOSE_CODES


def test_what_it_does_not_know_is_ignored(asked: Page) -> None:
    """Frames of a later server, and of no turn of this client."""
    asked.tell({"type": "telepathy"}, {}, "[]", DELTA | {"id": "9"}, ANSWER)
    assert asked.log() == [["event", ANSWER]]


def test_a_slow_reader_ends_its_turn(asked: Page) -> None:
    """It is cancelled at the server; nothing is kept without limit."""
    asked.run("log.push = () => {}")
    asked.run('var slow = agent.ask("b"); slow.next(); 0')
    asked.run(
        f"for (let n = 0; n < 20002; n++) sockets[0].tells({json.dumps(json.dumps(DELTA | {'id': '2'}))})"
    )
    assert asked.sent() == [Message("2", "b"), Cancel("2")]
    assert asked.read("agent.turns.has('2')") is False


@pytest.mark.parametrize(
    ("act", "says"),
    [
        ('sockets[0].close(4401, "not authorised")', "CannotConnect 4401: .*the token is missing or wrong"),
        ('sockets[0].close(4401, "the token is over")', "CannotConnect 4401: .*ended .the token is over"),
        ("sockets[0].close(1006)", r"CannotConnect 1006: .*the connection ended \(code 1006\)"),
        ("due(10000)", "CannotConnect undefined: .*no answer in 10 s"),
    ],
    ids=["token", "over", "away", "silent"],
)
def test_a_server_that_cannot_be_reached_is_said(act: str, says: str) -> None:
    """With the reason; the next question tries again."""
    page = Page()
    page.run('read(agent.ask("a")), 0')
    page.run(act)
    ((name, said),) = page.log()
    assert name == "error"
    assert re.match(says, said)
    page.run('read(agent.ask("b")), 0')
    page.welcome()
    assert page.sent() == [Message("1", "b")]
    page.tell(ANSWER)
    assert page.log() == [["event", ANSWER]]


def test_a_token_or_a_url_that_cannot_be_used_is_said() -> None:
    """Before anything is sent."""
    for token, url in (("a b", "http://h"), (None, "ftp://h"), (None, "h")):
        page = Page(token)
        page.run(f"agent.connection.url = {json.dumps(url)}; read(agent.ask('a')), 0")
        ((_, said),) = page.log()
        assert said.startswith("CannotConnect undefined: cannot connect to http://h:1:")
        assert page.read("sockets.length") == 0


def test_the_next_attempt_waits_longer_or_as_long_as_the_server_says() -> None:
    """With some chance in it, so that clients do not come back together."""
    page = Page()
    for attempts, usual in ((0, 500), (4, 8000), (99, 15000)):
        assert 0.75 * usual <= page.read(f'retryDelay({{reason: ""}}, {attempts})') <= 1.25 * usual
    assert 7000 <= page.read('retryDelay({reason: "full; come back in 7 s"}, 0)') <= 8000


def test_the_types_name_what_the_module_exports() -> None:
    """And the package names files that exist."""
    exported = re.findall(r"^export (?:class|function|const) (\w+)", MODULE, re.MULTILINE)
    typed = re.findall(r"^export (?:class|function|const) (\w+)", TYPES, re.MULTILINE)
    assert sorted(exported) == sorted(typed)
    package = json.loads(FOLDER.joinpath("package.json").read_text(encoding="utf-8"))
    assert all(FOLDER.joinpath(name).is_file() for name in package["files"])


# --- against a server

PROGRAM = """
import { connect } from "./node_modules/agent-client/agent.js";
const agent = connect(process.argv[2], { token: "a-token-of-length" });
const read = async (turn) => { const found = []; for await (const event of turn) found.push(event); return found; };
for await (const event of agent.ask("What does the Standard plan cost?")) break;
const events = await read(agent.ask("What does the Standard plan cost? Call me on 070-174 06 05"));
const response = events.find((each) => each.type === "response");
const deltas = events.filter((each) => each.type === "stream").map((each) => each.delta).join("");
const outcome = await agent.confirm(events.at(-1).suggestionId);
const other = (await read(agent.ask("Call me on 070-174 06 05"))).at(-1);
const closed = await agent.reject(other.suggestionId);
const lost = (await read(agent.ask("Call me on 070-174 06 05"))).at(-1);
agent.connection.socket.close(3000);
await new Promise((resolve) => setTimeout(resolve, 200));
const [again] = await read(agent.ask("What does the Standard plan cost?"));
const aborted = await read(agent.ask("cost?", { signal: AbortSignal.abort() })).catch((error) => error.name);
agent.close();
const stranger = connect(process.argv[2], { token: "another" });
const wrong = await read(stranger.ask("a")).catch((error) => [error.name, error.code]);
console.log(JSON.stringify({
  whole: deltas === response.text, cites: response.citations[0].file, done: outcome.result.success,
  closed: closed.reason, lost: again.lost.length === 1 && again.lost[0] === lost.suggestionId, aborted, wrong,
}));
"""


async def run_in_node(node: str, program: Path, *arguments: str) -> str:
    """Return the text that a program prints."""
    version = (await trio.run_process([node, "--version"], capture_stdout=True)).stdout.decode()
    flags = ["--experimental-websocket"] if int(version.removeprefix("v").partition(".")[0]) < 22 else []
    with trio.fail_after(60):
        ran = await trio.run_process(
            [node, *flags, str(program), *arguments], capture_stdout=True, capture_stderr=True, check=False
        )
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout.decode()


@pytest.mark.proof
async def test_the_programs_of_the_guide_run(tmp_path: Path) -> None:
    """As printed, but for the port; the text of the package's own page as well."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed here")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "cards.md").write_text(
        "# Cards\n\nA lost card is replaced for 25 EUR within 3 days.\n"
    )
    shutil.copytree(str(FOLDER), tmp_path / "node_modules" / "agent-client")
    (tmp_path / "agent.js").write_text(MODULE)
    answer = "A lost card is replaced for 25 EUR within 3 days."
    pages = {
        read_page("websocket"): f"{answer}\nsources: kb/cards.md\nended: true\n",
        FOLDER.joinpath("README.md").read_text(encoding="utf-8"): answer,
    }
    async with serve(kb=tmp_path / "docs", port=0, vectors="off") as server:
        for text, printed in pages.items():
            (program,) = re.findall(r"^```javascript[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
            (tmp_path / "client.mjs").write_text(program.replace("http://127.0.0.1:8787", server.url))
            assert printed in await run_in_node(node, tmp_path / "client.mjs")


@pytest.mark.proof
async def test_a_program_in_node_is_served(tmp_path: Path) -> None:
    """A question, leaving a turn, a confirm and a rejection, a connection that ends, and a wrong token."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed here")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "plans.md").write_text("# Plans\n\nThe Standard plan costs 299 kr per month.\n")
    shutil.copytree(str(FOLDER), tmp_path / "node_modules" / "agent-client")
    (tmp_path / "client.mjs").write_text(PROGRAM)
    async with serve(kb=tmp_path / "docs", port=0, vectors="off", token="a-token-of-length") as server:
        printed = await run_in_node(node, tmp_path / "client.mjs", server.url)
    assert json.loads(printed) == {
        "whole": True,
        "cites": "kb/plans.md",
        "done": True,
        "closed": "rejected",
        "lost": True,
        "aborted": "AbortError",
        "wrong": ["CannotConnect", 4401],
    }


IN_CHROMIUM = """
(async () => {
  const until = async (holds) => { while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20)); };
  await until(() => document.getElementById("state")?.dataset.state === "idle");
  document.getElementById("question").value = "What does the Standard plan cost?";
  document.getElementById("ask").requestSubmit();
  await until(() => document.body.textContent.includes("299 kr"));
  const { connect } = await import("/agent.js");
  const agent = connect(location.origin);
  const events = [];
  for await (const event of agent.ask("What does the Standard plan cost? Call me on 070-174 06 05")) events.push(event);
  const outcome = await agent.confirm(events.at(-1).suggestionId);
  agent.close();
  return [events.find((each) => each.type === "response").citations[0].file, outcome.result.success];
})()
"""


async def evaluate(profile: Path, url: str, source: str) -> Any:
    """Return the value of an expression in the first page of the browser that runs with `profile`."""
    opened = profile / "DevToolsActivePort"
    while not opened.is_file() or len(opened.read_text().split()) < 2:  # noqa: ASYNC110 - another process writes it
        await trio.sleep(0.1)
    port, path = opened.read_text().split()
    number = 0
    async with open_websocket_url(f"ws://127.0.0.1:{port}{path}") as browser:

        async def ask(method: str, session: str = "", **params: Any) -> Any:
            nonlocal number
            number += 1
            message = {"id": number, "method": method, "params": params}
            await browser.send_message(json.dumps(message | ({"sessionId": session} if session else {})))
            while (answer := json.loads(await browser.get_message())).get("id") != number:
                pass
            return answer.get("result", {})  # or else an error: the page was replaced meanwhile

        target = (await ask("Target.createTarget", url=url))["targetId"]
        session = (await ask("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        while True:
            found = await ask(
                "Runtime.evaluate", session, expression=source, awaitPromise=True, returnByValue=True
            )
            if "value" in found.get("result", {}):
                return found["result"]["value"]
            await trio.sleep(0.1)  # the page was not there yet


@pytest.mark.proof
async def test_a_page_in_chromium_is_served(tmp_path: Path) -> None:
    """The chat page and a program of a page's own, both by this module under the Content-Security-Policy."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed here")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "plans.md").write_text("# Plans\n\nThe Standard plan costs 299 kr per month.\n")
    profile = tmp_path / "profile"
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
    async with serve(kb=tmp_path / "docs", port=0, vectors="off") as server, trio.open_nursery() as nursery:
        with trio.fail_after(60):
            browser = partial(trio.run_process, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            nursery.start_soon(browser, [*command, f"--user-data-dir={profile}", "about:blank"])
            assert await evaluate(profile, server.url, IN_CHROMIUM) == ["kb/plans.md", True]
        nursery.cancel_scope.cancel()
