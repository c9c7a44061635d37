"""A language is a folder of data: what it must have, that nothing else names it, and that one more is spoken."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pytest

import agent.lang
from agent.errors import UsageError
from agent.intents.fields import REQUIRED, describe_action
from agent.lang import (
    DEFAULT,
    LANGUAGES,
    Lang,
    counting,
    dating,
    either,
    inbox,
    load_languages,
    page,
    remembering,
    saying,
    story_page,
    storytelling,
)
from agent.lang import language as records
from agent.lang.language import Language, table
from agent.lexical.stems import stem
from agent.numbers.number_tokens import tokens
from agent.settings import Settings
from agent.text.language import detect_language as detected
from agent.text.words import fold, split_words

from ..test_house import MODULES, nodes
from .toy import DRAFTS, ESPERANTO

RECORDS = [
    each
    for each in {
        **vars(records),
        **vars(counting),
        **vars(dating),
        **vars(page),
        **vars(inbox),
        **vars(story_page),
        **vars(storytelling),
        **vars(remembering),
        **vars(saying),
    }.values()
    if is_dataclass(each) and isinstance(each, type)
]

ELSEWHERE = {
    "embedding/open.py",  # what a model of others was made for
    "voice/engines/espeak.py",  # and so the languages of engines
    "voice/engines/flite.py",
    "voice/engines/recognizers.py",
    "voice/engines/whisper.py",
}
"""Modules that may name a language."""


def strings(record: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text and word of a language, with the names of the fields that it stands in."""
    if is_dataclass(record) and not isinstance(record, type):
        for name, value in table(record).items():
            yield from strings(value, f"{path}.{name}")
    elif isinstance(record, str):
        yield path, record
    else:
        for each in record.values() if hasattr(record, "values") else record:
            yield from strings(each, path)


def test_the_languages_there_are() -> None:
    """By their codes, in order; every edge takes these and no other."""
    assert list(LANGUAGES) == ["en", "sv"] == list(get_args(Lang))
    assert DEFAULT in LANGUAGES
    assert either() == "en or sv"
    with pytest.raises(UsageError, match="lang must be en or sv"):
        Settings.of(lang="da")


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_no_field_has_a_default(record: type) -> None:
    """So a language that lacks one is an error of the type checker, and of the first import."""
    assert len(RECORDS) > 10
    assert [each.name for each in fields(record) if each.default is not MISSING] == []
    assert [each.name for each in fields(record) if each.default_factory is not MISSING] == []
    assert record.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert not hasattr(record, "__dict__") or "__slots__" in vars(record)


def test_a_language_that_lacks_a_field_is_not_made() -> None:
    """The import says which."""
    whole = table(LANGUAGES["sv"])
    for name in whole:
        with pytest.raises(TypeError, match=name):
            Language(**{key: value for key, value in whole.items() if key != name})
    with pytest.raises(ValueError, match="two small letters"):
        Language(**whole | {"code": "swe"})


@pytest.mark.proof
def test_the_type_checker_names_what_a_language_lacks(tmp_path: Path) -> None:
    """Before anything is run."""
    pytest.importorskip("mypy")
    lacking = {name: tmp_path / f"{name}.py" for name in ("refusals", "stated", "counting", "mood")}
    for name, path in lacking.items():
        tree = ast.parse(ESPERANTO)
        call, *_ = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and name in [keyword.arg for keyword in node.keywords]
        ]
        call.keywords = [keyword for keyword in call.keywords if keyword.arg != name]
        path.write_text(ast.unparse(tree), encoding="utf-8")
    root = Path(agent.__file__).parents[1]
    known = root / ".mypy_cache"  # of the whole package, where it has been checked: a tenth of the time
    cache = known if known.is_dir() else tmp_path / "cache"
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(cache), *map(str, lacking.values())],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
    )
    for name, path in lacking.items():
        errors = [line for line in checked.stdout.splitlines() if line.startswith(str(path))]
        assert any(f'argument "{name}" ' in line for line in errors), checked.stdout


