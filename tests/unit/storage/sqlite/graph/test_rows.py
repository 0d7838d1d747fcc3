"""What is written beside each chunk for reading says what the tables say, goes with its chunk, and comes to older files."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lexigraph.model.graph import ChunkGraph, Mention, Placement, Source, StatementNode, TopicNode
from lexigraph.model.ids import entity_id, node_id, source_id, statement_id, topic_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import EvidenceRequest, SourceVersion
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore
from tests.formats import WITHOUT_KINDS, as_format_4, without_ledger
from tests.graph_dump import dump_graph
from tests.worlds import said, show, take_out, version

A = Tenant("a")
# the tables of format 1, as they were
FORMAT_1 = """
CREATE TABLE tenant (k INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE source (
    k INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant INTEGER NOT NULL, uri TEXT NOT NULL, namespace TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '', metadata TEXT NOT NULL DEFAULT '{}', filterable TEXT NOT NULL DEFAULT '{}', live INTEGER
);
CREATE INDEX source_tenant ON source (tenant);
CREATE TABLE chunk (k INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, source INTEGER NOT NULL);
CREATE INDEX chunk_source ON chunk (source);
CREATE TABLE placed (
    chunk INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER, source INTEGER NOT NULL, seq INTEGER NOT NULL,
    "start" INTEGER NOT NULL, "end" INTEGER NOT NULL, role TEXT NOT NULL, parent TEXT NOT NULL, PRIMARY KEY (chunk, since)
) WITHOUT ROWID;
CREATE INDEX placed_source ON placed (source, seq);
CREATE TABLE topic (k INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, source INTEGER NOT NULL, value TEXT NOT NULL);
CREATE TABLE topic_in (chunk INTEGER NOT NULL, topic INTEGER NOT NULL, PRIMARY KEY (chunk, topic)) WITHOUT ROWID;
CREATE INDEX topic_in_topic ON topic_in (topic);
CREATE TABLE statement (
    k INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, topic INTEGER NOT NULL, value TEXT NOT NULL, details TEXT NOT NULL
);
CREATE TABLE said_in (
    chunk INTEGER NOT NULL, statement INTEGER NOT NULL, position INTEGER NOT NULL, "start" INTEGER NOT NULL,
    "end" INTEGER NOT NULL, PRIMARY KEY (chunk, statement)
) WITHOUT ROWID;
CREATE INDEX said_in_statement ON said_in (statement);
CREATE TABLE entity (
    k INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, tenant INTEGER NOT NULL, value TEXT NOT NULL,
    class TEXT NOT NULL DEFAULT '', df INTEGER NOT NULL DEFAULT 0, degree INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE fact (
    k INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL,
    subject_entity INTEGER NOT NULL
);
CREATE INDEX fact_subject ON fact (subject_entity);
CREATE TABLE supports (
    chunk INTEGER NOT NULL, statement INTEGER NOT NULL, fact INTEGER NOT NULL, object_entity INTEGER,
    confidence REAL NOT NULL, PRIMARY KEY (chunk, statement, fact)
) WITHOUT ROWID;
CREATE INDEX supports_fact ON supports (fact);
CREATE INDEX supports_object ON supports (object_entity) WHERE object_entity IS NOT NULL;
CREATE TABLE mentions (
    chunk INTEGER NOT NULL, statement INTEGER NOT NULL, entity INTEGER NOT NULL, form TEXT NOT NULL, class TEXT NOT NULL,
    PRIMARY KEY (chunk, statement, entity)
) WITHOUT ROWID;
CREATE INDEX mentions_entity ON mentions (entity);
CREATE TABLE about (source INTEGER NOT NULL, entity INTEGER NOT NULL, form TEXT NOT NULL, PRIMARY KEY (source, entity))
WITHOUT ROWID;
CREATE INDEX about_entity ON about (entity);
CREATE TABLE alias (
    alias INTEGER NOT NULL, target INTEGER NOT NULL, chunk INTEGER NOT NULL, alias_form TEXT NOT NULL,
    target_form TEXT NOT NULL, PRIMARY KEY (alias, target, chunk)
) WITHOUT ROWID;
CREATE INDEX alias_target ON alias (target);
CREATE INDEX alias_chunk ON alias (chunk);
CREATE TABLE touched (id BLOB PRIMARY KEY, entity INTEGER NOT NULL, tenant INTEGER NOT NULL, stamp INTEGER NOT NULL)
WITHOUT ROWID;
CREATE INDEX touched_tenant ON touched (tenant);
PRAGMA application_id = 1279613001;
PRAGMA user_version = 1;
"""
TOWN = {
    f"Part {n}": [said(f"Ida {n} met Otto {n}.", f"Ida {n}", "Otto", facts=[(f"Ida {n}", "met", f"Otto {n}")])]
    for n in range(30)
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteGraphStore]:
    opened = SqliteGraphStore(f"sqlite:///{tmp_path / 'store'}")
    yield opened
    opened.close()


def as_format_1(new: Path, old: Path) -> None:
    """Write what a graph file holds into a file of format 1."""
    old.parent.mkdir()
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript(FORMAT_1)
        connection.execute("ATTACH ? AS new", (str(new),))
        for (table,) in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            columns = ",".join(f'"{row[1]}"' for row in connection.execute(f"PRAGMA main.table_info({table})"))
            connection.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}")
        connection.commit()


def written(store: SqliteGraphStore) -> list[tuple[int, int]]:
    """Return the keys of the chunks for reading, and how many statements each has there."""
    with store._database.read() as connection:
        rows = connection.execute("SELECT chunk, statements FROM chunk_statements ORDER BY chunk").fetchall()
    return [(k, len(json.loads(text.split("\n")[1])[1])) for k, text in rows]


def in_tables(store: SqliteGraphStore) -> list[tuple[int, int]]:
    query = "SELECT k, (SELECT count(*) FROM said_in WHERE chunk = k) FROM chunk ORDER BY k"
    with store._database.read() as connection:
        return connection.execute(query).fetchall()


def test_a_file_of_format_1_gives_the_same_answers_and_goes_on(store: SqliteGraphStore, tmp_path: Path) -> None:
    town = version(A, "Town", TOWN)
    show(store, A, town, version(A, "Otto", {"Life": [said("Otto lives in Town.", "Otto", "Town")]}))
    as_format_1(tmp_path / "store" / "graph.sqlite", tmp_path / "old" / "graph.sqlite")
    old = SqliteGraphStore(f"sqlite:///{tmp_path / 'old'}")
    request = EvidenceRequest(chunks=tuple(town.placements)[:20], entities=(entity_id(A, "Otto"),), whole_chunks=True)
    assert len(store.evidence(A, request)) > 20
    assert old.evidence(A, request) == store.evidence(A, request)
    assert old.neighbourhood(A, request.chunks) == store.neighbourhood(A, request.chunks)
    for changed in (store, old):
        show(changed, A, version(A, "Town", {**TOWN, "Part 3": [said("Ida 3 left.", "Ida 3")]}, number=2))
    assert dump_graph(old, A) == dump_graph(store, A)
    assert written(old) == in_tables(old)
    assert old.evidence(A, request) == store.evidence(A, request)


def test_many_chunks_of_format_1_are_converted(store: SqliteGraphStore, tmp_path: Path) -> None:
    show(store, A, version(A, "Large", {f"Part {n}": [said(f"Number {n}.")] for n in range(1_201)}))
    as_format_1(tmp_path / "store" / "graph.sqlite", tmp_path / "old" / "graph.sqlite")
    assert written(SqliteGraphStore(f"sqlite:///{tmp_path / 'old'}")) == [(k, 1) for k in range(1, 1_202)]


def test_a_file_of_format_3_is_read_as_if_it_had_been_written_today(store: SqliteGraphStore, tmp_path: Path) -> None:
    town = version(A, "Town", TOWN)
    show(store, A, town, version(A, "Otto", {"Life": [said("Otto lives in Town.", "Otto", "Town")]}))
    old = tmp_path / "old"
    as_format_1(tmp_path / "store" / "graph.sqlite", old / "graph.sqlite")
    before = SqliteGraphStore(f"sqlite:///{old}")
    before.stats(A)
    before.close()
    with closing(sqlite3.connect(old / "graph.sqlite")) as connection:
        without_ledger(connection)  # one line a chunk, names spelled out a statement
        connection.execute("UPDATE chunk_statements SET statements = '[\"chunk:0\",[],[]]'")
        connection.executescript(WITHOUT_KINDS)
        connection.execute("PRAGMA user_version = 3")
        connection.commit()
    opened = SqliteGraphStore(f"sqlite:///{old}")
    request = EvidenceRequest(chunks=tuple(town.placements))
    assert opened.evidence(A, request) == store.evidence(A, request) != []


def test_a_file_of_format_4_is_read_as_prose_until_a_document_is_read_anew(tmp_path: Path) -> None:
    call = "int pipe(int fd[2]);"
    before = version(A, "Pipes", {"Use": [said(call), said("It makes two ends.")]})
    store = SqliteGraphStore(f"sqlite:///{tmp_path}")
    show(store, A, before)
    store.close()
    as_format_4(tmp_path / "graph.sqlite")
    opened = SqliteGraphStore(f"sqlite:///{tmp_path}")

    def shown(v: SourceVersion) -> list[tuple[str, str, str]]:
        return [(r.value, r.kind, r.original) for r in opened.evidence(A, EvidenceRequest(chunks=tuple(v.placements)))]

    assert shown(before) == [(call, "prose", ""), ("It makes two ends.", "prose", "")]
    resolved = said("The call makes two ends.", original="It makes two ends.")
    after = version(A, "Pipes", {"Use": [said(call, kind="code"), resolved]}, number=2)
    show(opened, A, after)
    assert shown(after) == [(call, "code", ""), ("The call makes two ends.", "prose", "It makes two ends.")]
    assert {row[2] for row in dump_graph(opened, A)["statement"]} == {call, "The call makes two ends."}


def test_what_is_written_for_reading_goes_with_its_chunk(store: SqliteGraphStore) -> None:
    show(store, A, version(A, "Town", TOWN), version(A, "Empty", {"Nothing": []}))
    assert written(store) == in_tables(store)
    assert len(written(store)) == 31
    show(store, A, version(A, "Town", {"Part 3": TOWN["Part 3"], "Part 4": [said("Ida 4 left.", "Ida 4")]}, number=2))
    assert written(store) == in_tables(store)
    take_out(store, A, version(A, "Town", TOWN).source.id)
    assert len(written(store)) == 1


def test_any_text_comes_back_as_it_was_written(store: SqliteGraphStore) -> None:
    text = 'A "quote", a \\ backslash,\na line,\ta tab, \x1f\x00\x7f\u2028 \U0001f600 [1, {"k": null}], café'
    source = Source(source_id(A, "default", "file:///odd"), "file:///odd", title=text, metadata={text: text})
    topic = topic_id(A, source.id, "odd")
    told = [StatementNode(statement_id(A, topic, str(n)), topic, text, text, n, n, n + 5, "code", text) for n in range(3)]
    name = entity_id(A, "Odd")
    chunk = ChunkGraph(
        node_id("chunk", A, "odd"),
        topics=(TopicNode(topic, text),),
        statements=tuple(told),
        mentions=tuple(Mention(s.id, name, text, text) for s in told[:2]),
    )
    show(store, A, SourceVersion(source, {chunk.chunk_id: Placement(0, 7, 90)}, (chunk,)))
    rows = store.evidence(A, EvidenceRequest(chunks=(chunk.chunk_id,)))
    assert [(r.id, r.value, r.details, r.original, r.topic, r.topic_id, r.start, r.end) for r in rows] == [
        (s.id, text, text, text, text, topic, s.start, s.end) for s in told
    ]
    assert [r.entities for r in rows] == [(name,), (name,), ()]
    assert {(r.chunk_id, r.seq, r.chunk_start, r.source.title) for r in rows} == {(chunk.chunk_id, 0, 7, text)}
    assert rows[0].source == source


def test_a_chunk_reads_a_statement_as_the_first_that_said_it_did(store: SqliteGraphStore) -> None:
    source = Source(source_id(A, "default", "file:///twice"), "file:///twice", title="Twice")
    topic = topic_id(A, source.id, "t")
    told = statement_id(A, topic, "Said twice.")
    first, second = (
        ChunkGraph(
            node_id("chunk", A, details),
            topics=(TopicNode(topic, "t"),),
            statements=(StatementNode(told, topic, "Said twice.", details, 0, 0, 11),),
        )
        for details in ("first", "second")
    )
    one, two = Placement(0, 0, 11), Placement(1, 12, 23)
    show(store, A, SourceVersion(source, {first.chunk_id: one}, (first,)))
    request = EvidenceRequest(statements=(told,))
    both = {first.chunk_id: one, second.chunk_id: two}
    for number, places in ((2, both), (3, {second.chunk_id: one})):
        later = Source(source.id, source.uri, title="Twice", version=number)
        show(store, A, SourceVersion(later, places, (second,)))
        assert [(r.chunk_id, r.details) for r in store.evidence(A, request)] == [(next(iter(places)), "first")]
