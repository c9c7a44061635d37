"""Numbers aloud: each type of number is said in words and heard as itself, and what cannot be is left on the screen."""

import re

import pytest

from agent.grounding import utterance
from agent.grounding.utterance import make_utterance
from agent.lang import LANGUAGES, Lang
from agent.ports.brain import FictionText, VerifiedText
from agent.ports.search import Snippet

SPEAKABLE = re.compile(r"[ .,;:?!'-]*[^\W\d_](?:[^\W\d_]|[ .,;:?!'-])*")


def say(text: str, lang: Lang = "en", citations: int = 0) -> str:
    """Return the words of a text."""
    snippet = Snippet(file="kb/a.md", text=text, first=1, last=1)
    verified = VerifiedText(text=text, citations=(snippet,) * citations, confidence=None)
    sentences = make_utterance(verified, lang).sentences
    assert all(SPEAKABLE.fullmatch(each.words) for each in sentences)
    return " / ".join([each.words for each in sentences])


ENGLISH = {
    "It costs 1 234,50 kr.": "It costs one thousand two hundred and thirty-four kronor and fifty öre.",
    "It is 299 kr.": "It is two hundred and ninety-nine kronor.",
    "It costs $5.": "It costs five dollars.",
    "It costs £5.50.": "It costs five pounds sterling and fifty pence.",
    "They spent $1.5m.": "They spent one million five hundred thousand dollars.",
    "You get 12.5 % off.": "You get twelve point five percent off.",
    "It rose by 2 pp.": "It rose by two percentage points.",
    "It works from -25 to 50 °C.": "It works from minus twenty-five to fifty degrees Celsius.",
    "It takes 3-5 business days.": "It takes three to five business days.",
    "It takes between 3 and 5 days.": "It takes between three and five days.",
    "Open 08:00-17:30 daily.": "Open eight a.m. to five thirty p.m. daily.",
    "Open 9:30 am to 5 pm.": "Open nine thirty a.m. to five p.m.",
    "We meet at 10:05.": "We meet at ten oh five.",
    "It changed on 15 January 2026.": "It changed on the fifteenth of January twenty twenty-six.",
    "Closed on 18 and 19 August.": "Closed on the eighteenth of August and the nineteenth of August.",
    "It dates from May 1905.": "It dates from May nineteen hundred and five.",
    "Call 08-465 004 10 now.": "Call zero eight, four six five, zero zero four, one zero now.",
    "Call 1-800-555-1234.": "Call one, eight zero zero, five five five, one two three four.",
    "It needs one CR123A battery.": "It needs one; C R one two three A battery.",
    "Use version 1.2.3 here.": "Use version one dot two dot three here.",
    "See section 7(2) for that.": "See section seven bracket two, for that.",
    "It is on the 3rd floor.": "It is on the third floor.",
    "Use 2 1/2 cups.": "Use two and one half cups.",
    "A box of 40 x 30 x 15 cm.": "A box of forty by thirty by fifteen centimetres.",
    "It needs 1.5 Mbit/s.": "It needs one point five megabits per second.",
    "You pay for 1 to 3 months.": "You pay for one to three months.",
    "Five of them and two dozen eggs.": "Five of them and two dozen eggs.",
}

SWEDISH = {
    "Det kostar 1 234,50 kr.": "Det kostar ett tusen tvåhundratrettiofyra kronor och femtio öre.",
    "Det kostar 1 kr.": "Det kostar en krona.",
    "Du får 12,5 % rabatt.": "Du får tolv komma fem procent rabatt.",
    "Den tål -25 till 50 °C.": "Den tål minus tjugofem till femtio grader Celsius.",
    "Det tar 3-5 arbetsdagar.": "Det tar tre till fem arbetsdagar.",
    "Vi har öppet 08.00-17.30.": "Vi har öppet klockan åtta noll noll till klockan sjutton trettio.",
    "Senast kl. 9.30 idag.": "Senast klockan nio trettio idag.",
    "Det gäller från den 1 mars 2025.": "Det gäller från den första mars tjugohundratjugofem.",
    "Det grundades 1984.": "Det grundades nittonhundraåttiofyra.",
    "Ring 08-465 004 10.": "Ring noll åtta, fyra sex fem, noll noll fyra, ett noll.",
    "Vi finns på 3:e våningen.": "Vi finns på tredje våningen.",
    "Ta 1/3 av degen.": "Ta en tredjedel av degen.",
    "Avgiften är 149 kr/mån.": "Avgiften är etthundrafyrtionio kronor per månad.",
    "Numret är 559900-1234.": "Numret är fem fem nio nio noll noll streck ett två tre fyra.",
    "Paketet väger 3,4 kg.": "Paketet väger tre komma fyra kilogram.",
    "En låda på 40 x 30 cm.": "En låda på fyrtio gånger trettio centimeter.",
}


