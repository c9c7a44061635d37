"""One run: a server with users and faults for a while; then calm, an end in time, a last look, and the verdict."""

import sqlite3
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final

import trio

from .faults import Faults
from .history import Event
from .http_calls import CallRequests
from .http_client import HttpClient, Person
from .http_memory import MemoryRequests, list_items
from .models import GONE
from .records import NUMBER, Records
from .requester import Requester
from .server import ENDED, PEOPLE, Hook, ServerProcess
from .socket_users import SocketUser
from .verdict import Verdict, judge_run

HTTP_USERS: Final = ("carl", "dora", "eve")
ANSWERED: Final = 20.0  # seconds after the last fault until every worker answers
_IN_A_ROW: Final = 6  # answers, so that each worker gives some
_SETTLE: Final = 1.5  # seconds after a start in which the server ends what was left
_LAST: Final = "last look"
_AROUND: Final = 150  # bytes of a file that are shown on each side of a number


@dataclass(frozen=True, slots=True)
class Plan:
    """The choices of a run. clients: in all; every third uses a socket. shim: as of `ServerProcess`."""

    seconds: float
    seed: int
    clients: int = 10
    shim: Path | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run."""

    plan: Plan
    records: Records
    verdict: Verdict
    took: float

    @property
    def violations(self) -> list[str]:
        """The violations, each as text."""
        return self.verdict.violations

    @property
    def phases(self) -> list[tuple[str, float]]:
        """The parts of the run, with their seconds."""
        ends = self.records.phases
        return [(name, end - before) for (_, before), (name, end) in pairwise(ends)]

    def __str__(self) -> str:
        """Return the text of the report."""
        done = self.records.done
        operations = Counter({name: 0 for name, _ in done})
        for (name, _), times in done.items():
            operations[name] += times
        outcomes = Counter(dict.fromkeys(("ok", "refused", "unknown"), 0))
        for (_, outcome), times in done.items():
            outcomes[outcome] += times
        faults = Counter(each.operation for each in self.records.faults)
        verdict = self.verdict
        lines = [
            f"seed        {self.plan.seed}",
            f"took        {self.took:.1f} s, of which {self.plan.seconds:g} s with faults",
            f"operations  {outcomes.total()} ({_format_counts(operations)})",
            f"outcomes    {_format_counts(outcomes)}",
            f"phases      {', '.join(f'{name} {seconds:.1f}' for name, seconds in self.phases)}",
            f"faults      {_format_counts(faults)}",
            f"subjects    {verdict.calls} calls, {verdict.items} items, {len(self.records.effects)} effects, "
            f"{max(verdict.lengths, default=0)} operations on one at most; {verdict.undecided} undecided",
            f"violations  {len(self.violations)}",
        ]
        return "\n".join([*lines, *(f"\n{each}" for each in self.violations)])


def _format_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {times}" for name, times in sorted(counts.items()))


async def run_plan(plan: Plan) -> Report:
    """Run a plan, and judge it. No process is left behind, also when cancelled."""
    began = trio.current_time()
    records = Records()
    records.end_phase("begun", trio.current_time())
    with tempfile.TemporaryDirectory(prefix="histories-") as folder:
        async with _serve(Path(folder), plan, records) as server:
            try:
                await _use(server, plan, records)
                await _end(server, records)
            except* TimeoutError as late:
                records.wrong += [str(each) for each in _flatten_errors(late)]
    with trio.CancelScope(shield=True):
        verdict = await trio.to_thread.run_sync(judge_run, records)
    records.end_phase("judged", trio.current_time())
    return Report(plan, records, verdict, trio.current_time() - began)


def _flatten_errors(error: BaseException) -> list[BaseException]:
    """Return the errors of a group of groups."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for each in error.exceptions for leaf in _flatten_errors(each)]


@asynccontextmanager
async def _serve(folder: Path, plan: Plan, records: Records) -> AsyncGenerator[ServerProcess, None]:
    """Run a server with its webhook for the time of a block."""
    async with trio.open_nursery() as nursery:
        hook = Hook(records)
        await nursery.start(hook.serve)
        nursery.start_soon(_record_lag, records)
        server = ServerProcess(folder, plan.shim, hook)
        try:
            server.start()
            await server.wait_until_ready()
            records.end_phase("started", trio.current_time())
            yield server
        finally:
            server.close()
        nursery.cancel_scope.cancel()


async def _record_lag(records: Records) -> None:
    """Record by how many seconds this process is late."""
    while True:
        before = trio.current_time()
        await trio.sleep(0.05)
        records.lag = max(records.lag, trio.current_time() - before - 0.05)


