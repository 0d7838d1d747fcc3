"""An excerpt of the graph, as one query brings it, in the tables of the embedded store.

A read asks Neptune once, for all that could matter and no more: what readers of the tenant do not see, and what the filters
do not admit, stays there, and so does what a limit cuts off. What is left to do (ranks, ties, caps, order) is done by the
code of the embedded store, over an SQLite database in memory that holds these rows alone: so both stores mean the same.

A query returns rows of two columns, ``kind`` and ``row``. :data:`KINDS` says what each kind of row holds.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import cache
from typing import Any

from lexigraph.model.filters import Filter, MetadataFilter
from lexigraph.model.graph import Entity, Source
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.derive import computed
from lexigraph.storage.neptune.filters import filter_condition
from lexigraph.storage.neptune.schema import LIVE, senses_owner, synonyms_owner
from lexigraph.storage.sqlite.database import marks
from lexigraph.storage.sqlite.filters import filterable_json
from lexigraph.storage.sqlite.graph.adjacent import SqliteAdjacent
from lexigraph.storage.sqlite.graph.gate import raw
from lexigraph.storage.sqlite.graph.links import SqliteLinks
from lexigraph.storage.sqlite.graph.read import HUB, SqliteRead
from lexigraph.storage.sqlite.graph.related import SqliteRelated
from lexigraph.storage.sqlite.graph.rows import store_statements
from lexigraph.storage.sqlite.graph.schema import SCHEMA, SENSES, SYNONYMS
from lexigraph.storage.sqlite.graph.walks import SqliteWalks

TENANT = 1  # the key of the one tenant; entities that are only named belong to none
_NOBODY = 0
_SEEN, _UNSEEN = "seen", "unseen"  # stand for chunks of which only that matters
_FAR, _FAR_SEQ = "far:ff", 2**31
_LAST = b"\xff" * 17  # ids have 16 bytes

# Admits everything: Neptune has filtered already, but what is asked within filters is answered otherwise than without.
_ADMITTED = MetadataFilter("uri", "not_in", ())


class Excerpt(SqliteRead, SqliteLinks, SqliteRelated, SqliteAdjacent, SqliteWalks):
    """The reading parts of the embedded store, over a connection of their own."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def _read(self, tenant: Tenant) -> AbstractContextManager[sqlite3.Connection]:  # noqa: ARG002  # it holds no other's
        return nullcontext(self._connection)


def ask(
    client: NeptuneClient, query: str, tenant: Tenant, filters: Filter | None = None, **parameters: Any
) -> list[tuple[str, list[Any]]]:
    """Run a query in which ``SEEN`` stands for what readers see of a chunk placed by ``p`` in ``s``; return its rows."""
    condition, compared = filter_condition(filters)
    text = query.replace("SEEN", f"{LIVE} AND {condition}" if filters else LIVE)
    # what a view sees of entities is not what their properties say
    narrowed = filters is not None or isinstance(tenant, View)
    owners = {"synonyms": synonyms_owner(tenant), "senses": senses_owner(tenant)}
    given = {"tenant": tenant, **owners, "filtered": narrowed, **parameters, **compared}
    # parameters that a variant of the query does not use are left out
    rows = client.read(text, **{name: value for name, value in given.items() if f"${name}" in text})
    return [(row["kind"], row["row"]) for row in rows]


@contextmanager
def excerpt(
    client: NeptuneClient, query: str, tenant: Tenant, filters: Filter | None, **parameters: Any
) -> Iterator[Excerpt]:
    """Run a query (:func:`ask`) and give a graph that holds what its rows say."""
    tables = _Tables(tenant)
    for kind, row in ask(client, query, tenant, filters, **parameters):
        KINDS[kind](tables, *row)
    if isinstance(tenant, View):
        tables.derive_anew(lambda ids: computed(client, tenant, ids))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(_empty())
        tables.fill(connection)
        yield Excerpt(connection)


def admitted(filters: Filter | None) -> Filter | None:
    """Return the filters for an excerpt that was read within filters."""
    return None if filters is None else _ADMITTED


@cache
def _empty() -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        return connection.serialize()