@pytest.mark.parametrize(
    ("lang", "text", "words"),
    [("en", *pair) for pair in ENGLISH.items()] + [("sv", *pair) for pair in SWEDISH.items()],
)
def test_each_type_of_number_is_said(lang: Lang, text: str, words: str) -> None:
    """In words of the answer's language, as a person would say it."""
    assert say(text, lang) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "# Prices\n\n- **Basic** costs `149 kr`[1].",
            "Prices / Basic costs one hundred and forty-nine kronor.",
        ),
        ("| Basic | 149 kr | 7 days |", "Basic, one hundred and forty-nine kronor, seven days"),
        ("Read [our 2 pages](https://a.example/7) & ask.", "Read our two pages and ask."),
        ("See https://a.example/7 for more.", "See the link on your screen for more."),
        ("Write to help@a.example.", "Write to help at a dot example."),
        ("Write to h7@a.example.", "Write to the address on your screen."),
        ("“Well” – that’s §5…", "Well, that's section five."),
    ],
)
def test_markup_and_signs_are_not_said(text: str, words: str) -> None:
    """Marks of layout and of sources are dropped, and signs become words."""
    assert say(text, citations=1) == words


@pytest.mark.parametrize("text", ["It has 6.02 × 10^23 of them.", "Roll a ⚅ now.", "5±1 of it."])
def test_a_figure_without_words_is_left_on_the_screen(text: str) -> None:
    """A figure that has no words costs its whole sentence and no other."""
    assert say(f"First this. {text} Then that.") == "First this. / The figure is on your screen. / Then that."


def test_a_figure_of_two_readings_is_left_on_the_screen() -> None:
    """Where the line does not tell whether a comma parts thousands, neither number is said."""
    assert say("Camera: 1,299 kr") == "The figure is on your screen."


def test_another_language_or_script_is_not_said() -> None:
    """An English voice says no Swedish and no Greek, whatever stands in it."""
    assert say("Leveransen är gratis och tar 3 dagar.") == LANGUAGES["en"].saying.passage
    assert say("Ωμέγα 3") == LANGUAGES["en"].saying.passage


def test_what_is_heard_otherwise_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are read back before they are said: a writer that errs by one says nothing of it."""
    monkeypatch.setattr(utterance, "say_number", lambda *_: "three hundred kronor")
    assert say("It costs 299 kr.") == "The figure is on your screen."
    assert say("It costs 300 kr.") == "It costs three hundred kronor."


def test_sentences_know_their_characters() -> None:
    """Each has its range in the response, and a number is never parted."""
    text = "It costs 149 kr. That is cheap.\nNow 5\n000 kr."
    made = make_utterance(VerifiedText(text=text, citations=(), confidence=None), "en", 100)
    assert [text[each.start - 100 : each.end - 100] for each in made.sentences][:2] == [
        "It costs 149 kr.",
        "That is cheap.",
    ]
    assert made.sentences[-1].end == 100 + len(text)


def test_a_story_is_said_in_the_same_way() -> None:
    """Nothing vouches for its numbers, and none is changed."""
    made = make_utterance(FictionText(text="She was 41.", citations=(), confidence=None), "en")
    assert [each.words for each in made.sentences] == ["She was forty-one."]
