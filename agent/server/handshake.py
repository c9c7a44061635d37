"""Builds the answer to a WebSocket upgrade, without the library, which would parse the request again."""

from base64 import b64encode
from hashlib import sha1

from .admission import SUBPROTOCOL
from .request_head import Head

_KEY_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3


def accept_upgrade(head: Head, agent_v1: bool) -> bytes:
    """Return the answer that accepts the upgrade `head` (RFC 6455, section 4.2.2).

    `agent_v1`: whether to confirm the subprotocol `agent.v1`.
    """
    (key,) = head.values(b"sec-websocket-key")
    proof = b64encode(sha1(key + _KEY_SUFFIX, usedforsecurity=False).digest())
    protocol = f"Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n".encode() if agent_v1 else b""
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + proof + b"\r\n" + protocol + b"\r\n"
    )
