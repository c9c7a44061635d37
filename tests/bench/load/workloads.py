"""What a load does: turns, one after the other or each at its time; storms of cancels; idle sessions; slow readers.

Each workload connects first and is measured after that, but for idle sessions, whose connecting is what is measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from time import perf_counter

from .client import Link, Load, Target
from .line import Failed, Line, Turn
from .meter import Measured, Meter, of_turns, spread
from .process import between, holds, memory, taken

PATIENCE = 300.0  # seconds for a workload
SETTLED = 1.0  # seconds in which a server lets go of what its handshakes took
SLOW = (1024, 0.125)  # bytes a read, and seconds between two reads, of a slow reader ...
DRIP = (1, 1.0)  # ... and of a drip reader
STALLED = 2.0  # seconds in which a slow reader's buffers fill
CUT = 30.0  # seconds that a drip reader is waited for


@dataclass(frozen=True, slots=True)
class Plan:
    """What each session does.

    turns: how many questions it asks. questions: taken in turn, over all sessions. stagger: seconds over which the
    first questions are spread. every: seconds from one question of a session to its next, when that is answered by
    then. pace: seconds between two deltas that the server keeps, to be compared with. patience: seconds for all of it.
    """

    sessions: int
    turns: int
    questions: Sequence[str]
    stagger: float = 0.0
    every: float = 0.0
    pace: float | None = None
    patience: float = PATIENCE


class _Talk:
    """Sessions that ask and are answered, as a plan says."""

    def __init__(self, load: Load, plan: Plan) -> None:
        self.ended: list[Turn] = []
        self._load = load
        self._plan = plan
        self._asked = 0
        self._left: dict[Line, int] = {}
        self._under_way = 0

    def begin(self, links: Sequence[Link]) -> None:
        """Let each session ask its first question, now or at its moment."""
        self._under_way = len(links)
        for number, link in enumerate(links):
            self._left[link.line] = self._plan.turns
            if self._plan.stagger:
                self._later(link.line, number * self._plan.stagger / len(links))
            else:
                self._ask(link.line)

    def over(self, line: Line, turn: Turn) -> None:
        """Keep a turn that has ended, and go on to the session's next."""
        self.ended.append(turn)
        self._left[line] -= 1
        wait = turn.asked + self._plan.every - self._load.clock()
        if self._left[line] == 0 or turn.outcome == "lost":
            self._under_way -= 1
        elif wait > 0:
            self._later(line, wait)
        else:
            self._ask(line)

    def done(self) -> bool:
        """Return whether every session has had its last answer."""
        return self._under_way == 0

    def _later(self, line: Line, seconds: float) -> None:
        self._load.after(seconds, lambda: self._ask(line))

    def _ask(self, line: Line) -> None:
        self._asked += 1
        line.ask(self._plan.questions[self._asked % len(self._plan.questions)], self._load.clock())


def talk(load: Load, target: Target, meter: Meter, plan: Plan) -> Measured:
    """Ask and be answered. Raises Failed when the server does not answer, or answers nothing but errors."""
    talking = _Talk(load, plan)
    links = load.open(target, plan.sessions, talking.over)
    with meter:
        talking.begin(links)
        load.run(talking.done, plan.patience, "the answers")
    outcomes = {turn.outcome for turn in talking.ended}
    if "done" not in outcomes:
        raise Failed(f"no question was answered: {', '.join(sorted(outcomes))}")
    return of_turns(talking.ended, meter, plan.pace)


def storm(load: Load, target: Target, meter: Meter, plan: Plan, within: float, seed: int = 1) -> Measured:
    """Ask at a random moment, and cancel at another; `cancel` is the time from there to the stream_end.

    within: seconds over which first questions are spread, and that pass at most until a cancel. A turn that has ended
    by its moment is not cancelled. Raises Failed when none was.
    """
    draw, ended, rounds = Random(seed), [], 0

    def ask(line: Line) -> None:
        line.ask(plan.questions[0], load.clock())
        asked = line.turn
        load.after(draw.uniform(0, within), lambda: line.cancel(load.clock()) if line.turn is asked else None)

    def over(line: Line, turn: Turn) -> None:
        nonlocal rounds
        ended.append(turn)
        left[line] -= 1
        if left[line] and turn.outcome != "lost":
            load.after(draw.uniform(0, within / 10), partial(ask, line))
        else:
            rounds += 1

    links = load.open(target, plan.sessions, over)
    left = {link.line: plan.turns for link in links}
    with meter:
        for link in links:
            load.after(draw.uniform(0, within), partial(ask, link.line))
        load.run(lambda: rounds == len(links), plan.patience, "the ends of what was cancelled")
    told = [
        turn.over - turn.cancelled
        for turn in ended
        if turn.outcome == "cancelled" and turn.cancelled and turn.over
    ]
    if not told:
        raise Failed("no turn was cancelled: the answers were over before")
    return of_turns(ended, meter, None) | spread("cancel", told) | {"cancelled": len(told)}


def idle(load: Load, target: Target, pid: int, size: int) -> Measured:
    """Connect `size` sessions that ask nothing; return what each takes. The server must be fresh.

    Memory is what is resident, of the process and its children; the proportional set size jumps when an unrelated
    process that shares its libraries comes or goes.
    """
    before, looked, began = memory(pid), taken(pid), perf_counter()
    load.open(target, size, lambda line, turn: None, seconds=PATIENCE)
    seconds = perf_counter() - began
    cpu = between(looked, taken(pid)).cpu
    settled = load.clock() + SETTLED
    load.run(lambda: load.clock() >= settled, PATIENCE, "a quiet moment")
    after = memory(pid)
    return {
        "connections": size,
        "kib_per_connection": (after.rss - before.rss) / 1024 / size,
        "pss_kib_per_connection": (after.pss - before.pss) / 1024 / size,
        "rss_mib": after.rss / 2**20,
        "accepts_per_s": size / seconds,
        "cpu_us_per_accept": 1e6 * cpu / size,
    }


def beside_slow(load: Load, target: Target, meter: Meter, plan: Plan, slow: int, question: str) -> Measured:
    """Talk as planned while `slow` more sessions read slowly and one takes a byte a second; `question`: what they ask.

    slow_lost: how many of the slow readers were cut, which none should be. drip_cut_s: after how many seconds the drip
    reader was; without it, it was not within CUT seconds.
    """

    def again(line: Line, turn: Turn) -> None:
        if turn.outcome != "lost":
            line.ask(question, load.clock())

    readers = load.open(target, slow, again, slow=True)
    (drip,) = load.open(target, 1, again, slow=True)
    drip_port, began = drip.sock.getsockname()[1], load.clock()
    for reader in [*readers, drip]:
        reader.line.ask(question, began)
        reader.read_slowly(*(DRIP if reader is drip else SLOW))
    load.run(lambda: load.clock() >= began + STALLED, PATIENCE, "the slow readers")
    found = talk(load, target, meter, plan)
    cut_at: float | None = None

    def cut() -> bool:
        nonlocal cut_at
        if drip.lost_at is not None:
            cut_at = drip.lost_at
        elif not holds(target.port, drip_port):
            cut_at = load.clock()
        return cut_at is not None or load.clock() >= began + CUT

    load.run(cut, PATIENCE + CUT, "the drip reader's end")
    found["slow_lost"] = sum(reader.lost_at is not None for reader in readers)
    if cut_at is not None:
        found["drip_cut_s"] = cut_at - began
    return found
