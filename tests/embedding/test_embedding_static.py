"""Static vectors are the plain mean of the tokens' vectors, and as cheap as they claim."""

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from agent.embedding import static as module
from agent.embedding.static import TOKENIZER, WEIGHTS, Static
from agent.embedding.weights import Folder
from agent.errors import GivenUp, UsageError

from ..cpu import measure_cpu

_spec = find_spec("agent_wordllama")
assert _spec is not None
PACKAGE = Path(next(iter(_spec.submodule_search_locations or ())))
TEXTS = (
    "How many weeks of parental leave do I get?",
    "Räntan höjs med 0,25 procentenheter den 1 juli 2026; lånet på 1 200 000 kr påverkas.",
    "pay",
    "refunds@example.com 😀 ᚠᚢ 中文字 e\u0301 ﬁ \u00ad x²",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa   spaced     out",
)


@pytest.fixture(scope="module")
def static() -> Static:
    return Static(Folder(PACKAGE))


def by_the_book(texts: Sequence[str]) -> np.ndarray:
    """Return the means of whole texts' tokens, as WordLlama makes them."""
    table = load_file(PACKAGE / WEIGHTS)["embedding.weight"].astype(np.float64)
    tokenizer = Tokenizer.from_file(str(PACKAGE / TOKENIZER))
    means = np.array([table[tokenizer.encode(text, add_special_tokens=False).ids].mean(0) for text in texts])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    return means


def test_a_row_is_the_mean_of_the_tokens_vectors(static: Static) -> None:
    """Cut into words first, a text has the tokens that it has when it is tokenized whole."""
    texts = [" ".join(text.split()) for text in TEXTS]
    assert np.abs(static.encode(texts) - by_the_book(texts)).max() < 1e-6
    assert static.dimension == 256


def test_the_vectors_stay_in_the_mapped_file(static: Static) -> None:
    """As floats they would take 31 MB of each process."""
    assert not static._table.flags.owndata
    assert static._table.dtype == np.float16


def test_no_token_reaches_from_one_word_into_the_next() -> None:
    """That is why a text may be cut into words: in the vocabulary a space stands first or beside spaces."""
    vocabulary = json.loads((PACKAGE / TOKENIZER).read_text(encoding="utf-8"))["model"]["vocab"]
    assert not [token for token in vocabulary if "▁" in token.lstrip("▁")]


def test_white_space_of_any_kind_is_one_space(static: Static) -> None:
    """Lines and runs of spaces say nothing about what a text means."""
    one, other = static.encode(["the monthly price", " the\n\n monthly\t\u00a0price\n"])
    assert np.array_equal(one, other)


def test_what_looks_like_a_special_token_is_text(static: Static) -> None:
    """A struck-out word of a page (`<s>`) is no command to the tokenizer."""
    known = static.encode(["<s>"])
    table = load_file(PACKAGE / WEIGHTS)["embedding.weight"].astype(np.float32)
    command = table[1] / np.linalg.norm(table[1])
    assert float(known[0] @ command) < 0.9


def test_near_texts_are_near(static: Static) -> None:
    """What means the same in other words is nearer than what does not."""
    asked, said, other = static.encode(
        [
            "How long is my vacation?",
            "Employees get 25 days of holiday a year.",
            "Merge requests need two reviews.",
        ]
    )
    assert asked @ said > asked @ other + 0.1


def test_words_are_texts_of_one_word(static: Static) -> None:
    """A word's row is what the same word has as a text; none and blank ones have no direction."""
    rows = static.embed_words(["vacation", "semester", "", "vacation"])
    assert np.array_equal(rows[[0, 1]], static.encode(["vacation", "semester"]))
    assert np.array_equal(rows[0], rows[3])
    assert not rows[2].any()
    assert static.embed_words([]).shape == (0, 256)


def test_a_common_word_tells_less_than_a_rare_one(static: Static) -> None:
    """By the length of its vector, 0..1; what is not there tells nothing."""
    common, rarer, rare = map(static.weigh_word, ("people", "invoice", "zygomorphic"))
    assert 0 < common < rarer < rare == 1
    assert static.weigh_word("") == static.weigh_word(" ") == 0


