"""Tells the mood of a sentence: whether its user states it in earnest, or asks, reports, supposes, imagines or jokes.

Only a statement or an order proposes a memory item. In doubt nothing is proposed: of questions (but of a statement
before one: "I like tea, which is best?"), of denials, of words told of others, supposed, not sure or in jest, and of
everything after a sentence that sets a scene or introduces a text to be worked on.
"""

from typing import Final

from ..lang import LANGUAGES, Lang
from ..text.words import split_words
from .clauses import WHEN, Clause, ClauseOpening, compile_pattern, join_words
from .mood_words import find_mood_words
from .orders import OrderReader

_NEAR: Final = 40  # characters after "he said" at the end of a sentence
_LEAST: Final = 2  # words that a text needs to be understood alone


class SentenceMoods:
    """Tells moods with the words of `lang`.

    `opening`: the words that may open a clause in it. `orders`: reads its orders, which may look like questions.

    Patterns to search with: `separator` between two clauses, `supposing` before words that are not meant as said,
    `saying` before words of somebody else.
    """

    def __init__(self, lang: Lang, opening: ClauseOpening, orders: OrderReader) -> None:
        say = LANGUAGES[lang].remembering
        words = find_mood_words(frozenset((lang,)))
        self._opening = opening
        self._orders = orders
        self._question_openers = words.question_openers
        question = join_words(words.question_openers | words.mood.modals)
        self.separator = compile_pattern(rf"(?:\s*[,;–-])?\s+(?:{say.joining})\s+(?=\w)|;\s+")
        self.supposing = compile_pattern(rf"\b(?:{say.supposing})\b")
        self.saying = compile_pattern(rf"\b(?:{say.saying})\b")
        self._asked = compile_pattern(rf"(?:\s*[,;–]|\s-)\s+(?:(?:{say.joining})\s+)?(?=(?:{question})\b)")
        self._dated = compile_pattern(rf"\b(?:{join_words(frozenset(LANGUAGES[lang].dating.days))})\s+\Z")
        self._leading = compile_pattern(r":(?:\s|\Z)")
        self._reporting = compile_pattern(rf"[,–-]\s*(?:\w+\s+){{0,2}}(?:{say.saying})\b[^,]{{0,{_NEAR}}}\Z")
        self._imagining = compile_pattern(
            rf"{opening.plain}(?:(?:{say.requesting})\s+)?(?:{say.imagining})\b"
        )
        self._joking = compile_pattern(rf"\b(?:{say.joking})\b")
        self._telling = compile_pattern(
            rf"{opening.plain}(?P<requested>(?:{say.requesting})\s+)?(?:{say.telling})\W*"
        )

    def sets_scene(self, sentence: str) -> bool:
        """Tell whether `sentence` begins a scene ("imagine that ..."), after which nothing is meant as said."""
        imagined = self._imagining.match(sentence) is not None
        return imagined and self._orders.find_standing_order(sentence) is None

    def is_question(self, sentence: str) -> bool:
        """Tell whether `sentence` is a question, with its mark or without."""
        telling = self._telling.match(sentence)
        if telling is not None and telling["requested"]:
            return False
        end = self._opening.find_end(sentence)
        first = split_words(sentence[end:][:WHEN])[:1]
        begins = bool(first) and first[0] in self._question_openers and telling is None
        begins = begins and not self._dated.search(sentence, 0, end)  # "Igår gick den sönder" states it
        return (begins and not self._orders.is_conditional(sentence)) or "?" in sentence

    def find_statement_end(self, sentence: str) -> int:
        """Return where the statement before a question ends; 0 where `sentence` is a question throughout."""
        follows = self._asked.search(sentence)
        end = follows.start() if follows is not None and sentence.endswith("?") else 0
        return end if end and not self.is_question(sentence[:end]) else 0

    def find_memory_order(self, clause: str) -> int | None:
        """Return where the words after "remember that" begin in `clause`; None where it has no such opening."""
        telling = self._telling.match(clause)
        return None if telling is None else telling.end()

    def leads_in(self, sentence: str) -> bool:
        """Tell whether `sentence` leads in a text, of which the next sentences may be a part."""
        return self._leading.search(sentence) is not None and self._telling.match(sentence) is None

    def is_report(self, sentence: str) -> bool:
        """Tell whether `sentence` ends with the name of its speaker (", she said"), or is not meant in earnest."""
        return self._reporting.search(sentence) is not None or self._joking.search(sentence) is not None

    def cut_doubt(self, clause: Clause) -> Clause:
        """Return the part of `clause` before a doubt that is a clause of its own ("..., but I am not sure if").

        Nothing is left where the doubt is in the first clause, or may be about that ("..., but I am not sure").
        """
        doubt = self.supposing.search(clause.text)
        if doubt is None:
            return clause
        ends = [each.start() for each in self.separator.finditer(clause.text) if each.end() <= doubt.start()]
        about_more = len(split_words(clause.text[doubt.end() :])) >= _LEAST
        return clause.until(ends[-1] if ends and about_more else 0)
