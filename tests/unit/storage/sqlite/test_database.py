"""What the embedded stores stand on: one SQLite file for threads, processes, crashes and broken disks."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lexigraph.model.errors import InvalidInput, Misconfigured, StoreUnavailable
from lexigraph.storage.common.folders import embedded_folder, embedded_path
from lexigraph.storage.sqlite.database import APPLICATION_ID, Database
from tests.disks import files_of_at_most, ordinary_user

SCHEMA = """
CREATE TABLE numbers (n INTEGER PRIMARY KEY, twin INTEGER);
CREATE TABLE counter (value INTEGER NOT NULL);
INSERT INTO counter VALUES (0);
"""
OPEN = f"""
import os, signal, sys, time
signal.alarm(120)  # who waits for a word of ours waits no longer
from pathlib import Path
from lexigraph.storage.sqlite.database import Database
database = Database(Path(sys.argv[1]), {SCHEMA!r})
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "test.sqlite"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    opened = Database(path, SCHEMA)
    yield opened
    opened.close()


def add(database: Database, *numbers: int) -> None:
    with database.write() as c:
        c.executemany("INSERT INTO numbers VALUES (?, ?)", [(n, -n) for n in numbers])


def numbers(database: Database) -> list[int]:
    with database.read() as c:
        return [n for (n,) in c.execute("SELECT n FROM numbers ORDER BY n")]


def script(body: str, *arguments: object, stdout: int | None = None) -> subprocess.Popen[str]:
    """Another process with the same database open; the first argument is its path."""
    return subprocess.Popen([sys.executable, "-c", OPEN + body, *map(str, arguments)], stdout=stdout, text=True)


# -- transactions


def test_what_is_committed_is_there_after_opening_again(path: Path, database: Database) -> None:
    add(database, 1, 2)
    database.close()
    assert numbers(Database(path, SCHEMA)) == [1, 2]


def test_an_error_takes_back_the_whole_transaction(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.write() as c:
        c.execute("INSERT INTO numbers VALUES (1, -1)")
        raise ZeroDivisionError
    assert numbers(database) == []
    add(database, 2)
    assert numbers(database) == [2]


def test_a_reader_sees_one_moment_while_others_write(database: Database) -> None:
    add(database, 1)
    with database.read() as c, ThreadPoolExecutor(1) as pool:
        assert c.execute("SELECT count(*) FROM numbers").fetchone() == (1,)
        pool.submit(add, database, 2).result(60)
        assert numbers(database) == [1]
    assert numbers(database) == [1, 2]


def test_a_closed_database_can_be_used_again(database: Database) -> None:
    add(database, 1)
    database.close()
    assert numbers(database) == [1]


def test_the_connection_of_a_thread_ends_with_the_thread(database: Database) -> None:
    def descriptors() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    def use() -> None:
        add(database, len(numbers(database)))

    before = descriptors()
    for _ in range(20):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join(60)
    assert len(numbers(database)) == 20
    assert descriptors() <= before + 5


def test_text_that_is_no_unicode_is_bad_input(database: Database) -> None:
    with pytest.raises(InvalidInput, match="lone surrogate"), database.write() as c:
        c.execute("INSERT INTO numbers VALUES (1, ?)", ("\ud800",))


# -- formats


def migrated(path: Path, *steps: Callable[[sqlite3.Connection], None]) -> Database:
    return Database(path, SCHEMA, version=1 + len(steps), migrations=dict(enumerate(steps, 1)))


def count_up(c: sqlite3.Connection) -> None:
    c.execute("UPDATE counter SET value = value + 1")


def counter(database: Database) -> int:
    with database.read() as c:
        return int(c.execute("SELECT value FROM counter").fetchone()[0])


def test_a_migration_runs_once_whoever_opens_the_file(path: Path) -> None:
    Database(path, SCHEMA).close()
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda _: migrated(path, count_up, count_up), range(4)))
    assert [counter(d) for d in opened] == [2] * 4
    assert counter(migrated(path, count_up, count_up)) == 2


def each_connection(monkeypatch: pytest.MonkeyPatch, prepare: Callable[[sqlite3.Connection], object]) -> None:
    """Prepare each connection that is opened from now on."""
    connect = sqlite3.connect

    def prepared(*args: Any, **options: Any) -> sqlite3.Connection:
        opened = connect(*args, **options)
        prepare(opened)
        return opened

    monkeypatch.setattr(sqlite3, "connect", prepared)


