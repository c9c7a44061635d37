"""The hearing of a client: which audio is heard, and what bad audio and a bad ear cost."""

from collections import deque

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from agent.errors import VoiceFailed
from agent.voice.hearing import (
    FEED_TIMEOUT,
    FINISH_TIMEOUT,
    IDLE_SECONDS,
    OPEN_TIMEOUT,
    QUEUE_SECONDS,
)

from .ears import SILENCE, BreakableRecognizer, FakeMouth, listener, parts_of, script, sound

FILE = script({(1,): "what", (1, 2): "what torque", (1, 2, 3): "what torque is it"})


async def test_an_utterance_is_shown_as_it_is_heard_and_becomes_a_message(autojump_clock: MockClock) -> None:
    """The final has the id of the message, which is ours, and says that it was heard."""
    async with listener(FILE) as client:
        client.listen()
        await client.say(1, 2, 3, silence=1.0)
        assert client.heard() == [
            ("what", False),
            ("what torque", False),
            ("what torque is it", False),
            ("what torque is it", True),
        ]
        (message,) = client.wire.taken
        assert (message["type"], message["text"], message["heard"]) == ("message", "what torque is it", True)
        assert {frame["id"] for frame in client.wire.sent("heard")} == {message["id"]}


async def test_silence_of_four_fifths_of_a_second_ends_an_utterance(autojump_clock: MockClock) -> None:
    """Seven silent frames are a pause within it, eight are its end."""
    async with listener(FILE) as client:
        client.listen()
        await client.say(1, silence=0.7)
        assert not client.messages()
        await client.say(silence=0.1)
        await trio.testing.wait_all_tasks_blocked()
        assert client.messages() == ["what"]


async def test_the_end_of_listen_ends_an_utterance_at_once(autojump_clock: MockClock) -> None:
    """And the ear with it, after its last words; the place is free again."""
    async with listener(recognizer := BreakableRecognizer(seconds=1.0)) as client:
        client.listen()
        await client.say(1, 2)
        client.listen(False)
        await trio.testing.wait_all_tasks_blocked()
        assert (client.messages(), recognizer.open, client.parts.places.free) == ([], 1, 3)
        await trio.sleep(1.1)
        assert (client.messages(), recognizer.open, client.parts.places.free) == (["two words"], 0, 4)


async def test_a_client_that_sends_no_more_audio_has_ended_its_utterance(autojump_clock: MockClock) -> None:
    """A microphone that is muted sends nothing, not silence."""
    async with listener(FILE) as client:
        client.listen()
        await client.say(1, 2)
        await trio.sleep(0.8)
        assert client.messages() == ["what torque"]


async def test_two_utterances_are_two_messages(autojump_clock: MockClock) -> None:
    """One ear hears both."""
    async with listener(recognizer := BreakableRecognizer()) as client:
        client.listen()
        for _ in range(2):
            await client.say(1, silence=1.0)
        assert client.messages() == ["two words"] * 2
        assert len({frame["id"] for frame in client.wire.taken}) == 2
        assert recognizer.opened == 1


async def test_unknown_audio_clears_the_line_and_is_no_message(autojump_clock: MockClock) -> None:
    """The page drops what it has shown."""
    async with listener(FILE) as client:
        client.listen()
        await client.say(1, 5, silence=1.0)
        assert client.heard() == [("what", False), ("", True)]
        assert not client.wire.taken


async def test_the_longest_utterance_ends_by_itself(autojump_clock: MockClock) -> None:
    """Somebody who speaks on and on is heard in pieces."""
    async with listener(BreakableRecognizer()) as client:
        client.listen()
        await client.say(*[1] * 310)
        assert client.messages() == ["two words"]
        assert len(client.wire.sent("heard")) == 1 + 1 + 1  # of the next piece, the first word


# --- audio that cannot be heard


