"""What a user's words propose, held to sentences that were written before the rules were final, and what never does."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import ITEM_QUOTE, ITEM_TEXT, MAX_TEXT, PROPOSALS_PER_TURN
from agent.intents.item_proposals import ItemProposal, propose_items
from agent.intents.subjects import key_of
from agent.lang import LANGUAGES, Lang
from agent.memory.items import make_draft
from agent.ports.memory import Source
from tests.bench import proposals
from tests.memory.made import NOW

TODAY = date(2026, 5, 7)
SAID = Path(__file__).parent / "data" / "said.txt"
Row = tuple[str, str, list[tuple[str, str, str]]]

MISSED = {
    "Hi! Could be useful later: remember that my sister lives in Oslo.",  # what follows a colon may be another's
    "Kan vara bra att veta: kom ihåg att min syster bor i Oslo.",
    "Our fleet is 25 vans.",  # so does "my parcel is 3 days late" end
    "Vår vagnpark är 25 bilar.",
    "Fick en idé för nyhetsbrevet: ett recept i varje nummer.",  # so do questions begin
    "How about this suggestion: free shipping from 50 euros.",
    "Vi skrev under avtalet med Nordfrakt igår.",  # who wrote may tell what another wrote
}
"""What is not found, each for a reason."""


def rows() -> Iterator[Row]:
    """Each sentence, with what is wanted of it: kinds, days and subjects."""
    for line in SAID.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            lang, text, wanted = (part.strip() for part in line.split("|", 2))
            heads = [each.partition(":") for each in wanted.split(";") if each.strip()]
            yield lang, text, [(*part(head), about.strip()) for head, _, about in heads]


def part(head: str) -> tuple[str, str]:
    kind, _, due = head.strip().partition("@")
    return kind, due


def kind(proposal: ItemProposal) -> str:
    candidate = proposal.candidate
    return ("done" if candidate.finishes else candidate.type) + ("!" if proposal.ordered else "")


def said(text: str, lang: str = "en") -> list[str]:
    """The texts that a message proposes."""
    return [each.candidate.text for each in propose_items(text, lang, "m1", TODAY)]


def test_what_users_say() -> None:
    """Nothing is proposed that is not wanted, and of what is wanted only what is listed is missed."""
    missed, right = set(), dict.fromkeys(LANGUAGES, 0)
    for lang, text, wanted in rows():
        found = propose_items(text, lang, "m1", TODAY)
        if not found and wanted:
            missed.add(text)
            continue
        assert sorted(map(kind, found)) == sorted(each for each, _, _ in wanted), text
        for proposal, (_, due, about) in zip(found, wanted, strict=True):
            assert due in proposal.candidate.text, text
            key = make_draft(proposal.candidate, NOW).key
            assert key == (key_of(about, lang) if about else key), text
            assert proposal.candidate.lang == lang
        right[lang] += len(found)
    assert missed == MISSED
    assert all(each >= 75 for each in right.values())


def test_there_are_enough_sentences() -> None:
    """Of each language, and as many that propose nothing."""
    for lang in LANGUAGES:
        wanted = [wanted for code, _, wanted in rows() if code == lang]
        assert len([each for each in wanted if each]) >= 60
        assert len([each for each in wanted if not each]) >= 60


WANTED = [
    (lang, text)
    for lang, text, wanted in rows()
    if wanted and text not in MISSED and ". " not in text and "?" not in text
]
AROUND = {
    "en": ("Suppose this: {}", "She wrote: {}", "Translate this: {}", '"{}"', "> {}", "`{}`", "“{}”", "{}?"),
    "sv": ("Anta detta: {}", "Hon skrev: {}", "Översätt: {}", '"{}"', "> {}", "```\n{}\n```", "”{}”", "{}?"),
}


def test_what_is_quoted_supposed_or_asked_proposes_nothing() -> None:
    """Whatever would be proposed if the user said it."""
    for lang, text in WANTED:
        for frame in AROUND[lang]:
            assert said(frame.format(text.rstrip(".!")), lang) == [], frame.format(text)


def test_what_follows_a_scene_proposes_nothing() -> None:
    """A sentence that sets one, or leads in what is to be worked on, counts for all behind it."""
    for begin in (
        "Imagine you run a shop.",
        "For example.",
        "Here is the letter:",
        "Write a text about a baker.",
    ):
        assert said(f"{begin} My budget is 50k. I prefer tea.") == []
    assert said("I prefer tea. Imagine you run a shop. My budget is 50k.") == ["I prefer tea"]


def test_who_somebody_is_is_proposed() -> None:
    """Under what it is: another name is asked about as another name."""
    for text, about in (
        ("My name is Kim", "name"),
        ("Jag heter Kim", "heter"),
        ("Min katt heter Kim", "katt"),
    ):
        (proposal,) = propose_items(text, "en", "m1", TODAY)
        assert (proposal.candidate.text, proposal.candidate.subject) == (text, about)
    assert said("Jag heter inte Kim") == said("Vad heter jag?") == []


def test_what_happens_is_dated_where_its_words_mean_one_day() -> None:
    """And told where the thing is named, the verb is one of change and the day is not every such day."""
    for text, alone in (
        ("Yesterday the boiler broke.", ["Yesterday the boiler broke (2026-05-06)"]),
        ("Well, the boiler broke this morning!", ["The boiler broke this morning (2026-05-07)"]),
        ("The boiler broke on Monday.", ["The boiler broke on Monday"]),
        ("The course starts on Monday.", ["The course starts on Monday (2026-05-11)"]),
        ("Next week the course starts.", ["Next week the course starts"]),
        ("I måndags lanserades den nya appen.", ["I måndags lanserades den nya appen"]),
        ("Igår gick den sönder.", []),
        ("That broke yesterday.", []),
        ("Please start the machine tomorrow.", []),
        ("Every Monday the course starts.", []),
        ("The course starts soon.", []),
        ("The boiler hummed yesterday.", []),
        ("The site never crashed yesterday.", []),
        ("Remember that the boiler broke yesterday.", ["The boiler broke yesterday"]),
    ):
        assert said(text) == alone, text
    (ordered,) = propose_items("Remember that the boiler broke yesterday.", "en", "m1", TODAY)
    assert (ordered.candidate.type, ordered.ordered) == ("fact", True)


def test_an_idea_and_a_lesson_are_asked_about() -> None:
    """Though their words suppose; without the words that announce them, and not where they only name them."""
    for text, type, alone in (
        ("Hi! I have an idea: let's add a map.", "idea", "Let's add a map"),
        ("Maybe we should add a map.", "idea", "Maybe we should add a map"),
        ("Ok. Lesson learned: test the backup.", "lesson", "Test the backup"),
        ("I learned that sourdough needs a night.", "lesson", "I learned that sourdough needs a night"),
        ("Idé: en karta över depåerna", "idea", "En karta över depåerna"),
        ("Jag lärde mig att degen behöver vila.", "lesson", "Jag lärde mig att degen behöver vila"),
    ):
        (proposal,) = propose_items(text, "en", "m1", TODAY)
        assert (proposal.candidate.type, proposal.ordered) == (type, False), text
        assert proposal.candidate.text == alone
    for text in ("Idea: map", "I learned that my order was lost.", "If we move, maybe we should add a map."):
        assert said(text) == [], text


def test_at_most_three_are_proposed() -> None:
    """In their order."""
    many = "I prefer tea. My rent is 900 euros. My size is 42. My age is 51."
    assert PROPOSALS_PER_TURN == 3
    assert said(many) == ["I prefer tea", "My rent is 900 euros", "My size is 42"]


def test_only_what_is_told_is_approved() -> None:
    """And not what is said of others than the user."""
    for text, told in (
        ("Remember that I prefer tea.", True),
        ("I prefer tea.", False),
        ("From now on, answer in Swedish.", False),
        ("Remember that you owe me 50 kr.", False),
        ("Kom ihåg att min budget är 50 000 kr.", True),
        ("Kom ihåg att ni är skyldiga mig 50 kr.", False),
    ):
        (proposal,) = propose_items(text, "en", "m1", TODAY)
        assert proposal.ordered is told, text


def test_what_is_told_is_what_it_would_be_by_itself() -> None:
    """A preference stays one, and a decision."""
    for text, type in (
        ("Remember that I prefer tea", "preference"),
        ("Remember that we decided to use tea", "decision"),
        ("Remember that I need to buy tea by Friday", "open_loop"),
        ("Remember that my tea costs 50 kr", "fact"),
    ):
        (proposal,) = propose_items(text, "en", "m1", TODAY)
        assert (proposal.candidate.type, proposal.ordered) == (type, True)


def test_a_text_can_be_understood_alone() -> None:
    """Without what opened it, with the day that it means, and of two numbers only the right one."""
    for text, alone in (
        ("And I prefer tea.", "I prefer tea"),
        ("We decided to move on Monday.", "We decided to move on Monday"),
        ("Remember that Ana comes next Friday.", "Ana comes next Friday"),
        ("Well, by the way, I prefer tea!", "I prefer tea"),
        ("Thanks, I need to call Ana by tomorrow.", "I need to call Ana by tomorrow (2026-05-08)"),
        ("Remember that Ana comes this Monday.", "Ana comes this Monday (2026-05-11)"),
        ("Remember that Ana comes on 2026-05-11.", "Ana comes on 2026-05-11"),
        ("The budget is not 50k but 60k.", "The budget is 60k"),
        ("The budget isn't 50k but 60k.", "The budget is 60k"),
        ("The budget is 60k, not 50k.", "The budget is 60k"),
        ("I need to pay it by today.", "I need to pay it by today (2026-05-07)"),
        ("Remember that the code is “blue 7”.", "The code is “blue 7”"),
    ):
        assert said(text) == [alone]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Remember that the party is on Monday", "2026-05-11"),
        ("Remember that my flight is tomorrow", "2026-05-08"),
        ("Remember that my flight is in 3 days", "2026-05-10"),
        ("Remember that my flight is 3 days from now", "2026-05-10"),
        ("Kom ihåg att Ana kommer på måndag", "2026-05-11"),
        ("Kom ihåg att Ana kommer om 3 dagar", "2026-05-10"),
        ("Remember that I met Ana on Monday", None),
        ("Remember that I met Ana last Friday", None),
        ("Remember that I bought the car on 3 June", None),
        ("Remember that I wrote the book in 3 weeks", None),
        ("Remember that the last payment was on the 25th", None),
        ("Remember that I spent 900 kr this week", None),
        ("Remember that I work from home every Monday", None),
        ("Remember that the shop is open every other Monday", None),
        ("Remember that the rent is due on the 1st of every month", None),
        ("Remember that today is fine", None),
        ("Kom ihåg att vi åkte hem på lördagen", None),
        ("Kom ihåg att jag skrev boken på 3 veckor", None),
        ("Kom ihåg att jag tränar 3 gånger i veckan", None),
        ("Kom ihåg att jag tränar en gång i veckan", None),
        ("Kom ihåg att hyran är 9500 kr i månaden", None),
        ("Kom ihåg att mötet är varannan måndag", None),
    ],
)
def test_a_fact_gets_a_day_only_where_its_words_can_mean_no_other(text: str, day: str | None) -> None:
    """What was is told with the same words: nobody is to approve a date that he did not mean."""
    (proposal,) = propose_items(text, "en", "m1", TODAY)
    assert proposal.candidate.type == "fact"
    alone = text.partition("that " if "that " in text else "att ")[2]
    alone = alone[:1].upper() + alone[1:]
    assert proposal.candidate.text == (alone if day is None else f"{alone} ({day})")


@pytest.mark.parametrize(
    "text",
    [
        "I have to pay the rent every Monday",
        "I have to pay the rent on the 1st of every month",
        "Jag måste betala hyran varje måndag",
        "Jag måste träna 3 gånger i veckan",
        "Jag måste träna en gång i veckan",
        "Jag måste betala 500 kr i månaden",
    ],
)
def test_what_has_to_be_done_again_and_again_is_due_on_no_day(text: str) -> None:
    """It is no loop that ends."""
    assert said(text) == []


def test_what_has_to_be_done_within_a_span_is_due_when_that_ends() -> None:
    """Where no number before it says that it is how often."""
    assert said("Jag måste bli klar med rapporten i veckan") == [
        "Jag måste bli klar med rapporten i veckan (2026-05-10)"
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Kom ihåg att nya koden är 4711", True),
        ("Kom ihåg att stora paketet till Ana är skickat", True),
        ("Kom ihåg att lilla bilen kostar 500 kr", True),
        ("Kom ihåg att svenska är mitt modersmål", True),
        ("Kom ihåg att ringa Ana", False),
        ("Kom ihåg att kolla om affären är öppen", False),
        ("Kom ihåg att fråga vad koden är", False),
        ("Kom ihåg att hämta boken som är beställd", False),
        ("Kom ihåg att mata katten när jag har rest", False),
    ],
)
def test_what_is_so_is_told_from_what_is_to_be_done(text: str, kept: bool) -> None:
    """Though in Swedish both may begin with a word in -a."""
    assert bool(said(text)) is kept


def test_a_number_in_an_order_is_what_it_says() -> None:
    """So that another number contradicts it, and other orders do not."""
    for one, other in (
        ("Never call me before 10:00.", "Never call me before 11:00."),
        ("From now on, send 3 copies.", "From now on, send 4 copies."),
        ("Remember that I weigh 70 kg.", "Remember that I weigh 80 kg."),
        ("We decided to hire 3 bakers.", "We decided to hire 4 bakers."),
        ("I need to send it to Ana by Friday.", "I need to send it to Ana by 2026-06-01."),
        ("My rent is 900 euros.", "My rent is 950 euros."),
        ("Remember that Ana has 2 dogs.", "Ana has 3 dogs, not 2."),
        ("Avrunda alltid till 10 kr.", "Avrunda alltid till 5 kr."),
    ):
        drafts = [
            make_draft(each.candidate, NOW)
            for text in (one, other)
            for each in propose_items(text, "en", "m1", TODAY)
        ]
        assert [(each.key, each.slot) for each in drafts] == 2 * [(drafts[0].key, drafts[0].slot)], one
        assert drafts[0].numbers != drafts[1].numbers


def test_two_things_of_one_are_two() -> None:
    """What somebody is and what they have do not stand in each other's place."""
    one, other = (
        make_draft(propose_items(f"Remember that {text}.", "en", "m1", TODAY)[0].candidate, NOW)
        for text in ("Ana is 40", "Ana has 3 dogs")
    )
    assert one.key != other.key


