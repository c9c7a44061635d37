"""Cuts the stream of a `Teller` into the whole sentences of a scene; pure.

Strategy: a piece of text is given on as soon as its sentence is whole: a mark that ends it, and white space behind the
mark; or the end of a line. White space stands before a sentence and never behind it, so a scene has none at its end,
wherever it ends. The joined sentences are the scene, byte for byte: every change to the teller's text is made here.

The changes: control characters and halves of characters go; a run of white space becomes a blank, a line break or an
empty line; a line with which the model begins the reader's next turn ends the scene, and so does the last sentence that
fits into the limit.
"""

import re
from typing import Final

from ..errors import ModelFailed
from ..lang import LANGUAGES
from ..ports.stories import SCENE_BYTES
from ..text.sentences import is_inner_stop

_NAMES: Final = sorted(
    {name for each in LANGUAGES.values() for name in each.storytelling.prompting.reader_names}
)
_READER: Final = re.compile(rf"[*_#>\[( -]{{0,8}}(?:{'|'.join(_NAMES)})[*_\]) ]{{0,4}}:", re.IGNORECASE)
_END: Final = re.compile(r"[.!?…]([\"'”’»)\]*_]*+)(?=(\s++)(\S?))|(?=\n)")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_SURROGATES: Final = re.compile(r"[\ud800-\udfff]")
_WORDS: Final = re.compile(r"\w")


def clean_scene(text: str) -> str:
    """Return a reader's own scene without control characters and halves of characters; its white space stays.

    "" where no word is left.
    """
    text = _CONTROLS.sub("", text)
    return text if _WORDS.search(text) else ""


class SentenceCutter:
    """Takes the pieces of one scene, and returns its sentences.

    `limit`: UTF-8 bytes of the scene. `text`: the sentences so far, joined. `is_ended`: nothing more is taken, so that
    the teller can be stopped.
    """

    def __init__(self, limit: int = SCENE_BYTES) -> None:
        self.text = ""
        self.is_ended = False
        self._limit = limit
        self._size = 0
        self._rest = ""
        self._at = 0  # offset in `_rest` up to which no sentence ends
        self._half = ""  # the first half of a character in UTF-16

    def feed(self, piece: str) -> tuple[str, ...]:
        """Add `piece`, the next one of the stream; return the sentences that are whole now."""
        if self.is_ended:
            return ()
        self._rest += self._clean(piece)
        sentences: list[str] = []
        while not self.is_ended and (end := self._find_end()) is not None:
            self._accept(self._rest[:end], sentences)
            self._rest, self._at = self._rest[end:], 0
        if not self.is_ended and len(self._rest) > self._limit - self._size:
            self._cut_long(sentences)
        return tuple(sentences)

    def finish(self) -> str:
        """Return the last sentence, now that the stream is complete; "" where there is none.

        Raises `agent.errors.ModelFailed` for a scene without a word.
        """
        sentences: list[str] = []
        if not self.is_ended:
            self._accept(self._rest, sentences)
            self.is_ended = True
        if _WORDS.search(self.text) is None:
            raise ModelFailed("the model wrote nothing")
        return "".join(sentences)

    def _clean(self, piece: str) -> str:
        """Return `piece` without control characters; a character that two pieces share is joined."""
        if self._half or _SURROGATES.search(piece):
            piece = self._half + piece
            self._half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
            piece = piece.removesuffix(self._half)
            piece = piece.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
        return _CONTROLS.sub("", piece)

    def _find_end(self) -> int | None:
        """Return the end of the first whole sentence of `_rest`, without the white space behind it."""
        rest = self._rest
        begins = len(rest) - len(rest.lstrip())
        for match in _END.finditer(rest, max(self._at, begins)):
            closing, _, following = match.groups()
            if match.end() == begins:
                continue
            if closing and not following:
                self._at = match.start()
                return None  # `"Why?" she said.` goes on; the letter that tells is not here yet
            if closing and following.islower():
                continue
            if rest[match.start()] == "." and is_inner_stop(rest, match.start()):
                continue
            return match.end()
        self._at = max(
            self._at, begins, len(rest.rstrip()) - 8
        )  # a mark and what closes it may still be without space
        return None

    def _accept(self, sentence: str, sentences: list[str]) -> None:
        """Add `sentence` to `sentences` and `text`, with the white space before it, unless it ends the scene."""
        words = sentence.strip()
        if not words:
            return
        if _READER.match(words):
            self.is_ended = True
            return
        sentence = (self._gap(sentence) if self.text else "") + words
        size = len(sentence.encode())
        if self._size + size > self._limit:
            if not self.text:
                self._cut_long(sentences)
            self.is_ended = True
            return
        self.text += sentence
        self._size += size
        sentences.append(sentence)

    def _cut_long(self, sentences: list[str]) -> None:
        """End the scene; where its first sentence alone is over the limit, that is cut between two words."""
        self.is_ended = True
        if self.text:
            return
        words = self._rest.strip().encode()[: self._limit].decode(errors="ignore")
        last = max(words.rfind(" "), words.rfind("\n"))
        self.text = (words[:last] if last > 0 else words).rstrip()
        self._size = len(self.text.encode())
        sentences.append(self.text)

    def _gap(self, sentence: str) -> str:
        """Return the white space before `sentence`, made short."""
        lines = sentence[: len(sentence) - len(sentence.lstrip())].count("\n")
        return "\n\n" if lines > 1 else "\n" if lines else " "
