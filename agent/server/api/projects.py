"""Projects and their keys, over HTTP."""

from dataclasses import replace

import msgspec

from ...ports.projects import Project, ProjectKey
from ...protocol.http import ChangedProject, NewKey, NewProject
from ...protocol.problems import missing
from ...protocol.views import KeyMade, KeyPage, KeyView, ProjectPage, ProjectView
from ..answers import Answer
from .answers import DONE, told
from .keys import digest_of
from .pages import paged, window
from .rooms import Request, Rooms, note


async def create_project(rooms: Rooms, request: Request) -> Answer:
    """Make a project."""
    new: NewProject = request.body
    if new.role is None:
        raise missing("role_statement")
    made = await rooms.projects.create_project(rooms.new_id(), new.name, new.role, rooms.clock.now_ms())
    await note(rooms, made.id, request.by, "project_created", made.id)
    return replace(told(_project(made), 201), made=made.id)


async def list_projects(rooms: Rooms, request: Request) -> Answer:
    """Tell a page of projects."""
    return paged(
        "projects", await rooms.projects.projects(window("projects", request.query)), _project, ProjectPage
    )


async def get_project(rooms: Rooms, request: Request) -> Answer:
    """Tell a project."""
    return told(_project(await rooms.projects.project(request.project)))


async def change_project(rooms: Rooms, request: Request) -> Answer:
    """Change a project's name, its role or both."""
    new: ChangedProject = request.body
    return told(_project(await rooms.projects.change_project(request.project, new.name, new.role)))


async def delete_project(rooms: Rooms, request: Request) -> Answer:
    """Delete a project, once its threads do nothing any more."""
    await rooms.desk.delete_project(request.project)
    await note(rooms, request.project, request.by, "project_deleted", request.project)
    return DONE


async def create_key(rooms: Rooms, request: Request) -> Answer:
    """Make a key. It is told here and nowhere else: what is kept of the answer does not hold it."""
    new: NewKey = request.body
    key = rooms.new_key()
    made = await rooms.projects.add_key(
        request.project, rooms.new_id(), digest_of(key), new.name, rooms.clock.now_ms()
    )
    await note(rooms, request.project, request.by, "key_created", made.id)
    answer = KeyMade(made.id, made.project, made.name, made.created_at, key)
    without = told(msgspec.structs.replace(answer, key=None), 201)
    return Answer(201, told(answer).content, kept=without.content)


async def list_keys(rooms: Rooms, request: Request) -> Answer:
    """Tell a page of a project's keys."""
    return paged(
        "keys", await rooms.projects.keys(request.project, window("keys", request.query)), _key, KeyPage
    )


async def revoke_key(rooms: Rooms, request: Request) -> Answer:
    """Let a key open nothing any more."""
    key = request.names["key_id"]
    await rooms.projects.revoke_key(request.project, key, rooms.clock.now_ms())
    await note(rooms, request.project, request.by, "key_revoked", key)
    return DONE


def _project(project: Project) -> ProjectView:
    return ProjectView(project.id, project.name, project.role, project.created_at)


def _key(key: ProjectKey) -> KeyView:
    return KeyView(key.id, key.project, key.name, key.created_at, key.revoked_at)