class _Tables:
    """The rows of an excerpt by table, each under its primary key: a row may come more than once."""

    def __init__(self, tenant: str) -> None:
        self._keys: dict[str, int] = {}
        self._rows: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = defaultdict(dict)
        self._whole: list[int] = []  # chunks of which all that they say is here
        self._put("tenant", TENANT, tenant)
        self._source(_SEEN)

    def source(self, id_: str, uri: str, namespace: str, title: str, metadata: str, live: int) -> None:
        """A source that readers see."""
        shown = filterable_json(Source(id_, uri, namespace, title, json.loads(metadata), live).filterable)
        row = (self._key(id_), raw(id_), TENANT, uri, namespace, title, metadata, shown, live)
        self._rows["source"][row[:1]] = row

    def place(self, c: str, s: str, seq: int, start: int, end: int, role: str, parent: str) -> None:
        """A chunk that readers see, and its place in its source."""
        chunk, source = self._key(c), self._source(s)
        self._rows["chunk"][(chunk,)] = (chunk, raw(c), source)
        self._rows["placed"][chunk, 0] = (chunk, 0, None, source, seq, start, end, role, parent)

    def stands(self, c: str, s: str, seq: int) -> None:
        """The same, where no more of it is asked for."""
        if (self._key(c), 0) not in self._rows["placed"]:
            self.place(c, s, seq, 0, 0, "", "")

    def chunk(self, c: str, s: str, seq: int, start: int, end: int, role: str, parent: str, text: str) -> None:
        """The same, with all that the chunk says (``schema.statements_text``)."""
        self.place(c, s, seq, start, end, role, parent)
        chunk = self._key(c)
        topics, said = json.loads(text)
        for id_, title in topics:
            self.topic_in(c, id_)
            self.topic(id_, title)
        for id_, value, details, at, position, start_, end_, names, facts, *shown in said:
            statement = self._key(id_)
            kind, original = shown or ("prose", "")
            self._put("statement", statement, raw(id_), self._key(topics[at][0]), value, details, kind)
            self._put("said_in", chunk, statement, position, start_, end_, original)
            for entity in names:
                self.mention(c, id_, entity)
            for fact, subject, predicate, object_, subject_id, object_id in facts:
                self.fact(c, id_, fact, subject, predicate, object_, subject_id, object_id)
        self._whole.append(chunk)

    def entity(self, id_: str, value: str, class_: str | None, df: int, degree: int) -> None:
        """An entity of the tenant; a bulk load may leave out a class that is empty."""
        self._rows["entity"][(self._key(id_),)] = (self._key(id_), raw(id_), TENANT, value, class_ or "", df, degree)

    def derive_anew(self, computed: Callable[[list[str]], list[Entity]]) -> None:
        """Put in the place of the properties of all entities those that are computed."""
        owned = [id_ for id_, key in self._keys.items() if self._rows["entity"].get((key,), (0, 0, _NOBODY))[2] == TENANT]
        found = {e.id: e for e in computed(sorted(owned))}
        for id_ in owned:
            del self._rows["entity"][(self._key(id_),)]
            if e := found.get(id_):
                self.entity(id_, e.value, e.class_, e.df, e.degree)
            else:
                self._named(id_)  # nothing that the view sees names it

    def alias(self, alias: str, target: str, sense: bool) -> None:
        """Another name of an entity, as a text that readers see or the synonyms give it; or one with that ``sense``."""
        self._put("alias", self._key(alias), self._key(target), SENSES if sense else SYNONYMS, "", "")

    def about(self, source: str, entity: str) -> None:
        """A source that is titled by an entity."""
        self._put("about", self._key(source), self._named(entity), "")

    def mention(self, chunk: str, statement: str, entity: str) -> None:
        """A statement that names an entity, in a chunk that readers see."""
        self._put("mentions", self._within(chunk), self._key(statement), self._named(entity), "", "")

    def seen(self, entity: str) -> None:
        """A text or a title that readers see names an entity."""
        # as if a title did, of a source so far from its beginning that none of its chunks leads anywhere
        self.stands(_FAR, _FAR, _FAR_SEQ)
        self.about(_FAR, entity)

    def naming(self, chunk: str, entity: str, times: int) -> None:
        """A chunk that readers see names an entity in so many statements."""
        for at in range(times):
            self._put("mentions", self._within(chunk), -at, self._named(entity), "", "")

    def named(self, entity: str, times: int) -> None:
        """An entity is named at least so often, seen or not."""
        self._crowd(_UNSEEN, entity, times)

    def hub(self, entity: str) -> None:
        """An entity is named more than 1,000 times in what readers see."""
        self._within(_SEEN)
        self._crowd(_SEEN, entity, HUB + 1)

    def fact(
        self, c: str, st: str, id_: str, subject: str, predicate: str, object_: str, subject_id: str, object_id: str | None
    ) -> None:
        """A fact that supports a statement in a chunk that readers see, and therefore its subject and object."""
        fact = self._key(id_)
        self._put("fact", fact, raw(id_) or id_.encode(), subject, predicate, object_, self._named(subject_id))
        named = self._named(object_id) if object_id else None
        self._put("supports", self._within(c), self._key(st), fact, named, 1.0)
        for entity in filter(None, (subject_id, object_id)):
            self.seen(entity)

    def joined(self, a: str, b: str, *of_b: Any) -> None:
        """Two entities that some fact joins, the second with its properties."""
        self.entity(b, *of_b)
        self.fact(_SEEN, "", f"{a} {b}", "", "", "", a, b)

    def topic_in(self, chunk: str, topic: str) -> None:
        """A topic of a chunk that readers see."""
        self._put("topic_in", self._within(chunk), self._topic(topic))

    def told(self, chunk: str, statement: str, position: int, topic: str) -> None:
        """A statement of a topic in a chunk that readers see."""
        self._put("said_in", self._within(chunk), self._key(statement), position, 0, 0, "")
        self._put("statement", self._key(statement), raw(statement), self._topic(topic), "", "", "prose")

    def statement(self, id_: str, topic: str, value: str, details: str) -> None:
        """A statement with its text."""
        row = (self._key(id_), raw(id_), self._topic(topic), value, details, "prose")
        self._rows["statement"][row[:1]] = row

    def topic(self, id_: str, value: str) -> None:
        """A topic with its title."""
        row = (self._key(id_), raw(id_), 0, value)
        self._rows["topic"][row[:1]] = row

    def runs_over(self, topic: str, chunks: int) -> None:
        """A topic stands in at least so many chunks, seen or not."""
        for at in range(1, chunks + 1):
            self._put("topic_in", -at, self._key(topic))

    def rel(self, src: str, dst: str, type_: str, observer: str, confidence: float, evidence: str) -> None:
        """What an observer said of two chunks that readers see."""
        self._put("rel", self._within(src), self._within(dst), type_, observer, confidence, evidence)

    def fill(self, connection: sqlite3.Connection) -> None:
        """Put all rows into the tables."""
        for chunk, _, source in self._rows["chunk"].values():
            # nothing but that readers see it is known of a chunk without a place
            self._rows["placed"].setdefault((chunk, 0), (chunk, 0, None, source, 0, 0, 0, "", ""))
        for table, rows in self._rows.items():
            for width in {len(row) for row in rows.values()}:  # one, or none where there is no row
                connection.executemany(f"INSERT INTO {table} VALUES ({marks(width)})", rows.values())
        store_statements(connection, self._whole)

    def _key(self, id_: str) -> int:
        return self._keys.setdefault(id_, len(self._keys) + 1)

    def _source(self, id_: str) -> int:
        key = self._key(id_)
        # without an id of its own behind all that have one, wherever the first source counts
        self._put("source", key, raw(id_) or _LAST, TENANT, "", "", "", "{}", "{}", 1)
        return key

    def _topic(self, id_: str) -> int:
        key = self._key(id_)
        self._put("topic", key, raw(id_), 0, "")
        return key

    def _within(self, chunk: str) -> int:
        key = self._key(chunk)
        self._rows["chunk"].setdefault((key,), (key, raw(chunk), self._key(_SEEN)))
        return key

    def _named(self, entity: str) -> int:
        key = self._key(entity)
        self._rows["entity"].setdefault((key,), (key, raw(entity), _NOBODY, "", "", 0, 0))
        return key

    def _crowd(self, chunk: str, entity: str, times: int) -> None:
        # statements that only count: below the keys of all others
        rows, k, c = self._rows["mentions"], self._named(entity), self._key(chunk)
        rows.update({(c, -at, k): (c, -at, k, "", "") for at in range(1, times + 1)})

    def _put(self, table: str, *row: Any) -> None:
        self._rows[table].setdefault(row[: _KEY_COLUMNS[table]], row)


# How many columns make the primary key; they come first.
_KEY_COLUMNS = {
    **dict.fromkeys(("tenant", "source", "chunk", "topic", "statement", "entity", "fact"), 1),
    **dict.fromkeys(("placed", "topic_in", "said_in", "about"), 2),
    **dict.fromkeys(("supports", "mentions", "alias"), 3),
    "rel": 4,
}
# What a row of each kind says, and its columns: those of the method.
KINDS: Mapping[str, Callable[..., None]] = {
    name: method
    for name, method in vars(_Tables).items()
    if not name.startswith("_") and name not in ("fill", "derive_anew")
}
