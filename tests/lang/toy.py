"""A language of two dozen words, as a stranger would add it, and a server that speaks it.

`python -m tests.lang.toy FOLDER` serves with FOLDER as one more folder of `agent.lang`, in a process of its own since
everything is made from the languages when it is imported; it prints what was answered as JSON.
"""

import json
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

import trio
import trio.testing

ESPERANTO = '''
"""Esperanto, a little of it."""

from dataclasses import replace

from agent.lang.acting import Acting, Calling, Keywords, Mood
from agent.lang.counting import Cardinals
from agent.lang.en import LANGUAGE as ENGLISH
from agent.lang.language import (
    QuestionPatterns,
    Completing,
    Courtesies,
    Deciding,
    Filing,
    Inventing,
    Language,
    Pleasantries,
    Prompting,
    Quoting,
    Recalling,
    Refusals,
    Sayings,
    Searching,
    Stating,
    Telling,
    Tooling,
    Orthography,
    words,
)

COUNTING = replace(
    ENGLISH.counting,
    cardinals=Cardinals(
        words={
            "nul": 0,
            "du": 2,
            "tri": 3,
            "kvar": 4,
            "kvin": 5,
            "dek": 10,
            "dudek": 20,
            "cent": 100,
            "mil": 1000,
        },
        ones={"unu": 1},
        pronouns=words("unu"),
        singles=words("sola"),
        plural_endings=(("", "j"),),
        standalone={},
        prefixes=words("du tri kvar"),
        weak_prefixes=frozenset(),
        ambiguous_ones=frozenset(),
        suffix_stems=words("jara"),
        group_suffixes=frozenset(),
        spellings={},
        not_numbers=frozenset(),
        homographs=words("du tri mil cent"),
        not_digits=frozenset(),
        not_romans=frozenset(),
        articles=frozenset(),
        decimal_points=words("komo"),
        minus_words=words("minus"),
    ),
    units=replace(
        ENGLISH.counting.units,
        words={"day": "tago tagoj tagojn", "month": "monato monatoj monatojn", "year": "jaro jaroj jarojn"},
    ),
    money=replace(ENGLISH.counting.money, words={"eŭro": "EUR", "eŭroj": "EUR", "eŭrojn": "EUR"}),
    decimal=",",
    line_words=words("la kaj estas kostas post"),
)
LANGUAGE = Language(
    code="eo",
    name="Esperanto",
    writing=Orthography(words("la kaj estas kiom kio por ne min"), "ĉĝĥĵŝŭ", words("ktp")),
    telling=Telling(words("saluton dankon prezo"), "ojn|oj|on|as|is", "aĵ|oj", ""),
    searching=Searching(
        "",
        words("diru"),
        QuestionPatterns("kiom|kiam", "kostas", "kiam", "kiom da", "procento"),
        "kaj",
        words("ĝi"),
    ),
    recalling=Recalling(
        asker=words("mi min mia"),
        agent=words("vi via"),
        requests="ĉu vi",
        everything="kion vi scias",
        forgetting="forgesu mian",
        times=words("hieraŭ"),
        endings="",
        joints=(),
    ),
    stating=Stating(
        said_of_all=words("kostas"),
        priced=words("prezo kostas"),
        calendar=words("lundo tago"),
        versions="versio",
        parts="paĝo",
        examples="ekzemple",
        at_most="plej",
        at_least="almenaŭ",
    ),
    counting=COUNTING,
    dating=ENGLISH.dating,
    filing=Filing(("titolo",), ("resumo",), ("lingvo",)),
    tooling=Tooling("Diru: {names}.", ", ", "Kion mi faru?", "Bonvolu konfirmi.", "Mi transdonis tion."),
    refusals=Refusals(
        "Mi trovas nenion pri tio.",
        "Mi nun ne povas legi mian memoron.",
        "Rigardu mian proponon.",
        "Mi ne povas kontroli tion.",
        "Mi nun ne povas respondi.",
    ),
    courtesies=Courtesies(
        heard=Pleasantries("saluton", "dankon", "kion vi povas"),
        after="al ĉiuj",
        replies=Pleasantries("Saluton! Demandu min.", "Nedankinde.", "Mi respondas el la dokumentoj."),
        about="Ili temas pri:",
        noted="Notita.",
        forgetting="Elektu ĝin en la listo.",
        stated="Mi povas memori tion.",
    ),
    quoting=Quoting(
        lead="El “{section}”:",
        bare_lead="El niaj paĝoj:",
        other_language="Nur en paĝo en {language}.",
        nothing="Nenio.",
        asking="Pri kio?",
        names={"sv": "la sveda"},
        remembered="Vi diris:",
    ),
    prompting=Prompting(
        only_snippets="Respondu.",
        ask_back="ASK:",
        say_so="Diru tion.",
        claims="JSON.",
        again="Denove.",
        go_on="Daŭrigu.",
        unread="Ne JSON.",
        filling="Plenigu.",
        noting="Serĉu.",
        known="Konata:",
        before="Antaŭe:",
        message="Mesaĝo:",
        role="Rolo.",
        rules="Reguloj.",
        memory="Memoru.",
        situation="Jen.",
        said="Vi diris:",
        context="Jen la mesaĝo:",
        disagree="{older} kaj {newer}.",
        unreadable="Memoro mankas.",
    ),
    acting=Acting(
        keywords=Keywords(("voku min",), ("mesaĝu",), ("bileto",)),
        negators=words("ne"),
        excluders=words("sen"),
        fillers=words("plu"),
        late_negators=words("ne"),
        followers=words("min"),
        asking=words("kial"),
        new_start=words("sed"),
        carries_on=words("kaj"),
        clock=words("je"),
        mood=Mood(
            speakers=words("mi ni"),
            others=words("vi li ŝi ili"),
            users=words("min nin"),
            objects=words("lin"),
            anyone=words("iu"),
            modals=words("povas povus"),
            promising=words("povus"),
            leave=words("povas"),
            wanting=words("volas deziras"),
            getting=words("havi"),
            asking=words("kio kiom kiam kial"),
            inverting=words("ĉu"),
            stating=words("havas kostas"),
            past=r"\\w+is",
            being=words("estas kostas"),
            articles=words("unu"),
            known=words("la mia via"),
            endings="n",
            otherwise=words("aĉeti"),
            linking=words("ke"),
            conditions=words("se"),
            proposing=words("pri"),
            counting=words("multaj"),
        ),
        calling=Calling(
            regions=("PL",),
            dialling=words("voku"),
            reaching=words("ĉe al"),
            phones=words("numero telefono"),
            labels="kliento|mendo",
            joining=words("numero estas"),
            amounts="eŭroj",
            being="estas",
            outdated="malnova",
            lapsed="ne validas",
            origins=words("de"),
            addressed=words("via"),
            corrections=words("pardonu"),
            saying="dirante",
        ),
    ),
    remembering=ENGLISH.remembering,
    completing=Completing(
        question="Ĉu vi povas diri {fields}?",
        joining=" kaj ",
        phone="la numeron",
        text="la tekston",
        subject="la temon",
        received="Dankon.",
        withdrawing="ne|forgesu",
    ),
    deciding=Deciding(
        rules="Decidu.",
        no_tools="Neniu ilo.",
        nothing="Nenio.",
        again="Denove.",
        which="Ĉu {first} aŭ {second}?",
        which_any="Kion vi volas?",
        missing="Mankas: {field}.",
        missing_any="Io mankas.",
        unsure="Diru ĝin denove.",
        returned="Jen:",
        failed="Ne eblis:",
        empty="Farita.",
        failed_empty="Ne eblis.",
        mail=words("retpoŝto"),
        dates=words("dato"),
        times=words("horo"),
        codes=words("numero"),
        joining="estas",
    ),
    inventing=Inventing(
        Sayings(
            price="Prezo: {}.",
            phone="Telefono: {}.",
            percent="Rabato: {} %.",
            date="De {}.",
            elsewhere="Tie: {}.",
            question="Jes, {}.",
        ),
        ("julio",),
        {"tagoj": "jaroj"},
    ),
    page=replace(ENGLISH.page, title="Demandu"),
    inbox=ENGLISH.inbox,
    story_page=ENGLISH.story_page,
    storytelling=ENGLISH.storytelling,
    saying=ENGLISH.saying,
)
'''

