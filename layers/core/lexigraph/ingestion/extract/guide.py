"""What a user wants extracted: classes, relations, instructions and examples, out of a YAML file, for extraction by a model.

Open, they are what the model should prefer; strict, what lies outside them is dropped and reported.
"""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from lexigraph.ingestion.extract.prompts import EXTRACT
from lexigraph.ingestion.extract.schema import MAX_CLASS_CHARS, MAX_PREDICATE_CHARS, REPLY
from lexigraph.model.errors import Misconfigured, reason_of
from lexigraph.model.ids import content_hash
from lexigraph.model.normalise import entity_key

MOST_BYTES = 100_000
_MOST_NAMES, _MOST_EXAMPLES = 100, 5
_Text = Annotated[str, Field(min_length=1, max_length=2_000)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Named(_Part):
    """A class or relation, and when it applies."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_PREDICATE_CHARS)]
    description: Annotated[str, Field(max_length=500)] = ""


class Fact(_Part):
    """A fact of an example."""

    subject: _Text
    predicate: _Text
    object: _Text


class Example(_Part):
    """A passage, a statement that it makes, and what is to be found in that."""

    passage: _Text
    statement: _Text
    entities: Annotated[dict[str, str], Field(max_length=20)] = {}  # name -> class
    facts: Annotated[tuple[Fact, ...], Field(max_length=20)] = ()


class Guide(_Part):
    """The content of the file."""

    strict: bool = False
    classes: Annotated[tuple[Named, ...], Field(max_length=_MOST_NAMES)] = ()
    relations: Annotated[tuple[Named, ...], Field(max_length=_MOST_NAMES)] = ()
    instructions: Annotated[str, Field(max_length=4_000)] = ""
    examples: Annotated[tuple[Example, ...], Field(max_length=_MOST_EXAMPLES)] = ()

    @field_validator("classes", "relations", mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        """A name alone, or a name with its description, is enough."""
        if isinstance(given, Mapping):
            return [{"name": name, "description": told or ""} for name, told in given.items()]
        return [{"name": one} if isinstance(one, str) else one for one in given] if isinstance(given, list) else given

    @field_validator("classes")
    @classmethod
    def _not_too_long(cls, given: tuple[Named, ...]) -> tuple[Named, ...]:
        for one in given:
            if len(one.name) > MAX_CLASS_CHARS:
                raise ValueError(f"{one.name[:60]!r} must have at most {MAX_CLASS_CHARS} characters")
        return given

    @cached_property
    def fingerprint(self) -> str:
        """Changes with whatever the model is told: part of the extractor's name, so of cache keys."""
        return content_hash(self.model_dump_json())[:8]

    @property
    def prompt(self) -> str:
        """What the model is told beside the rules."""
        return "\n\n".join(self._told())

    def _told(self) -> Iterator[str]:
        how = "Use only these" if self.strict else "Prefer these"
        for what, named in (("entity classes", self.classes), ("predicates of facts", self.relations)):
            if named:
                lines = [f"- {one.name}" + (f": {one.description}" if one.description else "") for one in named]
                yield f"{how} {what}:\n" + "\n".join(lines)
        if self.instructions:
            yield f"Also:\n{self.instructions.strip()}"
        for example in self.examples:
            statement = {
                "statement": example.statement,
                "details": [],
                "entities": [{"name": name, "class": class_} for name, class_ in example.entities.items()],
                "facts": [fact.model_dump() for fact in example.facts],
            }
            reply = {"topics": [{"title": "...", "statements": [statement]}], "aliases": []}
            told = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
            yield f"Example: Passage: {example.passage}\n{told}"

    @cached_property
    def reply(self) -> Mapping[str, Any]:
        """The JSON schema of a reply: strict, with the classes and relations that are allowed."""
        schema: dict[str, Any] = deepcopy(dict(REPLY))
        statement = schema["properties"]["topics"]["items"]["properties"]["statements"]["items"]["properties"]
        if self.strict and self.classes:
            statement["entities"]["items"]["properties"]["class"] = _enum(self.classes)
        if self.strict and self.relations:
            statement["facts"]["items"]["properties"]["predicate"] = _enum(self.relations)
        return schema

    def within(self, reply: Any) -> tuple[Any, tuple[str, ...]]:
        """Return a reply without what a strict guide does not allow, and what was dropped. Names compare as entities do."""
        if not self.strict or not isinstance(reply, Mapping) or not isinstance(reply.get("topics"), list):
            return reply, ()
        kept, dropped = deepcopy(dict(reply)), list[str]()
        classes, relations = _keys(self.classes), _keys(self.relations)
        for topic in kept["topics"]:
            statements = topic.get("statements") if isinstance(topic, Mapping) else None
            for statement in statements if isinstance(statements, list) else ():
                if not isinstance(statement, dict):
                    continue
                for field, name, allowed in (("entities", "class", classes), ("facts", "predicate", relations)):
                    found = statement.get(field)
                    if not allowed or not isinstance(found, list):
                        continue
                    statement[field] = []
                    for one in found:
                        given = str(one.get(name, "")) if isinstance(one, Mapping) else ""
                        if own := allowed.get(_key(given)):
                            statement[field].append({**one, name: own})
                        else:
                            dropped.append(f"{field}: {name} {given[:60]!r} is not among those of the extraction file")
        return kept, tuple(dropped)


def asked_with(guide: Guide | None) -> tuple[str, Mapping[str, Any]]:
    """Return what a model is told, and the JSON schema of its reply."""
    if guide is None:
        return EXTRACT, REPLY
    return "\n\n".join(part for part in (EXTRACT, guide.prompt) if part), guide.reply


def _enum(named: tuple[Named, ...]) -> dict[str, Any]:
    return {"type": "string", "enum": [one.name for one in named]}


def _keys(named: tuple[Named, ...]) -> dict[str, str]:
    return {_key(one.name): one.name for one in named}


def _key(name: str) -> str:
    return entity_key(name.replace("_", " "))


def read_guide(path: Path) -> Guide:
    """Return the guide in a file. Raise ``Misconfigured`` naming the file, the field and what it may be."""
    where = f"extraction file {path}"
    try:
        text = path.expanduser().read_bytes()
    except OSError as error:
        raise Misconfigured(f"{where}: {reason_of(error)}") from None
    if len(text) > MOST_BYTES:
        raise Misconfigured(f"{where} must have at most {MOST_BYTES:,} bytes, got {len(text):,}")
    told = _of_json(text, where) if path.suffix == ".json" else _of_yaml(text, where)
    if not isinstance(told, Mapping):
        raise Misconfigured(
            f"{where} must be a mapping with fields such as classes, relations, instructions, examples or strict"
        )
    try:
        return Guide(**{str(name): value for name, value in told.items()})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise Misconfigured(f"{where}: {field}: {first['msg'][:1].lower()}{first['msg'][1:]}") from None


def _of_json(text: bytes, where: str) -> Any:
    """Read what a deployment gives its functions, whose layer has no PyYAML."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Misconfigured(f"{where}: not valid JSON") from None


def _of_yaml(text: bytes, where: str) -> Any:
    try:
        import yaml
    except ModuleNotFoundError:
        raise Misconfigured(f'{where}: needs PyYAML: pip install "lexigraph[files]"') from None
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        at = f", line {mark.line + 1}" if mark else ""
        raise Misconfigured(f"{where}{at}: not valid YAML") from None