NOTHING = (
    "If it rains we stay in, and my budget is 50k.",
    "They calm me down and always make us smile.",
    "Remember: tea.",
    "My budget is 50k as you said.",
    "Never call.",
    "Your order is done.",
    "Your fee is 49, not 59.",
    "Nothing about the tax report is done.",
    "At no point we decided to renew the lease.",
    "At no time I will pay the rent by Friday.",
    "My guess is 50k.",
    "My sister who lives far up in the north is 40.",
    "The fee is 49, not a gift.",
    "The fee is high, not 59.",
    "Ok. " * 40 + "I prefer tea.",
    "a and " * 20 + "I prefer tea.",
    "We went " + "on " * 300 + "and I prefer tea.",
)
"""Each one for a condition of its own."""


@pytest.mark.parametrize("text", NOTHING, ids=lambda text: text[-30:])
def test_nothing_is_proposed(text: str) -> None:
    """In doubt."""
    assert said(text) == []


def test_a_clause_ends_where_the_next_proposes() -> None:
    """Of several in a sentence each has its own words; what is told has all that follow."""
    assert said("My size is 42 and I prefer tea.") == ["My size is 42", "I prefer tea"]
    both = propose_items("My size is 42, and remember that I prefer tea.", "en", "m1", TODAY)
    assert [(each.candidate.text, each.ordered) for each in both] == [
        ("My size is 42", False),
        ("I prefer tea", True),
    ]
    assert said("Remember that I prefer tea and my size is 42.") == ["I prefer tea and my size is 42"]
    assert (
        len(said("I prefer tea and my size is 42 and my age is 51 and my rent is 900 euros."))
        == PROPOSALS_PER_TURN
    )


