"""What each workload does, on a clock of its own and against a server that is a function."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.bench.load import workloads
from tests.bench.load.client import Link, Load, Target
from tests.bench.load.frames import CANCEL
from tests.bench.load.line import Failed, Line, Turn
from tests.bench.load.meter import Measured, Meter, medians, of_turns, percentile
from tests.bench.load.workloads import Plan, beside_slow, storm, talk
from tests.bench.test_bench_line import told

HERE = Target(host="127.0.0.1", port=1)


class Virtual(Load):
    """A load whose time passes at once, and whose server answers each frame by a function."""

    def __init__(self, serve: Callable[["Virtual", Line, bytes], None]) -> None:
        self.now = 0.0
        super().__init__(lambda: self.now)
        self.asked: list[tuple[float, bytes]] = []
        self.links: list[SimpleNamespace] = []
        self.reading: dict[int, tuple[int, float]] = {}
        self._serve = serve

    def open(self, target: Target, size: int, over: Callable[[Line, Turn], None], **_: Any) -> list[Link]:
        """Return connections whose frames go to the server."""
        return [cast(Link, self._link(over)) for _ in range(size)]

    def _link(self, over: Callable[[Line, Turn], None]) -> SimpleNamespace:
        number = len(self.links)
        sock = SimpleNamespace(getsockname=lambda: ("127.0.0.1", 7001))

        def read_slowly(size: int, every: float) -> None:
            self.reading[number] = (size, every)

        self.links.append(
            SimpleNamespace(line=self._line(over), lost_at=None, sock=sock, read_slowly=read_slowly)
        )
        return self.links[-1]

    def _line(self, over: Callable[[Line, Turn], None]) -> Line:
        def send(data: bytes) -> None:
            self.asked.append((self.now, data))
            self._serve(self, line, data)

        line = Line(send, over)
        return line

    def run(self, done: Callable[[], bool], seconds: float, what: str) -> None:
        """Let time pass from one thing that is to happen to the next."""
        until = self.now + seconds
        while not done():
            if not self._later or self._later[0][0] > until:
                raise Failed(what)
            self.now = max(self.now, self._later[0][0])
            self._later.pop(0)[2]()
            self._later.sort()


def say(load: Virtual, line: Line, seconds: float, data: bytes) -> None:
    """Let the server say something later."""
    load.after(seconds, lambda: line.received(data, load.now))


def answering(
    pace: float, words: int = 11, code: str | None = None
) -> Callable[[Virtual, Line, bytes], None]:
    """A server whose first word comes after half a second, and the others `pace` seconds apart; cancels end it."""
    current: dict[Line, Turn | None] = {}

    def serve(load: Virtual, line: Line, data: bytes) -> None:
        if data == CANCEL:
            current[line] = None
            say(load, line, 0.25, told("stream_end", reason="cancelled"))
            return
        if code is not None:
            say(load, line, 0.1, told("error", code=code, message="No."))
            return
        turn = current[line] = line.turn

        def word(number: int) -> None:
            if current[line] is not turn:
                return
            line.received(told("stream", delta="w"), load.now)
            if number + 1 < words:
                load.after(pace, lambda: word(number + 1))
            else:
                end = told("stream_end", reason="done") + told("response", text="w", citations=[])
                line.received(end, load.now)

        load.after(0.5, lambda: word(0))

    return serve


def test_sessions_ask_one_question_after_the_other() -> None:
    """Each session asks all its turns, with the questions taken in turn; late says by how much the pace was missed."""
    with Virtual(answering(0.022)) as load:
        plan = Plan(2, 3, ["a", "b", "c"], pace=0.02)
        found = talk(load, HERE, Meter(), plan)
    assert (found["turns"], found["failed"], found["deltas"], found["frames_per_turn"]) == (6, 0, 66, 13)
    assert found["first_p50_ms"] == pytest.approx(500)
    assert found["turn_p99_ms"] == pytest.approx(720)
    assert found["late_p99_percent"] == pytest.approx(10)
    texts = [text for _, data in load.asked for text in (b"a", b"b", b"c") if b'"text": "' + text in data]
    assert sorted(texts) == [b"a", b"a", b"b", b"b", b"c", b"c"]
    assert [at for at, _ in load.asked] == pytest.approx([0, 0, 0.72, 0.72, 1.44, 1.44])


def test_arrivals_are_spread_and_each_question_has_its_time() -> None:
    """The first questions over `stagger` seconds; a session's next `every` seconds after, or when it is answered."""
    with Virtual(answering(0.0)) as load:
        talk(load, HERE, Meter(), Plan(4, 2, ["a"], stagger=2.0, every=3.0))
    assert [at for at, _ in load.asked] == pytest.approx([0, 0.5, 1, 1.5, 3, 3.5, 4, 4.5])
    with Virtual(answering(0.0)) as load:
        talk(load, HERE, Meter(), Plan(1, 3, ["a"], every=0.1))
    assert [at for at, _ in load.asked] == pytest.approx([0, 0.5, 1.0])


