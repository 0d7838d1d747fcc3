"""The query engine over real stores: what the factory method takes, and what each thing changes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback

from lexigraph import LexicalGraphQueryEngine
from lexigraph.answering import prompts
from lexigraph.answering.judgement import CALIBRATED
from lexigraph.inference.llama_index import LlamaIndexLLM
from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import MetadataFilter
from lexigraph.retrieval.catalogue import RETRIEVERS
from lexigraph.retrieval.retrievers import ChunkBasedSearch
from lexigraph.settings import Settings
from tests.laptop import laptop
from tests.models import WordEmbedder
from tests.standins.llm_server import ScriptedLLMServer, said

DOCUMENTS = {
    "tidewater.md": "# Tidewater\n\nTidewater is owned by the Heron Team. Tidewater replaced Silverbirch.",
    "heron.md": "# Heron Team\n\nThe Heron Team works at Kestrel House. Ines Calloway leads the Heron Team.",
    "kestrel.md": "# Kestrel House\n\nKestrel House is in the city of Antwerp. Its lift is small.",
}


class Reader(CustomLLM):
    """A LlamaIndex model of a user, which cites the last statement that it was shown."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="reader")

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=f"It is so [{re.findall(r'^.(S[0-9]+). ', prompt, re.MULTILINE)[-1]}].")

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any):
        text = self.complete(prompt).text
        return (CompletionResponse(text=text[: at + 1], delta=letter) for at, letter in enumerate(text))


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("answering")
    corpus = folder / "corpus"
    corpus.mkdir()
    for name, text in DOCUMENTS.items():
        (corpus / name).write_text(text, encoding="utf-8")
    index = laptop(folder / "data")
    assert not index.ingest([corpus], tenant="acme").failures
    index.stores.close()
    return f"sqlite:///{folder / 'data'}"


def engine(connection: str, **options: object) -> LexicalGraphQueryEngine:
    options = {"embedder": WordEmbedder(), "tenant": "acme", "settings": Settings(), **options}
    return LexicalGraphQueryEngine.for_traversal_based_search(connection, connection, **options)


def test_an_answer_cites_the_documents_of_a_chain_at_their_places(connection):
    response = engine(connection).query("In which city does the team that owns Tidewater work?")
    assert response.extractive
    assert {Path(c.uri).name for c in response.citations} == set(DOCUMENTS)
    for citation in response.citations:
        name = Path(citation.uri).name
        # offsets point into the parsed text, which has no markup
        parsed = DOCUMENTS[name].removeprefix("# ")
        assert parsed[citation.start : citation.end] == citation.text


@pytest.mark.parametrize("name", ["traversal", "semantic-guided", "hybrid", "multidoc", "fused"])
@pytest.mark.parametrize("limit", [{"max_search_results": 1}, {"max_context_tokens": 5}, {"max_statements_per_topic": 1}])
@pytest.mark.parametrize("by_likeness", [False, True])
def test_whether_there_is_an_answer_does_not_hang_on_how_much_is_shown(connection, name, limit, by_likeness, monkeypatch):
    if by_likeness:
        monkeypatch.setitem(CALIBRATED, "words", CALIBRATED["minilm"])

    def judged(question: str, **args: Any) -> tuple[float, bool]:
        engine = LexicalGraphQueryEngine.for_retriever(
            name, connection, connection, embedder=WordEmbedder(), llm="none", tenant="acme", settings=Settings(), **args
        )
        answer = engine.query(question)
        return answer.confidence, answer.answerable

    asked = ("Who leads the team that owns Tidewater?", "Which lift is in the city of Lyon?", "What did Tidewater replace?")
    for question in asked:
        assert judged(question, **limit) == judged(question)


@pytest.mark.parametrize("kind", ["traversal", "hybrid"])
def test_what_a_model_is_shown_leaves_room_in_its_window_for_conversation_and_answer(connection, kind):
    args = {"model_window": 4_000, "max_answer_tokens": 1_000, "embedder": WordEmbedder(), "settings": Settings()}
    asked = LexicalGraphQueryEngine.for_retriever(kind, connection, connection, llm=Reader(), **args)
    assert asked.args.room("word " * 600) == 0.9 * 4_000 - 1_000 - 600


def test_another_tenant_gets_nothing(connection):
    response = engine(connection).query("Who owns Tidewater?", tenant="other")
    assert (response.response, response.citations) == (prompts.NOTHING_FOUND, ())


def test_the_tenant_of_the_settings_is_the_default(connection):
    asked = engine(connection, tenant=None, settings=Settings(tenant="acme"))
    assert asked.query("Who owns Tidewater?").citations


def test_filters_bound_what_is_cited(connection):
    response = engine(connection, filters=MetadataFilter("title", "==", "Kestrel House")).query("Who owns Tidewater?")
    assert {c.title for c in response.citations} == {"Kestrel House"}


