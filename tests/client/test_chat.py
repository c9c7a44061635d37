"""The terminal client shows what the server says in words, and a person's lines become frames."""

import json
import os
import threading
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
import trio
import trio.testing

from agent.client.chat import HELP, TerminalChat, ask_once
from agent.client.client import Client, Frame
from agent.client.descriptions import TO_CONFIRM, describe_outcome, describe_response
from agent.client.source_view import CannotOpen
from agent.client.stdin import read_stdin_lines
from agent.errors import WireClosed
from agent.protocol.codec import decode

CITED = {
    "type": "response",
    "id": "1",
    "text": "It costs 299 kr.",
    "citations": [{"file": "kb/pricing.md", "snippet": "| Standard | 299 kr |", "lines": [11, 11]}],
}
REFUSED = {"type": "response", "id": "1", "text": "No.", "citations": [], "blocked": {"code": "no_sources"}}
SUGGESTED = {
    "type": "action_suggestion",
    "suggestionId": "s1",
    "action": "send_sms",
    "payload": {"to": "070"},
    "expiresAt": 130_000,
}


class Wire:
    """Stands for a `Client`: notes what is sent, and gives the frames that a test puts in."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self._put, self._take = trio.open_memory_channel[Frame](100)
        self.code = 1012

    def says(self, *frames: Frame) -> None:
        """Let the server send frames."""
        for frame in frames:
            self._put.send_nowait(frame)

    def hangs_up(self) -> None:
        """Let the server close."""
        self._put.close()

    async def ask(self, text: str, id: str | None = None, lang: str | None = None) -> str:
        """Note a question."""
        await trio.lowlevel.checkpoint()
        self.sent.append(text if lang is None else (text, lang))
        return str(sum(isinstance(each, str) for each in self.sent))

    async def ping(self) -> None:
        """Answer at once."""
        await trio.lowlevel.checkpoint()

    async def cancel(self, id: str | None = None) -> None:
        """Note a cancel."""
        self.sent.append(("cancel",))

    async def confirm(self, suggestion_id: str, payload: dict[str, str] | None = None) -> None:
        """Note a confirm."""
        self.sent.append(
            ("confirm", suggestion_id) if payload is None else ("confirm", suggestion_id, payload)
        )

    async def reject(self, suggestion_id: str) -> None:
        """Note a reject."""
        self.sent.append(("reject", suggestion_id))

    async def send(self, frame: Frame) -> None:
        """Note a frame."""
        self.sent.append(frame)

    async def next_frame(self) -> Frame:
        """Return what the server says next."""
        try:
            return await self._take.receive()
        except trio.EndOfChannel:
            raise WireClosed(self.code) from None


class Terminal:
    """A person in front of a chat."""

    def __init__(self, nursery: trio.Nursery, interactive: bool = True) -> None:
        self.wire = Wire()
        self.screen = ""
        self.status: int | None = None
        self._lines, lines = trio.open_memory_channel[str](100)
        self._interrupts, interrupts = trio.open_memory_channel[object](100)
        self._chat = TerminalChat(
            cast(Client, self.wire), self._write, self._open, interactive, now=lambda: 100.0
        )
        nursery.start_soon(self._run, lines, interrupts)

    def _write(self, text: str) -> None:
        self.screen += text

    async def _open(self, citation: Frame) -> list[str]:
        await trio.lowlevel.checkpoint()
        if citation["file"] == "kb/gone.md":
            raise CannotOpen("it is gone")
        return [f"opened {citation['file']}", "and more"]

    async def _run(self, lines: AsyncIterator[str], interrupts: AsyncIterator[object]) -> None:
        self.status = await self._chat.run(lines, interrupts)

    async def types(self, *lines: str) -> None:
        """Type lines and let everything settle."""
        for line in lines:
            self._lines.send_nowait(line)
        await trio.testing.wait_all_tasks_blocked()

    async def sees(self, *frames: Frame) -> str:
        """Let the server send frames; return what they add to the screen."""
        before = len(self.screen)
        self.wire.says(*frames)
        await trio.testing.wait_all_tasks_blocked()
        return self.screen[before:]

    async def presses_ctrl_c(self) -> None:
        """Interrupt."""
        self._interrupts.send_nowait(2)
        await trio.testing.wait_all_tasks_blocked()

    async def ends_input(self) -> None:
        """Close standard input."""
        self._lines.close()
        await trio.testing.wait_all_tasks_blocked()


async def test_an_answer_streams_in_and_shows_its_sources(nursery: trio.Nursery) -> None:
    """Deltas are written as they come, with marks behind the parts that sources hold; then file, lines and snippet."""
    terminal = Terminal(nursery)
    await terminal.types("what does it cost", "")
    assert terminal.wire.sent == ["what does it cost"]
    assert await terminal.sees({"type": "stream", "delta": "It costs "}) == "It costs "
    rest = await terminal.sees(
        {"type": "stream", "delta": "299 kr. ", "sources": [1, 2]},
        {"type": "stream", "delta": "Yes."},
        {"type": "stream_end", "reason": "done", "id": "1"},
        CITED,
    )
    assert rest == "299 kr. [1] [2] Yes.\nSources:\n  [1] kb/pricing.md:11\n    | Standard | 299 kr |\n"


async def test_a_source_of_the_last_answer_is_opened(nursery: trio.Nursery) -> None:
    """By its number, or the first; an answer without sources leaves those before it."""
    terminal = Terminal(nursery)
    await terminal.types("/source")
    assert terminal.screen == "There is no such source.\n"
    gone = {"file": "kb/gone.md", "snippet": "x"}
    await terminal.sees(CITED | {"citations": [*CITED["citations"], gone]}, REFUSED)
    before = len(terminal.screen)
    await terminal.types(
        "/source 1", "/source", "/source 2", "/source 3", "/source 0", f"/source {'9' * 5000}", "/source x"
    )
    opened = "opened kb/pricing.md\nand more\n"
    trouble = "! the source cannot be opened: it is gone\n"
    assert terminal.screen[before:] == 2 * opened + trouble + 4 * "There is no such source.\n"
    assert terminal.wire.sent == []


async def test_commands_become_frames(nursery: trio.Nursery) -> None:
    """/cancel, /confirm and /reject, with and without the number; others show the help."""
    terminal = Terminal(nursery)
    shown = await terminal.sees(SUGGESTED, SUGGESTED | {"suggestionId": "s2", "payload": {}})
    assert shown.startswith(
        "? [1] send_sms (to: 070)\n  /confirm 1 runs it, /reject 1 declines it; 30 s left\n? [2] send_sms ()\n"
    )
    await terminal.types("/cancel", "/confirm", "/confirm 1", "/reject", "/reject 2", "/confirm 9", "/what")
    assert terminal.wire.sent == [
        ("cancel",),
        ("confirm", "s2"),
        ("confirm", "s1"),
        ("reject", "s2"),
        ("reject", "s2"),
    ]
    assert terminal.screen.endswith(f"There is no such suggestion.\n{HELP}\n")


LACKING = SUGGESTED | {"payload": {}, "missing": ["phone", "text"]}
USAGE = "! type it so, with what is missing: /confirm 1 phone=... text=...\n"


async def test_what_an_action_lacks_is_typed_with_its_confirm(nursery: trio.Nursery) -> None:
    """It is asked for, in whatever order; a value may hold spaces; what does not fit sends nothing."""
    terminal = Terminal(nursery)
    shown = await terminal.sees(LACKING)
    assert "  /confirm 1 phone=... text=... runs it, /reject 1 declines it; 30 s left\n" in shown
    for typed in (
        "",
        "1",
        "1 phone=070",
        "1 text=a phone=",
        "1 please phone=1 text=b",
        "1 phone=1 phone=2 text=c",
    ):
        before = len(terminal.screen)
        await terminal.types(f"/confirm {typed}")
        assert terminal.screen[before:] == USAGE
    assert terminal.wire.sent == []
    await terminal.types("/confirm 1 text=I am late, a=b  phone=070-123 45 67", "/confirm phone=1 text=x")
    assert terminal.wire.sent == [
        ("confirm", "s1", {"text": "I am late, a=b", "phone": "070-123 45 67"}),
        ("confirm", "s1", {"phone": "1", "text": "x"}),
    ]
    refused = {"type": "error", "code": "bad_message", "message": "Write phone so.", "suggestionId": "s1"}
    assert await terminal.sees(refused) == "! Write phone so. (bad_message)\n"
    await terminal.types("/confirm phone=2 text=x", "/reject 1")
    assert terminal.wire.sent[2:] == [("confirm", "s1", {"phone": "2", "text": "x"}), ("reject", "s1")]


async def test_nothing_is_filled_in_where_nothing_is_missing(nursery: trio.Nursery) -> None:
    """What is typed behind such a confirm is not sent, and is not thrown away in silence either."""
    terminal = Terminal(nursery)
    await terminal.sees(SUGGESTED)
    await terminal.types("/confirm 1 phone=070")
    assert terminal.screen.endswith("! type it so, with what is missing: /confirm 1\n")
    assert terminal.wire.sent == []


async def test_a_settled_suggestion_is_no_longer_the_newest(nursery: trio.Nursery) -> None:
    """/confirm without a number means the newest that can still be confirmed."""
    terminal = Terminal(nursery)
    await terminal.sees(SUGGESTED, SUGGESTED | {"suggestionId": "s2"})
    closed = {"type": "action_closed", "suggestionId": "s2", "reason": "expired"}
    assert await terminal.sees(closed) == "= [2] expired before it was confirmed\n"
    await terminal.types("/confirm")
    done = {"type": "action_executed", "suggestionId": "s1", "result": {"success": True}}
    assert await terminal.sees(done) == "= [1] done\n"
    await terminal.types("/confirm")
    assert terminal.wire.sent == [("confirm", "s1")]
    assert terminal.screen.endswith("There is no such suggestion.\n")
    again = {"type": "action_executed", "suggestionId": "other", "result": {"ignored": True}}
    assert "[?] ignored" in await terminal.sees(again)


async def test_suggestion_without_a_deadline_shows_none(nursery: trio.Nursery) -> None:
    """A server of the core protocol sends no `expiresAt`."""
    terminal = Terminal(nursery)
    shown = await terminal.sees({name: value for name, value in SUGGESTED.items() if name != "expiresAt"})
    assert shown.endswith("/reject 1 declines it\n")


async def test_a_stopped_answer_and_an_error_are_told(nursery: trio.Nursery) -> None:
    """What is told begins on a line of its own; frames of unknown types are skipped."""
    terminal = Terminal(nursery)
    await terminal.types("hi")
    shown = await terminal.sees(
        {"type": "stream", "delta": "It "},
        {"type": "stream_end", "reason": "cancelled", "id": "1"},
        {"type": "error", "code": "busy", "message": "Ask again later."},
        {"type": "news"},
    )
    assert shown == "It \n(stopped)\n! Ask again later. (busy)\n"


async def test_ctrl_c_cancels_and_twice_leaves(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Two presses within two seconds leave; two slow ones are two cancels."""
    terminal = Terminal(nursery)
    await terminal.types("hi")
    await terminal.presses_ctrl_c()
    await trio.sleep(5)
    await terminal.presses_ctrl_c()
    assert (terminal.wire.sent, terminal.status) == (["hi", ("cancel",), ("cancel",)], None)
    await terminal.presses_ctrl_c()
    assert terminal.status == 0
    assert terminal.screen.count("leaves") == 2


