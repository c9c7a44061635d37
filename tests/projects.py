"""Projects in memory, for what answers from their documents: as much of a store as a turn asks."""

from collections.abc import Callable
from typing import cast

import trio

from agent.errors import NotFound
from agent.ports.projects import Category, DocumentText, Project, ProjectStore


class FakeProjects:
    """Keeps projects (of `agent.ports.projects.ProjectStore` what a turn asks).

    reads: how often each project's texts were read. wait: seconds that reading them takes. between: is called when
    they were read, before they are given.
    """

    def __init__(self) -> None:
        self.reads: dict[str, int] = {}
        self.wait = 0.0
        self.between: Callable[[], None] = lambda: None
        self._projects: dict[str, Project] = {}
        self._texts: dict[tuple[str, Category, str], str] = {}

    @property
    def store(self) -> ProjectStore:
        """Return it as the port that it is a part of."""
        return cast(ProjectStore, self)

    def make(self, project: str, role: str = "", **facts: str) -> "FakeProjects":
        """Make a project, with FACTS by their names; a dot is an underscore there."""
        self._projects[project] = Project(project, project, role, 0)
        for name, text in facts.items():
            self.put(project, name.replace("_", "."), text)
        return self

    def put(self, project: str, filename: str, text: str | None, category: Category = "FACTS") -> None:
        """Put a document in place of the one that there was; None takes it away."""
        if text is None:
            del self._texts[project, category, filename]
        else:
            self._texts[project, category, filename] = text
        self._changed(project)

    def say(self, project: str, role: str) -> None:
        """Change a project's role."""
        self._changed(project, role)

    def delete(self, project: str) -> None:
        """Delete a project."""
        del self._projects[project]

    def _changed(self, project: str, role: str | None = None) -> None:
        of = self._projects[project]
        self._projects[project] = Project(
            project, project, of.role if role is None else role, 0, of.revision + 1
        )

    async def project(self, id: str) -> Project:
        """Return a project."""
        await trio.lowlevel.checkpoint()
        if id not in self._projects:
            raise NotFound
        return self._projects[id]

    async def texts(self, project: str) -> tuple[int, tuple[DocumentText, ...]]:
        """Return a project's revision and texts, after a while."""
        of = await self.project(project)
        self.reads[project] = self.reads.get(project, 0) + 1
        texts = tuple(
            DocumentText(f"{name}-{category}", category, name, text)
            for (owner, category, name), text in sorted(self._texts.items())
            if owner == project
        )
        self.between()
        await trio.sleep(self.wait)
        return of.revision, texts
