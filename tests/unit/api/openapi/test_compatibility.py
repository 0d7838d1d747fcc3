"""Which changes of the OpenAPI document are called breaking (E-03)."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from lexigraph.api.openapi.compatibility import allowed, breaking_changes
from lexigraph.api.openapi.file import as_text, document, renew
from lexigraph.model.errors import Conflict

Doc = dict[str, Any]


def small() -> Doc:
    """A document with a path that takes a body and answers one, and a path with a parameter."""
    reply = {
        "type": "object",
        "required": ["id", "kind"],
        "properties": {
            "id": {"type": "string"},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "next": {"$ref": "#/components/schemas/Reply"},
        },
    }
    ask = {
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "maxLength": 100},
            "size": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    }
    json_of = {"application/json": {"schema": {"$ref": "#/components/schemas/Reply"}}}
    return {
        "info": {"version": "1.2.0"},
        "paths": {
            "/ask": {
                "post": {
                    "operationId": "ask",
                    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ask"}}}},
                    "responses": {"200": {"content": json_of}},
                }
            },
            "/list": {
                "get": {
                    "operationId": "list",
                    "parameters": [{"in": "query", "name": "limit", "schema": {"type": "integer", "maximum": 50}}],
                    "responses": {"200": {"content": json_of}, "404": {}},
                }
            },
        },
        "components": {"schemas": {"Ask": ask, "Reply": reply}},
    }


def properties(made: Doc, name: str) -> Doc:
    found: Doc = made["components"]["schemas"][name]["properties"]
    return found


BREAKING: dict[str, Callable[[Doc], Any]] = {
    "GET /list: is gone": lambda d: d["paths"].pop("/list"),
    "POST /ask: is gone": lambda d: d["paths"]["/ask"].update(put=d["paths"]["/ask"].pop("post")),
    "POST /ask: operationId was ask": lambda d: d["paths"]["/ask"]["post"].update(operationId="question"),
    "POST /ask: a body must now be sent": lambda d: d["paths"]["/ask"]["post"]["requestBody"].update(required=True),
    "POST /ask 200.id: may now be null": lambda d: properties(d, "Reply")["id"].update(type=["string", "null"]),
    "POST /ask 200: field id is gone": lambda d: properties(d, "Reply").pop("id"),
    "POST /ask 200: field kind may now be left out": lambda d: d["components"]["schemas"]["Reply"].update(required=["id"]),
    "POST /ask body: field size is gone": lambda d: properties(d, "Ask").pop("size"),
    "POST /ask body: field size must now be sent": lambda d: d["components"]["schemas"]["Ask"]["required"].append("size"),
    "POST /ask body.size: integer is gone as a type": lambda d: properties(d, "Ask").update(size={"type": "null"}),
    "POST /ask body.tags[]: string is gone as a type": lambda d: properties(d, "Ask")["tags"].update(
        items={"type": "integer"}
    ),
    "POST /ask body.size: minimum is now 2": lambda d: properties(d, "Ask")["size"]["anyOf"][0].update(minimum=2),
    "POST /ask body.text: maxLength is now 99": lambda d: properties(d, "Ask")["text"].update(maxLength=99),
    "POST /ask body.text: pattern is now x": lambda d: properties(d, "Ask")["text"].update(pattern="x"),
    "POST /ask body.kind: no longer allowed: b": lambda d: properties(d, "Ask")["kind"].update(enum=["a"]),
    "GET /list: query parameter limit is gone": lambda d: d["paths"]["/list"]["get"].update(parameters=[]),
    "GET /list: query parameter limit must now be sent": lambda d: d["paths"]["/list"]["get"]["parameters"][0].update(
        required=True
    ),
    "GET /list limit: maximum is now 49": lambda d: d["paths"]["/list"]["get"]["parameters"][0]["schema"].update(maximum=49),
    "GET /list: status 404 is gone": lambda d: d["paths"]["/list"]["get"]["responses"].pop("404"),
    "POST /ask 200: application/json is gone": lambda d: d["paths"]["/ask"]["post"]["responses"]["200"].update(content={}),
}
HARMLESS: dict[str, Callable[[Doc], Any]] = {
    "nothing": lambda d: None,
    "a path": lambda d: d["paths"].update({"/more": {"get": {"operationId": "more", "responses": {}}}}),
    "a field that may be sent": lambda d: properties(d, "Ask").update(more={"type": "string"}),
    "a field of a reply": lambda d: properties(d, "Reply").update(more={"type": "string"}),
    "a parameter": lambda d: d["paths"]["/list"]["get"]["parameters"].append({"in": "query", "name": "x", "schema": {}}),
    "a status": lambda d: d["paths"]["/list"]["get"]["responses"].update({"429": {}}),
    "a wider limit": lambda d: properties(d, "Ask")["text"].update(maxLength=101),
    "a wider type": lambda d: properties(d, "Ask")["size"]["anyOf"][0].update(type="number"),
    "a value that may be sent": lambda d: properties(d, "Ask")["kind"].update(enum=["a", "b", "c"]),
    "words": lambda d: properties(d, "Ask")["text"].update(description="what is asked"),
    "a field of a reply that is always there now": lambda d: d["components"]["schemas"]["Reply"]["required"].append("next"),
}


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("told", BREAKING)
def test_a_change_that_breaks_clients_is_named_with_its_place(told: str) -> None:
    new = deepcopy(small())
    BREAKING[told](new)
    assert told in breaking_changes(small(), new)


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("change", HARMLESS)
def test_additions_break_nobody(change: str) -> None:
    new = deepcopy(small())
    HARMLESS[change](new)
    assert breaking_changes(small(), new) == []


@pytest.mark.parametrize(("version", "may"), [("1.3.0", False), ("1.2.1", False), ("2.0.0", True)])
def test_only_another_major_version_may_break_clients(version: str, may: bool) -> None:
    assert allowed(small(), {**small(), "info": {"version": version}}) is may


@pytest.mark.soak
def test_our_own_document_breaks_nothing_of_itself_and_every_loss_in_it_is_seen() -> None:
    made = document()
    assert breaking_changes(made, made) == []
    for path in made["paths"]:
        less = {**made, "paths": {p: m for p, m in made["paths"].items() if p != path}}
        assert breaking_changes(made, less)
    used = json.dumps({**made["paths"]}) + json.dumps(made["components"])
    for name, schema in made["components"]["schemas"].items():
        if f"schemas/{name}" in used and schema.get("properties"):
            less = deepcopy(made)
            less["components"]["schemas"][name]["properties"].popitem()
            assert breaking_changes(made, less), name


@pytest.mark.slow
def test_the_file_is_renewed_unless_clients_would_break(tmp_path: Path) -> None:
    file = tmp_path / "openapi.json"
    assert renew(file)
    assert not renew(file)
    kept = json.loads(file.read_text())
    kept["components"]["schemas"]["Health"]["properties"]["uptime"] = {"type": "number"}
    file.write_text(as_text(kept))
    with pytest.raises(Conflict, match="GET /health 200: field uptime is gone"):
        renew(file)
    assert json.loads(file.read_text()) == kept, "it is left as it was"
    kept["info"]["version"] = "99.0.0"
    file.write_text(as_text(kept))
    assert renew(file), "a new major version may break clients"
