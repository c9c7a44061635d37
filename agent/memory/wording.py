"""What one clause of a user's message proposes, by the words of one language (`agent.lang.remembering`).

Strategy: each kind of proposal has one pattern for how its clause begins, and a few conditions on what follows. A
subject is what stands before the verb, else all of what is said; what of it counts is left to the key. What a clause
denies, supposes or has from others proposes nothing, except where the user asks to remember it, or orders it.
"""

import re
from dataclasses import replace
from functools import cache
from typing import Final

from ..lang import LANGUAGES, Lang
from ..ports.memory import ItemType
from ..text.words import FUNCTION_WORDS, words
from .clauses import WHEN, Clause, Opening, Said, any_of, pattern, soonest
from .facts import Facts
from .items import key_of, unnumbered
from .orders import Orders

_SUBJECT: Final = 60  # characters of a loop in which its verb stands
_NEAR: Final = 40  # characters in which a day is named
_ENDS: Final = r"[;!]|,(?!\s*\d{4}\b)"  # of what may name a day, but for the comma before its year
_LEAST: Final = 2  # words of what can be understood alone


class Wording:
    """The rules with the words of one language."""

    def __init__(self, lang: Lang) -> None:
        language = LANGUAGES[lang]
        say = self._say = language.remembering
        mood = language.acting.mood
        self._lang = lang
        self._function = language.writing.function_words
        self._articles = mood.articles
        self._questions = mood.asking | mood.inverting
        opening = self._opening = Opening(say)
        opened, timed, stated = opening.plain, opening.timed, opening.stated
        self._facts = Facts(say, opening)
        self._orders = Orders(say, opening)
        told_by = (
            say.telling,
            say.kept,
            say.henceforth,
            say.whenever,
            say.lasting_order,
            say.defining,
            say.standing,
            say.deadline,
        )
        first_person = (say.preferring, say.liking, say.deciding, say.intending, say.obliging, say.done_with)
        others = (say.living, say.being, say.measuring, say.favourite, say.obliged, say.done, say.no)
        self._worth = pattern(rf"\b(?:{'|'.join((*told_by, *first_person, *others))}|{any_of(say.mine)})")
        self.separator = pattern(rf"(?:\s*[,;–-])?\s+(?:{say.joining})\s+(?=\w)|;\s+")
        self.supposing = pattern(rf"\b(?:{say.supposing})\b")
        self.saying = pattern(rf"\b(?:{say.saying})\b")
        self._asked = pattern(
            rf"(?:\s*[,;–]|\s-)\s+(?:(?:{say.joining})\s+)?(?=(?:{any_of(self._questions | mood.modals)})\b)"
        )
        self._leading = pattern(r":(?:\s|\Z)")
        self._reporting = pattern(rf"[,–-]\s*(?:\w+\s+){{0,2}}(?:{say.saying})\b[^,]{{0,{_NEAR}}}\Z")
        self._imagining = pattern(rf"{opened}(?:(?:{say.requesting})\s+)?(?:{say.imagining})\b")
        self._joking = pattern(rf"\b(?:{say.joking})\b")
        self._deadline = pattern(
            rf"{opened}(?P<said>(?:{say.deadline})\s+(?P<rest>[^,;:]+?)\s+(?:{say.equals})\s+(?P<day>.+))"
        )
        self._telling = pattern(rf"{opened}(?P<requested>(?:{say.requesting})\s+)?(?:{say.telling})\W*")
        self._recalling = pattern(rf"(?:{say.recalling})\b")
        self._preferring = pattern(rf"{opened}(?P<said>(?:{say.preferring})\b\s*(?P<rest>.*))")
        self._liking = pattern(rf"{opened}(?P<said>(?:{say.liking})\s+(?P<rest>.*))")
        self._habits = pattern(rf"(?:{say.habits})\b")
        self._kept = pattern(rf"(?:\s*[,;–-])\s*(?:(?:{say.joining})\s+)?(?:{say.kept})\W*\Z")
        self._rather = pattern(rf"(?<=\w)\s+(?:{say.rather})\s")
        self._deciding = pattern(rf"{timed}(?P<said>(?:{say.deciding})\b\s*(?P<rest>.*))")
        self._linking = pattern(rf"(?:(?:{say.no})\s+)?(?:(?:{say.linking})\s+)+")
        self._topic = pattern(rf"\s(?:{say.topic})\s+(?P<topic>.+)")
        self._intending = pattern(rf"{timed}(?P<said>(?:{say.intending})\b\s*(?P<rest>.*))")
        self._obliging = pattern(rf"{timed}(?P<said>(?:{say.obliging})\s+(?P<rest>.*))")
        self._obliged = pattern(rf"{stated}(?:{say.obliged})\s*(?P<rest>.*))")
        self._waits = pattern(rf"\b(?:{say.lasting})\b")
        self._until = pattern(rf"\s(?:{say.until})\s+")
        self._done = pattern(rf"{stated}(?:{say.done})\W*\Z)")
        self._all_done = pattern(rf"{opened}(?:{say.all_done})(?:[\s,!.]+(?:{say.openers}))*\W*\Z")
        self._done_with = pattern(rf"{opened}(?P<said>(?:{say.done_with})\s+(?P<rest>.*))")
        self._equals = pattern(rf"\s+(?:{say.equals})\s")
        self._no = pattern(rf"\b(?:{say.no})\b")

    def worth_reading(self, sentence: str) -> bool:
        """Tell whether a sentence has a word at all without which nothing is proposed."""
        return self._worth.search(sentence) is not None

    def sets_a_scene(self, sentence: str) -> bool:
        """Tell whether nothing is meant as said from a sentence on."""
        return self._imagining.match(sentence) is not None and self._orders.ordered(sentence) is None

    def asks(self, sentence: str) -> bool:
        """Tell whether a sentence is a question, with its mark or without."""
        told = self._telling.match(sentence)
        if told is not None and told["requested"]:
            return False
        first = words(sentence[self._opening.end(sentence) :][:WHEN])[:1]
        begins = bool(first) and first[0] in self._questions and told is None
        return (begins and not self._orders.conditional(sentence)) or "?" in sentence

    def stated(self, sentence: str) -> int:
        """Return where what a sentence states ends and a question follows; 0 of one that is a question throughout."""
        follows = self._asked.search(sentence)
        end = follows.start() if follows is not None and sentence.endswith("?") else 0
        return 0 if self.asks(sentence[:end]) else end

    def leads_in(self, sentence: str) -> bool:
        """Tell whether a sentence leads in something, of which the next sentences may be a part."""
        return self._leading.search(sentence) is not None and not self.tells(sentence)

    def reports(self, sentence: str) -> bool:
        """Tell whether a sentence ends with whose words it was, or is not meant in earnest."""
        return self._reporting.search(sentence) is not None or self._joking.search(sentence) is not None

    def all_done(self, sentence: str) -> bool:
        """Tell whether a sentence says that something is done, and not what."""
        return self._all_done.match(sentence) is not None

    def told(self, clause: Clause) -> Said | None:
        """Return what a clause asks to remember: what it would propose by itself, else a fact.

        What is said of others than the user is asked like everything else.
        """
        asked = self._telling.match(clause.text)
        if asked is None:
            return None
        rest = clause.after(asked.end())
        if self._recalling.match(rest.text) or len(words(rest.text)) < _LEAST:
            return None
        said = self.said(rest, sure=True) or Said("fact", self._subject(rest.text), rest.written)
        sure = not self._theirs(rest.text) and "?" not in clause.text
        return replace(said, told=sure) if self._names(said.about) else None

    def kept(self, sentence: Clause) -> Said | None:
        """Return what a sentence says whose end asks to remember it ("..., remember that")."""
        asked = self._kept.search(sentence.text)
        if asked is None:
            return None
        of = sentence.until(asked.start())
        of = of.after(self._opening.end(of.text))
        said = self.said(of, sure=True) or Said("fact", self._subject(of.text), of.written)
        if not self._names(said.about) or len(words(of.text)) < _LEAST:
            return None
        return replace(said, told=not self._theirs(of.text))

    def tells(self, clause: str) -> bool:
        """Tell whether a clause asks to remember something."""
        return self._telling.match(clause) is not None

    def said(self, clause: Clause, sure: bool, first: bool = True) -> Said | None:
        """Return what a clause proposes by itself.

        sure: nothing before it says that it is not meant. first: it begins its sentence, as an order does.
        """
        said = self._orders.said(clause) if first else None
        clause = self._sure(clause)
        if said is None and sure and not self.saying.search(clause.text):
            kinds = (
                self._preference,
                self._decision,
                self._finished,
                self._loop,
                self._duty,
                self._facts.said,
            )
            said = next((found for kind in kinds if (found := kind(clause)) is not None), None)
        return said if said is not None and self._names(said.about) else None

    def _sure(self, clause: Clause) -> Clause:
        """Return what of a clause is said before a doubt that is a clause of its own ("..., but I am not sure if").

        Nothing, where the doubt is in its first one, or may be about that ("..., but I am not sure").
        """
        doubt = self.supposing.search(clause.text)
        if doubt is None:
            return clause
        ends = [each.start() for each in self.separator.finditer(clause.text) if each.end() <= doubt.start()]
        about_more = len(words(clause.text[doubt.end() :])) >= _LEAST
        return clause.until(ends[-1] if ends and about_more else 0)

    def _preference(self, clause: Clause) -> Said | None:
        match = self._liking.match(clause.text)
        if match is not None:
            liked = re.split(r"[,;.!:–]", match["rest"])[0]
            first = words(liked)[:1]
            if not first or not first[0][0].isalpha():
                return None
            if first[0] in FUNCTION_WORDS and not self._habits.match(liked):
                return None
            return self._lasting("preference", liked, unnumbered(liked), self._opening.own(clause, match))
        match = self._preferring.match(clause.text)
        if match is None or (self._no.match(match["rest"]) and not self._linking.match(match["rest"])):
            return None
        about = self._preferred(match["rest"])
        return self._lasting("preference", match["rest"], about, self._opening.own(clause, match))

    def _preferred(self, rest: str) -> str:
        """Return what a preference is about: the kind of thing, not which of it ("window seats" are seats).

        Of two things it is both; of something to do, that.
        """
        linked = self._linking.match(rest)
        rest = unnumbered(rest[linked.end() :] if linked else rest)
        rather = self._rather.search(rest)
        if rather is not None:
            return rest
        said = words(rest)
        content = [word for word in said if word not in self._function]
        if not content:
            return ""
        begins = said.index(content[0])
        of = next((at for at in range(begins, len(said)) if said[at] in self._function), len(said))
        kind = said[begins] if linked else said[of - 1]
        return " ".join([kind, *(word for word in said[of:] if word not in self._function)])

    def _decision(self, clause: Clause) -> Said | None:
        match = self._deciding.match(clause.text)
        if match is None or self._no.search(match["when"]):
            return None
        rest = match["rest"]
        linked = self._linking.match(rest)
        rest = rest[linked.end() :] if linked else rest
        topic = self._topic.search(rest)
        about = topic["topic"] if topic and self._names(topic["topic"]) else self._subject(rest)
        return self._lasting("decision", rest, about, self._opening.own(clause, match))

    def _lasting(self, type: ItemType, of: str, about: str, text: str) -> Said | None:
        """Return a choice, unless it is one of what was said or made in the conversation ("the second version")."""
        return Said(type, about, text) if self._say.choices.isdisjoint(words(of[:_NEAR])) else None

    def _finished(self, clause: Clause) -> Said | None:
        match = self._done_with.match(clause.text)
        if match is not None:
            about = "" if self._linking.match(match["rest"]) else re.split(r"[,;]", match["rest"])[0]
        else:
            match = self._done.match(clause.text)
            if match is None or self._theirs(match["subject"]):
                return None
            about = match["subject"]
        if self._no.search(clause.text):
            return None
        return Said("open_loop", about, self._opening.own(clause, match), finishes=True)

    def _loop(self, clause: Clause) -> Said | None:
        match = self._intending.match(clause.text)
        if match is None or self._no.search(match["when"]):
            return None
        rest = match["rest"]
        first = words(rest[:_SUBJECT])[:1]
        if not first or first[0] in self._say.seeking | self._articles:
            return None
        for until in self._until.finditer(rest):
            due = soonest(re.split(_ENDS, rest[until.end() : until.end() + _NEAR])[0], clause.today)
            if due is not None and not self._no.search(rest, 0, until.start()):
                return Said(
                    "open_loop", unnumbered(rest[: until.start()]), self._opening.own(clause, match), due
                )
        return None

    def _names(self, about: str) -> bool:
        return bool(key_of(about, self._lang))

    def _subject(self, text: str) -> str:
        """Return what a sentence is about: of what something is, that; else all that is said ("Ana has dogs")."""
        verb = self._equals.search(text)
        return text[: verb.start()] if verb and self._names(text[: verb.start()]) else unnumbered(text)

    def _duty(self, clause: Clause) -> Said | None:
        """What has to be done on a day to come: by the user, by nobody named, or the last day for a thing."""
        if self._no.search(clause.text):
            return None
        duty, passive = self._obliging.match(clause.text), self._obliged.match(clause.text)
        last = self._deadline.match(clause.text)
        if duty is not None:
            first = words(duty["rest"][:_SUBJECT])[:1]
            if (
                not first
                or first[0] in self._say.seeking | self._articles
                or self._waits.search(duty["rest"])
            ):
                return None
            match, day, about = duty, duty["rest"], duty["rest"]
        elif last is not None:
            match, day, about = last, last["day"], last["rest"]
        elif passive is not None and not self._theirs(passive["subject"]):
            until = self._until.search(" " + passive["rest"])
            if until is None:
                return None
            match, day, about = passive, passive["rest"][until.end() - 1 :], passive["subject"]
        else:
            return None
        due = soonest(re.split(_ENDS, day)[0], clause.today)
        return (
            None
            if due is None
            else Said("open_loop", unnumbered(about), self._opening.own(clause, match), due)
        )

    def _theirs(self, subject: str) -> bool:
        return not self._say.yours.isdisjoint(words(subject)[:1])


@cache
def wording(lang: Lang) -> Wording:
    """Return the rules of a language."""
    return Wording(lang)
