"""Texts into a model's tokens, as its `tokenizer.json` says."""

from tokenizers import Tokenizer

from ..errors import UsageError


def read_tokenizer(content: bytes, place: str) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json, which neither pads nor cuts, and to which a text holds no commands.

    place: the file's name, for messages. Raises UsageError when it is none. The library keeps Python's lock while it
    reads, so every other thread waits: 0.04 s a megabyte, once.
    """
    try:
        tokenizer = Tokenizer.from_buffer(content)
    except ValueError as error:
        raise UsageError(f"{place} cannot be read: {error}") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # a text's own "[SEP]" or "<s>" is text
    return tokenizer
