"""The made-up corpus for measuring speed, and the two commands that use it."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lexigraph.cli.exits import ExitCode
from lexigraph.evaluation.generated import STATEMENTS_A_CHUNK, GeneratedCorpus
from lexigraph.evaluation.speed import KINDS, generated_questions
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


def test_bench_speed_tells_of_every_part_and_uses_its_index_again(tmp_path: Path) -> None:
    command = ["bench", "speed", "--statements", "1000", "--questions", "1", "--folder", str(tmp_path / "kept")]

    first = here(*command, "--retriever", "traversal", "--retriever", "bm25", "--json", cwd=tmp_path)

    assert first.code == ExitCode.OK
    told = first.json
    assert (told["statements"], told["questions"], told["disk_mb"]["all"] > 1) == (1_000, 4, True)
    traversal, bm25 = told["retrievers"]
    assert (traversal["retriever"], bm25["retriever"]) == ("traversal", "bm25")
    assert 0 < traversal["wall_ms"]["graph"] < traversal["wall_ms"]["whole"] <= traversal["p95_ms"]
    assert {"anchors", "evidence", "links_1", "rank"} < traversal["steps_ms"].keys()
    assert set(traversal["kinds_ms"]) == set(KINDS)
    assert traversal["calls"] == {"graph": 4, "vector": 3}
    assert bm25["calls"] == {"graph": 1, "vector": 1}
    assert bm25["wall_ms"]["bm25"] > 0
    assert traversal["peak_mb"] > 10
    built = (tmp_path / "kept" / "1000-1" / "built.json").stat().st_mtime_ns

    again = here(*command, "--retriever", "bm25", cwd=tmp_path)

    assert (again.code, (tmp_path / "kept" / "1000-1" / "built.json").stat().st_mtime_ns) == (ExitCode.OK, built)
    assert "p95 ms" in again.out


def test_bench_speed_refuses_an_unknown_retriever_and_half_an_index(tmp_path: Path) -> None:
    unknown = here("bench", "speed", "--retriever", "magic", cwd=tmp_path)
    assert unknown.code == ExitCode.INVALID
    assert "'magic' is unknown" in unknown.err
    (tmp_path / "kept" / "1000-1").mkdir(parents=True)
    (tmp_path / "kept" / "1000-1" / "graph.sqlite").write_bytes(b"")
    half = here("bench", "speed", "--statements", "1000", "--folder", tmp_path / "kept", cwd=tmp_path)
    assert half.code == ExitCode.INVALID
    assert "not finished" in half.err


def test_bench_build_writes_what_it_counts(tmp_path: Path) -> None:
    done = here("bench", "build", "--statements", "200", "--folder", tmp_path / "new", "--json", cwd=tmp_path)
    assert done.code == ExitCode.OK
    assert (done.json["statements"], done.json["documents"]) == (200, len(GeneratedCorpus(200)))
    assert done.json["statements_per_second"] > 0
