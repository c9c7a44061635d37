"""Handlers for projects and their keys."""

from dataclasses import replace

import msgspec

from ...ports.projects import Project, ProjectKey
from ...protocol.http import NewKey, NewProject, ProjectChange
from ...protocol.problems import missing_fields
from ...protocol.records import from_record
from ...protocol.views import CreatedKey, KeyPage, KeyView, ProjectPage, ProjectView
from ..responses import Answer
from .answers import DONE, told
from .keys import digest_of
from .pages import paged, window
from .rooms import Request, Rooms, note


async def create_project(rooms: Rooms, request: Request) -> Answer:
    """Create a project, and answer with it."""
    new: NewProject = request.body
    if new.role is None:
        raise missing_fields("role_statement")
    made = await rooms.projects.create_project(rooms.new_id(), new.name, new.role, rooms.clock.now_ms())
    await note(rooms, made.id, request.by, "project_created", made.id)
    return replace(told(_project(made), 201), made=made.id)


async def list_projects(rooms: Rooms, request: Request) -> Answer:
    """Answer with a page of projects."""
    return paged(
        "projects", await rooms.projects.projects(window("projects", request.query)), _project, ProjectPage
    )


async def get_project(rooms: Rooms, request: Request) -> Answer:
    """Answer with a project."""
    return told(_project(await rooms.projects.project(request.project)))


async def change_project(rooms: Rooms, request: Request) -> Answer:
    """Change a project's name, its role or both."""
    new: ProjectChange = request.body
    return told(_project(await rooms.projects.change_project(request.project, new.name, new.role)))


async def delete_project(rooms: Rooms, request: Request) -> Answer:
    """Delete a project, once the work of its threads has ended."""
    await rooms.desk.delete_project(request.project)
    await note(rooms, request.project, request.by, "project_deleted", request.project)
    return DONE


async def create_key(rooms: Rooms, request: Request) -> Answer:
    """Create a key. Only this answer holds it: the stored answer for a repeated request does not."""
    new: NewKey = request.body
    key = rooms.new_key()
    made = await rooms.projects.add_key(
        request.project, rooms.new_id(), digest_of(key), new.name, rooms.clock.now_ms()
    )
    await note(rooms, request.project, request.by, "key_created", made.id)
    answer = from_record(CreatedKey, made, project_id=made.project, key=key)
    without = told(msgspec.structs.replace(answer, key=None), 201)
    return Answer(status=201, content=told(answer).content, kept=without.content)


async def list_keys(rooms: Rooms, request: Request) -> Answer:
    """Answer with a page of a project's keys."""
    return paged(
        "keys", await rooms.projects.keys(request.project, window("keys", request.query)), _key, KeyPage
    )


async def revoke_key(rooms: Rooms, request: Request) -> Answer:
    """Revoke a key."""
    key = request.names["key_id"]
    await rooms.projects.revoke_key(request.project, key, rooms.clock.now_ms())
    await note(rooms, request.project, request.by, "key_revoked", key)
    return DONE


def _project(project: Project) -> ProjectView:
    return from_record(ProjectView, project, role_statement=project.role)


def _key(key: ProjectKey) -> KeyView:
    return from_record(KeyView, key, project_id=key.project)
