"""Answers the page's routes for a project: its sources, and the place where a caller may upload documents.

A caller with a project's key gets the sources of that project alone, and no file of the operator's folder: another
project's file is the 404 of a file that never was. Any other visitor of the page gets the operator's folder from
`page_routes`, and the uploads of the operator's project from here.

Documents may be uploaded by a project's key into its project, and by the operator into `HOUSE`, whose documents are
searched beside the folder. On a server without a token everybody is the operator, as on the routes of the HTTP API.
"""

import json
from collections.abc import Mapping

from ..config import UPLOAD_MAX
from ..errors import AgentError, NotFound
from ..ports.projects import HOUSE, ProjectLibrary
from .admission import Admission
from .responses import JSON, Answer, plain_text
from .service import AdmittedRequest
from .source import READING, answer_source

UPLOADS_FOLDER = "docs/"
"""The beginning of the citations of uploaded documents."""

UPLOAD_TYPES: Mapping[str, str] = {
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".txt": "text/plain",
}
"""The media types that the page sends files as, by their suffixes."""


class ProjectPages:
    """Answers for projects. `library`: their documents; None if there are no projects."""

    def __init__(self, admission: Admission, library: ProjectLibrary | None) -> None:
        self._admission = admission
        self._library = library

    async def answer(self, admitted: AdmittedRequest) -> Answer | None:
        """Return the answer to a request for something of a project; None if it is not about a project."""
        project = admitted.caller.project
        if admitted.route.name == "uploads":
            return self._answer_uploads(admitted)
        if admitted.route.name == "source":
            file = admitted.names["file"]
            if project is not None or file.startswith(UPLOADS_FOLDER):
                return await self._answer_source(admitted, project or HOUSE, file)
        if admitted.route.name == "openers" and project is not None:
            return Answer(status=200, content=b"[]")
        return None

    async def _answer_source(self, admitted: AdmittedRequest, project: str, file: str) -> Answer:
        found = None
        try:
            found = () if self._library is None else await self._library.find_sections(project, file)
        except NotFound:
            found = ()
        except AgentError:
            return plain_text(READING, 503, {"retry-after": "1"})
        return answer_source(admitted.head, file, lambda _: found)

    def _answer_uploads(self, admitted: AdmittedRequest) -> Answer:
        """Return the project that the caller may upload into, null for none, with the limits of an upload, as JSON."""
        project = admitted.caller.project
        is_user = self._admission.find_user(admitted.head) != ""
        if project is None and not is_user and self._admission.shows_operator_token(admitted.head):
            project = HOUSE
        about = {
            "project": None if self._library is None else project,
            "most": UPLOAD_MAX,
            "types": UPLOAD_TYPES,
        }
        return Answer(status=200, content=json.dumps(about).encode(), kind=JSON)
