"""What of a message is to be remembered, and when there is nothing else in it."""

import pytest

from agent.lang import Lang
from agent.memory.hearing import found_beside, hear, only_stated, only_told
from agent.ports.brain import Question
from agent.ports.conversation import Exchange
from agent.ports.decide import Result

NOW = 1_700_000_000_000


def ask(text: str, **more: object) -> Question:
    return Question("m1", text, None, 0.0, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said", "told"),
    [
        ("Remember that my budget is 50 000 kr.", "My budget is 50 000 kr", True),
        ("Kom ihåg att vårt tak är 70 000 kr.", "Vårt tak är 70 000 kr", True),
        ("I prefer tea to coffee.", "I prefer tea to coffee", False),
    ],
)
def test_what_is_to_be_remembered_is_made_sound(text: str, said: str, told: bool) -> None:
    """With the message as its source, and whether its user has ordered it."""
    heard = hear(ask(text), NOW)
    (noted,) = heard.noted
    assert (noted.draft.text, noted.told) == (said, told)
    assert [(each.kind, each.ref) for each in noted.draft.sources] == [("message", "m1")]
    assert noted.draft.key


def test_words_can_end_what_is_open() -> None:
    """By what it is about; nothing new is to be remembered then."""
    heard = hear(ask("The tax report is done."), NOW)
    assert heard.noted == ()
    assert len(heard.done) == 1


def test_what_cannot_be_kept_is_left_out() -> None:
    """Nobody was promised it."""
    assert hear(ask("What is my budget?"), NOW).noted == ()
    long = f"Remember that my budget is {'very ' * 120}large."
    assert hear(ask(long), NOW).noted == ()
    assert not only_told(ask(long), "en", NOW)


@pytest.mark.parametrize(
    ("text", "lang", "only"),
    [
        ("Remember that my budget is 50 000 kr.", "en", True),
        ("Hello! Please remember that my budget is 50 000 kr. Thanks!", "en", True),
        ("Kom ihåg att vårt tak är 70 000 kr, tack.", "sv", True),
        ("Remember that my budget is 50 000 kr. What does Premium cost?", "en", False),
        ("What does Premium cost? My budget is 50 000 kr.", "en", False),
        ("My budget is 50 000 kr.", "en", False),
        ("Do you remember that my budget is 50 000 kr?", "en", False),
        ("", "en", False),
    ],
)
def test_an_order_to_remember_is_nothing_to_search_for(text: str, lang: Lang, only: bool) -> None:
    """Unless something else is asked beside it."""
    assert only_told(ask(text), lang, NOW) is only
    assert not only_told(ask(text, results=(Result("c", "t", {}, True, ()),)), lang, NOW)


@pytest.mark.parametrize(
    ("text", "lang", "only"),
    [
        ("My budget is 50 000 kr.", "en", True),
        ("My name is Kim and I live in Malmö", "en", True),
        ("Hi! I prefer tea to coffee. Thanks!", "en", True),
        ("Jag bor i Malmö.", "sv", True),
        ("Remember that my budget is 50 000 kr.", "en", True),
        ("My budget is 50 000 kr. What does Premium cost?", "en", False),
        ("My order has not come.", "en", False),
        ("My name is Kim. My order has not come.", "en", False),
        ("The tax report is done.", "en", False),
        ("I need to return my sofa.", "en", False),
        ("", "en", False),
    ],
)
def test_who_tells_of_himself_asks_nothing(text: str, lang: Lang, only: bool) -> None:
    """Where all of it can be remembered; what ends something, or wants something done, is something else."""
    assert only_stated(ask(text), lang, NOW) is only
    assert not only_stated(ask(text, results=(Result("c", "t", {}, True, ()),)), lang, NOW)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("It is done.", True),
        ("ok, that's done now", True),
        ("Done! Thanks", True),
        ("I've done it.", True),
        ("Klart!", True),
        ("det är klart nu, tack", True),
        ("Jag har fixat det.", True),
        ("Is it done?", False),
        ("It is not done.", False),
        ("Det är klart att jag vill ha den.", False),
        ("I'm done.", False),
        ("Done with lunch.", False),
        ("The report is done.", False),
        ("> It is done.", False),
    ],
)
def test_what_is_done_may_have_been_named_before(text: str, ends: bool) -> None:
    """Then what the last exchanges speak of tells what it is."""
    said = tuple(Exchange(f"What about the {each}?", "Not yet.") for each in ("zoo", "roof", "tax", "bank"))
    before = hear(ask(text, history=said), NOW).before
    assert [{"zoo", "roof", "tax", "bank"} & each for each in before] == (
        [{"bank"}, {"tax"}, {"roof"}] if ends else []
    )
    assert hear(ask(text), NOW).before == ()


@pytest.mark.parametrize(
    ("text", "lang", "beside"),
    [
        ("I prefer tea to coffee. What is the fee?", "en", "suggested"),
        ("Remember that my budget is 50 000 kr. What is the fee?", "en", "noted"),
        ("Remember that my budget is 50 000 kr. I prefer tea to coffee. What is it?", "en", "suggested"),
        ("Kom ihåg att vårt tak är 70 000 kr. Vad kostar det?", "sv", "noted"),
        ("What is the fee?", "en", None),
        (f"I prefer tea to coffee. {'What is the fee? ' * 200}", "en", None),
    ],
)
def test_what_comes_of_a_message_beside_its_answer(text: str, lang: Lang, beside: str | None) -> None:
    """Somebody is asked whether something is remembered, or has told to; of a long message that is not looked for."""
    assert found_beside(ask(text), lang, NOW) == beside
    assert found_beside(ask(text, results=(Result("c", "t", {}, True, ()),)), lang, NOW) is None
