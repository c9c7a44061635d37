"""Mutated frames and request heads: whatever comes, the answer is a value or a typed error that repeats nothing.

    python -m tests.proof.fuzz --inputs 1000000 [--seed 1]      frames and heads in turn; exit status 1 on a finding
    python -m tests.proof.fuzz --seed 1 --at 4711               one input again, printed

Inputs are mutations of valid ones, because random bytes die at the first check. Each is made from (seed, number)
alone, so that one can be repeated without those before it. Every input may hold a canary; no sentence that goes to a
client may, and as sentences are fixed there can only be a handful of different ones.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

import h11
import msgspec
import trio
from trio.testing import MockClock

from agent.config import MAX_ID, MAX_TEXT
from agent.errors import BadFrame
from agent.protocol import inbound
from agent.protocol.codec import decode
from agent.protocol.route import Shape
from agent.server.admission import Admission
from agent.server.api.answers import answer_refusal
from agent.server.request_head import Head, Refusal, read_head
from agent.server.settings import ServerSettings

from .corpus import CANARY, Sent, a_frame, a_head

SENTENCES = 48  # more different ones than this cannot all be fixed
SLOW = 1.0  # seconds of CPU for one input
STATUSES = (400, 401, 403, 405, 408, 421, 426, 431, 505)

SHAPES: tuple[Shape, ...] = ("plain", "openai", "problem")
RULES = (Admission.of(ServerSettings()), Admission.of(ServerSettings(token="a-token")))


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that did something it must not, and what that was."""

    target: str
    what: str
    data: object

    def __str__(self) -> str:
        return f"{self.target}: {self.what}\n{self.data!r}"


class Broken(Exception):
    """What came back is not what may come back."""


def check_frame(frame: str | bytes) -> str:
    """Decode a message; return which sentence it was refused with, or its type. Raises `Broken`."""
    try:
        message = decode(frame)
    except BadFrame as error:
        if error.code not in ("bad_json", "bad_message"):
            raise Broken(f"refused with the code {error.code}") from None
        if error.__cause__ is not None or error.__context__ is not None:
            raise Broken("another error, which quotes the frame, travels along") from None
        if error.ref is not None and not 1 <= len(error.ref) <= MAX_ID:
            raise Broken("refers to an id of a length that no id has") from None
        return _fixed(error.message)
    if not isinstance(
        message, inbound.Message | inbound.Cancel | inbound.ConfirmAction | inbound.RejectAction
    ):
        raise Broken(f"read as {type(message)}")
    if isinstance(message, inbound.Message) and not (
        1 <= len(message.id) <= MAX_ID
        and 1 <= len(message.text) <= MAX_TEXT
        and message.lang in (None, "en", "sv")
    ):
        raise Broken("a message that the wire does not allow")
    if decode(msgspec.json.encode(message).decode()) != message:
        raise Broken("what was read is not what is sent")
    return type(message).__name__


