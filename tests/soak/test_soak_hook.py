"""The webhook's endpoint does to a call whatever an operator's can do, and notes each effect."""

import pytest
import trio
import trio.testing

from agent.soak.hook import FATES, Hook
from agent.soak.notes import digest_of

BODY = b'{"suggestionId": "abc", "action": "send_sms", "payload": {"text": "Hej"}}'
REQUEST = b"POST / HTTP/1.1\r\nIdempotency-Key: abc\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
EFFECT = ("abc", digest_of({"text": "Hej"}), "send_sms")


async def called(fate: str, pieces: list[bytes] | None = None) -> tuple[bytes, list[tuple[str, ...]], float]:
    """Call an endpoint of one fate; return its answer, the effects, and for how many seconds it took."""
    effects: list[tuple[str, ...]] = []
    hook = Hook(1, lambda *effect: effects.append(effect), {fate: 1})
    ours, theirs = trio.testing.memory_stream_pair()
    answer, began = b"", trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hook.exchange, theirs)
        for piece in pieces or [REQUEST]:
            await ours.send_all(piece)
            await trio.testing.wait_all_tasks_blocked()
        if pieces:
            await ours.send_eof()
        while data := await ours.receive_some():
            answer += data
    return answer, effects, trio.current_time() - began


@pytest.mark.parametrize(
    ("fate", "status", "effects", "least"),
    [
        ("done", b"200", 1, 0.0),
        ("slow", b"200", 1, 1.0),
        ("too slow", b"200", 1, 9.0),
        ("refused", b"422", 0, 0.0),
        ("broken", b"500", 1, 0.0),
        ("cut", b"", 1, 0.0),
        ("lost", b"", 0, 0.0),
    ],
)
async def test_each_fate(
    fate: str, status: bytes, effects: int, least: float, autojump_clock: trio.testing.MockClock
) -> None:
    """What is answered, whether it took effect, and how long it took at least."""
    answer, noted, seconds = await called(fate)
    assert answer[9:12] == status
    assert noted == [EFFECT] * effects
    assert least <= seconds < least + 4.0
    assert fate in FATES


async def test_a_request_comes_in_pieces_or_not_at_all(autojump_clock: trio.testing.MockClock) -> None:
    """It is whole before anything takes effect; one that was broken off has none."""
    assert (await called("done", [REQUEST[:20], REQUEST[20:-2], REQUEST[-2:]]))[1] == [EFFECT]
    assert (await called("done", [REQUEST[:20]]))[:2] == (b"", [])
    assert (await called("done", [REQUEST[:-2]]))[:2] == (b"", [])


async def test_a_key_that_comes_again_takes_effect_again(autojump_clock: trio.testing.MockClock) -> None:
    """Nothing is hidden from who counts."""
    effects: list[tuple[str, ...]] = []
    hook = Hook(1, lambda *effect: effects.append(effect), {"done": 1})
    for _ in range(2):
        ours, theirs = trio.testing.memory_stream_pair()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hook.exchange, theirs)
            await ours.send_all(REQUEST)
            await ours.receive_some()
    assert effects == [EFFECT, EFFECT]