def test_a_file_made_by_another_while_it_is_looked_at_is_not_taken_for_a_foreign_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[threading.Thread] = []

    def make_it_too(statement: str) -> None:
        if statement == "PRAGMA user_version" and not others:
            others.append(threading.Thread(target=Database, args=(path, SCHEMA)))
            others[0].start()
            others[0].join(0.5)  # it may have to wait for us

    each_connection(monkeypatch, lambda c: c.set_trace_callback(make_it_too))
    opened = Database(path, SCHEMA)
    others[0].join(60)
    assert counter(opened) == 0


def test_a_migration_that_fails_changes_nothing_and_can_be_repeated(path: Path) -> None:
    def fail(c: sqlite3.Connection) -> None:
        count_up(c)
        raise ZeroDivisionError

    Database(path, SCHEMA).close()
    with pytest.raises(ZeroDivisionError):
        migrated(path, count_up, fail)
    assert counter(Database(path, SCHEMA)) == 0
    assert counter(migrated(path, count_up, count_up)) == 2


def test_a_file_of_a_newer_format_is_refused_and_left_as_it_is(path: Path) -> None:
    migrated(path, count_up).close()
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match=r"test\.sqlite: written in format 2 by a newer Lexigraph.* up to 1: upgrade"):
        Database(path, SCHEMA)
    assert path.read_bytes() == before


def test_a_format_without_a_way_to_convert_it_is_refused(path: Path) -> None:
    Database(path, SCHEMA).close()
    with pytest.raises(InvalidInput, match="format 1 is too old"):
        Database(path, SCHEMA, version=3, migrations={2: count_up})
    assert counter(Database(path, SCHEMA)) == 0


@pytest.mark.parametrize("mark", ["CREATE TABLE theirs (x)", "PRAGMA application_id=77", "PRAGMA user_version=1"])
def test_a_file_of_another_program_is_refused_and_left_as_it_is(path: Path, mark: str) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as theirs:
        theirs.execute(mark)
        theirs.execute("VACUUM")
    theirs.close()
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="of another program; use another folder"):
        Database(path, SCHEMA)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    assert counter(Database(path, SCHEMA)) == 0
    with sqlite3.connect(path) as c:
        assert c.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert c.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    c.close()


def test_a_schema_may_hold_triggers(tmp_path: Path) -> None:
    trigger = "CREATE TRIGGER t AFTER INSERT ON numbers BEGIN\n UPDATE counter\n SET value = value + 1;\nEND"
    database = Database(tmp_path / "t.sqlite", SCHEMA + trigger)
    add(database, 1, 2)
    assert counter(database) == 2


# -- what can be wrong with files


def test_a_file_that_is_no_database_is_reported_with_a_remedy(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"something else" * 1_000)
    with pytest.raises(StoreUnavailable, match=r"test\.sqlite: file is not a database: .* doctor --repair"):
        Database(path, SCHEMA)
    assert path.read_bytes() == b"something else" * 1_000


def test_a_folder_without_write_permission_is_reported_with_a_remedy() -> None:
    with ordinary_user() as folder:
        (folder / "data").mkdir()
        Database(folder / "data" / "test.sqlite", SCHEMA).close()
        (folder / "data").chmod(0o555)
        with pytest.raises(StoreUnavailable, match="check that the folder exists and can be written"):
            Database(folder / "data" / "new.sqlite", SCHEMA)
        with pytest.raises(StoreUnavailable, match="Permission denied: give write permission"):
            Database(folder / "data" / "below" / "new.sqlite", SCHEMA)
        with pytest.raises(StoreUnavailable, match=r"test\.sqlite: .* (can be written|give write permission)"):
            add(Database(folder / "data" / "test.sqlite", SCHEMA), 1)


def test_a_file_without_write_permission_is_reported_with_a_remedy() -> None:
    with ordinary_user() as folder:
        path = folder / "test.sqlite"
        Database(path, SCHEMA).close()
        path.chmod(0o444)
        with pytest.raises(StoreUnavailable, match="readonly database: give write permission"):
            add(Database(path, SCHEMA), 1)


