"""Projects answer from documents of their own: nothing of one is in a prompt, an answer or a log line of another."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import date
from typing import Any

import msgspec
import pytest
import trio

from agent.answering.deciding_brain import TurnTools
from agent.compose.adapters import Adapters
from agent.compose.answering import Answering, AnswerSources, open_answering
from agent.compose.knowledge import Knowledge
from agent.compose.tools import Toolbox
from agent.errors import NotFound
from agent.llm.drafter import ModelDrafter
from agent.llm.model_decider import ModelDecider
from agent.ports.action import Outcome
from agent.ports.brain import Proposal, Question, TurnEvent, TurnRefusal, VerifiedPart
from agent.ports.conversation import Exchange, Scope
from agent.ports.draft import Prompt, PromptSection
from agent.ports.fill import Filler
from agent.ports.model import Finish, ModelRequest, TextDelta
from agent.ports.projects import HOUSE
from agent.ports.search import Hit
from agent.ports.tools import ToolDefinition
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.settings import Settings
from agent.structured.arguments import SchemaArguments
from agent.testing.fakes import Figures
from agent.testing.network import inline
from agent.tools.offering import Offering
from tests.logs import logged
from tests.projects import FakeProjects

ASKED = "What does the Standard plan cost?"
LOOK = ToolDefinition(
    name="look_up",
    description="Looks up.",
    parameters={"type": "object", "properties": {}},
    requires_approval=False,
    risk="low",
)
WORDS = {  # of each project, by where they stand
    "a": {"role": "ROLEOFA", "rules": "RULEOFA", "facts": "FACTOFA", "state": "STATEOFA"},
    "b": {"role": "ROLEOFB", "rules": "RULEOFB", "facts": "FACTOFB", "state": "STATEOFB"},
}


class Recorder:
    """A language model that says what it was given to say for what it is asked, and keeps what that was."""

    def __init__(self, say: Callable[[ModelRequest], str]) -> None:
        self._say = say
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Finish, None]:
        self.requests.append(request)
        await trio.lowlevel.checkpoint()
        yield TextDelta(self._say(request))
        yield Finish("stop")


def quoting(request: ModelRequest) -> str:
    """Say all of the first statement that was found, as a decision where one is asked for."""
    text = "\n".join(message.text for message in request.messages if message.role != "system")
    line = next(line for line in text.split("\n") if line.startswith("The Standard plan"))
    return msgspec.json.encode({"mode": "NOOP", "message": line}).decode() if request.tools else line


def told_of(projects: Sequence[str] = ("a", "b")) -> FakeProjects:
    made = FakeProjects()
    for name in projects:
        words = WORDS[name]
        made.make(name, f"You are {words['role']}.")
        made.put(name, "prices.md", f"The Standard plan {words['facts']} costs {300 + ord(name)} kr a month.")
        made.put(name, "now.md", f"The Standard plan {words['state']} is on sale.", "STATE")
        made.put(name, "tone.md", f"Always greet with {words['rules']}.", "RULES")
    return made


@asynccontextmanager
async def opened(
    projects: FakeProjects | None, model: Recorder, *operator: ToolDefinition, filler: Filler | None = None
) -> AsyncGenerator[Answering, None]:
    """Open what answers, as a server does, over a house and some projects."""
    settings = Settings.of(vectors="off", payloads="model" if filler is not None else "words")
    house = KnowledgeBase.build([SourceFile.of("kb/plans.md", "The Standard plan HOUSEFACT costs 299 kr.")])
    knowledge = Knowledge(settings=settings, snapshot=house, run_sync=inline)
    await knowledge.read()
    tools = TurnTools(
        operator=operator,
        read_message_tools=lambda given: (),
        arguments=SchemaArguments(),
        rounds=4,
        approve_from="high",
        timeout=30.0,
        today=lambda: date(2026, 5, 4),
    )
    every = Toolbox(operator=Offering(operator), arguments=SchemaArguments(), threads=tools)
    chosen = Adapters(model=ModelDrafter(model), filler=filler, decider=ModelDecider(model), run_sync=inline)
    sources = AnswerSources(knowledge=knowledge, projects=None if projects is None else projects.store)
    async with open_answering(
        settings=settings, adapters=chosen, observer=Figures(), sources=sources, toolbox=every
    ) as made:
        yield made


async def runs(proposal: Proposal) -> Outcome:
    await trio.lowlevel.checkpoint()
    return Outcome("call1", True, "done", {"success": True, "data": {"ok": True}})


def question(project: str, text: str = ASKED, **changes: Any) -> Question:
    return Question(id="1", text=text, lang="en", at=0.0, scope=Scope(project, "t", "u"), **changes)


async def told(
    made: Answering, project: str, text: str = ASKED, **changes: Any
) -> VerifiedPart | TurnRefusal:
    """Return the last word of a turn."""
    events: list[TurnEvent] = []
    await made.threads.answer(question(project, text, **changes), events.append, runs)
    assert isinstance(events[-1], VerifiedPart | TurnRefusal)
    return events[-1]


async def shown(made: Answering, asked: Question) -> tuple[PromptSection, ...]:
    """Return the parts of the prompt that a question would be answered with."""
    assert made.prompts is not None
    return await made.prompts(asked)


def all_of(request: ModelRequest) -> str:
    return msgspec.json.encode(request).decode()


@pytest.mark.parametrize("operator", [(), (LOOK,)], ids=["plain", "with tools"])
async def test_nothing_of_a_project_is_seen_in_another(operator: tuple[ToolDefinition, ...]) -> None:
    """Neither document, role nor rule of one in a prompt, an answer, a citation or a log line of the other."""
    model = Recorder(quoting)
    with logged() as log:
        async with opened(told_of(), model, *operator) as made:
            for project, other in (("a", "b"), ("b", "a"), ("a", "b"), (HOUSE, "a"), ("", "b")):
                model.requests.clear()
                log.truncate(0)
                last = await told(made, project)
                shown = "\n".join((*map(all_of, model.requests), str(last), log.getvalue()))
                assert len(model.requests) == 1
                assert not [word for word in WORDS[other].values() if word in shown]
                if project in WORDS:
                    assert "HOUSEFACT" not in shown
                    assert all(word in shown for word in WORDS[project].values())
                    assert {each.file for each in last.text.citations} == {"docs/prices.md"}
                    assert f"{300 + ord(project)} kr" in last.text.text
                else:
                    assert "HOUSEFACT" in last.text.text
                    assert not [word for words in WORDS.values() for word in words.values() if word in shown]


async def test_a_socket_is_answered_from_the_operators_documents() -> None:
    """Whatever its sessions say that they are of; over HTTP that would be a project, and there is none of that name."""
    async with opened(told_of(), Recorder(quoting)) as made:
        folder = str(Settings.of().documents.kb)
        events: list[TurnEvent] = []
        await made.brain.answer(
            Question(id="1", text=ASKED, lang="en", at=0.0, scope=Scope(folder)), events.append, runs
        )
        assert isinstance(events[-1], VerifiedPart)
        assert "HOUSEFACT" in events[-1].text.text
        with pytest.raises(NotFound):
            await told(made, folder)


async def test_two_projects_at_once_are_kept_apart() -> None:
    """Also while both are built."""
    model = Recorder(quoting)
    async with opened(told_of(), model) as made:
        said: dict[str, list[str]] = {"a": [], "b": []}

        async def ask(project: str) -> None:
            said[project].append((await told(made, project)).text.text)

        async with trio.open_nursery() as nursery:
            for project in "abababab":
                nursery.start_soon(ask, project)
    assert {len(each) for each in said.values()} == {4}
    for project, other in (("a", "b"), ("b", "a")):
        assert all(
            WORDS[project]["facts"] in each and WORDS[other]["facts"] not in each for each in said[project]
        )


async def test_rules_stand_whole_in_every_prompt() -> None:
    """Of a draft, a redraft and a decision, whatever is asked; in the system's message, with the role."""
    rules = "# Rules\n\n" + "\n".join(f"- Rule {number}: never say so." for number in range(300))
    projects = told_of(("a",))
    projects.put("a", "long.md", rules, "RULES")
    for operator in ((), (LOOK,)):
        model = Recorder(lambda request: '{"mode": "NOOP"}' if request.tools else "It costs 9999 kr.")
        async with opened(projects, model, *operator) as made:
            assert isinstance(await told(made, "a"), TurnRefusal)
        assert len(model.requests) == 2 + len(operator)
        for request in model.requests:
            assert request.messages[0].role == "system"
            assert rules in request.messages[0].text
            assert "ROLEOFA" in request.messages[0].text


