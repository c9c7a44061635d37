"""The bytes of the load client's end: the handshake's request and a client's frames.

Pure. The mask of a client's frames is zero: RFC 6455 (5.3) wants one that nobody can guess for the sake of proxies,
and between two ends of one machine there is none.
"""

import json
import struct

TEXT, CLOSE, PING, PONG = 0x81, 0x88, 0x89, 0x8A
DELTA = b'{"type":"stream",'
"""How a delta's payload begins, where `type` is written first, as this project's servers do."""


def upgrade(host: str, port: int, path: str, token: str | None) -> bytes:
    """Return the request of a handshake. token: sent as a Bearer header."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    secret = f"Authorization: Bearer {token}\r\n" if token is not None else ""
    return (
        f"GET {path} HTTP/1.1\r\nHost: {place}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n{secret}\r\n"
    ).encode()


def frame(first: int, payload: bytes) -> bytes:
    """Return one masked frame. first: its first byte, such as TEXT."""
    size = len(payload)
    if size < 126:
        head = bytes((first, 0x80 | size))
    elif size < 1 << 16:
        head = struct.pack("!BBH", first, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, size)
    return head + b"\0\0\0\0" + payload


def message(label: str, text: str) -> bytes:
    """Return the frame that asks a question."""
    return frame(TEXT, json.dumps({"type": "message", "id": label, "text": text}).encode())


CANCEL = frame(TEXT, b'{"type":"cancel"}')
