"""What people decide about names: questions follow it, ingests and deletions leave it, and it is undone exactly."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lexigraph import LexicalGraphIndex
from lexigraph.ingestion import curation
from lexigraph.model.errors import Contradiction, InvalidInput, NotFound
from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import EvidenceRequest
from tests.graph_dump import dump_graph
from tests.laptop import laptop, write_pages

OWNER = Tenant("default")
PAGES = {
    "Ferry": "The Sable Ferry is run by the Quill Line.",
    "Ships": "Quill Shipping owns two ships. Quill Shipping was founded in Kolby.",
    "Town": "Kolby lies at the Nare.",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LexicalGraphIndex]:
    made = laptop(tmp_path / "data")
    made.ingest([write_pages(tmp_path / "pages", PAGES)])
    yield made
    made.stores.close()


def same(index: LexicalGraphIndex, name: str) -> set[str]:
    """Return the names that mean the same as a name."""
    id_ = entity_id(OWNER, name)
    return {entity.value for entity in index.stores.graph.entities(OWNER, [id_]).aliases.get(id_, ())}


def said(index: LexicalGraphIndex, name: str) -> set[str]:
    rows = index.stores.graph.evidence(OWNER, EvidenceRequest(entities=(entity_id(OWNER, name),)))
    return {row.value for row in rows}


def test_a_merge_leads_from_one_name_to_what_documents_say_of_the_other(index: LexicalGraphIndex) -> None:
    assert "The Sable Ferry is run by the Quill Line." not in said(index, "Quill Shipping")
    made = curation.decide(index.stores, OWNER, "merge", "Quill Line", ["Quill Shipping"], by="ada", note="one firm")
    assert same(index, "Quill Shipping") == {"Quill Line"}
    assert "The Sable Ferry is run by the Quill Line." in said(index, "Quill Shipping")
    assert "Quill Shipping owns two ships." in said(index, "Quill Line")
    assert [(one.id, one.by, one.note) for one in curation.history(index.stores, OWNER)] == [(made.id, "ada", "one firm")]


def test_undoing_leaves_the_graph_as_it_was(index: LexicalGraphIndex) -> None:
    before = dump_graph(index.stores.graph, OWNER)
    made = curation.decide(index.stores, OWNER, "merge", "Quill Line", ["Quill Shipping"])
    assert dump_graph(index.stores.graph, OWNER) != before
    curation.undo(index.stores, OWNER, made.id)
    assert dump_graph(index.stores.graph, OWNER) == before
    assert curation.history(index.stores, OWNER)[0].undone_at
    with pytest.raises(Contradiction, match="already been undone"):
        curation.undo(index.stores, OWNER, made.id)


def test_decisions_outlive_ingests_deletions_and_a_synonyms_file(index: LexicalGraphIndex, tmp_path: Path) -> None:
    curation.decide(index.stores, OWNER, "merge", "Quill Line", ["Quill Shipping"])
    (tmp_path / "synonyms.txt").write_text("Kolby = Old Kolby", "utf-8")
    index.settings = index.settings.model_copy(update={"synonyms": tmp_path / "synonyms.txt"})
    index.ingest([tmp_path / "pages"], refresh=True)
    assert (same(index, "Quill Shipping"), same(index, "Old Kolby")) == ({"Quill Line"}, {"Kolby"})
    for record in index.documents():
        index.remove([record.source_id])
    index.settings = index.settings.model_copy(update={"synonyms": None})
    index.ingest([tmp_path / "pages"])
    assert same(index, "Quill Shipping") == {"Quill Line"}
    curation.decide(index.stores, OWNER, "alias", "Kolby", ["The Port"])
    assert (same(index, "The Port"), same(index, "Old Kolby")) == ({"Kolby"}, {"Kolby"})


def test_an_alias_may_be_a_name_that_no_document_has(index: LexicalGraphIndex) -> None:
    with pytest.raises(NotFound, match="no document contains the name 'QL'"):
        curation.decide(index.stores, OWNER, "merge", "Quill Line", ["QL"])
    curation.decide(index.stores, OWNER, "alias", "Quill Line", ["QL"])
    assert "The Sable Ferry is run by the Quill Line." in said(index, "QL")


def test_a_merge_of_what_no_document_names_says_so_also_where_names_contradict(index: LexicalGraphIndex) -> None:
    curation.decide(index.stores, OWNER, "merge", "Quill Line", ["Quill Shipping"])
    with pytest.raises(NotFound, match="no document contains the name 'Nobody'"):
        curation.decide(index.stores, OWNER, "merge", "Quill Shipping", ["Nobody"])


@pytest.mark.parametrize(
    ("name", "others", "error", "told"),
    [
        ("Quill Line", [], InvalidInput, "pass at least one other name"),
        ("Quill Line", ["quill  LINE"], InvalidInput, "pass at least one other name"),
        ("Quill Line", ["--"], InvalidInput, "a letter or digit"),
        ("Quill Line", [f"Q{n}" for n in range(51)], InvalidInput, "at most 50"),
        ("Quill Line", ["Q\x00"], InvalidInput, "name"),
        ("QL", ["Kolby"], Contradiction, "'QL' already means 'Quill Line'"),
        ("Kolby", ["QL"], Contradiction, "'QL' already means 'Quill Line'"),
        ("Kolby", ["Quill Line"], Contradiction, "run `lexigraph entities alias 'Quill Line' Kolby`"),
    ],
)
def test_what_cannot_be_or_contradicts_is_refused_and_changes_nothing(
    index: LexicalGraphIndex, name: str, others: list[str], error: type[Exception], told: str
) -> None:
    curation.decide(index.stores, OWNER, "alias", "Quill Line", ["QL"])
    before = dump_graph(index.stores.graph, OWNER)
    with pytest.raises(error, match=told):
        curation.decide(index.stores, OWNER, "alias", name, others)
    assert dump_graph(index.stores.graph, OWNER) == before
    assert len(curation.history(index.stores, OWNER)) == 1
