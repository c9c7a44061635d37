"""Which worker gets the next connection, when a silent one is killed, and when a dead one is started again."""

from agent.workers.balance import Balance
from agent.workers.revival import (
    WORKER_DEATHS,
    WORKER_LOST,
    WORKER_PAUSE_FIRST,
    WORKER_PAUSE_MOST,
    WORKER_SETTLED,
    WORKER_SILENT,
    Revival,
    Silence,
)


def balanced(*workers: int) -> Balance:
    """Return a balance of workers that can answer."""
    balance = Balance()
    for worker in workers:
        balance.add_worker(worker)
        balance.mark_ready(worker)
    return balance


def test_each_connection_goes_where_the_fewest_are() -> None:
    """Whatever has ended meanwhile; of equals, to the one that was given one longest ago."""
    balance = balanced(1, 2, 3)
    given = []
    for _ in range(6):
        given.append(balance.order()[0])
        balance.count_given(given[-1])
    assert given == [1, 2, 3, 1, 2, 3]
    balance.count_ended(2, 2)
    assert balance.order()[0] == 2
    balance.count_given(2)
    balance.count_given(2)
    balance.count_ended(3, 1)
    assert balance.order() == [3, 1, 2]


def test_one_that_reads_is_passed_over_while_another_is_ready() -> None:
    """It is offered what nobody else takes, and a worker that has left is offered nothing."""
    balance = balanced(1)
    balance.add_worker(2)
    for _ in range(5):
        balance.count_given(1)
    assert balance.order() == [1, 2]
    balance.mark_ready(2)
    assert balance.order() == [2, 1]
    balance.remove_worker(2)
    balance.remove_worker(2)
    balance.count_ended(2, 1)
    assert balance.order() == [1]
    balance.add_worker(2)
    assert balance.order() == [1, 2], "the next of this number has its documents to read, too"


def test_a_count_never_falls_below_nothing() -> None:
    """What a worker says twice makes no worker look emptier than an empty one."""
    balance = balanced(1, 2)
    balance.count_given(1)
    balance.count_ended(1, 5)
    balance.count_given(1)
    assert balance.order() == [2, 1]


def test_a_silent_worker_is_offered_nothing_until_it_is_heard() -> None:
    """It keeps its count meanwhile; a worker that has left is not brought back by a late word."""
    balance = balanced(1, 2)
    balance.count_given(2)
    balance.pause_worker(1)
    assert balance.order() == [2]
    balance.resume_worker(1)
    assert balance.order() == [1, 2]
    balance.pause_worker(2)
    balance.remove_worker(1)
    balance.resume_worker(1)
    assert balance.order() == []
    balance.resume_worker(2)
    balance.add_worker(1)
    assert balance.order() == [2, 1]


def test_silence_is_counted_in_questions() -> None:
    """Any word ends it; a worker that was never heard is given its time to start."""
    silence = Silence()
    assert {silence.ask(False) for _ in range(3 * WORKER_LOST)} == {"alive"}
    silence.hear()
    states = [silence.ask(False) for _ in range(WORKER_LOST + 1)]
    expected = ["alive"] * WORKER_SILENT + ["silent"] * (WORKER_LOST - WORKER_SILENT) + ["lost"]
    assert states == expected
    silence.hear()
    assert silence.ask(False) == "alive"


def test_a_worker_that_does_not_say_that_it_drains_is_lost_soon() -> None:
    """Whether it started or served; once it has said so it is asked as ever."""
    for heard in (False, True):
        silence = Silence()
        if heard:
            silence.hear()
        assert [silence.ask(True) for _ in range(WORKER_SILENT)] == ["alive"] * WORKER_SILENT
        assert silence.ask(True) == "lost"
    silence = Silence()
    silence.hear()
    assert silence.ask(True) == "alive"
    silence.leave()
    for _ in range(WORKER_LOST):
        silence.hear()
        assert silence.ask(True) == "alive"
    states = [silence.ask(True) for _ in range(WORKER_LOST)]
    assert (states.index("silent"), states[-1]) == (WORKER_SILENT - 1, "lost")


def test_pauses_grow_and_then_no_start_follows() -> None:
    """For deaths at once, in a row; after a life of its own a worker begins anew."""
    revival = Revival()
    pauses = [revival.count_death(0.0) for _ in range(WORKER_DEATHS)]
    grown = [min(WORKER_PAUSE_MOST, WORKER_PAUSE_FIRST * 2**times) for times in range(WORKER_DEATHS - 1)]
    assert pauses == [*grown, None]
    revival = Revival()
    for _ in range(3 * WORKER_DEATHS):
        assert revival.count_death(WORKER_SETTLED) == WORKER_PAUSE_FIRST
    assert revival.count_death(0.0) == 2 * WORKER_PAUSE_FIRST
