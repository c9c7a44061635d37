"""Which known words a word may stand for: its forms, its parts, its misspellings, its synonyms, what means the same."""

from collections.abc import Iterator, Sequence

import pytest

from agent.lexical import alike as module
from agent.lexical.alike import GUESSED, MEANING, MEANING_SURE, SYNONYM, WordLikeness
from agent.lexical.stems import stem_keys
from agent.lexical.vocabulary import Vocabulary, runs_of

TEXT = (
    "standard plan price customer delivered subscription students discounts plans paketet rabatter studenter månader "
    "kundtjänst leveranstiden öppettider utomhuskamera warranty telephone"
)
WORDS = TEXT.split()


@pytest.fixture
def alike() -> WordLikeness:
    """Some words of both languages."""
    vocabulary = Vocabulary(stem_keys)
    for word in WORDS:
        vocabulary.add_word(word)
    return WordLikeness(vocabulary)


def like(alike: WordLikeness, word: str) -> dict[str, float]:
    """Return what a word is like, by word."""
    return {alike.vocabulary.words[number]: sure for number, sure in alike.find_like(word).items()}


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("price", "price"),
        ("prices", "price"),
        ("customers", "customer"),
        ("customer's", "customer"),
        ("delivering", "delivered"),
        ("paket", "paketet"),
        ("rabatt", "rabatter"),
    ],
)
def test_a_word_stands_fully_for_itself_and_its_forms(alike: WordLikeness, word: str, known: str) -> None:
    """In either language."""
    assert like(alike, word)[known] == 1.0


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("stanard", "standard"),
        ("subscripton", "subscription"),
        ("custommer", "customer"),
        ("sommarrabatter", "rabatter"),
        ("utomhuskameran", "utomhuskamera"),
        ("kamera", "utomhuskamera"),
        ("leveranstid", "leveranstiden"),
        ("kundtjänster", "kundtjänst"),
    ],
)
def test_a_part_or_a_misspelling_is_less_sure(alike: WordLikeness, word: str, known: str) -> None:
    """They share most of their runs of letters."""
    assert 0.4 < like(alike, word)[known] <= 1.0
    if word not in ("utomhuskameran", "leveranstid", "kundtjänster"):
        assert like(alike, word)[known] < 1.0


@pytest.mark.parametrize("word", ["mongolia", "qwerty", "x" * 300, "", "zz", "ice", "1234"])
def test_another_word_is_like_nothing(alike: WordLikeness, word: str) -> None:
    """Nor is one that only shares a few letters."""
    assert like(alike, word) == {}


def test_synonyms_stand_for_each_other_almost_fully(alike: WordLikeness) -> None:
    """Whatever forms the question, the file and the documents use; a form of the word itself is surer."""
    alike.learn({"guarantees": ("warranty",), "tariff": ("prices", "unheard")}, None)
    assert like(alike, "guarantee")["warranty"] == SYNONYM
    assert like(alike, "tariffs")["price"] == SYNONYM
    assert like(alike, "tariff")["price"] == SYNONYM
    assert like(alike, "prices")["price"] == 1.0


def test_the_surest_come_first(alike: WordLikeness) -> None:
    """So that whoever looks for the best one ends where it is found."""
    alike.learn({"plan": ("warranty",)}, Meanings(alike))
    for word in ("plan", "mobile", "kamera", "rabatt", "priset"):
        sure = list(alike.find_like(word).values())
        assert sure == sorted(sure, reverse=True)
    assert len(set(alike.find_like("plan").values())) > 1


class Meanings:
    """Tells that two words mean nearly the same."""

    def __init__(self, alike: WordLikeness) -> None:
        self.known = alike
        self.asked: list[str] = []
        self.told: list[str] = []

    def find_near(self, word: str, least: float) -> Sequence[tuple[int, float]]:
        """Return the one pair there is."""
        self.asked.append(word)
        number = self.known.vocabulary.number_of("telephone")
        assert number is not None
        return [(number, 0.8)] if word in ("mobile", "telephone") and least == MEANING else []

    def weight_of(self, word: str) -> float:
        """Return that one word is common."""
        self.told.append(word)
        return 0.2 if word == "mobile" else 1.0


def test_what_means_nearly_the_same_is_like_it(alike: WordLikeness) -> None:
    """As surely as the meanings are near, and never surer than the word itself."""
    alike.learn({}, Meanings(alike))
    assert like(alike, "mobile") == {"telephone": 0.8 * MEANING_SURE}
    assert like(alike, "telephone")["telephone"] == 1.0


def test_what_a_word_tells_is_known_where_meanings_are(alike: WordLikeness) -> None:
    """Also of a word that is in no document; nothing is told without."""
    assert alike.general_weight("price") is None
    alike.learn({}, Meanings(alike))
    assert (alike.general_weight("mobile"), alike.general_weight("okapi")) == (0.2, 1.0)


