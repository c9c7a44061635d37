"""The bubble on a website of somebody else: beside its policy and styles, for its users, and where it may not be."""

import json
import re
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from agent.server.signed_users import sign_user

from ..e2e.test_process import serve
from . import WAIT, check_accessibility
from .conftest import OpenPage
from .website import Website, serve_website

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page

pytestmark = pytest.mark.proof

KEY, OPERATOR = "the-key-of-the-website-and-the-server", "the-operators-own-token"
QUESTION = "What does a return cost?"


@dataclass(frozen=True)
class Place:
    """A server that takes the website's users, one that also takes its guests, and the website."""

    users: str
    guests: str
    site: Website

    def tag(self, server: str = "", **attributes: str) -> str:
        """Return the line that puts the bubble on a page."""
        data = "".join(f' data-{name}="{value}"' for name, value in attributes.items())
        return f'<script src="{server or self.guests}/embed.js" async{data}></script>'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A website and its two servers."""
    with serve_website() as site:
        flags = ("--pace-ms", "0", "--allow-origin", site.origin, "--sign-key", KEY, "--token", OPERATOR)
        with (
            serve(tmp_path_factory.mktemp("users"), *flags) as (_, users),
            serve(tmp_path_factory.mktemp("guests"), *flags, "--guests", "--name", "Almvik") as (_, guests),
        ):
            yield Place(f"http://127.0.0.1:{users}", f"http://127.0.0.1:{guests}", site)


def told(page: "Page") -> list[tuple[str, str]]:
    """Return a list that grows with what the page writes to its console, by kind."""
    lines: list[tuple[str, str]] = []

    def note(message: "ConsoleMessage") -> None:
        lines.append((message.type, message.text))

    page.on("console", note)
    return lines


def wait_for_line(page: "Page", lines: list[tuple[str, str]], begins: str) -> str:
    """Wait until the only line of the console that begins so is there; return it."""
    for _ in range(int(WAIT / 50)):
        found = [text for _, text in lines if text.startswith(begins)]
        if found:
            break
        page.wait_for_timeout(50)
    (line,) = found
    return line


def count_sessions(server: str) -> float:
    """Return the sessions of a server, by its figures."""
    request = urllib.request.Request(f"{server}/metrics", headers={"Authorization": f"Bearer {OPERATOR}"})
    with urllib.request.urlopen(request) as answer:
        (count,) = re.findall(r"^agent_sessions (\S+)$", answer.read().decode(), re.MULTILINE)
    return float(count)


def open_bubble(page: "Page") -> None:
    """Open the panel by its button."""
    page.locator("agent-bubble .bubble").click()
    page.locator("agent-bubble dialog[open]").wait_for()


def ask(page: "Page", question: str) -> str:
    """Ask in the open panel; return the text of the answer once it has ended."""
    ended = page.locator("agent-bubble .answer.ended")
    count = ended.count()
    page.locator("agent-bubble textarea").fill(question)
    page.keyboard.press("Enter")
    ended.nth(count).wait_for()
    return ended.nth(count).inner_text()


@pytest.mark.parametrize(("width", "scheme", "lang"), [(360, "dark", "sv"), (1280, "light", "en")])
def test_a_visitor_asks_on_another_website(
    place: Place, open_page: OpenPage, width: int, scheme: str, lang: str
) -> None:
    """Beside a policy that allows nothing but the server; axe finds nothing, and the website stays as it was."""
    socket = place.guests.replace("http", "ws", 1)
    policy = f"default-src 'none'; script-src {place.guests}; connect-src {place.guests} {socket}"
    url = place.site.put_page(f"/plain-{lang}", place.tag(), policy=policy, lang=lang)
    page = open_page(url, width=width, scheme=scheme, lang=lang)
    page.locator("agent-bubble .bubble").wait_for()
    check_accessibility(page)
    open_bubble(page)
    assert page.locator("agent-bubble h2").inner_text() == "Almvik"
    check_accessibility(page)
    answer = ask(page, "Vad kostar en retur?" if lang == "sv" else QUESTION)
    assert "59 kr" in answer
    assert "[1]" in answer
    page.locator("agent-bubble .mark").first.click()
    place_of = page.locator("agent-bubble .sources[open] .place").first
    assert f"[1] kb/{'sv/' * (lang == 'sv')}policies.md" in place_of.inner_text()
    check_accessibility(page)
    box = page.locator("agent-bubble dialog").bounding_box()
    assert box is not None
    if width == 360:
        assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 360, 740)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("[document.cookie, localStorage.length, sessionStorage.length]") == ["", 0, 0]
    assert page.evaluate("document.styleSheets.length + document.adoptedStyleSheets.length") == 0


def test_the_keys_are_enough(place: Place, open_page: OpenPage) -> None:
    """The focus goes into the panel, around in it, and back to the button; the website's shortcuts stay its own."""
    page = open_page(place.site.put_page("/keys", place.tag()))
    page.evaluate("addEventListener('keydown', (event) => (window.heard = (window.heard || '') + event.key))")
    button = page.locator("agent-bubble .bubble")
    button.focus()
    page.keyboard.press("Enter")
    page.evaluate("window.heard = ''")
    focused = "document.querySelector('agent-bubble').shadowRoot.activeElement"
    assert page.evaluate(f"{focused}.tagName") == "TEXTAREA"
    places = [page.evaluate(f"{focused}.className")]
    for _ in range(4):
        page.keyboard.press("Tab")
        places.append(page.evaluate(f"{focused}.className"))
    assert places == ["", "send", "shut", "scroller", ""]
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(f"{focused}.className") == "scroller"
    page.keyboard.press("Escape")
    assert page.locator("agent-bubble dialog[open]").count() == 0
    assert page.evaluate(f"{focused}.className") == "bubble"
    assert page.evaluate("window.heard") == ""


