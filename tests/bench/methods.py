"""What each method against invented numbers does, on and off: `python -m tests.bench.methods`.

The first table asks the knowledge base in kb/ about itself through the whole turn, with a mock that makes a number up
in half of its drafts. "Before" is the share of first drafts with a number that their evidence does not hold; "after"
the share of answers with one that their citations do not hold; latencies are virtual time, 20 ms for each piece of a
draft (about a token), until the first and the last word could be sent. The mock reads no instructions, so what they do
to a real model's drafts does not show here.

The second table verifies real models' answers to questions over given passages (folder AGENT_SHARED or ../shared), as
if each were a draft. The last figures are the first frame of an answer of 200 tokens, over the wire in real time.
"""

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from agent import log
from agent.answering.brain import HITS, GroundedBrain
from agent.answering.sentences import SentenceStream
from agent.compose.adapters import Adapters
from agent.config import CHARACTERS_PER_TOKEN
from agent.grounding.claims import parse_claims
from agent.grounding.verify import check_numbers, snippets_of, verify
from agent.lang import LANGUAGES
from agent.llm.mock import MockModel
from agent.ports.brain import Question, TurnEvent, TurnRefusal, VerifiedPart
from agent.ports.draft import Delta, Prompt
from agent.ports.search import Hit, Passage
from agent.retrieval.load import SourceFile, load_documents
from agent.retrieval.search import KnowledgeBase
from agent.settings import Settings
from agent.testing.network import network

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("AGENT_SHARED") or ROOT.parent / "shared") / "data"
TOKEN = 0.02  # seconds
RATE = 0.5  # of drafts that hold an invention
QUESTIONS = 150
ASKED = {language.quoting.asking for language in LANGUAGES.values()}

ROWS: Sequence[tuple[str, dict[str, Any]]] = (
    ("1-6 by default", {}),
    ("3 evidence budget 100 tokens", {"evidence_tokens": 100}),
    ("3 evidence budget off", {"evidence_tokens": 0}),
    ("3 asking back below score 0.3", {"mock_ask": 0.3}),
    ("3 the same, asking back off", {"mock_ask": 0.3, "clarify": False}),
    ("4 claims", {"answer": "claims"}),
    ("  sentence mode", {"verify": "sentence"}),
)


