"""Makes the edge of a server: the parts between a connection and its session or the HTTP API, admission first."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from ..answering.openers import Openers
from ..fsm import draw_mermaid
from ..ports.draft import Charter
from ..ports.embed import Embedder
from ..ports.projects import ProjectLibrary
from ..ports.remember import NO_BACKLOG
from ..ports.story_service import StoryService
from ..ports.work import RunSync
from ..protocol import asyncapi
from ..protocol.kinds import VOICE
from ..protocol.route import Shape
from ..server.accept import ListenerSource
from ..server.addresses import Addresses
from ..server.admission import Admission
from ..server.api.context import ApiServices
from ..server.api.embeddings import EmbeddingService
from ..server.api.http_api import HttpApi
from ..server.api.inbox_watch import InboxWatch
from ..server.api.key_watch import KeyWatch
from ..server.api.keys import Keys, make_key
from ..server.api.mcp import McpTools
from ..server.api.questions import Questions
from ..server.api.upload_reader import UploadReader
from ..server.branding import Branding
from ..server.http_server import HttpServer
from ..server.limits import ConnectionLimits, SharedLimits
from ..server.metrics import Metrics
from ..server.page_routes import PageContents, make_page_handlers
from ..server.project_pages import ProjectPages
from ..server.serve import Edge
from ..server.service import RouteService
from ..server.websocket import Connection, Handler
from ..session.context import SessionContext
from ..session.registry import Registry
from ..session.states import TABLE
from ..settings import Settings
from ..storage.settings import is_server
from ..storage.store import Store
from ..threads.desk import ThreadDesk
from .composition import Composition
from .halves import run_half
from .readiness import Readiness
from .sessions import list_transcripts, make_voice_parts, run_session
from .stories import StoryWing

if TYPE_CHECKING:
    from ..voice.wing import VoiceWing


@dataclass(frozen=True, kw_only=True, slots=True)
class Siblings:
    """The parts that a server shares with other servers, where clients see several servers as one.

    `listens`: gives the connections of this server. `port`: that the clients connect to. `limits`: hold for all
    servers together. `figures`: returns the Prometheus text of all servers. `unready`: returns why a server is not
    ready, "" when all are.
    """

    listens: ListenerSource
    port: int
    limits: SharedLimits
    figures: Callable[[], Awaitable[bytes]]
    unready: Callable[[], Awaitable[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgeParts:
    """The parts of an edge that other wings have opened, beside those of the sessions.

    `question_parts`: makes those of a plain question, by the charter of its caller. `branding`: the operator's files
    for the page. `openers`: the questions that the page offers. `projects`: the documents of projects, and `key_watch`
    their keys; `None` where there are no projects. `stories`: the open stories. `voice`: `None` where the server
    neither speaks nor hears.
    """

    question_parts: Callable[[Charter], SessionContext]
    stories: StoryWing
    branding: Branding
    openers: Openers
    projects: ProjectLibrary | None = None
    key_watch: KeyWatch | None = None
    voice: "VoiceWing | None" = None


def make_api_services(
    *,
    composition: Composition,
    store: Store,
    desk: ThreadDesk,
    registry: Registry,
    run_sync: RunSync,
    stories: StoryService,
) -> ApiServices:
    """Return the parts that the HTTP API works on. `registry`: lists all sessions. `run_sync`: reads uploads."""
    memory, house = composition.memory, composition.answering.house
    return ApiServices(
        desk=desk,
        projects=store.projects,
        threads=store.threads,
        calls=store.calls,
        requests=store.requests,
        inbox=InboxWatch(store.inbox, lambda: registry.draining),
        feedback=store.feedback,
        show_prompt=composition.answering.prompts,
        read=UploadReader(run_sync, composition.documents.foreign.text_of),
        clock=composition.clock,
        new_id=composition.new_id,
        new_key=make_key,
        tools=composition.toolbox.operator,
        memory=None if memory is None else memory.make_desk(list_transcripts(composition, registry)),
        model=composition.settings.model.model,
        backlog=NO_BACKLOG if memory is None else memory.keeper,
        note_change=(lambda _: None) if house is None else house.note_change,
        own_project=composition.settings.socket_project,
        stories=stories,
    )


def make_edge(
    *,
    settings: Settings,
    admission: Admission,
    parts: SessionContext,
    edge_parts: EdgeParts,
    readiness: Readiness,
    metrics: Metrics,
    api_services: ApiServices | None,
    siblings: Siblings | None,
) -> Edge:
    """Return the edge over the parts of the sessions.

    `api_services`: `None` where no store is kept.
    """
    limits = siblings.limits if siblings is not None else None
    connection_limits = ConnectionLimits.of(settings.server, settings.session.rate_limit, limits)
    contents = _make_contents(
        settings=settings,
        guests=admission.lets_guests_in,
        readiness=readiness,
        metrics=metrics,
        siblings=siblings,
        edge_parts=edge_parts,
    )
    limit = settings.answers.limit + settings.model.first_wait
    knowledge, name = readiness.knowledge, settings.server.name
    embeddings = EmbeddingService(_no_embedder if knowledge is None else knowledge.wait_embedder, limit)
    questions = Questions(
        parts, edge_parts.question_parts, readiness.wait_answerable, limit, embeddings, name
    )
    tools = McpTools(questions.answer, knowledge, readiness.wait_answerable, parts, name)
    services: dict[Shape, RouteService] = {"openai": questions, "rpc": tools}
    if api_services is not None:
        pace = settings.session.pace_ms / 1000
        services["problem"] = HttpApi(
            api_services, metrics, readiness.wait_answerable, lambda: readiness.gate.draining, pace
        )
    projects = api_services.projects if api_services is not None else None
    return Edge(
        admission=admission,
        addresses=Addresses.of(settings.server),
        handler=make_connection_handler(
            (parts, edge_parts.stories.make_parts(parts)), edge_parts.key_watch, edge_parts.voice
        ),
        http=HttpServer(
            Keys(admission, connection_limits.wrong_tokens, projects),
            connection_limits,
            metrics,
            make_page_handlers(contents),
            services,
            parts.new_id,
            ProjectPages(admission, edge_parts.projects),
        ),
        limits=connection_limits,
        observer=metrics,
        gate=readiness.gate,
        has_voice=edge_parts.voice is not None,
        halves=() if edge_parts.voice is None else edge_parts.voice.half_paths,
    )


def make_connection_handler(
    parts: Sequence[SessionContext], watch: KeyWatch | None, voice: "VoiceWing | None" = None
) -> Handler:
    """Return the handler of accepted WebSockets, which runs a session with the parts of the connection's kind.

    `parts`: those of conversations first. `voice`: the server's, None where it has none.
    """
    parts_of_kind = {each.kind: each for each in parts}
    if voice is not None:
        parts_of_kind[VOICE] = make_voice_parts(parts[0], voice)

    def handle_connection(connection: Connection) -> Awaitable[None]:
        if connection.kind.is_half and voice is not None:
            return run_half(parts[0], connection, voice)
        return run_session(parts_of_kind[connection.kind], connection, watch, voice)

    return handle_connection


async def _no_embedder() -> Embedder | None:
    return None


def _name_abilities(voice: "VoiceWing | None") -> tuple[str, ...]:
    """Return the abilities of the server's voice that have a language, by their names."""
    return () if voice is None else tuple(name for name, langs in asdict(voice.abilities).items() if langs)


def _make_contents(
    *,
    settings: Settings,
    guests: bool,
    readiness: Readiness,
    metrics: Metrics,
    siblings: Siblings | None,
    edge_parts: EdgeParts,
) -> PageContents:
    """Return the contents of the page and the probes; `siblings` answer for all servers where there are several."""

    async def read_figures() -> bytes:
        return metrics.text()

    async def explain_unready() -> str:
        return readiness.unready

    knowledge = readiness.knowledge
    return PageContents(
        asyncapi=asyncapi.document(),
        session_diagram=draw_mermaid(TABLE),
        metrics=siblings.figures if siblings is not None else read_figures,
        unready=siblings.unready if siblings is not None else explain_unready,
        sections=knowledge.sections if knowledge is not None else lambda _: (),
        openers=edge_parts.openers.of_language,
        name=settings.server.name,
        greeting=settings.server.greeting,
        logo=edge_parts.branding.logo,
        quotes=settings.model.quotes,
        guests=guests,
        stories=not settings.server.guests,  # a guest has none
        remembers=settings.memory.memory == "on",
        leaves_copies=is_server(settings.storage.data),
        voice=_name_abilities(edge_parts.voice),
        trouble=readiness.explain_limping,
    )