def test_an_action_is_confirmed_and_another_declined(place: Place, open_page: OpenPage) -> None:
    """Each card ends with its outcome, and the panel says what is going on."""
    page = open_page(place.site.put_page("/cards", place.tag()))
    open_bubble(page)
    ask(page, "Please call me on 070-174 06 05")
    card = page.locator("agent-bubble .card")
    check_accessibility(page)
    card.locator(".confirm").click()
    card.locator(".outcome.good").wait_for()
    ask(page, "Please call me on 070-174 06 05")
    page.locator("agent-bubble .card:not(.ended) button:not(.confirm)").click()
    page.locator("agent-bubble .outcome.quiet", has_text="Declined").wait_for()
    check_accessibility(page)


def test_a_closed_panel_goes_on_and_a_left_page_ends(place: Place, open_page: OpenPage) -> None:
    """The answer that came meanwhile is marked on the button; leaving ends the session."""
    page = open_page(place.site.put_page("/closed", place.tag(title="Ask us")))
    open_bubble(page)
    page.locator("agent-bubble textarea").fill(QUESTION)
    # Both in one task of the page: no answer can come between them, however fast the server is.
    close = "send.getRootNode().querySelector('.shut').click()"
    page.locator("agent-bubble .send").evaluate(f"(send) => {{ send.click(); {close}; }}")
    button = page.locator("agent-bubble .bubble.unread")
    button.wait_for()
    assert button.get_attribute("aria-label") == "Ask us (a new answer)"
    check_accessibility(page)
    assert count_sessions(place.guests) == 1
    button.click()
    assert "59 kr" in page.locator("agent-bubble .answer.ended").inner_text()
    page.goto(place.site.origin + "/other")
    page.wait_for_timeout(300)
    assert count_sessions(place.guests) == 0


def test_a_website_with_strange_globals_and_styles_breaks_nothing(place: Place, open_page: OpenPage) -> None:
    """Extended prototypes, an AMD loader, styles on everything, and root sizes of its own."""
    strange = """<script>
      Array.prototype.extra = function () {}; Array.prototype.toJSON = () => "broken";
      Object.prototype.more = 1; Element.prototype.title2 = "x";
      window.define = () => { throw new Error("called"); }; window.define.amd = {};
      window.module = { exports: {} }; window.exports = window.module.exports;
      window.name = "x"; var element = 1, words = 2, WORDS = 3, module0 = 4;
    </script><style>
      html { font-size: 4px; direction: rtl; color: red; letter-spacing: 9px; }
      * { all: unset !important; } * { display: none; transform: rotate(9deg); opacity: 0.1; }
      dialog, button, section { display: none !important; }
    </style>"""
    page = open_page(place.site.put_page("/strange", strange + place.tag(color="#ffd500", position="left")))
    button = page.locator("agent-bubble .bubble")
    assert button.evaluate("(each) => getComputedStyle(each).color") == "rgb(0, 0, 0)"
    box = button.bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (20, 60)
    open_bubble(page)
    assert "59 kr" in ask(page, QUESTION)
    ask(page, "Please call me")
    page.locator("agent-bubble .card input").fill("070-174 06 05")
    page.locator("agent-bubble .card .confirm").click()
    page.locator("agent-bubble .card .outcome.good").wait_for()
    assert page.locator("agent-bubble dialog").evaluate("(each) => getComputedStyle(each).fontSize") == "16px"
    assert page.evaluate("Object.keys(window).filter((name) => name.includes('module')).length") == 2


