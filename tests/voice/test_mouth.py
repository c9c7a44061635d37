"""The mouth: its pace, its silence, its pauses, and what an engine or a client does to it."""

import pytest
import trio
from trio.testing import MockClock

from agent.grounding.read_back import make_read_back
from agent.ports.voice import CHUNK_BYTES, CHUNK_SECONDS
from agent.voice.mouth import LONGEST_PAUSE, SLOW_AFTER
from agent.voice.playback import AHEAD, MADE_AHEAD
from tests.session.harness import ask, saying, world

from .talking import BrokenEngine, Talk, connect

WORD = 0.18  # seconds of a word of `tone`
TWO = "It is open now. Ask me for more of it. "
LONG = "Nobody opens the door to the house before noon today. " * 6


async def test_an_answer_is_said_to_its_end_sentence_by_sentence(autojump_clock: MockClock) -> None:
    """Each sentence has a `speech` frame before its audio, and the end comes when the ear has heard the last word."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = saying(TWO)
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("speech_end")
        begun = talk.wire.audio[0][0]
        assert talk.wire.sent("speech", "speech_end") == [
            {"type": "speech", "id": "m", "seq": 1, "from": 0, "to": 15},
            {"type": "speech", "id": "m", "seq": 2, "from": 16, "to": 38},
            {"type": "speech_end", "id": "m", "reason": "done"},
        ]
        assert {len(pcm) for _, pcm in talk.wire.audio} == {CHUNK_BYTES}
        assert talk.said == pytest.approx(10 * WORD, abs=2 * CHUNK_SECONDS)
        assert talk.wire.frames[-1][0] - begun == pytest.approx(talk.said, abs=0.02)
        assert talk.wire.sent("response")[0]["text"] == TWO
        nursery.cancel_scope.cancel()


async def test_audio_is_sent_at_most_three_hundred_milliseconds_ahead(autojump_clock: MockClock) -> None:
    """By the clock, though the socket takes everything at once."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = saying(LONG)
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("speech_end")
        begun = talk.wire.audio[0][0]
        ahead = [
            count * CHUNK_SECONDS - (at - begun) for count, (at, _) in enumerate(talk.wire.audio, start=1)
        ]
        assert max(ahead) <= AHEAD + 1e-6
        assert min(ahead) >= AHEAD - CHUNK_SECONDS - 0.01 or ahead[0] == CHUNK_SECONDS
        nursery.cancel_scope.cancel()


async def test_audio_that_waits_for_a_slow_client_is_ahead_of_its_ear(autojump_clock: MockClock) -> None:
    """A client that reads again gets no more at once than one that always reads."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = saying(TWO)
        talk = await connect(w, nursery)
        talk.wire.block()
        talk.wire.push(ask())
        await trio.sleep(0.7)
        talk.wire.unblock()
        await trio.lowlevel.checkpoint()
        await trio.testing.wait_all_tasks_blocked()
        assert 0 < talk.said <= AHEAD
        await talk.wire.until("speech_end")
        assert talk.ends == ["done"]
        nursery.cancel_scope.cancel()


async def test_what_was_played_is_kept_beside_the_history(autojump_clock: MockClock) -> None:
    """By sentence, once it is wholly sent, whatever the client says."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = saying(TWO)
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("speech", 2)
        history = talk.session._core.turns._history
        talk.wire.push({"type": "played", "seq": 2})
        await trio.testing.wait_all_tasks_blocked()
        assert dict(history.played) == {"m": 15}
        await talk.wire.until("speech_end")
        talk.wire.push({"type": "played", "seq": 2})
        await trio.testing.wait_all_tasks_blocked()
        assert dict(history.played) == {"m": len(TWO) - 1}
        nursery.cancel_scope.cancel()


