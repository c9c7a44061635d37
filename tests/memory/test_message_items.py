"""What of a message is to be remembered, and when there is nothing else in it."""

import pytest

from agent.lang import Lang
from agent.memory.message_items import find_notice, is_only_orders, is_only_statements, read_items
from agent.ports.brain import Question
from agent.ports.conversation import Exchange
from agent.ports.decide import CallResult

NOW = 1_700_000_000_000


def ask(text: str, **more: object) -> Question:
    return Question(id="m1", text=text, lang=None, at=0.0, **more)  # type: ignore[arg-type]


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
    heard = read_items(ask(text), NOW)
    (noted,) = heard.drafts
    assert (noted.draft.text, noted.is_ordered) == (said, told)
    assert [(each.kind, each.ref) for each in noted.draft.sources] == [("message", "m1")]
    assert noted.draft.key


def test_words_can_end_what_is_open() -> None:
    """By what it is about; nothing new is to be remembered then."""
    heard = read_items(ask("The tax report is done."), NOW)
    assert heard.drafts == ()
    assert len(heard.finished_keys) == 1


def test_what_cannot_be_kept_is_left_out() -> None:
    """Nobody was promised it."""
    assert read_items(ask("What is my budget?"), NOW).drafts == ()
    long = f"Remember that my budget is {'very ' * 120}large."
    assert read_items(ask(long), NOW).drafts == ()
    assert not is_only_orders(ask(long), "en", NOW)


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
    assert is_only_orders(ask(text), lang, NOW) is only
    assert not is_only_orders(
        ask(text, results=(CallResult(call_id="c", tool="t", arguments={}, ok=True, lines=()),)), lang, NOW
    )


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
    assert is_only_statements(ask(text), lang, NOW) is only
    assert not is_only_statements(
        ask(text, results=(CallResult(call_id="c", tool="t", arguments={}, ok=True, lines=()),)), lang, NOW
    )


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
    before = read_items(ask(text, history=said), NOW).recent_stems
    assert [{"zoo", "roof", "tax", "bank"} & each for each in before] == (
        [{"bank"}, {"tax"}, {"roof"}] if ends else []
    )
    assert read_items(ask(text), NOW).recent_stems == ()


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
    assert find_notice(ask(text), lang, NOW) == beside
    assert (
        find_notice(
            ask(text, results=(CallResult(call_id="c", tool="t", arguments={}, ok=True, lines=()),)),
            lang,
            NOW,
        )
        is None
    )
