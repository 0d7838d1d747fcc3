"""A graph file from before relations were kept."""

import sqlite3
from contextlib import closing
from pathlib import Path

from lexigraph.model.relations import ChunkRelation, PairObservation
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import RelatedRequest
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore
from tests.formats import WITHOUT_KINDS, without_ledger
from tests.worlds import said, show, version

A = Tenant("a")


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {sql.replace(" ", "").replace("\n", "") for (sql,) in rows}


def test_a_file_without_relations_is_given_room_for_them(tmp_path: Path) -> None:
    path = tmp_path / "graph.sqlite"
    town = version(A, "Town", {"One": [said("One.", "One")], "Two": [said("Two.", "Two")]})
    store = SqliteGraphStore(f"sqlite:///{tmp_path}")
    show(store, A, town)
    store.close()
    fresh = tables(path)
    with closing(sqlite3.connect(path)) as connection:
        without_ledger(connection)
        connection.executescript(f"DROP TABLE rel; DROP TABLE rel_pair; {WITHOUT_KINDS} PRAGMA user_version = 2;")
    assert not {sql for sql in tables(path) if "rel_pair" in sql}

    store = SqliteGraphStore(f"sqlite:///{tmp_path}")
    ends = tuple(town.placements)
    told = ChunkRelation(ends[0], ends[1], "FOLLOWS", 0.8)
    assert store.relate(A, [PairObservation(ends[0], ends[1], "observer", "how", (told,))]) == (1, 0)
    assert "FOLLOWS" in {s.type for s in store.related(A, RelatedRequest((ends[0],)))}
    store.close()
    assert tables(path) == fresh
