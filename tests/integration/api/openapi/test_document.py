"""The OpenAPI document: kept in docs/openapi.json, whole, and with examples throughout."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lexigraph.api
from lexigraph import model
from lexigraph.api.access.auth import PUBLIC
from lexigraph.api.access.keys import HEADER
from lexigraph.api.app import create_app
from lexigraph.api.openapi.compatibility import allowed, breaking_changes
from lexigraph.api.openapi.file import as_text, document

KEPT = Path(__file__).parents[4] / "docs" / "openapi.json"
ERRORS = {"400", "401", "403", "413", "422", "429", "500", "503"}
EXAMPLES = {"example", "examples", "enum", "const"}


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return document()


def operations(made: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


@pytest.mark.requirement("E-03", "E-73")
def test_the_document_that_is_kept_is_the_one_that_is_served_and_breaks_no_client(made: dict[str, Any]) -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    broken = [] if allowed(kept, made) else breaking_changes(kept, made)
    assert not broken, "clients would break, so the major version must grow"
    assert KEPT.read_text(encoding="utf-8") == as_text(made), "renew it: make openapi"


def test_every_field_has_a_description_and_an_example(made: dict[str, Any]) -> None:
    def shown(field: dict[str, Any]) -> bool:
        types = [field, *field.get("anyOf", ())]
        refers = any("$ref" in one or "$ref" in one.get("items", {}) for one in types)
        return refers or bool(EXAMPLES & field.keys())

    lacking = [
        f"{name}.{field}: {what}"
        for name, schema in made["components"]["schemas"].items()
        for field, its in schema.get("properties", {}).items()
        for what, there in (("description", "description" in its or "$ref" in its), ("example", shown(its)))
        if not there
    ]
    assert not lacking


def test_every_parameter_has_a_description_and_an_example(made: dict[str, Any]) -> None:
    lacking = [
        f"{place} {p['name']}"
        for place, operation in operations(made)
        for p in operation.get("parameters", [])
        if not (p.get("description") and EXAMPLES & (p.keys() | p["schema"].keys()))
    ]
    assert not lacking


def test_a_pattern_means_the_same_in_every_dialect(made: dict[str, Any]) -> None:
    patterns = set(re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', json.dumps(made)))
    assert patterns
    for pattern in map(json.loads, patterns):
        assert not re.search(r"\\[wWdDsSbBpP]", pattern), f"of ASCII only in JSON Schema: {pattern}"


@pytest.mark.parametrize("question", ["Ôü", "½", "日本", "𠀀", "a", "7"])
def test_the_pattern_of_a_question_takes_every_script(made: dict[str, Any], question: str) -> None:
    pattern = made["components"]["schemas"]["QueryRequest"]["properties"]["question"]["pattern"]
    assert re.search(pattern, question, re.ASCII)


def test_every_operation_says_what_it_does_who_may_and_how_it_fails(made: dict[str, Any]) -> None:
    error = {"$ref": "#/components/schemas/ErrorReply"}
    for place, operation in operations(made):
        public = place.split()[1] in PUBLIC
        assert all(operation[name] for name in ("operationId", "summary", "description", "tags")), place
        assert operation["security"] == ([] if public else [{"key": []}]), place
        failures = {status: reply for status, reply in operation["responses"].items() if not status.startswith(("2", "304"))}
        assert failures.keys() >= ({"403", "413", "500"} if public else ERRORS), place
        assert ("415" in failures) == ("requestBody" in operation), place
        for status, reply in failures.items():
            assert reply["content"] == {"application/json": {"schema": error}}, (place, status)
    names = Counter(operation["operationId"] for _, operation in operations(made))
    assert set(names.values()) == {1}
    assert made["components"]["securitySchemes"]["key"]["name"] == HEADER
    assert "HTTPValidationError" not in made["components"]["schemas"]


def test_every_code_of_an_error_is_in_the_documentation() -> None:
    sources = (Path(lexigraph.api.__file__).parent).rglob("*.py")
    codes = {code for source in sources for code in re.findall(r'\bcode="(\w+)"', source.read_text(encoding="utf-8"))}
    codes |= {error.code for error in vars(model.errors).values() if isinstance(error, type)} - {"error"}
    told = (KEPT.parent / "api.md").read_text(encoding="utf-8")
    assert {"misconfigured", "conflict", "not_found"} <= codes
    assert {code for code in codes if not re.search(rf"^\| \d+ \|.*`{code}`.* \|", told, re.MULTILINE)} == set()


def test_every_reply_has_a_schema_and_those_that_come_as_events_show_them(made: dict[str, Any]) -> None:
    streams = set()
    for place, operation in operations(made):
        for status, reply in operation["responses"].items():
            assert ("content" in reply) == (status != "304"), place
            for kind, content in reply.get("content", {}).items():
                assert content["schema"], (place, status)
                if kind == "text/event-stream":
                    streams.add(place)
                    assert content["example"].count("\n\n") >= 3
                    assert "event: " in content["example"]
    assert streams == {"POST /query", "GET /ingest/stream", "POST /ingest/stream"}


def test_every_example_fits_its_own_schema(made: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    wrong = []
    for name, schema in made["components"]["schemas"].items():
        for field, its in schema.get("properties", {}).items():
            check = Draft202012Validator({**its, "components": made["components"]})
            wrong += [f"{name}.{field}: {e.message}" for x in its.get("examples", []) for e in check.iter_errors(x)]
    for place, operation in operations(made):
        for p in operation.get("parameters", []):
            check = Draft202012Validator(p["schema"])
            wrong += [
                f"{place} {p['name']}: {e.message}" for x in p["schema"].get("examples", []) for e in check.iter_errors(x)
            ]
    assert not wrong


def test_the_document_does_not_depend_on_settings(made: dict[str, Any], tmp_path: Path) -> None:
    from lexigraph.settings import load_settings

    assert create_app(load_settings(data=tmp_path, api_rate=7, api_deadline=3.0)).openapi() == made
