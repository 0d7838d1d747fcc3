"""From a file to an answer: prose is found by what it means and quoted as it stands, code and tables are quoted whole."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from lexigraph.ingestion.extract.blocks import prose, verbatim
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.ingestion.readers.markdown import read_markdown
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import ExtractedStatement, ExtractedTopic, Extraction
from lexigraph.settings import Settings, load_settings
from tests.laptop import open_laptop
from tests.models import WordEmbedder
from tests.server import Api, laptop_api

KILN = """\
# Kiln

Kiln heats clay in a cellar.

It glows at night.

## Starting

Start it for stoneware like this:

```
for cone in 6 10; do
    kiln --cone $cone
done
```

## Cones

| Cone | Degrees |
|---|---|
| 6 | 1222 |
| 10 | 1285 |
"""
CODE = "for cone in 6 10; do\n    kiln --cone $cone\ndone"
TABLE = "Cone: 6; Degrees: 1222\nCone: 10; Degrees: 1285"


class Paragraphs:
    """A statement a paragraph, in which "It" means what the document is about; code and tables as they are."""

    name = "paragraphs-1"

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        for chunk in chunks:
            said = [self._one(chunk, part.start, part.end) for part in prose(chunk)]
            yield Extraction((ExtractedTopic(chunk.title, (*said, *verbatim(chunk))),))

    def _one(self, chunk: ChunkText, start: int, end: int) -> ExtractedStatement:
        text = chunk.text[start:end]
        if text.startswith("It "):
            return ExtractedStatement(f"{chunk.title}{text[2:]}", start, end, original=text)
        return ExtractedStatement(text, start, end)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("quoting")
    (folder / "kiln.md").write_text(KILN, encoding="utf-8")
    stores = open_laptop(folder / "data")
    settings = Settings(data=folder / "data")
    index = LexicalGraphIndex(stores, embedder=WordEmbedder(), extractor=Paragraphs(), settings=settings)
    assert index.ingest([folder / "kiln.md"]).documents_new == 1
    with laptop_api(folder, stores=stores) as served:
        yield served
    stores.close()


def retrieved(api: Api, question: str) -> dict[str, dict[str, Any]]:
    reply = api.client().post("/retrieve/traversal", json={"question": question})
    assert reply.status_code == 200, reply.text
    return {s["text"]: s for result in reply.json()["results"] for s in result["details"]}


def test_statements_come_as_they_stand_alone_with_the_words_of_the_document_beside(api: Api) -> None:
    found = retrieved(api, "What glows at night in the cellar, and which cone?")
    assert {(s["kind"], s["original"]) for s in found.values()} == {
        ("prose", ""),
        ("prose", "It glows at night."),
        ("code", CODE),
        ("table", ""),
    }
    assert found["Kiln glows at night."]["original"] == "It glows at night."
    assert found[f"Start it for stoneware like this:\n{CODE}"]["kind"] == "code"
    assert found[TABLE]["kind"] == "table"


def test_an_answer_quotes_the_document_and_says_what_its_pronouns_mean(api: Api) -> None:
    reply = api.client().post("/query", json={"question": "Does the Kiln glow at night?"}).json()
    label = next(s["label"] for s in reply["sources"] if s["text"] == "It glows at night.")
    assert f"\nIt [Kiln] glows at night. [{label}]" in reply["answer"]
    assert "Kiln glows at night." in {s["resolved"] for s in reply["sources"]}


def test_an_answer_quotes_code_and_tables_whole(api: Api) -> None:
    reply = (
        api.client().post("/query", json={"question": "How to start it for stoneware, and how hot is which cone?"}).json()
    )
    label = {s["kind"]: s["label"] for s in reply["sources"]}
    assert f"\n\nStart it for stoneware like this: [{label['code']}]\n```\n{CODE}\n```" in reply["answer"]
    assert f"\n\nKiln: [{label['table']}]\n```\n{TABLE}\n```" in reply["answer"]


def test_what_is_quoted_stands_where_the_citation_says(api: Api) -> None:
    text = read_markdown(KILN.encode(), load_settings()).text
    asked = ("How to start it for stoneware?", "Does the Kiln glow at night?", "How many degrees has cone 6?")
    replies = [api.client().post("/query", json={"question": question}).json() for question in asked]
    sources = [source for reply in replies for source in reply["sources"]]
    assert {s["kind"] for s in sources} == {"prose", "code", "table"}
    assert [text[s["start"] : s["end"]] for s in sources] == [s["text"] for s in sources]


@pytest.mark.parametrize("retriever", ["traversal", "semantic-guided", "hybrid", "recall", "fused"])
def test_every_retriever_tells_the_kind(api: Api, retriever: str) -> None:
    body = {"question": "Start it for stoneware like this", "retriever": retriever}
    sources = api.client().post("/query", json=body).json()["sources"]
    assert ("code", CODE) in {(s["kind"], s["text"]) for s in sources}
