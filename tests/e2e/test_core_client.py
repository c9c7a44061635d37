"""A plain WebSocket client that knows only the core of the wire gets what the core promises, on virtual time."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
import trio
import trio.testing

from agent.compose.adapters import Adapters
from agent.llm.script import ScriptEntry, ScriptModel
from agent.ports.draft import Delta, Prompt
from agent.ports.search import Hit
from agent.settings import Settings
from agent.testing.network import Network, network
from tests.examples import sample

from .independent import shown, unsupported
from .plain import Frame, Plain, plain
from .shipped import KB, knowledge

PRICE = "What does the Standard plan cost per month?"
LONG = "What does the Standard plan cost per month in the long run?"
HANG = "What does the Standard plan cost per month, slowly?"
FAIL = "What does the Standard plan cost per month, if you fail?"
BUG = "What does the Standard plan cost per month, with a bug?"
LIE = "What does the Premium plan cost per month?"
CALL = "What does the Standard plan cost? Please call me."
NOWHERE = "what is the capital of Mongolia"

SCRIPT = (
    ScriptEntry(match="slowly", deltas=("The Standard",), hang=True),
    ScriptEntry(match="i lugn och ro", hang=True),
    ScriptEntry(match="fail", error="overloaded"),
    ScriptEntry(match="sönder", error="overloaded"),
    ScriptEntry(
        match="long run",
        text="The Standard plan costs 299 kr " + "and that is a good price " * 20 + "every month.",
    ),
    ScriptEntry(match="Premium", text="The Premium plan costs 649 kr."),
    ScriptEntry(match="Standard", deltas=("The Standard plan", " costs 29", "9 kr per month.")),
)

WORDS = {
    "no_sources": {
        "en": "I couldn't find any references to this in the knowledge base",
        "sv": "Jag hittar inget stöd i kunskapsbasen.",
    },
    "number_mismatch": {"en": "I cannot verify that", "sv": "Jag kan inte verifiera det."},
    "model_failed": {
        "en": "I can't answer right now. Please try again.",
        "sv": "Jag kan inte svara just nu. Försök igen.",
    },
}


class Buggy:
    """A model that plays the script, and for one question breaks as only a bug does."""

    def __init__(self) -> None:
        self._script = ScriptModel(SCRIPT)

    def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Play the entry that matches, or raise."""
        if "with a bug" in prompt.question:
            raise ZeroDivisionError
        return self._script.stream(prompt, evidence)


@asynccontextmanager
async def serving(**settings: Any) -> AsyncGenerator[Network, None]:
    """Run a server with the shipped knowledge base and the script above."""
    chosen = Settings.of(kb=KB, mock_seed=1, **settings)
    model = None if settings.get("mock_hallucinate") is not None else Buggy()
    async with network(chosen, Adapters(model=model, knowledge=knowledge())) as server:
        yield server


@asynccontextmanager
async def connected(**settings: Any) -> AsyncGenerator[Plain, None]:
    """Run a server and connect to it, without a subprotocol."""
    async with serving(**settings) as server, plain(server.open()) as client:
        yield client


async def answer(client: Plain, text: str, **more: Any) -> tuple[list[str], Frame]:
    """Ask; return the deltas and the response, and check the order and the join of what came."""
    await client.ask(text, **more)
    frames = await client.until("response")
    deltas = [frame["delta"] for frame in frames if frame["type"] == "stream"]
    assert [frame["type"] for frame in frames] == ["stream"] * len(deltas) + ["stream_end", "response"]
    assert frames[-2]["reason"] == "done"
    assert "".join(deltas) == frames[-1]["text"]
    return deltas, frames[-1]


async def suggested(client: Plain) -> Frame:
    """Ask for a call; return the suggestion that follows the response."""
    await answer(client, CALL)
    suggestion = await client.next()
    assert (suggestion["type"], suggestion["action"]) == ("action_suggestion", "schedule_callback")
    return suggestion


