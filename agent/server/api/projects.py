"""Handlers for projects and their keys."""

from dataclasses import replace

import msgspec

from ...ports.projects import Project, ProjectKey
from ...protocol.http import NewKey, NewProject, ProjectChange
from ...protocol.problems import missing_fields
from ...protocol.records import from_record
from ...protocol.views import CreatedKey, KeyPage, KeyView, ProjectPage, ProjectView
from ..responses import Answer
from .answers import DONE, answer_with
from .context import ApiServices, Request, record_audit
from .keys import hash_key
from .pages import answer_page, parse_window


async def create_project(services: ApiServices, request: Request) -> Answer:
    """Create a project, and answer with it."""
    new: NewProject = request.body
    if new.role is None:
        raise missing_fields("role_statement")
    made = await services.projects.create_project(
        services.new_id(), new.name, new.role, services.clock.now_ms()
    )
    await record_audit(services, made.id, request.by, "project_created", made.id)
    return replace(answer_with(_project(made), 201), created_project=made.id)


async def list_projects(services: ApiServices, request: Request) -> Answer:
    """Answer with a page of projects."""
    return answer_page(
        "projects",
        await services.projects.projects(parse_window("projects", request.query)),
        _project,
        ProjectPage,
    )


async def get_project(services: ApiServices, request: Request) -> Answer:
    """Answer with a project."""
    return answer_with(_project(await services.projects.project(request.project)))


async def change_project(services: ApiServices, request: Request) -> Answer:
    """Change a project's name, its role or both."""
    new: ProjectChange = request.body
    return answer_with(_project(await services.projects.change_project(request.project, new.name, new.role)))


async def delete_project(services: ApiServices, request: Request) -> Answer:
    """Delete a project, once the work of its threads has ended."""
    await services.desk.delete_project(request.project)
    await record_audit(services, request.project, request.by, "project_deleted", request.project)
    return DONE


async def create_key(services: ApiServices, request: Request) -> Answer:
    """Create a key. Only this answer holds it: the stored answer for a repeated request does not."""
    new: NewKey = request.body
    key = services.new_key()
    made = await services.projects.add_key(
        request.project, services.new_id(), hash_key(key), new.name, services.clock.now_ms()
    )
    await record_audit(services, request.project, request.by, "key_created", made.id)
    answer = from_record(CreatedKey, made, project_id=made.project, key=key)
    without = answer_with(msgspec.structs.replace(answer, key=None), 201)
    return Answer(status=201, content=answer_with(answer).content, stored_content=without.content)


async def list_keys(services: ApiServices, request: Request) -> Answer:
    """Answer with a page of a project's keys."""
    return answer_page(
        "keys",
        await services.projects.keys(request.project, parse_window("keys", request.query)),
        _key,
        KeyPage,
    )


async def revoke_key(services: ApiServices, request: Request) -> Answer:
    """Revoke a key."""
    key = request.names["key_id"]
    await services.projects.revoke_key(request.project, key, services.clock.now_ms())
    await record_audit(services, request.project, request.by, "key_revoked", key)
    return DONE


def _project(project: Project) -> ProjectView:
    return from_record(ProjectView, project, role_statement=project.role)


def _key(key: ProjectKey) -> KeyView:
    return from_record(KeyView, key, project_id=key.project)
