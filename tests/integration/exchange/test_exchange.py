"""A tenant's documents out of one index and into another, and its graph in formats that other tools read here."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx
import pyarrow.parquet
import pytest
import rdflib

from lexigraph import LexicalGraphIndex
from lexigraph.exchange import formats, portable
from lexigraph.exchange.frames import COLUMNS, table
from lexigraph.exchange.records import graphs
from lexigraph.ingestion import curation
from lexigraph.ingestion.chunk import chunk
from lexigraph.model.errors import Conflict, InvalidInput, Misconfigured
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from tests.laptop import open_laptop, write_pages
from tests.models import SentenceExtractor, WordEmbedder

PAGES = {
    "Sable Ferry": 'The Sable Ferry is run by the Quill Line. It crosses "twice" a day.\n\nThe Quill Line has ships.',
    "Quill Line": "The Quill Line was founded by Mara Voss. Mara Voss & Sons owns the Quill Line.",
    "Harbour": "The Harbour Office keeps the lamps. The Sable Ferry calls at the Harbour Office.",
}
OWNER = Tenant("default")
Open = Callable[..., LexicalGraphIndex]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Open indexes by name, each over stores of its own."""
    made: list[LexicalGraphIndex] = []

    def open_(name: str = "one") -> LexicalGraphIndex:
        stores, settings = open_laptop(tmp_path / name), Settings(data=tmp_path / name)
        made.append(LexicalGraphIndex(stores, embedder=WordEmbedder(), extractor=SentenceExtractor(), settings=settings))
        return made[-1]

    yield open_
    for index in made:
        index.stores.close()


@pytest.fixture
def index(opened: Open, tmp_path: Path) -> LexicalGraphIndex:
    index = opened()
    assert index.ingest([write_pages(tmp_path / "pages", PAGES)]).documents_new == 3
    return index


class Refusing(SentenceExtractor):
    """An extractor that must not be asked."""

    def extract(self, chunks: Any) -> Any:
        raise AssertionError("asked for an extraction that the export has")


def exported(index: LexicalGraphIndex, tenant: str = "default") -> list[str]:
    lines = portable.lines(index.stores, Tenant(tenant), index.models.extractor, index.settings)
    return [*(line for line, _ in lines), *portable.decided(index.stores, Tenant(tenant))]


def said(index: LexicalGraphIndex, tenant: str = "default") -> list[dict[str, Any]]:
    return [dict(row) for name in ("statements", "facts", "entities") for row in table(index.stores, name, tenant=tenant)]


def test_what_was_imported_is_exported_byte_for_byte_and_nothing_is_extracted_again(
    index: LexicalGraphIndex, opened: Open
) -> None:
    lines, other = exported(index), opened("two")
    other.models.extractor = Refusing()
    report = portable.take(other, lines)
    assert (report.documents_new, report.extracted, report.failures) == (3, 0, [])
    assert exported(other) == lines
    assert said(other) == said(index)
    again = portable.take(other, lines)
    assert (again.documents_new, again.documents_unchanged) == (0, 3)


def test_an_import_into_another_tenant_and_namespace_has_ids_of_its_own(index: LexicalGraphIndex) -> None:
    portable.take(index, exported(index), tenant="team-b", namespace="copies")
    copied = said(index, "team-b")
    assert sorted(row.get("text", "") for row in copied) == sorted(row.get("text", "") for row in said(index))
    assert {row["id"] for row in copied} & {row["id"] for row in said(index)} == set()
    assert {row["namespace"] for row in copied if "namespace" in row} == {"copies"}


def test_documents_that_are_there_stay_and_those_of_the_same_uri_are_replaced(
    index: LexicalGraphIndex, opened: Open, tmp_path: Path
) -> None:
    lines, other = exported(index), opened("two")
    other.ingest([write_pages(tmp_path / "more", {"Mill": "The Mill grinds rye."})])
    (tmp_path / "pages" / "Harbour.md").write_text("# Harbour\n\nThe Harbour Office is closed.", "utf-8")
    other.ingest([tmp_path / "pages" / "Harbour.md"])
    report = portable.take(other, lines)
    assert (report.documents_new, report.documents_updated) == (2, 1)
    texts = {row["text"] for row in table(other.stores, "statements")}
    assert {"The Mill grinds rye.", "The Harbour Office keeps the lamps."} <= texts
    assert "The Harbour Office is closed." not in texts


