"""picows, the fastest WebSocket library of Python (Cython), whose sessions take turns."""

import asyncio
from typing import Any

from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_create_server

from .words import BETWEEN, Answer, asked, deltas, last, listening, told


class Session(WSListener):  # type: ignore[misc, unused-ignore]  # Cython: no types
    """One connection."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._task: asyncio.Task[None] | None = None

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        """Answer a message in a task of its own."""
        if frame.msg_type == WSMsgType.TEXT:
            label = asked(frame.get_payload_as_bytes())
            if label is not None:
                self._task = asyncio.create_task(self._say(transport, label))
        elif frame.msg_type == WSMsgType.CLOSE:
            transport.disconnect()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        """Stop answering."""
        if self._task is not None:
            self._task.cancel()

    async def _say(self, transport: WSTransport, label: str) -> None:
        answer, clock = self._answer, asyncio.get_running_loop().time
        began = clock()
        for number, delta in enumerate(deltas(answer.count, label)):
            if answer.pace:
                await asyncio.sleep(began + number * answer.pace - clock())
            elif number % BETWEEN == 0:
                await asyncio.sleep(0)
            transport.send(WSMsgType.TEXT, delta)
        for frame in last(answer.count, label):
            transport.send(WSMsgType.TEXT, frame)


async def run(answer: Answer) -> None:
    """Answer until the process is ended."""

    def session(request: Any) -> Session:
        return Session(answer)

    server = await ws_create_server(session, "127.0.0.1", 0)
    listening(server.sockets[0].getsockname()[1])
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(run(told()))
