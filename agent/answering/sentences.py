"""Sentence mode: sends each sentence of a draft as soon as it is verified, while the model still writes the next.

The number rule must hold for the joined text, and a sent text is never taken back. So a piece is sent only when three
conditions hold: more text cannot change the end of the piece, the piece alone is supported, and the end of the sent
text, the piece, and a refusal after the piece are together supported by the snippets cited so far. In doubt a piece is
held back until more text is here, at most until the draft is complete; then the sent text and the rest are verified
together once more.

A draft that fails after a part of it was sent is continued by another one (`continue_draft`): the sent text stands, and
the rule holds for it joined with the pieces of the new draft.

These are held back:

- a sentence end that digits, a small letter or an abbreviation's point may continue;
- open markup;
- a row of a table, up to the end of its line;
- a number that reads otherwise in the other language (`1,234`), up to the end of its line;
- everything from the first numbered list marker or mention of a step on, because only a complete list shows which
  markers are layout.

A few rules find the ends of sentences. An end that they miss costs time; a false end costs nothing, since pieces are
joined again.
"""

import re
from collections.abc import Sequence

from ..grounding import refusals
from ..grounding.binding import Binding
from ..grounding.verify import Verdict, check_numbers, verify
from ..numbers.language_tables import pattern
from ..numbers.layout import STEPS, remove_source_marks
from ..numbers.number_tokens import TOO_MANY
from ..ports.brain import Confidence, VerifiedText
from ..ports.search import Hit, Lang, Snippet
from ..ports.tracing import trace_step
from ..text.sentences import is_inner_stop
from .prompts import asks_back, strip_ask_mark

LEAST = 20
"""Least characters of a piece: a shorter sentence is sent together with the next one."""
LOOK_BACK = 400
"""Characters of the sent text that are verified again together with a piece."""
LINE = 4000
"""Characters of a line up to which a number that depends on the line's language is sent at its end."""

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
_MARK = re.compile(r"[ \t]?\[\d{1,3}(?:,[ ]?\d{1,3})*\]\Z")  # of a source, behind the end of a sentence
_LONE = re.compile(r"\d{1,3}[.,]\d{3}(?!\d)")


