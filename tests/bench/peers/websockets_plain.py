"""websockets' own asyncio server, without compression."""

import asyncio

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from .words import Answer, asked, deltas, last, listening, told


async def run(answer: Answer) -> None:
    """Answer until the process is ended."""
    clock = asyncio.get_running_loop().time

    async def handler(socket: ServerConnection) -> None:
        try:
            async for data in socket:
                label = asked(data)
                if label is None:
                    continue
                began = clock()
                for number, delta in enumerate(deltas(answer.count, label)):
                    if answer.pace:
                        await asyncio.sleep(began + number * answer.pace - clock())
                    await socket.send(delta, text=True)
                for frame in last(answer.count, label):
                    await socket.send(frame, text=True)
        except ConnectionClosed:
            pass

    async with serve(handler, "127.0.0.1", 0, compression=None) as server:
        listening(next(iter(server.sockets)).getsockname()[1])
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(run(told()))
