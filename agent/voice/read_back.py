"""Suggestions of a client with voice: each is read aloud by its characters, and a spoken yes may confirm one.

A yes confirms only where the setting `voice-confirm` allows it, and when exactly one suggestion is live, all of it was
said and `played` says so, the mouth was silent while the yes was said, and the final is sure and whole: an assent of
one language, and nothing else. So a partial, a negation and a longer sentence confirm nothing; they are messages as all
others.
"""

from functools import partial

import msgspec

from ..grounding.read_back import make_read_back
from ..lang import DEFAULT, LANGUAGES
from ..ports.voice import VoiceTranscript
from ..protocol.inbound import ConfirmAction, Message
from ..protocol.outbound import ActionClosed, ActionExecuted, ActionSuggestion
from ..text.language import detect_language
from ..text.words import split_words
from .mouth import Mouth

_ASSENTS = frozenset(words for each in LANGUAGES.values() for words in each.saying.assents)


class ReadBack:
    """The live suggestions of one client, and how far each was read aloud. No method blocks.

    `confirms`: whether a spoken yes may confirm one.
    """

    def __init__(self, mouth: Mouth, confirms: bool) -> None:
        self._mouth = mouth
        self._confirms = confirms
        self._live: dict[str, bool] = {}  # by id: whether it was played to its end
        self._lang = DEFAULT

    def note_message(self, frame: Message) -> None:
        """Note the language of a `message`."""
        self._lang = frame.lang or detect_language(frame.text) or self._lang

    def note_frame(self, frame: msgspec.Struct) -> None:
        """Note a frame of the session: a suggestion is read aloud, and is live until it is closed or confirmed."""
        if isinstance(frame, ActionSuggestion):
            self._read_suggestion(frame)
        elif isinstance(frame, ActionClosed | ActionExecuted):
            self._live.pop(frame.suggestion_id, None)

    def find_confirm(self, transcript: VoiceTranscript) -> ConfirmAction | None:
        """Return the confirm that the words of a whole utterance are, None where they are a message."""
        if not self._confirms or self._mouth.is_speaking or not transcript.is_sure or len(self._live) != 1:
            return None
        ((suggestion, was_played),) = self._live.items()
        is_assent = " ".join(split_words(transcript.text)) in _ASSENTS
        return ConfirmAction(suggestion) if was_played and is_assent else None

    def _read_suggestion(self, suggestion: ActionSuggestion) -> None:
        if suggestion.approved:
            return
        id = suggestion.suggestion_id
        self._live[id] = False
        utterance = make_read_back(suggestion.payload, self._lang)
        if utterance.sentences and suggestion.id is not None and not suggestion.missing:
            is_whole = not any(each.withheld for each in utterance.sentences)
            self._mouth.read_back(suggestion.id, utterance, partial(self._note_played, id, is_whole))

    def _note_played(self, id: str, is_whole: bool) -> None:
        if id in self._live:
            self._live[id] = is_whole