async def test_a_suggestion_is_read_back_after_the_answer(autojump_clock: MockClock) -> None:
    """Its end is told once the client has played it; not of an answer that was cancelled."""
    played: list[str] = []
    back = make_read_back({"phone": "070 12"}, "en")
    async with world(pace_ms=0) as w, trio.open_nursery() as nursery:
        w.brain.script = saying(TWO)
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("response")
        assert talk.mouth.read_back("m", back, lambda: played.append("m"))
        await talk.wire.until("speech_end")
        assert talk.wire.sent("speech")[-1] == {"type": "speech", "id": "m", "seq": 3, "from": 0, "to": 0}
        assert talk.mouth.read_back("m", back, lambda: played.append("again"))
        await talk.wire.until("speech_end", 2)
        for seq, told in ((2, []), (3, ["m"]), (4, ["m", "again"])):
            talk.wire.push({"type": "played", "seq": seq})
            await trio.testing.wait_all_tasks_blocked()
            assert played == told
        talk.wire.push({"type": "cancel"})
        await trio.testing.wait_all_tasks_blocked()
        assert not talk.mouth.read_back("m", back, lambda: played.append("late"))
        assert not talk.mouth.read_back("other", back, lambda: played.append("late"))
        nursery.cancel_scope.cancel()


async def test_an_engine_waits_while_enough_audio_waits(autojump_clock: MockClock) -> None:
    """Memory is bounded however long a sentence, and the engine goes on as it is said."""
    async with world(pace_ms=0) as w, trio.open_nursery() as nursery:
        w.brain.script = saying("go " * 200 + "now. ")
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        for _ in range(6):
            await trio.sleep(5)
            (sentence,) = talk.mouth._speech.playback._line  # type: ignore[union-attr]
            assert sentence.waiting <= MADE_AHEAD + 2 * CHUNK_BYTES * 5
        assert sentence.is_whole
        assert talk.said == pytest.approx(30, abs=0.5)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("frame", [{"type": "cancel"}, {"type": "cancel", "id": "m"}, ask("n")])
async def test_a_cancel_and_a_newer_message_silence_in_the_middle_of_a_word(
    frame: dict[str, str], autojump_clock: MockClock
) -> None:
    """At once, though the turn has long ended: no audio is begun after it, and the engine ends."""
    engine = BrokenEngine(hangs=8)
    async with world(pace_ms=0) as w, trio.open_nursery() as nursery:
        w.brain.script = saying(TWO + LONG)
        talk = await connect(w, nursery, engine)
        talk.wire.push(ask())
        await talk.wire.until("response")
        await trio.sleep(0.51)
        assert talk.mouth.is_speaking
        w.brain.script = saying("")
        cancelled_at, said = trio.current_time(), talk.said
        talk.wire.push(frame)
        await talk.wire.until("speech_end")
        assert trio.current_time() == cancelled_at
        await trio.sleep(3)
        assert (talk.said, talk.ends[0], engine.alive) == (said, "cancelled", 0)
        nursery.cancel_scope.cancel()


async def test_a_cancel_takes_back_the_audio_that_waits(autojump_clock: MockClock) -> None:
    """A client that reads slowly gets none of it later."""
    async with world(pace_ms=0) as w, trio.open_nursery() as nursery:
        w.brain.script = saying(LONG)
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("response")
        talk.wire.block()
        await trio.sleep(0.51)
        assert talk.wire.outbox.audio
        said = talk.said
        talk.wire.push({"type": "cancel"})
        await trio.lowlevel.checkpoint()
        talk.wire.unblock()
        await talk.wire.until("speech_end")
        assert (talk.said, talk.ends) == (said, ["cancelled"])
        nursery.cancel_scope.cancel()


async def test_a_cancel_of_another_message_silences_nothing(autojump_clock: MockClock) -> None:
    """The id of a cancel is the message that is spoken, or none is meant."""
    async with world(pace_ms=0) as w, trio.open_nursery() as nursery:
        w.brain.script = saying(TWO)
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("response")
        talk.wire.push({"type": "cancel", "id": "other"})
        await talk.wire.until("speech_end")
        assert talk.ends == ["done"]
        nursery.cancel_scope.cancel()


