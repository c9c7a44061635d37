"""Defines the fields of an index, and opens tantivy with them, in memory or in a folder that outlives the process.

Strategy: there are five kinds of field, each for one purpose. Their content is cut here, and not by tantivy's
parsers, so that a document and a query are cut alike.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import tantivy

GRAM: Final = 4
"""Letters of a gram."""


def schema_of(
    *,
    terms: Sequence[str] = (),
    grams: Sequence[str] = (),
    names: Sequence[str] = (),
    numbers: Sequence[str] = (),
    ordered: Sequence[str] = (),
) -> tantivy.Schema:
    """Return a schema with the named fields, in this order; an index on disk can only be opened with the same fields.

    `terms`: texts with their terms, such as stems, between white space; searches rank by them.
    `grams`: texts that are cut into 4-grams; searches rank by them. A space before and after each word marks where
    it begins and ends.
    `names`: one term each, such as a file or a scope, to filter and to delete by.
    `numbers`: integers from 0 on, to identify documents and to filter by range.
    `ordered`: integers from 0 on, to filter by many ranges at once, which is four times as fast; nothing reads them.
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
    for name in ordered:
        builder.add_unsigned_field(name, indexed=True)
    return builder.build()


def open_index(schema: tantivy.Schema, folder: Path | None = None) -> tantivy.Index:
    """Return tantivy's index in `folder`, created where there is none; in memory without `folder`.

    Raises ValueError or OSError.
    """
    index = tantivy.Index(schema) if folder is None else tantivy.Index(schema, path=os.fspath(folder))
    index.register_tokenizer("gram", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(GRAM, GRAM)).build())
    return index