@pytest.mark.parametrize("layers", [1, 8])
def test_many_words_are_held_as_tokens_and_compared_alike(
    static: Static, layers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word of several tokens, one of none, half of a character, and one that is longer than a text.

    Also where words have more tokens than are added side by side.
    """
    monkeypatch.setattr("agent.embedding.static._TOGETHER", 3)
    monkeypatch.setattr("agent.embedding.static._LAYERS", layers)
    words = ["", "zebra", "fjällräv", "", "unbelievably", "\ud800", "x" * 100_000, "cost", ""]
    rows = static.embed_words(words)
    few = static.hold_words(words)
    monkeypatch.setattr("agent.embedding.static._FEW", 2 * len(words))
    many = static.hold_words(words * 3)
    assert isinstance(many, module.TokenizedWords)
    assert not isinstance(few, module.TokenizedWords)
    assert len(many._table) < 50  # tokens of these words alone
    for row in (*rows, static.embed_words(["price"])[0]):
        assert few.cosines(row) == pytest.approx(rows @ row)
        assert many.cosines(row)[: len(words)] == pytest.approx(rows @ row, abs=1e-6)
        assert many.cosines(row)[-len(words) :] == pytest.approx(rows @ row, abs=1e-6)


def test_words_that_were_held_are_not_split_again(static: Static, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next start takes their tokens over, and compares alike; what does not fit them is split as ever."""
    monkeypatch.setattr("agent.embedding.static._FEW", 3)
    words = ["", "zebra", "fjällräv", "unbelievably", "\ud800", "x" * 100_000, "cost"]
    held = static.hold_words(words)
    content = static.pack_words(words)
    assert static.pack_words([*words]) == b""  # not the list that was held
    row = static.embed_words(["price"])[0]
    large = np.uint32(len(static._table)).tobytes()
    for wrong in (b"", content[:-1], content[1:], content[:-4] + large, content + b"1234", b"1"):
        static.hold_words([*words])
        static.adopt_words(words, wrong)
        assert static.pack_words(words) == b""
    static.adopt_words(words, content)
    assert static.pack_words(words) == content
    with monkeypatch.context() as patch:
        patch.setattr(static._splitter, "_split", None)
        again = static.hold_words(words)
    assert np.array_equal(again.cosines(row), held.cosines(row))
    words.append("more")
    assert static.pack_words(words) == b""


def test_words_that_are_added_to_a_held_list_are_split_alone(
    static: Static, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edited page of a large knowledge base costs its new words, and the list is held as if it were new."""
    monkeypatch.setattr("agent.embedding.static._FEW", 3)
    words = ["zebra", "", "fjällräv", "unbelievably"]
    static.hold_words(words)
    words += ["quagga", "zebra", ""]
    asked: list[str] = []
    split = static._splitter.split

    def split_and_note(word: str) -> list[int]:
        asked.append(word)
        return split(word)

    monkeypatch.setattr(static._splitter, "split", split_and_note)
    grown = static.hold_words(words)
    content = static.pack_words(words)
    assert asked == ["quagga", "zebra"]
    whole = static.hold_words([*words])
    row = static.embed_words(["price"])[0]
    assert np.array_equal(grown.cosines(row), whole.cosines(row))
    static.adopt_words(words, content)
    assert static.pack_words(words) == content


def test_only_so_many_words_are_remembered(static: Static, monkeypatch: pytest.MonkeyPatch) -> None:
    """A knowledge base of endless words does not fill the memory, and the rows stay right."""
    monkeypatch.setattr(module, "EMBED_WORDS_KEPT", 10)
    monkeypatch.setattr(static, "_tokens_of", module._WordTokens(static._splitter))
    words = [f"word{number}" for number in range(35)]
    rows = static.embed_words(words)
    assert len(static._tokens_of) <= 10
    assert np.array_equal(static.embed_words(words), rows)


@pytest.mark.parametrize("texts", [["many words " * 40] * 5, ["word"] * 400, [""] * 400])
def test_it_stops_soon_when_nobody_waits(static: Static, texts: list[str]) -> None:
    """Between some sixty words it is asked, whether they stand in one text or in many."""
    asked = count()
    with pytest.raises(GivenUp):
        static.encode(texts, given_up=lambda: next(asked) == 2)
    assert next(asked) == 3


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ("no tokenizer", "is missing"),
        ("tokenizer", "cannot be read"),
        ("table", "no table of token vectors"),
        ("short", "more tokens than there are vectors"),
    ],
)
def test_files_that_do_not_fit_are_said(tmp_path: Path, broken: str, says: str) -> None:
    """One line names the file that is missing or is not what it should be."""
    table = np.zeros((9, 4) if broken == "short" else (9,), np.float16)
    save_file({"embedding.weight": table}, tmp_path / WEIGHTS)
    if broken == "tokenizer":
        save_file({"embedding.weight": np.zeros((9, 4), np.float16)}, tmp_path / WEIGHTS)
        (tmp_path / TOKENIZER).write_bytes(b"\xff{")
    elif broken != "no tokenizer":
        (tmp_path / TOKENIZER).write_bytes((PACKAGE / TOKENIZER).read_bytes())
    with pytest.raises(UsageError, match=says) as said:
        Static(Folder(tmp_path))
    assert "\n" not in str(said.value)


@pytest.mark.proof
def test_it_is_what_the_package_itself_makes(static: Static) -> None:
    """WordLlama's own code gives the same rows for the same texts, in a process of its own."""
    texts = [" ".join(text.split()) for text in TEXTS]
    program = f"""
import json, sys
import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from wordllama.config import Config
from wordllama.inference import WordLlamaInference
table = load_file({str(PACKAGE / WEIGHTS)!r})["embedding.weight"]
tokenizer = Tokenizer.from_file({str(PACKAGE / TOKENIZER)!r})
made = WordLlamaInference(table.astype(np.float32), Config.l2_supercat, tokenizer)
print(json.dumps([made.embed([text], norm=True)[0].tolist() for text in json.load(sys.stdin)]))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(texts), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert np.abs(static.encode(texts) - np.array(json.loads(ran.stdout))).max() < 1e-5


@pytest.mark.proof
def test_all_words_of_a_knowledge_base_take_a_moment() -> None:
    """20,000 words that were never seen: 0.15 to 0.3 s of CPU; the same again: half of that."""
    static = Static(Folder(PACKAGE))
    words = [
        f"{stem}{end}"
        for stem in _stems(2_000)
        for end in ("", "s", "ing", "arna", "et", "en", "2", "or", "al", "d")
    ]
    spent = [measure_cpu(lambda: static.embed_words(words)) for _ in range(2)]
    assert len(set(words)) == 20_000
    assert spent[0] < 0.6
    assert spent[1] < 0.4


def _stems(number: int) -> list[str]:
    draw = np.random.default_rng(1)
    return sorted({"".join(draw.choice(list("bdfgklmnprstaeiouåä"), 6)) for _ in range(number * 2)})[:number]


def test_a_text_that_was_compared_before_is_not_embedded_again(
    static: Static, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cosine is the same; texts of one call may be new and known, in any order."""
    texts = ["a zebra eats grass", "the price of a train", "", "an invoice for a horse"]
    question = static.encode(["what does a zebra eat"], "question")[0]
    expected = (static.encode(texts) @ question).tolist()
    asked: list[int] = []

    def text_of(at: int) -> str:
        asked.append(at)
        return texts[at]

    keys = [(static, at) for at in range(4)]
    assert static.compare_texts(question, keys[1:2], lambda at: texts[1]) == pytest.approx(expected[1:2])
    assert static.compare_texts(question, keys, text_of) == expected
    assert asked == [0, 2, 3]
    assert static.compare_texts(question, keys, text_of) == expected
    assert static.compare_texts(question, keys[::-1], text_of) == pytest.approx(expected[::-1])
    assert asked == [0, 2, 3]
    assert static.compare_texts(question, [], text_of) == []
