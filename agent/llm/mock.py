"""A model without a model: it words what the evidence says, and can be told how often to make a number up.

Everything it does follows from the seed, the question and the attempt, so the same seed gives the same drafts in
whatever order questions come. A draft states the best hit, and the best one of another passage where it is nearly as
good, in words of its own (`wording`); every number in it stands so in a snippet. For the share `hallucinate` of drafts
a number that does not is worked in (`inventions`). Drafts come in small pieces that cut through words and numbers.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from random import Random

import trio

from ..ports.model import Delta, Prompt
from ..ports.search import Hit
from .inventions import Ground, invent, phrases
from .wording import compose

_NEARLY_AS_GOOD = 0.7  # of the best hit's score
_PIECE = (1, 7)  # characters of a delta


class MockModel:
    """Answers from the evidence, in the question's language.

    seed: of every draw. hallucinate: 0..1, the share of drafts that hold an invented number. delay: seconds before
    each delta. elsewhere: texts of the knowledge base, from which some inventions take numbers that are true of
    something else.
    """

    def __init__(
        self, seed: int = 0, hallucinate: float = 0.0, delay: float = 0.0, elsewhere: Sequence[str] = ()
    ) -> None:
        self._seed = seed
        self._hallucinate = hallucinate
        self._delay = delay
        self._elsewhere = phrases(elsewhere)

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield a draft in pieces of a few characters; a number of several digits is always cut."""
        rng = Random(f"{self._seed}/{prompt.attempt}/{prompt.question}")
        made_up = rng.random() < self._hallucinate
        draft = compose(_choose(evidence, prompt), prompt.lang, rng)
        if made_up:
            texts = "\n".join(hit.snippet.text for hit in evidence)
            draft = invent(Ground(draft, texts, prompt.question, prompt.lang, self._elsewhere), rng)
        for piece in _pieces(draft, rng):
            await trio.sleep(self._delay)
            yield Delta(piece)


def _choose(evidence: Sequence[Hit], prompt: Prompt) -> list[Hit]:
    """Return the best hit in the prompt's language (else of all), and the best one of another passage if it is near."""
    if not evidence:
        return []
    own = [hit for hit in evidence if hit.passage.lang == prompt.lang] or list(evidence)
    best = own[0]
    second = next((hit for hit in own if hit.passage != best.passage), None)
    if second is None or second.score < _NEARLY_AS_GOOD * best.score:
        return [best]
    return [best, second]


def _pieces(draft: str, rng: Random) -> Iterator[str]:
    at = 0
    while at < len(draft):
        end = min(at + rng.randint(*_PIECE), len(draft))
        end = next((i for i in range(at + 1, end) if draft[i - 1].isdigit() and draft[i].isdigit()), end)
        yield draft[at:end]
        at = end
