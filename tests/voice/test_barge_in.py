"""Somebody speaks while the mouth does: a word cancels, a cough only pauses, and its own voice does neither."""

from typing import cast

import pytest
import trio
from trio.testing import MockClock

from agent.ports.voice import VoiceTranscript
from agent.protocol.inbound import ConfirmAction
from agent.voice.client_utterance import PAUSE_SECONDS
from agent.voice.read_back import ReadBack
from tests.session.harness import ask, saying, world

from .ears import BreakableRecognizer, FakeMouth, listener, parts_of, script, sound
from .talking import connect

ECHO = {(1,): "torque", (1, 2): "the torque is", (1, 2, 3): "the torque is eight newton metres"}
OWN = {(4,): "no", (4, 5): "no stop"}


class AnyYes:
    """A read-back that every final confirms."""

    def find_confirm(self, transcript: VoiceTranscript) -> ConfirmAction:
        return ConfirmAction("s1")


def calls(mouth: FakeMouth, since: float) -> list[tuple[float, str]]:
    """Return what the mouth was told, with the seconds since `since`."""
    return [(round(at - since, 2), call) for at, call in mouth.calls]


async def test_a_word_cancels_the_speech(autojump_clock: MockClock) -> None:
    """The mouth pauses in the frame of the onset, and is silent for good in that of the word."""
    async with listener(recognizer := BreakableRecognizer(partial=""), mouth := FakeMouth()) as client:
        client.hearing.utterance.note_turn_end("m1")
        client.listen()
        since = trio.current_time()
        client.hearing.take_audio(sound(1))
        await trio.sleep(0.2)
        recognizer.partial = "no"
        client.hearing.take_audio(sound(1))
        await trio.sleep(0.1)
        assert calls(mouth, since) == [(0.0, "pause"), (0.2, "cancel")]
        assert not client.wire.taken  # its turn has ended, and what that suggests stays


async def test_a_word_cancels_the_turn_that_is_under_way(autojump_clock: MockClock) -> None:
    """By its id, as a client's cancel does."""
    async with listener(BreakableRecognizer(), FakeMouth()) as client:
        client.listen()
        await client.say(1)
        assert client.wire.taken == [{"type": "cancel", "id": "m1"}]


async def test_a_word_into_the_speech_of_a_turn_that_has_ended_leaves_the_session_alone(
    autojump_clock: MockClock,
) -> None:
    """The session tells its wire when a turn ends; the speech goes on, and is silenced alone."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = saying("It is open now. Ask me for more of it.")
        talk = await connect(w, nursery, ears=parts_of(BreakableRecognizer()))
        talk.wire.push(ask())
        await talk.wire.until("response")
        await talk.wire.until("speech")
        talk.wire.push({"type": "listen", "on": True, "echoCancelled": True})
        talk.wire.push(sound(1))
        await talk.wire.until("speech_end")
        assert talk.ends == ["cancelled"]
        assert "taken" not in [kind for _, kind, _ in talk.transcript]
        nursery.cancel_scope.cancel()


async def test_a_cough_pauses_and_cancels_nothing(autojump_clock: MockClock) -> None:
    """Without a word the mouth goes on, and the utterance without words is no message."""
    async with listener(BreakableRecognizer(partial="", words=""), mouth := FakeMouth()) as client:
        client.listen()
        since = trio.current_time()
        await client.say(1, silence=2.0)
        assert calls(mouth, since) == [(0.0, "pause"), (PAUSE_SECONDS, "resume")]
        assert not client.wire.taken


async def test_a_late_word_cancels_too(autojump_clock: MockClock) -> None:
    """A slow recogniser has gone on first."""
    async with listener(recognizer := BreakableRecognizer(partial=""), mouth := FakeMouth()) as client:
        client.hearing.utterance.note_turn_end("m1")
        client.listen()
        await client.say(1, 1, 1, 1, 1)
        recognizer.partial = "stop"
        await client.say(1)
        assert [call for _, call in mouth.calls] == ["pause", "resume", "cancel"]


async def test_bad_audio_and_a_failed_ear_let_the_mouth_go_on(autojump_clock: MockClock) -> None:
    """They end the pause that their utterance began."""
    async with listener(BreakableRecognizer(partial=""), mouth := FakeMouth()) as client:
        client.listen()
        client.hearing.take_audio(sound(1))
        await trio.sleep(0.1)
        client.hearing.take_audio(b"odd")
        assert [call for _, call in mouth.calls] == ["pause", "resume"]


@pytest.mark.parametrize("numbers", [(1,), (1, 2), (1, 2, 3)])
async def test_the_mouth_s_own_voice_cancels_nothing(
    numbers: tuple[int, ...], autojump_clock: MockClock
) -> None:
    """Nor pauses, where the client leaves it in its audio; misheard in a word, it is no message either."""
    async with listener(script(ECHO), mouth := FakeMouth()) as client:
        client.listen(echo_cancelled=False)
        await client.say(*numbers, silence=1.0)
        assert (mouth.calls, client.wire.taken) == ([], [])
        assert client.heard() == [("", True)]


async def test_other_words_than_those_that_are_said_cancel(autojump_clock: MockClock) -> None:
    """Two of them: one may be misheard."""
    async with listener(script(OWN), mouth := FakeMouth()) as client:
        client.hearing.utterance.note_turn_end("m1")
        client.listen(echo_cancelled=False)
        await client.say(4)
        assert mouth.calls == []
        client.hearing.take_audio(sound(5))
        await trio.sleep(0.1)
        assert [call for _, call in mouth.calls] == ["cancel"]
        await client.say(silence=1.0)
        assert client.messages() == ["no stop"]


async def test_words_of_the_answer_are_heard_from_a_client_without_its_voice(
    autojump_clock: MockClock,
) -> None:
    """With echo cancellation nothing is taken for an echo."""
    async with listener(script(ECHO), mouth := FakeMouth()) as client:
        client.listen(echo_cancelled=True)
        await client.say(1, 2, silence=1.0)
        assert [call for _, call in mouth.calls] == ["pause", "cancel"]
        assert client.messages() == ["the torque is"]


async def test_a_yes_that_an_answer_falls_into_confirms_nothing(autojump_clock: MockClock) -> None:
    """It began in silence, but the mouth spoke before it had ended; the next yes confirms."""
    mouth = FakeMouth()
    mouth.state = "silent"
    async with listener(recognizer := BreakableRecognizer(partial="", words="yes"), mouth) as client:
        client.hearing.utterance.read_back = cast(ReadBack, AnyYes())
        client.listen()
        await client.say(1)
        mouth.state = "speaking"
        recognizer.partial = "yes"
        await client.say(1, silence=1.0)
        assert "confirm_action" not in [frame["type"] for frame in client.wire.taken]
        await client.say(1, silence=1.0)
        assert client.wire.taken[-1]["type"] == "confirm_action"
