"""Which documents a question is answered from: those of its project, and no other's.

Strategy: `Question.scope.project` alone decides. Where it names none, HOUSE, or what a socket's sessions are of, the
brain over the operator's own documents answers, as ever. For another project the same way of answering is made over
that project's snapshot, which the turn keeps, with its role and its RULES in every prompt; what is costly (models,
indexes) is shared or held elsewhere, so that such a brain is a few objects and lives for one turn.

What a project says of its model is no source: a number that stands only in its role or its RULES is in no snippet, and
so is refused like any other.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

from ..errors import NotFound
from ..ports.brain import Act, Brain, Question, TurnEvent
from ..ports.conversation import Exchange, Scope
from ..ports.decide import Briefing
from ..ports.draft import Prompt, Section
from ..ports.projects import HOUSE, Holdings, ProjectLibrary
from ..ports.search import Hit
from ..ports.tools import ToolDefinition
from ..tools.catalogue import Catalogue
from ..tools.proposing import proposing
from .brain import GroundedBrain
from .deciding import briefed

ShowDraft: TypeAlias = Callable[[Prompt, Sequence[Hit]], tuple[Section, ...]]
ShowDecision: TypeAlias = Callable[[Briefing], tuple[Section, ...]]


IN_HOUSE: Final = frozenset(("", HOUSE))
"""Names of what the operator's own documents answer: HOUSE, and "" where no project is named."""


class ProjectsBrain:
    """Answers each question from the documents of its project (implements `agent.ports.brain.Brain`).

    house: answers from the operator's own. projects: None where there are none but these. over: makes a brain over
    what a project holds. own: what else the operator's own documents answer: sockets. It keeps nothing between turns.
    """

    def __init__(
        self,
        house: Brain,
        projects: ProjectLibrary | None,
        over: Callable[[Holdings], Brain],
        own: Collection[str] = (),
    ) -> None:
        self._own = IN_HOUSE.union(own)
        self._house = house
        self._projects = projects
        self._over = over

    async def answer(
        self, question: Question, emit: Callable[[TurnEvent], None], act: Act | None = None
    ) -> None:
        """Answer one question, from its project as it is when the turn begins.

        Raises `agent.errors.NotFound` where the project is gone, and `agent.errors.StorageFailed`. Cancelled as the
        brain that answers; while the documents are still read, nothing is left.
        """
        project = question.scope.project
        brain = self._house
        if project not in self._own:
            brain = self._over(await _present(self._projects, project))
        await brain.answer(question, emit, act)


class Prompts:
    """Shows what a model would be asked (implements `agent.ports.projects.PromptDebug`).

    house: over the operator's own documents. projects: None where there are none but these. over: makes a brain over
    what a project holds. tools: the operator's. draft, decision: the prompts, in their parts. Evidence is fetched as
    in a turn; no model is asked, and nothing is kept.
    """

    def __init__(
        self,
        house: GroundedBrain,
        projects: ProjectLibrary | None,
        over: Callable[[Holdings], GroundedBrain],
        tools: Collection[ToolDefinition],
        draft: ShowDraft,
        decision: ShowDecision,
    ) -> None:
        self._house = house
        self._projects = projects
        self._over = over
        self._tools = tools
        self._draft = draft
        self._decision = decision

    async def __call__(
        self,
        project: str,
        message: str,
        history: tuple[Exchange, ...] = (),
        tools: tuple[ToolDefinition, ...] = (),
    ) -> tuple[Section, ...]:
        """Return the parts of the prompt for a decision where tools are offered, else of the one for a draft.

        Raises and is cancelled as the port says.
        """
        brain = self._house
        if project not in IN_HOUSE:
            brain = self._over(await _present(self._projects, project))
        question = Question("", message, None, 0.0, Scope(project), history, tools=tools)
        found = await brain.find(question)
        given = (*self._tools, *tools)
        if given:
            own = proposing(given) if brain.memory is not None else ()
            offered = Catalogue((*self._tools, *own), tools).tools
            return self._decision(briefed(question, found, offered, brain.charter))
        return self._draft(brain.prompt(found), found.hits)


async def _present(projects: ProjectLibrary | None, project: str) -> Holdings:
    """Return what a project holds; where there are no projects none is found, and the operator's own is no other's."""
    if projects is None:
        raise NotFound
    return await projects.present(project)