def test_a_full_database_is_reported_and_keeps_what_it_has(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each_connection(monkeypatch, lambda c: c.execute("PRAGMA max_page_count=20"))
    database = Database(path, SCHEMA)
    add(database, 1)
    with pytest.raises(StoreUnavailable, match=r"is full: free disk space .* nothing was half written"):
        add(database, *range(2, 100_000))
    assert numbers(database) == [1]
    add(database, 2)
    assert numbers(database) == [1, 2]


def test_a_used_up_quota_is_reported_and_keeps_what_is_there(path: Path) -> None:
    database = Database(path, SCHEMA)
    add(database, 1)
    with (
        files_of_at_most(200_000),
        pytest.raises(StoreUnavailable, match=r"test\.sqlite: disk I/O error: check the disk, its free space"),
    ):
        add(database, *range(2, 100_000))
    assert numbers(database) == [1]
    add(database, *range(2, 100_000))
    assert len(numbers(database)) == 99_999


def test_a_full_disk_is_reported_and_keeps_what_is_there(tmp_path: Path) -> None:
    # a disk of 1 MB that only this process sees
    mounted = ["unshare", "-Urm", "sh", "-c", 'mount -t tmpfs -o size=1m none "$0" && exec "$@"', str(tmp_path)]
    trial = [*mounted, "true"]
    if not shutil.which("unshare") or subprocess.run(trial, capture_output=True, check=False, timeout=60).returncode:
        pytest.skip("this system lets nobody mount a small disk")
    body = """
def add(size):
    with database.write() as c:
        c.execute("INSERT INTO numbers VALUES (NULL, zeroblob(?))", (size,))
add(10)
try:
    add(5_000_000)
except Exception as error:
    print(type(error).__name__, error)
add(10)
with database.read() as c:
    print([size for (size,) in c.execute("SELECT length(twin) FROM numbers")])
"""
    run = [*mounted, sys.executable, "-c", OPEN + body, str(tmp_path / "test.sqlite")]
    said = subprocess.run(run, capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()
    assert said[0].startswith("StoreUnavailable") and "disk is full: free disk space" in said[0]
    assert said[1] == "[10, 10]"


# -- processes


def test_writers_in_several_processes_lose_no_update(path: Path, database: Database) -> None:
    body = """
for _ in range(40):
    with database.write() as c:
        value = c.execute("SELECT value FROM counter").fetchone()[0]
        time.sleep(0.001)
        c.execute("UPDATE counter SET value = ?", (value + 1,))
"""
    processes = [script(body, path) for _ in range(3)]
    assert [p.wait(120) for p in processes] == [0, 0, 0]
    assert counter(database) == 120


def test_a_writer_without_pause_does_not_starve_the_others(path: Path, database: Database) -> None:
    busy_writes = 150
    body = f"""
print("writing", flush=True)
for _ in range({busy_writes}):
    with database.write() as c:
        c.execute("UPDATE counter SET value = value + 1")
        time.sleep(0.02)
"""
    with script(body, path, stdout=subprocess.PIPE) as busy:
        assert busy.stdout is not None
        busy.stdout.readline()
        for n in range(20):
            seen = counter(database)
            while counter(database) == seen and busy.poll() is None:
                time.sleep(0.001)
            add(database, n)
        # it writes once or twice while we wait; without turns it would be through before we are
        assert counter(database) < busy_writes
        busy.kill()
    assert numbers(database) == list(range(20))


def test_kill_9_keeps_every_committed_transaction_and_no_half_of_one(path: Path, database: Database) -> None:
    body = """
n = int(sys.argv[2])
while True:
    with database.write() as c:
        c.execute("INSERT INTO numbers VALUES (?, ?)", (n, -n))
        c.execute("UPDATE counter SET value = value + 1")
    print(n, flush=True)
    n += 1
"""
    told = 0
    for kill_after in (1, 40, 150):
        with script(body, path, told + 1, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _ in range(kill_after):
                told = int(writer.stdout.readline())
            os.kill(writer.pid, signal.SIGKILL)
            told = max([told, *map(int, writer.stdout.read().split())])
        kept = numbers(database)
        # one more than told at most: committed, and killed before saying so
        assert kept[:told] == list(range(1, told + 1))
        assert len(kept) <= told + 1
        assert counter(database) == len(kept)
        with database.write() as c:
            c.execute("DELETE FROM numbers WHERE n > ?", (told,))
            c.execute("UPDATE counter SET value = ?", (told,))


def test_a_forked_child_and_its_parent_both_write(path: Path, database: Database) -> None:
    # the parent leaves first: closing the last connection it knows of must not pull the log from under the child
    body = """
def add(n):
    with database.write() as c:
        c.execute("INSERT INTO numbers VALUES (?, 0)", (n,))
parent = os.getpid()
add(1)
ours, theirs = os.pipe()
child = os.fork()
if child == 0:
    signal.alarm(60)  # that of the parent is not inherited
    add(2)
    os.write(theirs, b"2")
    while os.getppid() == parent:
        time.sleep(0.01)
    add(4)
    print("done", flush=True)
    os._exit(0)
os.close(theirs)  # or a child that dies would be waited for
assert os.read(ours, 1) == b"2"
add(3)
database.close()
"""
    database.close()
    with script(body, path, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.read() == "done\n"
    assert numbers(database) == [1, 2, 3, 4]


def test_a_child_forked_inside_a_transaction_is_refused_and_the_parent_goes_on(path: Path, database: Database) -> None:
    body = """
with database.write() as c:
    c.execute("INSERT INTO numbers VALUES (1, 0)")
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # that of the parent is not inherited
        for again in (lambda: database, lambda: Database(Path(sys.argv[1]), "")):
            try:
                with again().read():
                    os._exit(1)
            except Exception as error:
                if type(error).__name__ != "StoreUnavailable" or "forked" not in str(error):
                    os._exit(2)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    c.execute("INSERT INTO numbers VALUES (2, 0)")
"""
    assert script(body, path).wait(60) == 0
    assert numbers(database) == [1, 2]


def test_a_child_forked_beside_threads_at_work_has_no_connection_of_theirs_and_does_not_hang(path: Path) -> None:
    # it may use the file when nobody did at that moment, else it is refused
    body = """
import threading
from lexigraph.model.errors import StoreUnavailable
sys.setswitchinterval(1e-5)
def work():
    while True:
        with database.read() as c:
            c.execute("SELECT count(*) FROM numbers").fetchone()
        time.sleep(0.0002)
def look():
    signal.alarm(20)
    files = [os.readlink(f"/dev/fd/{n}") for n in range(3, 64) if os.path.lexists(f"/dev/fd/{n}")]
    try:
        with database.read():
            return 1 if any("test.sqlite" in file for file in files) else 0
    except StoreUnavailable:
        return 0
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
for n in range(80):
    child = os.fork()
    if child == 0:
        os._exit(look())
    assert os.waitpid(child, 0)[1] == 0, n
os._exit(0)
"""
    assert script(body, path).wait(120) == 0


# -- connection strings


@pytest.mark.parametrize(
    ("connection", "folder"),
    [
        ("sqlite:////srv/data", Path("/srv/data")),
        ("sqlite:///data/x", Path("data/x").absolute()),
        ("sqlite:///~/data", Path.home() / "data"),
    ],
)
def test_a_connection_string_names_a_folder(connection: str, folder: Path) -> None:
    assert embedded_folder(connection) == folder
    assert embedded_path(connection, "graph.sqlite") == folder / "graph.sqlite"


@pytest.mark.parametrize(
    "connection", ["sqlite:///", "sqlite://x", "sqlite:", "", "file:///x", "sqlite:///a\x00b", "sqlite:///~nobody-here/x"]
)
def test_a_connection_string_without_a_folder_is_refused(connection: str) -> None:
    with pytest.raises(Misconfigured, match=r"^sqlite connection: "):
        embedded_folder(connection)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(InvalidInput, match="is a file; give the folder"):
        embedded_path(f"sqlite:///{tmp_path}/x", "graph.sqlite")


def test_a_folder_below_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(StoreUnavailable, match="Not a directory"):
        Database(tmp_path / "x" / "y" / "t.sqlite", SCHEMA)


def test_a_relative_folder_stays_where_it_was_when_the_process_goes_elsewhere(tmp_path: Path) -> None:
    home = Path.cwd()
    try:
        os.chdir(tmp_path)
        path = embedded_path("sqlite:///data", "t.sqlite")
    finally:
        os.chdir(home)
    assert path == tmp_path / "data" / "t.sqlite"
