"""The integration of LangChain, run in an environment of its own: `make frameworks`."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from lexigraph.integrations.langchain import LexigraphRetriever, answer_tool

QUESTION = "Who leads the Heron Team?"
NAME = "Ines Calloway"


def test_statements_are_documents_with_places_and_scores(where: dict[str, Any]) -> None:
    found = LexigraphRetriever(**where).invoke(QUESTION)
    assert NAME in " ".join(document.page_content for document in found[:3])
    best = found[0]
    assert best.id == best.metadata["statement_id"]
    assert {"title", "uri", "start", "end", "reason", "score", "document_id"} <= best.metadata.keys()
    assert [document.id for document in asyncio.run(LexigraphRetriever(**where).ainvoke(QUESTION))] == [d.id for d in found]


def test_parameters_and_filters_reach_the_retriever(where: dict[str, Any]) -> None:
    few = LexigraphRetriever(max_search_results=1, max_statements_per_topic=1, **where).invoke(QUESTION)
    assert len(few) == 1
    nowhere = {"key": "team", "operator": "==", "value": "nobody"}
    assert LexigraphRetriever(filters=nowhere, **where).invoke(QUESTION) == []


def test_the_retriever_stands_in_a_chain(where: dict[str, Any]) -> None:
    prompt = ChatPromptTemplate.from_template("Context: {context}\n\nQuestion: {question}")
    model = FakeListChatModel(responses=["Ines Calloway leads it."])
    chain = {"context": LexigraphRetriever(**where), "question": RunnablePassthrough()} | prompt | model | StrOutputParser()
    assert chain.invoke(QUESTION) == "Ines Calloway leads it."


def test_the_tool_answers_with_its_sources_as_the_artifact(where: dict[str, Any]) -> None:
    call = {"name": "ask_documents", "args": {"question": QUESTION}, "id": "1", "type": "tool_call"}
    message = answer_tool(**where).invoke(call)
    assert NAME in message.content
    assert message.artifact[0].metadata["label"] == "S1"
    again = asyncio.run(answer_tool(**where).ainvoke(call))
    assert again.content == message.content


def test_the_example_agent_answers_with_a_citation() -> None:
    example = Path(__file__).parents[2] / "examples" / "frameworks" / "langchain_agent.py"
    done = subprocess.run(
        [sys.executable, example, os.environ["FRAMEWORKS_INDEX"], QUESTION], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert NAME in done.stdout
    assert "[S1]" in done.stdout
