"""Splits texts into a model's tokens, by its `tokenizer.json`.

Strategy: the two kinds of files whose weights are installed by name are read here: the byte-pair encoding of the static
vectors, and the WordPiece of BERT and MiniLM. Their tokens are those of Hugging Face's `tokenizers`, whose package
brings a client of their hub (tests compare them; a BERT's may differ for characters that Unicode has assigned lately).
Files of other kinds, of a model that an operator names by its folder, are read by `tokenizers` where it is installed.

The padding and the cutting that a file asks for are for training and are left out. A special token that
is written in a text ("[SEP]", "<s>") is text; the special tokens around a text are read from the file's post-processor.
"""

import heapq
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

import msgspec

from ..errors import UsageError

_SPACE = "\u2581"  # stands for a space in the tokens of a byte-pair encoding
_CHINESE = (  # ideographs, each of which is a word for BERT
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SETTINGS_OF_BERT = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
_PAIR_ENCODING = {"byte_fallback": True, "ignore_merges": False, "dropout": None}
_PAIR_NORMALIZERS = [
    {"type": "Prepend", "prepend": _SPACE},
    {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE},
]

_PARTS_KEPT = 16_384  # parts of words whose tokens are cached, some 200 bytes each
_FEW = 64  # characters that are joined without a heap
_NO_TOKEN = 1 << 40  # after every rank

_Split: TypeAlias = Callable[[str], list[int]]


class TokenSplitter:
    """Splits texts by the content of a `tokenizer.json`; threads may share it.

    `size`: the largest id of a token, and one. `around`: the number of special tokens that `split_whole` adds. `place`:
    the file's name, for messages. Raises `UsageError`, one line, when `content` is no tokenizer, or of a kind whose
    library is not installed.
    """

    def __init__(self, content: bytes, place: str) -> None:
        try:
            file = msgspec.json.decode(content, type=_TokenizerFile)
            self._before, self._after = _find_ends(file.post_processor)
            self._split = _make_pair_splitter(file) or _make_word_splitter(file) or _load_splitter(content)
        except (ValueError, RecursionError, KeyError) as error:
            raise UsageError(f"{place} cannot be read: {error}") from None
        self.size = 1 + max([file.model.last_id, *[token.id for token in file.added_tokens]])
        self.around = len(self._before) + len(self._after)

    def split(self, text: str) -> list[int]:
        """Return the ids of the tokens of `text`, which holds no lone surrogates."""
        return self._split(text)

    def split_whole(self, text: str, longest: int) -> list[int]:
        """Return the first tokens of `text` with the special tokens around them, `longest` in all.

        [] when `text` has no tokens. `longest` is more than `around`.
        """
        tokens = self._split(text)
        return [*self._before, *tokens[: longest - self.around], *self._after] if tokens else []


def _make_pair_splitter(file: "_TokenizerFile") -> _Split | None:
    """Return the splitter of a byte-pair encoding whose merges make its tokens in their order; else None."""
    model, normalizer = file.model, file.normalizer
    if model.type != "BPE" or not isinstance(model.vocab, dict) or file.pre_tokenizer is not None:
        return None
    if normalizer is None or normalizer.get("normalizers") != _PAIR_NORMALIZERS:
        return None
    if any(getattr(model, name) != value for name, value in _PAIR_ENCODING.items()):
        return None
    return _PairSplitter(model.vocab).split


class _PairSplitter:
    """Joins the characters of a text to longer and longer tokens, first to those with the lowest ids.

    Tokens of several spaces come last. A character without a token is split into its bytes. `vocabulary`: token -> id.

    No token reaches over a border between two characters that stand side by side in no token, such as a letter and a
    comma. So the parts between such borders are joined one by one, and the latest of them are cached.
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._neighbours = {token[at : at + 2] for token in vocabulary for at in range(len(token) - 1)}
        self._split_part = lru_cache(_PARTS_KEPT)(self._join_characters)
        spaces = {token: id + len(vocabulary) for token, id in vocabulary.items() if not token.strip(_SPACE)}
        self._ranks = {**vocabulary, **spaces}  # the order in which tokens are made

    def split(self, text: str) -> list[int]:
        """Return the ids of the tokens of `text`; the work grows a little faster than the text."""
        if not text:
            return []
        text = f"{_SPACE}{text}".replace(" ", _SPACE)
        neighbours = self._neighbours
        tokens: list[int] = []
        start = 0
        for end in range(1, len(text)):
            if text[end - 1 : end + 1] not in neighbours:
                tokens += self._split_part(text[start:end])
                start = end
        tokens += self._split_part(text[start:])
        return tokens

    def _join_characters(self, text: str) -> list[int]:
        """Return the ids of the tokens of a text by joining its characters."""
        vocabulary = self._vocabulary
        parts: list[str] = []
        for character in text:
            if character in vocabulary:
                parts.append(character)
            else:
                parts += [f"<0x{byte:02X}>" for byte in character.encode()]
        (self._join_few if len(parts) <= _FEW else self._join_many)(parts)
        return [vocabulary[part] for part in parts if part]

    def _join_few(self, parts: list[str]) -> None:
        """Join `parts` in place, which takes the square of their number, and less than a heap for those of a word."""
        get = self._ranks.get
        ranks = [get(one + other, _NO_TOKEN) for one, other in pairwise(parts)]
        while ranks and (lowest := min(ranks)) != _NO_TOKEN:
            place = ranks.index(lowest)
            parts[place] += parts.pop(place + 1)
            del ranks[place]
            if place:
                ranks[place - 1] = get(parts[place - 1] + parts[place], _NO_TOKEN)
            if place < len(ranks):
                ranks[place] = get(parts[place] + parts[place + 1], _NO_TOKEN)

    def _join_many(self, parts: list[str]) -> None:
        """Join `parts` in place, with a heap of pairs; "" stands for a part that was joined to the one before it."""
        get = self._ranks.get
        following = [*range(1, len(parts)), -1]
        before = [*range(-1, len(parts) - 1)]
        pairs = [
            (rank, place)
            for place, (one, other) in enumerate(pairwise(parts))
            if (rank := get(one + other)) is not None
        ]
        heapq.heapify(pairs)
        while pairs:
            rank, place = heapq.heappop(pairs)
            after = following[place]
            if after < 0 or not parts[place] or get(parts[place] + parts[after]) != rank:
                continue  # one of its parts has become a part of another token
            parts[place] += parts[after]
            parts[after] = ""
            following[place] = end = following[after]
            if end >= 0:
                before[end] = place
            for left, right in ((before[place], place), (place, end)):
                if left >= 0 and right >= 0 and (rank := get(parts[left] + parts[right])) is not None:
                    heapq.heappush(pairs, (rank, left))


def _make_word_splitter(file: "_TokenizerFile") -> _Split | None:
    """Return the splitter of a BERT's WordPiece; None for a file of another kind."""
    model, normalizer, pre_tokenizer = file.model, file.normalizer or {}, file.pre_tokenizer or {}
    is_of_bert = (
        model.type == "WordPiece"
        and isinstance(model.vocab, dict)
        and model.continuing_subword_prefix == "##"
        and normalizer.get("type") == "BertNormalizer"
        and all(normalizer.get(name) == value for name, value in _SETTINGS_OF_BERT.items())
        and pre_tokenizer.get("type") == "BertPreTokenizer"
    )
    if not is_of_bert or not isinstance(model.vocab, dict):
        return None
    return _WordSplitter(
        model.vocab,
        unknown=model.vocab[model.unk_token or ""],
        longest=model.max_input_chars_per_word,
        lower=normalizer.get("lowercase") is True,
    ).split


class _WordSplitter:
    """Splits words into the longest tokens from the left, as BERT does; a word with no such tokens is unknown.

    `vocabulary`: token -> id. `unknown`: the id of an unknown word. `longest`: characters of a word, beyond which it is
    unknown. `lower`: whether texts are read in small letters without accents.
    """

    def __init__(self, vocabulary: Mapping[str, int], unknown: int, longest: int, lower: bool) -> None:
        self._vocabulary = vocabulary
        self._unknown = unknown
        self._longest = longest
        self._lower = lower

    def split(self, text: str) -> list[int]:
        """Return the ids of the tokens of `text`."""
        return [id for word in self._find_words(text) for id in self._split_word(word)]

    def _find_words(self, text: str) -> Iterator[str]:
        """Yield the words of `text`, each mark and each ideograph alone."""
        if not text.isascii():
            text = "".join([f" {each} " if _is_chinese(each) else each for each in text if _is_text(each)])
            if self._lower:
                text = "".join(
                    [
                        each
                        for each in unicodedata.normalize("NFD", text)
                        if unicodedata.category(each) != "Mn"
                    ]
                )
        else:
            text = "".join(filter(_is_text, text)) if not text.isprintable() else text
        if self._lower:
            text = "".join(
                [each.lower() for each in text]
            )  # each alone: the last sigma of a word is no other letter
        for run in text.split():
            start = 0
            for place, character in enumerate(run):
                if _is_mark(character):
                    if start < place:
                        yield run[start:place]
                    yield character
                    start = place + 1
            if start < len(run):
                yield run[start:]

    def _split_word(self, word: str) -> list[int]:
        if len(word) > self._longest:
            return [self._unknown]
        tokens: list[int] = []
        start, end, prefix = 0, len(word), ""
        while start < end:
            id = self._vocabulary.get(prefix + word[start:end])
            if id is None:
                end -= 1
                continue
            tokens.append(id)
            start, end, prefix = end, len(word), "##"
        return tokens if start == len(word) else [self._unknown]


def _is_text(character: str) -> bool:
    """Tell whether BERT reads a character: no control character but white space, and no replacement."""
    return character in "\t\n\r" or (
        character not in "\0\ufffd" and not unicodedata.category(character).startswith("C")
    )


def _is_chinese(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _CHINESE)


def _is_mark(character: str) -> bool:
    return character in _ASCII_PUNCTUATION or unicodedata.category(character).startswith("P")


def _load_splitter(content: bytes) -> _Split:
    """Return the splitter that `tokenizers` makes of a file. Raises `ValueError`."""
    if find_spec("tokenizers") is None:
        raise ValueError("its kind is read by another package: pip install tokenizers")
    # Imported by name, since it is not installed with this project.
    tokenizer = import_module("tokenizers").Tokenizer.from_buffer(content)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True

    def split(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    return split


class _AddedToken(msgspec.Struct):
    id: int


class _TokenModel(msgspec.Struct, kw_only=True):
    """The model of a file; of a Unigram, `vocab` is a list."""

    type: str
    vocab: (
        Annotated[dict[str, int], msgspec.Meta(min_length=1)]
        | Annotated[list[msgspec.Raw], msgspec.Meta(min_length=1)]
    )
    unk_token: str | None = None
    byte_fallback: bool = False
    ignore_merges: bool = False
    dropout: float | None = None
    continuing_subword_prefix: str | None = None
    max_input_chars_per_word: int = 100

    @property
    def last_id(self) -> int:
        """The largest id of a token."""
        return max(self.vocab.values()) if isinstance(self.vocab, dict) else len(self.vocab) - 1


class _TemplatePiece(msgspec.Struct):
    id: str


class _SpecialToken(msgspec.Struct):
    ids: list[int]


class _Template(msgspec.Struct, tag="TemplateProcessing"):
    single: list[dict[str, _TemplatePiece]]
    special_tokens: dict[str, _SpecialToken]


class _BertEnds(msgspec.Struct, tag="BertProcessing"):
    cls: tuple[str, int]
    sep: tuple[str, int]


class _RobertaEnds(_BertEnds, tag="RobertaProcessing"):
    pass


class _ByteLevel(msgspec.Struct, tag="ByteLevel"):
    pass


class _StepSequence(msgspec.Struct, tag="Sequence"):
    processors: list["_PostProcessor"]


_PostProcessor: TypeAlias = _Template | _BertEnds | _RobertaEnds | _ByteLevel | _StepSequence


class _TokenizerFile(msgspec.Struct):
    model: _TokenModel
    added_tokens: list[_AddedToken] = []
    normalizer: dict[str, Any] | None = None
    pre_tokenizer: dict[str, Any] | None = None
    post_processor: _PostProcessor | None = None


def _find_ends(step: _PostProcessor | None) -> tuple[list[int], list[int]]:
    """Return the special tokens before and after each text."""
    match step:
        case _Template():
            before: list[int] = []
            after: list[int] = []
            side = before
            for part in step.single:
                if "SpecialToken" in part:
                    side += step.special_tokens[part["SpecialToken"].id].ids
                else:
                    side = after
            return before, after
        case _BertEnds():
            return [step.cls[1]], [step.sep[1]]
        case _StepSequence():
            return next(filter(any, map(_find_ends, step.processors)), ([], []))
    return [], []
