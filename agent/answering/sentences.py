"""Sentence mode: says each sentence of a draft as soon as it stands, while the model still makes the next.

The promise is about the joined text, and nothing is ever taken back. So a piece is let go only when its end cannot
grow into something else, when it stands by itself, and when the end of what was said, the piece, and a refusal after
it stand together on the snippets cited so far. In doubt it is held back until more text is here, at most until the
draft is complete; then the whole of what was said and is left is verified once more.

Held back are: a sentence end that digits, a small letter or an abbreviation's point may carry on; open markup; a row
of a table up to the end of its line; a number that reads otherwise in the other language (`1,234`) up to the end of
its line; and from the first numbered list marker or mention of a step everything, because which markers are layout
shows only when the list is complete. Sentence ends are looked for with a few rules: one that is missed costs time,
one too many costs nothing, since pieces are joined again.
"""

import re
from collections.abc import Sequence

from ..grounding import refusals
from ..grounding.binding import Binding
from ..grounding.verify import Verdict, check, verify
from ..numbers.layout import STEPS
from ..numbers.read import TOO_MANY, Token
from ..numbers.spoken import pattern
from ..ports.brain import Confidence, VerifiedText
from ..ports.search import Hit, Lang, Snippet
from ..text.sentences import carries_on
from .prompts import asks, unmarked

LEAST = 20
"""Characters of a piece: shorter sentences go with the next one."""
LOOK_BACK = 400
"""Characters of what was said that are verified again together with a piece."""
LINE = 4000
"""Characters of a line up to which a number that depends on the line's language is let go at its end."""

_SPACE = re.compile(r"[ \t\r\n]+")
_OPENING = re.compile(r"(?:[-+>#|*]{1,6}[ \t]+)*[\"'“”«(\[*_|]*")
_BULLET_BEGUN = re.compile(r"[-+>#|*]{0,6}\Z")
_CLOSING = "\"'”’»)]*_"
_BULLET = re.compile(r"[-+>#|*]{1,6}[ \t]")
_ABBREVIATION = re.compile(r"(?:^|[^\w.])(?:[^\W\d_]|(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3})\Z")
_LIST = re.compile(rf"(?im)^[ \t>*+#_-]*\d{{1,3}}[.)]|\b(?:{pattern(STEPS)})[ \t]*\d")
_STEPS = tuple(sorted(f"{word} " for word in STEPS))
_STEP_MAX = max(map(len, _STEPS), default=1)
_OPEN = re.compile(r"<[a-zA-Z/!?][^<>]*\Z|\]\([^()\n]*\Z|\[[^\[\]\n]*\Z|&#?\w*\Z")
_REACH = 500  # characters over which markup can still close
_LONE = re.compile(r"\d{1,3}[.,]\d{3}(?!\d)")