def test_another_language_is_tried() -> None:
    """A message is taken to be in the wrong one often enough."""
    assert said("Jag föredrar te.", "en") == said("Jag föredrar te.", "sv") == ["Jag föredrar te"]
    assert [each.candidate.lang for each in propose_items("I prefer tea.", "sv", "m1", TODAY)] == ["en"]


def test_the_source_is_the_message() -> None:
    """With the sentence, as it was written, cut to what a quote may have."""
    (proposal,) = propose_items("Hello there. I prefer “green” tea.", "en", "m7", TODAY)
    assert proposal.candidate.sources == (Source("message", "m7", quote="I prefer “green” tea."),)
    (proposal,) = propose_items("Remember that tea " + "is good and " * 30, "en", "m7", TODAY)
    assert len(proposal.candidate.sources[0].quote) == ITEM_QUOTE
    assert said("Remember that tea " + "is good and " * 50) == []
    assert len(said("Remember that tea is " + "x" * (ITEM_TEXT - 30))) == 1


PIECES = st.sampled_from(
    [each.strip("|") for each in SAID.read_text(encoding="utf-8").split(" ") if each != "|"]
    + [
        " ",
        " ",
        " ",
        ". ",
        "? ",
        "\n",
        '"',
        "'",
        "> ",
        "o\u0308\u0301",
        "\ud800",
        " by Friday",
        "Remember that ",
    ]
)


