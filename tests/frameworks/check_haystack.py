"""The integration of Haystack, run in an environment of its own: `make frameworks`."""

import asyncio
import os
from typing import Any

import pytest
from haystack import Pipeline
from haystack.components.builders import PromptBuilder
from haystack.utils import Secret

from lexigraph.integrations.haystack import LexigraphAnswerer, LexigraphRetriever

QUESTION = "Who leads the Heron Team?"
NAME = "Ines Calloway"


def test_the_retriever_stands_in_a_pipeline_that_is_written_and_read(where: dict[str, Any]) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", LexigraphRetriever(**where))
    pipeline.add_component(
        "prompt", PromptBuilder("{% for d in documents %}{{ d.content }}\n{% endfor %}", required_variables=["documents"])
    )
    pipeline.connect("retriever.documents", "prompt.documents")
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["lexigraph.integrations.haystack"])
    for one in (pipeline, again):
        assert NAME in one.run({"retriever": {"query": QUESTION}})["prompt"]["prompt"]


def test_documents_have_scores_and_places(where: dict[str, Any]) -> None:
    retriever = LexigraphRetriever(**where)
    retriever.warm_up()
    found = retriever.run(query=QUESTION)["documents"]
    assert found[0].score is not None
    assert {"title", "uri", "start", "end", "reason"} <= found[0].meta.keys()
    assert [d.id for d in asyncio.run(retriever.run_async(query=QUESTION))["documents"]] == [d.id for d in found]
    nowhere = {"key": "team", "operator": "==", "value": "nobody"}
    assert retriever.run(query=QUESTION, filters=nowhere)["documents"] == []


def test_answers_name_what_they_cite(where: dict[str, Any]) -> None:
    (answer,) = LexigraphAnswerer(**where).run(query=QUESTION)["answers"]
    assert NAME in answer.data
    assert answer.documents[0].meta["label"] == "S1"
    assert answer.meta["answerable"] is True


def test_a_key_is_written_by_the_name_of_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEXIGRAPH_API_KEY", "lxk_secret")
    made = LexigraphRetriever(url=os.environ["FRAMEWORKS_URL"], api_key=Secret.from_env_var("LEXIGRAPH_API_KEY"))
    written = made.to_dict()
    assert "lxk_secret" not in str(written)
    assert LexigraphRetriever.from_dict(written).to_dict() == made.to_dict()
