"""Files that a disk damaged: what is told of them, what is refused, and what is made again."""

import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from lexigraph.cli.checks import check_files
from lexigraph.ingestion.upkeep.rebuild import adopt
from lexigraph.model.errors import NotFound, StoreDamaged, StoreUnavailable
from lexigraph.model.question import Question
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.catalogue import make_retriever
from lexigraph.retrieval.recall.retriever import RecallRetriever
from lexigraph.settings import Settings
from lexigraph.storage.factory import GraphStoreFactory, VectorStoreFactory
from lexigraph.storage.protocols import EvidenceRequest, SearchRequest, Stores
from lexigraph.storage.sqlite.damage import examine, set_aside
from lexigraph.storage.sqlite.database import EVIDENCE, belongs_to
from lexigraph.storage.sqlite.registry import SqliteRegistry
from tests.disks import ordinary_user
from tests.laptop import CLOCK, CLOCK_QUESTION, WORDS, content, laptop, laptop_with, open_laptop
from tests.models import WordEmbedder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with laptop_with(tmp_path, CLOCK) as stores:
        search(stores)  # makes the copy of the vectors
    return tmp_path / "data"


def search(stores: Stores) -> None:
    vector = WordEmbedder().embed_questions(["clock"])[0]
    assert stores.vectors.search_many(DEFAULT_TENANT, [SearchRequest("chunk", vector=vector, k=5)])[0]


def problems(folder: Path) -> list[str]:
    return [f"{damage.path.name}: {damage.problem}" for damage in examine(folder)]


def exchange(path: Path, old: bytes, new: bytes) -> None:
    """Put bytes into the place of others, wherever they stand."""
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new))


def test_files_as_they_were_written_are_whole(data: Path) -> None:
    assert problems(data) == []


# in each file, what nothing but its ledger knows better
LETTERS = {
    "graph.sqlite": (b"of brass", b"of glass"),
    "vectors.sqlite": (b"of brass", b"of glass"),
    "registry.sqlite": (b"Silverbirch.md", b"Silverbirck.md"),
    "cache.sqlite": (b"of brass", b"of glass"),
}


@pytest.mark.parametrize("name", LETTERS)
def test_a_letter_that_was_changed_is_told(data: Path, name: str) -> None:
    exchange(data / name, *LETTERS[name])
    assert problems(data)
    assert {line.partition(":")[0] for line in problems(data)} == {name}


@pytest.mark.nightly
@pytest.mark.parametrize("name", LETTERS)
def test_a_schema_that_cannot_be_decoded_is_told_wherever_its_byte_was_flipped(data: Path, name: str) -> None:
    raw = (data / name).read_bytes()
    for found in re.finditer(rb"CREATE (TABLE|INDEX|TRIGGER|VIRTUAL)", raw):
        at = found.start() + 2
        (data / name).write_bytes(raw[:at] + bytes([raw[at] ^ 0x80]) + raw[at + 1 :])
        assert {line.partition(":")[0] for line in problems(data)} == {name}, at
        if name != "cache.sqlite":
            with pytest.raises(StoreDamaged, match=rf"{name}: .*lexigraph doctor"):
                open_laptop(data)


@pytest.mark.parametrize("name", LETTERS)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_file_that_was_cut_is_told(data: Path, name: str, share: float) -> None:
    raw = (data / name).read_bytes()
    (data / name).write_bytes(raw[: int(share * len(raw))])
    if name == "cache.sqlite" and not share:
        assert problems(data) == []  # nothing is lost that models cannot be asked again
    else:
        assert {line.partition(":")[0] for line in problems(data)} == {name}