async def test_audio_before_listen_costs_a_sentence_and_no_more(autojump_clock: MockClock) -> None:
    """One sentence for all of it; the next `listen` hears."""
    async with listener(FILE) as client:
        await client.say(*[1] * 50)
        assert client.errors() == ["bad_message"]
        assert "listen" in client.wire.sent("error")[0]["message"]
        client.listen()
        await client.say(1, 2, silence=1.0)
        assert client.messages() == ["what torque"]


@pytest.mark.parametrize("size", [0, 1, 638, 641, 3201, 3202, 9600])
async def test_a_frame_of_a_wrong_size_costs_its_utterance(size: int, autojump_clock: MockClock) -> None:
    """The rest is dropped until the next `listen`; the line is cleared."""
    async with listener(recognizer := BreakableRecognizer()) as client:
        client.listen()
        await client.say(1)
        client.hearing.take_audio(bytes(size))
        await client.say(1, 2, 3, silence=2.0)
        assert client.errors() == ["bad_message"]
        assert client.heard() == [("word", False), ("", True)]
        assert (client.messages(), recognizer.open, client.parts.places.free) == ([], 0, 4)
        client.listen()
        await client.say(1, silence=1.0)
        assert client.messages() == ["two words"]


async def test_ten_minutes_in_a_second_cost_two_seconds_of_memory(autojump_clock: MockClock) -> None:
    """They are dropped unread, with one sentence, and the connection stays."""
    async with listener(BreakableRecognizer()) as client:
        client.listen()
        for number in range(6000):
            client.hearing.take_audio(sound(1))
            if number % 600 == 0:
                await trio.sleep(0.1)
        assert client.errors() == ["bad_message"]
        assert "as fast as it is spoken" in client.wire.sent("error")[0]["message"]
        assert not client.wire.raw
        await trio.sleep(5)
        client.listen()
        await client.say(1, silence=1.0)
        assert client.messages() == ["two words"]


async def test_audio_of_another_rate_is_told_apart_by_its_speed(autojump_clock: MockClock) -> None:
    """48 kHz said to be 16 is three times as much as real time."""
    async with listener(BreakableRecognizer()) as client:
        client.listen()
        for _ in range(20):
            for _ in range(3):
                client.hearing.take_audio(sound(1))
            await trio.sleep(0.1)
        assert client.errors() == ["bad_message"]
        assert not client.messages()


async def test_real_time_is_never_too_fast(autojump_clock: MockClock) -> None:
    """Nor two seconds ahead of it, as after a network's pause."""
    async with listener(recognizer := BreakableRecognizer()) as client:
        client.listen()
        await trio.sleep(30)
        for _ in range(20):
            client.hearing.take_audio(sound(1))
        for _ in range(30):
            await trio.sleep(0.1)
            client.hearing.take_audio(sound(1))
        await trio.testing.wait_all_tasks_blocked()
        assert (client.errors(), recognizer.fed) == ([], 50)


async def test_three_refused_frames_in_ten_seconds_close_the_connection(autojump_clock: MockClock) -> None:
    """As three bad frames of text do."""
    async with listener(BreakableRecognizer()) as client:
        for _ in range(3):
            client.listen()
            client.hearing.take_audio(b"odd")
        assert client.wire.raw == [b"CLOSE 1008"]


async def test_silence_for_an_hour_closes_the_ear(autojump_clock: MockClock) -> None:
    """After a minute its place is free; the next sound opens another."""
    async with listener(recognizer := BreakableRecognizer()) as client:
        client.listen()
        await client.say(silence=IDLE_SECONDS + 0.5)
        assert (recognizer.open, client.parts.places.free) == (0, 4)
        for _ in range(60):
            client.hearing.take_audio(SILENCE)
            await trio.sleep(60)
        assert recognizer.opened == 1
        await client.say(1, silence=1.0)
        assert (recognizer.opened, client.messages()) == (2, ["two words"])


