"""The end of a connection's outbox: whoever puts the close frame, it is the last frame that is written."""

import trio
import trio.testing

from agent.server.request_head import Head, read_head
from agent.server.websocket import Connection, serve_websocket

UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


async def test_nothing_follows_a_close_frame(autojump_clock: trio.testing.MockClock) -> None:
    """What a session still says after its goodbye is dropped."""

    async def handler(connection: Connection) -> None:
        connection.put_frames(connection.make_frame(b"before"))
        connection.close(1001, "bye")
        connection.put_frames(connection.make_frame(b"after"))
        await trio.lowlevel.checkpoint()

    client, server = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        await client.send_all(UPGRADE)
        head = await read_head(server)
        assert isinstance(head, Head)
        nursery.start_soon(serve_websocket, server, head, handler)
        received = bytearray()
        while data := await client.receive_some():
            received += data
    assert received.partition(b"\r\n\r\n")[2] == b"\x81\x06before\x88\x05\x03\xe9bye"