def test_a_copy_of_vectors_that_differs_is_told_and_made_again(data: Path) -> None:
    (copy,) = data.glob("*.f32")
    raw = bytearray(copy.read_bytes())
    raw[len(raw) // 2] ^= 1
    copy.write_bytes(raw)
    assert problems(data) == [f"{copy.name}: its vectors are not those of the database"]
    assert set_aside(list(examine(data))) == {}
    search(open_laptop(data))
    assert problems(data) == []


def test_a_log_whose_changes_would_be_left_out_is_told(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with laptop_with(tmp_path, CLOCK):
        copy = shutil.copytree(data, tmp_path / "killed")  # as after a kill: the log is not in the file yet
    log = copy / "graph.sqlite-wal"
    whole = log.read_bytes()
    assert len(whole) > 20_000
    assert problems(copy) == []
    log.write_bytes(whole[:10_000] + b"x" + whole[10_001:])
    assert "graph.sqlite: its write-ahead log is damaged: changes after the damage are lost" in problems(copy)


@pytest.mark.parametrize("names", [["vectors.sqlite"], ["graph.sqlite"], ["graph.sqlite", "vectors.sqlite"]])
def test_files_of_another_database_are_refused_told_and_made_again(data: Path, tmp_path: Path, names: list[str]) -> None:
    with laptop_with(tmp_path / "other", {"Bell": "The bell is of bronze."}):
        pass
    opened = open_laptop(data)
    before = content(opened)
    for name in names:
        for file in data.glob(f"{name}-*"):
            file.unlink()
        shutil.copy(tmp_path / "other" / "data" / name, tmp_path / name)
        (tmp_path / name).replace(data / name)
    with pytest.raises(StoreDamaged, match="is of another database than"):
        search(opened)  # whoever has the files open, too
        opened.graph.sources(DEFAULT_TENANT, [])
    opened.close()
    with pytest.raises(StoreDamaged, match=r"is of another database than .* beside it: .*lexigraph doctor"):
        open_laptop(data)
    assert problems(data)[-len(names) :] == [f"{name}: is of another database than the files beside it" for name in names]
    set_aside(list(examine(data)))
    with closing(open_laptop(data, create="again")) as stores:
        index = laptop(data, stores)
        index.rebuild([document.source_id for document in index.documents()])
        assert content(stores) == before


@pytest.mark.slow
def test_files_that_are_made_at_the_same_time_are_of_one_database(tmp_path: Path) -> None:
    for attempt in range(20):
        at = f"sqlite:///{tmp_path}/{attempt}"
        with ThreadPoolExecutor(2) as pool:
            made = [pool.submit(SqliteRegistry, at), pool.submit(GraphStoreFactory.for_graph_store, at, create=True)]
        for store in made:
            store.result(60).close()
        assert len({belongs_to(tmp_path / str(attempt) / name) for name in ("registry.sqlite", "graph.sqlite")}) == 1


@pytest.mark.parametrize("name", EVIDENCE)
@pytest.mark.parametrize("lose", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["missing", "empty"])
def test_a_store_that_was_lost_is_not_made_anew_beside_others_that_hold_documents(
    data: Path, name: str, lose: Callable[[Path], object]
) -> None:
    lose(data / name)
    with pytest.raises(StoreDamaged, match=f"{name}: is empty or missing, and .* beside it holds documents"):
        open_laptop(data)
    assert any(line.startswith(name) for line in problems(data))


@pytest.mark.parametrize("lose", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["missing", "empty"])
def test_a_file_that_no_store_of_the_settings_keeps_there_is_not_missing(data: Path, lose: Callable[[Path], object]) -> None:
    lose(data / "graph.sqlite")
    kept = {path.name for path in data.iterdir()}
    remote = Settings(data=data, graph_store="neptune-db://127.0.0.1:8182?region=eu-west-1&tls=off")
    for repair in (False, True):
        assert [check.status for check in check_files(remote, repair=repair)] == ["ok"]
        assert {path.name for path in data.iterdir()} >= kept
    assert (data / "graph.sqlite").exists() == ("graph.sqlite" in kept)
    assert [check.status for check in check_files(Settings(data=data), repair=False)] == ["problem"]


def test_a_place_without_a_database_is_refused_by_who_only_asks(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no database in"):
        GraphStoreFactory.for_graph_store(f"sqlite:///{tmp_path}/wrong")
    with pytest.raises(NotFound, match="no database in"):
        VectorStoreFactory.for_vector_store(f"sqlite:///{tmp_path}/wrong", embedding=WORDS)
    assert not (tmp_path / "wrong").exists()


@pytest.mark.parametrize("name", EVIDENCE)
def test_documents_are_built_again_from_what_is_kept_of_them(data: Path, name: str) -> None:
    with closing(open_laptop(data)) as stores:
        before = content(stores)
    exchange(data / name, *LETTERS[name])
    moved = set_aside(list(examine(data)))
    together = {"graph.sqlite", "vectors.sqlite"}
    assert {path.name for path in moved} == (together if name in together else {name})
    with closing(open_laptop(data, create="again")) as stores:
        index = laptop(data, stores)
        if name == "registry.sqlite":
            adopt(stores, DEFAULT_TENANT)
        ids = [document.source_id for document in index.documents()]
        assert len(ids) == len(CLOCK)
        assert index.rebuild(ids) == set(ids)
        assert content(stores) == before
        assert index.repair(dry_run=True) == []
    assert problems(data) == []


@pytest.mark.parametrize("change", [lambda raw: raw[:-5], lambda raw: raw.replace(b"nine", b"five"), lambda raw: b""])
def test_a_text_that_is_cut_or_altered_is_not_read(data: Path, change: Callable[[bytes], bytes]) -> None:
    with closing(open_laptop(data)) as stores:
        index = laptop(data, stores)
        clock = index.document("Clock.md")
        (path,) = (data / "documents").glob(f"**/{clock.source_id[7:]}/text.1")
        path.write_bytes(change(path.read_bytes()))
        with pytest.raises(StoreDamaged, match=r"Clock\.md: its file text\.1 is damaged"):
            index.text(clock)
        assert [(f.uri, f.problem) for f in index.repair(dry_run=True)] == [(clock.uri, "its text is damaged")]
        index.repair()
        assert index.ingest([data.parent / "corpus"]).documents_updated == 1
        assert "strikes nine" in index.text(index.document("Clock.md"))
        assert index.repair(dry_run=True) == []


def test_a_question_over_damage_says_so_and_is_answered_from_what_is_whole(data: Path) -> None:
    with closing(open_laptop(data)) as stores:
        retriever = make_retriever("traversal", stores.graph, stores.vectors, embedder=WordEmbedder())
        whole = retriever.retrieve(DEFAULT_TENANT, Question(CLOCK_QUESTION))
        assert {"Clock", "Silverbirch"} <= {result.source.title for result in whole.results}
    exchange(data / "graph.sqlite", *LETTERS["graph.sqlite"])
    with closing(open_laptop(data)) as stores:
        retriever = make_retriever("traversal", stores.graph, stores.vectors, embedder=WordEmbedder())
        found = retriever.retrieve(DEFAULT_TENANT, Question(CLOCK_QUESTION))
        titles = {result.source.title for result in found.results}
        assert ("Clock" in titles, "Silverbirch" in titles) == (False, True)
        assert "store_damaged" in {warning.type for warning in found.warnings}
        chunks = stores.vectors.ids(DEFAULT_TENANT, "chunk")
        with pytest.raises(StoreDamaged, match="are not what was written"):
            stores.graph.evidence(DEFAULT_TENANT, EvidenceRequest(chunks=tuple(chunks)))


def test_a_folder_that_cannot_be_written_is_asked_as_any_other() -> None:
    with ordinary_user() as folder:
        data = folder / "data"
        with laptop_with(folder, CLOCK):
            pass
        for path in (data, *data.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        with closing(open_laptop(data)) as stores:
            search(stores)
            index = laptop(data, stores)
            assert "strikes nine" in index.text(index.document("Clock.md"))
            recall = RecallRetriever(stores.graph, stores.vectors, stores.registry, embedder=WordEmbedder())
            told = recall.retrieve(DEFAULT_TENANT, Question("clock"))
            assert told.nodes
            assert [warning.type for warning in told.warnings] == ["session_not_kept"]
            with pytest.raises(StoreUnavailable, match="give write permission"):
                index.ingest([folder / "corpus"])
        assert problems(data) == []
