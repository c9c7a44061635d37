"""The attacks, each with what it gets for its pains.

An attack returns what its attacker was told, in the words of `enemy.words`; the table says what that must be. One
that is not answered (it left, or was cut off) returns nothing.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

import trio

from agent.config import HEAD_TIMEOUT
from agent.server.settings import FIRST_WORDS, VISITORS

from .enemy import BINARY, CLOSE, PING, PONG, Enemy, frame, message, text, words

ASK = message(id="1", text="What does the standard plan cost per month?")
LONG = message(id="1", text="What does the standard plan cost per month? Tell it as a long story.")
BUSY = message(id="1", text="What does the standard plan cost per month? Think about it for ever.")
BYE = frame(CLOSE, b"\x03\xe8")
JSON = "application/json"
CLIENT_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(range(200))
Run = Callable[[Enemy], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class Attack:
    """What is done, and what the attacker must be told."""

    run: Run
    told: tuple[str, ...]


# --- at the door


def request(data: Callable[[Enemy], bytes], then: str = "") -> Run:
    """Return the attack that sends one thing and reads the answer."""

    async def run(enemy: Enemy) -> list[str]:
        return await enemy.converse(data(enemy), then=then)

    return run


async def half_an_upgrade(enemy: Enemy) -> list[str]:
    """Begin an upgrade and say nothing more."""
    return await enemy.converse(enemy.upgrade()[:-20])


async def byte_per_second(enemy: Enemy) -> list[str]:
    """Send a head one byte a second."""
    return await enemy.converse(*(bytes((each,)) for each in enemy.upgrade()), every=1.0)


async def reset_before_upgrade(enemy: Enemy) -> list[str]:
    """Break off at once, after half a head, and after a whole one."""
    for data in (b"", b"GET /ws HT", enemy.upgrade(), enemy.get("/")):
        stream = await enemy.open()
        if data:
            await stream.send_all(data)
        await enemy.reset(stream)
    return []


async def reset_after_upgrade(enemy: Enemy) -> list[str]:
    """Break off a WebSocket that is idle, in the middle of a frame, and one with a question open."""
    for data in (b"", ASK[:10], ASK, ASK + frame(PING) * 3):
        stream = await enemy.upgraded()
        if data:
            await stream.send_all(data)
        await enemy.reset(stream)
    return []


async def slow_body(enemy: Enemy) -> list[str]:
    """Announce a large body and send it a byte at a time."""
    post = enemy.get("/", "Content-Length: 1000000000\r\n", method="POST")
    return await enemy.converse(post, *(b"x" for _ in range(60)), every=0.5)


async def unread_page(enemy: Enemy) -> list[str]:
    """Ask for the page and never read it."""
    stream = await enemy.open(256)
    await stream.send_all(enemy.get("/"))
    await trio.sleep(12)
    await trio.aclose_forcefully(stream)
    return []


# --- frames


def frames(*data: bytes, then: str = "") -> Run:
    """Return the attack that sends frames after an upgrade and reads to the end."""

    async def run(enemy: Enemy) -> list[str]:
        return await enemy.say(*data, then=then)

    return run


async def endless_fragments(enemy: Enemy) -> list[str]:
    """Begin a message and never end it: fragments without content, which no limit on its size can stop."""
    return await enemy.say(frame(0x01), *[frame(0x00) * 1000 for _ in range(40)])


async def ping_flood(enemy: Enemy) -> list[str]:
    """Send PINGs as fast as they go, and read every PONG."""
    told = await enemy.say(*[frame(PING, b"x" * 125) * 100 for _ in range(50)])
    return [word for word in told if word != "pong"]


async def pong_flood(enemy: Enemy) -> list[str]:
    """Send PONGs that nobody asked for."""
    return await enemy.say(*[frame(PONG) * 100 for _ in range(50)])


async def close_without_waiting(enemy: Enemy) -> list[str]:
    """Say goodbye with a question open, and be gone before the answer."""
    for data in (BYE, ASK + BYE, BUSY + BYE):
        stream = await enemy.upgraded()
        await stream.send_all(data)
        await trio.aclose_forcefully(stream)
    return []


async def ping_and_drop(enemy: Enemy) -> list[str]:
    """While the handler is busy: messages, then a PING, then gone, which once brought a whole server down."""
    for leave in (enemy.reset, trio.aclose_forcefully):
        stream = await enemy.upgraded()
        await stream.send_all(BUSY + b"".join(message(id=f"{n}", text="And?") for n in range(20)))
        await stream.send_all(frame(PING, b"there?") * 3)
        await leave(stream)
    return []


# --- readers


async def never_reads(enemy: Enemy) -> list[str]:
    """Ask for a long story and read none of it."""
    stream = await enemy.upgraded(2048)
    try:
        for _ in range(60):
            await stream.send_all(LONG)
            await trio.sleep(0.5)
    except trio.BrokenResourceError:
        return ["cut off"]
    finally:
        await trio.aclose_forcefully(stream)
    return ["goes on"]


async def never_reads_its_pongs(enemy: Enemy) -> list[str]:
    """Fill the outbox with answers to PINGs, at a rate that is allowed."""
    stream = await enemy.upgraded(2048)
    try:
        for _ in range(20):
            await stream.send_all(frame(PING, b"x" * 125) * 90)
            await trio.sleep(0.5)
    except trio.BrokenResourceError:
        return ["cut off"]
    finally:
        await trio.aclose_forcefully(stream)
    return ["goes on"]


async def reads_a_byte_per_second(enemy: Enemy) -> list[str]:
    """Ask for a long story and read it a byte a second."""
    stream = await enemy.upgraded(2048)
    await stream.send_all(LONG)
    try:
        for _ in range(30):
            await stream.receive_some(1)
            await trio.sleep(1)
        await stream.send_all(frame(PING))
    except trio.BrokenResourceError:
        return ["cut off"]
    finally:
        await trio.aclose_forcefully(stream)
    return ["goes on"]


# --- messages


async def message_flood(enemy: Enemy) -> list[str]:
    """Ask two thousand times at once."""
    told = await enemy.say(*[ASK * 100 for _ in range(20)])
    return list(dict.fromkeys(word for word in told if word not in ("stream", "stream_end cancelled")))


async def cancel_flood(enemy: Enemy) -> list[str]:
    """Cancel nothing, two thousand times."""
    return await enemy.say(*[message("cancel") * 100 for _ in range(20)])


async def guesses(enemy: Enemy) -> list[str]:
    """Confirm and reject ids that were guessed, and one that was issued to somebody else."""
    ids = ("", "x" * 5000, "../../etc/passwd", "0" * 22, enemy.secret)
    asked = [message(kind, suggestionId=id) for id in ids for kind in ("confirm_action", "reject_action")]
    told = await enemy.say(*asked, BYE)
    return [f"{len(told) - 1} times {' and '.join(dict.fromkeys(told[:-1]))}", *told[-1:]]


def bad_json(*contents: str | bytes) -> Run:
    """Return the attack that sends texts that are no frames of ours, one per connection."""

    async def run(enemy: Enemy) -> list[str]:
        told: dict[str, None] = {}
        for content in contents:
            told |= dict.fromkeys(await enemy.say(text(content), BYE))
        return sorted(told)

    return run


_DEEP = '{"type":"message","id":"1","text":' + "[" * 30_000 + "]" * 30_000 + "}"
_OBJECTS = '{"a":' * 10_000 + "1" + "}" * 10_000
_DUPLICATES = '{"type":"cancel","type":"message","id":"1","id":2,"text":"x"}'
_NUMBERS = [
    f'{{"type":"cancel","n":{number}}}'
    for number in ("1e999999", "9" * 60_000, "-" + "1" * 5000 + "e-5000", "NaN", "Infinity", "0" * 1000)
]
_NUMERIC_ID = '{"type":"message","id":' + "9" * 60_000 + ',"text":"x"}'
_SURROGATES = [
    r'{"type":"message","id":"1","text":"\ud800"}',
    r'{"type":"message","id":"\udfff\ud800","text":"x"}',
    r'{"type":"confirm_action","suggestionId":"\ud800"}',
]


async def crowd(enemy: Enemy, size: int = 40, say: bytes = b"", every: float = 0.0) -> list[str]:
    """Take every connection there is, and more; one that says nothing gives way to the next."""
    told: list[str] = []
    held: list[trio.abc.HalfCloseableStream] = []
    for _ in range(size):
        stream = await enemy.open()
        held.append(stream)
        try:
            await stream.send_all(enemy.upgrade() + say)
            told.append((await stream.receive_some(13)).decode()[9:12])
        except trio.BrokenResourceError:
            told.append("reset")
        if every:
            await trio.sleep(every)
    for stream in held:
        await trio.aclose_forcefully(stream)
    return sorted(set(told))


async def silent_sockets(enemy: Enemy, size: int = VISITORS + 100) -> list[str]:
    """Connect and say nothing, with more sockets than the server keeps at its door, and again for each it closes."""
    held = [await enemy.open() for _ in range(size)]
    told: set[str] = set()
    for stream in held[:100]:
        with trio.move_on_after(HEAD_TIMEOUT / 2):
            told |= set(words(bytes(await stream.receive_some(2000))))
        await trio.aclose_forcefully(stream)
        held.append(await enemy.open())
    for stream in held:
        await trio.aclose_forcefully(stream)
    return sorted(told)


# --- questions in plain requests


def asked(
    body: bytes = b'{"text": "What does the standard plan cost per month?"}', *headers: str, then: bytes = b""
) -> Run:
    """Return the attack that asks in a plain request, with headers of its own, and with something behind it."""

    async def run(enemy: Enemy) -> list[str]:
        return await enemy.converse(question(enemy, body, *headers) + then)

    return run


def question(enemy: Enemy, body: bytes, *headers: str) -> bytes:
    """Return a question as a request; its length is announced unless a header says something of it."""
    framed = any(each.startswith(("Content-Length", "Transfer-Encoding")) for each in headers)
    lines = [] if framed else [f"Content-Length: {len(body)}"]
    lines += [f"Content-Type: {JSON}", *headers]
    return enemy.get("/ask", "".join(f"{each}\r\n" for each in lines), method="POST") + body


def streamed(text: str) -> bytes:
    """Return the body of a question whose answer is streamed."""
    return json.dumps({"stream": True, "messages": [{"role": "user", "content": text}]}).encode()


async def slow_question(enemy: Enemy) -> list[str]:
    """Send a question a byte at a time."""
    head = question(enemy, b"", "Content-Length: 1000")
    return await enemy.converse(head, *(b"x" for _ in range(60)), every=0.5)


async def endless_chunks(enemy: Enemy) -> list[str]:
    """Send a body without an end: large chunks, then chunks of one byte, then one whose header has no end."""
    told: list[str] = []
    for piece in (b"1000\r\n" + b"x" * 4096 + b"\r\n", b"1\r\nx\r\n" * 1000, b"1;" + b"x" * 4094):
        told += await enemy.converse(question(enemy, b"", "Transfer-Encoding: chunked"), *[piece] * 100)
    return told


async def questions_left_alone(enemy: Enemy) -> list[str]:
    """Ask, and be gone before the answer."""
    for leave in (enemy.reset, trio.aclose_forcefully):
        for said in ("What does the standard plan cost?", "The standard plan? Think about it for ever."):
            for body in (json.dumps({"text": said}).encode(), b'{"text": "half'):
                stream = await enemy.open()
                await stream.send_all(
                    question(enemy, body, f"Content-Length: {len(body) + (body[-1] != 125)}")
                )
                await trio.sleep(0.01)
                await leave(stream)
    return []


async def unread_answer(enemy: Enemy) -> list[str]:
    """Have a long story streamed and read none of it for a while."""
    stream = await enemy.open(512)
    body = streamed("What does the standard plan cost per month? Tell it as a long story.")
    await stream.send_all(question(enemy, body).replace(b"/ask", b"/v1/chat/completions"))
    await trio.sleep(30)
    answer = bytearray()
    try:
        while received := await stream.receive_some():
            answer += received
    except trio.BrokenResourceError:
        pass
    await trio.aclose_forcefully(stream)
    return ["answered" if b"[DONE]" in answer else "cut off"]


async def more_questions_than_places(enemy: Enemy, size: int = 40) -> list[str]:
    """Ask what takes for ever to answer, as often as one can."""
    body = streamed("What does the standard plan cost per month? Think about it for ever.")
    held = [await enemy.open() for _ in range(size)]
    told = set()
    for stream in held:
        await stream.send_all(question(enemy, body).replace(b"/ask", b"/v1/chat/completions"))
        told.add((await stream.receive_some(13)).decode()[9:12])
    for stream in held:
        await trio.aclose_forcefully(stream)
    return sorted(told)


async def forged_addresses(enemy: Enemy) -> list[str]:
    """Claim to come from elsewhere, each time from somewhere else, and from nowhere."""
    told: set[str] = set()
    for said in ("192.0.2.1", "::1", "unknown", "1, 2, 3", ",", "\x7f" * 100, "127.0.0.1," * 500):
        told |= set(await enemy.say(BYE, headers=f"X-Forwarded-For: {said}\r\n"))
    return sorted(told)


ATTACKS: Mapping[str, Attack] = {
    name: Attack(run, told)
    for name, run, told in (
        ("half an upgrade", half_an_upgrade, ("408",)),
        ("one header byte per second", byte_per_second, ("408",)),
        ("a head over 16 KiB", request(lambda e: e.get("/", f"X: {'x' * 20_000}\r\n")), ("431",)),
        ("many headers", request(lambda e: e.get("/", "A: b\r\n" * 5000)), ("431",)),
        ("plain GET", request(lambda e: e.get("/")), ("200",)),
        ("POST", request(lambda e: e.get("/ws", "Content-Length: 4\r\n", method="POST") + b"body"), ("405",)),
        ("garbage", request(lambda _: bytes(range(256)) * 8), ("400",)),
        ("a TLS handshake", request(lambda _: CLIENT_HELLO), ("400",)),
        ("a method of its own", request(lambda e: e.get("/", method="BREW")), ("405",)),
        ("wrong Origin", request(lambda e: e.upgrade("Origin: http://evil.example\r\n")), ("403",)),
        ("null Origin", request(lambda e: e.upgrade("Origin: null\r\n")), ("403",)),
        ("DNS rebinding", request(lambda e: e.upgrade(host="evil.example:8787")), ("421",)),
        ("rebinding of the page", request(lambda e: e.get("/", host="evil.example")), ("421",)),
        ("rebinding of the bubble", request(lambda e: e.get("/embed.json", host="evil.example")), ("421",)),
        (
            "the bubble on a foreign page",
            request(lambda e: e.get("/embed.json", "Origin: http://x\r\n")),
            ("403",),
        ),
        (
            "the bubble's script for a foreign page",
            request(lambda e: e.get("/embed.js", "Origin: http://x\r\n")),
            ("403",),
        ),
        ("two Hosts", request(lambda e: e.upgrade("Host: evil.example\r\n")), ("400",)),
        (
            "a second request",
            request(lambda e: e.get("/", "Connection: keep-alive\r\n") + e.upgrade("Origin: http://x\r\n")),
            ("200",),
        ),
        (
            "a request in a body",
            request(
                lambda e: e.get("/healthz", f"Content-Length: {len(e.upgrade())}\r\n") + e.upgrade(),
            ),
            ("200",),
        ),
        (
            "h2c",
            request(
                lambda e: e.get(
                    "/healthz",
                    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
                )
            ),
            ("200",),
        ),
        ("an HTTP/2 preface", request(lambda _: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ("505",)),
        ("a slow body", slow_body, ("405",)),
        ("an unread page", unread_page, ()),
        ("reset before the upgrade", reset_before_upgrade, ()),
        ("reset after the upgrade", reset_after_upgrade, ()),
        ("a 70 KB frame", frames(text("x" * 70_000), BYE), ("close 1009",)),
        (
            "a frame of 2^62 bytes",
            frames(b"\x81\xff" + (1 << 62).to_bytes(8, "big") + bytes(4) + b"x" * 70_000),
            ("close 1009",),
        ),
        (
            "10,000 fragments",
            frames(frame(0x01, b"x"), frame(0x00, b"x") * 9_998, frame(0x80, b"x"), BYE),
            ("close 1009",),
        ),
        ("fragments without end", endless_fragments, ("close 1009",)),
        ("invalid UTF-8", frames(text(b"\xff\xfe\xfd")), ("close 1007",)),
        ("an unmasked frame", frames(b"\x81\x02{}"), ("close 1002",)),
        ("a reserved bit", frames(frame(0xC1, b"{}")), ("close 1002",)),
        ("a reserved opcode", frames(frame(0x83, b"{}")), ("close 1002",)),
        ("a fragmented PING", frames(frame(0x09, b"x")), ("close 1002",)),
        ("binary frames", frames(frame(BINARY, b"{}") * 3), ("error bad_message",) * 3 + ("close 1008",)),
        ("ping flood", ping_flood, ("close 1008",)),
        ("pong flood", pong_flood, ("close 1008",)),
        ("close without waiting", close_without_waiting, ()),
        ("messages, PING and drop while busy", ping_and_drop, ()),
        ("never reads", never_reads, ("cut off",)),
        ("never reads its pongs", never_reads_its_pongs, ("cut off",)),
        ("reads a byte a second", reads_a_byte_per_second, ("cut off",)),
        ("message flood", message_flood, ("error rate_limited", "close 1008")),
        ("cancel flood", cancel_flood, ("close 1008",)),
        ("guessed and foreign ids", guesses, ("10 times error unknown_suggestion", "close 1000")),
        ("deep JSON", bad_json(_DEEP, _OBJECTS), ("close 1000", "error bad_message")),
        ("duplicate keys", bad_json(_DUPLICATES), ("close 1000", "error bad_message")),
        (
            "huge numbers",
            bad_json(*_NUMBERS, _NUMERIC_ID),
            ("close 1000", "error bad_json", "error bad_message"),
        ),
        ("lone surrogates", bad_json(*_SURROGATES), ("close 1000", "error bad_message")),
        (
            "nothing but brackets",
            bad_json("[" * 60_000, '"', ""),
            ("close 1000", "error bad_json", "error bad_message"),
        ),
        ("a slow question", slow_question, ("408",)),
        ("a question of a gigabyte", asked(b"{", "Content-Length: 1000000000"), ("413",)),
        ("a question without end", endless_chunks, ("413", "413", "400")),
        (
            "a question that says its length twice",
            asked(b"5\r\nhello\r\n0\r\n\r\n", "Content-Length: 5", "Transfer-Encoding: chunked"),
            ("400",),
        ),
        ("two lengths", asked(b"{}", "Content-Length: 2", "Content-Length: 4"), ("400",)),
        ("chunks that are none", asked(b"0x5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), ("400",)),
        ("a coding of its own", asked(b"{}", "Transfer-Encoding: gzip, chunked"), ("400",)),
        ("deep JSON in a question", asked(_DEEP.encode()), ("400",)),
        (
            "asks to be asked, and does not answer",
            asked(b"", "Content-Length: 10", "Expect: 100-continue"),
            ("100", "second answer"),  # the second is 408
        ),
        ("more than it said", asked(then=b"x" * 300_000), ("200",)),
        (
            "a request behind a question",
            asked(then=b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n" * 100),
            ("200",),
        ),
        ("a question from a foreign page", asked(b"{}", "Origin: http://evil.example"), ("403",)),
        (
            "a question of the Responses API from a foreign page",
            request(
                lambda e: question(e, b"{}", "Origin: http://evil.example").replace(b"/ask", b"/v1/responses")
            ),
            ("403",),
        ),
        (
            "texts to embed from a foreign page",
            request(
                lambda e: question(e, b"{}", "Origin: http://evil.example").replace(
                    b"/ask", b"/v1/embeddings"
                )
            ),
            ("403",),
        ),
        (
            "a tool call from a foreign page",
            request(lambda e: question(e, b"{}", "Origin: http://evil.example").replace(b"/ask", b"/mcp")),
            ("403",),
        ),
        (
            "a tool call as a form",
            request(
                lambda e: question(e, b"{}").replace(b"/ask", b"/mcp").replace(JSON.encode(), b"text/plain")
            ),
            ("415",),
        ),
        (
            "a question as a form",
            request(lambda e: question(e, b"{}").replace(JSON.encode(), b"text/plain")),
            ("415",),
        ),
        ("questions that nobody waits for", questions_left_alone, ()),
        ("an unread answer", unread_answer, ("cut off",)),
        ("more questions than places", more_questions_than_places, ("200", "503")),
        ("silent sockets", silent_sockets, ("503",)),
        ("more connections than there are, silent", partial(crowd, every=FIRST_WORDS), ("101",)),
        ("more connections than there are", partial(crowd, say=ASK), ("101", "503")),
        ("forged addresses", forged_addresses, ("close 1000",)),
        (
            "two keys",
            request(lambda e: e.upgrade("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n")),
            ("400",),
        ),
        (
            "a key that is none",
            request(lambda e: e.upgrade().replace(b"dGhlIHNhbXBsZSBub25jZQ==", b"x")),
            ("400",),
        ),
        ("an old version", request(lambda e: e.upgrade().replace(b"Version: 13", b"Version: 8")), ("426",)),
        ("a socket without an upgrade", request(lambda e: e.get("/ws")), ("426",)),
    )
}