class Watched:
    """A model whose drafts are noted, with the evidence they were made from."""

    def __init__(self, model: MockModel) -> None:
        self._model = model
        self.drafts: list[tuple[Prompt, Sequence[Hit], str]] = []

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield what the model does."""
        text = ""
        try:
            async for delta in self._model.stream(prompt, evidence):
                text += delta.text
                yield delta
        finally:  # in sentence mode a draft is read no further than to the sentence that fails
            self.drafts.append((prompt, evidence, text))


@dataclass
class Result:
    """What came of some questions. first: seconds from each to the first word of its answer or refusal."""

    ended: Counter[str] = field(default_factory=Counter)
    invented_before: int = 0
    invented_after: int = 0
    drafts: int = 0
    tokens: int = 0
    first: list[float] = field(default_factory=list)
    sure: Counter[str] = field(default_factory=Counter)


def say(line: str = "") -> None:
    """Print one line."""
    sys.stdout.write(line + "\n")


def asked(name: str) -> list[dict[str, Any]]:
    """Return a table of questions of the retrieval tests."""
    file = ROOT / "tests" / "retrieval" / name
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


async def run(knowledge: KnowledgeBase, questions: Sequence[dict[str, Any]], given: dict[str, Any]) -> Result:
    """Ask every question once, on virtual time."""
    settings = Settings.of(**given)
    texts = [snippet.text for passage in knowledge.passages for snippet in passage.snippets]
    model = Watched(MockModel(7, RATE, TOKEN, lambda: texts, settings.mock.mock_ask))
    brain = GroundedBrain(knowledge, model, settings.answers)
    result = Result()
    for each in questions:
        began = trio.current_time()
        told: list[tuple[float, TurnEvent]] = []

        def note(event: TurnEvent, to: list[tuple[float, TurnEvent]] = told, since: float = began) -> None:
            to.append((trio.current_time() - since, event))

        await brain.answer(Question(id="m", text=each["question"], lang=each["lang"], at=began), note)
        tell(result, told, each)
    for prompt, evidence, draft in model.drafts:
        if prompt.attempt == 0:
            claims = parse_claims(draft) if prompt.form == "claims" else None
            text = draft if claims is None else "\n\n".join(claim.text for claim in claims)
            result.drafts += 1
            result.invented_before += not check_numbers(text, [hit.snippet for hit in evidence]).is_supported
            result.tokens += sum(len(hit.snippet.text) for hit in evidence) // CHARACTERS_PER_TOKEN
    return result


def tell(result: Result, told: Sequence[tuple[float, TurnEvent]], each: dict[str, Any]) -> None:
    """Add one turn to the result."""
    texts = [(at, event) for at, event in told if isinstance(event, VerifiedPart | TurnRefusal)]
    end = texts[-1][1].text
    joined = "".join(event.text.text for _, event in texts)
    cited = list(dict.fromkeys(snippet for _, event in texts for snippet in event.text.citations))
    if end.blocked is not None:
        result.ended["cut off" if len(texts) > 1 else end.blocked.code] += 1
    else:
        result.ended["asked back" if joined in ASKED else "answered"] += 1
        right = "right" if cited and cited[0].file in each["files"] else "wrong"
        result.sure[f"{end.confidence} {right}"] += 1
    result.first.append(texts[0][0])
    result.invented_after += not check_numbers(joined, cited, fill=0).is_supported


def percent(part: int, whole: int) -> str:
    """Return a share as "12.3 %"."""
    return f"{100 * part / max(whole, 1):.1f} %"


def mean(values: Sequence[float]) -> float:
    """Return the mean of seconds in milliseconds."""
    return 1000 * sum(values) / max(len(values), 1)


def over_kb(knowledge: KnowledgeBase) -> None:
    """Print the table of the knowledge base."""
    on_topic = asked("on_topic.jsonl")
    questions = [on_topic[i * len(on_topic) // QUESTIONS] for i in range(QUESTIONS)]
    say(
        f"{len(questions)} on-topic questions over kb/, a mock that makes a number up in {RATE:.0%} of its drafts"
    )
    say()
    say("| method | before | after | answered | asked back | cut off | refused | evidence | first word |")
    say("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    results = [
        trio.run(run, knowledge, questions, given, clock=MockClock(autojump_threshold=0)) for _, given in ROWS
    ]
    for (name, _), result in zip(ROWS, results, strict=True):
        ended, total = result.ended, result.ended.total()
        refused = total - ended["answered"] - ended["asked back"] - ended["cut off"]
        cells = (
            name,
            percent(result.invented_before, result.drafts),
            percent(result.invented_after, total),
            *(percent(ended[how], total) for how in ("answered", "asked back", "cut off")),
            percent(refused, total),
            f"{result.tokens // max(result.drafts, 1)} tokens",
            f"{mean(result.first):.0f} ms",
        )
        say("| " + " | ".join(cells) + " |")
    sure = results[0].sure
    say()
    for level in ("high", "med", "low"):
        right, wrong = sure[f"{level} right"], sure[f"{level} wrong"]
        say(
            f"6 confidence {level}: {right + wrong} answers, {percent(right, right + wrong)} cite the right file first"
        )


def misspelt(text: str, rng: random.Random) -> str:
    """Return a question with two letters of its longest word swapped."""
    word = max(text.split(), key=len)
    at = rng.randrange(1, max(2, len(word) - 2))
    return text.replace(word, word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :])


def over_spellings(knowledge: KnowledgeBase) -> None:
    """Print what the search and its floor do: the right file first, and nothing for other subjects."""
    rng = random.Random(1)
    on_topic, off_topic = asked("on_topic.jsonl"), asked("off_topic.jsonl")
    wrong = [each | {"question": misspelt(each["question"], rng)} for each in on_topic]
    figures = []
    began = time.perf_counter()
    for questions in (on_topic, wrong):
        found = [knowledge.find_hits(q["question"], q["lang"], HITS) for q in questions]
        right = sum(
            bool(hits) and hits[0].snippet.file in q["files"]
            for hits, q in zip(found, questions, strict=True)
        )
        figures.append(percent(right, len(questions)))
    taken = 1000 * (time.perf_counter() - began) / (2 * len(on_topic))
    quiet = sum(not knowledge.find_hits(q["question"], q["lang"], HITS) for q in off_topic)
    say(f"\n2 the right file first for {figures[0]}, misspelt {figures[1]}; {taken:.2f} ms a search")
    say(
        f"1 nothing found for {percent(quiet, len(off_topic))} of {len(off_topic)} questions about other subjects"
    )


def over_answers() -> None:
    """Print what becomes of real models' answers."""
    file = SHARED / "ragtruth_qa_dev.jsonl"
    if not file.exists():
        say("\nreal models' answers are left out: set AGENT_SHARED to the folder of shared data")
        return
    counts: dict[str, Counter[str]] = {"NEG": Counter(), "POS": Counter(), "OUT": Counter(), "MIS": Counter()}
    for line in file.read_text("utf-8").splitlines():
        row = json.loads(line)
        snippets = snippets_of(row["passages"])
        passage = Passage("passages", (), "en", snippets)
        hits = [Hit(snippet, passage, 0.5) for snippet in snippets]
        count = counts[row["gold"]]
        count["answers"] += 1
        verdict = verify(row["answer"], hits)
        count["whole: said"] += verdict.text is not None
        sentences = SentenceStream(hits, "en")
        for at in range(0, len(row["answer"]), 5):
            sentences.feed(row["answer"][at : at + 5])
        sentences.finish()
        count["by sentence: said"] += sentences.failed_verdict is None
        count["by sentence: cut off"] += sentences.failed_verdict is not None and bool(sentences.sent_text)
    say(
        "\nreal models' answers as drafts (NEG no invented number, POS one, OUT one that was let pass, MIS misplaced)\n"
    )
    say("| | answers | whole: said | refused | by sentence: said | cut off | refused |")
    say("| --- | --- | --- | --- | --- | --- | --- |")
    for gold, count in counts.items():
        total = count["answers"]
        by_sentence = (count["by sentence: said"], count["by sentence: cut off"])
        cells = (
            total, count["whole: said"], total - count["whole: said"], *by_sentence,
            total - sum(by_sentence),
        )  # fmt: skip
        say(f"| {gold} | " + " | ".join(map(str, cells)) + " |")


