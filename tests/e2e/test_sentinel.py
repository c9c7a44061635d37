"""A number that only a draft holds is seen nowhere: not on the wire, not in the log, not in the figures."""

import io
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Literal

import pytest
import trio
import trio.testing

from agent import log
from agent.compose.adapters import Adapters
from agent.llm.script import ScriptEntry, ScriptModel
from agent.ports.draft import Delta, Prompt
from agent.ports.search import Hit
from agent.settings import Settings
from agent.testing.network import Network, network
from tests.logs import capture_log

from .plain import Plain, plain
from .shipped import KB, knowledge

SENTINEL = "864209753"
QUESTION = "What does the Standard plan cost per month?"


class Drafts:
    """A scripted model, and one case that a script cannot make: a bug whose message quotes the draft."""

    def __init__(self, entries: Sequence[ScriptEntry]) -> None:
        self.script = ScriptModel(entries)
        self.drafts = 0

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Play the script, or break after a delta."""
        self.drafts += 1
        if "bug" in prompt.question:
            yield Delta(f"It costs {SENTINEL} ")
            raise ZeroDivisionError(f"cannot parse {SENTINEL}")
        async with aclosing(self.script.stream(prompt, evidence)) as deltas:
            async for delta in deltas:
                yield delta


SCRIPT = (
    ScriptEntry(match="whole", text=f"It costs {SENTINEL} kr."),
    ScriptEntry(match="split", deltas=("It costs 299 kr, or 864", "209", "753 kr.")),
    ScriptEntry(match="grouped", text="It costs 299 kr. Premium costs 864 209 753 kr."),
    ScriptEntry(match="code", text=f"Standard costs 299 kr with the code AB-{SENTINEL}-X."),
    ScriptEntry(
        match="failing", deltas=(f"It costs {SENTINEL}",), error=f"upstream: bad token near {SENTINEL}"
    ),
    ScriptEntry(match="huge", text=f"It costs {SENTINEL} kr. " * 3000),
    ScriptEntry(match="slow", deltas=(f"It costs {SENTINEL}",), hang=True),
    ScriptEntry(match="true", text="The Standard plan costs 299 kr."),
)
REFUSED = ("whole", "split", "grouped", "code")
FAILED = ("failing", "huge", "slow", "bug")


async def metrics(server: Network) -> str:
    """Return what /metrics says."""
    stream = server.open()
    await stream.send_all(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:8787\r\nConnection: close\r\n\r\n")
    text = b""
    while data := await stream.receive_some():
        text += data
    return text.decode()


async def ask_each(client: Plain) -> dict[str, str]:
    """Play each entry, and one of them a second time to cancel it; return how each ended."""
    ended = {}
    for case in (*REFUSED, *FAILED, "true"):
        await client.ask(f"{QUESTION} ({case})", id=case)
        ended[case] = (await client.until("response"))[-1].get("blocked", {}).get("code", "answered")
    await client.ask(f"{QUESTION} (slow)", id="cancelled")
    await trio.sleep(1)
    await client.send(type="cancel")
    ended["cancelled"] = (await client.until("stream_end"))[-1]["reason"]
    return ended


@pytest.mark.parametrize("format", ["console", "json"])
async def test_sentinel_is_seen_nowhere(
    format: Literal["console", "json"],
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Whatever becomes of a draft that holds it, no frame, log line or metric does, however it is written."""
    lines = io.StringIO()
    log.configure(format, "info", lines)
    model = Drafts(SCRIPT)
    settings = Settings.of(kb=KB, pace_ms=1)
    with capture_log() as captured:
        async with (
            network(settings, Adapters(model=model, knowledge=knowledge())) as server,
            plain(server.open(), ["agent.v1"]) as client,
        ):
            assert (await client.next())["type"] == "welcome"
            ended = await ask_each(client)
            figures = await metrics(server)
    expected = dict.fromkeys(REFUSED, "number_mismatch") | dict.fromkeys(FAILED, "model_failed")
    assert ended == expected | {"true": "answered", "cancelled": "cancelled"}
    assert model.drafts == 2 * len(REFUSED) + len(FAILED) + 2
    joined: dict[str, str] = {}
    for _, frame in client.frames:
        if frame["type"] == "stream":
            joined[frame["id"]] = joined.get(frame["id"], "") + frame["delta"]
    assert "299" in joined["true"]
    assert "number_mismatch" in lines.getvalue()
    assert "model failed" in lines.getvalue()
    assert "number_mismatch" in figures
    for seen in (
        client.raw.decode(errors="replace"),
        *joined.values(),
        lines.getvalue(),
        figures,
        captured.text,
    ):
        assert SENTINEL not in re.sub(r"[ .,\u00a0-]", "", seen)