@given(
    text=st.lists(PIECES, max_size=14).map(" ".join) | st.text(max_size=60),
    lang=st.sampled_from([*LANGUAGES]),
)
def test_whatever_is_said_can_be_kept(text: str, lang: str) -> None:
    """Every proposal is sound, so that none is lost between here and its store."""
    for proposal in propose_items(text, lang, "m1", TODAY):
        assert make_draft(proposal.candidate, NOW).key


@pytest.mark.parametrize(
    "text",
    [
        "x and ",
        "my a is ",
        "well, but and so ",
        "I will do it by Friday 5. ",
        "it is not 5 but ",
        "'a ",
        '"',
        "In abc we ",
        "when i say a ",
        "no a a a ",
        "remember for a a a ",
        "deadline for a ",
        "if a, ",
        "yesterday a ",
        "a on monday 1 ",
        "an idea for a ",
        "i learned a ",
    ],
)
def test_a_long_message_takes_no_long_time(text: str) -> None:
    """CPU: some milliseconds for the longest message, whatever stands in it."""
    said("warm")
    begun = process_time()
    said((text * MAX_TEXT)[:MAX_TEXT])
    assert process_time() - begun < 0.2


@pytest.mark.parametrize(
    ("path", "lang", "precision", "recall"),
    [
        (proposals.WORK, "en", 0.97, 0.74),
        (proposals.WORK, "sv", 0.94, 0.74),
        (proposals.UNSEEN, "en", 0.85, 0.38),
        (proposals.UNSEEN, "sv", 0.82, 0.4),
    ],
)
def test_what_people_write(path: Path, lang: Lang, precision: float, recall: float) -> None:
    """Of messages as people write them, most of what is wanted, and little else; nothing is approved unasked."""
    count = proposals.counted([each for each in proposals.messages(path) if each.lang == lang])
    assert count.precision >= precision, count.wrong
    assert count.recall >= recall, count.missed
    assert count.approved == 0