async def confirm(client: Plain, suggestion: Frame) -> None:
    """Confirm a suggestion."""
    await client.send(type="confirm_action", suggestionId=suggestion["suggestionId"])


async def executed(client: Plain, suggestion: Frame) -> Any:
    """Return the result that comes next, for that suggestion."""
    frame = await client.next()
    assert (frame["type"], frame["suggestionId"]) == ("action_executed", suggestion["suggestionId"])
    return frame["result"]


# --- answers


@pytest.mark.parametrize("question", [PRICE, "Vad kostar paketet Standard?"])
async def test_answer_streams_and_its_citations_hold_every_number(
    question: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Deltas, `stream_end done`, `response`; the text is the joined deltas and its numbers are cited."""
    async with connected(mock_hallucinate=0.0) as client:
        deltas, response = await answer(client, question)
        assert len(deltas) > 3
        assert "299" in response["text"]
        assert unsupported(response["text"], shown(response["citations"])) == []
        assert unsupported(response["text"], []) != []
        assert all(citation.get("heading") for citation in response["citations"])
        assert all(citation["file"].startswith("kb/") for citation in response["citations"])
        assert client.accepted is not None
        assert client.accepted.subprotocol is None
        await client.silence()


async def test_words_are_paced(autojump_clock: trio.testing.MockClock) -> None:
    """A verified answer comes a word at a time, 20 ms apart."""
    async with connected() as client:
        deltas, _ = await answer(client, PRICE)
        times = [at for at, frame in client.frames if frame["type"] == "stream"]
        assert deltas == ["The ", "Standard ", "plan ", "costs ", "299 ", "kr ", "per ", "month."]
        assert [round(later - at, 6) for at, later in pairwise(times)] == [0.02] * 7


@pytest.mark.parametrize("lang", ["en", "sv"])
@pytest.mark.parametrize(
    ("code", "questions"),
    [
        ("no_sources", {"en": NOWHERE, "sv": "vad heter huvudstaden i Mongoliet"}),
        ("number_mismatch", {"en": LIE, "sv": "Vad kostar paketet Premium per månad?"}),
        ("model_failed", {"en": FAIL, "sv": "Vad kostar paketet Standard per månad om du går sönder?"}),
        ("model_failed", {"en": HANG, "sv": "Vad kostar paketet Standard per månad, i lugn och ro?"}),
    ],
)
async def test_refusals_are_word_for_word(
    code: str, questions: dict[str, str], lang: str, autojump_clock: trio.testing.MockClock
) -> None:
    """A refusal has the fixed words of the question's language, ends as `done` and says why."""
    async with connected() as client:
        _, response = await answer(client, questions[lang])
        assert response["text"] == WORDS[code][lang]
        assert response["blocked"]["code"] == code
        assert bool(response["citations"]) is (code == "number_mismatch")
        assert unsupported(response["text"], []) == []
        if code == "number_mismatch":
            assert response["blocked"]["message"] == "Verification failed: Number mismatch"
            assert unsupported("649 kr", shown(response["citations"])) == ["649"]


async def test_refusal_language_is_the_messages_lang_then_its_own_then_the_settings(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """`lang` counts before the text's own language, and the setting only where neither tells."""
    async with connected(lang="sv") as client:
        for text, more, lang in (
            (NOWHERE, {"lang": "sv"}, "sv"),
            (NOWHERE, {}, "en"),
            ("asdfghjkl qwertyuiop", {}, "sv"),
            ("asdfghjkl qwertyuiop", {"lang": "en"}, "en"),
        ):
            assert (await answer(client, text, **more))[1]["text"] == WORDS["no_sources"][lang]


# --- cancel


async def test_cancel_while_buffering(autojump_clock: trio.testing.MockClock) -> None:
    """A model that hangs is left at once: `stream_end cancelled` in no time, and nothing of that turn after it."""
    async with connected() as client:
        await client.ask(HANG)
        await trio.sleep(5)
        asked = trio.current_time()
        await client.send(type="cancel")
        assert await client.next() == {"type": "stream_end", "reason": "cancelled", "id": "m"}
        assert trio.current_time() == asked
        await client.silence()
        await answer(client, PRICE)


async def test_cancel_while_streaming(autojump_clock: trio.testing.MockClock) -> None:
    """Midway through an answer not one more delta is begun, and no response follows."""
    async with connected() as client:
        await client.ask(LONG)
        said = [await client.next() for _ in range(5)]
        assert {frame["type"] for frame in said} == {"stream"}
        asked = trio.current_time()
        await client.send(type="cancel")
        assert await client.next() == {"type": "stream_end", "reason": "cancelled", "id": "m"}
        assert trio.current_time() == asked
        await client.silence()
        await answer(client, PRICE)


async def test_cancel_in_idle_is_silent(autojump_clock: trio.testing.MockClock) -> None:
    """With nothing to cancel no frame is sent, before the first question and after an answer."""
    async with connected() as client:
        await client.send(type="cancel")
        await client.silence()
        await answer(client, PRICE)
        await client.send(type="cancel")
        await client.silence()


async def test_cancel_while_a_confirmation_is_awaited(autojump_clock: trio.testing.MockClock) -> None:
    """The suggestion is closed, and a later confirm of it says so and runs nothing."""
    async with connected() as client:
        suggestion = await suggested(client)
        await client.send(type="cancel")
        closed = {"type": "action_closed", "suggestionId": suggestion["suggestionId"], "reason": "cancelled"}
        assert await client.next() == closed
        await confirm(client, suggestion)
        assert await executed(client, suggestion) == {"cancelled": True}
        await client.silence()


@pytest.mark.parametrize(("after", "ends"), [(0.5, 0.5), (1.5, 2.0)])
async def test_cancel_while_an_action_runs(
    after: float, ends: float, autojump_clock: trio.testing.MockClock
) -> None:
    """Before the effect has begun the action stops; after that its real result is told, when it has one."""
    async with connected(action_delay_ms=(1000.0, 1000.0)) as client:
        suggestion = await suggested(client)
        began = trio.current_time()
        await confirm(client, suggestion)
        await trio.sleep(after)
        await client.send(type="cancel")
        result = await executed(client, suggestion)
        assert round(trio.current_time() - began, 6) == ends
        assert result == {"cancelled": True} if after < 1 else result["success"] is True
        await client.silence()


async def test_new_message_ends_the_one_in_progress(autojump_clock: trio.testing.MockClock) -> None:
    """The old turn ends as cancelled before anything of the new one comes."""
    async with connected() as client:
        await client.ask(LONG, id="old")
        assert (await client.next())["id"] == "old"
        await client.ask(PRICE, id="new")
        frames = await client.until("response")
        assert frames[0] == {"type": "stream_end", "reason": "cancelled", "id": "old"}
        assert {frame["id"] for frame in frames[1:]} == {"new"}
        await client.silence()


# --- actions


async def test_confirm_runs_once(autojump_clock: trio.testing.MockClock) -> None:
    """A first confirm runs the action; every further one, while it runs or long after, is ignored."""
    async with connected(action_delay_ms=(1000.0, 0.0)) as client:
        suggestion = await suggested(client)
        await confirm(client, suggestion)
        await confirm(client, suggestion)
        assert await executed(client, suggestion) == {"ignored": True}
        result = await executed(client, suggestion)
        assert result["success"] is True
        assert "data" in result
        for seconds in (0, 31, 3600):
            await trio.sleep(seconds)
            await confirm(client, suggestion)
            assert await executed(client, suggestion) == {"ignored": True}
        await client.silence()


async def test_suggestion_expires_after_two_minutes(autojump_clock: trio.testing.MockClock) -> None:
    """At 120 s it is closed as expired, and a confirm then is answered so."""
    async with connected() as client:
        suggestion = await suggested(client)
        made = trio.current_time()
        expired = {"type": "action_closed", "suggestionId": suggestion["suggestionId"], "reason": "expired"}
        await trio.sleep(119)
        assert await client.next() == expired
        assert trio.current_time() - made == pytest.approx(120, abs=0.01)
        await confirm(client, suggestion)
        assert await executed(client, suggestion) == {"expired": True}
        await client.silence()


async def test_confirm_is_in_time_for_two_minutes(autojump_clock: trio.testing.MockClock) -> None:
    """Just before 120 s a confirm still runs the action."""
    async with connected() as client:
        suggestion = await suggested(client)
        await trio.sleep(119.9)
        await confirm(client, suggestion)
        assert (await executed(client, suggestion))["success"] is True
        await client.silence()


async def test_confirm_during_an_answer_waits_for_it(autojump_clock: trio.testing.MockClock) -> None:
    """A confirm while another answer streams runs the action when that has ended."""
    async with connected() as client:
        suggestion = await suggested(client)
        await client.ask(LONG, id="n")
        await client.next()
        await confirm(client, suggestion)
        frames = await client.until("action_executed")
        assert [frame["type"] for frame in frames[-3:]] == ["stream_end", "response", "action_executed"]
        assert frames[-1]["result"]["success"] is True


async def test_unknown_fields_are_ignored(autojump_clock: trio.testing.MockClock) -> None:
    """Every type of frame may carry fields that the wire does not know."""
    more: dict[str, Any] = {
        "trace": {"deep": [1, {"x": None}]},
        "confirm_action": True,
        "n": 12345678901234567890,
    }
    async with connected() as client:
        await answer(client, PRICE, **more)
        await client.send(type="cancel", **more)
        suggestion = await suggested(client)
        await client.send(type="confirm_action", suggestionId=suggestion["suggestionId"], **more)
        assert (await executed(client, suggestion))["success"] is True
        await client.silence()


# --- errors

BAD: dict[str, tuple[str, ...]] = {
    "bad_json": (
        "{",
        "",
        "not json",
        '{"type": "cancel", "x": NaN}',
        '{"type": "message", "id": "a", "text": "b"',
    ),
    "bad_message": (
        "[]",
        "17",
        "{}",
        '{"type": "shout"}',
        '{"type": "message", "id": "a"}',
        '{"type": "message", "text": "a"}',
        '{"type": "message", "id": "", "text": "a"}',
        '{"type": "message", "id": 5, "text": "a"}',
        '{"type": "message", "id": "a", "text": ""}',
        '{"type": "message", "id": "a", "text": "b", "lang": "de"}',
        json.dumps({"type": "message", "id": "a" * 129, "text": "a"}),
        json.dumps({"type": "message", "id": "a", "text": "a" * 8001}),
        '{"type": "confirm_action"}',
        '{"type": "cancel", "x": ' + "[" * 40 + "]" * 40 + "}",
    ),
}


@pytest.mark.parametrize(
    ("code", "text"),
    sample([(code, text) for code, texts in BAD.items() for text in texts], 3),
    ids=lambda each: each[:40],
)
async def test_bad_frames_are_answered_and_the_connection_stays(
    code: str, text: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Each kind of bad input has its code and a sentence; the next question is answered."""
    async with connected() as client:
        await client.send_text(text)
        error = await client.next()
        assert (error["type"], error["code"]) == ("error", code)
        assert error["message"]
        await answer(client, PRICE)


async def test_binary_frame_is_a_bad_message(autojump_clock: trio.testing.MockClock) -> None:
    """A binary frame is refused, whatever is in it."""
    async with connected() as client:
        await client.send_binary(b'{"type": "cancel"}')
        assert (await client.next())["code"] == "bad_message"
        await answer(client, PRICE)


async def test_unknown_suggestion(autojump_clock: trio.testing.MockClock) -> None:
    """An id that was never issued, or issued to somebody else, is unknown; nothing runs."""
    async with serving() as server, plain(server.open()) as owner, plain(server.open()) as other:
        suggestion = await suggested(owner)
        for id in (suggestion["suggestionId"], "nobody's"):
            await other.send(type="confirm_action", suggestionId=id)
            error = await other.next()
            assert (error["type"], error["code"], error["suggestionId"]) == (
                "error",
                "unknown_suggestion",
                id,
            )
        await other.silence(1)
        await owner.silence(1)


async def test_busy_when_eight_messages_wait_for_an_action(autojump_clock: trio.testing.MockClock) -> None:
    """The ninth message during an action is refused; the eight are answered in order after it."""
    async with connected(action_delay_ms=(5000.0, 0.0)) as client:
        suggestion = await suggested(client)
        await confirm(client, suggestion)
        for number in range(9):
            await client.ask(PRICE, id=str(number))
        error = await client.next()
        assert (error["type"], error["code"], error["id"]) == ("error", "busy", "8")
        assert (await executed(client, suggestion))["success"] is True
        ends = [(await client.until("stream_end"))[-1] for _ in range(8)]
        # a queued message is taken one at a time and is not pre-empted by those behind it
        assert [(end["id"], end["reason"]) for end in ends] == [(str(number), "done") for number in range(8)]


async def test_rate_limit_is_for_messages_that_interrupt(autojump_clock: trio.testing.MockClock) -> None:
    """Twice the rate may pre-empt in a burst; the next is refused and leaves the one in progress alone."""
    async with connected(rate_limit=3) as client:
        for number in range(8):
            await client.ask(HANG, id=str(number))
        frames = await client.until("error")
        cancelled = [frame["id"] for frame in frames[:-1]]
        assert (frames[-1]["code"], frames[-1]["id"]) == ("rate_limited", "7")
        assert cancelled == [str(number) for number in range(6)]
        await client.send(type="cancel")
        assert await client.next() == {"type": "stream_end", "reason": "cancelled", "id": "6"}


async def test_bug_is_told_as_internal_without_a_detail(autojump_clock: trio.testing.MockClock) -> None:
    """A bug in a turn is an `error internal`, then a refusal; the session goes on."""
    async with connected() as client:
        await client.ask(BUG)
        frames = await client.until("response")
        assert (frames[0]["type"], frames[0]["code"], frames[0]["id"]) == ("error", "internal", "m")
        assert "ZeroDivision" not in client.raw.decode(errors="replace")
        assert frames[-1]["text"] == WORDS["model_failed"]["en"]
        await answer(client, PRICE)


# --- close codes


async def test_third_bad_frame_in_ten_seconds_closes_with_1008(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Two are forgiven, and forgotten after 10 s; the third within them ends the connection."""
    async with connected() as client:
        for pause in (4, 7, 2):  # at 0, 4, 11: three, but never three in ten seconds
            await client.send_text("{")
            await client.until("error")
            await trio.sleep(pause)
        assert client.closed is None
        await client.send_text("{")  # at 13: with those at 4 and 11
        assert await client.until_closed() == 1008
        assert client.kinds() == ["error"] * 4


async def test_too_many_frames_close_with_1008(autojump_clock: trio.testing.MockClock) -> None:
    """Over 200 frames in a second, of any kind, end the connection."""
    async with connected() as client:
        for _ in range(200):
            await client.send(type="cancel")
        await trio.sleep(1)
        assert client.closed is None
        for _ in range(201):
            await client.send(type="cancel")
        assert await client.until_closed() == 1008


async def test_frame_over_64_kib_closes_with_1009(autojump_clock: trio.testing.MockClock) -> None:
    """A frame too big for any message ends the connection, counted in bytes."""
    for text in ("x" * 65537, "å" * 32769):
        async with connected() as client:
            await client.send_text(text)
            assert await client.until_closed() == 1009


async def test_invalid_utf8_closes_with_1007(autojump_clock: trio.testing.MockClock) -> None:
    """A text frame that is not UTF-8 ends the connection."""
    async with connected() as client:
        await client.send_raw(b"\x81\x82\0\0\0\0\xc3\x28")
        assert await client.until_closed() == 1007


async def test_silent_client_is_closed_with_1011(autojump_clock: trio.testing.MockClock) -> None:
    """A client that does not answer a ping is let go after 40 s; one that does stays."""
    async with serving() as server, plain(server.open(), pongs=False) as dead, plain(server.open()) as alive:
        began = trio.current_time()
        assert await dead.until_closed() == 1011
        assert 20 <= trio.current_time() - began <= 60
        await trio.sleep(600)
        await answer(alive, PRICE)


async def test_wrong_token_closes_with_4401(autojump_clock: trio.testing.MockClock) -> None:
    """Without the token the connection is closed before a frame; with it, as browsers send it, it is served."""
    async with serving(token="s3cret") as server:
        async with plain(server.open()) as client:
            assert await client.until_closed() == 4401
            assert client.frames == []
        async with plain(server.open(), ["agent.v1", "bearer.s3cret"]) as client:
            assert (await client.next())["type"] == "welcome"
            await answer(client, PRICE)


# --- drain


async def test_welcome_is_for_those_who_offer_the_subprotocol(autojump_clock: trio.testing.MockClock) -> None:
    """`agent.v1` is chosen and greeted; a client that offers nothing, or something else, gets no extra frame."""
    async with serving() as server:
        async with plain(server.open(), ["agent.v1"]) as client:
            welcome = await client.next()
            assert (welcome["type"], welcome["protocol"]) == ("welcome", 1)
            assert client.accepted is not None
            assert client.accepted.subprotocol == "agent.v1"
        for offered in ([], ["chat"]):
            async with plain(server.open(), offered) as client:
                await answer(client, PRICE)
                assert "welcome" not in client.kinds()


async def test_drain_closes_idle_sessions_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """An idle session closes with 1012; one with a live suggestion is told first that it is cancelled."""
    async with serving() as server, plain(server.open()) as idle, plain(server.open()) as waiting:
        suggestion = await suggested(waiting)
        began = trio.current_time()
        server.app.drain()
        assert (await idle.until_closed(), await waiting.until_closed()) == (1012, 1012)
        assert trio.current_time() == began
        assert idle.frames == []
        closed = {"type": "action_closed", "suggestionId": suggestion["suggestionId"], "reason": "cancelled"}
        assert await waiting.next() == closed


async def test_drain_lets_an_answer_end(autojump_clock: trio.testing.MockClock) -> None:
    """A session that is busy is done first; meanwhile messages and confirms are told that the server goes down."""
    async with serving() as server, plain(server.open()) as client:
        suggestion = await suggested(client)
        await client.ask(LONG, id="last")
        await client.next()
        server.app.drain()
        await client.ask(PRICE, id="late")
        await confirm(client, suggestion)
        frames = await client.until("response")
        errors = [frame for frame in frames if frame["type"] == "error"]
        assert [error["code"] for error in errors] == ["shutting_down", "shutting_down"]
        assert (errors[0]["id"], errors[1]["suggestionId"]) == ("late", suggestion["suggestionId"])
        assert (frames[-1]["id"], frames[-2]["reason"]) == ("last", "done")
        assert await client.until_closed() == 1012


async def test_drain_has_a_deadline(autojump_clock: trio.testing.MockClock) -> None:
    """A turn that hangs is cancelled after 25 s, told so, and the session closes with 1012."""
    async with serving(turn_timeout=100) as server, plain(server.open()) as client:
        await client.ask(HANG)
        await trio.sleep(1)
        began = trio.current_time()
        server.app.drain()
        code = await client.until_closed()
        assert trio.current_time() - began == pytest.approx(25, abs=0.1)
        assert await client.next() == {"type": "stream_end", "reason": "cancelled", "id": "m"}
        assert code == 1012
