"""The chat page's words: whatever the page says and the wire sends has its words, in every language."""

import ast
import json
import re
from dataclasses import fields
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import quickjs

from agent.lang import LANGUAGES
from agent.lang.acting import Keywords
from agent.lang.inbox import InboxEvents, InboxReasons, InboxRisks, InboxSources, InboxStatuses
from agent.lang.page import ActionTexts, Blockings, Confidences, Ends, Errors, ProgressTexts
from agent.ports.calls import CallStatus
from agent.ports.inbox import DecisionEvent
from agent.ports.tools import Risk
from agent.protocol.outbound import ActionClosed, Error, ProgressStep, Response
from agent.server.page_languages import make_inbox_script, make_script
from agent.session.actions import NOT_APPROVED
from agent.storage.call_groups import LEASE_LOST
from agent.storage.rows import LOST
from agent.tools.policy import ApprovalReason
from agent.tools.sources import SourceKind

STATIC = files("agent.server").joinpath("static")
PAGE = {
    each.name: each.read_text(encoding="utf-8") for each in STATIC.iterdir() if not each.name.endswith(".svg")
}
INBOX_SAID = re.compile(r"(?<!\.)texts\(\)\.(\w+)|data-(?:text|aria)=\"(\w+)\"")
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


def test_every_word_that_the_approvers_page_says_is_given_in_every_language() -> None:
    """By the name that its scripts have for it, and none that they do not say."""
    script, sources = make_inbox_script().decode(), [PAGE[name] for name in PAGE if name.startswith("inbox")]
    languages = json.loads(script.partition("LANGUAGES = ")[2].partition(";\nexport")[0])
    wanted = {found[1] or found[2] for source in sources for found in INBOX_SAID.finditer(source)}
    by_name = {"accept", "edit", "reject", "answer", "days", "hours", "minutes", "seconds", "time", "call"}
    by_name |= {"event", "tool", "approver", "key", "user", "hash", "because"}  # columns
    assert list(languages) == list(LANGUAGES)
    for language in languages.values():
        assert wanted | by_name == set(language["words"])
    assert names(InboxStatuses) == set(get_args(CallStatus))
    assert names(InboxEvents) == set(get_args(DecisionEvent))
    assert names(InboxRisks) == set(get_args(Risk))
    assert names(InboxSources) == set(get_args(SourceKind))
    assert names(InboxReasons) == set(get_args(ApprovalReason))


def test_every_code_of_the_wire_has_its_words() -> None:
    """Errors, refusals, closings and actions; a new one must be worded before it is sent."""
    assert names(Errors) == set(get_args(get_type_hints(Error)["code"]))
    assert names(Ends) == set(get_args(get_type_hints(ActionClosed)["reason"]))
    assert names(Confidences) == set(get_args(get_args(get_type_hints(Response)["confidence"])[0]))
    assert names(Blockings) == {"no_sources", "memory_unread", "number_mismatch", "model_failed"}
    assert names(ActionTexts) == names(Keywords)
    assert names(ProgressTexts) == set(get_args(ProgressStep))


MAKERS = ("ActionFailed", "ActionUnknown", "_failed_ending", "_unknown_ending")


def sentence(node: ast.expr, module: ModuleType) -> str | None:
    """Return the sentence that an expression makes, with 7 for a part that differs; None for a tool's own words."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(str(each.value) if isinstance(each, ast.Constant) else "7" for each in parts)
        case ast.Name(id=name):
            return str(getattr(module, name))
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="format")):
            return re.sub(r"\{\w+\}", "7", str(getattr(module, name)))
        case ast.IfExp(body=body, orelse=other):
            return f"{sentence(body, module)}\n{sentence(other, module)}"
    return None


def outcome_sentences() -> set[str]:
    """Return every sentence of the server's own about the outcome of an action."""
    found = {str(each["error"]) for each in (NOT_APPROVED, LEASE_LOST, LOST)}
    for path in Path(str(files("agent"))).rglob("*.py"):
        source = path.read_text("utf-8")
        if not any(f"{each}(" in source for each in MAKERS):
            continue
        name = ".".join(("agent", *path.relative_to(str(files("agent"))).with_suffix("").parts))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MAKERS and node.args:
                found |= set((sentence(node.args[0], import_module(name)) or "").split("\n"))
    return found - {""}


def test_every_reason_of_an_outcome_is_said_in_every_language() -> None:
    """What the server says itself, with its numbers; what a tool says stays in the tool's words."""
    told = outcome_sentences()
    assert len(told) > 20
    context = quickjs.Context()
    context.eval(
        re.sub(r"^import .*;\n|^export ", "", make_script().decode() + PAGE["words.js"], flags=re.MULTILINE)
    )

    def said(text: str, code: str) -> str:
        return str(context.eval(f"reworded({json.dumps(text)}, WORDS[{json.dumps(code)}].reasons)"))

    for code in LANGUAGES:
        assert {text for text in told if said(text, code) == text} == (told if code == "en" else set())
    assert said("The webhook refused the action (status 404).", "sv").endswith("(status 404).")
    assert said("The tool failed: Ordern finns inte.", "sv") == "Verktyget misslyckades: Ordern finns inte."
    assert said("Ordern finns inte.", "sv") == "Ordern finns inte."


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
    long = json.loads(context.eval("JSON.stringify(Object.values(WORDS).map((w) => w.embed.long(8000)))"))
    assert long == [
        "Only the first 8000 characters fit in a question.",
        "Bara de första 8000 tecknen får plats i en fråga.",
    ]
