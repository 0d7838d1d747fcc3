"""A database whose file is moved, replaced or closed under those who use it."""

import sqlite3
import threading
from pathlib import Path

import pytest

from lexigraph.model.errors import StoreUnavailable
from lexigraph.storage.sqlite.database import Database

SCHEMA = "CREATE TABLE words (word TEXT);"
SECONDS = 30.0


def words(database: Database) -> list[str]:
    with database.read() as connection:
        return [word for (word,) in connection.execute("SELECT word FROM words ORDER BY word")]


def add(database: Database, word: str) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO words VALUES (?)", (word,))


def test_a_file_that_is_gone_is_missed_not_made_anew_and_used_when_it_is_back(tmp_path: Path) -> None:
    path = tmp_path / "words.sqlite"
    database = Database(path, SCHEMA)
    add(database, "heron")
    for end in ("", "-wal", "-shm"):
        path.with_name(f"words.sqlite{end}").rename(tmp_path / f"away{end}")
    for act in (lambda: words(database), lambda: add(database, "egret")):
        with pytest.raises(StoreUnavailable, match=r"words\.sqlite: is missing"):
            act()
    assert not path.exists()
    for end in ("", "-wal", "-shm"):
        (tmp_path / f"away{end}").rename(path.with_name(f"words.sqlite{end}"))
    add(database, "egret")
    assert words(database) == ["egret", "heron"]


def test_a_file_put_in_the_place_of_another_is_read_from_the_next_transaction_on(tmp_path: Path) -> None:
    first, second = Database(tmp_path / "first.sqlite", SCHEMA), Database(tmp_path / "second.sqlite", SCHEMA)
    add(first, "heron")
    add(second, "egret")
    first.close()
    second.close()
    assert words(first) == ["heron"]
    with first.read() as connection:
        (tmp_path / "second.sqlite").replace(tmp_path / "first.sqlite")
        assert connection.execute("SELECT word FROM words").fetchall() == [("heron",)], "a transaction sees one moment"
    assert words(first) == ["egret"]


def test_closing_does_not_wait_for_a_writer_that_waits_for_another_process(tmp_path: Path) -> None:
    database = Database(tmp_path / "words.sqlite", SCHEMA)
    other = sqlite3.connect(tmp_path / "words.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused: list[BaseException] = []
    begun = threading.Event()

    def write() -> None:
        begun.set()
        try:
            add(database, "heron")
        except StoreUnavailable as error:
            refused.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(SECONDS)
    closer = threading.Thread(target=database.close, daemon=True)
    while writer.is_alive():  # the writer may not have come to its connection yet
        closer = threading.Thread(target=database.close, daemon=True)
        closer.start()
        closer.join(SECONDS)
        assert not closer.is_alive()
        writer.join(0.05)
    other.close()
    assert len(refused) == 1
    assert words(database) == []
