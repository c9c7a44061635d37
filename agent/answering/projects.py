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
from ..ports.decide import Briefing
from ..ports.draft import Prompt, Section
from ..ports.projects import HOUSE, Holdings, ProjectLibrary
from ..ports.search import Hit
from .brain import GroundedBrain
from .deciding import DecidingBrain

ShowDraft: TypeAlias = Callable[[Prompt, Sequence[Hit]], tuple[Section, ...]]
ShowDecision: TypeAlias = Callable[[Briefing], tuple[Section, ...]]
Asking: TypeAlias = tuple[GroundedBrain, DecidingBrain | None]
"""What drafts, and what decides before; None where nothing is decided."""

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

    house: over the operator's own documents. projects: None where there are none but these. over: makes what turns
    draft and decide with over what a project holds. draft, decision: the prompts, in their parts. What a turn begins
    with is made as the turn makes it; no model is asked, and nothing is kept.
    """

    def __init__(
        self,
        house: Asking,
        projects: ProjectLibrary | None,
        over: Callable[[Holdings], Asking],
        draft: ShowDraft,
        decision: ShowDecision,
    ) -> None:
        self._house = house
        self._projects = projects
        self._over = over
        self._draft = draft
        self._decision = decision

    async def __call__(self, question: Question) -> tuple[Section, ...]:
        """Return the parts of the prompt for a decision where there is one to make, else of the one for a draft.

        Raises and is cancelled as the port says.
        """
        grounded, deciding = self._house
        project = question.scope.project
        if project not in IN_HOUSE:
            grounded, deciding = self._over(await _present(self._projects, project))
        briefing = await deciding.brief(question) if deciding is not None else None
        if briefing is not None:
            return self._decision(briefing)
        found = await grounded.find(question)
        return self._draft(grounded.prompt(found), found.hits)


async def _present(projects: ProjectLibrary | None, project: str) -> Holdings:
    """Return what a project holds; where there are no projects none is found, and the operator's own is no other's."""
    if projects is None:
        raise NotFound
    return await projects.present(project)