async def test_ctrl_c_between_answers_leaves_suggestions_alone(nursery: trio.Nursery) -> None:
    """It stops an answer; what can be confirmed is only closed by /cancel."""
    terminal = Terminal(nursery)
    await terminal.sees(SUGGESTED)
    await terminal.presses_ctrl_c()
    assert (terminal.wire.sent, terminal.status) == ([], None)


async def test_quit_leaves(nursery: trio.Nursery) -> None:
    """/quit ends the chat at once, whatever is in progress."""
    terminal = Terminal(nursery)
    await terminal.types("hi", "/quit", "more")
    assert (terminal.wire.sent, terminal.status) == (["hi"], 0)


@pytest.mark.parametrize(
    ("code", "words"), [(1012, "connect again (1012)"), (1006, "connection lost (1006)")]
)
async def test_a_closed_connection_ends_the_chat(code: int, words: str, nursery: trio.Nursery) -> None:
    """The close code is told in words, and the status is 1."""
    terminal = Terminal(nursery)
    terminal.wire.code = code
    terminal.wire.hangs_up()
    await trio.testing.wait_all_tasks_blocked()
    assert terminal.status == 1
    assert words in terminal.screen


async def test_a_line_after_the_connection_closed_does_no_harm(nursery: trio.Nursery) -> None:
    """The person types while the connection goes: one message, one status."""
    terminal = Terminal(nursery)

    async def gone(text: str, id: str | None = None, lang: str | None = None) -> str:
        raise WireClosed(1006)

    terminal.wire.ask = gone  # type: ignore[method-assign]
    await terminal.types("hi")
    terminal.wire.hangs_up()
    await trio.testing.wait_all_tasks_blocked()
    assert terminal.status == 1
    assert terminal.screen.count("closed") == 1