@pytest.mark.parametrize("operator", [(), (LOOK,)], ids=["plain", "with tools"])
async def test_a_number_that_only_role_or_rules_hold_is_refused(operator: tuple[ToolDefinition, ...]) -> None:
    """They are said by the project's owner, and are no snippet that an answer can cite."""
    projects = told_of(("a",))
    projects.say("a", "You are the clerk of branch 4711.")
    projects.put("a", "discount.md", "The Standard plan has a discount of 17 %.", "RULES")
    for draft in ("The Standard plan has a discount of 17 %.", "The Standard plan is sold by branch 4711."):
        said = msgspec.json.encode({"mode": "NOOP", "message": draft}).decode()
        model = Recorder(lambda request, text=draft, said=said: said if request.tools else text)  # type: ignore[misc]
        async with opened(projects, model, *operator) as made:
            last = await told(made, "a")
        assert "17 %" in all_of(model.requests[0])
        assert isinstance(last, TurnRefusal)
        assert last.text.blocked is not None
        assert last.text.blocked.code == "number_mismatch"
        assert not any(number in last.text.text for number in ("17", "4711"))


async def test_rules_stand_in_what_a_payload_is_filled_in_by() -> None:
    """That is a prompt too."""
    prompts: list[Prompt] = []

    class Fills:
        async def fill(self, action: str, prompt: Prompt, evidence: Sequence[Hit]) -> Mapping[str, Any]:
            prompts.append(prompt)
            return {}

    async with opened(told_of(), Recorder(quoting), filler=Fills()) as made:
        await told(made, "a", f"{ASKED} Call me back at 08-123 45 67, please.", wishes=())
    assert prompts[0].charter.role == "You are ROLEOFA."
    assert "RULEOFA" in prompts[0].charter.rules[0][1]


