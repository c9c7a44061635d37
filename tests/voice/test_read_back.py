"""A suggestion is read aloud by its characters; a spoken yes confirms it only after that, and only if it may."""

from collections.abc import Callable
from typing import cast

import pytest
from trio.testing import MockClock

from agent.ports.utterance import Utterance
from agent.ports.voice import VoiceTranscript
from agent.protocol.inbound import Message
from agent.protocol.outbound import ActionClosed, ActionExecuted, ActionSuggestion
from agent.voice.mouth import Mouth
from agent.voice.read_back import ReadBack

from .ears import BreakableRecognizer, FakeMouth, listener

SUGGESTION = ActionSuggestion(
    suggestion_id="s1", action="call_back", payload={"phone": "070-174 06 05"}, id="m1", heard=True
)


class ReadingMouth:
    """Keeps what it is to read, and plays it when the test says."""

    def __init__(self) -> None:
        self.is_speaking = False
        self.read: list[Utterance] = []
        self.played: list[Callable[[], None]] = []

    def read_back(self, message: str, utterance: Utterance, played: Callable[[], None]) -> bool:
        self.read.append(utterance)
        self.played.append(played)
        return True


def reading(confirms: bool = True, *suggestions: ActionSuggestion) -> tuple[ReadBack, ReadingMouth]:
    """Return a reader that was shown suggestions, and its mouth."""
    mouth = ReadingMouth()
    reader = ReadBack(cast(Mouth, mouth), confirms)
    for each in suggestions or (SUGGESTION,):
        reader.note_frame(each)
    return reader, mouth


def confirms(reader: ReadBack, words: str = "Yes.", is_sure: bool = True) -> bool:
    confirm = reader.find_confirm(VoiceTranscript(words, is_sure))
    assert confirm is None or confirm.suggestion_id == "s1"
    return confirm is not None


@pytest.mark.parametrize("words", ["Yes.", "yes", "Ja!", "yes please", "Bekräfta"])
def test_a_yes_after_the_whole_was_played_confirms(words: str) -> None:
    """Of either language."""
    reader, mouth = reading()
    assert not confirms(reader, words)
    mouth.played[0]()
    assert confirms(reader, words)


@pytest.mark.parametrize(
    "words",
    ["", "no", "yes no", "not yes", "yes ja", "yes but change the number", "nej", "yesterday", "yes yes"],
)
def test_other_words_than_a_whole_yes_are_a_message(words: str) -> None:
    """A negation above all."""
    reader, mouth = reading()
    mouth.played[0]()
    assert not confirms(reader, words)


def test_a_yes_confirms_nothing_unless_the_setting_allows_it() -> None:
    """By default a click does."""
    reader, mouth = reading(False)
    mouth.played[0]()
    assert not confirms(reader)


def test_a_yes_that_is_not_sure_or_falls_into_the_speech_confirms_nothing() -> None:
    """Somebody else may have said it, or the mouth itself."""
    reader, mouth = reading()
    mouth.played[0]()
    assert not confirms(reader, is_sure=False)
    mouth.is_speaking = True
    assert not confirms(reader)


def test_of_two_live_suggestions_a_yes_confirms_none() -> None:
    """Nor one that was closed or has run; the one that is left it does."""
    other = ActionSuggestion(suggestion_id="s2", action="a", payload={"b": "c"}, id="m1")
    reader, mouth = reading(True, SUGGESTION, other)
    for played in mouth.played:
        played()
    assert not confirms(reader)
    reader.note_frame(ActionClosed("s2", "rejected"))
    assert confirms(reader)
    reader.note_frame(ActionExecuted("s1", {"success": True}))
    assert not confirms(reader)


@pytest.mark.parametrize(
    "suggestion",
    [
        ActionSuggestion(suggestion_id="s1", action="a", payload={"b": "≈½"}, id="m1"),
        ActionSuggestion(suggestion_id="s1", action="a", payload={}, id="m1"),
        ActionSuggestion(suggestion_id="s1", action="a", payload={"b": "c"}, id="m1", missing=("d",)),
    ],
)
def test_a_suggestion_that_is_not_said_in_full_is_confirmed_by_a_click(suggestion: ActionSuggestion) -> None:
    """A sign that has no words, nothing at all, or a field that is still to be given."""
    reader, mouth = reading(True, suggestion)
    for played in mouth.played:
        played()
    assert not confirms(reader)


async def test_a_partial_yes_confirms_nothing(autojump_clock: MockClock) -> None:
    """Only the final does, once."""
    reader, mouth = reading()
    mouth.played[0]()
    ear = BreakableRecognizer(partial="yes", words="yes")
    silent = FakeMouth()
    silent.state = "silent"
    async with listener(ear, silent) as client:
        client.hearing.utterance.read_back = reader
        client.listen()
        await client.say(1, 1)
        assert not client.wire.taken
        await client.say(silence=1.0)
        assert client.wire.taken == [{"type": "confirm_action", "suggestionId": "s1", "payload": None}]


def test_the_language_is_that_of_the_client_s_last_message() -> None:
    """Its own word counts first."""
    reader, mouth = reading(True, SUGGESTION)
    reader.note_message(Message("m", "Vad kostar det att ringa upp mig?"))
    reader.note_frame(SUGGESTION)
    assert [each.lang for each in mouth.read] == ["en", "sv"]