async def test_an_engine_that_fails_costs_the_speech_and_not_the_text(autojump_clock: MockClock) -> None:
    """The next answer is spoken by a new one."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = saying(TWO)
        talk = await connect(w, nursery, BrokenEngine(fails=2))
        for number in (1, 2):
            talk.wire.push(ask(f"m{number}"))
            await talk.wire.until("speech_end", number)
            response = await talk.wire.until("response", number)
            assert response["text"] == TWO
        assert talk.ends == ["failed", "failed"]
        nursery.cancel_scope.cancel()


async def test_a_client_that_takes_no_audio_gets_no_more_speech(autojump_clock: MockClock) -> None:
    """After a second of it; the text is all there once the client reads."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = saying(LONG)
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("speech")
        talk.wire.block()
        blocked_at = trio.current_time()
        await trio.sleep(SLOW_AFTER + 0.2)
        assert talk.wire.outbox.audio == 0
        assert not talk.mouth.is_speaking
        said = talk.said
        talk.wire.unblock()
        await talk.wire.until("speech_end")
        assert trio.current_time() - blocked_at < SLOW_AFTER + 0.3
        assert (talk.ends, talk.said - said < 2 * CHUNK_SECONDS) == (["slow"], True)
        response = await talk.wire.until("response")
        assert response["text"] == LONG
        nursery.cancel_scope.cancel()


async def _speak_and_pause(talk: Talk, seconds: float) -> int:
    """Ask, pause after so many seconds of speech, and return the number of chunks that were sent."""
    talk.wire.push(ask())
    await talk.wire.until("speech")
    await trio.sleep(seconds)
    assert talk.mouth.pause()
    return len(talk.wire.audio)


async def test_a_pause_is_silent_and_goes_on_from_the_last_word(autojump_clock: MockClock) -> None:
    """The word that broke off is begun again, and the rest follows as if there had been no pause."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = saying(LONG)
        talk = await connect(w, nursery)
        sent = await _speak_and_pause(talk, 0.51)
        await trio.sleep(0.4)
        assert len(talk.wire.audio) == sent
        talk.mouth.resume()
        await talk.wire.until("speech_end")
        before = b"".join(pcm for _, pcm in talk.wire.audio[:sent])
        after = b"".join(pcm for _, pcm in talk.wire.audio[sent:])
        word = int(WORD * 32_000)
        at = len(before) // word * word
        whole = before[:at] + after
        assert talk.ends == ["done"]
        assert whole[:word] * 10 == whole[: 10 * word]
        assert len(talk.wire.sent("speech")) == 6
        nursery.cancel_scope.cancel()


async def test_a_pause_ends_by_itself(autojump_clock: MockClock) -> None:
    """A hearing that forgets it does not leave a mouth open."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = saying(TWO)
        talk = await connect(w, nursery)
        sent = await _speak_and_pause(talk, 0.51)
        await trio.sleep(LONGEST_PAUSE - 0.01)
        assert len(talk.wire.audio) == sent
        await talk.wire.until("speech_end")
        assert talk.ends == ["done"]
        nursery.cancel_scope.cancel()


async def test_a_cancel_ends_a_pause(autojump_clock: MockClock) -> None:
    """Nothing is said any more."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = saying(TWO)
        talk = await connect(w, nursery)
        sent = await _speak_and_pause(talk, 0.51)
        talk.wire.push({"type": "cancel", "id": "m"})
        await talk.wire.until("speech_end")
        talk.mouth.resume()
        await trio.sleep(2 * LONGEST_PAUSE)
        assert (len(talk.wire.audio), talk.ends) == (sent, ["cancelled"])
        nursery.cancel_scope.cancel()


async def test_a_client_that_leaves_ends_the_engine(autojump_clock: MockClock) -> None:
    """Without a frame, and without a task, a timer or an object of the session."""
    engine = BrokenEngine(hangs=5)
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = saying(LONG)
        talk = await connect(w, nursery, engine)
        talk.wire.push(ask())
        await talk.wire.until("speech")
        talk.wire.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert (engine.alive, talk.ends) == (0, [])
        w.nothing_is_left()
        nursery.cancel_scope.cancel()


async def test_one_engine_ends_before_the_next_begins(autojump_clock: MockClock) -> None:
    """One that takes a while to die delays the next speech, and its silence comes at once."""
    engine = BrokenEngine(dies=0.7)
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = saying(LONG)
        talk = await connect(w, nursery, engine)
        for number in range(4):
            talk.wire.push(ask(f"m{number}"))
            await trio.sleep(0.3)
        assert engine.most == 1
        assert talk.ends == ["cancelled"] * 3
        nursery.cancel_scope.cancel()
