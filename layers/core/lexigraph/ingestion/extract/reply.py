"""Checks what a language model replied, item by item: what is malformed or not in the passage is dropped and reported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lexigraph.ingestion.extract import schema
from lexigraph.ingestion.extract.blocks import headings_at
from lexigraph.ingestion.extract.evidence import holds
from lexigraph.ingestion.extract.grounding import Passage, is_name
from lexigraph.ingestion.extract.names import clean_name, name_forms, title_name
from lexigraph.ingestion.extract.topics import tells, topic_title
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import ExtractedEntity, ExtractedFact, ExtractedStatement, ExtractedTopic, Extraction
from lexigraph.model.normalise import entity_key, text_key

MAX_REPORTED = 50
_SHOWN = 60


class UnusableReply(Exception):
    """A reply of the wrong overall shape, or of which nothing can be used; the message says why.

    ``details`` repeat words of the reply: they are for the model that is to repair it, not for reports and logs.
    """

    def __init__(self, why: str, details: Sequence[str] = ()) -> None:
        super().__init__(why)
        self.details = f": {'; '.join(details)}" if details else ""


def read_reply(reply: Any, chunk: ChunkText) -> Extraction:
    """Return what can be used of a reply. Raise ``UnusableReply`` when it has the wrong shape or no good statement.

    A statement stays when its names and numbers stand in the chunk, its title, its headings or the sentence before it, and
    when a sentence of the chunk says it, whose offsets it gets.
    """
    if not isinstance(reply, Mapping):
        raise UnusableReply("it must be a JSON object with the lists 'topics' and 'aliases'")
    if not isinstance(reply.get("topics"), list):
        raise UnusableReply("its 'topics' must be a list")
    reader = _Reader(chunk)
    topics = reader.topics(reply["topics"])
    if reader.dropped and not topics:
        raise UnusableReply("no statement of the reply can be used", reader.dropped[:3])
    aliases = reader.aliases(reply.get("aliases", []))
    dropped = reader.dropped
    if len(dropped) > MAX_REPORTED:
        dropped = [*dropped[:MAX_REPORTED], f"and {len(dropped) - MAX_REPORTED} more"]
    return Extraction(topics, aliases, tuple(dropped))


def read_propositions(reply: Any) -> list[str]:
    """Return the propositions of a reply. Raise ``UnusableReply`` when there are none."""
    found = reply.get("propositions") if isinstance(reply, Mapping) else None
    if not isinstance(found, list):
        raise UnusableReply("it must be a JSON object with the list 'propositions'")
    lines = [one_line(p) for p in found]
    kept = [line for line in lines if 0 < len(line) <= schema.MAX_STATEMENT_CHARS and _has_word(line)]
    if not kept:
        raise UnusableReply("its 'propositions' hold no text")
    return kept[: schema.MAX_PROPOSITIONS]


@dataclass(slots=True)
class _Reader:
    chunk: ChunkText
    dropped: list[str] = field(default_factory=list)
    _passage: Passage = field(init=False)
    _statements: int = 0
    _place: int = 0
    _named: dict[str, ExtractedEntity] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._passage = Passage(self.chunk)

    def topics(self, raw: list[Any]) -> tuple[ExtractedTopic, ...]:
        self._named = self._all_names(raw)
        found: list[ExtractedTopic] = []
        for at, topic in enumerate(self._within(raw, schema.MAX_TOPICS, "topics")):
            where = f"topics[{at}]"
            if not isinstance(topic, Mapping) or not isinstance(topic.get("statements"), list):
                self._drop(where, "has no list 'statements'")
                continue
            title = self._text(topic.get("title"), schema.MAX_TITLE_CHARS)
            statements = self._statements_of(topic["statements"], where)
            if statements:
                found.append(ExtractedTopic(title if tells(title) else self._title(statements), statements))
            elif topic["statements"]:
                self._drop(where, "holds no statement that can be used")
        return tuple(found)

    def aliases(self, raw: Any) -> tuple[tuple[str, str], ...]:
        """Pairs of names that both stand in the passage, its title or its headings."""
        found: dict[tuple[str, str], None] = {}
        said = self.chunk.indexed
        for at, pair in enumerate(self._within(raw, schema.MAX_ALIASES, "aliases")):
            values = (pair.get("other_name"), pair.get("name")) if isinstance(pair, Mapping) else (None, None)
            other, name = (clean_name(one_line(v)) for v in values)
            if not other or not name or entity_key(other) == entity_key(name):
                self._drop(f"aliases[{at}]", "needs two different names")
            elif not (holds(said, other) and holds(said, name)):
                self._drop(f"aliases[{at}]", f"{_shown(other)} or {_shown(name)} is not in the passage")
            else:
                found[other, name] = None
        return tuple(found)

    # ---- statements

    def _statements_of(self, raw: list[Any], where: str) -> tuple[ExtractedStatement, ...]:
        found: dict[str, ExtractedStatement] = {}
        for at, said in enumerate(raw):
            here = f"{where}.statements[{at}]"
            if self._statements >= schema.MAX_STATEMENTS:
                self._drop(here, f"and what follows is over the limit of {schema.MAX_STATEMENTS} statements")
                break
            statement = self._statement(said, here)
            if statement and text_key(statement.value) in found:
                self._drop(here, "repeats a statement")
            elif statement:
                found[text_key(statement.value)] = statement
                self._statements += 1
        return tuple(found.values())

    def _statement(self, raw: Any, where: str) -> ExtractedStatement | None:
        if not isinstance(raw, Mapping):
            self._drop(where, "is no object")
            return None
        value = self._text(raw.get("statement"), schema.MAX_STATEMENT_CHARS)
        if not value:
            self._drop(where, f"has no 'statement' of 1 to {schema.MAX_STATEMENT_CHARS:,} characters")
            return None
        names = self._entities(raw.get("entities"), value, where)
        if names is None or not self._grounded(value, where):
            return None
        source = self._passage.source(value, self._place)
        if source is None:
            self._drop(where, "is said by no sentence of the passage")
            return None
        self._place = source[0]
        facts = self._facts(raw.get("facts"), names, where)
        said = one_line(self.chunk.text[slice(*source)])
        return ExtractedStatement(
            value,
            *source,
            self._details(raw.get("details"), where),
            tuple(names.values()),
            facts,
            original=said if said != value else "",
        )

    def _grounded(self, text: str, where: str) -> bool:
        missing = self._passage.missing(text)
        if missing:
            self._drop(where, f"names {', '.join(map(_shown, missing))}, not in the passage")
        return not missing

    def _details(self, raw: Any, where: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for at, detail in enumerate(self._within(raw, schema.MAX_DETAILS, f"{where}.details")):
            text, here = self._text(detail, schema.MAX_DETAIL_CHARS), f"{where}.details[{at}]"
            if not text:
                self._drop(here, f"is no text of 1 to {schema.MAX_DETAIL_CHARS} characters")
            elif self._grounded(text, here):
                found[text] = None
        return tuple(found)

    def _entities(self, raw: Any, value: str, where: str) -> dict[str, ExtractedEntity] | None:
        """The entities of a statement that the passage names; None when the statement names another."""
        found: dict[str, ExtractedEntity] = {}
        for at, entity in enumerate(self._within(raw, schema.MAX_ENTITIES, f"{where}.entities")):
            made, here = self._entity(entity), f"{where}.entities[{at}]"
            if not made:
                self._drop(here, "has no usable 'name'")
            elif self._is_there(made[0]):
                for one in made:
                    found.setdefault(entity_key(one.name), one)
            elif is_name(made[0].name) and holds(value, made[-1].name):
                self._drop(where, f"names {_shown(made[0].name)}, not in the passage")
                return None
            else:
                self._drop(here, f"{_shown(made[0].name)} is not in the passage")
        return found

    def _is_there(self, entity: ExtractedEntity) -> bool:
        return self._passage.names(entity.name, entity.class_)

    def _entity(self, raw: Any) -> list[ExtractedEntity]:
        """The forms of a name, the title as it is written; none for what is no name."""
        if not isinstance(raw, Mapping) or not isinstance(raw.get("name"), str):
            return []
        class_ = self._text(raw.get("class"), schema.MAX_CLASS_CHARS)
        title = title_name(self.chunk.title)
        name = one_line(raw["name"])
        same = entity_key(title) and entity_key(title) == entity_key(name)
        return [ExtractedEntity(form, class_) for form in ([title] if same else name_forms(name))]

    def _all_names(self, topics: list[Any]) -> dict[str, ExtractedEntity]:
        """Every name of the reply: a model lists a name once and uses it in the facts of several statements."""
        lists = [
            statement.get("entities")
            for topic in topics
            if isinstance(topic, Mapping) and isinstance(topic.get("statements"), list)
            for statement in topic["statements"]
            if isinstance(statement, Mapping)
        ]
        entities = [e for names in lists if isinstance(names, list) for raw in names for e in self._entity(raw)]
        return {entity_key(e.name): e for e in reversed(entities) if self._is_there(e)}

    def _facts(self, raw: Any, names: dict[str, ExtractedEntity], where: str) -> tuple[ExtractedFact, ...]:
        found: dict[ExtractedFact, None] = {}
        for at, fact in enumerate(self._within(raw, schema.MAX_FACTS, f"{where}.facts")):
            here = f"{where}.facts[{at}]"
            if not isinstance(fact, Mapping):
                self._drop(here, "is no object")
                continue
            subject, object_ = self._known(fact.get("subject"), names), self._known(fact.get("object"), names)
            predicate = self._text(fact.get("predicate"), schema.MAX_PREDICATE_CHARS)
            value = object_ or self._text(fact.get("object"), schema.MAX_OBJECT_CHARS)
            if not subject:
                self._drop(here, f"subject {_shown(fact.get('subject'))} is no entity of the statement")
            elif not predicate or not value:
                self._drop(here, "needs a 'predicate' and an 'object', neither empty nor too long")
            elif entity_key(subject) == entity_key(value):
                self._drop(here, "subject and object are the same")
            elif not (object_ or self._passage.says(value)):
                self._drop(here, f"object {_shown(value)} is not in the passage")
            else:
                found[ExtractedFact(subject, predicate, value)] = None
        return tuple(found)

    def _known(self, raw: Any, names: dict[str, ExtractedEntity]) -> str:
        """Return the name of an entity of the statement, or of the reply, which then is one of the statement too."""
        name = one_line(raw)
        for form in (entity_key(name), entity_key(clean_name(name))):
            if form and form not in names and form in self._named:
                names[form] = self._named[form]
            if form in names:
                return names[form].name
        return ""

    # ---- small things

    def _within(self, raw: Any, limit: int, where: str) -> list[Any]:
        if raw is not None and not isinstance(raw, list):
            self._drop(where, "is no list")
            return []
        items = raw or []
        if len(items) > limit:
            self._drop(f"{where}[{limit}:]", f"is over the limit of {limit}")
        return items[:limit]

    def _text(self, raw: Any, limit: int) -> str:
        text = one_line(raw)
        return text if len(text) <= limit and _has_word(text) else ""

    def _title(self, statements: Sequence[ExtractedStatement]) -> str:
        """The title of statements for which the model has none, or one that says nothing (``Introduction``)."""
        return topic_title(self.chunk, headings_at(self.chunk, statements[0].start), statements)

    def _drop(self, where: str, why: str) -> None:
        self.dropped.append(f"{where} {why}")


def one_line(value: Any) -> str:
    """Return the text of a reply on one line; empty for what is no text."""
    # JSON can escape half a surrogate pair, which no store takes
    return " ".join(value.encode("utf-8", "replace").decode().split()) if isinstance(value, str) else ""


def _has_word(text: str) -> bool:
    return any(c.isalnum() for c in text)


def _shown(raw: Any) -> str:
    text = str(raw)
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