def test_what_curators_decided_is_imported_exactly_and_holds_there_undone_ones_too(
    index: LexicalGraphIndex, opened: Open
) -> None:
    merged = curation.decide(index.stores, OWNER, "merge", "Quill Line", ["Mara Voss"], by="ada", note="one firm")
    taken_back = curation.decide(index.stores, OWNER, "alias", "Harbour Office", ["Lamp House"])
    curation.undo(index.stores, OWNER, taken_back.id)
    lines, other = exported(index), opened("two")
    portable.take(other, lines)
    assert other.stores.registry.decisions(OWNER) == index.stores.registry.decisions(OWNER)
    assert exported(other) == lines
    assert said(other) == said(index)
    curation.undo(other.stores, OWNER, merged.id)
    portable.take(other, lines)
    assert all(one.undone_at for one in other.stores.registry.decisions(OWNER)), "an import brings back what was undone"


def test_a_decision_that_contradicts_one_that_is_there_is_refused_and_none_is_taken(
    index: LexicalGraphIndex, opened: Open
) -> None:
    curation.decide(index.stores, OWNER, "alias", "Harbour Office", ["Lamp House"])
    curation.decide(index.stores, OWNER, "alias", "Sable Ferry", ["The Boat"])
    other = opened("two")
    mine = curation.decide(other.stores, OWNER, "alias", "Sable Ferry", ["Lamp House"])
    with pytest.raises(Conflict, match="'Lamp House' means"):
        portable.take(other, exported(index))
    assert other.stores.registry.decisions(OWNER) == [mine]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "guess"}, "kind must be one of"),
        ({"others": "Lamp House"}, "others must be a list"),
        ({"note": 7}, "note must be a string"),
        ({"name": "..."}, "a letter or digit"),
        ({"more": "x"}, "unexpected keyword"),
    ],
)
def test_a_line_that_is_no_decision_is_named(
    index: LexicalGraphIndex, opened: Open, change: dict[str, Any], says: str
) -> None:
    curation.decide(index.stores, OWNER, "alias", "Harbour Office", ["Lamp House"])
    *lines, last = exported(index)
    with pytest.raises(InvalidInput, match=f"line 5: not a valid decision: .*{says}"):
        portable.take(opened("two"), [*lines, json.dumps({**json.loads(last), **change})])


def test_an_import_that_was_interrupted_is_finished_by_the_next_one(index: LexicalGraphIndex, opened: Open) -> None:
    lines, other = exported(index), opened("two")
    other.settings = other.settings.model_copy(update={"batch_documents": 1})

    def broken() -> Iterator[str]:
        yield from lines[:3]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        portable.take(other, broken())
    assert 0 < len(list(table(other.stores, "documents"))) < 3
    portable.take(other, lines)
    assert exported(other) == lines


def test_chunks_without_a_kept_extraction_are_counted_and_extracted_by_the_import(
    index: LexicalGraphIndex, opened: Open
) -> None:
    class Other(SentenceExtractor):
        name = "another"

    lines = list(portable.lines(index.stores, OWNER, Other(), index.settings))
    assert sum(missing for _, missing in lines) == 3
    report = portable.take(opened("two"), (line for line, _ in lines))
    assert (report.documents_new, report.extracted) == (3, 3)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lines: [], "the file is empty"),
        (lambda lines: lines[1:], "line 1: not an export header"),
        (lambda lines: [lines[0].replace('"format":1', '"format":9'), *lines[1:]], "line 1: format 9"),
        (lambda lines: ['{"type":"lexigraph","format":1}', *lines[1:]], "line 1: extractor, chunk_tokens"),
        (lambda lines: [lines[0], lines[1][:-20]], "line 2: not valid JSON"),
        (lambda lines: [lines[0], "[1, 2]"], "line 2: must be a JSON object"),
        (lambda lines: [lines[0], lines[1].replace('"document"', '"entity"', 1)], "line 2: type must be document"),
        (lambda lines: [lines[0], changed(lines[1], uri="")], "line 2: not a valid document"),
        (
            lambda lines: [lines[0], changed(lines[1], blocks=[[0, 10_000, [], "paragraph"]])],
            "ends after the end of the text",
        ),
        (lambda lines: [lines[0], changed(lines[1], blocks=[[9, 3, [], "paragraph"]])], "line 2: not a valid document"),
        (lambda lines: [lines[0], changed(lines[1], metadata={"a": [1]})], "metadata values must be"),
        (lambda lines: [lines[0], changed(lines[1], extractions={"x": {"topics": 1}})], "line 2: not a valid document"),
        (lambda lines: [lines[0], changed(lines[1], surprise=1)], "line 2: not a valid document"),
        (lambda lines: [lines[0], "[" * 100_000], "line 2: not valid JSON"),
    ],
)
def test_what_is_no_export_is_refused_by_its_line_and_leaves_nothing(
    index: LexicalGraphIndex, opened: Open, change: Callable[[list[str]], list[str]], told: str
) -> None:
    other = opened("two")
    with pytest.raises(InvalidInput, match=told):
        portable.take(other, change(exported(index)))
    assert list(table(other.stores, "documents")) == []


