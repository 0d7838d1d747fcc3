"""Another embedding beside the one in use, over real stores: what is there afterwards, and what it costs."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.ingestion.upkeep.reembed import embedding_of, reembed, reembed_from
from lexigraph.ingestion.upkeep.reembed_progress import Place, ReembedReport
from lexigraph.ingestion.workflow.steps import Steps
from lexigraph.model.errors import Conflict, InvalidInput, ModelUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.common.no_cache import NoCache
from lexigraph.storage.factory import VectorStoreFactory
from lexigraph.storage.files.documents import FileDocumentStore
from lexigraph.storage.protocols import FloatArray, SearchRequest, VectorRecord, VectorStore
from tests.laptop import content, laptop, open_laptop, write_pages
from tests.models import SentenceExtractor, WordEmbedder
from tests.standins.aws_server import ENVIRONMENT
from tests.standins.opensearch import OpenSearchServer
from tests.stepping import begun, drive
from tests.vector_dump import dump_vectors

OWNER = Tenant("default")
PAGES = {
    "Harbour": "The Harbour Office runs Lighthouse. Mira Holm leads the Harbour Office.",
    "Granite": "Granite lies in the cellar. Tove Lund built Granite with Mira Holm.",
    "Tidewater": "Tidewater keeps its data in Granite. Kai Sund runs Tidewater.",
}


class OtherEmbedder(WordEmbedder):
    """Another model; it gives up before the text numbered ``until``."""

    label = "other-32"
    dimension = 32

    def __init__(self, until: int = 1_000_000) -> None:
        super().__init__()
        self.until = until

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        if self.embedded + len(texts) > self.until:
            raise ModelUnavailable("the model is away")
        return super().embed_passages(texts)


class Database:
    """A laptop's stores, and the vectors of both embeddings in them."""

    def __init__(self, folder: Path, stack: ExitStack, vectors: str = "") -> None:
        self.folder, connection = folder, vectors or f"sqlite:///{folder}"
        self.stores = stack.enter_context(closing(open_laptop(folder)))
        self.old = self._opened("words-64", connection, stack)
        self.new = self._opened("other-32", connection, stack)
        self.stores = replace(self.stores, vectors=self.old)

    def _opened(self, label: str, connection: str, stack: ExitStack) -> VectorStore:
        made = VectorStoreFactory.for_vector_store(connection, embedding=embedding_of(label), beside=True)
        return stack.enter_context(closing(made))

    def index(self, embedder: WordEmbedder) -> LexicalGraphIndex:
        """The index with the store of this embedder."""
        stores = replace(self.stores, vectors=self.new if isinstance(embedder, OtherEmbedder) else self.old)
        settings = Settings(data=self.folder)
        return LexicalGraphIndex(stores, embedder=embedder, extractor=SentenceExtractor(), settings=settings)

    def reembed(self, embedder: OtherEmbedder | None = None, *, drop_old: bool = False) -> ReembedReport:
        return reembed(self.stores, self.old, self.new, embedder or OtherEmbedder(), drop_old=drop_old)

    def in_parts(
        self, embedder: OtherEmbedder | None = None, *, times: int = 1, drop_old: bool = False
    ) -> tuple[ReembedReport, list[Place]]:
        """Do a run in parts without any time; each of them so many times, of which only the last is heard of."""
        embedder, job = embedder or OtherEmbedder(), self.stores.registry.start_job(OWNER, "reembed", {"resumable": True})
        places, report = [Place()], ReembedReport("words-64", "other-32", job.id)
        while places[-1].part != "done":
            for _ in range(times):
                told = ReembedReport(**json.loads(json.dumps(asdict(report))))
                at = self.part(places[-1], told, embedder, drop_old=drop_old)
            places, report = [*places, at], told
            assert len(places) < 100
        return report, places

    def part(self, at: Place, report: ReembedReport, embedder: OtherEmbedder, *, drop_old: bool = False) -> Place:
        """Do the part of a run from a place on that has no time."""
        return reembed_from(self.stores, self.old, self.new, embedder, at, report, drop_old=drop_old, seconds=0)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with ExitStack() as stack:
        made = Database(tmp_path / "data", stack)
        made.index(WordEmbedder()).ingest([write_pages(tmp_path / "pages", PAGES)])
        yield made


