"""From files to the stores and back out: change detection, versions, removal, tenants."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lexigraph.ingestion import versions
from lexigraph.ingestion.events import Event
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import InvalidInput, ModelUnavailable, NotFound
from lexigraph.model.extraction import Extraction
from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import EvidenceRequest
from tests.files import prose, section
from tests.laptop import content, laptop, open_laptop, write_pages

DEFAULT = Tenant("default")
FILES = {
    "harbour.md": f"# Harbour Office\n\n{prose('The Harbour Office runs Lighthouse.')}\n\n"
    + section("People", "Mira Holm leads the Harbour Office."),
    "lighthouse.md": "# Lighthouse\n\nLighthouse stores its data in Granite.\n\nMira Holm leads the Harbour Office.\n",
    "notes.txt": "Granite was built by Tove Lund.\n\nThe cellar is dry.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = tmp_path / "files"
    files.mkdir()
    for name, text in FILES.items():
        (files / name).write_text(text)
    return files


@pytest.fixture
def index(tmp_path: Path) -> LexicalGraphIndex:
    return laptop(tmp_path / "data")


def statements(index: LexicalGraphIndex, *names: str, tenant: Tenant = DEFAULT) -> set[str]:
    request = EvidenceRequest(entities=tuple(entity_id(tenant, name) for name in names))
    return {row.value for row in index.stores.graph.evidence(tenant, request)}


def test_a_folder_becomes_a_graph(index: LexicalGraphIndex, folder: Path) -> None:
    report = index.ingest([folder])

    assert (report.documents_new, report.failures, report.chunks_failed) == (3, [], 0)
    assert report.entities_created == index.stores.graph.stats(DEFAULT)["entities"] > 0
    assert report.facts_created == index.stores.graph.stats(DEFAULT)["facts"] > 0
    assert report.relations_created == report.cooccur_edges == 1, "Granite and Lighthouse stand together in two chunks"
    assert report.chunks_embedded == report.chunks_new
    assert report.chunks_new == index.stores.graph.stats(DEFAULT)["chunks"] == index.stores.vectors.stats(DEFAULT)["chunk"]
    assert statements(index, "Granite") == {"Lighthouse stores its data in Granite.", "Granite was built by Tove Lund."}
    assert {d.title for d in index.documents()} >= {"Harbour Office", "Lighthouse"}
    granite = index.stores.graph.entities(DEFAULT, [entity_id(DEFAULT, "Granite")]).found
    assert [e.df for e in granite.values()] == [2]


def test_a_statement_points_at_its_place_in_the_document(index: LexicalGraphIndex, folder: Path) -> None:
    index.ingest([folder])
    document = index.document("notes.txt")
    text = index.text(document)
    chunks = tuple(index.stores.graph.chunk_ids(DEFAULT, document.source_id))

    rows = index.stores.graph.evidence(DEFAULT, EvidenceRequest(chunks=chunks))
    assert rows
    for row in rows:
        assert text[row.chunk_start + row.start : row.chunk_start + row.end] == row.value


def test_ingesting_the_same_again_calls_no_model_and_changes_nothing(index: LexicalGraphIndex, folder: Path) -> None:
    index.ingest([folder])
    once = content(index.stores)
    extractor, embedder = index.models.extractor, index.models.embedder
    before = (extractor.extracted, embedder.embedded)  # type: ignore[attr-defined]

    report = index.ingest([folder])

    assert (report.chunks_new, report.model_calls, report.documents_unchanged) == (0, 0, 3)
    assert (extractor.extracted, embedder.embedded) == before  # type: ignore[attr-defined]
    assert content(index.stores) == once


@pytest.mark.requirement("E-32", "E-33")
def test_only_a_refresh_asks_the_models_about_what_they_answered_before(index: LexicalGraphIndex, folder: Path) -> None:
    first = index.ingest([folder])
    once = content(index.stores)
    again = index.ingest([folder], incremental=False)
    assert (again.documents_updated, again.chunks_new) == (3, first.chunks_new), "everything is gone through"
    assert (again.extracted, again.embedded, again.chunks_embedded) == (0, 0, 0)
    assert content(index.stores) == once

    again = index.ingest([folder], refresh=True)
    assert (again.extracted, again.embedded) == (first.extracted, first.embedded)
    assert again.documents_updated == 3
    assert content(index.stores) == once


@pytest.mark.slow
def test_one_sentence_added_makes_at_most_two_new_chunks(index: LexicalGraphIndex, tmp_path: Path) -> None:
    rng = random.Random(7)
    words = [
        "river",
        "stone",
        "lantern",
        "market",
        "winter",
        "copper",
        "garden",
        "signal",
        "harbour",
        "paper",
        "glass",
        "engine",
    ]
    paragraphs = [
        " ".join(
            f"The {rng.choice(words)} of {rng.choice(words)} keeps {rng.choice(words)} number {rng.randrange(10**6)}."
            for _ in range(6)
        )
        for _ in range(100)
    ]
    document = tmp_path / "long.md"
    document.write_text("# Long\n\n" + "\n\n".join(paragraphs))
    index.ingest([document])
    for at in rng.sample(range(100), 20):
        sentences = paragraphs[at].split(". ")
        sentences.insert(rng.randrange(len(sentences)), f"A sentence was added here as number {at}")
        paragraphs[at] = ". ".join(sentences)
        document.write_text("# Long\n\n" + "\n\n".join(paragraphs))
        report = index.ingest([document])
        assert 1 <= report.chunks_new <= 2
        assert report.documents_updated == 1


def test_an_updated_document_equals_one_ingested_fresh(index: LexicalGraphIndex, folder: Path, tmp_path: Path) -> None:
    index.ingest([folder])
    (folder / "lighthouse.md").write_text("# Lighthouse\n\nLighthouse moved its data to Basalt.\n\nThe lamp is green.\n")
    (folder / "notes.txt").write_text("The cellar is dry.\n\nGranite was built by Tove Lund.\n")
    index.ingest([folder])

    fresh = laptop(tmp_path / "fresh")
    fresh.ingest([folder])
    assert content(index.stores) == content(fresh.stores)


def test_readers_see_only_the_old_version_until_the_new_one_is_whole(index: LexicalGraphIndex, folder: Path) -> None:
    index.ingest([folder])
    (folder / "lighthouse.md").write_text("# Lighthouse\n\nLighthouse moved its data to Basalt.\n")
    seen: list[set[str]] = []

    def look(event: Event) -> None:
        if event.stage in ("embedding", "build"):
            seen.append(statements(index, "Lighthouse", "Granite", "Basalt"))

    index.ingest([folder], on_event=look)

    old = {
        "The Harbour Office runs Lighthouse.",
        "Lighthouse stores its data in Granite.",
        "Granite was built by Tove Lund.",
        "Mira Holm leads the Harbour Office.",
    }
    assert seen == [old, old]
    assert "Lighthouse moved its data to Basalt." in statements(index, "Lighthouse")
    assert statements(index, "Granite") == {"Granite was built by Tove Lund."}


def test_removing_everything_leaves_nothing_in_any_store(index: LexicalGraphIndex, folder: Path) -> None:
    index.ingest([folder])
    index.remove([d.source_id for d in index.documents()])

    left = content(index.stores)
    assert not any(left["graph"].values())
    assert not any(left["vectors"].values())
    assert (left["registry"], left["texts"]) == ([], {})
    assert not any(left["cache"].values())


def test_removing_one_of_two_keeps_exactly_what_the_other_supports(
    index: LexicalGraphIndex, folder: Path, tmp_path: Path
) -> None:
    index.ingest([folder])
    index.remove([index.document("lighthouse.md").source_id])

    (folder / "lighthouse.md").unlink()
    never = laptop(tmp_path / "never")
    never.ingest([folder])
    assert content(index.stores) == content(never.stores)


def test_removing_what_does_not_exist_is_said(index: LexicalGraphIndex) -> None:
    with pytest.raises(NotFound, match="documents list"):
        index.remove(["source:" + "0" * 32])
    with pytest.raises(NotFound):
        index.document("nowhere.md")


def test_a_document_is_known_by_its_file_name_whatever_its_uri_has_to_escape(index: LexicalGraphIndex, folder: Path) -> None:
    (folder / "Fähre & Flut.md").write_text(FILES["notes.txt"])
    index.ingest([folder])
    record = index.document("Fähre & Flut.md")
    assert record.metadata["file_name"] == "Fähre & Flut.md"
    assert index.document("files/Fähre & Flut.md") == index.document(record.uri) == record


def test_two_tenants_with_equal_documents_share_nothing(index: LexicalGraphIndex, folder: Path) -> None:
    index.ingest([folder], tenant="a")
    before = content(index.stores, "a")
    index.ingest([folder], tenant="b")
    assert content(index.stores, "a") == before
    ours = {d.source_id for d in index.documents(tenant="a")}
    assert not ours & {d.source_id for d in index.documents(tenant="b")}

    with pytest.raises(NotFound):
        index.remove(sorted(ours), tenant="b")
    with pytest.raises(NotFound):
        index.document(min(ours), tenant="b")
    index.remove([d.source_id for d in index.documents(tenant="b")], tenant="b")
    assert content(index.stores, "a") == before
    assert not any(content(index.stores, "b")["graph"].values())


def test_another_extractor_extracts_everything_anew(index: LexicalGraphIndex, folder: Path) -> None:
    first = index.ingest([folder])
    index.models.extractor.name = "sentences-2"
    again = index.ingest([folder])
    assert (again.extracted, again.documents_updated) == (first.extracted, 3)
    assert index.ingest([folder]).documents_unchanged == 3


def test_what_a_model_gave_before_it_failed_is_not_lost(index: LexicalGraphIndex, folder: Path) -> None:
    extractor = index.models.extractor
    whole = extractor.extract

    def break_off(chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        yield from list(whole(chunks))[:2]
        raise ModelUnavailable("gone")

    extractor.extract = break_off  # type: ignore[method-assign]
    with pytest.raises(ModelUnavailable):
        index.ingest([folder])
    extractor.extract = whole  # type: ignore[method-assign]
    assert index.ingest([folder]).extracted == index.stores.graph.stats(DEFAULT)["chunks"] - 2


def test_a_chunk_that_fails_keeps_what_it_yielded_and_is_tried_again(index: LexicalGraphIndex, folder: Path) -> None:
    index.ingest([folder])
    once = content(index.stores)["graph"]
    extractor = index.models.extractor
    whole = extractor.extract
    extractor.extract = lambda chunks: iter([Extraction(failed="no JSON") for _ in chunks])  # type: ignore[method-assign]
    report = index.ingest([folder], refresh=True)
    assert report.chunks_failed == index.stores.graph.stats(DEFAULT)["chunks"]
    job = index.stores.registry.job(DEFAULT, report.job_id)
    assert (job.status, job.reason) == ("FAILED", f"none of {report.chunks_failed} chunks could be extracted: no JSON")
    assert content(index.stores)["graph"] == once
    assert index.documents()[0].failed_chunks > 0

    extractor.extract = whole  # type: ignore[method-assign]
    index.ingest([folder])
    assert sum(d.failed_chunks for d in index.documents()) == 0
    assert content(index.stores)["graph"] == once


def test_namespaces_keep_equal_files_apart(index: LexicalGraphIndex, folder: Path) -> None:
    index.ingest([folder / "notes.txt"], namespace="one")
    index.ingest([folder / "notes.txt"], namespace="two")
    assert {d.namespace for d in index.documents()} == {"one", "two"}
    assert len(index.documents(namespace="one")) == 1
    with pytest.raises(InvalidInput, match="namespace"):
        index.ingest([folder], namespace="")


def test_a_bad_file_is_reported_and_the_rest_goes_on(index: LexicalGraphIndex, folder: Path) -> None:
    (folder / "empty.txt").write_text("")
    report = index.ingest([folder, folder / "missing.md"])

    assert report.documents_new == 3
    assert {Path(f.uri).name for f in report.failures} == {"empty.txt", "missing.md"}
    job = index.stores.registry.job(DEFAULT, report.job_id)
    assert job.status == "SUCCEEDED"
    assert len(job.result["failures"]) == 2


def test_a_run_is_a_job_with_events_in_order(index: LexicalGraphIndex, folder: Path) -> None:
    report = index.ingest([folder])
    stages = [e.stage for e in index.stores.registry.events(DEFAULT, report.job_id)]

    order = ["scan_input", "hash_computed", "existing_scan", "entity_extraction", "embedding", "build", "result", "done"]
    assert [s for s in dict.fromkeys(stages) if s in order] == order
    assert stages[-2:] == ["result", "done"]


def test_the_job_of_a_killed_run_is_closed_by_the_next(index: LexicalGraphIndex, folder: Path) -> None:
    killed = index.stores.registry.start_job(DEFAULT, "ingest", {})
    report = index.ingest([folder])
    jobs = {job.id: job for job in index.stores.registry.jobs(DEFAULT)}
    assert (jobs[killed.id].status, jobs[report.job_id].status) == ("FAILED", "SUCCEEDED")
    assert "interrupted" in jobs[killed.id].reason


def test_jsonl_documents_keep_their_ids(index: LexicalGraphIndex, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(
        '{"id": "d1", "title": "One", "text": "Granite is old."}\n{"id": "d2", "title": "Two", "text": "Basalt is new."}\n'
    )
    index.ingest([corpus])
    assert {d.metadata["id"] for d in index.documents()} == {"d1", "d2"}
    assert index.document("d2").title == "Two"
    corpus.write_text(corpus.read_text().replace("new", "young"))
    report = index.ingest([corpus])
    assert (report.documents_unchanged, report.documents_updated) == (1, 1)


def test_a_second_index_with_the_same_cache_calls_no_model(index: LexicalGraphIndex, folder: Path, tmp_path: Path) -> None:
    index.ingest([folder])
    other = laptop(tmp_path / "other")
    shared = type(other.stores)(
        other.stores.graph, other.stores.vectors, other.stores.documents, other.stores.registry, index.stores.cache
    )
    report = laptop(tmp_path / "other", shared).ingest([folder])
    assert (report.documents_new, report.model_calls) == (3, 0)


def test_an_embedding_other_than_the_databases_is_refused(index: LexicalGraphIndex, folder: Path) -> None:
    index.ingest([folder])
    index.models.embedder.label = "other-64"
    with pytest.raises(InvalidInput, match="LEXIGRAPH_EMBEDDING_MODEL"):
        index.ingest([folder])
    with pytest.raises(InvalidInput, match="LEXIGRAPH_EMBEDDING_MODEL"):
        index.repair()


def test_synonyms_of_the_file_join_names(folder: Path, tmp_path: Path) -> None:
    synonyms = tmp_path / "synonyms.txt"
    synonyms.write_text("# names\nGranite = Old Store, The Rock\n")
    index = laptop(tmp_path / "data", synonyms=synonyms)
    index.ingest([folder])
    found = index.stores.graph.entities(DEFAULT, [entity_id(DEFAULT, "The Rock")])
    # nothing names the old store
    assert {e.value for e in found.aliases[entity_id(DEFAULT, "The Rock")]} == {"Granite"}
    synonyms.write_text("Granite\n")
    with pytest.raises(InvalidInput, match="line 1"):
        index.ingest([folder])


def test_a_long_document_goes_in_parts_and_becomes_what_it_would_have_become_at_once(tmp_path, monkeypatch):
    pages = [
        f"## Pier {n}\n\nPier {n} was built by Tove Lund. Mira Holm paid for pier {n} in {1800 + n}." for n in range(30)
    ]
    page = write_pages(tmp_path / "long", {"Piers": "\n\n".join(pages)})
    changed = [*pages[:3], *pages[4:11], "## Quay\n\nThe quay is of granite.", *pages[11:]]
    made = []
    for most in (1_000, 4):
        monkeypatch.setattr(versions, "PART_CHUNKS", most)
        stores = open_laptop(tmp_path / f"data-{most}")
        index = laptop(tmp_path / f"data-{most}", stores, chunk_tokens=32, chunk_overlap=0)
        found = []
        for edition in (pages, changed):
            write_pages(tmp_path / "long", {"Piers": "\n\n".join(edition)})
            report = index.ingest([page])
            found.append((report.chunks_new, report.chunks_skipped, report.statements_created, content(stores)))
        assert found[0][0] > 10
        assert found[1][1] > 5
        made.append(found)
    assert made[0] == made[1]
