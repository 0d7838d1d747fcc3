"""The integration of LlamaIndex, run in an environment of its own: `make frameworks`."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Settings
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.schema import MetadataMode, NodeRelationship

from lexigraph.integrations.llama_index import LexigraphQueryEngine, LexigraphRetriever, LexigraphToolSpec

QUESTION = "Who leads the Heron Team?"
NAME = "Ines Calloway"


@pytest.mark.parametrize(
    "name", ["traversal", "semantic-guided", "hybrid", "multihop", "multidoc", "recall", "topic", "bm25"]
)
def test_every_retriever_gives_nodes_with_scores_and_places(where: dict[str, Any], name: str) -> None:
    found = LexigraphRetriever(retriever=name, **where).retrieve(QUESTION)
    assert found
    assert all(node.score is not None for node in found)
    best = found[0].node
    assert best.relationships[NodeRelationship.SOURCE].node_id.startswith("source:")
    assert best.relationships[NodeRelationship.PARENT].node_id.startswith("chunk:")
    assert best.metadata["statement_id"] == best.node_id
    assert best.end_char_idx > best.start_char_idx


def test_a_language_model_is_shown_title_and_text_and_nothing_else(where: dict[str, Any]) -> None:
    shown = LexigraphRetriever(**where).retrieve(QUESTION)[0].node.get_content(MetadataMode.LLM)
    assert NAME in shown
    assert "statement:" not in shown
    assert "uri" not in shown


def test_asynchronous_retrieval_finds_the_same(where: dict[str, Any]) -> None:
    retriever = LexigraphRetriever(**where)
    found = asyncio.run(retriever.aretrieve(QUESTION))
    assert [node.node_id for node in found] == [node.node_id for node in retriever.retrieve(QUESTION)]


def test_the_retriever_works_in_a_query_engine_of_llama_index(where: dict[str, Any]) -> None:
    Settings.llm = MockLLM()
    synthesizer = get_response_synthesizer(response_mode=ResponseMode.CONTEXT_ONLY)
    engine = RetrieverQueryEngine(LexigraphRetriever(**where), synthesizer)
    assert NAME in str(engine.query(QUESTION))


def test_the_query_engine_answers_with_citations(where: dict[str, Any]) -> None:
    response = LexigraphQueryEngine(**where).query(QUESTION)
    assert NAME in str(response)
    assert response.metadata["answerable"] is True
    assert response.source_nodes[0].metadata["label"] == "S1"
    assert NAME in " ".join(node.text for node in response.source_nodes)


def test_answers_stream_and_name_their_sources_at_the_end(where: dict[str, Any]) -> None:
    response = LexigraphQueryEngine(streaming=True, **where).query(QUESTION)
    assert NAME in "".join(response.response_gen)
    assert response.source_nodes[0].metadata["label"] == "S1"

    async def read() -> tuple[str, list[Any]]:
        streamed = await LexigraphQueryEngine(streaming=True, **where).aquery(QUESTION)
        return "".join([piece async for piece in streamed.async_response_gen()]), streamed.source_nodes

    text, nodes = asyncio.run(read())
    assert NAME in text
    assert nodes


def test_the_tools_answer_and_search(where: dict[str, Any]) -> None:
    tools = {tool.metadata.name: tool for tool in LexigraphToolSpec(**where).to_tool_list()}
    assert NAME in str(tools["ask"].call(question=QUESTION))
    assert NAME in str(tools["search"].call(question=QUESTION))
    assert "do not answer" in str(tools["ask"].call(question="Who won the football world cup in 1998?"))


def test_the_example_agent_answers_with_a_citation() -> None:
    example = Path(__file__).parents[2] / "examples" / "frameworks" / "llama_index_agent.py"
    done = subprocess.run(
        [sys.executable, example, os.environ["FRAMEWORKS_INDEX"], QUESTION], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert NAME in done.stdout
    assert "[S1]" in done.stdout
