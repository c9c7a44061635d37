"""A scene as it is told: whole sentences, clean, bounded, and joined exactly what is stored."""

from random import Random

import pytest

from agent.errors import ModelFailed
from agent.stories.sentences import SentenceCutter


def cut(text: str, size: int = 0, limit: int = 32 * 1024) -> tuple[list[str], SentenceCutter]:
    """Return the sentences of a text that comes in pieces of `size` characters, 0 for one piece."""
    cutter = SentenceCutter(limit)
    sentences: list[str] = []
    pieces = [text[at : at + size] for at in range(0, len(text), size)] if size else [text]
    for piece in pieces:
        sentences += cutter.feed(piece)
    rest = cutter.finish()
    return sentences + ([rest] if rest else []), cutter


def test_a_sentence_is_given_on_at_its_white_space() -> None:
    """The first one at once, without a look at the next."""
    cutter = SentenceCutter()
    assert cutter.feed("The door opened.") == ()
    assert cutter.feed(" ") == ("The door opened.",)
    assert cutter.feed("Mr. Holm came in. And") == (" Mr. Holm came in.",)
    assert cutter.finish() == " And"
    assert cutter.text == "The door opened. Mr. Holm came in. And"


def test_a_spoken_sentence_goes_on() -> None:
    """A small letter behind the closing mark belongs to it."""
    assert cut('"Why?" she asked. "Go!" He went.')[0] == ['"Why?" she asked.', ' "Go!"', " He went."]


def test_lines_are_kept() -> None:
    """A line break ends a sentence; more than one is an empty line, and a run of blanks is one."""
    said, cutter = cut("  A hall\n\n\n\n– Come.   Now.\nShe came.\n\n ")
    assert said == ["A hall", "\n\n– Come.", " Now.", "\nShe came."]
    assert cutter.text == "A hall\n\n– Come. Now.\nShe came."


@pytest.mark.parametrize("seed", range(40))
def test_the_pieces_make_no_difference(seed: int) -> None:
    """However the stream is cut, the scene is the same, and its sentences joined are the scene."""
    rng = Random(seed)
    text = "".join(
        rng.choice(["Ab. ", "c", '"d?" ', "\n", " ", "Mr. E", "!", "å", "😀", "\x07", ". ", "Reader"])
        for _ in range(60)
    )
    whole, cutter = cut(text + " Word.")
    for size in (1, 2, 3, 7):
        said, other = cut(text + " Word.", size)
        assert "".join(said) == other.text == cutter.text == "".join(whole)
        assert said == whole


@pytest.mark.parametrize("turn", ["Reader: I go.", "**Läsaren:** Gå.", "> User : go", "READER: go"])
def test_the_readers_next_turn_ends_the_scene(turn: str) -> None:
    """It is the reader's to write."""
    for size in (0, 1):
        said, cutter = cut(f"It was late. She waited.\n\n{turn}\n\nHe went.", size)
        assert "".join(said) == "It was late. She waited."
        assert cutter.is_ended
    assert cut("The reader: a person with a book. He went.")[1].text.endswith("He went.")


def test_control_characters_go() -> None:
    """And halves of characters; those that two pieces share are joined."""
    assert cut("A\x00b\x1b[31m c\r\nd\x85.")[1].text == "Ab[31m c\nd."
    assert cut("Yes \ud83d\ude00 no \ud83d.", 1)[1].text == "Yes 😀 no ."
    assert cut("Yes \udc00.")[1].text == "Yes ."


def test_a_long_scene_ends_with_its_last_sentence_that_fits() -> None:
    """And nothing more is taken."""
    sentence = "Å" + "a" * 97 + "."
    for size in (0, 1000):
        said, cutter = cut(f"{sentence} " * 2000, size)
        assert cutter.text == "".join(said) == " ".join([sentence] * 324)  # 101 bytes each, with a blank
        assert len(cutter.text.encode()) <= 32 * 1024
        assert cutter.is_ended
        assert cutter.feed("More. ") == ()


def test_a_long_scene_without_a_sentence_is_cut_between_words() -> None:
    """A character is never cut."""
    assert cut("word " * 50, 7, limit=23)[1].text == "word word word word"
    assert cut("é" * 50, 7, limit=23)[1].text == "é" * 11
    assert len(cut("x" * 200_000)[1].text) == 32 * 1024


@pytest.mark.parametrize("text", ["", "  \n ", "Reader: go on.", "\x00\x01", "* * *", "…"])
def test_a_scene_without_a_word_fails(text: str) -> None:
    """It is the model's failure."""
    with pytest.raises(ModelFailed, match="wrote nothing"):
        cut(text)
