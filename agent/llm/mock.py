"""Drafts without a model: quotes the evidence, and invents a number in a given share of drafts.

Every draft follows from the seed, the question and the attempt, so the same seed gives the same drafts in any order of
questions. A draft quotes the best statements (`wording`), so every number in it stands in a snippet; where one does
not, the redraft quotes the others. In the share `hallucinate` of drafts, `inventions` adds a number that does not. For
the form `claims`, each statement is one claim, and an invention is part of a claim or a claim of its own. Where the
prompt lets it ask back, the mock asks when the best snippet scores below a bound. Drafts come in small pieces that cut
through words and numbers.
"""

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from random import Random

import msgspec
import trio

from ..grounding.verify import verify
from ..lang import LANGUAGES
from ..ports.draft import Delta, Prompt
from ..ports.search import Hit
from .inventions import InventionSource, find_number_phrases, invent_number
from .wording import choose_quotes, compose_answer, statement_text

PIECES_AT_ONCE = 16
"""Deltas that come without a wait (when no delay is set) before other tasks have their turn: some 20 microseconds."""

_PIECE = 30  # characters of a delta, at most
_CUT = re.compile(r"\d(?=\d)")  # between two digits a delta ends sooner


class MockModel:
    """Answers from the evidence, in the question's language.

    `seed`: of every draw. `hallucinate`: 0..1, the share of drafts that hold an invented number. `delay`: seconds
    before each delta. `elsewhere`: gives texts of the knowledge base, from which some inventions take numbers that are
    true of something else; called when the first number is invented. `ask_below`: 0..1, the score of the best snippet
    below which the mock asks back, where the prompt allows it.
    """

    def __init__(
        self,
        seed: int = 0,
        hallucinate: float = 0.0,
        delay: float = 0.0,
        elsewhere: Callable[[], Iterable[str]] = tuple,
        ask_below: float = 0.0,
    ) -> None:
        self._seed = seed
        self._hallucinate = hallucinate
        self._delay = delay
        self._elsewhere = elsewhere
        self._phrases: tuple[str, ...] | None = None  # finding them in a large knowledge base takes a while
        self._ask_below = ask_below

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield a draft in pieces of a few characters; a number of several digits is always cut."""
        rng = Random(f"{self._seed}/{prompt.attempt}/{prompt.question}")
        is_invented = rng.random() < self._hallucinate
        if prompt.may_ask and max((hit.score for hit in evidence), default=0.0) < self._ask_below:
            draft = f"ASK: {LANGUAGES[prompt.lang].quoting.asking}"
        elif prompt.form == "claims":
            draft = self._draft_claims(prompt, evidence, is_invented, rng)
        else:
            draft = compose_answer(_choose_supported(prompt, evidence), prompt.lang, prompt.question)
            if is_invented:
                draft = self._add_invention(draft, prompt, evidence, rng)
        for number, piece in enumerate(_cut_pieces(draft, rng)):
            if self._delay or number % PIECES_AT_ONCE == 0:
                await trio.sleep(self._delay)
            yield Delta(piece)

    def _add_invention(self, draft: str, prompt: Prompt, evidence: Sequence[Hit], rng: Random) -> str:
        if self._phrases is None:
            self._phrases = find_number_phrases(self._elsewhere())
        texts = "\n".join(hit.snippet.text for hit in evidence)
        return invent_number(InventionSource(draft, texts, prompt.question, prompt.lang, self._phrases), rng)

    def _draft_claims(self, prompt: Prompt, evidence: Sequence[Hit], is_invented: bool, rng: Random) -> str:
        """Return claims as a JSON array; an invention names the evidence of the claim that it was made from."""
        claims: list[tuple[str, int]] = []
        for hit in _choose_supported(prompt, evidence):
            claims.append((statement_text(hit), evidence.index(hit) + 1))
        if is_invented:
            at = rng.randrange(len(claims)) if claims else 0
            text, number = claims[at] if claims else ("", 1)
            invented = self._add_invention(text, prompt, evidence, rng)
            if text and invented.startswith(text):
                claims.append((invented.removeprefix(text).strip(), number))
            else:
                claims[at : at + 1] = [(invented, number)]
        objects = [{"text": text, "evidence": [number]} for text, number in claims]
        return msgspec.json.encode(objects).decode()


def _choose_supported(prompt: Prompt, evidence: Sequence[Hit]) -> list[Hit]:
    """Return the statements to quote; for a redraft, those of them whose numbers stand in their own snippets, if any.

    One statement that is shown otherwise than it is read then costs that statement, and not the answer.
    """
    quotes = choose_quotes(evidence, prompt.question)
    if not prompt.attempt:
        return quotes
    return [hit for hit in quotes if verify(statement_text(hit), [hit]).is_supported] or quotes


def _cut_pieces(draft: str, rng: Random) -> Iterator[str]:
    at, size, drawn = 0, len(draft), rng.random
    while at < size:
        end = min(at + 1 + int(_PIECE * drawn()), size)
        cut = _CUT.search(draft, at, end)
        end = cut.end() if cut is not None else end
        yield draft[at:end]
        at = end
