"""Which files of this machine a tenant may have ingested by their paths."""

import os
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from lexigraph.ingestion.load import load
from lexigraph.ingestion.roots import check_roots, files_inside, inside
from lexigraph.model.errors import InvalidInput, Misconfigured
from lexigraph.settings import Settings

OTHERS = "must be inside"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "root" / "flow.md").write_text("# Flow\n\nMira Holm signs.")
    (tmp_path / "root" / "sub" / "parts.md").write_text("# Parts\n\nTove Lund reads.")
    return tmp_path / "root"


def settings(root: Path, **more: object) -> Settings:
    return Settings(**{"data": root / "data", "ingest_roots": {"acme": root}, **more})  # type: ignore[arg-type]  # checked by pydantic


def names(root: Path, path: str = ".", **more: object) -> list[str]:
    return [item.path.name for item in files_inside("acme", [path], settings(root, **more))[0]]


def test_without_a_root_of_its_own_a_tenant_has_none(root: Path) -> None:
    assert Settings().ingest_roots == {}
    for tenant in ("default", "beta"):
        with pytest.raises(InvalidInput, match="this tenant may not ingest by path"):
            inside(tenant, "flow.md", settings(root))
    assert inside("acme", "flow.md", settings(root)) == root / "flow.md"


def test_a_tenant_s_root_is_no_other_tenant_s(root: Path) -> None:
    of_both = settings(root, ingest_roots={"acme": root, "beta": root / "sub"})
    assert inside("beta", "parts.md", of_both) == root / "sub" / "parts.md"
    for path in ("../flow.md", str(root / "flow.md"), "sub/../../flow.md"):
        with pytest.raises(InvalidInput, match=OTHERS):
            inside("beta", path, of_both)


@pytest.mark.parametrize("hidden", [".secret.md", ".ssh/config.md", "sub/.git/notes.md"])
@pytest.mark.parametrize("link", ["", "link.md"])
def test_hidden_files_are_not_read_by_name_nor_by_a_link(root: Path, hidden: str, link: str) -> None:
    (root / hidden).parent.mkdir(exist_ok=True)
    (root / hidden).write_text("The password is here.")
    if link:
        (root / link).symlink_to(root / hidden)
    with pytest.raises(InvalidInput, match=OTHERS):
        inside("acme", link or hidden, settings(root))
    items, refused = files_inside("acme", ["."], settings(root))
    assert [item.path.name for item in items] == ["flow.md", "parts.md"]
    assert [(each.path, OTHERS in each.reason) for each in refused] == ([(link, True)] if link else [])


def test_a_link_that_leads_to_another_folder_is_told_and_nothing_of_what_lies_there(root: Path, tmp_path: Path) -> None:
    (tmp_path / "private" / "below").mkdir(parents=True)
    (tmp_path / "private" / "below" / "salaries.md").write_text("Mira Holm earns much.")
    (tmp_path / "private" / "photo.tiff").write_text("x")
    (root / "linked").symlink_to(tmp_path / "private")
    skipped: Counter[str] = Counter()
    items, refused = files_inside("acme", ["."], settings(root), skipped)
    assert [item.path.name for item in items] == ["flow.md", "parts.md"]
    assert [each.path for each in refused] == ["linked"]
    assert skipped == {}


def test_a_root_that_is_itself_hidden_is_read(tmp_path: Path) -> None:
    (tmp_path / ".notes").mkdir()
    (tmp_path / ".notes" / "a.md").write_text("Mira Holm signs.")
    assert names(tmp_path / ".notes") == ["a.md"]


# the texts that a document store keeps end like pages of the manual: text.2
@pytest.mark.parametrize("file", ["registry.txt", "documents/beta/a8/text.2", "uploads/0f6c/sent.md", "artefacts/x.json"])
@pytest.mark.parametrize("link", ["", "link", "folder"])
def test_nothing_in_the_folder_of_the_data_is_read(root: Path, file: str, link: str) -> None:
    kept = root / "data" / file
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text("Of another tenant.")
    path = f"data/{file}"
    if link == "link":
        (root / "link.md").symlink_to(kept)
        path = "link.md"
    if link == "folder":
        (root / "folder").symlink_to(kept.parent)
        path = f"folder/{kept.name}"
    with pytest.raises(InvalidInput, match=OTHERS):
        inside("acme", path, settings(root))
    assert names(root) == ["flow.md", "parts.md"]
    assert files_inside("acme", ["."], settings(root))[1] == [], "not even named"


def test_stores_that_lie_elsewhere_are_as_closed_as_the_data(root: Path) -> None:
    elsewhere = {"registry": f"sqlite:///{root}/db", "document_store": f"file:///{root}/texts", "cache": "none"}
    for folder in ("db", "texts"):
        (root / folder).mkdir()
        (root / folder / "kept.1").write_text("Of another tenant.")
        with pytest.raises(InvalidInput, match=OTHERS):
            inside("acme", f"{folder}/kept.1", settings(root, **elsewhere))
    assert names(root, **elsewhere) == ["flow.md", "parts.md"]


def test_a_database_is_not_read_whatever_it_is_called(root: Path) -> None:
    with sqlite3.connect(root / "backup.1") as made:
        made.execute("CREATE TABLE keys (digest TEXT)")
    os.link(root / "backup.1", root / "notes.txt")
    for name in ("backup.1", "notes.txt"):
        (item,) = files_inside("acme", [name], settings(root))[0]
        (told,) = load(item, settings(root))
        assert "is a database" in str(told)


def test_a_root_is_a_folder_apart_from_the_stores(root: Path) -> None:
    check_roots(settings(root))
    (root / "data" / "below").mkdir(parents=True)
    with pytest.raises(Misconfigured, match="is inside a folder of the stores"):
        check_roots(settings(root, ingest_roots={"acme": root / "data" / "below"}))
    with pytest.raises(Misconfigured, match="is not an existing folder"):
        check_roots(settings(root, ingest_roots={"acme": root / "flow.md"}))
    with pytest.raises(InvalidInput, match="tenant 'A B' is not allowed"):
        check_roots(settings(root, ingest_roots={"A B": root}))