def test_what_is_stated_before_a_question_is_read() -> None:
    """The question proposes nothing, nor does what it begins with."""
    for text, alone in (
        ("I prefer tea, which one is best?", ["I prefer tea"]),
        ("My budget is 900 euros, so what can I get?", ["My budget is 900 euros"]),
        ("Jag föredrar te, vilket är bäst?", ["Jag föredrar te"]),
        ("Is it so that I prefer tea, or what is it?", []),
        ("If my budget is 900 euros, what can I get?", []),
        ("My budget is 900 euros, right?", []),
    ):
        assert said(text) == alone, text


def test_who_asks_to_remember_may_ask_for_it() -> None:
    """What ends with a question mark may be meant as one, and is to be asked."""
    for text, told in (
        ("Can you remember that my gate code is 4471", True),
        ("I want you to remember that my gate code is 4471.", True),
        ("My gate code is 4471, please remember that!", True),
        ("Can you remember that my gate code is 4471?", False),
        ("Your gate code is 4471, remember that.", False),
        ("Kan du komma ihåg att min kod är 4471", True),
        ("Min kod är 4471, kom ihåg det.", True),
    ):
        (proposal,) = propose_items(text, "en", "m1", TODAY)
        assert (proposal.ordered, proposal.candidate.type) == (told, "fact"), text
    assert said("Do you remember that my gate code is 4471?") == []
    assert said("I was there and kommer ihåg att min kod är 4471.", "sv") == []