async def test_piped_lines_wait_for_the_answer_before_them(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Without a person nobody means to interrupt; the end of input waits for the last answer."""
    terminal = Terminal(nursery, interactive=False)
    await terminal.types("one", "two")
    await terminal.ends_input()
    assert terminal.wire.sent == ["one"]
    await terminal.sees({"type": "error", "code": "internal", "message": "A bug.", "id": "1"})
    assert terminal.wire.sent == ["one"], "the answer is still to come after this error"
    await terminal.sees(REFUSED)
    assert (terminal.wire.sent, terminal.status) == (["one", "two"], None)
    await terminal.sees({"type": "error", "code": "busy", "message": "Later.", "id": "2"})
    await trio.sleep(2)
    assert terminal.status == 0


async def test_a_piped_confirm_waits_for_its_suggestion_and_its_outcome(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Suggestions follow the answer, and leaving at once would stop what was just confirmed."""
    terminal = Terminal(nursery, interactive=False)
    await terminal.types("one", "/confirm", "/quit")
    terminal.wire.says(CITED)
    terminal.wire.says({"type": "action_suggestion", "suggestionId": "s1", "action": "a", "payload": {}})
    await trio.sleep(2)
    assert (terminal.wire.sent, terminal.status) == (["one", ("confirm", "s1")], None)
    await terminal.sees(
        {"type": "action_executed", "suggestionId": "s1", "result": {"success": True, "data": {}}}
    )
    assert terminal.status == 0


async def test_a_call_of_an_answer_is_shown_and_ends_nothing(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """A pipe still waits for the answer that the call was made for."""
    terminal = Terminal(nursery, interactive=False)
    await terminal.types("where is A-17?", "/quit")
    call = {"action": "look_up", "payload": {"order": "A-17"}, "id": "1"}
    result = {"success": True, "data": {"status": "sent"}}
    shown = await terminal.sees({"type": "action_executed", "suggestionId": "s1", "result": result, **call})
    assert "= look_up (order: A-17): done (status: sent)\n" in shown
    await trio.sleep(2)
    assert terminal.status is None


async def test_a_pipe_that_ends_still_shows_every_suggestion(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Each comes a moment after what came before it; a confirm counts from all of them."""
    terminal = Terminal(nursery, interactive=False)
    await terminal.types("call me, text me and open a ticket", "/confirm 3")
    await terminal.ends_input()
    await terminal.sees(CITED)
    for number in (1, 2, 3):
        await trio.sleep(0.3)
        await terminal.sees(SUGGESTED | {"suggestionId": f"s{number}"})
    assert all(f"? [{number}] send_sms" in terminal.screen for number in (1, 2, 3))
    await trio.sleep(2)
    assert (terminal.wire.sent[-1], terminal.status) == (("confirm", "s3"), None)
    await terminal.sees({"type": "action_executed", "suggestionId": "s3", "result": {"success": True}})
    await trio.sleep(2)
    assert terminal.status == 0


async def test_a_pipe_that_ends_on_its_last_question_shows_what_it_led_to(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Leaving with the answer would lose the suggestions behind it; a person who leaves is not kept."""
    piped, typed = Terminal(nursery, interactive=False), Terminal(nursery)
    for terminal in (piped, typed):
        await terminal.types("call me")
        await terminal.ends_input()
        await terminal.sees(CITED)
    assert (piped.status, typed.status) == (None, 0)
    await trio.sleep(0.3)
    await piped.sees(SUGGESTED)
    await trio.sleep(0.3)
    assert "? [2] send_sms" in await piped.sees(SUGGESTED | {"suggestionId": "s2"})
    await trio.sleep(2)
    assert piped.status == 0


async def test_a_piped_confirm_of_nothing_waits_for_a_moment_only(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """An answer without a suggestion does not hold up the lines after it."""
    terminal = Terminal(nursery, interactive=False)
    await terminal.types("one", "/confirm", "/quit")
    await terminal.sees(CITED)
    await trio.sleep(2)
    assert "no such suggestion" in terminal.screen
    assert terminal.status == 0


async def asked(*frames: Frame) -> tuple[int, str, str]:
    """Return status, output and complaint of `ask` to a server that sends `frames`."""
    wire, out, err = Wire(), [""], [""]
    wire.says(*frames)

    def write(text: str) -> None:
        out[0] += text

    def complain(text: str) -> None:
        err[0] += text

    status = await ask_once(cast(Client, wire), "cost?", write, complain, "en")
    assert wire.sent == [("cost?", "en")]
    return status, out[0], err[0]


async def test_ask_prints_answer_and_sources() -> None:
    """Answered is 0; frames of other messages are not shown."""
    status, out, err = await asked(
        {"type": "stream", "delta": "It ", "id": "0"},
        {"type": "stream", "delta": "other", "id": "9"},
        {"type": "stream", "delta": "costs.\n", "sources": [1]},
        {"type": "stream_end", "reason": "done", "id": "0"},
        CITED | {"id": "0"},
    )
    assert (status, err) == (0, "")
    assert out == "It costs. [1]\n\nSources:\n  [1] kb/pricing.md:11\n    | Standard | 299 kr |\n"


async def test_ask_prints_what_is_suggested_and_how_to_confirm_it() -> None:
    """Behind the answer; it is answered, and nothing is confirmed here."""
    status, out, err = await asked(
        {"type": "stream", "delta": "Please confirm this.", "id": "0"},
        {"type": "response", "id": "0", "text": "Please confirm this.", "citations": []},
        SUGGESTED,
        SUGGESTED | {"payload": {}, "missing": ["phone", "text"]},
    )
    assert (status, err) == (0, "")
    assert out == (
        "Please confirm this.\n"
        "Suggested, not done: send_sms (to: 070)\n"
        "Suggested, not done: send_sms (); still needed: phone, text\n"
        f"{TO_CONFIRM}\n"
    )


@pytest.mark.parametrize(
    ("frame", "status", "out", "err"),
    [
        (REFUSED | {"id": "0"}, 3, "\n(refused: the knowledge base has nothing on this)\n", ""),
        ({"type": "error", "code": "busy", "message": "Later."}, 1, "", "Later. (busy)\n"),
        ({"type": "stream_end", "reason": "cancelled", "id": "0"}, 1, "", "the server stopped the answer\n"),
    ],
)
async def test_ask_without_an_answer_has_a_status_of_its_own(
    frame: Frame, status: int, out: str, err: str
) -> None:
    """Refused is 3, no answer is 1; an internal error is followed by its refusal."""
    internal = {"type": "error", "code": "internal", "message": "A bug.", "id": "0"}
    assert await asked(internal, frame) == (status, out, err)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"success": True}, "done"),
        ({"success": True, "data": {"to": "070", "n": 1}}, "done (to: 070, n: 1)"),
        ({"success": True, "data": {"a\x1b[2J": "b\nc"}}, "done (a\N{REPLACEMENT CHARACTER}[2J: b c)"),
        (
            {"success": True, "data": {"ok": True, "at": None, "to": [{"a": {"b": {"c": 1}}}, 2]}},
            "done (ok: yes, at: nothing, to: a: b: …, 2)",
        ),
        (
            {"success": True, "data": {"recorded": True, "action": "a", "payload": {"phone": "070"}}},
            "done: it was noted only, as this server carries nothing out",
        ),
        ({"success": False, "error": "no\x1b[2J"}, "failed: no\N{REPLACEMENT CHARACTER}[2J"),
        ({"success": False, "unknown": True, "error": "x"}, "begun, but its outcome is not known: x"),
        ({"cancelled": True}, "cancelled before it had any effect"),
        ({"ignored": True}, "ignored: it was confirmed before and runs only once"),
        ({"expired": True}, "not run: it was confirmed too late"),
    ],
)
def test_every_result_of_an_action_has_its_words(result: Frame, words: str) -> None:
    """The shapes of `result` on the wire, in words."""
    assert describe_outcome(result) == words