async def test_a_noise_without_speech_is_forgotten_every_half_minute(autojump_clock: MockClock) -> None:
    """White noise, a sine: the ear keeps no more of it."""
    async with listener(recognizer := BreakableRecognizer(deaf=True)) as client:
        client.listen()
        await client.say(*[7] * 620)
        assert (recognizer.discarded, recognizer.opened, client.wire.sent()) == (2, 1, [])


async def test_a_client_that_leaves_is_forgotten(autojump_clock: MockClock) -> None:
    """In the middle of a word; nothing is taken of it, nor after."""
    async with listener(recognizer := BreakableRecognizer(seconds=5)) as client:
        client.listen()
        await client.say(1, 2)
        client.hearing.close()
        client.hearing.take_audio(sound(1))
        client.listen()
        await trio.sleep(10)
        assert (client.messages(), recognizer.open) == ([], 0)


# --- places


async def test_the_next_client_is_told_to_type(autojump_clock: MockClock) -> None:
    """It gets a place once one is free, and asks for it."""
    parts = parts_of(BreakableRecognizer(), streams=1)
    async with listener(parts=parts) as first:
        first.listen()
        async with listener(parts=parts) as second:
            second.listen()
            await second.say(1, silence=1.0)
            assert (second.errors(), second.messages()) == (["busy"], [])
            assert "type" in second.wire.sent("error")[0]["message"]
            first.listen(False)
            await trio.testing.wait_all_tasks_blocked()
            second.listen()
            await second.say(1, silence=1.0)
            assert second.messages() == ["two words"]
            second.listen(False)
            await trio.testing.wait_all_tasks_blocked()


async def test_a_client_that_was_silent_for_long_may_find_its_place_taken(autojump_clock: MockClock) -> None:
    """It is told so at its next sound."""
    parts = parts_of(BreakableRecognizer(), streams=1)
    async with listener(parts=parts) as first:
        first.listen()
        await first.say(silence=IDLE_SECONDS + 1)
        async with listener(parts=parts) as second:
            second.listen()
            await first.say(1)
            assert first.errors() == ["busy"]


# --- a bad ear


@pytest.mark.parametrize("step", ["open", "feed", "finish"])
@pytest.mark.parametrize("error", [VoiceFailed("it died"), RuntimeError("a bug")], ids=["dies", "bug"])
async def test_an_ear_that_fails_costs_its_utterance(
    step: str, error: Exception, autojump_clock: MockClock
) -> None:
    """With a sentence, and the next `listen` opens another."""
    async with listener(recognizer := BreakableRecognizer(fails=[step], error=error)) as client:
        client.listen()
        await client.say(1, silence=1.0)
        assert client.errors() == ["voice_failed"]
        assert (client.messages(), recognizer.open, client.parts.places.free) == ([], 0, 4)
        recognizer.fails = ()
        client.listen()
        await client.say(1, silence=1.0)
        assert client.messages() == ["two words"]


@pytest.mark.parametrize(
    ("step", "seconds"),
    [("open", QUEUE_SECONDS), ("feed", FEED_TIMEOUT), ("finish", FINISH_TIMEOUT)],
)
async def test_an_ear_that_hangs_is_given_up(step: str, seconds: float, autojump_clock: MockClock) -> None:
    """In time, and however much audio still comes."""
    async with listener(recognizer := BreakableRecognizer(hangs=[step])) as client:
        client.listen()
        await client.say(*[1] * 5, silence=seconds + 1)
        assert client.errors() == ["voice_failed"]
        assert (recognizer.open, client.parts.places.free) == (0, 4)


async def test_an_ear_that_hangs_after_listen_has_ended_costs_only_that_utterance(
    autojump_clock: MockClock,
) -> None:
    """Though audio came late, and was refused, while the last words were made out; the next words interrupt again."""
    async with listener(recognizer := BreakableRecognizer(hangs=["finish"]), mouth := FakeMouth()) as client:
        mouth.state = "silent"
        client.listen()
        await client.say(1)
        client.listen(False)
        await client.say(1)
        await trio.sleep(FINISH_TIMEOUT + 1)
        assert client.errors() == ["bad_message", "voice_failed"]
        assert client.heard() == [("word", False), ("", True)]
        recognizer.hangs, mouth.state = (), "speaking"
        client.listen()
        await client.say(1, silence=1.0)
        assert [call for _, call in mouth.calls] == ["pause", "cancel"]


