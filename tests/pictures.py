"""Takes the pictures of the README from a running server.

    python -m tests.pictures      writes diagrams/page.png, the chat page, and diagrams/turn.svg, a turn's frames

The frames are those that a client sent and received; the states beside them are those of the session's table.
"""

import sys
import tempfile
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import trio

from agent.client.client import connect
from agent.session.states import TABLE, SessionGuard, SessionState, SessionTrigger

from .browser import CHROMIUM, ask, launch
from .e2e.test_process import serve

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "diagrams" / "page.png"
TURN = ROOT / "diagrams" / "turn.svg"
QUESTIONS = ("What does a return cost?", "Please call me on 070-174 06 05")
WIDTH, HEIGHT = 900, 760
ROW = 34  # pixels of a frame of the turn
LEFT, RIGHT = 150, 560  # of the lines of client and server

Step = tuple[str, str, str]
"""A frame of a turn: who sent it, its text, and the session's state after it."""


def take_pictures() -> None:
    """Ask the documents in `kb/`, and write what a user sees and what a client is sent."""
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder), "--name", "Almvik") as (_, port):
        steps = trio.run(record_turn, f"ws://127.0.0.1:{port}/ws")
        TURN.write_text(draw_turn(steps), "utf-8")
        with launch() as browser:
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, locale="en")
            page.goto(f"http://127.0.0.1:{port}/")
            for question in QUESTIONS:
                ask(page, question)
            page.wait_for_timeout(500)  # until what slides in stands
            page.screenshot(path=PAGE)


async def record_turn(url: str) -> list[Step]:
    """Return the frames of a question that suggests an action, which is confirmed."""
    text = f"{QUESTIONS[0]} {QUESTIONS[1]}"
    async with connect(url) as client:
        await client.ask(text)
        frames = await client.frames_until("action_suggestion")
        suggestion = frames[-1]
        await client.confirm(suggestion["suggestionId"])
        executed = (await client.frames_until("action_executed"))[-1]
    deltas = [frame["delta"] for frame in frames if frame["type"] == "stream"]
    response = next(frame for frame in frames if frame["type"] == "response")
    where = response["citations"][0]
    states = list(_follow(SessionTrigger.MESSAGE, SessionTrigger.DRAFTED, SessionTrigger.VERIFIED))
    rest = list(
        _follow(SessionTrigger.STREAMED, SessionTrigger.CONFIRM, SessionTrigger.EXECUTED, at=states[-1])
    )
    return [
        ("client", f'message "{text}"', states[0]),
        ("", "the draft is complete", states[1]),
        ("server", f'stream "{deltas[0]}" ... {len(deltas)} deltas, all verified', states[2]),
        ("server", "stream_end done", states[2]),
        ("server", f"response, citing {where['file']} line {where['lines'][0]}", states[2]),
        ("server", f"action_suggestion {suggestion['action']} {suggestion['payload']}", rest[0]),
        ("client", "confirm_action", rest[1]),
        ("server", f"action_executed success {str(executed['result']['success']).lower()}", rest[2]),
    ]


def _follow(*triggers: SessionTrigger, at: str = SessionState.IDLE.value) -> Iterable[str]:
    """Yield the states after each trigger, by the rows that hold with a live suggestion and nothing in the way."""
    holds = (None, SessionGuard.WILL_BE_LIVE)
    for trigger in triggers:
        rows = [row for row in TABLE.rows if row.trigger is trigger and row.source.value == at]
        row = next(row for row in rows if row.guard in holds)
        assert row.target is not None
        at = row.target.value
        yield at


def draw_turn(steps: Sequence[Step]) -> str:
    """Return the frames of a turn as SVG."""
    height = 70 + ROW * len(steps)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" role="img" font-size="12"'
        ' font-family="system-ui, sans-serif" fill="#1b2733">',
        "<title>The frames of a turn, and the state of its session after each</title>",
        f'<rect width="760" height="{height}" fill="#fff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
        ' orient="auto-start-reverse"><path d="m0 0 8 4 -8 4z" fill="#1f5f8b"/></marker></defs>',
    ]
    for x, name in ((LEFT, "client"), (RIGHT, "server")):
        parts.append(f'<text x="{x}" y="24" text-anchor="middle" font-weight="600">{name}</text>')
        parts.append(f'<path d="M{x} 34V{height - 14}" stroke="#9fb0bf"/>')
    for number, (sender, text, state) in enumerate(steps):
        y = 62 + ROW * number
        if sender:
            start, end = (LEFT, RIGHT) if sender == "client" else (RIGHT, LEFT)
            parts.append(f'<path d="M{start} {y}H{end}" stroke="#1f5f8b" marker-end="url(#tip)"/>')
        parts.append(
            f'<text x="{(LEFT + RIGHT) / 2}" y="{y - 6}" text-anchor="middle">{escape(text)}</text>'
            f'<text x="{RIGHT + 14}" y="{y + 4}" font-weight="600">{escape(state)}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    if CHROMIUM is None:
        sys.exit("install chromium: its program is not in PATH")
    take_pictures()
