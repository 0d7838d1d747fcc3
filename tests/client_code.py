"""Makes what the Python client takes from elsewhere: `python -m tests.client_code`.

``types.py`` and ``operations.py`` come from docs/openapi.json, ``synchronous.py`` from ``asynchronous.py``.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "layers" / "core" / "lexigraph" / "client"
_FROM_OPENAPI = "Made from docs/openapi.json: `python -m tests.client_code`."
_FROM_ASYNC = "Made from ``asynchronous.py``: change that and run `python -m tests.client_code`."
METHODS = ("get", "post", "put", "delete", "patch")
# of a deployment alone, so not in the document of a laptop
DEPLOYED = {"offer_upload": ("POST", "/documents/upload-url")}
# options beside what a method takes by its position
_OPTIONS = {
    "QueryRequest": "question",
    "RetrieveRequest": "question",
    "MultidocRequest": "question",
    "PreviewRequest": "question",
    "MultihopRequest": "query",
    "RecallRequest": "query",
}
_WORDS = (
    ("from collections.abc import AsyncIterator, ", "from collections.abc import Iterator, "),
    ('"""The client for ``async``. ``synchronous`` is made from this file: `python -m tests.client_code`."""',
     f'"""The client without ``async``. {_FROM_ASYNC}"""'),
    ("import asyncio\n", ""),
    ("asyncio.sleep", "time.sleep"),
    ("AsyncBaseTransport", "BaseTransport"),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("aiter_text", "iter_text"),
    ("aclose", "close"),
    ("aread", "read"),
    ("await ", ""),
    ("async ", ""),
    ("Async", ""),
)  # fmt: skip


def synchronous() -> str:
    """Return the client without ``async``."""
    text = (CLIENT / "asynchronous.py").read_text(encoding="utf-8")
    for old, new in _WORDS:
        text = text.replace(old, new)
    return text


def operations(document: dict[str, Any]) -> str:
    """Return method and path of every operation."""
    found = {
        operation["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    }
    lines = (f'    "{name}": ("{method}", "{path}"),' for name, (method, path) in sorted((found | DEPLOYED).items()))
    return (
        f'"""Method and path of every operation of the HTTP API. {_FROM_OPENAPI}"""\n\n'
        "OPERATIONS = {\n" + "\n".join(lines) + "\n}\n"
    )


def types(document: dict[str, Any]) -> str:
    """Return a typed dictionary for every schema."""
    schemas = {name: s for name, s in document["components"]["schemas"].items() if not name.startswith("Body_")}
    made = [*_typed_dicts(schemas)]
    return (
        f'"""What the HTTP API takes and replies, as typed dictionaries. {_FROM_OPENAPI}"""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import Any, Literal, NotRequired, TypedDict\n\n" + "\n\n".join(made) + "\n"
    )


def _typed_dicts(schemas: dict[str, Any]) -> Iterator[str]:
    for name, schema in sorted(schemas.items()):
        if schema.get("type") != "object":
            continue
        fields, required = schema.get("properties", {}), set(schema.get("required", ()))
        reply = schema.get("additionalProperties") is not False  # the API always sends every field of a reply
        yield _typed_dict(name, schema, fields, set(fields) if reply else required)
        if name in _OPTIONS:
            left = {field: value for field, value in fields.items() if field not in (_OPTIONS[name], "stream")}
            yield _typed_dict(name.replace("Request", "Options"), schema, left, required)


def _typed_dict(name: str, schema: dict[str, Any], fields: dict[str, Any], required: set[str]) -> str:
    entries = {
        field: _type(value) if field in required else f"NotRequired[{_type(value)}]"
        for field, value in sorted(fields.items())
    }
    told = re.sub(r" \([A-Z]-[^)]*\)", "", " ".join(schema.get("description", name).split()))
    told = f"{told}." if not told.endswith(".") else told
    if all(field.isidentifier() and field not in ("from", "class", "not") for field in entries):
        body = "\n".join(f"    {field}: {kind}" for field, kind in entries.items()) or "    pass"
        return f'class {name}(TypedDict):\n    """{told[:110].rstrip(" .")}."""\n\n{body}\n'
    inside = "\n".join(f'        "{field}": {kind!r},' for field, kind in entries.items())
    return f'{name} = TypedDict(\n    "{name}",\n    {{\n{inside}\n    }},\n)\n"""{told[:110].rstrip(" .")}."""\n'


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            kinds = dict.fromkeys(_type(one) for one in schema[several])
            return " | ".join(kinds)
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]".replace("'", '"')
    if "const" in schema:
        return f"Literal[{schema['const']!r}]".replace("'", '"')
    kind = schema.get("type")
    if kind == "array":
        return f"list[{_type(schema.get('items', {}))}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"dict[str, {_type(values) if isinstance(values, dict) else 'Any'}]"
    known = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
    return known.get(str(kind), "Any")


def code() -> dict[Path, str]:
    """Return what is made, by its file."""
    document = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    made = {"operations.py": operations(document), "types.py": types(document), "synchronous.py": synchronous()}
    return {CLIENT / name: _formatted(text) for name, text in made.items()}


def _formatted(text: str) -> str:
    for command in (["check", "--fix", "--quiet", "--exit-zero", "--select", "I,F401,UP"], ["format", "--quiet"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(CLIENT / "made.py"), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True, timeout=60).stdout
    return text


if __name__ == "__main__":
    for path, text in code().items():
        path.write_text(text, encoding="utf-8")
