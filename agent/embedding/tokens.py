"""Splits texts into a model's tokens, by its `tokenizer.json`."""

from tokenizers import Tokenizer

from ..errors import UsageError


def read_tokenizer(content: bytes, place: str) -> Tokenizer:
    """Read the tokenizer of a `tokenizer.json`; it neither pads nor cuts, and reads special tokens in a text as text.

    `place`: the file's name, for messages. Raises `UsageError` when `content` is no tokenizer. The library keeps
    Python's lock while it reads, so every other thread waits: 0.04 s a megabyte, once.
    """
    try:
        tokenizer = Tokenizer.from_buffer(content)
    except ValueError as error:
        raise UsageError(f"{place} cannot be read: {error}") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # a text's own "[SEP]" or "<s>" is text
    return tokenizer
