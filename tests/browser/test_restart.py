"""A server that is killed and started again, with two browsers before it: what was acknowledged is still there."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..e2e.test_process import serve
from . import ask
from .conftest import OpenPage
from .test_inbox import TOOL, choose

pytestmark = pytest.mark.proof

LOST = r"WebSocket|ERR_CONN|openers|/calls/"


def test_conversations_feedback_and_decisions_survive_a_kill(tmp_path: Path, open_page: OpenPage) -> None:
    """The answer with its thumb in the user's list, and the approval with its approver in the inbox's history."""
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [TOOL]}), encoding="utf-8")
    flags = ("--tools", "tools.json", "--pace-ms", "0", "--data", "data")
    with serve(tmp_path, *flags) as (process, port):
        address = f"http://127.0.0.1:{port}"
        user = open_page(f"{address}/", expected=LOST)
        ask(user, "What does a return cost?")
        user.locator(".thumb.up").click()
        user.locator(".rating .remark", has_text="Kept").wait_for()
        message = {"user_id": "ada", "message": "Please ship order A-17"}
        call: Any = httpx.post(f"{address}/chat", json=message, timeout=30).json()["tool_call"]
        approver = open_page(f"{address}/inbox", expected=LOST)
        approver.evaluate("localStorage.setItem('inbox-approver', 'Eva')")
        choose(approver, call)
        approver.locator("#detail [data-mode=accept]").click()
        approver.locator("#detail .status[data-status=done]").wait_for()
        process.kill()
        process.wait()
    with serve(tmp_path, *flags, port=port):
        user.reload()
        user.locator("#log .answer.ended", has_text="59 kr").wait_for()
        user.locator(".thumb.up[aria-pressed=true]").wait_for()
        user.locator("#side", has_text="What does a return cost?").wait_for()
        approver.reload()
        approver.locator("#open-history").click()
        approver.locator("#history-rows tr", has_text="Eva").first.wait_for()
        assert httpx.get(f"{address}/calls/{call['id']}", timeout=30).json()["status"] == "done"
