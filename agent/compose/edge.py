"""Makes the edge of a server: the parts between a connection and its session or the HTTP API, admission first."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..fsm import draw_mermaid
from ..ports.draft import Charter
from ..ports.embed import Embedder
from ..ports.remember import NO_BACKLOG
from ..ports.work import RunSync
from ..protocol import asyncapi
from ..protocol.routes import Shape
from ..server.accept import ListenerSource
from ..server.addresses import Addresses
from ..server.admission import Admission
from ..server.api.context import ApiServices
from ..server.api.embeddings import EmbeddingService
from ..server.api.http_api import HttpApi
from ..server.api.keys import Keys, make_key
from ..server.api.mcp import McpTools
from ..server.api.questions import Questions
from ..server.api.upload_reader import UploadReader
from ..server.http_server import HttpServer
from ..server.limits import ConnectionLimits, SharedLimits
from ..server.metrics import Metrics
from ..server.page_routes import PageContents, make_page_handlers
from ..server.serve import Edge
from ..server.service import RouteService
from ..server.websocket import Connection
from ..session.registry import Registry
from ..session.session import Session
from ..session.states import TABLE
from ..session.turn import SessionContext
from ..settings import Settings
from ..storage.store import Store
from ..threads.desk import ThreadDesk
from .composition import Composition
from .readiness import Readiness
from .sessions import list_transcripts


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


def make_api_services(
    *,
    composition: Composition,
    store: Store,
    desk: ThreadDesk,
    registry: Registry,
    run_sync: RunSync,
) -> ApiServices:
    """Return the parts that the HTTP API works on. `registry`: lists all sessions. `run_sync`: reads uploads."""
    memory = composition.memory
    return ApiServices(
        desk=desk,
        projects=store.projects,
        threads=store.threads,
        calls=store.calls,
        requests=store.requests,
        show_prompt=composition.answering.prompts,
        read=UploadReader(run_sync, composition.documents.foreign.text_of),
        clock=composition.clock,
        new_id=composition.new_id,
        new_key=make_key,
        tools=composition.toolbox.operator,
        memory=None if memory is None else memory.make_desk(list_transcripts(composition, registry)),
        backlog=NO_BACKLOG if memory is None else memory.keeper,
    )


def make_edge(
    *,
    settings: Settings,
    admission: Admission,
    parts: SessionContext,
    question_parts: Callable[[Charter], SessionContext],
    readiness: Readiness,
    metrics: Metrics,
    api_services: ApiServices | None,
    siblings: Siblings | None,
) -> Edge:
    """Return the edge over the parts of the sessions.

    `question_parts`: makes those of a plain question, by the charter of its caller. `api_services`: `None` where no
    store is kept.
    """

    def handle_connection(connection: Connection) -> Awaitable[None]:
        return Session(parts, connection, connection.agent_v1, user=connection.user).run()

    limits = siblings.limits if siblings is not None else None
    connection_limits = ConnectionLimits.of(settings.server, settings.session.rate_limit, limits)
    contents = _make_contents(settings=settings, readiness=readiness, metrics=metrics, siblings=siblings)
    limit = settings.answers.limit + settings.model.first_wait
    knowledge, name = readiness.knowledge, settings.server.name
    embeddings = EmbeddingService(_no_embedder if knowledge is None else knowledge.wait_embedder, limit)
    questions = Questions(parts, question_parts, readiness.wait_answerable, limit, embeddings, name)
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
        handler=handle_connection,
        http=HttpServer(
            Keys(admission, connection_limits.wrong_tokens, projects),
            connection_limits,
            metrics,
            make_page_handlers(contents),
            services,
            parts.new_id,
        ),
        limits=connection_limits,
        observer=metrics,
        gate=readiness.gate,
    )


async def _no_embedder() -> Embedder | None:
    return None


def _make_contents(
    *,
    settings: Settings,
    readiness: Readiness,
    metrics: Metrics,
    siblings: Siblings | None,
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
        openers=knowledge.openers if knowledge is not None else lambda _: (),
        name=settings.server.name,
        greeting=settings.server.greeting,
        quotes=settings.model.quotes,
        trouble=readiness.explain_limping,
    )