def test_what_a_word_tells_is_kept_until_more_is_learned(
    alike: WordLikeness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bounded number of words."""
    monkeypatch.setattr(module, "_KEPT", 2)
    meanings = Meanings(alike)
    alike.learn({}, meanings)
    for word in ("mobile", "mobile", "price", "mobile", "plan", "price"):
        alike.general_weight(word)
    assert meanings.told == ["mobile", "price", "plan", "price"]
    alike.learn({}, None)
    assert alike.general_weight("mobile") is None


def test_what_a_word_is_like_is_kept_until_more_is_learned(
    alike: WordLikeness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bounded number of words."""
    monkeypatch.setattr(module, "_KEPT", 2)
    meanings = Meanings(alike)
    alike.learn({}, meanings)
    for word in ("mobile", "mobile", "price", "mobile", "plan", "price"):
        alike.find_like(word)
    assert meanings.asked == ["mobile", "price", "plan", "price"]
    alike.learn({"mobile": ("plan",)}, None)
    assert set(like(alike, "mobile")) == {"plan", "plans"}


def test_another_of_the_same_words_learns_by_itself(alike: WordLikeness) -> None:
    """Words are shared; what else tells of likeness is not."""
    alike.learn({"fee": ("price",)}, None)
    other = WordLikeness(alike.vocabulary)
    other.learn({"fee": ("plan",)}, None)
    assert set(like(alike, "fee")) == {"price"}
    assert set(like(other, "fee")) == {"plan", "plans"}


def test_common_runs_of_letters_are_not_looked_up(
    alike: WordLikeness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in very many words tells little and costs much."""
    assert "standard" in like(alike, "standardise")
    monkeypatch.setattr(module, "_COMMON", 0)
    monkeypatch.setattr(module, "_split_compound", lambda word: ())
    alike.learn({}, None)
    assert like(alike, "standardise") == {}
    assert like(alike, "prices") == {"price": 1.0}


@pytest.mark.parametrize("word", ["pirce", "prise", "pryce"])
def test_a_letter_that_is_wrong_is_seen_through(alike: WordLikeness, word: str) -> None:
    """One letter wrong, or two swapped."""
    assert like(alike, word)["price"] >= module.GUESSED


def test_an_unknown_compound_stands_for_its_parts(alike: WordLikeness) -> None:
    """With a joining s, too; a word that is known, or misspelt, is not taken apart."""
    assert like(alike, "standardspriset").get("standard", 0) >= module.GUESSED
    assert like(alike, "price") == {"price": 1.0}


def mistaken(word: str, letters: str) -> Iterator[str]:
    """Yield every spelling of a word with one mistake, in some letters."""
    for at in range(len(word) + 1):
        yield word[:at] + word[at + 1 :]
        yield word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :]
        for letter in letters:
            yield word[:at] + letter + word[at:]
            yield word[:at] + letter + word[at + 1 :]


@pytest.mark.parametrize("word", ["price", "telephone", "rabatter", "aaaaab", "ababab", "öppettider"])
def test_every_single_mistake_is_seen_through(word: str) -> None:
    """Wherever it is, in words of five letters and more."""
    vocabulary = Vocabulary(stem_keys)
    known = vocabulary.add_word(word)
    for each in ("zzqqzzqq", "jjjjj"):
        vocabulary.add_word(each)
    alike = WordLikeness(vocabulary)
    for each in set(mistaken(word, "xpö7")) - {word}:
        if len(each) >= module.SPELLED:
            assert alike.find_like(each).get(known, 0) >= module.GUESSED, each


@pytest.mark.parametrize(
    ("word", "known"), [("zebra", "zebr7"), ("zebra", "zebra7"), ("zebra", "zbrax"), ("zebra", "zxbrz")]
)
def test_a_digit_is_no_mistake_and_two_mistakes_are_too_many(word: str, known: str) -> None:
    """A word with another digit is another product."""
    vocabulary = Vocabulary(stem_keys)
    vocabulary.add_word(known)
    assert GUESSED not in like(WordLikeness(vocabulary), word).values()


def test_alike_words_are_those_of_all_runs() -> None:
    """Looking at the shortest lists first misses none: the measures of all pairs say the same."""
    vocabulary = Vocabulary(stem_keys)
    words = [*WORDS, *(a + b for a in WORDS[:12] for b in WORDS[12:])]
    for word in words:
        vocabulary.add_word(word)
    alike = WordLikeness(vocabulary)
    for word in [*words, "kamera", "tid", "leverans", "studentrabatt", "aaaa"]:
        runs, expected = runs_of(word), {}
        for number, other in enumerate(vocabulary.words):
            both, others = len(runs & runs_of(other)), runs_of(other)
            dice, shorter = 2 * both / (len(runs) + len(others)), min(len(runs), len(others))
            sure = dice * module.FORM_SURE if dice > module.DICE else 0.0
            if shorter >= module.PART_RUNS and both / shorter > module.CONTAINED:
                sure = max(sure, both / shorter * module.PART_SURE)
            if sure:
                expected[number] = sure
        found = alike.find_like(word)
        assert expected.keys() <= found.keys()
        assert all(found[number] >= sure for number, sure in expected.items())


def test_a_part_that_shares_as_few_runs_as_it_may_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of its five, which no shorter list of words holds."""
    monkeypatch.setattr(module, "_split_compound", lambda word: ())
    vocabulary = Vocabulary(stem_keys)
    vocabulary.add_word("price")
    assert like(WordLikeness(vocabulary), "pricetags") == {"price": 4 / 5 * module.PART_SURE}