class SentenceStream:
    """One draft in sentence mode.

    `hits`: the evidence, best first. `lang`: the language of a refusal that may follow. `binding`: as in
    `agent.grounding.verify.verify`. After a `feed` or `finish` that found an unsupported sentence, `failed_verdict` is
    its verdict and no more text is returned. `sent_text`: all text so far.
    """

    def __init__(
        self,
        hits: Sequence[Hit],
        lang: Lang,
        binding: Binding = "off",
    ) -> None:
        self.sent_text = ""
        self.failed_verdict: Verdict | None = None
        self._hits = list(hits)
        self._snippets = tuple(dict.fromkeys(hit.snippet for hit in hits))
        self._binding: Binding = binding
        self._refusals = (refusals.number_mismatch(lang, (), ()).text, refusals.model_failed(lang).text)
        self._cited: list[Snippet] = []
        self._pieces: list[int] = [0]  # offsets in `sent_text` where the pieces begin
        self._number_count = 0
        self._unsent = ""
        self._at = 0  # offset up to which `_unsent` was searched
        self._least = LEAST
        self._awaits_end = False  # nothing more is sent until the draft is complete
        self._asks_back = False
        self._sent_before = ""  # by earlier drafts, with single spaces

    def continue_draft(self) -> None:
        """Drop the rest of the draft, which failed; the next `feed` begins a draft that continues the sent text.

        A model may begin anew: pieces that the earlier draft has sent are left out.
        """
        self.failed_verdict = None
        self._unsent = ""
        self._at = 0
        self._least = LEAST
        self._awaits_end = False
        self._sent_before = " ".join(self.sent_text.split())

    def feed(self, delta: str) -> list[VerifiedText]:
        """Add the next part of the draft; return the pieces that can be sent now, in order."""
        self._unsent += delta
        pieces: list[VerifiedText] = []
        while not self._awaits_end and self.failed_verdict is None:
            end = self._find_next_end()
            if end is None:
                break
            if self._is_repeated(self._unsent[:end]):
                self._unsent, self._at = self._unsent[end:], 0
                continue
            asks = not self.sent_text and asks_back(self._unsent)
            with trace_step("verify"):
                text = self._verify_piece(strip_ask_mark(self._unsent[:end]) if asks else self._unsent[:end])
            if text is not None:
                self._asks_back = self._asks_back or asks
                self._unsent = self._unsent[end:]
                self._at = 0
                pieces.append(text)
        return pieces

    def finish(self) -> VerifiedText | None:
        """Return the last piece, now that the draft is complete; `None` when it is not supported."""
        if self.failed_verdict is not None:
            return None
        if self._is_repeated(self._unsent):
            self._unsent = ""
        asks = not self.sent_text and asks_back(self._unsent)
        confidence: Confidence | None = "low" if self._asks_back or asks else None
        whole = verify(
            self.sent_text + (strip_ask_mark(self._unsent) if asks else self._unsent),
            self._hits,
            confidence=confidence,
            binding=self._binding,
        )
        if whole.text is None or not whole.said.startswith(self.sent_text):
            self.failed_verdict = whole
            return None
        if not self.sent_text:
            self.sent_text = whole.said
            return whole.text
        rest = whole.said[len(self.sent_text) :]
        if not rest:
            return whole.text.as_end()
        last = verify(rest, self._hits, confidence=whole.text.confidence, binding=self._binding)
        joined = check_numbers(self.sent_text + last.said, self._cite_with(last), fill=0)
        if last.text is None or joined.refused:
            self.failed_verdict = last if last.refused else joined
            return None
        self.sent_text += last.said
        return last.text

    def _is_repeated(self, piece: str) -> bool:
        """Tell whether an earlier draft has sent `piece`; after one, white space alone is repeated too."""
        return bool(self._sent_before) and " ".join(piece.split()) in self._sent_before

    def _find_next_end(self) -> int | None:
        """Return the end of the next piece that may be sent, `None` when no end is in sight."""
        rest = self._unsent
        while True:
            space = _SPACE.search(rest, self._at)
            if space is None:
                self._at = max(self._at, len(rest) - 1)
                return None
            opening = _OPENING.match(rest, space.end())
            first = opening.end() if opening is not None else space.end()
            word = rest[first : first + _STEP_MAX].lower()
            if _may_grow(rest, first, word):
                self._at = space.start()
                return None  # the text that decides is not here yet
            self._at = space.end()
            if (
                space.start()
                and rest[first].isupper()
                and rest[first].isalpha()
                and not rest[first].isnumeric()
                and not word.startswith(_STEPS)
                and space.end() >= self._least
                and self._may_end(space.start(), space.end())
            ):
                return space.end()

    def _may_end(self, end: int, start: int) -> bool:
        """Tell whether a piece may end before the white space from `end` to `start`."""
        rest = self._unsent
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
        body = rest[max(0, end - 40) : end]
        while (mark := _MARK.search(body)) is not None:
            body = body[: mark.start()]
        body = body.rstrip(_CLOSING)
        return body.endswith(("!", "?", "…")) or (
            body.endswith(".")
            and not _ABBREVIATION.search(body[:-1])
            and not is_inner_stop(body, len(body) - 1)
        )

    def _verify_piece(self, piece: str) -> VerifiedText | None:
        """Return the verified piece; `None` when it is held back or not supported."""
        if len(piece.strip()) < self._least:
            return None
        if _LIST.search(piece):
            self._awaits_end = True
            return None
        verdict = verify(piece, self._hits, binding=self._binding)
        if verdict.said != piece:
            texts = (text for each in self._snippets for text in (each.text, each.plain_text))
            piece = remove_source_marks(piece, len(self._snippets), texts)
        lone = [check.start for check in verdict.checks if _LONE.search(check.text)]
        if (lone and lone[-1] > piece.rfind("\n")) or verdict.said != piece:
            self._hold_back(piece)
            return None
        before = self._look_back(bool(lone))
        if before is None:
            self._awaits_end = True
            return None
        joined = check_numbers(before + piece, self._cite_with(verdict), fill=0)
        if verdict.text is None or joined.refused:
            widest = verify(before + piece, self._hits, binding=self._binding)
            if verdict.refused and widest.refused:
                self.failed_verdict = verdict
                return None
            if widest.refused:
                self.failed_verdict = widest
                return None
            self._hold_back(piece)
            return None
        gap = "" if piece[-1:].isspace() else " "
        for refusal in self._refusals:
            if check_numbers(before + piece + gap + refusal, self._cite_with(verdict), fill=0).refused:
                self._hold_back(piece)
                return None
        self._number_count += len(verdict.checks)
        if self._number_count > TOO_MANY:
            self.failed_verdict = verdict
            return None
        self._accept_piece(verdict)
        return verdict.text

    def _hold_back(self, piece: str) -> None:
        """Wait until the piece has grown by half, so that repeated checks stay linear in the draft."""
        self._least = len(piece) * 3 // 2

    def _accept_piece(self, verdict: Verdict) -> None:
        """Add a verified piece to the sent text; the snippets that it cites are preferred from now on."""
        self.sent_text += verdict.said
        self._pieces.append(len(self.sent_text))
        self._least = LEAST
        self._cited = self._cite_with(verdict)
        cited = [hit for hit in self._hits if hit.snippet in self._cited]
        self._hits = cited + [hit for hit in self._hits if hit.snippet not in self._cited]

    def _cite_with(self, verdict: Verdict) -> list[Snippet]:
        """Return the snippets that the response cites when the piece of `verdict` is sent too."""
        return self._cited + [each for each in verdict.citations if each not in self._cited]

    def _look_back(self, whole_line: bool) -> str | None:
        """Return the end of the sent text, from the beginning of a piece.

        `whole_line`: return the open line instead, `None` when it is longer than `LINE`.
        """
        if whole_line:
            line = self.sent_text.rfind("\n") + 1
            return self.sent_text[line:] if len(self.sent_text) - line <= LINE else None
        while len(self._pieces) > 1 and len(self.sent_text) - self._pieces[1] >= LOOK_BACK:
            del self._pieces[0]
        return self.sent_text[self._pieces[0] :]


def _may_grow(rest: str, first: int, word: str) -> bool:
    """Tell whether the text at `first` may still become a bullet or a step, so that more text is needed."""
    return _BULLET_BEGUN.match(rest, first) is not None or any(
        len(word) < len(step) and step.startswith(word) for step in _STEPS
    )
