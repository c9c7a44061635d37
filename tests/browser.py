"""Drives Chromium over its DevTools protocol: opens a page, runs its JavaScript, and takes pictures of it."""

import base64
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import trio
from trio_websocket import WebSocketConnection, open_websocket_url

BROWSER = shutil.which("chromium")
START = 30.0  # seconds
WAIT = 20.0
_ADDRESS = re.compile(rb"ws://\S+")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
    "--lang=en",
)


class Tab:
    """A tab of the browser. `errors`: what its console reported as an error, and exceptions of its code."""

    def __init__(self, socket: WebSocketConnection, session: str) -> None:
        self.errors: list[str] = []
        self._socket = socket
        self._session = session
        self._numbers = itertools.count(1)

    async def open(self, url: str, width: int, height: int) -> None:
        """Open a page in a window of that size."""
        for domain in ("Page", "Runtime", "Log"):
            await self.command(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.command("Emulation.setDeviceMetricsOverride", **size)
        await self.command("Page.navigate", url=url)
        await self.wait_for("document.readyState === 'complete'")

    async def run(self, code: str) -> Any:
        """Return the value of an expression of the page."""
        answer = await self.command(
            "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def wait_for(self, code: str) -> None:
        """Wait until an expression of the page is true."""
        with trio.fail_after(WAIT):
            while not await self.run(f"Boolean({code})"):  # noqa: ASYNC110  the page tells nobody
                await trio.sleep(0.05)

    async def ask(self, question: str) -> None:
        """Type a question into the chat page and send it, once it is connected; wait for the answer."""
        await self.wait_for("document.getElementById('state').dataset.state !== 'connecting'")
        ended = "document.querySelectorAll('#log > li.answer.ended').length"
        count = await self.run(ended)
        typed = f"Object.assign(document.getElementById('question'), {{ value: {json.dumps(question)} }})"
        await self.run(f"{typed}.dispatchEvent(new Event('input'))")
        await self.run("document.getElementById('ask').requestSubmit()")
        await self.wait_for(f"{ended} > {count}")

    async def picture(self) -> bytes:
        """Return what the tab shows, as a PNG."""
        answer = await self.command("Page.captureScreenshot", format="png")
        return base64.b64decode(answer["data"])

    async def command(self, method: str, **parameters: Any) -> Any:
        """Send a command; return its result."""
        number = next(self._numbers)
        frame = {"id": number, "method": method, "params": parameters, "sessionId": self._session}
        with trio.fail_after(WAIT):
            await self._socket.send_message(json.dumps(frame))
            while True:
                told = json.loads(await self._socket.get_message())
                if told.get("id") == number:
                    assert "error" not in told, told["error"]
                    return told["result"]
                self._note(told)

    def _note(self, told: dict[str, Any]) -> None:
        parameters = told.get("params", {})
        if told.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"]))
        elif told.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")


@asynccontextmanager
async def open_tab(folder: Path) -> AsyncGenerator[Tab, None]:
    """Start the browser with a new profile in `folder`, and open a tab for the time of a block."""
    assert BROWSER is not None
    flags = [*_FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    async with trio.open_nursery() as nursery:
        process = await nursery.start(
            partial(trio.run_process, [BROWSER, *flags], stderr=subprocess.PIPE, check=False)
        )
        with trio.fail_after(START):
            told = b""
            while (found := _ADDRESS.search(told)) is None or b"\n" not in told[found.start() :]:
                told += await process.stderr.receive_some()
        nursery.start_soon(_drain, process.stderr)
        async with open_websocket_url(found[0].decode(), max_message_size=64 * 1024 * 1024) as socket:
            made = await _ask_browser(socket, "Target.createTarget", url="about:blank")
            attached = await _ask_browser(
                socket, "Target.attachToTarget", targetId=made["targetId"], flatten=True
            )
            yield Tab(socket, attached["sessionId"])
        nursery.cancel_scope.cancel()


async def _ask_browser(socket: WebSocketConnection, method: str, **parameters: Any) -> Any:
    await socket.send_message(json.dumps({"id": 0, "method": method, "params": parameters}))
    with trio.fail_after(WAIT):
        while True:
            told = json.loads(await socket.get_message())
            if told.get("id") == 0:
                return told["result"]


async def _drain(stream: trio.abc.ReceiveStream) -> None:
    while await stream.receive_some():
        pass
