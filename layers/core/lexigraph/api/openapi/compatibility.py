"""Which changes of the OpenAPI document would break a client (E-03): only additions are free within a major version."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]
_LESS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_MORE = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")


def breaking_changes(old: Json, new: Json) -> list[str]:
    """Return what worked by the ``old`` document and does not by the ``new`` one, each with its place; empty for none.

    Breaking are: a path, method, parameter, field, content type, reply status or value of an enumeration that is gone; a
    field or parameter that one must now send, or that a reply may now leave out; another type; a tighter limit on what
    is sent; another ``operationId``, from which clients are made.
    """
    found = _Documents(old, new)
    for path, methods in old["paths"].items():
        for method, operation in methods.items():
            place = f"{method.upper()} {path}"
            other = new["paths"].get(path, {}).get(method)
            if other is None:
                found.tell(place, "is gone")
            else:
                found.operation(place, operation, other)
    return found.changes


def allowed(old: Json, new: Json) -> bool:
    """Tell whether the ``new`` document may break clients of the ``old`` one: its major version is another."""
    return str(old["info"]["version"]).partition(".")[0] != str(new["info"]["version"]).partition(".")[0]


@dataclass
class _Documents:
    """Two documents, and what was found."""

    old: Json
    new: Json
    changes: list[str] = field(default_factory=list)
    _compared: set[tuple[int, int, bool]] = field(default_factory=set)

    def tell(self, place: str, what: str) -> None:
        self.changes.append(f"{place}: {what}")

    def operation(self, place: str, old: Json, new: Json) -> None:
        if old.get("operationId") != new.get("operationId"):
            self.tell(place, f"operationId was {old.get('operationId')}")
        self._parameters(place, old, new)
        sent, wanted = old.get("requestBody"), new.get("requestBody")
        if wanted and wanted.get("required") and not (sent and sent.get("required")):
            self.tell(place, "a body must now be sent")
        if sent:
            self._contents(f"{place} body", sent, wanted or {}, sent=True)
        for status, reply in old.get("responses", {}).items():
            if status not in new.get("responses", {}):
                self.tell(place, f"status {status} is gone")
            else:
                self._contents(f"{place} {status}", reply, new["responses"][status], sent=False)

    def _parameters(self, place: str, old: Json, new: Json) -> None:
        had, has = ({(p["in"], p["name"]): p for p in o.get("parameters", [])} for o in (old, new))
        for where, name in had.keys() - has.keys():
            self.tell(place, f"{where} parameter {name} is gone")
        for key, parameter in has.items():
            before = had.get(key, {})
            if parameter.get("required") and not before.get("required"):
                self.tell(place, f"{key[0]} parameter {key[1]} must now be sent")
            if before:
                self._schema(f"{place} {key[1]}", before.get("schema", {}), parameter.get("schema", {}), sent=True)

    def _contents(self, place: str, old: Json, new: Json, *, sent: bool) -> None:
        for kind, content in old.get("content", {}).items():
            other = new.get("content", {}).get(kind)
            if other is None:
                self.tell(place, f"{kind} is gone")
            else:
                self._schema(place, content.get("schema", {}), other.get("schema", {}), sent=sent)

    def _schema(self, place: str, old: Json, new: Json, *, sent: bool) -> None:
        had, has = _types(old, self.old), _types(new, self.new)
        # what is sent may be of more types than before, what is answered of fewer
        narrow, wide = (had, has) if sent else (has, had)
        for name in narrow.keys() - wide.keys():
            if "any" not in wide and not (name == "integer" and "number" in wide):
                self.tell(place, f"{name} is gone as a type" if sent else f"may now be {name}")
        for name in had.keys() & has.keys():
            self._same_type(place, had[name], has[name], sent=sent)

    def _same_type(self, place: str, old: Json, new: Json, *, sent: bool) -> None:
        both = (id(old), id(new), sent)  # a schema may hold itself, and is in many places
        if both in self._compared:
            return
        self._compared.add(both)
        fields, others = old.get("properties", {}), new.get("properties", {})
        for name in fields:
            if name not in others:
                self.tell(place, f"field {name} is gone")
            else:
                self._schema(f"{place}.{name}", fields[name], others[name], sent=sent)
        required, requires = set(old.get("required", ())), set(new.get("required", ()))
        for name in sorted(requires - required) if sent else sorted(required - requires):
            self.tell(place, f"field {name} must now be sent" if sent else f"field {name} may now be left out")
        for part in ("items", "additionalProperties"):
            if isinstance(old.get(part), Mapping) and isinstance(new.get(part), Mapping):
                self._schema(f"{place}[]", old[part], new[part], sent=sent)
        if sent:
            self._limits(place, old, new)

    def _limits(self, place: str, old: Json, new: Json) -> None:
        none = float("inf")
        tighter = [n for n in _LESS if new.get(n, none) < old.get(n, none)]
        tighter += [n for n in _MORE if new.get(n, -none) > old.get(n, -none)]
        if new.get("pattern") not in (None, old.get("pattern")):
            tighter.append("pattern")
        for name in tighter:
            self.tell(place, f"{name} is now {new[name]}")
        if values := _values(new):
            before = _values(old)
            gone = [v for v in before if v not in values] if before else ["any other value"]
            if gone:
                self.tell(place, f"no longer allowed: {', '.join(map(str, gone))}")


def _values(schema: Json) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def _types(schema: Json, document: Json) -> dict[str, Json]:
    """Return a schema's alternatives by type; several objects are told apart by their order."""
    found: dict[str, Json] = {}
    for one in _alternatives(schema, document):
        kinds = one.get("type", "any")
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            name = next(n for n in (kind, *(f"{kind} {i}" for i in range(2, 100))) if n not in found)
            found[name] = one
    return found


def _alternatives(schema: Json, document: Json) -> Iterator[Json]:
    if "$ref" in schema:
        target: Any = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        yield from _alternatives(target, document)
    elif several := schema.get("anyOf") or schema.get("oneOf"):
        for one in several:
            yield from _alternatives(one, document)
    else:
        yield schema