def test_a_server_that_only_refuses_is_told() -> None:
    """No figure is made of errors; the line says which."""
    with Virtual(answering(0.0, code="busy")) as load, pytest.raises(Failed, match="busy"):
        talk(load, HERE, Meter(), Plan(3, 2, ["a"]))


def test_a_server_that_says_nothing_is_given_up() -> None:
    """The patience of a plan bounds it."""
    with Virtual(lambda load, line, data: None) as load, pytest.raises(Failed, match="the answers"):
        talk(load, HERE, Meter(), Plan(3, 2, ["a"], patience=5))


def test_a_lost_session_asks_no_more() -> None:
    """The others go on; the lost turn counts as failed."""

    def serve(load: Virtual, line: Line, data: bytes) -> None:
        if len(load.asked) == 1:
            load.after(0.1, lambda: line.lost(load.now))
        else:
            answer(load, line, data)

    answer = answering(0.0)
    with Virtual(serve) as load:
        found = talk(load, HERE, Meter(), Plan(2, 2, ["a"]))
    assert (found["turns"], found["failed"]) == (3, 1)


def test_a_storm_cancels_each_turn_once_and_times_it_from_there() -> None:
    """Every turn is cancelled within its time, before and amid its words, and 0.25 s pass to its end."""
    with Virtual(answering(1.0)) as load:
        found = storm(load, HERE, Meter(), Plan(10, 3, ["a"]), 2.0)
    assert (found["cancelled"], found["turns"], found["failed"]) == (30, 30, 0)
    assert found["cancel_p50_ms"] == pytest.approx(250)
    assert found["cancel_p99_ms"] == pytest.approx(250)
    moments = sorted(at for at, data in load.asked if data == CANCEL)
    assert len(moments) == 30
    asks = [at for at, data in load.asked if data != CANCEL]
    assert asks[0] < 0.5 < asks[5]  # they come one by one
    assert max(moments) > 3


def test_a_storm_leaves_answers_alone_that_are_over() -> None:
    """An answer that ended before its moment is not cancelled, nor is the question after it; of none, that is told."""
    with Virtual(answering(0.0)) as load:
        found = storm(load, HERE, Meter(), Plan(20, 2, ["a"]), 1.0)
    cancels = sum(data == CANCEL for _, data in load.asked)
    assert 0 < found["cancelled"] == cancels < 40 == found["turns"]
    with Virtual(answering(0.0, words=1)) as load, pytest.raises(Failed, match="were over before"):
        storm(load, HERE, Meter(), Plan(1, 1, ["a"]), 1.0, seed=2)


@pytest.mark.parametrize("server_side", [False, True])
def test_slow_readers_stay_and_the_drip_reader_is_timed_until_it_is_cut(
    monkeypatch: pytest.MonkeyPatch, server_side: bool
) -> None:
    """They read as they should, ask again when they are answered, and beside them the plan is kept.

    A cut is seen at this end, or where the server holds the connection no more.
    """
    held = {7001: True}
    monkeypatch.setattr(workloads, "holds", lambda port, mine: held[mine])
    with Virtual(answering(0.1)) as load:

        def cut() -> None:
            drip = load.links[2]
            if server_side:
                held[7001] = False
            else:
                drip.lost_at = load.now
                drip.line.lost(load.now)

        load.after(12.0, cut)
        found = beside_slow(load, HERE, Meter(), Plan(3, 2, ["fast"]), 2, "long")
    assert load.reading == {0: (1024, 0.125), 1: (1024, 0.125), 2: (1, 1.0)}
    assert (found["turns"], found["failed"], found["slow_lost"]) == (6, 0, 0)
    assert found["drip_cut_s"] == pytest.approx(12, abs=1.6)
    assert sum(b"fast" in data for _, data in load.asked) == 6
    assert sum(b"long" in data for _, data in load.asked) > 3 * 5
    assert min(at for at, data in load.asked if b"fast" in data) >= 2.0


def test_a_drip_reader_that_stays_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for, and no figure is made up."""
    monkeypatch.setattr(workloads, "holds", lambda port, mine: True)
    with Virtual(answering(0.1)) as load:
        found = beside_slow(load, HERE, Meter(), Plan(1, 1, ["fast"]), 1, "long")
    assert "drip_cut_s" not in found
    assert load.now >= 30


def test_percentiles_and_medians() -> None:
    """By nearest rank; a figure that some rounds lack is the median of the others."""
    assert [percentile([3, 1, 2], share) for share in (0, 0.5, 0.99)] == [1, 2, 3]
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)
    rounds: list[Measured] = [{"a": 1, "b": 5}, {"a": 3}, {"a": 9}, {"a": 4}]
    assert medians(rounds) == {"a": 3.5, "b": 5}


def test_what_was_not_measured_is_no_figure() -> None:
    """Without a process there is no processor time, without a pace no lateness, without a first word no time to it."""
    meter = Meter()
    with meter:
        pass
    found = of_turns([Turn(1.0, over=2.0, outcome="busy")], meter, 0.02)
    assert found["failed"] == 1
    assert not {name for name in found if name.startswith(("cpu", "ki", "server", "late", "first", "turn_"))}