def test_sources_show_lines_where_they_are_known() -> None:
    """A range, and none for a server that sends none; headings likewise; an unknown refusal is still one."""
    lines = describe_response(
        {
            "citations": [
                {"file": "a", "snippet": "x\ny", "lines": [2, 3]},
                {"file": "b", "snippet": "z", "heading": "B › \x1b2"},
            ],
            "blocked": {"code": "new"},
        }
    )
    assert lines == [
        "(refused)",
        "Sources:",
        "  [1] a:2-3",
        "    x",
        "    y",
        "  [2] b (B › \ufffd2)",
        "    z",
    ]


def test_a_section_is_one_source_and_three_are_shown() -> None:
    """In the order of their numbers, each line once; of the others the places, and how many they are."""

    def row(source: int, line: int) -> Frame:
        snippet = f"| Plan | Price |\n| {line} | kr |"
        return {
            "file": f"{source}.md",
            "snippet": snippet,
            "lines": [line, line],
            "heading": "P",
            "source": source,
        }

    cited = [row(2, 7), row(1, 5), row(1, 4), row(4, 8), row(3, 9), row(5, 2)]
    assert describe_response({"citations": cited}) == [
        "Sources:",
        "  [1] 1.md:4,5 (P)",
        "    | Plan | Price |",
        "    | 5 | kr |",
        "    | 4 | kr |",
        "  [2] 2.md:7 (P)",
        "    | Plan | Price |",
        "    | 7 | kr |",
        "  [3] 3.md:9 (P)",
        "    | Plan | Price |",
        "    | 9 | kr |",
        "  2 more: [4] 4.md:8 (P), [5] 5.md:2 (P)",
    ]