class Words:
    """A model that says one text, a word each TOKEN seconds."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the words."""
        for word in self._text.split(" "):
            await trio.sleep(TOKEN)
            yield Delta(f"{word} ")


async def over_the_wire() -> dict[str, float]:
    """Return the seconds from a question to its first frame, by mode."""
    sentence = "The Standard plan costs 299 kr per month with us here."
    text = " ".join([sentence] * 18 + ["And thank you."])
    documents = (SourceFile.of("kb/pricing.md", f"# Plans\n\n{sentence}\n"),)
    found: dict[str, float] = {}

    async def first_frame(mode: str) -> None:
        settings = Settings.of(verify=mode, pace_ms=0)
        async with (
            network(settings, Adapters(model=Words(text)), documents) as server,
            server.connect() as client,
        ):
            await client.next_frame()
            began = trio.current_time()
            await client.ask("What does the Standard plan cost?")
            await client.next_frame()
            found[mode] = trio.current_time() - began

    async with trio.open_nursery() as nursery:
        nursery.start_soon(first_frame, "whole")
        nursery.start_soon(first_frame, "sentence")
    return found


def main() -> None:
    """Print all figures."""
    log.configure("console", "error")
    knowledge = KnowledgeBase.build(load_documents(ROOT / "kb").sources)
    over_kb(knowledge)
    over_spellings(knowledge)
    over_answers()
    wire = trio.run(over_the_wire)
    ratio = wire["whole"] / wire["sentence"]
    say(
        f"\nfirst frame of 201 tokens at 20 ms, over the wire: whole {wire['whole']:.2f} s, "
        f"sentence {wire['sentence']:.2f} s, {ratio:.1f} times earlier"
    )


if __name__ == "__main__":
    main()
