"""uvicorn with its sans-IO WebSockets: what most Python applications are served by."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn

from .words import Answer, asked, deltas, last, listening, told

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def run(answer: Answer) -> None:
    """Answer until the process is ended."""

    async def app(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        clock = asyncio.get_running_loop().time
        await receive()
        await send({"type": "websocket.accept"})
        while (event := await receive())["type"] == "websocket.receive":
            label = asked(event["text"])
            if label is None:
                continue
            began = clock()
            for number, delta in enumerate(deltas(answer.count, label)):
                if answer.pace:
                    await asyncio.sleep(began + number * answer.pace - clock())
                await send({"type": "websocket.send", "text": delta.decode()})
            for frame in last(answer.count, label):
                await send({"type": "websocket.send", "text": frame.decode()})

    listener = socket.socket(
        socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # without the last, asyncio ...
    listener.bind(
        ("127.0.0.1", 0)
    )  # ... sets no TCP_NODELAY, which it does where uvicorn is told a host and a port
    listener.listen(2048)
    listening(listener.getsockname()[1])
    config = uvicorn.Config(
        app,
        ws="websockets-sansio",
        loop="asyncio",
        lifespan="off",
        log_level="critical",
        ws_per_message_deflate=False,
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    run(told())
