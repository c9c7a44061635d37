"""Texts are split into the tokens that Hugging Face's `tokenizers` finds, whose files these are."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from agent.embedding.static import TOKENIZER
from agent.embedding.tokens import TokenSplitter
from agent.errors import UsageError
from tests.examples import sample

from .small import WORDS, tokenizer

KB = Path(__file__).parents[2] / "kb"
SPECIAL = ["<s>", "<pad>", "</s>", "[UNK]", "[CLS]", "[SEP]", "<unk>"]
ODD = (
    "",
    "   ",
    " a  b\tc\n\nd\u00a0e\u2003f ",
    "[CLS] <s>struck out</s> [SEP] [UNK] <0x0A> ▁ ▁▁a ##ing",
    "refunds@example.com 😀😀 ᚠᚢ 中文字 e\u0301 \u0301 ﬁ ① ǅ İ ß \u00ad \x00 \ufffd x²",
    "नमस्ते ไทย 한국어 Ελληνικά русский עברית العربية",
    "a" * 300,
    "1 200 000,50 kr - 3.14159e-10 -- 2026-07-01T00:00:00Z",
)


def read_texts() -> list[str]:
    """Return the lines of the example documents, English and Swedish, and odd ones."""
    lines = {line for file in sorted(KB.rglob("*.md")) for line in file.read_text("utf-8").splitlines()}
    return [*sorted(lines), *ODD]


TEXTS = read_texts()


def read_static() -> Tokenizer:
    """Return the tokenizer of the static vectors."""
    spec = find_spec("agent_wordllama")
    assert spec is not None
    package = Path(next(iter(spec.submodule_search_locations or ())))
    return Tokenizer.from_file(str(package / TOKENIZER))


def train_bert(lower: bool) -> Tokenizer:
    """Return a tokenizer of the kind of BERT's, MiniLM's among them."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lower)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(
        TEXTS, trainers.WordPieceTrainer(vocab_size=900, special_tokens=SPECIAL, show_progress=False)
    )
    made.post_processor = processors.BertProcessing(("[SEP]", 5), ("[CLS]", 4))
    return made


def train_roberta() -> Tokenizer:
    """Return a tokenizer of the kind of RoBERTa's."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        TEXTS,
        trainers.BpeTrainer(
            vocab_size=900, special_tokens=SPECIAL, initial_alphabet=letters, show_progress=False
        ),
    )
    made.post_processor = processors.Sequence(
        [processors.ByteLevel(), processors.RobertaProcessing(("</s>", 2), ("<s>", 0))]
    )
    return made


def train_xlm_roberta() -> Tokenizer:
    """Return a tokenizer of the kind of XLM-RoBERTa's."""
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("  ", " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.train_from_iterator(
        TEXTS,
        trainers.UnigramTrainer(
            vocab_size=900, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
        ),
    )
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="$A $B", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return made


def compare(made: Tokenizer) -> Iterator[tuple[str, list[int], list[int]]]:
    """Yield each text whose tokens differ, with both lists of ids."""
    splitter = TokenSplitter(made.to_str().encode(), "tokenizer.json")
    made.no_padding()
    made.no_truncation()
    made.encode_special_tokens = True
    assert splitter.size == made.get_vocab_size()
    for text in TEXTS:
        plain = made.encode(text, add_special_tokens=False).ids
        if splitter.split(text) != plain:
            yield text, splitter.split(text), plain
        elif plain:
            assert splitter.split_whole(text, 10_000) == made.encode(text).ids
        else:
            assert splitter.split_whole(text, 10_000) == []


@pytest.mark.parametrize(
    "made",
    sample(
        [
            read_static,
            lambda: train_bert(lower=False),
            lambda: train_bert(lower=True),
            train_xlm_roberta,
            train_roberta,
        ],
        2,
    ),
    ids=["static", "bert-cased", "bert", "xlm-roberta", "roberta"],
)
def test_the_tokens_are_those_of_the_files_own_library(made: Any) -> None:
    """In two languages and other scripts, with spaces of all kinds; what is written like a special token is text."""
    assert list(compare(made())) == []


def test_files_of_other_kinds_need_their_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, with the command that installs it."""
    content = train_roberta().to_str().encode()
    monkeypatch.setattr("agent.embedding.tokens.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"^here cannot be read: .*: pip install tokenizers$"):
        TokenSplitter(content, "here")


def test_what_a_file_says_of_padding_and_cutting_is_not_done() -> None:
    """It was saved with that for training; a text is cut where its model ends, special tokens included."""
    splitter = TokenSplitter(json.dumps(tokenizer()).encode(), "tokenizer.json")
    assert splitter.split("price") == [5]
    assert splitter.split_whole("price " * 40, 100) == [2, *[5] * 40, 3]
    assert splitter.split_whole("price " * 40, 9) == [2, *[5] * 7, 3]
    assert (splitter.size, splitter.around) == (len(WORDS), 2)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff{",
        b"{}",
        b"[]",
        json.dumps(tokenizer(model={"type": "Unheard", "vocab": {"a": 0}})).encode(),
        json.dumps(tokenizer(model=tokenizer()["model"] | {"vocab": {}})).encode(),
        json.dumps(tokenizer(post_processor={"type": "Unheard"})).encode(),
        json.dumps(tokenizer(post_processor=tokenizer()["post_processor"] | {"special_tokens": {}})).encode(),
        b"[" * 100_000,
    ],
)
def test_a_file_that_cannot_be_used_is_said_in_one_line(content: bytes) -> None:
    """With its place, whether it is broken or of a kind that is not supported."""
    with pytest.raises(UsageError, match=r"^there/tokenizer\.json cannot be read: [^\n]+$"):
        TokenSplitter(content, "there/tokenizer.json")