async def test_a_replaced_document_is_gone_from_the_next_turn_on() -> None:
    """From the evidence, and from the rules."""
    projects, model = told_of(("a",)), Recorder(quoting)
    async with opened(projects, model) as made:
        await told(made, "a")
        projects.put("a", "prices.md", "The Standard plan NEWFACT costs 99 kr a month.")
        projects.put("a", "tone.md", "NEWRULE.", "RULES")
        last = await told(made, "a")
    assert "99 kr" in last.text.text
    assert "NEWRULE" in all_of(model.requests[1])
    assert not [word for word in ("FACTOFA", "RULEOFA") if word in all_of(model.requests[1])]


async def test_a_project_that_is_not_there_is_not_found() -> None:
    """Nor is any where the server has none: nobody is answered from the operator's own instead."""
    model = Recorder(quoting)
    async with opened(told_of(("a",)), model) as made:
        with pytest.raises(NotFound):
            await told(made, "b")
        with pytest.raises(NotFound):
            await shown(made, question("b"))
    async with opened(None, model) as made:
        with pytest.raises(NotFound):
            await told(made, "a")
        with pytest.raises(NotFound):
            await shown(made, question("a"))
        assert "HOUSEFACT" in (await told(made, HOUSE)).text.text
    assert len(model.requests) == 1


async def test_a_project_without_documents_has_no_sources() -> None:
    """And no model is asked for a draft."""
    projects, model = FakeProjects().make("a", "You are 4711."), Recorder(quoting)
    async with opened(projects, model) as made:
        last = await told(made, "a")
    assert last.text.blocked is not None
    assert (last.text.blocked.code, model.requests) == ("no_sources", [])


HISTORY = (Exchange("Is there a plan?", "Yes."),)


@pytest.mark.parametrize("operator", [(), (LOOK,)], ids=["plain", "with tools"])
async def test_what_a_model_would_be_asked_is_what_it_is_asked(operator: tuple[ToolDefinition, ...]) -> None:
    """Part by part, and none is asked for it."""
    model = Recorder(quoting)
    async with opened(told_of(), model, *operator) as made:
        for project in ("a", HOUSE):
            model.requests.clear()
            sections = await shown(made, question(project, history=HISTORY))
            assert model.requests == []
            await told(made, project, history=HISTORY)
            sent = "\n".join(message.text for message in model.requests[0].messages)
            for section in sections:
                assert section.name == "thread" or section.text in sent
            parts = {section.name: section.text for section in sections}
            assert parts["thread"] == "user: Is there a plan?\nassistant: Yes."
            assert parts["message"] == ASKED
            assert ("look_up" in parts["tools"]) is bool(operator)
            assert ("RULEOFA" in parts["rules"], "ROLEOFA" in parts["role statement"]) == (
                (project == "a"),
            ) * 2
            assert not [word for word in WORDS["b"].values() if any(word in text for text in parts.values())]


async def test_tools_of_a_request_are_shown_after_the_operators() -> None:
    """As they would be offered."""
    async with opened(told_of(), Recorder(quoting), LOOK) as made:
        other = ToolDefinition(name="a_first", description="x", parameters={"type": "object"})
        tools = {s.name: s.text for s in await shown(made, question("a", tools=(other,)))}["tools"]
    assert 0 <= tools.index("look_up") < tools.index("a_first")