def changed(line: str, **values: Any) -> str:
    return json.dumps({**json.loads(line), **values})


def test_rows_lead_to_the_words_in_the_document(index: LexicalGraphIndex) -> None:
    rows = list(table(index.stores, "statements"))
    assert len(rows) > 5
    for row in rows:
        record = index.document(row["document_id"])
        quoted = index.text(record)[row["start"] : row["end"]]
        assert " ".join(quoted.split()) == " ".join((row["original"] or row["text"]).split())
    assert {tuple(row) for row in rows} == {tuple(COLUMNS["statements"])}


@pytest.mark.nightly
def test_frames_and_graphs_of_other_libraries_hold_the_same(index: LexicalGraphIndex) -> None:
    facts = table(index.stores, "facts")
    frame = facts.to_pandas()
    assert list(frame.columns) == list(facts.columns)
    assert len(frame) == len(list(facts)) > 0
    graph = facts.to_networkx()
    assert graph.number_of_edges() == len(frame)
    assert {name for _, name in graph.nodes(data="name")} >= set(frame["subject"])
    with pytest.raises(Misconfigured, match="no edges"):
        table(index.stores, "documents").to_networkx()
    with pytest.raises(InvalidInput, match="documents, statements"):
        table(index.stores, "nodes")


def test_networkx_reads_the_graphml(index: LexicalGraphIndex, tmp_path: Path) -> None:
    path = tmp_path / "graph.graphml"
    path.write_text("".join(formats.graphml(graphs(index.stores, OWNER))), "utf-8")
    graph = networkx.read_graphml(path, force_multigraph=True)
    kinds = [kind for _, kind in graph.nodes(data="kind")]
    stats = index.stores.graph.stats(OWNER)
    assert {kind: kinds.count(kind) for kind in ("source", "chunk", "topic", "statement", "fact")} == {
        kind: stats[f"{kind}s"] for kind in ("source", "chunk", "topic", "statement", "fact")
    }
    assert "The Quill Line has ships." in {value for _, value in graph.nodes(data="value")}
    for node, kind in graph.nodes(data="kind"):
        if kind == "statement":  # every statement leads to its chunk, and that to its document
            chunks = [b for _, b, edge in graph.out_edges(node, data=True) if edge["kind"] == "MENTIONED_IN"]
            assert chunks
            assert [b for _, b, e in graph.out_edges(chunks[0], data=True) if e["kind"] == "EXTRACTED_FROM"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib.*")
def test_rdflib_reads_the_n_quads(index: LexicalGraphIndex) -> None:
    data = "".join(formats.nquads(graphs(index.stores, OWNER)))
    read = rdflib.Dataset()
    read.parse(data=data, format="nquads")
    derived = rdflib.URIRef("http://www.w3.org/ns/prov#wasDerivedFrom")
    text = rdflib.URIRef("https://github.com/lexigraph/lexigraph/vocabulary#text")
    found = {str(o): s for s, _, o, _ in read.quads((None, text, None, None))}
    assert 'It crosses "twice" a day.' in found
    statement = found["The Quill Line has ships."]
    (chunk_,) = {o for _, _, o, _ in read.quads((statement, derived, None, None))}
    assert {o for _, _, o, _ in read.quads((chunk_, derived, None, None))}
    assert len({g.identifier for g in read.graphs()} - {rdflib.URIRef("urn:x-rdflib:default")}) == 3


def test_pyarrow_reads_the_parquet_files(index: LexicalGraphIndex, tmp_path: Path) -> None:
    formats.parquet(graphs(index.stores, OWNER), tmp_path)
    for name, columns in COLUMNS.items():
        read = pyarrow.parquet.read_table(tmp_path / f"{name}.parquet")
        assert read.column_names == list(columns)
        assert read.to_pylist() == list(table(index.stores, name))
        assert read.num_rows > 0


def test_the_chunks_of_an_export_are_those_of_the_index(index: LexicalGraphIndex) -> None:
    header, documents = portable.read(iter(exported(index)))
    for one in documents:
        chunks = chunk(one.document, max_tokens=header.chunk_tokens, overlap=header.chunk_overlap)
        assert {part.content for part in chunks} == set(one.extractions)
