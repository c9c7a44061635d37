"""What the fuzzing starts from: valid frames and request heads, the words of both languages, and the mutations.

Random bytes die at the first check of a parser; a valid input with one thing wrong goes a long way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from agent.config import MAX_FRAME

CANARY = "zQ9canary"
MUTATIONS = 4  # at most, per input
T = TypeVar("T", str, bytes)

FRAMES = (
    f'{{"type":"message","id":"{CANARY}","text":"what does {CANARY} cost?"}}',
    f'{{"type":"message","id":"a","text":"vad kostar paketet?","lang":"sv","x":{{"{CANARY}":[1,2.5e3,null,true]}}}}',
    '{"type":"message","id":"\\u00e5\\ud83d\\ude00","text":"\\n\\t\\"quoted\\" \\\\ 😀","lang":null}',
    '{"type":"cancel"}',
    f'{{"type":"cancel","id":"{CANARY}"}}',
    f'{{"type":"confirm_action","suggestionId":"{CANARY}"}}',
    f'{{"suggestionId":"{CANARY}","type":"reject_action"}}',
    "[" * 20 + "]" * 20,
    f'{{"id":"{CANARY}","type":"message","text":"' + "{[" * 30 + '"}',
)
FRAME_WORDS = (
    *'"\\{}[],: \0\x1f\x7f\ufeff\u2028\ud800\udfff😀',
    *("null", "true", "NaN", "-Infinity", "1e999", "-0", "1e", r"\ud800", r"\udc00\ud800", r"\u0000", r"\x"),
    *('"type":"message",', '"type":"nope",', '"type":1,', r'"\u0074ype":"cancel",', '"suggestionId":null,'),
    *('"id":', '"id":"",', '"text":[],', '"lang":"de",', CANARY, f'"{CANARY}":'),
    *("9" * 400, "0." + "1" * 300, "[" * 40, '{"a":' * 33, "x" * 200),
)
HEADS = (
    f"GET /{CANARY}?q={CANARY} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {CANARY}\r\n\r\n".encode(),
    b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:8787\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    b"Sec-WebSocket-Protocol: agent.v1, bearer.zQ9canary\r\nOrigin: http://127.0.0.1:8787\r\n\r\n\x81\x80\0\0\0\0",
    f"HEAD /metrics HTTP/1.0\r\nHost: {CANARY}.example:80\r\nAuthorization: Bearer {CANARY}\r\n\r\n".encode(),
    f"POST /confirm HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nOrigin: http://{CANARY}\r\n\r\n{CANARY}".encode(),
    b"GET / HTTP/1.1\r\nHost: [::1]:8787\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
)
HEAD_WORDS = (
    *(bytes((each,)) for each in b"\r\n \t:,;\0\xff\x80*[%"),
    *(b"GET ", b"PUT ", b"CONNECT ", b" HTTP/1.1", b" HTTP/0.9", b"HTTP/3"),
    *(b"//", b"http://", b"%0d%0a", b":8787"),
    *(b"\r\n", b"\r\n\r\n", b"\n\n", b" HTTP/1.1\r\n", CANARY.encode(), b"A" * 5000),
    *(
        line + b"\r\n"
        for line in (
            *(b"Host: a", b"Host:", b"Host: \xe5", b"Host: localhost:99999999999", b"Host: ["),
            *(b"Upgrade: websocket", b"Upgrade: h2c", b"upGRADE:websocket,x", b"Connection: close"),
            *(b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: " + b"9" * 30),
            *(b"Transfer-Encoding: gzip", b"Expect: 100-continue", b"X:a\r\n folded", b"X : a", b": a"),
            *(b"Origin: null", b"Origin: http://a\r\nOrigin: http://b", b"Authorization: Bearer \xff"),
            *(b"Sec-WebSocket-Protocol: \xe5, bearer.", CANARY.encode() + b": 1"),
        )
    ),
)


@dataclass(frozen=True, slots=True)
class Sent:
    """What a client sends before its silence: pieces, and how it goes on (eof, reset or silence)."""

    pieces: tuple[bytes, ...]
    then: str


def mutated(random: Random, corpus: Sequence[T], words: Sequence[T]) -> T:
    """Return a valid input after a few mutations; one in fifty is grown towards the size of a whole frame."""
    data = random.choice(corpus)
    for _ in range(random.randint(0, MUTATIONS)):
        at = random.randint(0, len(data))
        to = min(len(data), at + random.randint(0, 12))
        how = random.randint(0, 6)
        if how == 0:
            data = data[:at] + data[to:]
        elif how == 1:
            data = data[:to] + data[at:]
        elif how == 2:
            data = data[:at] + random.choice(words) + data[to:]
        elif how == 3:
            data = data[:at] + random.choice(words) + data[at:]
        elif how == 4:
            other = random.choice(corpus)
            data = data[:at] + other[random.randint(0, len(other)) :]
        elif how == 5:
            data = data[:at] + data[to : to + 1] + data[at:to] + data[to + 1 :]
        else:
            data = data[:at]
    if random.randint(0, 49) == 0 and data:
        at = random.randint(0, len(data) - 1)
        piece = data[at : at + random.randint(1, 20)]
        data = data[:at] + piece * (MAX_FRAME // len(piece) // random.randint(1, 8)) + data[at:]
    return data


def a_frame(random: Random) -> str | bytes:
    """Return a WebSocket message of a client; one in fifty is binary."""
    frame: str = mutated(random, FRAMES, FRAME_WORDS)
    return frame.encode(errors="surrogatepass") if random.randint(0, 49) == 0 else frame


def a_head(random: Random) -> Sent:
    """Return the first bytes of a connection, cut in up to four pieces."""
    data = mutated(random, HEADS, HEAD_WORDS)
    cuts = sorted(random.randint(0, len(data)) for _ in range(random.randint(0, 3)))
    pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    then = ("eof", "eof", "reset", "silence")[random.randint(0, 3)]
    return Sent(tuple(piece for piece in pieces if piece), then)