async def test_lines_of_a_descriptor_end_with_it() -> None:
    """Whole lines, bytes that are no UTF-8 replaced, and what is left at the end."""
    read, write = os.pipe()
    os.write(write, "one\ntwå\n\xff".encode("latin-1"))
    os.close(write)
    try:
        assert [line async for line in read_stdin_lines(read)] == [
            "one",
            "tw\N{REPLACEMENT CHARACTER}",
            "\N{REPLACEMENT CHARACTER}",
        ]
    finally:
        os.close(read)


async def test_a_descriptor_that_is_gone_is_an_end() -> None:
    """A terminal that was closed reads as the end of input."""
    assert [line async for line in read_stdin_lines(10_000)] == []


def test_a_person_who_types_nothing_holds_up_no_exit() -> None:
    """The run ends while the thread still reads, and the thread is a daemon."""
    read, write = os.pipe()

    async def give_up() -> None:
        with trio.move_on_after(0.01):
            async for _ in read_stdin_lines(read):
                raise AssertionError("nothing was typed")

    trio.run(give_up)
    (reader,) = [each for each in threading.enumerate() if each.name == "stdin" and each.is_alive()]
    assert reader.daemon
    os.write(write, b"late\n")
    reader.join(5)
    assert not reader.is_alive()
    os.close(read)
    os.close(write)