def test_store_objects_serve_as_well_as_connection_strings(connection):
    first = engine(connection)
    stores = (first.retriever.graph_store, first.retriever.vector_store)
    second = LexicalGraphQueryEngine.for_traversal_based_search(
        *stores, embedder=WordEmbedder(), tenant="acme", settings=Settings()
    )
    question = "Who owns Tidewater?"
    assert second.query(question).citations == first.query(question).citations


@pytest.mark.parametrize("name", RETRIEVERS)
def test_an_engine_is_made_over_every_retriever_by_its_name(connection, name):
    options = {"embedder": WordEmbedder(), "tenant": "acme", "settings": Settings(answer_max_tokens=77)}
    asked = LexicalGraphQueryEngine.for_retriever(
        name, connection, connection, max_search_results=2, quoted_statements=3, include_facts=True, **options
    )
    response = asked.query("Who owns Tidewater?")
    assert "Tidewater is owned by" in response.response
    assert len(response.results.results) <= 2
    assert len(response.citations) <= 3
    assert (asked.args.max_answer_tokens, asked.args.include_facts) == (77, True)
    assert any(s.facts for s in response.results.statements)
    with pytest.raises(InvalidInput, match="colour"):
        LexicalGraphQueryEngine.for_retriever(name, connection, connection, colour="red", **options)


def test_arguments_of_retriever_and_of_answer_are_told_apart(connection):
    asked = engine(connection, max_search_results=1, quoted_statements=1, retrievers=[ChunkBasedSearch])
    response = asked.query("Who owns Tidewater?")
    assert len(response.results.results) == 1
    assert len(response.citations) == 1
    assert response.results.keywords == ()
    with pytest.raises(InvalidInput, match="max_serch_results"):
        engine(connection, max_serch_results=1)


def test_include_facts_reaches_results_and_model(connection):
    with ScriptedLLMServer("Yes [S1].") as server:
        options = {"settings": Settings(llm="openai:test", llm_options={"base_url": server.base_url})}
        question, only = "Who owns Tidewater?", {"retrievers": [ChunkBasedSearch], **options}
        assert engine(connection, include_facts=True, **only).query(question).results.statements[0].facts
        assert not engine(connection, **only).query(question).results.statements[0].facts
    with_facts, without = (said(body) for body in server.requests)
    assert "    fact: " in with_facts
    assert "    fact: " not in without


def test_a_model_is_shown_what_stands_beside_the_best_statement_for_no_call_more(connection):
    few = {"max_search_results": 1, "max_statements_per_topic": 1, "retrievers": [ChunkBasedSearch]}
    with ScriptedLLMServer("It replaced Silverbirch [S2].") as server:
        settings = Settings(llm="openai:test", llm_options={"base_url": server.base_url})
        asked = engine(connection, settings=settings, **few)
        response = asked.query("Who owns Tidewater?")
    assert "[S1] Tidewater is owned by the Heron Team.\n[S2] Tidewater replaced Silverbirch." in said(server.requests[0])
    assert [(c.label, c.reason, c.text) for c in response.citations] == [
        ("S2", "context", "Tidewater replaced Silverbirch.")
    ]
    assert response.results.calls == engine(connection, **few).query("Who owns Tidewater?").results.calls


def test_the_settings_bound_question_and_answer(connection):
    with ScriptedLLMServer("Yes [S1].") as server:
        options = {"base_url": server.base_url}
        asked = engine(
            connection,
            settings=Settings(llm="openai:test", llm_options=options, answer_max_tokens=77, max_question_chars=30),
            retrievers=[ChunkBasedSearch],
        )
        asked.query("Who owns Tidewater?")
        with pytest.raises(InvalidInput, match="at most 30"):
            asked.query("Who owns Tidewater and everything else?")
    assert "77" in json.dumps(server.requests[0])


def test_a_language_model_may_be_a_name_an_object_or_none(connection):
    settings = Settings(llm="ollama:llama3.2")
    assert engine(connection, settings=settings).llm.name == "ollama:llama3.2"
    assert engine(connection, settings=settings, llm="none").llm is None
    assert engine(connection, llm="openai:gpt-5").llm.name == "openai:gpt-5"
    mine = LlamaIndexLLM(MockLLM())
    assert engine(connection, llm=mine).llm is mine
    assert isinstance(engine(connection, llm=MockLLM()).llm, LlamaIndexLLM)
    for bad in (7, "gpt"):
        with pytest.raises(InvalidInput, match="llm"):
            engine(connection, llm=bad)


def test_a_llama_index_model_answers_whole_and_in_pieces(connection):
    asked = engine(connection, llm=Reader(), retrievers=[ChunkBasedSearch])
    response = asked.query("Who owns Tidewater?")
    assert not response.extractive
    assert response.citations == response.sources[-1:]
    assert "".join(asked.stream("Who owns Tidewater?")) == response.response