PRICES = """# Prezoj

## Pakaĵoj

La norma pakaĵo kostas 29 eŭrojn.

La granda pakaĵo kostas 59 eŭrojn.

## Livero

La blua seĝo alvenas post dudek kvar tagoj.
"""
DRAFTS = (
    "La seĝo alvenas post dudek kvar tagoj.",
    "La seĝo alvenas post 24 tagoj.",
    "La seĝo alvenas post dudek tri tagoj.",
    "La seĝo alvenas post dudek kvar monatoj.",
    "La seĝo alvenas post 24 monatoj.",
)
"""What a model says of when the chair arrives; two of these are so."""
SWEDISH = "# Öppettider\n\nVi har öppet till klockan 18 på vardagar.\n"


def add_folder(folder: Path) -> None:
    """Let what stands in `folder` be folders of `agent.lang`, which is not imported yet."""
    spec = find_spec("agent.lang")
    assert isinstance(spec, ModuleSpec)
    assert spec.loader is not None
    assert spec.submodule_search_locations is not None
    spec.submodule_search_locations.append(str(folder))
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)


async def drafted(draft: str, knowledge: object) -> str:
    """Ask a server whose model says a draft when the chair arrives; return what came."""
    from agent.compose.adapters import Adapters  # noqa: PLC0415
    from agent.llm.script import ScriptEntry, ScriptModel  # noqa: PLC0415
    from agent.settings import Settings  # noqa: PLC0415
    from agent.testing.network import network  # noqa: PLC0415

    adapters = Adapters(knowledge=knowledge, model=ScriptModel([ScriptEntry(match="", text=draft)]))  # type: ignore[arg-type]
    async with network(Settings.of(pace_ms=0), adapters) as server, server.connect() as client:
        await client.ask("kiam alvenas la blua seĝo?", lang="eo")
        text: str = (await client.frames_until("response"))[-1]["text"]
    return text


