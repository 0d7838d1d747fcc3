"""The code of the multi-document reference page: its four tests and its examples, with the names adapted.

``kuzu.Connection(kuzu.Database("test.db"))`` is ``open_stores(settings)`` here, ``EmbeddingGenerator()`` an embedder made
from the same settings. Everything else stands as it does on the page.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from lexigraph.answering.multidoc import query_multidoc
from lexigraph.inference.factory import make_embedder
from lexigraph.inference.protocols import Embedder
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.retrieval.retrievers import MultiDocSynthesizer
from lexigraph.settings import Settings, load_settings
from lexigraph.storage.factory import open_stores
from lexigraph.storage.protocols import Stores
from tests.imports import ROOT
from tests.laptop import write_pages
from tests.models import SentenceExtractor

PAGES = {
    "Quantum mechanics": "Quantum mechanics is a fundamental theory of physics. It describes how atoms and light behave.\n\n"
    "## History\n\nMax Planck founded quantum mechanics in 1900. Is it finished?",
    "Quantum entanglement": "Quantum entanglement is a phenomenon in quantum mechanics where particles become correlated.",
    "Wave function": "A wave function describes the state of a system in quantum mechanics. It is a complex number.",
    "Sourdough": "Sourdough bread rises by wild yeast. It is baked in a hot oven.",
}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(data=tmp_path_factory.mktemp("page") / "data", llm="none")


@pytest.fixture(scope="module")
def gen(settings: Settings) -> Embedder:
    return make_embedder(settings)


@pytest.fixture(scope="module")
def conn(settings: Settings, gen: Embedder) -> Iterator[Stores]:
    stores = open_stores(settings, create=True)
    index = LexicalGraphIndex(stores, embedder=gen, extractor=SentenceExtractor(), settings=settings)
    assert not index.ingest([write_pages(settings.data.parent / "pages", PAGES)]).failures
    yield stores
    stores.close()


# ---------------------------------------------------------------- the four tests


@pytest.mark.requirement("W-23", "W-17")
def test_retrieve_multiple_articles(conn, gen):
    """Test that multiple articles are retrieved."""
    synthesizer = MultiDocSynthesizer(conn, num_docs=5)

    context = synthesizer.retrieve("What is quantum mechanics?", gen)

    assert len(context["articles"]) <= 5
    assert len(context["sources"]) <= 5
    assert len(context["sections"]) > 0


@pytest.mark.requirement("W-23", "W-16")
def test_relevance_threshold(conn, gen):
    """Test that min_relevance filters low-scoring sections."""
    synthesizer = MultiDocSynthesizer(conn, num_docs=5, min_relevance=0.9)

    context = synthesizer.retrieve("What is X?", gen)

    # All sections should meet threshold
    for section in context["sections"]:
        assert section["relevance_score"] >= 0.9


@pytest.mark.requirement("W-23", "W-13")
def test_section_grouping(conn):
    """Test that sections are properly grouped by article."""
    synthesizer = MultiDocSynthesizer(conn)

    sections = [
        {"article_title": "A", "score": 0.9},
        {"article_title": "B", "score": 0.8},
        {"article_title": "A", "score": 0.85},
    ]

    grouped = synthesizer._group_by_article(sections)

    assert len(grouped) == 2
    assert len(grouped["A"]) == 2
    assert len(grouped["B"]) == 1


@pytest.mark.requirement("W-23", "W-15")
def test_fact_extraction(conn):
    """Test that facts are correctly extracted from sections."""
    synthesizer = MultiDocSynthesizer(conn)

    sections = [{"content": "Fact one. Fact two. Is this a fact?"}]

    facts = synthesizer._extract_facts(sections)

    assert len(facts) == 2  # Question filtered out
    assert "Fact one." in facts
    assert "Fact two." in facts
    assert "Is this a fact?" not in facts


# ---------------------------------------------------------------- the examples


@pytest.mark.requirement("W-13", "W-14", "W-15")
def test_the_examples_of_the_methods_give_what_the_page_prints(conn):
    synthesizer = MultiDocSynthesizer(conn)
    sections = [
        {"article_title": "A", "score": 0.9},
        {"article_title": "B", "score": 0.8},
        {"article_title": "A", "score": 0.85},
    ]
    assert synthesizer._group_by_article(sections) == {
        "A": [{"article_title": "A", "score": 0.9}, {"article_title": "A", "score": 0.85}],
        "B": [{"article_title": "B", "score": 0.8}],
    }
    grouped = {"A": [{"score": 0.9}, {"score": 0.85}], "B": [{"score": 0.95}]}
    assert synthesizer._rank_articles(grouped) == [("A", 1.75), ("B", 0.95)]
    sections = [{"content": "Quantum mechanics is a theory. It describes atoms."}]
    assert synthesizer._extract_facts(sections) == ["Quantum mechanics is a theory.", "It describes atoms."]


@pytest.mark.requirement("W-04", "W-19")
def test_a_strict_configuration_keeps_less_than_a_comprehensive_one(conn, gen):
    question = "What is quantum entanglement?"
    comprehensive = MultiDocSynthesizer(conn, num_docs=7, max_sections=5, min_relevance=0.6).retrieve(question, gen)
    precise = MultiDocSynthesizer(conn, num_docs=5, max_sections=3, min_relevance=0.85).retrieve(question, gen)

    assert precise["sources"] == ["Quantum entanglement"]
    assert set(comprehensive["sources"]) == {"Quantum mechanics", "Quantum entanglement", "Wave function"}
    scores = [s["relevance_score"] for s in comprehensive["sections"]]
    assert min(scores) >= 0.6
    for article in comprehensive["articles"]:
        assert any(s["article_title"] == article["title"] for s in comprehensive["sections"])
        assert article["word_count"] > 0


@pytest.mark.requirement("W-18")
def test_the_agent_of_the_page_answers_from_several_articles(conn, gen):
    class Agent:
        def __init__(self, conn):
            self.conn = conn
            self.synthesizer = MultiDocSynthesizer(self.conn, num_docs=5)

        def query_multidoc(self, question):
            return query_multidoc(self.synthesizer, question, gen).to_dict()

    result = Agent(conn).query_multidoc("What is quantum entanglement?")

    assert "Quantum entanglement is a phenomenon" in result["answer"]
    assert result["sources"][0] == "Quantum entanglement"
    assert result["num_articles"] == len(result["sources"]) > 1
    assert any(fact.startswith("Quantum entanglement is a phenomenon") for fact in result["facts"])


@pytest.mark.requirement("W-20")
def test_the_cached_class_of_the_page_runs_over_ours(conn, gen):
    class CachedSynthesizer(MultiDocSynthesizer):
        """MultiDocSynthesizer with context caching."""

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self._cache = {}

        def retrieve(self, question, embedding_generator):
            # Cache key: hash of question
            cache_key = hashlib.md5(question.encode()).hexdigest()

            if cache_key in self._cache:
                return self._cache[cache_key]

            # Retrieve and cache
            context = super().retrieve(question, embedding_generator)
            self._cache[cache_key] = context

            return context

    synthesizer = CachedSynthesizer(conn, num_docs=5)
    context1 = synthesizer.retrieve("What is quantum mechanics?", gen)
    context2 = synthesizer.retrieve("What is quantum mechanics?", gen)
    assert context1 is context2
    assert context1["sources"]


# ---------------------------------------------------------------- our own page


@pytest.mark.slow
def test_the_code_of_our_page_prints_what_stands_there(tmp_path, monkeypatch, capsys, gen):
    page = (ROOT / "docs" / "multidoc.md").read_text(encoding="utf-8")
    first, answer = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    printed = page.partition("that prints\n\n```\n")[2].partition("```")[0]
    monkeypatch.setenv("LEXIGRAPH_DATA", str(tmp_path))
    with LexicalGraphIndex(embedder=gen, extractor=SentenceExtractor(), settings=load_settings()) as index:
        index.ingest([ROOT / "examples" / "corpus"])

    names: dict[str, Any] = {}
    exec(first, names)
    numbers, told = re.compile(r"0\.\d+"), capsys.readouterr().out
    assert numbers.sub("#", told) == numbers.sub("#", printed)
    likeness = [[float(n) for n in numbers.findall(text)] for text in (told, printed)]
    assert likeness[0] == pytest.approx(likeness[1], abs=0.02), "other processors round otherwise"
    exec(answer, names)
    assert names["result"].context.sources[0] == "Heron Team"
    assert "[S1]" in capsys.readouterr().out
    names["conn"].close()
