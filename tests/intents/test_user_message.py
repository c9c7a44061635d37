"""The reading of a user's words is made once for all that get the question, and is never that of other words."""

from dataclasses import replace
from datetime import date

import pytest

from agent.intents import user_message
from agent.intents.item_proposals import ends_unnamed_loop, propose_items
from agent.intents.triggers import propose_actions, remove_requests
from agent.intents.user_message import UserMessage
from agent.lang import Lang
from agent.memory.message_items import find_notice, is_only_orders, is_only_statements, read_items
from agent.ports.brain import Question
from agent.ports.conversation import Exchange, Scope
from agent.text.courtesy import find_courtesy, strip_courtesies
from agent.text.language import detect_language

TEXTS = (
    "Hello, what does Standard cost? Thanks!",
    "Hej!",
    "Call me on 070-123 45 67 about the invoice",
    "Remember that my dog is called Rex. It is done.",
    "Kom ihåg att jag alltid reser med tåg.",
)
DAY = date(2026, 5, 8)
NOW = 1_778_200_000_000


def ask(text: str) -> Question:
    return Question(id="m1", text=text, lang=None, at=0.0)


@pytest.mark.parametrize("text", TEXTS)
def test_every_reading_is_that_of_the_words(text: str) -> None:
    """The record only keeps what the rules read."""
    message = UserMessage.of(ask(text))
    for _ in range(2):
        assert message.courtesy == find_courtesy(text)
        assert message.without_courtesies == strip_courtesies(text)
        assert message.lang == detect_language(text)
        assert message.actions == propose_actions(text)
        assert message.search_text == remove_requests(strip_courtesies(text))
        for lang in ("en", "sv"):
            assert message.propose_items(lang, "m1", DAY) == propose_items(text, lang, "m1", DAY)
            assert message.ends_unnamed_loop(lang) == ends_unnamed_loop(text, lang)


def test_the_record_travels_with_the_question_and_not_to_other_words() -> None:
    """Whatever is added to the question; with another text it is another record, and equal questions stay equal."""
    question = ask("What is due on Friday?")
    message = UserMessage.of(question)
    later = question.with_history((Exchange("Hi", "Hello"),)).in_scope(Scope(user="anna"))
    assert UserMessage.of(replace(later, lang="en")) is message
    other = UserMessage.of(replace(question, text="My dog is called Rex."))
    assert (other.text, message.text) == ("My dog is called Rex.", "What is due on Friday?")
    assert UserMessage.of(ask(question.text)) is not message
    assert ask(question.text) == question


def test_items_are_kept_by_language_message_and_day() -> None:
    """A day that the words only name by its weekday, and the source of an item, are those that were asked for."""
    message = UserMessage("I must send the report by Friday.")
    for today in (DAY, date(2026, 5, 20)):
        for id in ("m1", "m2"):
            (item,) = message.propose_items("en", id, today)
            assert item.candidate.sources[0].ref == id
            assert message.propose_items("en", id, today) == propose_items(message.text, "en", id, today)
    assert len({str(message.propose_items("en", "m1", day)) for day in (DAY, date(2026, 5, 20))}) == 2


def test_a_turn_reads_the_items_of_a_message_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the answer, beside it, and when the exchange is stored."""
    reads: list[tuple[str, Lang]] = []

    def propose(text: str, lang: Lang, message: str, today: date) -> tuple[()]:
        reads.append((text, lang))
        return ()

    monkeypatch.setattr(user_message, "propose_items", propose)
    question = replace(ask("What does my dog cost?"), lang="en")
    assert not is_only_orders(question, "en", NOW)
    assert not is_only_statements(question, "en", NOW)
    assert find_notice(question, "en", NOW) is None
    assert read_items(question, NOW).drafts == ()
    assert reads == [(question.text, "en")]
    is_only_orders(question, "sv", NOW)
    assert reads[1:] == [(question.text, "sv")]
