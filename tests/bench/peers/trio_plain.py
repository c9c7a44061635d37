"""trio-websocket as its documentation shows it: a task a connection, a send a delta."""

from functools import partial

import trio
from trio_websocket import ConnectionClosed, WebSocketRequest, serve_websocket

from .words import Answer, asked, deltas, last, listening, told


async def serve(answer: Answer) -> None:
    """Answer until the process is ended."""

    async def handler(request: WebSocketRequest) -> None:
        socket = await request.accept()
        try:
            while True:
                label = asked(await socket.get_message())
                if label is None:
                    continue
                began = trio.current_time()
                for number, delta in enumerate(deltas(answer.count, label)):
                    if answer.pace:
                        await trio.sleep_until(began + number * answer.pace)
                    await socket.send_message(delta.decode())
                for frame in last(answer.count, label):
                    await socket.send_message(frame.decode())
        except ConnectionClosed:
            pass

    async with trio.open_nursery() as nursery:
        server = await nursery.start(partial(serve_websocket, handler, "127.0.0.1", 0, None))
        listening(server.port)


if __name__ == "__main__":
    trio.run(serve, told())
