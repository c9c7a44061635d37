"""The path of an upgrade fixes the kind of its connection, from its first byte to its end."""

from dataclasses import replace
from functools import partial

import pytest
import trio
import trio.testing

from agent.compose.edge import make_connection_handler
from agent.protocol.kinds import CONVERSATION, KIND_OF_PATH
from agent.server.capacity import Place
from agent.server.client_limits import ClientLimits
from agent.server.limits import ConnectionLimits
from agent.server.metrics import Metrics
from agent.server.rates import BURST
from agent.server.websocket import Connection
from agent.testing.wires import MemoryWire

from ..kinds import TALE
from ..session.harness import world
from .test_serve import BYE, UPGRADE, ask, edge, greet


@pytest.mark.parametrize(
    ("path", "kind"),
    [(b"/", CONVERSATION), (b"/ws", CONVERSATION), (b"/ws?x", CONVERSATION), (b"/tale", TALE)],
)
async def test_the_path_of_the_upgrade_fixes_the_kind(
    path: bytes, kind: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler is given it with the connection."""
    monkeypatch.setitem(KIND_OF_PATH, b"/tale", TALE)
    kinds: list[object] = []

    async def handle(connection: Connection) -> None:
        kinds.append(connection.kind)
        await greet(connection)

    of, _ = edge(handle)
    answer = await ask(of, UPGRADE.replace(b"/ws", path) + b"\r\n" + BYE)
    assert answer.startswith(b"HTTP/1.1 101 ")
    assert kinds == [kind]


async def test_a_session_has_the_parts_of_its_connection_s_kind(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """One server has several kinds at once, and each takes its own frames."""
    monkeypatch.setitem(KIND_OF_PATH, b"/tale", TALE)
    async with world() as made:
        of, _ = edge(make_connection_handler((made.parts, replace(made.parts, kind=TALE)), None))
        recall = b'{"type":"recall","query":"key"}'
        said = bytes((0x81, 0x80 | len(recall))) + bytes(4) + recall + BYE
        assert b'"code":"memory_off"' in await ask(of, UPGRADE + b"\r\n" + said)
        told = await ask(of, UPGRADE.replace(b"/ws", b"/tale") + b"\r\n" + said)
        assert (
            b'"code":"bad_message","message":"Use a type that exists: message, cancel or open_tale."' in told
        )


async def test_a_path_of_no_kind_is_no_websocket() -> None:
    """As long as nothing is served there."""
    of, _ = edge()
    answer = await ask(of, UPGRADE.replace(b"/ws", b"/tale") + b"Connection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize(
    ("kind", "frame"),
    [
        (CONVERSATION, '{"type":"message","id":"7","text":"price?"}'),
        (TALE, '{"type":"message","id":"7","choice":1}'),
    ],
    ids=["conversation", "tale"],
)
async def test_a_message_of_any_kind_counts_for_its_address(
    kind: object, frame: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Over the rate it is refused by its id, whatever fields its kind gives it; a frame of another type is not."""
    limits = ConnectionLimits(1, message_rate=lambda _: 1.0)
    make = partial(ClientLimits, limits, await _take_place(limits), "192.0.2.1", Metrics())
    client = make(kind)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        wire = MemoryWire(nursery)
        for _ in range(int(BURST)):
            assert client.admit_message(wire, frame)
        assert not client.admit_message(wire, frame)
        assert client.admit_message(wire, '{"type":"cancel","id":"message"}')
        assert [(each["code"], each["id"]) for each in wire.sent("error")] == [("rate_limited", "7")]
        nursery.cancel_scope.cancel()


async def _take_place(limits: ConnectionLimits) -> Place:
    place = await limits.places.take("192.0.2.1", trio.current_time())
    assert isinstance(place, Place)
    return place