BUDGET = {"id": "i1", "status": "accepted", "text": "The budget is 50\x1b[2J 000 kr."}
ANOTHER = {
    "id": "i2",
    "status": "proposed",
    "text": "The budget is 60 000 kr.",
    "replaces": [{"item": "i1", "text": BUDGET["text"]}],
    "decisions": ["accept", "reject", "made up"],
}


async def test_what_is_remembered_is_listed_and_decided(nursery: trio.Nursery) -> None:
    """By its id, in place of what was seen to be replaced; what is not typed so says how."""
    terminal = Terminal(nursery)
    await terminal.types("/memory")
    assert terminal.wire.sent.pop() == {"type": "memory_list", "after": 0, "id": "memory-1"}
    shown = await terminal.sees({"type": "memory", "items": [BUDGET, ANOTHER], "after": 20, "id": "memory-1"})
    assert shown.splitlines() == [
        "i1 (accepted) The budget is 50\ufffd[2J 000 kr.",
        "i2 (proposed) The budget is 60 000 kr.",
        "  in place of: The budget is 50\ufffd[2J 000 kr.",
        "  /accept or /decline",
        "(/memory 20 lists the next items)",
    ]
    for line, asked in (
        ("/memory 20", {"type": "memory_list", "after": 20}),
        (
            "/accept i2",
            {"type": "memory_decide", "item": "i2", "decision": "accept", "replaces": ["i1"]},
        ),
        ("/accept i7", {"type": "memory_decide", "item": "i7", "decision": "accept", "replaces": []}),
        ("/decline i2", {"type": "memory_decide", "item": "i2", "decision": "reject"}),
        *(
            (f"/{each} i3", {"type": "memory_decide", "item": "i3", "decision": each})
            for each in ("start", "done", "block", "unblock", "reopen")
        ),
        ("/edit i1  The budget is 70.", {"type": "memory_edit", "item": "i1", "text": "The budget is 70."}),
        ("/forget i1", {"type": "memory_forget", "item": "i1"}),
    ):
        await terminal.types(line)
        frame = terminal.wire.sent.pop()
        assert decode(json.dumps(frame))
        assert {name: value for name, value in frame.items() if name != "id"} == asked
    changed = {"type": "memory_changed", "item": ANOTHER | {"status": "accepted"}, "replaced": [BUDGET]}
    assert (await terminal.sees(changed)).splitlines() == [
        "= i2 (accepted) The budget is 60 000 kr.",
        "  in place of i1 (accepted) The budget is 50\ufffd[2J 000 kr.",
    ]
    assert await terminal.sees({"type": "memory", "items": []}) == "(nothing is remembered)\n"
    for line in ("/memory x", "/accept", "/decline", "/forget", "/done", "/edit", "/edit i1"):
        before = len(terminal.screen)
        await terminal.types(line)
        assert terminal.screen[before:].startswith(f"! type {line.partition(' ')[0]}")
    assert terminal.wire.sent == []


