"""Settings are one frozen value, and a wrong one says in one line what to change."""

import dataclasses
import inspect
import socket
from typing import Any

import pytest

from agent.errors import UsageError
from agent.protocol.url import is_loopback
from agent.server.settings import proxies
from agent.settings import Settings


def test_defaults_stand() -> None:
    """Without any choice the server is local, paced and mocked."""
    settings = Settings()
    server, model = settings.server, settings.model
    assert (server.host, server.port, model.model, server.token) == ("127.0.0.1", 8787, "mock", None)


def test_settings_cannot_be_changed() -> None:
    """What was checked stays as it was checked."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().server.port = 1  # type: ignore[misc]


def test_every_setting_is_described() -> None:
    """The docstring is the help text of the flags."""
    names: list[str] = []
    for room in dataclasses.fields(Settings):
        assert isinstance(room.default_factory, type)
        described = inspect.getdoc(room.default_factory) or ""
        its = [field.name for field in dataclasses.fields(room.default_factory)]
        assert [name for name in its if f"    {name}: " not in described] == []
        names += its
    assert len(set(names)) == len(names)


def test_a_name_that_is_no_settings_is_refused() -> None:
    """It is named."""
    with pytest.raises(UsageError, match="pace"):
        Settings.of(pace=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": -1},
        {"port": 65536},
        {"lang": "de"},
        {"name": "two\nlines"},
        {"name": "x" * 81},
        {"greeting": "x" * 301},
        {"greeting": "\x1b[2J"},
        {"mock_hallucinate": 1.1},
        {"mock_hallucinate": float("nan")},
        {"mock_delay_ms": -1.0},
        {"pace_ms": -1.0},
        {"mock_ask": 1.1},
        {"verify": "never"},
        {"answer": "poem"},
        {"answer": "claims", "verify": "sentence"},
        {"evidence_tokens": -1},
        {"history_tokens": -1},
        {"turn_timeout": 0.0},
        {"action_delay_ms": (0.0, -1.0)},
        {"rate_limit": -1.0},
        {"max_connections": 0},
        {"max_per_address": -1},
        {"api_rate": -1},
        {"address_rate": -1.0},
        {"idle_timeout": -1.0},
        {"workers": 0},
        {"workers": 65},
        {"trust_proxy": ("proxy.example",)},
        {"trust_proxy": ("10.0.0.1,",)},
        {"trust_proxy": ("10.0.0.1/8",)},
        {"trust_proxy": ("10.0.0.0/33",)},
        {"trust_proxy": ("10.0.0.1:80",)},
        {"trust_proxy": ("",)},
        {"trust_proxy": ("10.0.0.1", "0.0.0.0/0")},
        {"trust_proxy": ("::/0",)},
        {"log_format": "xml"},
        {"log_level": "loud"},
        {"model": "gpt"},
        {"model": "openai:"},
        {"model": "record::openai:x"},
        {"base_url": "http://127.0.0.1/v1"},
        {"base_url": "ftp://x", "model": "openai:x"},
        {"fallback_model": "openai:x"},
        {"fallback_model": "gpt", "model": "openai:x"},
        {"first_call_timeout": 0.0},
        {"first_token_timeout": 0.0},
        {"token_timeout": -1.0},
        {"answer_tokens": 0},
        {"token": ""},
        {"token": " x"},
        {"token": "å"},
        {"action_webhook": "ftp://x"},
        {"payloads": "mock"},
        {"approve_from": "never"},
        {"rounds": 0},
        {"rounds": 9},
    ],
    ids=str,
)
def test_wrong_value_is_one_line_that_names_the_setting(wrong: dict[str, Any]) -> None:
    """A value that cannot work is refused when the settings are made."""
    with pytest.raises(UsageError) as caught:
        Settings.of(**wrong)
    assert next(iter(wrong)).replace("_", "-") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_several_workers_need_a_system_that_passes_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no such thing it is said, and one is fine."""
    monkeypatch.delattr(socket, "send_fds")
    with pytest.raises(UsageError, match="workers must be 1 on this system: only Unix"):
        Settings.of(workers=2)
    assert Settings.of().server.workers == 1


@pytest.mark.parametrize(
    "name",
    [
        "pace_ms",
        "turn_timeout",
        "mock_delay_ms",
        "rate_limit",
        "address_rate",
        "idle_timeout",
        "first_call_timeout",
        "first_token_timeout",
        "token_timeout",
    ],
)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_must_be_finite(name: str, value: float) -> None:
    """Neither NaN nor infinity slips past a comparison."""
    with pytest.raises(UsageError, match="finite"):
        Settings.of(**{name: value})


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
        ("agent.test", False),
        ("", False),
    ],
)
def test_other_machines_need_a_token_or_a_word(host: str, expected: bool) -> None:
    """A host that is not loopback works only with a token or with insecure."""
    assert is_loopback(host) is expected
    Settings.of(host=host, token="sixteen-letters-")
    Settings.of(host=host, insecure=True)
    if expected:
        Settings.of(host=host)
    else:
        with pytest.raises(UsageError, match="--insecure"):
            Settings.of(host=host)


def test_a_token_that_others_can_try_is_long() -> None:
    """Sixteen characters at least where other machines can; the error says how to make one. Here any will do."""
    Settings.of(token="t")
    for insecure in (False, True):
        with pytest.raises(UsageError, match=r"token must have at least 16 .*secrets\.token_urlsafe"):
            Settings.of(host="0.0.0.0", token="fifteen-letters", insecure=insecure)


def test_proxies_are_addresses_and_networks() -> None:
    """Given one by one, or with commas between."""
    settings = Settings.of(trust_proxy=("10.0.0.5, 10.1.0.0/16", "2001:db8::/32"))
    assert [str(each) for each in proxies(settings.server.trust_proxy)] == [
        "10.0.0.5/32",
        "10.1.0.0/16",
        "2001:db8::/32",
    ]