class Sentences:
    """One draft in sentence mode.

    hits: the evidence, best first. lang: the language of a refusal that may follow. confidence: of the answer; None
    works it out. binding, counts: as in `agent.grounding.verify.verify`. After a `feed` or `finish` that found a
    sentence that does not stand, `failed` is its verdict and nothing more is said; `said` is everything that was.
    """

    def __init__(
        self,
        hits: Sequence[Hit],
        lang: Lang,
        confidence: Confidence | None = None,
        binding: Binding = "off",
        counts: bool = False,
    ) -> None:
        self.said = ""
        self.failed: Verdict | None = None
        self._hits = list(hits)
        self._confidence = confidence
        self._binding: Binding = binding
        self._counts = counts
        self._refusals = (refusals.number_mismatch(lang, (), ()).text, refusals.model_failed(lang).text)
        self._cited: list[Snippet] = []
        self._pieces: list[int] = [0]  # where each piece begins in `said`
        self._numbers = 0
        self._rest = ""
        self._at = 0  # how far `_rest` was looked through
        self._least = LEAST
        self._held = False  # until the draft is complete
        self._asked = False

    @property
    def refused(self) -> tuple[Token, ...]:
        """The numbers for which the draft failed."""
        return self.failed.refused if self.failed is not None else ()

    def feed(self, delta: str) -> list[VerifiedText]:
        """Take the next part of the draft; return the pieces that can be said now, in order."""
        self._rest += delta
        said: list[VerifiedText] = []
        while not self._held and self.failed is None:
            end = self._next_end()
            if end is None:
                break
            begins = not self.said and asks(self._rest)
            text = self._try(unmarked(self._rest[:end]) if begins else self._rest[:end])
            if text is not None:
                self._asked = self._asked or begins
                self._rest = self._rest[end:]
                self._at = 0
                said.append(text)
        return said

    def finish(self) -> VerifiedText | None:
        """Return the last piece, now that the draft is complete; None when it does not stand."""
        if self.failed is not None:
            return None
        begins = not self.said and asks(self._rest)
        sure: Confidence | None = "low" if self._asked or begins else self._confidence
        whole = verify(
            self.said + (unmarked(self._rest) if begins else self._rest),
            self._hits,
            confidence=sure,
            binding=self._binding,
            counts=self._counts,
        )
        if whole.text is None or not whole.said.startswith(self.said):
            self.failed = whole
            return None
        if not self.said:
            self.said = whole.said
            return whole.text
        rest = whole.said[len(self.said) :]
        last = verify(
            rest, self._hits, confidence=whole.text.confidence, binding=self._binding, counts=self._counts
        )
        joined = check(self.said + last.said, self._together(last), fill=0, counts=self._counts)
        if last.text is None or joined.refused:
            self.failed = last if last.refused else joined
            return None
        self.said += last.said
        return last.text

    def _next_end(self) -> int | None:
        """Return where the next piece that may be said ends, None when no end is in sight."""
        rest = self._rest
        while True:
            space = _SPACE.search(rest, self._at)
            if space is None:
                self._at = max(self._at, len(rest) - 1)
                return None
            opening = _OPENING.match(rest, space.end())
            first = opening.end() if opening is not None else space.end()
            word = rest[first : first + _STEP_MAX].lower()
            if _begins_more(rest, first, word):
                self._at = space.start()
                return None  # what follows is not here yet
            self._at = space.end()
            if (
                space.start()
                and rest[first].isupper()
                and rest[first].isalpha()
                and not rest[first].isnumeric()
                and not word.startswith(_STEPS)
                and space.end() >= self._least
                and self._ends(space.start(), space.end())
            ):
                return space.end()

    def _ends(self, end: int, start: int) -> bool:
        """Tell whether a piece may end before the white space from `end` to `start`."""
        rest = self._rest
        gap = rest[end:start]
        if _OPEN.search(rest, max(0, end - _REACH), end) or rest.count("<!--", 0, end) > rest.count(
            "-->", 0, end
        ):
            return False
        if "\n" in gap and (gap.count("\n") > 1 or _BULLET.match(rest, start)):
            return True
        line = rest.rfind("\n", 0, end) + 1
        if "\n" not in gap and rest[line:end].lstrip().startswith("|"):
            return False
        body = rest[max(0, end - 40) : end].rstrip(_CLOSING)
        return body.endswith(("!", "?", "…")) or (
            body.endswith(".") and not _ABBREVIATION.search(body[:-1]) and not carries_on(body, len(body) - 1)
        )

    def _try(self, piece: str) -> VerifiedText | None:
        """Return the piece as it may be said; None when it is held back or does not stand."""
        if len(piece.strip()) < self._least:
            return None
        if _LIST.search(piece):
            self._held = True
            return None
        own = verify(
            piece, self._hits, confidence=self._confidence, binding=self._binding, counts=self._counts
        )
        lone = [one.start for one in own.checks if _LONE.search(one.text)]
        if (lone and lone[-1] > piece.rfind("\n")) or own.said != piece:
            self._hold(piece)
            return None
        before = self._before(bool(lone))
        if before is None:
            self._held = True
            return None
        joined = check(before + piece, self._together(own), fill=0, counts=self._counts)
        if own.text is None or joined.refused:
            widest = verify(before + piece, self._hits, binding=self._binding, counts=self._counts)
            if own.refused and widest.refused:
                self.failed = own
                return None
            if widest.refused:
                self.failed = widest
                return None
            self._hold(piece)
            return None
        gap = "" if piece[-1:].isspace() else " "
        for refusal in self._refusals:
            if check(
                before + piece + gap + refusal, self._together(own), fill=0, counts=self._counts
            ).refused:
                self._hold(piece)
                return None
        self._numbers += len(own.checks)
        if self._numbers > TOO_MANY:
            self.failed = own
            return None
        self._take(own)
        return own.text

    def _hold(self, piece: str) -> None:
        """Wait until the piece has grown by half, so that looking again and again stays linear in the draft."""
        self._least = len(piece) * 3 // 2

    def _take(self, own: Verdict) -> None:
        """Note what is said; the snippets it cites are preferred from now on."""
        self.said += own.said
        self._pieces.append(len(self.said))
        self._least = LEAST
        self._cited = self._together(own)
        cited = [hit for hit in self._hits if hit.snippet in self._cited]
        self._hits = cited + [hit for hit in self._hits if hit.snippet not in self._cited]

    def _together(self, own: Verdict) -> list[Snippet]:
        """Return the snippets that the response cites when this is said too."""
        return self._cited + [each for each in own.citations if each not in self._cited]

    def _before(self, whole_line: bool) -> str | None:
        """Return the end of what was said, from where a piece began; or the open line, None when it is too long."""
        if whole_line:
            line = self.said.rfind("\n") + 1
            return self.said[line:] if len(self.said) - line <= LINE else None
        while len(self._pieces) > 1 and len(self.said) - self._pieces[1] >= LOOK_BACK:
            del self._pieces[0]
        return self.said[self._pieces[0] :]


def _begins_more(rest: str, first: int, word: str) -> bool:
    """Tell whether what begins at `first` may still become a bullet or a step: more of it must be here."""
    return _BULLET_BEGUN.match(rest, first) is not None or any(
        len(word) < len(step) and step.startswith(word) for step in _STEPS
    )