async def serve() -> dict[str, object]:
    """Ask a server what is in its two languages; return what came, by what was asked."""
    from agent.compose.adapters import Adapters  # noqa: PLC0415 - everything of it follows from the languages
    from agent.protocol.asyncapi import document  # noqa: PLC0415
    from agent.retrieval.load import SourceFile  # noqa: PLC0415
    from agent.retrieval.search import KnowledgeBase  # noqa: PLC0415
    from agent.server.page_languages import make_script  # noqa: PLC0415
    from agent.settings import Settings  # noqa: PLC0415
    from agent.testing.network import network  # noqa: PLC0415
    from agent.text.language import detect_language  # noqa: PLC0415

    knowledge = KnowledgeBase.build(
        [SourceFile("kb/prezoj.md", PRICES.encode()), SourceFile("kb/tider.md", SWEDISH.encode())]
    )
    schemas = json.loads(document())["components"]["schemas"]
    said: dict[str, object] = {
        "langs": [passage.lang for passage in knowledge.passages],
        "wire": schemas["Message"]["properties"]["lang"],
    }
    frames: list[dict[str, Any]] = []
    settings, adapters = Settings.of(pace_ms=0, lang="eo"), Adapters(knowledge=knowledge)
    async with network(settings, adapters) as server, server.connect() as client:
        for name, text, lang in (
            ("given", "29 pakaĵo norma", "eo"),
            ("told", "kiom kostas la norma pakaĵo?", None),
            ("refused", "kio estas la prezo por ĉevaloj?", None),
            ("greeted", "Saluton!", None),
            ("acted", "kliento 12345678, voku min ĉe 23456789: kiom kostas la granda pakaĵo?", None),
            ("not acted", "ne voku min, kiom kostas la granda pakaĵo?", None),
            ("reported", "Vi vokis min, kiom kostas la granda pakaĵo?", None),
            ("elsewhere", "klockan 18 vardagar", "eo"),
            ("swedish", "När har ni öppet på vardagar?", None),
            ("by setting", "123", None),
        ):
            await client.ask(text, lang=lang)
            frames += await client.frames_until("response")
            said[name] = frames[-1]["text"]
        await client.ask("kiom", lang="da")
        said["unknown"] = (await client.next_frame())["message"]
    said["counted"] = [await drafted(draft, knowledge) for draft in DRAFTS]
    questions = (Path(__file__).parents[1] / "retrieval" / "on_topic.jsonl").read_text(encoding="utf-8")
    asked = [json.loads(line) for line in questions.splitlines()]
    said["told otherwise"] = [
        row["question"] for row in asked if detect_language(row["question"]) != row["lang"]
    ]
    said["page"] = '"eo": {"name": "Esperanto", "words": {"title": "Demandu"' in make_script().decode()
    said["actions"] = [frame["action"] for frame in frames if frame["type"] == "action_suggestion"]
    said["payloads"] = [frame["payload"] for frame in frames if frame["type"] == "action_suggestion"]
    return said


if __name__ == "__main__":
    add_folder(Path(sys.argv[1]))
    print(json.dumps(trio.run(serve, clock=trio.testing.MockClock(autojump_threshold=0))))  # noqa: T201