@pytest.mark.parametrize(
    ("source", "error", "says"),
    [
        ("", TypeError, r"agent/lang/xx/__init__.py must say LANGUAGE"),
        (ESPERANTO, ValueError, "holds the language eo"),
    ],
)
def test_a_folder_that_is_no_language(
    source: str, error: type[Exception], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, with what it should say."""
    (tmp_path / "xx").mkdir()
    (tmp_path / "xx" / "__init__.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(agent.lang, "__path__", [*agent.lang.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "agent.lang.xx", raising=False)
    try:
        with pytest.raises(error, match=says):
            load_languages(agent.lang.__path__)
    finally:
        sys.modules.pop("agent.lang.xx", None)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_listed_words_are_folded_words(lang: Lang) -> None:
    """As texts are before a word is looked up."""
    language = LANGUAGES[lang]
    listed = (language.writing.function_words, language.telling.words, language.searching.empty_words)
    assert all(listed)
    assert [word for each in listed for word in each if split_words(word) != [word]] == []
    apart = (".keywords", ".calling.regions")  # written as they are
    acting = [text for path, text in strings(language.acting) if not path.startswith(apart)]
    assert len(acting) > 100
    plain = [re.sub(r"\\\w", "", text) for text in acting]  # without the classes of a pattern
    assert [text for text in plain if text != fold(text)] == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_nothing_that_is_said_holds_a_number(lang: Lang) -> None:
    """Nothing is cited for it."""
    language = LANGUAGES[lang]
    said = [
        *strings(language.refusals),
        *strings(language.courtesies.replies),
        *strings(language.quoting),
        *strings(language.prompting),
        *strings(language.completing),
        *strings(language.deciding),
        ("about", language.courtesies.about),
    ]
    assert [(path, text) for path, text in said if tokens(text)] == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_field_of_an_action_has_a_name(lang: Lang) -> None:
    """On the card, in the language of the page."""
    named = table(LANGUAGES[lang].page.field)
    assert [
        name
        for action in REQUIRED
        for name in describe_action(action)[1]["properties"]
        if not named.get(name)
    ] == []


def test_the_folders_hold_data_only() -> None:
    """No function, no class, and no import but of the records and of each other."""
    folders = [name for name in MODULES if name.startswith("lang/") and name.count("/") == 2]
    assert len(folders) > len(LANGUAGES)
    for name in folders:
        for node in ast.walk(MODULES[name]):
            assert not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda | ast.Import), name
            if isinstance(node, ast.ImportFrom):
                assert node.level == 1 or (
                    node.level == 2
                    and node.module
                    in (
                        "acting",
                        "counting",
                        "dating",
                        "inbox",
                        "language",
                        "page",
                        "remembering",
                        "saying",
                        "story_page",
                        "storytelling",
                    )
                ), name


def test_nothing_else_names_a_language() -> None:
    """Wire, settings, command line, index and the language of a text follow from the one list."""
    naming = {
        name
        for name, node in nodes(ast.Constant)
        if isinstance(node, ast.Constant) and node.value in LANGUAGES and not name.startswith("lang/")
    }
    assert naming == ELSEWHERE


def test_a_language_without_a_stemmer_compares_words_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snowball does not know every language."""
    swedish = LANGUAGES["sv"]
    bare = replace(swedish, searching=replace(swedish.searching, stemmer=""))
    assert stem("sv", "kunskapsbaserna") == "kunskapsbas"
    monkeypatch.setattr("agent.lexical.stems.LANGUAGES", {"sv": bare})
    assert stem("sv", "kunskapsbasernas") == "kunskapsbasernas"


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a server with one folder more answered, by what it was asked."""
    folder = tmp_path_factory.mktemp("languages")
    (folder / "eo").mkdir()
    (folder / "eo" / "__init__.py").write_text(ESPERANTO, encoding="utf-8")
    told = subprocess.run(
        [sys.executable, "-m", "tests.lang.toy", str(folder)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert told.returncode == 0, told.stderr
    said: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return said


def test_a_language_is_added_by_a_folder(spoken: dict[str, Any]) -> None:
    """Its pages are read as such; it is asked with its code and without, and answers, refuses and greets in it."""
    prices = "El “Prezoj › Pakaĵoj”:\nLa norma pakaĵo kostas 29 eŭrojn. La granda pakaĵo kostas 59 eŭrojn."
    assert spoken["langs"] == ["eo", "eo", "sv"]
    assert spoken["given"] == spoken["told"] == prices
    assert spoken["refused"] == spoken["by setting"] == "Mi trovas nenion pri tio."
    assert spoken["greeted"] == "Saluton! Demandu min. Ili temas pri:\n• Prezoj"


def test_an_added_language_counts(spoken: dict[str, Any]) -> None:
    """A number in its words is held by the same in words or digits, and by no other, and a unit by no other unit."""
    refused = "Mi ne povas kontroli tion."
    assert spoken["counted"] == [*DRAFTS[:2], refused, refused, refused]


def test_an_added_language_acts(spoken: dict[str, Any]) -> None:
    """On its keywords, unless they are negated in it."""
    assert spoken["acted"] == spoken["not acted"]
    assert spoken["acted"].startswith("El “Prezoj › Pakaĵoj”:\nLa granda pakaĵo kostas 59 eŭrojn.")
    assert spoken["actions"] == ["schedule_callback"]
    assert spoken["payloads"] == [{"phone": "23456789"}]


def test_an_added_language_stands_beside_the_others(spoken: dict[str, Any]) -> None:
    """They are told and spoken as before; page and wire offer it, and the latter names it to who sends another."""
    assert spoken["swedish"] == "Ur ”Öppettider”:\nVi har öppet till klockan 18 på vardagar."
    assert spoken["elsewhere"].startswith("Nur en paĝo en la sveda.\n\nEl “Öppettider”:")
    assert spoken["wire"] == {"anyOf": [{"enum": ["en", "eo", "sv"]}, {"type": "null"}], "default": None}
    questions = Path(__file__).parents[1] / "retrieval" / "on_topic.jsonl"
    asked = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    told = [row["question"] for row in asked if detected(row["question"]) != row["lang"]]
    assert spoken["told otherwise"] == told
    assert spoken["page"] is True
    assert spoken["unknown"] == "Set the field lang of the message to en, eo or sv, or leave it out."