def fresh(folder: Path, pages: Path) -> dict[str, object]:
    """What the vectors are like when the pages are ingested with the other model from the beginning."""
    with ExitStack() as stack:
        made = Database(folder, stack)
        made.index(OtherEmbedder()).ingest([pages])
        return dump_vectors(made.new, OWNER)


def test_every_record_is_there_as_if_ingested_with_the_other_model(database: Database, tmp_path: Path) -> None:
    before = content(database.stores)["vectors"]
    embedder = OtherEmbedder()
    report = database.reembed(embedder)
    assert dump_vectors(database.new, OWNER) == fresh(tmp_path / "fresh", tmp_path / "pages")
    assert content(database.stores)["vectors"] == before
    assert (report.documents, report.missing, report.unfinished, report.removed) == (3, 0, 0, 0)
    assert report.written == report.records == sum(len(database.old.ids(OWNER, i)) for i in ("chunk", "statement", "topic"))
    assert 0 < embedder.embedded == report.embedded <= report.written
    job = database.stores.registry.job(OWNER, report.job_id)
    assert (job.kind, job.status, job.result["records"]) == ("reembed", "SUCCEEDED", report.records)


def test_what_is_there_is_passed_over_and_nothing_is_ingested_again_with_either_model(
    database: Database, tmp_path: Path
) -> None:
    database.reembed()
    again = OtherEmbedder()
    report = database.reembed(again)
    assert (report.documents, report.written, report.embedded, again.embedded) == (3, 0, 0, 0)
    for embedder in (OtherEmbedder(), WordEmbedder()):
        index = database.index(embedder)
        ingested = index.ingest([tmp_path / "pages"])
        assert (ingested.documents_unchanged, ingested.model_calls) == (3, 0)
        assert not index.repair(dry_run=True)


@pytest.mark.parametrize("until", [1, 5, 11])
def test_a_run_that_broke_off_is_continued(database: Database, tmp_path: Path, until: int) -> None:
    embedder = OtherEmbedder(until)
    with pytest.raises(ModelUnavailable):
        database.reembed(embedder)
    assert database.stores.registry.jobs(OWNER)[0].status == "FAILED"
    done = embedder.embedded
    embedder.until = 1_000_000
    assert database.reembed(embedder).missing == 0
    assert dump_vectors(database.new, OWNER) == fresh(tmp_path / "fresh", tmp_path / "pages")
    whole = OtherEmbedder()
    database.new.drop(OWNER)
    reembed(replace(database.stores, cache=NoCache()), database.old, database.new, whole)
    assert embedder.embedded == whole.embedded > done


def test_documents_that_change_meanwhile_are_brought_over_by_the_next_run(database: Database, tmp_path: Path) -> None:
    database.reembed()
    pages = tmp_path / "pages"
    write_pages(pages, {"Basalt": "Basalt is dry. Anna Berg keeps Basalt.", "Harbour": PAGES["Harbour"] + " It is old."})
    index = database.index(WordEmbedder())
    index.ingest([pages])
    index.remove([index.document("Granite.md").source_id])
    (pages / "Granite.md").unlink()
    assert {r.source_id for i in ("chunk", "statement") for r in _all(database.new, i)} <= _sources(database)
    report = database.reembed()
    assert report.documents == 3 and 0 < report.written < report.records
    assert dump_vectors(database.new, OWNER) == fresh(tmp_path / "fresh", pages)


