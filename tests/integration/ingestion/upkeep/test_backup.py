"""A backup is what was there in one moment, whatever others do meanwhile; or it is none."""

import json
import resource
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from lexigraph.ingestion.upkeep.backup import back_up, restore, settle
from lexigraph.ingestion.upkeep.repair import examine as compare
from lexigraph.model.errors import InvalidInput, Misconfigured, NotFound, StoreDamaged
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.storage.sqlite.damage import examine
from tests import workers
from tests.laptop import CLOCK, content, laptop, laptop_with, open_laptop

STORM = 12  # documents of each writer


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    with laptop_with(tmp_path, CLOCK) as stores:
        assert back_up(stores, tmp_path / "one.zip").documents == len(CLOCK)
    return tmp_path / "one.zip"


def test_what_is_restored_is_what_was_there(backup: Path, tmp_path: Path) -> None:
    assert restore(backup, tmp_path / "new").documents == len(CLOCK)
    with closing(open_laptop(tmp_path / "new")) as new, closing(open_laptop(tmp_path / "data")) as old:
        assert content(new) == content(old)
        assert laptop(tmp_path / "new", new).ingest([tmp_path / "corpus"]).documents_unchanged == len(CLOCK)


def test_a_backup_holds_no_word_of_what_was_removed(tmp_path: Path) -> None:
    with laptop_with(tmp_path, {**CLOCK, "Payroll": "Quendrina Ushakovski earns 91234 crowns a year."}) as stores:
        index = laptop(tmp_path / "data", stores)
        index.remove([doc.source_id for doc in index.documents() if doc.title == "Payroll"])
        back_up(stores, tmp_path / "one.zip")
    restore(tmp_path / "one.zip", tmp_path / "new")
    assert list(examine(tmp_path / "new")) == []
    files = [path for path in (tmp_path / "new").rglob("*") if path.is_file()]
    assert {path.name for path in files} > {"vectors.sqlite", "graph.sqlite", "cache.sqlite"}
    assert [path.name for path in files if b"quendrina" in path.read_bytes().lower()] == []
    for path in (tmp_path / "new").glob("*.sqlite"):
        with closing(sqlite3.connect(path)) as restored:
            assert restored.execute("PRAGMA journal_mode").fetchone() == ("wal",), "readers do not wait for writers"


def test_a_backup_is_its_owner_s_alone_to_read(backup: Path) -> None:
    assert backup.stat().st_mode & 0o777 == 0o600