def test_a_signed_user_is_known_and_a_token_that_is_over_renewed(place: Place, open_page: OpenPage) -> None:
    """The website's function is asked again; a token that stays over is told in words, and nothing typed is lost."""
    now = int(time.time())
    good, over = sign_user(KEY, "ana", now + 600), sign_user(KEY, "ana", now - 1)
    given = json.dumps([over, good])
    script = f"<script>const tokens = {given}; window.agentToken = async () => tokens.shift();</script>"
    page = open_page(place.site.put_page("/user", script + place.tag(place.users)))
    open_bubble(page)
    assert "59 kr" in ask(page, QUESTION)
    assert page.evaluate("tokens") == []

    page = open_page(place.site.put_page("/over", place.tag(place.users, token=over)))
    lines = told(page)
    open_bubble(page)
    assert "not signed in here any more" in ask(page, QUESTION)
    assert page.locator("agent-bubble .mine").inner_text() == QUESTION
    check_accessibility(page)
    assert lines == [("warning", "agent: the server refuses the token; its log says why")]
    page.evaluate(f"window.agentToken = () => {json.dumps(good)}")
    page.locator("agent-bubble .again").click()
    page.locator("agent-bubble .sources").wait_for()


def test_a_session_that_ends_with_its_token_goes_on_with_the_next(place: Place, open_page: OpenPage) -> None:
    """The page does not notice; the next question opens another session."""
    now = int(time.time())
    tokens = json.dumps([sign_user(KEY, "ana", now + 6), sign_user(KEY, "ana", now + 600)])
    script = f"<script>const tokens = {tokens}; window.agentToken = () => tokens.shift();</script>"
    page = open_page(place.site.put_page("/short", script + place.tag(place.users)))
    lines = told(page)
    open_bubble(page)
    assert "59 kr" in ask(page, QUESTION)
    wait_for_line(page, lines, "agent: the connection ended: the token is over")
    assert "59 kr" in ask(page, QUESTION)


def test_where_it_is_not_allowed_a_visitor_sees_nothing(place: Place, open_page: OpenPage) -> None:
    """And the developer reads why: another origin, no token, a policy, a module."""
    cors = r"Access-Control-Allow-Origin|net::ERR_FAILED|agent: no chat here"
    with serve_website() as foreign:
        page = open_page(foreign.origin, expected=cors)
        lines = told(page)
        page.goto(foreign.put_page("/shop", place.tag()))
        line = wait_for_line(page, lines, "agent:")
        assert f"--allow-origin {foreign.origin}" in line
        assert page.locator("agent-bubble .bubble").count() == 0
        check_accessibility(page)

    for name, head, policy, why in (
        ("none", place.tag(place.users), "", "takes no guests. Set window.agentToken or data-token"),
        (
            "policy",
            place.tag(),
            f"default-src 'none'; script-src {place.guests}",
            "let this page's Content-Security-Policy connect to it",
        ),
        ("module", place.tag().replace("async", 'type="module"'), "", "load /embed.js by a classic <script>"),
    ):
        page = open_page(place.site.origin, expected=r"agent: |Content Security Policy|Refused to connect")
        lines = told(page)
        page.goto(place.site.put_page(f"/{name}", head, policy=policy))
        line = wait_for_line(page, lines, "agent:")
        assert why in line
        assert page.locator("agent-bubble .bubble").count() == 0


def test_a_second_bubble_is_ignored(place: Place, open_page: OpenPage) -> None:
    """With a line for the developer."""
    page = open_page(place.site.origin)
    lines = told(page)
    page.goto(place.site.put_page("/twice", place.tag(title="One") + place.tag(title="Two")))
    page.locator("agent-bubble .bubble").wait_for()
    wait_for_line(page, lines, "agent: there is a chat")
    assert page.locator("agent-bubble").count() == 1
    assert lines == [("warning", "agent: there is a chat on this page already; this one is ignored")]


def test_a_question_that_is_too_long_is_cut_in_words(place: Place, open_page: OpenPage) -> None:
    """A paste of ten million characters leaves the panel usable."""
    page = open_page(place.site.put_page("/paste", place.tag()))
    open_bubble(page)
    field = page.locator("agent-bubble textarea")
    pasted = """(each) => {
      const data = new DataTransfer();
      data.setData("text/plain", "x".repeat(10_000_000));
      each.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
      document.execCommand("insertText", false, "x".repeat(9000));
    }"""
    field.evaluate(pasted)
    assert len(field.input_value()) == 8000
    assert (
        page.locator("agent-bubble .status").inner_text()
        == "Only the first 8000 characters fit in a question."
    )
    assert "59 kr" in ask(page, QUESTION)


def test_a_server_that_is_away_loses_no_question(place: Place, open_page: OpenPage) -> None:
    """The question stays, with a button to ask it again."""
    page = open_page(place.site.put_page("/away", place.tag()), expected="WebSocket connection")
    page.locator("agent-bubble .bubble").wait_for()
    page.route_web_socket(re.compile(".*"), lambda socket: socket.close(code=1012, reason="restarting"))
    page.reload()
    open_bubble(page)
    assert "cannot be reached" in ask(page, QUESTION)
    assert page.locator("agent-bubble .mine").inner_text() == QUESTION
    assert page.locator("agent-bubble .again").count() == 1
