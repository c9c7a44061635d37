"""Splits texts into a model's tokens, by its `tokenizer.json`.

Strategy: `kitoken` reads the format of Hugging Face's `tokenizers` and needs no client of their hub. It finds the same
tokens (tests compare them), except for splits of equal score in a Unigram vocabulary, for the name of the unknown token
inside of a word (`a<unk>b`), and, where a BERT's file normalises texts, for characters that Unicode has not assigned or
has only lately. The padding and the cutting that a file asks for are for training and are left out. Its special tokens
are removed from those that are recognised, so that a text's own "[SEP]" or "<s>" is text; the tokens around a text are
read from its post-processor.
"""

from typing import Annotated, TypeAlias

import msgspec
from kitoken import Kitoken

from ..errors import UsageError


class TokenSplitter:
    """Splits texts by the content of a `tokenizer.json`; threads may share it.

    `size`: the largest id of a token, and one. `around`: the number of special tokens that `split_whole` adds. `place`:
    the file's name, for messages. Raises `UsageError`, one line, when `content` is no tokenizer of a kind that is
    supported. The library keeps Python's lock while it reads, so every other thread waits: 0.03 s a megabyte, once.
    """

    def __init__(self, content: bytes, place: str) -> None:
        try:
            file = msgspec.json.decode(content, type=_TokenizerFile)
            self._before, self._after = _find_ends(file.post_processor)
            parts = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
            added = [
                token for token in file.added_tokens if not token.special or file.model.is_unknown(token)
            ]
            parts |= {name: msgspec.Raw(b"null") for name in ("padding", "truncation", "post_processor")}
            parts["added_tokens"] = msgspec.Raw(msgspec.json.encode(added))
            self._splitter = Kitoken.from_tokenizers(msgspec.json.encode(parts))
        except (ValueError, RecursionError, KeyError) as error:
            raise UsageError(f"{place} cannot be read: {error}") from None
        self.size = 1 + max(file.model.last_id, *(token.id for token in file.added_tokens), 0)
        self.around = len(self._before) + len(self._after)

    def split(self, text: str) -> list[int]:
        """Return the ids of the tokens of `text`, which holds no lone surrogates."""
        return self._splitter.encode(text)

    def split_whole(self, text: str, longest: int) -> list[int]:
        """Return the first tokens of `text` with the special tokens around them, `longest` in all.

        [] when `text` has no tokens. `longest` is more than `around`.
        """
        tokens = self._splitter.encode(text)
        return [*self._before, *tokens[: longest - self.around], *self._after] if tokens else []


class _AddedToken(msgspec.Struct, kw_only=True):
    id: int
    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False


class _TokenModel(msgspec.Struct):
    """The vocabulary of a file. The library ends the process for one without tokens, so none has fewer than one."""

    vocab: Annotated[dict[str, int], msgspec.Meta(min_length=1)]
    unk_token: str | None = None

    @property
    def last_id(self) -> int:
        """The largest id of a token."""
        return max(self.vocab.values())

    def is_unknown(self, token: _AddedToken) -> bool:
        """Return whether `token` stands for text that has no token; the library wants it among the added ones."""
        return token.content == self.unk_token


class _Bpe(_TokenModel, tag="BPE"):
    pass


class _WordPiece(_TokenModel, tag="WordPiece", kw_only=True):
    continuing_subword_prefix: Annotated[str, msgspec.Meta(min_length=1)]


class _Unigram(msgspec.Struct, tag="Unigram"):
    vocab: Annotated[list[tuple[str, float]], msgspec.Meta(min_length=1)]
    unk_id: int | None = None

    @property
    def last_id(self) -> int:
        """The largest id of a token."""
        return len(self.vocab) - 1

    def is_unknown(self, token: _AddedToken) -> bool:
        """Return whether `token` stands for text that has no token."""
        return token.id == self.unk_id


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
    model: _Bpe | _WordPiece | _Unigram
    added_tokens: list[_AddedToken] = []
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