async def test_an_ear_that_never_opens_is_given_up_without_audio_too(autojump_clock: MockClock) -> None:
    """The client is told."""
    async with listener(recognizer := BreakableRecognizer(hangs=["open"])) as client:
        client.listen()
        await trio.sleep(OPEN_TIMEOUT + 1)
        assert (client.errors(), recognizer.open) == (["voice_failed"], 0)


@pytest.mark.parametrize("words", ["", " ", "\0", "\ud800", "x" * 100_000, "a\nb\u2028c"])
async def test_garbage_of_an_ear_is_one_line_that_a_message_may_hold(
    words: str, autojump_clock: MockClock
) -> None:
    """Or nothing at all."""
    async with listener(recognizer := BreakableRecognizer(words=words, partial=words)) as client:
        client.listen()
        await client.say(1, silence=1.0)
        assert all(len(text) <= 8000 and text == " ".join(text.split()) for text, _ in client.heard())
        assert len(client.messages()) == any(map(str.isalpha, words))
        assert not recognizer.discarded


async def test_listen_again_while_the_last_words_are_made_out_keeps_both(autojump_clock: MockClock) -> None:
    """The words before are a message, and those after are heard."""
    async with listener(recognizer := BreakableRecognizer(seconds=0.5)) as client:
        client.listen()
        await client.say(1)
        client.listen(False)
        client.listen()
        await client.say(1, silence=1.5)
        assert (client.messages(), recognizer.opened) == (["two words"] * 2, 1)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("step", ["feed", "finish"])
async def test_listen_again_before_the_ear_fails_at_the_last_words_is_heard(
    step: str, ends: bool, autojump_clock: MockClock
) -> None:
    """By another ear, also where it has ended meanwhile; the failure costs the words before it."""
    async with listener(recognizer := BreakableRecognizer(dies=0.5)) as client:
        client.listen()
        await client.say(1)
        recognizer.fails = [step]
        client.hearing.take_audio(sound(1))
        client.listen(False)
        client.listen()
        await client.say(1)
        if ends:
            client.listen(False)
        recognizer.fails = ()
        await trio.sleep(2.0)
        assert (client.errors(), client.messages()) == (["voice_failed"], ["two words"])
        assert client.heard() == [("word", False), ("", True), ("word", False), ("two words", True)]
        assert recognizer.opened == 2
        recognizer.dies = 0.0


@pytest.mark.parametrize("fault", [None, b"odd"], ids=["listen has ended", "bad audio"])
async def test_listen_again_before_an_ear_that_fails_has_closed_is_heard(
    fault: bytes | None, autojump_clock: MockClock
) -> None:
    """Nothing is told of that failure: no words were lost by it."""
    async with listener(recognizer := BreakableRecognizer(fails=["close"], dies=1.0)) as client:
        client.listen()
        await client.say(1)
        if fault is None:
            client.listen(False)
        else:
            client.hearing.take_audio(fault)
        await trio.sleep(0.5)
        client.listen()
        await client.say(1, silence=2.0)
        assert client.errors() == ([] if fault is None else ["bad_message"])
        assert client.messages() == ["two words"] * (2 if fault is None else 1)
        recognizer.dies, recognizer.fails = 0.0, ()


async def test_too_much_audio_behind_the_last_words_is_dropped_with_them(autojump_clock: MockClock) -> None:
    """The client is told once."""
    async with listener(BreakableRecognizer(hangs=["finish"])) as client:
        client.listen()
        await client.say(1)
        client.listen(False)
        client.listen()
        await client.say(silence=QUEUE_SECONDS + 1)
        assert (client.errors(), client.hearing._queue) == (["voice_failed"], deque())
