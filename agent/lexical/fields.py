"""The fields of an index, and how tantivy is opened for it: in memory, or in a folder that it can be found in again.

Strategy: there are four kinds of field, each for one thing. What is in them is cut here, and not by tantivy's parsers,
so that a document and a query are cut alike.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import tantivy

GRAM: Final = 4
"""Letters of a 4-gram."""


def schema_of(
    *,
    terms: Sequence[str] = (),
    grams: Sequence[str] = (),
    names: Sequence[str] = (),
    numbers: Sequence[str] = (),
) -> tantivy.Schema:
    """Return fields by their names, in this order; an index that was kept can be opened with the same ones only.

    terms: texts whose terms, such as stems, stand between white space. grams: texts that are cut into 4-grams; a space
    before and after each word tells where it begins and ends. Both are ranked by. names: one term each, such as a file
    or a scope, to filter and to delete by. numbers: whole ones from 0 on, to tell documents and ranges by.
    """
    builder = tantivy.SchemaBuilder()
    for name in terms:
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    for name in grams:
        builder.add_text_field(name, tokenizer_name="gram", index_option="freq")
    for name in names:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in numbers:
        builder.add_unsigned_field(name, fast=True)
    return builder.build()


def opened(schema: tantivy.Schema, folder: Path | None = None) -> tantivy.Index:
    """Return tantivy's index in a folder, a new one where none is; None is in memory. Raises ValueError, OSError."""
    index = tantivy.Index(schema) if folder is None else tantivy.Index(schema, path=os.fspath(folder))
    index.register_tokenizer("gram", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(GRAM, GRAM)).build())
    return index
