"""The chat page's words: both languages say the same things, and every code of the wire has its sentence."""

import re
from importlib.resources import files
from typing import get_args, get_type_hints

from agent.protocol.outbound import ActionClosed, Error

SOURCE = files("agent.server").joinpath("static", "words.js").read_text(encoding="utf-8")
KEY = re.compile(r"^ +([A-Za-z_0-9]+):|[{,] ([a-z_]+): \"", re.MULTILINE)


def language(name: str) -> str:
    """Return the source of one language's table."""
    return SOURCE.split(f"const {name} = {{")[1].split("\n};")[0]


def keys(source: str) -> list[str]:
    """Return every key in a table, in its order."""
    return [first or second for first, second in KEY.findall(source)]


def group(name: str, source: str) -> set[str]:
    """Return the keys of one group in a table."""
    return set(keys(source.split(f"  {name}: {{", 1)[1].split("}", 1)[0]))


def test_both_languages_have_the_same_keys() -> None:
    """Nothing is left untranslated."""
    assert len(keys(language("en"))) > 50
    assert keys(language("en")) == keys(language("sv"))


def test_every_code_of_the_wire_has_its_words() -> None:
    """Errors, refusals and closings; a new one must be worded before it is sent."""
    codes = set(get_args(get_type_hints(Error)["code"]))
    reasons = set(get_args(get_type_hints(ActionClosed)["reason"]))
    assert codes <= group("error", language("en"))
    assert reasons <= group("closed", language("en"))
    assert group("blocked", language("en")) == {"no_sources", "number_mismatch", "model_failed"}
