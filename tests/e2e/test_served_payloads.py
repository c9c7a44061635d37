"""Payloads filled in by a served model, over real sockets: beside the draft, checked, and cancelled with it."""

import json
from typing import Any

import pytest
import trio

from tests.strikes.upstream import after

from .test_served_model import SOON, says, served

PHONE = "070-123 45 67"
CALL = f"What does the Standard plan cost? Call me on {PHONE} tomorrow, I am Anna"
FIELDS = {"phone": "0709998877", "name": "Anna", "when": "tomorrow at 999"}


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_served_model_fills_in_a_payload(kind: str) -> None:
    """What it makes up is left out; it is asked for answer and payload at the same time."""
    filled = says(kind, json.dumps(FIELDS | {"when": "tomorrow"}))
    made_up = says(kind, json.dumps(FIELDS))
    async with served(kind, [filled, made_up], payloads="model") as (client, service):
        with trio.fail_after(20):
            payloads: list[Any] = []
            for _ in range(2):
                await client.ask(f"Please call me on {PHONE} tomorrow, this is Anna")
                payloads.append((await client.frames_until("action_suggestion"))[-1]["payload"])
    assert payloads[0] == {"phone": PHONE, "name": "Anna", "when": "tomorrow"}
    assert payloads[1] == {"phone": PHONE, "name": "Anna"}
    assert len(service.requests) == 2  # nothing is found, so only payloads were asked for


@pytest.mark.proof
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_cancel_reaches_both(kind: str) -> None:
    """Within 100 ms, on a busy machine `SOON`, both connections of the service are closed; nothing is suggested."""
    hangs = after(says(kind, json.dumps({"name": "Anna"})), 2, "hang")
    async with served(kind, [hangs, hangs], payloads="model") as (client, service):
        await client.ask(CALL)
        with trio.fail_after(60):
            await service.until(lambda: len(service.requests) == 2)
            await trio.sleep(0.3)
            began = trio.current_time()
            await client.cancel()
            frames = await client.frames_until("stream_end")
            await service.until(lambda: len(service.closed) == 2)
        assert max(service.closed) - began < SOON
        assert frames[-1]["reason"] == "cancelled"
        with trio.move_on_after(0.3):
            raise AssertionError(await client.next_frame())
