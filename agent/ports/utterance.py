"""Text that may be said aloud: the only input of a mouth."""

from dataclasses import dataclass

from .search import Lang


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenSentence:
    """A sentence of a response, in the words to say.

    `start`, `end`: its characters in the response's text, `[start, end)`. `words`: letters, spaces and the marks
    `.,;:?!'-` only; no digit and no other sign. `withheld`: the words are not those of the text but say that it is on
    the screen. Only `agent.grounding.utterance` constructs it.
    """

    start: int
    end: int
    words: str
    withheld: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """The sentences of a verified text, in order, in the words of the language `lang`.

    No sentence says a number that the text does not hold. Only `agent.grounding.utterance` constructs it.
    """

    lang: Lang
    sentences: tuple[SpokenSentence, ...]
