"""Suites of other people's making: json-patch-tests, and the JSON-Schema-Test-Suite's required cases."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from agent.structured.check import find_problems
from agent.structured.patch import PatchFailed, apply_patch
from agent.structured.pointer import are_equal
from agent.structured.schema import CHOICES, BadSchema, compile_validator

SUITES = Path(os.environ.get("AGENT_SHARED", Path(__file__).parents[3] / "shared")) / "data" / "conformance"
SCHEMAS = SUITES / "json-schema"

needs_patches = pytest.mark.skipif(not SUITES.is_dir(), reason=f"there are no conformance suites in {SUITES}")
needs_schemas = pytest.mark.skipif(
    not SCHEMAS.is_dir(), reason=f"there is no JSON-Schema-Test-Suite in {SCHEMAS}"
)


def patches() -> Iterator[dict[str, Any]]:
    for name in ("tests.json", "spec_tests.json"):
        for case in json.loads((SUITES / name).read_text(encoding="utf-8")):
            if "patch" in case and not case.get("disabled"):
                yield case


@needs_patches
def test_every_case_of_the_patch_suite_passes() -> None:
    """All 108: what must fail fails, and everything else gives the document that is expected."""
    cases = list(patches())
    for case in cases:
        if "error" in case:
            with pytest.raises(PatchFailed):
                apply_patch(case["doc"], case["patch"])
        else:
            assert are_equal(apply_patch(case["doc"], case["patch"]), case.get("expected", case["doc"])), case
    assert len(cases) == 108


def groups(draft: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted((SCHEMAS / draft).glob("*.json")):
        for group in json.loads(path.read_text(encoding="utf-8")):
            yield path.stem, group


def remotes(draft: str) -> jsonschema_rs.Registry:
    """The documents that some cases refer to; those of other drafts are left out."""
    folder = SCHEMAS / "remotes"
    resources = []
    for path in sorted(folder.rglob("*.json")):
        name = path.relative_to(folder).as_posix()
        if not name.startswith(("v1/", "draft")) or name.startswith(f"{draft}/"):
            resources.append((f"http://localhost:1234/{name}", json.loads(path.read_text(encoding="utf-8"))))
    dialect = jsonschema_rs.Draft7 if draft == "draft7" else jsonschema_rs.Draft202012
    return jsonschema_rs.Registry(resources, draft=dialect)


@needs_schemas
@pytest.mark.parametrize(
    ("draft", "dialect", "cases", "lean"),
    [("draft2020-12", None, 1299, 22), ("draft7", "http://json-schema.org/draft-07/schema#", 927, 11)],
)
def test_the_required_cases_of_the_schema_suite_pass(
    draft: str, dialect: str | None, cases: int, lean: int
) -> None:
    """Each is valid or invalid as the suite says, but that formats count.

    A schema that leans on a document elsewhere is refused; given these documents it passes with our choices too.
    """
    checked, refused, elsewhere = 0, 0, remotes(draft)
    for name, group in groups(draft):
        schema = group["schema"]
        if dialect and isinstance(schema, dict):
            schema = {"$schema": dialect, **schema}
        try:
            validator = compile_validator(schema)
        except BadSchema:
            refused += 1
            assert "http://localhost:1234/" in json.dumps(group["schema"])
            validator = jsonschema_rs.validator_for(schema, registry=elsewhere, **CHOICES)
        for case in group["tests"]:
            checked += 1
            valid = case["valid"] and not case["description"].endswith("is only an annotation by default")
            assert (not find_problems(validator, case["data"])) is valid, (
                name,
                group["description"],
                case["description"],
            )
    assert (checked, refused) == (cases, lean)