@pytest.mark.parametrize("by_steps", [False, True])
def test_after_the_switch_an_ingest_completes_what_was_not_brought_over(
    database: Database, tmp_path: Path, by_steps: bool
) -> None:
    database.reembed()
    pages = tmp_path / "pages"
    write_pages(pages, {"Basalt": "Basalt is dry. Anna Berg keeps Basalt."})
    database.index(WordEmbedder()).ingest([pages])
    if by_steps:
        steps = Steps(
            Settings(data=database.folder),
            stores=replace(database.stores, vectors=database.new),
            artefacts=FileDocumentStore(f"file:///{tmp_path}/artefacts"),
            embedder=OtherEmbedder(),
            extractor=SentenceExtractor(),
        )
        for path in sorted(pages.iterdir()):
            assert drive(steps, begun(steps, path, "0001"), path)["extracted"] == 0
    else:
        report = database.index(OtherEmbedder()).ingest([pages])
        assert (report.documents_unchanged, report.documents_updated, report.extracted) == (3, 1, 0)
    assert dump_vectors(database.new, OWNER) == fresh(tmp_path / "fresh", pages)


def test_records_that_lost_their_document_are_removed(database: Database) -> None:
    stray = VectorRecord("chunk:stray", "nobody's", "source:gone", "chunk:stray", np.eye(1, 32, dtype=np.float32)[0])
    database.new.upsert(OWNER, {"chunk": [stray]})
    assert database.reembed().removed == 1
    assert database.new.ids(OWNER, "chunk") == database.old.ids(OWNER, "chunk")


def test_what_the_new_model_took_in_stays_when_run_again(database: Database, tmp_path: Path) -> None:
    database.reembed()
    pages = write_pages(tmp_path / "pages", {"Basalt": "Basalt is dry. Anna Berg keeps Basalt."})
    database.index(OtherEmbedder()).ingest([pages])
    report = database.reembed()
    assert (report.documents, report.removed, report.missing) == (4, 0, 0)
    assert dump_vectors(database.new, OWNER) == fresh(tmp_path / "fresh", pages)


def test_the_old_records_go_when_told_so(database: Database, tmp_path: Path) -> None:
    report = database.reembed(drop_old=True)
    assert report.dropped and not any(database.old.ids(OWNER, i) for i in ("chunk", "statement", "topic"))
    assert dump_vectors(database.new, OWNER) == fresh(tmp_path / "fresh", tmp_path / "pages")
    assert database.index(OtherEmbedder()).ingest([tmp_path / "pages"]).documents_unchanged == 3
    with closing(open_laptop(database.folder)) as stores, pytest.raises(InvalidInput, match="not of words-64"):
        laptop(database.folder, stores).ingest([tmp_path / "pages"])


def test_a_record_that_no_index_has_is_told_of_keeps_the_old_ones_and_comes_back_with_an_ingest(
    database: Database, tmp_path: Path
) -> None:
    lost = database.old.ids(OWNER, "statement")[0]
    database.old.delete(OWNER, {"statement": [lost]})
    report = database.reembed()
    assert (report.documents, report.missing, report.records) == (2, 1, report.written)
    with pytest.raises(Conflict, match="1 record is in neither words-64 nor other-32"):
        database.reembed(drop_old=True)
    assert database.old.ids(OWNER, "chunk")
    database.index(OtherEmbedder()).ingest([tmp_path / "pages"])
    assert database.reembed(drop_old=True).dropped
    assert dump_vectors(database.new, OWNER) == fresh(tmp_path / "fresh", tmp_path / "pages")


def test_a_document_that_another_process_holds_is_waited_for(database: Database) -> None:
    held = database.index(WordEmbedder()).document("Granite.md").source_id
    taken, enough = threading.Event(), threading.Event()

    def hold() -> None:
        with closing(open_laptop(database.folder)) as stores, stores.registry.lease(OWNER, [held]):
            taken.set()
            enough.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert taken.wait(30)
    timer = threading.Timer(0.3, enough.set)
    timer.start()
    assert database.reembed().documents == 3
    assert enough.is_set()
    holder.join(30)


