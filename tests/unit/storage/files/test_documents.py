"""The document store in a folder: what lies where, and what a disk can do to it."""

import subprocess
import sys
from pathlib import Path

import pytest

from lexigraph.model.errors import InvalidInput, StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.storage.files.documents import FileDocumentStore
from tests.disks import files_of_at_most, ordinary_user

A = Tenant("a")
DIGITS = "ab" + "0" * 30
SOURCE = f"source:{DIGITS}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "documents"


@pytest.fixture
def store(folder: Path) -> FileDocumentStore:
    return FileDocumentStore(f"file:///{folder}")


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_files_lie_in_folders_by_tenant_and_source(store: FileDocumentStore, folder: Path) -> None:
    store.put(A, SOURCE, "text-1.txt", b"1")
    assert (folder / "a" / "ab" / DIGITS / "text-1.txt").read_bytes() == b"1"


def test_opening_a_store_writes_nothing(store: FileDocumentStore, folder: Path) -> None:
    assert store.sources(A) == []
    assert not folder.exists()


def test_deleting_leaves_no_empty_folders(store: FileDocumentStore, folder: Path) -> None:
    neighbour = "source:ab" + "f" * 30
    store.put(A, SOURCE, "text-1.txt", b"1")
    store.put(A, neighbour, "text-1.txt", b"1")
    store.delete(A, SOURCE)
    assert files(folder) == ["a", "a/ab", f"a/ab/{neighbour[7:]}", f"a/ab/{neighbour[7:]}/text-1.txt"]
    store.delete(A, neighbour)
    assert files(folder) == []


def test_what_a_killed_writer_left_is_not_listed_and_goes_with_the_next_delete(
    store: FileDocumentStore, folder: Path
) -> None:
    body = f"""
import os, signal, sys, threading
from lexigraph.model.tenant import Tenant
from lexigraph.storage.files.documents import FileDocumentStore
store = FileDocumentStore(sys.argv[1])
threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGKILL)).start()
while True:
    store.put(Tenant("a"), {SOURCE!r}, "text-1.txt", b"x" * 20_000_000)
"""
    for _ in range(20):
        subprocess.run([sys.executable, "-c", body, f"file:///{folder}"], check=False, timeout=60)
        if any("/." in name for name in files(folder)):
            break
    else:
        pytest.skip("no writer was killed while it wrote")
    store.put(A, SOURCE, "text-1.txt", b"1")
    assert store.names(A, SOURCE) == ["text-1.txt"]
    store.delete(A, SOURCE, keep=["text-1.txt"])
    assert [name for name in files(folder) if "/." in name] == []
    assert store.get(A, SOURCE, "text-1.txt") == b"1"


def test_a_folder_of_only_unfinished_files_is_no_source(store: FileDocumentStore, folder: Path) -> None:
    store.put(A, SOURCE, "text-1.txt", b"1")
    (folder / "a" / "ab" / DIGITS / "text-1.txt").rename(folder / "a" / "ab" / DIGITS / ".unfinished")
    (folder / "a" / "ab" / "notes.txt").touch()
    (folder / "a" / ".DS_Store").touch()
    assert store.sources(A) == []
    store.delete(A, SOURCE)
    assert files(folder) == ["a", "a/.DS_Store", "a/ab", "a/ab/notes.txt"]


def test_a_used_up_quota_is_reported_and_keeps_the_old_file(store: FileDocumentStore, folder: Path) -> None:
    store.put(A, SOURCE, "text-1.txt", b"old")
    with files_of_at_most(10_000), pytest.raises(StoreUnavailable, match=r"text-1\.txt: File too large: free disk space"):
        store.put(A, SOURCE, "text-1.txt", b"x" * 20_000)
    assert store.get(A, SOURCE, "text-1.txt") == b"old"
    assert store.names(A, SOURCE) == ["text-1.txt"]
    assert [name for name in files(folder) if "/." in name] == []


def test_missing_permissions_are_reported_with_a_remedy() -> None:
    with ordinary_user() as folder:
        store = FileDocumentStore(f"file:///{folder}/documents")
        store.put(A, SOURCE, "text-1.txt", b"1")
        home = folder / "documents" / "a" / "ab" / DIGITS
        (home / "text-1.txt").chmod(0o000)
        with pytest.raises(StoreUnavailable, match="Permission denied: give write permission"):
            store.get(A, SOURCE, "text-1.txt")
        home.chmod(0o555)
        with pytest.raises(StoreUnavailable, match="Permission denied: give write permission"):
            store.put(A, SOURCE, "text-2.txt", b"1")
        with pytest.raises(StoreUnavailable, match="Permission denied: give write permission"):
            store.delete(A, SOURCE)
        home.chmod(0o000)
        with pytest.raises(StoreUnavailable, match="Permission denied: give write permission"):
            store.names(A, SOURCE)


def test_a_tenant_that_was_never_checked_leads_nowhere(store: FileDocumentStore) -> None:
    with pytest.raises(InvalidInput, match="tenant"):
        store.get("../../etc", SOURCE, "text-1.txt")  # type: ignore[arg-type]


@pytest.mark.parametrize("connection", ["file:///", "file://x", "sqlite:///x", ""])
def test_a_connection_that_names_no_folder_is_refused(connection: str) -> None:
    with pytest.raises(InvalidInput, match="expected file:///FOLDER"):
        FileDocumentStore(connection)
