"""The settings of an operator: those of every room, as one frozen value.

Each room defines its own settings, with their meaning and their bounds; no room knows another's.
"""

from dataclasses import dataclass, field, fields
from typing import Any, cast

from .actions.settings import ActionSettings
from .answering.settings import AnswerSettings
from .embedding.settings import VectorSettings
from .errors import UsageError
from .llm.settings import MockSettings
from .log import LogSettings
from .memory.settings import MemorySettings
from .models.settings import ModelSettings
from .retrieval.settings import DocumentSettings
from .server.settings import ServerSettings
from .session.settings import SessionSettings
from .storage.settings import StorageSettings
from .threads.settings import ThreadSettings
from .tools.settings import ToolSettings
from .tracing.settings import TraceSettings
from .voice.settings import VoiceSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a server, by room; no two rooms share a setting's name."""

    server: ServerSettings = field(default_factory=ServerSettings)
    documents: DocumentSettings = field(default_factory=DocumentSettings)
    answers: AnswerSettings = field(default_factory=AnswerSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    mock: MockSettings = field(default_factory=MockSettings)
    vectors: VectorSettings = field(default_factory=VectorSettings)
    session: SessionSettings = field(default_factory=SessionSettings)
    actions: ActionSettings = field(default_factory=ActionSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    threads: ThreadSettings = field(default_factory=ThreadSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
    log: LogSettings = field(default_factory=LogSettings)
    tracing: TraceSettings = field(default_factory=TraceSettings)
    voice: VoiceSettings = field(default_factory=VoiceSettings)

    @property
    def socket_project(self) -> str:
        """The project of sessions over sockets, the same on all servers that share a database and its documents."""
        return self.storage.name_documents(self.documents.kb) or str(self.documents.kb)

    @classmethod
    def of(cls, **chosen: Any) -> "Settings":
        """Return default settings with the values `chosen`, each by its own name (`port=0`) in any room.

        Raises `agent.errors.UsageError` for a value that cannot work, and for an unknown name.
        """
        rooms = {}
        for room in fields(cls):
            make = cast(type[Any], room.default_factory)
            its = [each.name for each in fields(make)]
            rooms[room.name] = make(**{name: chosen.pop(name) for name in its if name in chosen})
        if chosen:
            raise UsageError(f"there is no setting {', '.join(sorted(chosen))}")
        return cls(**rooms)