def test_a_document_that_was_never_built_to_the_end_is_told_of_and_not_noted(database: Database, tmp_path: Path) -> None:
    registry = database.stores.registry
    record = replace(database.index(WordEmbedder()).document("Granite.md"), state="BUILDING", fingerprint="")
    registry.save(OWNER, [record])
    report = database.reembed()
    assert (report.documents, report.unfinished, report.missing) == (2, 1, 0)
    assert registry.records(OWNER, [record.source_id])[record.source_id].fingerprint == ""
    assert dump_vectors(database.new, OWNER) == fresh(tmp_path / "fresh", tmp_path / "pages")


@pytest.fixture
def many(tmp_path: Path) -> Iterator[Database]:
    """More documents than are held together."""
    pages = PAGES | {f"Room {n}": f"Room {n} keeps the log of Lighthouse. Kai Sund keeps Room {n}." for n in range(40)}
    with ExitStack() as stack:
        made = Database(tmp_path / "data", stack)
        made.index(WordEmbedder()).ingest([write_pages(tmp_path / "pages", pages)])
        yield made


def plain(report: ReembedReport) -> dict[str, object]:
    """What a report says, but for the job and the time."""
    return {name: value for name, value in asdict(report).items() if name not in ("job_id", "elapsed_sec")}


@pytest.mark.parametrize("times", [1, 2])
def test_a_run_in_parts_ends_as_one_in_one_go_also_when_each_part_is_repeated(many: Database, times: int) -> None:
    report, places = many.in_parts(times=times)
    parts = dump_vectors(many.new, OWNER)
    marks = {r.source_id: r.fingerprint for r in many.stores.registry.documents(OWNER)}
    assert [p.part for p in places[-2:]] == ["strays", "done"]
    assert len({p.after for p in places if p.part == "documents"}) > 2  # between two groups, and amid one
    assert any(p.left for p in places)
    job = many.stores.registry.job(OWNER, report.job_id)
    assert (job.status, job.result["records"]) == ("SUCCEEDED", report.records)

    many.new.drop(OWNER)
    whole = reembed(replace(many.stores, cache=NoCache()), many.old, many.new, OtherEmbedder())
    assert dump_vectors(many.new, OWNER) == parts
    assert {r.source_id: r.fingerprint for r in many.stores.registry.documents(OWNER)} == marks
    assert (report.documents, report.records, report.missing) == (43, whole.records, 0)
    if times == 1:
        assert plain(report) == plain(whole)


def test_in_parts_no_document_of_a_uri_that_several_namespaces_have_is_passed_over(tmp_path: Path) -> None:
    pages = write_pages(tmp_path / "pages", {f"Room {n}": f"Kai Sund keeps Room {n}." for n in range(12)})
    with ExitStack() as stack:
        made = Database(tmp_path / "data", stack)
        for namespace in ("first", "second", "third"):
            made.index(WordEmbedder()).ingest([pages], namespace=namespace)
        report, places = made.in_parts()
        assert len({p.after for p in places if p.part == "documents"}) > 2
        assert (report.documents, report.missing) == (36, 0)
        assert set(made.new.ids(OWNER, "chunk")) == set(made.old.ids(OWNER, "chunk"))


def test_a_part_that_failed_is_repeated_and_nothing_is_embedded_twice(many: Database) -> None:
    embedder, job = OtherEmbedder(60), many.stores.registry.start_job(OWNER, "reembed", {})
    report = ReembedReport("words-64", "other-32", job.id)
    at = many.part(Place(), report, embedder)
    with pytest.raises(ModelUnavailable):
        while True:
            at = many.part(at, report, embedder)
    assert many.stores.registry.job(OWNER, job.id).status == "RUNNING"  # what becomes of it is the caller's to say
    embedder.until = 1_000_000
    while at.part != "done":
        at = many.part(at, report, embedder)
    assert (report.documents, report.missing, report.embedded) == (43, 0, embedder.embedded)