def test_a_name_of_ones_own_is_the_only_one() -> None:
    """Another name of one thing stands in its place; of several things, and of what is liked, there may be more."""

    def slots(*texts: str, lang: Lang = "en") -> list[tuple[tuple[str, ...], str]]:
        made = [
            make_draft(each.candidate, NOW)
            for text in texts
            for each in propose_items(text, lang, "m1", TODAY)
        ]
        assert len(made) == len(texts)
        return [(each.key, each.slot) for each in made]

    one, other = slots("My doctor is Ana.", "my doctor is Bo Ek, by the way")
    assert one == other
    one, other = slots("Min läkare heter Ana.", "Min läkare är Bo.", lang="sv")
    assert one == other
    one, other = slots("My neighbours are Ana and Bo.", "My neighbours are Eva and Per.")
    assert (one[0], one[1] != other[1]) == (other[0], True)
    assert said("My doctor is late.") == said("MY DOCTOR IS LATE.") == said("My doctor is The best.") == []


def test_a_jest_and_a_choice_among_drafts_propose_nothing() -> None:
    """What is chosen of what was just written is of this conversation."""
    for text in (
        "I prefer the second version.",
        "We decided on option B.",
        "I always cry and I love chocolate haha",
        "I love it.",
        "I like your answer.",
        "I'm a bit tired.",
    ):
        assert said(text) == [], text
    assert said("I love dark chocolate") == ["I love dark chocolate"]
    assert said("We chose Postgres for the database") == ["We chose Postgres for the database"]


def test_a_duty_has_a_day_to_come() -> None:
    """Of the user, of nobody named, or the last one of a thing."""
    for text in (
        "I have to call Ana on Monday",
        "The hall must be booked by Monday",
        "Deadline for the poster is Monday",
        "Jag måste ringa Ana på måndag",
        "Hallen måste bokas senast på måndag",
    ):
        (proposal,) = propose_items(text, "en", "m1", TODAY)
        assert proposal.candidate.type == "open_loop"
        assert proposal.candidate.text == f"{text} (2026-05-11)"
    for text in (
        "I have to wait until Monday",
        "I must admit that Monday was fun",
        "Your hall must be booked by Monday",
        "I don't have to call Ana on Monday",
        "I have to call Ana",
    ):
        assert said(text) == [], text


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("When it is about money, you must never guess", "en"),
        ("when i ask for code, always add tests", "en"),
        ("stop apologising so much", "en"),
        ("don't ever use that word", "en"),
        ("call me Kim please", "en"),
        ("No jargon ever please", "en"),
        ("When I say the house I mean the one in Lund", "en"),
        ("Whenever I write Swedish, answer in Swedish", "en"),
        ("När jag ber om kod ska du alltid lägga till tester", "sv"),
        ("Om en kund är arg, svara alltid vänligt", "sv"),
        ("du får aldrig lova något", "sv"),
        ("kalla mig Kim", "sv"),
    ],
)
def test_an_order_for_good_may_be_said_in_many_ways(text: str, lang: Lang) -> None:
    """For a case, in the second person, or by what it orders."""
    (proposal,) = propose_items(text, lang, "m1", TODAY)
    assert (proposal.candidate.type, proposal.ordered) == ("rule", False)


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("If I'm late, call me", "en"),
        ("stop it", "en"),
        ("call me back at 5", "en"),
        ("When I get home, never mind", "en"),
        ("Whenever I write, nobody answers", "en"),
        ("sluta nu", "sv"),
        ("kalla det vad du vill", "sv"),
        ("Om jag alltid betalar, vad händer då", "sv"),
    ],
)
def test_an_order_for_now_is_none_for_good(text: str, lang: Lang) -> None:
    """Nor is a case in which nothing is ordered."""
    assert said(text, lang) == []


def test_a_doubt_of_its_own_leaves_what_is_sure() -> None:
    """Where it is about something else; "but I am not sure" is about what was said."""
    for text, alone in (
        ("I prefer tea, but I'm not sure if you have any", ["I prefer tea"]),
        ("I prefer tea, but I'm not sure", []),
        ("I prefer tea if there is any and my size is 42", []),
        ("My rent is 900 euros but it may change next year", ["My rent is 900 euros"]),
        (
            "I live in Lund, so I prefer trains, can you find one, maybe tomorrow?",
            ["I live in Lund", "I prefer trains"],
        ),
        ("I want to pay it by June 1, 2024", []),
        ("I want to pay it by June 1, 2026", ["I want to pay it by June 1, 2026 (2026-06-01)"]),
    ):
        assert said(text) == alone, text
