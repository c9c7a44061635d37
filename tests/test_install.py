"""What `pip install .` installs is one whole server, and nothing that the server does not use."""

from importlib.metadata import Distribution, distribution
from importlib.util import find_spec

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .guide.readers import PROJECT

PACKAGES_MAX = 45
BYTES_MAX = 190_000_000
"""Of the files that are unpacked: numpy is a third, then come SQLAlchemy, tantivy, the weights and jsonschema-rs."""


def find_installed() -> dict[str, Distribution]:
    """Return every package that the project needs, without its extras, by name."""
    found: dict[str, Distribution] = {}
    wanted = [Requirement(each) for each in PROJECT["dependencies"]]
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found[name] = distribution(name)
        wanted += [Requirement(each) for each in found[name].requires or ()]
    return found


def test_an_installation_is_small() -> None:
    """In packages and in bytes, without what Python compiles; and no client of a hub of models comes with it."""
    found = find_installed()
    assert len(found) < PACKAGES_MAX, sorted(found)  # and the project itself
    assert not {"huggingface-hub", "tokenizers", "wordllama", "phonenumbers"} & set(found)
    sizes = {
        name: sum(file.size or 0 for file in each.files or () if file.suffix != ".pyc")
        for name, each in found.items()
    }
    assert sum(sizes.values()) < BYTES_MAX, sorted(sizes.items(), key=lambda each: -each[1])


def test_an_installation_holds_the_weights() -> None:
    """They are in the wheel, with the licence under which they are given; nothing else stands beside them."""
    spec = find_spec("agent_wordllama")
    assert spec is not None
    assert spec.origin is None  # nothing in there can be run
    files = distribution("agent-server").files or ()
    assert sorted(each.name for each in files if each.parts[0] == "agent_wordllama") == [
        "LICENSE",
        "l2_supercat_256.safetensors",
        "l2_supercat_tokenizer_config.json",
    ]