async def _use(server: ServerProcess, plan: Plan, records: Records) -> None:
    """Let clients use the server amid faults; then see that it answers in time."""
    requester = Requester(server.port, records)
    people = [Person(name) for name in HTTP_USERS]
    sockets = _socket_people()
    faults = Faults(server, records, plan.seed)
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        for number in range(plan.clients):
            if number % 3 == 2:
                person = sockets[number // 3 % len(sockets)]
                user = SocketUser(person, number, server.port, records, plan.seed)
                nursery.start_soon(user.run, stop)
            else:
                client = HttpClient(people[number % len(people)], number, requester, records, plan.seed)
                nursery.start_soon(_act, client, requester, stop)
        with trio.move_on_after(plan.seconds):
            await faults.run()
        records.end_phase("faults", trio.current_time())
        await faults.restore_calm()
        records.end_phase("calm", trio.current_time())
        stop.set()
    records.end_phase("clients stopped", trio.current_time())
    await _expect_answers(requester, records)
    records.end_phase("answered", trio.current_time())


def _socket_people() -> list[Person]:
    return [Person(f"socket {name}") for name in PEOPLE]


async def _act(client: HttpClient, requester: Requester, stop: trio.Event) -> None:
    """Make one request after the other until told to stop."""
    requests: dict[Callable[[], Awaitable[object]], int] = {
        **CallRequests(client).weigh_requests(),
        **MemoryRequests(client, requester).weigh_requests(),
    }
    while not stop.is_set():
        await client.rng.choices([*requests], [*requests.values()])[0]()
        await trio.sleep(client.rng.uniform(0, 0.15))


async def _expect_answers(requester: Requester, records: Records) -> None:
    """See that each worker answers."""
    until = trio.current_time() + ANSWERED
    in_a_row = 0
    while in_a_row < _IN_A_ROW:
        answer = await requester.ask(
            "POST", "/chat", {"user_id": "frank", "message": "What does a plan cost?"}
        )
        in_a_row = in_a_row + 1 if answer.outcome == "ok" else 0
        if trio.current_time() > until:
            records.wrong.append(f"{ANSWERED:g} s after the last fault a worker does not answer: {answer}")
            return
        await trio.sleep(0.05)


async def _end(server: ServerProcess, records: Records) -> None:
    """End the server, start it again, read everything once more, end it again, and read its files."""
    await server.terminate()
    records.end_phase("ended", trio.current_time())
    server.start()
    await server.wait_until_ready()
    records.end_phase("started again", trio.current_time())
    await trio.sleep(_SETTLE)
    await _look_at_calls(Requester(server.port, records), records)
    await _look_at_items(server, records)
    records.end_phase("looked", trio.current_time())
    await server.terminate()
    records.end_phase("ended again", trio.current_time())
    for _ in range(int(ENDED)):
        if not server.find_processes():
            break
        await trio.sleep(1)
    if left := server.find_processes():
        records.wrong.append(f"processes {left} are left behind")
    await _look_at_the_files(server, records)
    records.end_phase("files", trio.current_time())


async def _look_at_calls(requester: Requester, records: Records) -> None:
    """Read each call once more: a call that the server runs has ended."""
    shown: list[dict[str, Any]] = []
    cursor, begin = "", trio.current_time()
    while True:
        answer = await requester.ask("GET", f"/calls?limit=200{cursor}")
        if answer.outcome != "ok":
            records.wrong.append(f"the calls cannot be listed at the end: {answer}")
            return
        shown += answer.value["items"]
        if answer.value["next_cursor"] is None:
            break
        cursor = f"&cursor={answer.value['next_cursor']}"
    read = Event("read", begin, trio.current_time(), client=_LAST)
    there = {view["id"] for view in shown}
    for view in shown:
        records.see_call(view, read)
        if view["status"] in ("confirmed", "claimed") and view["runs_at"] != "caller":
            records.wrong.append(f"call {view['id']} is left {view['status']}")
    for call in records.calls.values():
        if call.where == "http" and call.id not in there:
            call.events.append(Event("read", begin, read.end, value=GONE, client=_LAST))


async def _look_at_items(server: ServerProcess, records: Records) -> None:
    """Read each item once more."""
    requester = Requester(server.port, records)
    for name in HTTP_USERS:
        if not await list_items(requester, records, Person(name), _LAST):
            records.wrong.append(f"the items of {name} cannot be listed at the end")
    for number, person in enumerate(_socket_people()):
        if not await SocketUser(person, number, server.port, records, 0).look():
            records.wrong.append(f"the items of {person.name} cannot be listed at the end")


async def _look_at_the_files(server: ServerProcess, records: Records) -> None:
    """Read the ledger and the memory's file, when the server has ended."""
    status, said = await trio.to_thread.run_sync(server.run_command, "memory", "check")
    if status != 0:
        records.wrong.append(f"agent memory check ends with {status}: {said}")
    rows = await trio.to_thread.run_sync(_read_ledger, server.data / "ledger.sqlite")
    now = trio.current_time()
    for call in records.calls.values():
        became, owner = rows.get(call.id, (GONE, ""))
        if became == "claimed" and owner != "caller":
            records.wrong.append(f"the ledger has {call.id} claimed by {owner}, which has ended")
        if call.where == "socket":
            call.events.append(Event("row", now, now, value=became, client="ledger"))
    pending = await trio.to_thread.run_sync(_read_pending, server.data / "ledger.sqlite")
    if pending:
        records.wrong.append(f"messages are left pending: {pending}")
    records.in_files = await trio.to_thread.run_sync(_find_numbers, server.data)


def _read_ledger(file: Path) -> dict[str, tuple[str, str]]:
    """Return the status and the owner of each row."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        found = connection.execute("SELECT suggestion_id, status, owner FROM actions").fetchall()
    return {id: (status, owner) for id, status, owner in found}


def _read_pending(file: Path) -> list[str]:
    """Return the ids of the messages whose turn has not ended."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        return [id for (id,) in connection.execute("SELECT id FROM messages WHERE status = 'pending'")]


def _find_numbers(folder: Path) -> dict[str, str]:
    """Return the file in which each number stands, with the text around it."""
    found = {}
    for path in folder.rglob("*"):
        text = path.read_bytes().decode("latin-1") if path.is_file() else ""
        for match in NUMBER.finditer(text):
            around = text[max(0, match.start() - _AROUND) : match.end() + _AROUND]
            found[match[0]] = f"{path.name}: {around!a}"
    return found


def draw_seed() -> int:
    """Return another seed each time."""
    return Random().randrange(10**6)