async def test_lines_from_a_pipe_wait_for_what_is_remembered(nursery: trio.Nursery) -> None:
    """Each for the answer to the one before it, an error too."""
    terminal = Terminal(nursery, interactive=False)
    await terminal.types("/memory", "/forget i1", "what is it")
    await terminal.sees({"type": "memory", "items": [BUDGET], "id": "memory-1"})
    assert [each["type"] for each in terminal.wire.sent] == ["memory_list", "memory_forget"]
    await terminal.sees({"type": "error", "code": "unknown_item", "message": "No.", "id": "memory-2"})
    assert terminal.wire.sent[2:] == ["what is it"]


async def test_a_suggestion_to_remember_says_what(nursery: trio.Nursery) -> None:
    """In words, with what it would replace; what is cited of it opens no file."""
    terminal = Terminal(nursery)
    payload = {"item": "i2", "text": ANOTHER["text"], "replaces": ANOTHER["replaces"]}
    shown = await terminal.sees(
        {"type": "action_suggestion", "suggestionId": "s1", "action": "remember", "payload": payload}
    )
    assert shown.splitlines() == [
        "? [1] remember: The budget is 60 000 kr.",
        "  in place of: The budget is 50\ufffd[2J 000 kr.",
        "  /confirm 1 runs it, /reject 1 declines it",
    ]
    cited = {"file": "memory/i2", "snippet": ANOTHER["text"], "when": "2026-05-03"}
    await terminal.sees({"type": "response", "id": "1", "text": "60.", "citations": [cited]})
    await terminal.types("/source 1")
    assert terminal.screen.endswith("This is remembered, and stands in no file; /memory lists what is.\n")