def test_nothing_but_the_backup_is_left_behind(backup: Path, tmp_path: Path) -> None:
    restore(backup, tmp_path / "new")
    assert {path.name for path in tmp_path.iterdir()} == {"one.zip", "data", "corpus", "new"}
    assert not [path for path in (tmp_path / "data").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(("name", "taken"), [("one.zip", "one.zip already exists"), ("data/graph.sqlite", "exists")])
def test_a_backup_replaces_no_file(backup: Path, tmp_path: Path, name: str, taken: str) -> None:
    with closing(open_laptop(tmp_path / "data")) as stores, pytest.raises(InvalidInput, match=taken):
        back_up(stores, tmp_path / name)


def test_a_backup_replaces_no_database(backup: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not empty"):
        restore(backup, tmp_path / "data")
    (tmp_path / "empty").mkdir()
    assert restore(backup, tmp_path / "empty").documents == len(CLOCK)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no backup .*nothing\.zip"):
        restore(tmp_path / "nothing.zip", tmp_path / "new")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_a_backup_that_was_cut_is_refused(backup: Path, tmp_path: Path, share: float) -> None:
    raw = backup.read_bytes()
    backup.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(StoreDamaged):
        restore(backup, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_backup_is_whole_or_refused_whichever_byte_of_it_was_changed(backup: Path, tmp_path: Path) -> None:
    raw = backup.read_bytes()
    restore(backup, tmp_path / "whole")
    with closing(open_laptop(tmp_path / "whole")) as stores:
        whole = content(stores)
    for at in range(0, len(raw), len(raw) // 60):
        backup.write_bytes(raw[:at] + bytes([raw[at] ^ 0x41]) + raw[at + 1 :])
        try:
            restore(backup, tmp_path / f"new-{at}")
        except StoreDamaged:
            continue
        with closing(open_laptop(tmp_path / f"new-{at}")) as stores:
            assert content(stores) == whole, at


@pytest.mark.parametrize("place", [2**62, 2**63])
def test_a_backup_whose_directory_names_an_impossible_place_is_refused(backup: Path, tmp_path: Path, place: int) -> None:
    with zipfile.ZipFile(backup, "a") as archive:
        archive.writestr("more", b"")  # so that the directory is written again
        archive.filelist[0].header_offset = place
    with pytest.raises(StoreDamaged):
        restore(backup, tmp_path / "new")


def _altered(backup: Path, files: Mapping[str, bytes], manifest: Mapping[str, object]) -> None:
    """Make a backup say other things of itself, and hold other files whose hashes it lists."""
    with zipfile.ZipFile(backup) as archive:
        held = {name: archive.read(name) for name in archive.namelist()} | dict(files)
    told = json.loads(held.pop("manifest.json"))
    told["files"] = {name: sha256(data).hexdigest() for name, data in held.items()}
    with zipfile.ZipFile(backup, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**held, "manifest.json": json.dumps({**told, **manifest}).encode()}.items():
            archive.writestr(name, data)


def _name_of_text(backup: Path) -> str:
    with zipfile.ZipFile(backup) as archive:
        return next(name for name in archive.namelist() if name.endswith("text.1"))


def test_a_text_longer_than_any_that_is_taken_in_is_not_unpacked(backup: Path, tmp_path: Path) -> None:
    _altered(backup, {_name_of_text(backup): b"a" * 81_000_000}, {})
    begun, found = resource.getrusage(resource.RUSAGE_SELF).ru_oublock, tmp_path / "new"
    with pytest.raises(InvalidInput, match=r"has a document of 81,000,000 bytes, .*max_text_chars"):
        restore(backup, found)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_oublock - begun) * 512 < 10_000_000
    assert not found.exists()


def test_a_backup_that_does_not_fit_on_the_disk_is_refused_before_it_is_unpacked(backup: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(backup, "a") as archive:
        archive.writestr("more", b"")
        archive.getinfo("graph.sqlite").file_size = 1 << 60
        del archive.NameToInfo["more"]
        archive.filelist.pop()
    with pytest.raises(InvalidInput, match=r"needs 1,152,\d.* bytes, but only"):
        restore(backup, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "told",
    [
        {"made_at": "\x1b[2J2026-11-23"},
        {"made_at": None},
        {"documents": [1]},
        {"documents": "many"},
        {"files": ["graph.sqlite"]},
        {"format": "x"},
        {"lexigraph": "0" * 1_000_000},
    ],
)
def test_a_backup_that_says_what_no_backup_says_is_refused(backup: Path, tmp_path: Path, told: dict[str, object]) -> None:
    _altered(backup, {}, told)
    with pytest.raises(StoreDamaged, match="is no backup of Lexigraph"):
        restore(backup, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_file_under_the_name_of_another_makes_no_database(backup: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(backup) as archive:
        vectors = archive.read("vectors.sqlite")
    _altered(backup, {"graph.sqlite": vectors}, {})
    with pytest.raises(StoreDamaged, match=r"graph\.sqlite: no such table"):
        restore(backup, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_view_in_place_of_a_table_is_refused_before_it_is_asked(backup: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(backup) as archive:
        (tmp_path / "registry.sqlite").write_bytes(archive.read("registry.sqlite"))
    with closing(sqlite3.connect(tmp_path / "registry.sqlite")) as registry:
        registry.execute("ALTER TABLE documents RENAME TO others")
        # one that counts for ever would do, too
        registry.execute("CREATE VIEW documents AS SELECT * FROM others WHERE abs(-9223372036854775807 - 1)")
    _altered(backup, {"registry.sqlite": (tmp_path / "registry.sqlite").read_bytes()}, {})
    with pytest.raises(StoreDamaged, match="tables are not those that were made"):
        restore(backup, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_database_that_cannot_be_opened_is_not_left_behind(backup: Path, tmp_path: Path) -> None:
    def newer(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "graph.sqlite")) as connection:
            connection.execute("PRAGMA user_version=99")
        open_laptop(folder)

    with pytest.raises(Misconfigured, match="newer Lexigraph"):
        restore(backup, tmp_path / "new", opened=newer)
    assert {path.name for path in tmp_path.iterdir()} == {"one.zip", "data", "corpus"}


@pytest.mark.parametrize("name", ["../outside", "/etc/outside", "documents/../../outside", "graph.sqlite-wal"])
def test_a_backup_writes_nowhere_else(backup: Path, tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(backup) as archive:
        files = {n: archive.read(n) for n in archive.namelist()}
    manifest = json.loads(files["manifest.json"])
    manifest["files"][name] = "0" * 64
    with zipfile.ZipFile(backup, "w") as archive:
        for n, data in ({**files, "manifest.json": json.dumps(manifest).encode(), name: b"x"}).items():
            archive.writestr(n, data)
    with pytest.raises(StoreDamaged, match="is no backup of Lexigraph"):
        restore(backup, tmp_path / "new")


def _cut_text(data: Path) -> None:
    next((data / "documents").rglob("text.1")).write_bytes(b"The clock")


def _change_row(data: Path) -> None:
    path = data / "graph.sqlite"
    path.write_bytes(path.read_bytes().replace(b"of brass", b"of glass"))


@pytest.mark.parametrize("harm", [_cut_text, _change_row])
def test_no_backup_is_made_of_what_is_damaged(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    with laptop_with(tmp_path, CLOCK):
        pass
    harm(tmp_path / "data")
    with closing(open_laptop(tmp_path / "data")) as stores, pytest.raises(StoreDamaged):
        back_up(stores, tmp_path / "one.zip")
    assert not (tmp_path / "one.zip").exists()


@pytest.mark.nightly
def test_backups_during_a_storm_are_each_of_one_moment(tmp_path: Path) -> None:
    for tag in "abc":
        workers.write_corpus(tmp_path / tag, STORM, tag)
    workers.write_corpus(tmp_path / "d", 1, "d")  # it stays: with a tenant's last document the models' results go
    data = tmp_path / "data"
    workers.indexing(data).ingest([tmp_path / "c", tmp_path / "d"])
    storm = [workers.start("ingest", data, tmp_path / tag) for tag in "ab"]
    storm.append(workers.start("remove", data, *[f"c-{n}.md" for n in range(STORM)]))
    held = []
    with closing(open_laptop(data)) as stores:
        while any(worker.poll() is None for worker in storm):
            back_up(stores, tmp_path / f"{len(held)}.zip")
            held.append(tmp_path / f"{len(held)}.zip")
    for worker in storm:
        _, errors = worker.communicate(timeout=60)
        assert worker.returncode == 0, errors
    assert len(held) > 2
    for file in held:
        there = tmp_path / f"restored-{file.stem}"
        restore(file, there)
        with closing(open_laptop(there)) as stores:
            settle(stores, cache=True)
            assert compare(stores, DEFAULT_TENANT, cache=True) == []
        assert list(examine(there)) == []
        index = workers.indexing(there)
        for tag in "ab":
            index.ingest([tmp_path / tag])
        index.remove([d.source_id for d in index.documents() if "/c-" in d.uri])
        assert content(index.stores) == content(workers.indexing(data).stores), file
