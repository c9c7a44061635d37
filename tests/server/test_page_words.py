"""The chat page's words: whatever the page says and the wire sends has its words, in every language."""

import json
import re
from dataclasses import fields
from importlib.resources import files
from typing import Any, get_args, get_type_hints

import quickjs

from agent.lang import LANGUAGES
from agent.lang.language import Keywords
from agent.lang.page import ActionTexts, Blockings, Confidences, Ends, Errors
from agent.protocol.outbound import ActionClosed, Error, Response
from agent.server.page_routes import make_script

STATIC = files("agent.server").joinpath("static")
PAGE = {
    each.name: each.read_text(encoding="utf-8") for each in STATIC.iterdir() if not each.name.endswith(".svg")
}
SAID = re.compile(r"(?<![/\w])words(?:\(\))?\.([A-Za-z]+)|data-(?:word|label)=\"([a-zA-Z]+)\"")


def names(record: type) -> set[str]:
    return {field.name for field in fields(record)}


def given() -> dict[str, Any]:
    """Return the languages as the page is given them."""
    first, rest = make_script().decode().split(";\nexport const DEFAULT = ")
    assert json.loads(rest.rstrip(";\n")) == "en"
    languages: dict[str, Any] = json.loads(first.removeprefix("export const LANGUAGES = "))
    return languages


def test_every_word_that_the_page_says_is_given_in_every_language() -> None:
    """By the name that its scripts have for it."""
    wanted = {found[1] or found[2] for source in PAGE.values() for found in SAID.finditer(source)}
    assert len(wanted) > 30
    languages = given()
    assert list(languages) == list(LANGUAGES)
    for language in languages.values():
        assert wanted <= set(language["words"])


def test_every_code_of_the_wire_has_its_words() -> None:
    """Errors, refusals, closings and actions; a new one must be worded before it is sent."""
    assert names(Errors) == set(get_args(get_type_hints(Error)["code"]))
    assert names(Ends) == set(get_args(get_type_hints(ActionClosed)["reason"]))
    assert names(Confidences) == set(get_args(get_args(get_type_hints(Response)["confidence"])[0]))
    assert names(Blockings) == {"no_sources", "memory_unread", "number_mismatch", "model_failed"}
    assert names(ActionTexts) == names(Keywords)


def test_the_words_are_functions_where_a_number_is_in_them() -> None:
    """And every place for one is filled."""
    context = quickjs.Context()
    source = make_script().decode() + PAGE["words.js"]
    context.eval(re.sub(r"^import .*;\n|^export ", "", source, flags=re.MULTILINE))
    said = json.loads(
        context.eval(
            "JSON.stringify(Object.values(WORDS).map((w) => [w.lines(3, 3), w.lines(3, 4), w.left(5), w.retry(6)]))"
        )
    )
    assert said == [
        ["line 3", "lines 3–4", "5 s left", "Disconnected; trying again in 6 s"],
        ["rad 3", "rad 3–4", "5 s kvar", "Frånkopplad; försöker igen om 6 s"],
    ]
