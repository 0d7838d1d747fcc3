"""The made-up corpus for measuring speed, and the two commands that use it."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lexigraph.cli.exits import ExitCode
from lexigraph.evaluation.build import TENANT
from lexigraph.evaluation.generated import STATEMENTS_A_CHUNK, GeneratedCorpus
from lexigraph.evaluation.sizes import page_bytes, row_bytes
from lexigraph.evaluation.speed import KINDS, generated_questions
from lexigraph.storage.sqlite.vector.partitions import partitions_of
from tests.e2e.commandline import here


@pytest.fixture(scope="module")
def corpus() -> GeneratedCorpus:
    return GeneratedCorpus(4_000)


def mentions(corpus: GeneratedCorpus) -> Counter[str]:
    return Counter(entity.name for document in corpus for said in document.statements for entity in said.entities)


@pytest.mark.parametrize("statements", [100, 1_003, 4_000])
def test_a_corpus_holds_as_many_statements_as_were_asked_for(statements: int) -> None:
    held = sum(len(document.statements) for document in GeneratedCorpus(statements))
    assert 0 <= held - statements < STATEMENTS_A_CHUNK


def test_equal_seeds_give_equal_documents_and_other_seeds_others(corpus: GeneratedCorpus) -> None:
    assert GeneratedCorpus(4_000).document(17) == corpus.document(17)
    assert GeneratedCorpus(4_000, seed=2).document(17) != corpus.document(17)


def test_a_few_names_are_everywhere_and_most_are_in_one_statement(corpus: GeneratedCorpus) -> None:
    named = mentions(corpus)
    (hub, times), *_ = named.most_common(1)
    assert hub == corpus.hub
    assert 0.05 < times / 4_000 < 0.25
    assert sum(count == 1 for count in named.values()) > 0.7 * len(named)
    assert 3 < named.total() / 4_000 < 4


def test_documents_are_of_many_lengths_and_their_titles_are_named_by_others(corpus: GeneratedCorpus) -> None:
    lengths = Counter(len(document.chunks) for document in corpus)
    assert lengths[1] > lengths[4] > 0
    assert max(lengths) > 10
    titles = {document.title: document.number for document in corpus}
    named = {e.name for d in corpus for said in d.statements for e in said.entities if titles.get(e.name) != d.number}
    assert len(named & titles.keys()) > 0.5 * len(titles)


def test_words_follow_a_skew_over_a_large_vocabulary() -> None:
    document_words = Counter(
        word for document in GeneratedCorpus(4_000) for said in document.statements for word in said.value.split()
    )
    plain = Counter({word: n for word, n in document_words.items() if word.islower() and len(word) > 4})
    assert len(plain) > 5_000
    assert plain.most_common(1)[0][1] > 20 * np.median(list(plain.values()))


def test_the_text_of_a_chunk_is_the_statements_and_their_places(corpus: GeneratedCorpus) -> None:
    document = corpus.document(3)
    for chunk, extraction in zip(document.chunks, document.extractions, strict=True):
        said = [s for topic in extraction.topics for s in topic.statements]
        assert [chunk.text[s.start : s.end] for s in said] == [s.value for s in said]
        assert len(chunk.text) == chunk.end - chunk.start


def test_texts_that_share_words_are_near_and_vectors_do_not_depend_on_their_neighbours(corpus: GeneratedCorpus) -> None:
    a, b = corpus.document(1), corpus.document(2)
    texts = [a.chunks[0].indexed, a.statements[0].value, b.statements[-1].value]
    vectors = corpus.vectors.embed_passages(texts)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1
    assert np.array_equal(GeneratedCorpus(100).vectors.embed_questions(texts[1:2])[0], vectors[1])


def test_questions_are_made_of_the_corpus_and_their_kinds_come_in_turn(corpus: GeneratedCorpus) -> None:
    asked = generated_questions(corpus, 5, seed=3)
    assert [kind for kind, _ in asked] == [*KINDS] * 5
    assert asked == generated_questions(corpus, 5, seed=3)
    assert all(corpus.hub in text for kind, text in asked if kind == "hub")
    assert all(any(name in text for name in corpus.names[: len(corpus)]) for kind, text in asked if kind == "two hops")


@pytest.mark.nightly
def test_bench_speed_tells_of_every_part_and_uses_its_index_again(tmp_path: Path) -> None:
    command = ["bench", "speed", "--statements", "500", "--questions", "1", "--folder", str(tmp_path / "kept")]

    first = here(*command, "--retriever", "traversal", "--retriever", "bm25", "--json", cwd=tmp_path)

    assert first.code == ExitCode.OK
    told = first.json
    assert (told["statements"], told["questions"], told["disk_mb"]["all"] > 1) == (500, 4, True)
    traversal, bm25 = told["retrievers"]
    assert (traversal["retriever"], bm25["retriever"]) == ("traversal", "bm25")
    assert 0 < traversal["wall_ms"]["graph"] < traversal["wall_ms"]["whole"] <= traversal["p95_ms"]
    assert {"anchors", "evidence", "links_1", "rank"} < traversal["steps_ms"].keys()
    assert set(traversal["kinds_ms"]) == set(KINDS)
    assert traversal["calls"] == {"graph": 4, "vector": 3}
    assert bm25["calls"] == {"graph": 1, "vector": 1}
    assert bm25["wall_ms"]["bm25"] > 0
    assert traversal["peak_mb"] > 10
    for found in (traversal, bm25):
        *parts, all_ = found["index_mb"].values()
        assert all_ == pytest.approx(sum(parts), abs=0.3)
    read = {"graph", "chunk records", "chunk vectors mapped", "statement records", "entity records", "all"}
    assert read <= traversal["index_mb"].keys() <= {*read, "statement vectors mapped"}
    assert {"graph", "chunk records", "all"} == bm25["index_mb"].keys()
    home = tmp_path / "kept" / "500-1"
    with closing(sqlite3.connect(home / "vectors.sqlite")) as connection:
        for partition in partitions_of(connection, TENANT):
            assert (
                0 < row_bytes(connection, partition) < page_bytes(connection, partition) < 2 * told["disk_mb"]["all"] * 1e6
            )
        all_pages = sum(page_bytes(connection, partition) for partition in partitions_of(connection, TENANT))
        assert 0.9 <= all_pages / (home / "vectors.sqlite").stat().st_size <= 1
    built = (tmp_path / "kept" / "500-1" / "built.json").stat().st_mtime_ns

    again = here(*command, "--retriever", "bm25", cwd=tmp_path)

    assert (again.code, (tmp_path / "kept" / "500-1" / "built.json").stat().st_mtime_ns) == (ExitCode.OK, built)
    assert "p95 ms" in again.out
    assert "index read: chunk records, MB" in again.out


@pytest.mark.nightly
@pytest.mark.requirement("W-21", "W-22")
def test_bench_speed_tells_the_time_of_each_setting_of_multidoc_and_what_five_documents_cost(tmp_path: Path) -> None:
    told = here(
        "bench", "speed", "--statements", "200", "--questions", "1", "--retriever", "multidoc", "--json", cwd=tmp_path
    )
    assert told.code == ExitCode.OK
    rows = {row["retriever"]: row for row in told.json["retrievers"]}
    assert list(rows) == ["multidoc 1x1", "multidoc 2x2", "multidoc 5x3", "multidoc 7x5"]
    for row in rows.values():
        assert 0 < row["p50_ms"] <= row["p95_ms"]
        assert row["calls"] == {"graph": 1, "vector": 1}
    difference = rows["multidoc 5x3"]["p50_ms"] - rows["multidoc 1x1"]["p50_ms"]
    assert told.json["multidoc_overhead_ms"] == pytest.approx(difference, abs=0.06)


def test_bench_speed_refuses_an_unknown_retriever_and_half_an_index(tmp_path: Path) -> None:
    unknown = here("bench", "speed", "--retriever", "magic", cwd=tmp_path)
    assert unknown.code == ExitCode.INVALID
    assert "'magic' is unknown" in unknown.err
    (tmp_path / "kept" / "1000-1").mkdir(parents=True)
    (tmp_path / "kept" / "1000-1" / "graph.sqlite").write_bytes(b"")
    half = here("bench", "speed", "--statements", "1000", "--folder", tmp_path / "kept", cwd=tmp_path)
    assert half.code == ExitCode.INVALID
    assert "not finished" in half.err


@pytest.mark.parametrize("content", [b"{", b"[1]", b'{"statements": 1}', b"\xff"])
def test_bench_speed_names_the_file_that_says_what_was_built_when_it_cannot_be_read(tmp_path: Path, content: bytes) -> None:
    note = tmp_path / "kept" / "1000-1" / "built.json"
    note.parent.mkdir(parents=True)
    note.write_bytes(content)
    told = here("bench", "speed", "--statements", "1000", "--folder", "kept", cwd=tmp_path)
    assert (told.code, told.out, len(told.complaints)) == (ExitCode.INVALID, "", 1)
    assert "kept/1000-1/built.json cannot be read; remove kept/1000-1" in told.err


@pytest.mark.parametrize("command", ["build", "speed"])
def test_the_folder_of_an_index_is_no_file_and_a_seed_not_below_zero(command: str, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    file = here("bench", command, "--statements", "200", "--folder", "note.txt", cwd=tmp_path)
    seed = here("bench", command, "--statements", "200", "--seed", "-1", cwd=tmp_path)
    assert (file.code, seed.code) == (ExitCode.INVALID, ExitCode.INVALID)
    assert "--folder note.txt is a file: name a" in file.err
    assert "--seed" in seed.err
    assert (tmp_path / "note.txt").read_text() == "mine"


def test_bench_build_writes_what_it_counts(tmp_path: Path) -> None:
    done = here("bench", "build", "--statements", "200", "--folder", tmp_path / "new", "--json", cwd=tmp_path)
    assert done.code == ExitCode.OK
    assert (done.json["statements"], done.json["documents"]) == (200, len(GeneratedCorpus(200)))
    assert done.json["statements_per_second"] > 0
