"""A ledger tells whether rows are those that were written, whoever changed them and how."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexigraph.storage.sqlite import ledger
from lexigraph.storage.sqlite.database import Database

SCHEMA = """
CREATE TABLE things (k INTEGER PRIMARY KEY, name TEXT UNIQUE, weight REAL, picture BLOB);
CREATE TABLE pairs (a INTEGER NOT NULL, b TEXT NOT NULL, c REAL, PRIMARY KEY (a, b)) WITHOUT ROWID;
"""
K, NAMES = st.integers(1, 4), st.sampled_from(["a", "Ä", "東京", "", "x\n y", "0"])
WEIGHTS = st.sampled_from([1, 0.5, None])
WRITES = st.one_of(
    st.tuples(
        st.just("INSERT OR IGNORE INTO things VALUES (?, ?, ?, ?)"), st.tuples(K, NAMES, WEIGHTS, st.binary(max_size=3))
    ),
    st.tuples(st.just("INSERT OR REPLACE INTO things VALUES (?, ?, ?, ?)"), st.tuples(K, NAMES, WEIGHTS, st.none())),
    st.tuples(st.just("INSERT INTO pairs VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET c = c + 1"), st.tuples(K, NAMES)),
    st.tuples(st.just("UPDATE things SET weight = ?, name = name || 'x' WHERE k = ?"), st.tuples(WEIGHTS, K)),
    st.tuples(st.just("DELETE FROM things WHERE k = ?"), st.tuples(K)),
    st.tuples(st.just("DELETE FROM pairs"), st.just(())),
)


class GivenUp(Exception):
    pass


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "things.sqlite", SCHEMA)
    yield opened
    opened.close()


def changed(database: Database) -> list[str]:
    with database.read() as connection:
        return list(ledger.changed(connection))


def meddle(database: Database, statement: str) -> None:
    """Change a file as a failing disk would: its triggers are not called."""
    database.close()
    with closing(sqlite3.connect(database.path)) as connection, connection:
        connection.create_function("row_came", -1, lambda *_: None)
        connection.create_function("row_went", -1, lambda *_: None)
        connection.execute(statement)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(transactions=st.lists(st.tuples(st.lists(WRITES, max_size=4), st.booleans()), max_size=6))
def test_whatever_is_written_through_the_database_is_in_the_ledger(
    database: Database, transactions: list[tuple[list[tuple[str, tuple[object, ...]]], bool]]
) -> None:
    for writes, given_up in transactions:
        try:
            with database.write() as connection:
                for statement, values in writes:
                    connection.execute(statement, values)
                if given_up:
                    raise GivenUp
        except (GivenUp, sqlite3.IntegrityError):
            pass
        except Exception as error:
            if not isinstance(error.__cause__, sqlite3.IntegrityError):
                raise
    assert changed(database) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE things SET name = 'Lamp' WHERE k = 1",
        "UPDATE things SET weight = 2.0000001",
        "UPDATE things SET picture = x'00'",
        "DELETE FROM things WHERE k = 2",
        "INSERT INTO things VALUES (3, 'more', 1, NULL)",
    ],
)
def test_a_row_that_was_changed_behind_it_is_found_and_stays_found(database: Database, statement: str) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO things VALUES (1, 'lamp', 2, x'01'), (2, 'bell', 3, x'02')")
    meddle(database, statement)
    assert changed(database) == ["things"]
    with database.write() as connection:
        connection.execute("DELETE FROM things")
        connection.execute("INSERT INTO things VALUES (1, 'lamp', 2, x'01')")
    assert changed(database) == ["things"]


def test_a_table_or_trigger_that_was_changed_behind_it_is_found(database: Database) -> None:
    meddle(database, "DROP TRIGGER ledger_insert_things")
    assert changed(database) == ["schema"]


def test_a_ledger_that_was_changed_itself_is_found(database: Database) -> None:
    meddle(database, "UPDATE ledger SET value = value + 1 WHERE name = 'sum pairs'")
    assert changed(database) == ["pairs"]


def test_files_in_one_folder_belong_together_and_those_in_another_do_not(tmp_path: Path) -> None:
    def belongs_to(folder: str, name: str) -> str:
        with closing(Database(tmp_path / folder / name, SCHEMA)) as database, database.read() as connection:
            return ledger.belongs_to(connection)

    ids = [belongs_to("one", name) for name in ("graph.sqlite", "registry.sqlite", "cache.sqlite")]
    assert ids[0]
    assert set(ids) == {ids[0]}
    assert belongs_to("two", "graph.sqlite") != ids[0]