class Client(trio.abc.ReceiveStream):
    """The server's end of a connection to a client that sends what it was told."""

    def __init__(self, sent: Sent) -> None:
        self._left = bytearray()
        self._pieces = list(reversed(sent.pieces))
        self._then = sent.then

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return the rest of a piece, or what follows the last one. Not a checkpoint while there are bytes."""
        if not self._left and self._pieces:
            self._left += self._pieces.pop()
        if self._left:
            taken = bytes(self._left[:max_bytes])
            del self._left[: len(taken)]
            return taken
        if self._then == "reset":
            raise trio.BrokenResourceError
        if self._then == "silence":
            await trio.sleep_forever()
        return b""

    async def aclose(self) -> None:
        """Nothing is held."""
        await trio.lowlevel.checkpoint()


async def check_head(sent: Sent) -> str:
    """Read the first head of a connection and judge it; return what became of it. Raises `Broken`."""
    head = await read_head(Client(sent))
    if head is None:
        return "left"
    if isinstance(head, Refusal):
        return _refused(head)
    if head.raw + head.rest != b"".join(sent.pieces)[: len(head.raw) + len(head.rest)]:
        raise Broken("what was read is not what was sent")
    _one_request(head)
    refusals = [rules.check(head, local) for rules in RULES for local in (None, "127.0.0.1")]
    for rules in RULES:
        rules.shows_operator_token(head)
    said = {_refused(each) for each in refusals if each is not None}
    return "; ".join(sorted(said)) or ("upgrade" if head.upgrade else "request")


def _refused(refusal: Refusal) -> str:
    if refusal.status not in STATUSES:
        raise Broken(f"refused with {refusal.status}")
    for shape in SHAPES:
        for body in (True, False):
            _fixed(answer_refusal(refusal, shape).render(body).decode("ascii"))
    return refusal.words


def _one_request(head: Head) -> None:
    """Check that a head is one request, and where another may follow it, that every reader sees where it ends."""
    server = h11.Connection(h11.SERVER, max_incomplete_event_size=4 * len(head.raw) + 4096)
    server.receive_data(head.raw)
    request = server.next_event()
    if not isinstance(request, h11.Request) or (request.method, request.target) != (head.method, head.target):
        raise Broken("the head is another request")
    if not head.persists:
        return
    whole = head.announces or isinstance(server.next_event(), h11.EndOfMessage)
    if not whole or (not head.announces and server.their_state is not h11.DONE):
        raise Broken("the head is not one request")
    if any(b"\n" in line or b"\r" in line for line in head.raw.split(b"\r\n")):
        raise Broken("the head has lines that others cut otherwise")


def _fixed(sentence: str) -> str:
    if CANARY.lower() in sentence.lower():
        raise Broken("the input is repeated to the client")
    return sentence


async def _frame(random: Random) -> tuple[object, Callable[[], Awaitable[str]]]:
    frame = a_frame(random)

    async def check() -> str:
        return check_frame(frame)

    return frame, check


async def _head(random: Random) -> tuple[object, Callable[[], Awaitable[str]]]:
    sent = a_head(random)
    return sent, lambda: check_head(sent)


_TARGETS = {"frame": _frame, "head": _head}


async def one(target: str, random: Random, outcomes: Counter[str] | None = None) -> Finding | None:
    """Make one input and send it; return what it broke, or None and count what became of it."""
    data, check = await _TARGETS[target](random)
    began = time.process_time()
    try:
        outcome = await check()
    except Exception as error:  # noqa: BLE001 - anything that comes out is the finding
        return Finding(target, f"{type(error).__name__}: {error}", data)
    if time.process_time() - began > SLOW:
        return Finding(target, f"took over {SLOW} s of CPU", data)
    if outcomes is not None:
        outcomes[f"{target}: {outcome}"] += 1
    return None


async def _all(inputs: int, seed: int, outcomes: Counter[str]) -> list[Finding]:
    findings = []
    random = Random()
    names = tuple(_TARGETS)
    for number in range(inputs):
        random.seed(seed << 40 | number)
        finding = await one(names[number % len(names)], random, outcomes)
        if finding is not None:
            findings.append(
                Finding(finding.target, f"{finding.what} (--seed {seed} --at {number})", finding.data)
            )
        if number % 1000 == 0:
            await trio.lowlevel.checkpoint()
    if len(outcomes) > SENTENCES * len(names):
        findings.append(Finding("all", "sentences that are not fixed", [*outcomes][-5:]))
    return findings


def fuzz(inputs: int, seed: int) -> tuple[list[Finding], Counter[str]]:
    """Send `inputs` mutated frames and heads in turn; return the findings, and how often each outcome occurred."""
    outcomes: Counter[str] = Counter()
    return trio.run(_all, inputs, seed, outcomes, clock=MockClock(autojump_threshold=0)), outcomes


def again(seed: int, number: int) -> Finding | None:
    """Send one input again."""
    names = tuple(_TARGETS)
    random = Random(seed << 40 | number)
    return trio.run(one, names[number % len(names)], random, clock=MockClock(autojump_threshold=0))


def main(arguments: list[str] | None = None) -> int:
    """Fuzz, print the figures, and return 1 when something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at", type=int)
    chosen = parser.parse_args(arguments)
    if chosen.at is not None:
        finding = again(chosen.seed, chosen.at)
        sys.stdout.write(f"{finding or 'nothing found'}\n")
        return finding is not None
    began = time.perf_counter()
    findings, outcomes = fuzz(chosen.inputs, chosen.seed)
    took = time.perf_counter() - began
    for outcome, count in outcomes.most_common():
        sys.stdout.write(f"{count:9}  {outcome}\n")
    for found in findings[:10]:
        sys.stdout.write(f"{str(found)[:2000]}\n")
    sys.stdout.write(
        f"{chosen.inputs} inputs, seed {chosen.seed}: {len(findings)} findings; "
        f"{took:.1f} s, {chosen.inputs / took:.0f} inputs/s\n"
    )
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
