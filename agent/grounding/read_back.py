"""Says the payload of an action, for a user who confirms by voice: each value behind its name.

Strategy: nothing is abbreviated. A word of letters is said as it is; a word with a digit or a sign is said character by
character, so that a number that was misheard is heard. A value that cannot be said so is withheld, and with it all that
a voice could confirm.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..lang import LANGUAGES, Lang
from ..lang.saying import Saying
from ..numbers.spoken_forms import spell
from ..ports.action import Payload
from ..ports.utterance import SpokenSentence, Utterance

_WORD: Final = re.compile(r"([^\W\d_]+(?:['’-][^\W\d_]+)*)([.,;:?!]*)")
_ENDINGS: Final = ".,;:?!"
_NAME: Final = re.compile(r"[^\W\d_]+")
_CAMEL: Final = re.compile(r"(?<=[a-zåäö])(?=[A-ZÅÄÖ])")


def make_read_back(payload: Payload, lang: Lang) -> Utterance:
    """Return the values of `payload` in words, a sentence each.

    The sentences stand in no text: their ranges are empty. A sentence that is `withheld` leaves a value unsaid.
    """
    saying = LANGUAGES[lang].saying
    sentences = []
    for name, value in _find_leaves(payload, ()):
        words = _say_value(value, saying)
        said = saying.figure if words is None else f"{name}: {words}" if name else words
        sentences.append(SpokenSentence(start=0, end=0, words=said, withheld=words is None))
    return Utterance(lang=lang, sentences=tuple(sentences))


def _find_leaves(value: Any, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield each value that holds no other, with the words of its name."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _find_leaves(each, (*names, *_NAME.findall(_CAMEL.sub(" ", str(key)))))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _find_leaves(each, names)
    else:
        yield " ".join(names).lower(), value


def _say_value(value: Any, saying: Saying) -> str | None:
    """Return the words of a value; None where a part of it has none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    words = [_say_word(each, saying) for each in str(value).split()]
    return None if not words or None in words else " ".join(filter(None, words))


def _say_word(word: str, saying: Saying) -> str | None:
    found = _WORD.fullmatch(word)
    if found is not None:
        is_latin = all(unicodedata.name(char, "").startswith("LATIN ") for char in found[1] if char.isalpha())
        return word.replace("’", "'") if is_latin else None
    code = word.rstrip(_ENDINGS)
    spelled = spell(code, saying, grouped=False) if code else None
    return None if not spelled else spelled + ("," if code != word else "")