def test_a_document_that_others_hold_when_the_time_is_up_is_handed_on_and_brought_over_later(database: Database) -> None:
    held = database.index(WordEmbedder()).document("Granite.md").source_id
    embedder, job = OtherEmbedder(), database.stores.registry.start_job(OWNER, "reembed", {})
    report, at = ReembedReport("words-64", "other-32", job.id), Place()
    with closing(open_laptop(database.folder)) as others, others.registry.lease(OWNER, [held]):
        while at.left != (held,):
            at = database.part(at, report, embedder)
        assert report.documents == 2
        with pytest.raises(Conflict, match="locked by another process"):
            database.part(at, report, embedder)
    while at.part != "done":
        at = database.part(at, report, embedder)
    assert (report.documents, report.missing) == (3, 0)


def test_two_do_not_work_on_the_same_run(database: Database) -> None:
    job = database.stores.registry.start_job(OWNER, "reembed", {})
    report = ReembedReport("words-64", "other-32", job.id)
    with (
        closing(open_laptop(database.folder)) as others,
        others.registry.lease(OWNER, [f"job:{job.id}"]),
        pytest.raises(Conflict, match="another process is working on it"),
    ):
        database.part(Place(), report, OtherEmbedder())


def test_in_parts_the_old_records_go_last_and_stay_while_any_are_missing(database: Database, tmp_path: Path) -> None:
    lost = database.old.ids(OWNER, "statement")[0]
    database.old.delete(OWNER, {"statement": [lost]})
    with pytest.raises(Conflict, match="1 record is in neither words-64 nor other-32"):
        database.in_parts(drop_old=True)
    assert database.old.ids(OWNER, "chunk")
    database.index(OtherEmbedder()).ingest([tmp_path / "pages"])
    report, places = database.in_parts(drop_old=True)
    assert report.dropped and [p.part for p in places[-3:]] == ["strays", "old", "done"]
    assert not database.old.ids(OWNER, "chunk")
    assert dump_vectors(database.new, OWNER) == fresh(tmp_path / "fresh", tmp_path / "pages")


def test_models_that_do_not_fit_are_refused(database: Database) -> None:
    with pytest.raises(InvalidInput, match="words-64: is already in use"):
        reembed(database.stores, database.old, database.old, WordEmbedder())
    with pytest.raises(InvalidInput, match="was opened for other-32, but the embedder is words-64"):
        reembed(database.stores, database.old, database.new, WordEmbedder())
    for bad in ("", "minilm", "-384", "MiniLM-384", "minilm-0"):
        with pytest.raises(InvalidInput, match="minilm-384"):
            embedding_of(bad)
    assert embedding_of("bedrock-cohere-embed-v4-0-1536").label == "bedrock-cohere-embed-v4-0-1536"


def test_over_a_collection_that_shows_writes_late_all_is_there_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    pages = write_pages(tmp_path / "pages", PAGES)
    with ExitStack() as stack:
        server = stack.enter_context(OpenSearchServer(delay=2))
        database = Database(tmp_path / "data", stack, server.connection)
        database.index(WordEmbedder()).ingest([pages])
        report = database.reembed()
        assert (report.documents, report.missing) == (3, 0)
        assert dump_vectors(database.new, OWNER) == fresh(tmp_path / "fresh", pages)
        database.new.drop(OWNER)
        in_parts, _ = database.in_parts()
        assert (in_parts.documents, in_parts.missing) == (3, 0)
        assert dump_vectors(database.new, OWNER) == fresh(tmp_path / "again", pages)
        assert database.reembed(drop_old=True).dropped
        for _ in range(3):  # as often as the collection is asked before it shows a write
            left = database.old.ids(OWNER, "chunk")
        assert not left
        vector = database.new.fetch(OWNER, "chunk", database.new.ids(OWNER, "chunk")[:1])
        (hits,) = database.new.search_many(OWNER, [SearchRequest("chunk", vector=next(iter(vector.values())).vector)])
        assert hits[0].id == next(iter(vector))


def _all(store: VectorStore, index: str) -> list[VectorRecord]:
    return list(store.fetch(OWNER, index, store.ids(OWNER, index)).values())  # type: ignore[arg-type]


def _sources(database: Database) -> set[str]:
    return {r.source_id for r in database.stores.registry.documents(OWNER)}
