"""The extraction file: what it may hold, what a model is told because of it, and what is taken from its reply."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from lexigraph.ingestion.estimate import estimate
from lexigraph.ingestion.extract import guide_of, make_extractor
from lexigraph.ingestion.extract.guide import MOST_BYTES, Guide, read_guide
from lexigraph.ingestion.extract.llm import LLMExtractor
from lexigraph.ingestion.load import FileItem
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import Misconfigured
from lexigraph.settings import Settings
from tests.models import model
from tests.standins.llm_server import ScriptedLLMServer, said

FILE = """
strict: true
classes:
  Person: somebody with a name
  Town:
relations: [was born in, works for]
instructions: |
  Towns are named without their state.
examples:
  - passage: Ada Lark was born in Kolby.
    statement: Ada Lark was born in Kolby.
    entities: {Ada Lark: Person, Kolby: Town}
    facts: [{subject: Ada Lark, predicate: was born in, object: Kolby}]
"""
TEXT = "Hod Lisenbee was born in Clarksville. Hod Lisenbee attended Lamar College."
CHUNK = ChunkText(0, "Hod Lisenbee", ("Hod Lisenbee",), TEXT, 0, len(TEXT))
REPLY: dict[str, Any] = {
    "topics": [
        {
            "title": "Life of Hod Lisenbee",
            "statements": [
                {
                    "statement": "Hod Lisenbee was born in Clarksville.",
                    "details": [],
                    "entities": [{"name": "Hod Lisenbee", "class": "person"}, {"name": "Clarksville", "class": "Town"}],
                    "facts": [{"subject": "Hod Lisenbee", "predicate": "Was_born_in", "object": "Clarksville"}],
                },
                {
                    "statement": "Hod Lisenbee attended Lamar College.",
                    "details": [],
                    "entities": [{"name": "Hod Lisenbee", "class": "Person"}, {"name": "Lamar College", "class": "School"}],
                    "facts": [{"subject": "Hod Lisenbee", "predicate": "attended", "object": "Lamar College"}],
                },
            ],
        }
    ],
    "aliases": [],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "extraction.yaml"
    path.write_text(FILE, "utf-8")
    return path


def extracted(guide: Guide | None, reply: Any = REPLY) -> tuple[Any, dict[str, Any]]:
    """Return what a chunk yields by a server that gives the reply, and what the server was asked."""
    with ScriptedLLMServer(deepcopy(reply)) as server:
        (extraction,) = LLMExtractor(model(server), guide=guide).extract([CHUNK])
    return extraction, server.requests[0]


def test_the_model_is_told_what_the_file_says_and_asked_for_nothing_else(file: Path) -> None:
    _, asked = extracted(read_guide(file))
    told = said(asked, "system")
    assert "Use only these entity classes:\n- Person: somebody with a name\n- Town" in told
    assert "- was born in\n- works for" in told
    assert "Towns are named without their state." in told
    assert "Ada Lark" in told
    schema = str(asked["response_format"])
    assert "['Person', 'Town']" in schema
    assert "['was born in', 'works for']" in schema


def test_strict_drops_what_lies_outside_and_says_so(file: Path) -> None:
    extraction, _ = extracted(read_guide(file))
    first, second = extraction.topics[0].statements
    assert [(e.name, e.class_) for e in first.entities] == [("Hod Lisenbee", "Person"), ("Clarksville", "Town")]
    assert [fact.predicate for fact in first.facts] == ["was born in"]
    assert [e.name for e in second.entities] == ["Hod Lisenbee"]
    assert second.facts == ()
    assert [line for line in extraction.dropped if "School" in line]
    assert [line for line in extraction.dropped if "attended" in line]


def test_open_only_prefers(file: Path) -> None:
    guide = read_guide(file).model_copy(update={"strict": False})
    extraction, asked = extracted(guide)
    assert "Prefer these entity classes" in said(asked, "system")
    assert "enum" not in str(asked["response_format"])
    assert [fact.predicate for fact in extraction.topics[0].statements[1].facts] == ["attended"]


def test_another_file_is_another_extractor_so_that_chunks_are_extracted_again(file: Path, tmp_path: Path) -> None:
    with ScriptedLLMServer(REPLY) as server:
        plain, guided = (LLMExtractor(model(server), guide=guide).name for guide in (None, read_guide(file)))
        file.write_text(FILE.replace("works for", "is employed by"), "utf-8")
        changed = LLMExtractor(model(server), guide=read_guide(file)).name
    assert len({plain, guided, changed}) == 3


def test_the_setting_reaches_extractor_and_estimate(file: Path, tmp_path: Path) -> None:
    document = tmp_path / "life.txt"
    document.write_text(TEXT, "utf-8")
    sizes = []
    for given in (None, file):
        settings = Settings(data=tmp_path / "data", llm="openai:x", extraction_file=given)
        with ScriptedLLMServer(REPLY) as server:
            assert ("+guide-" in make_extractor(settings, model(server)).name) is (given is not None)
        sizes.append(estimate([FileItem(document, document.as_uri(), "txt")], settings).input_tokens)
    assert sizes[1] > sizes[0] + 50
    assert guide_of(Settings(data=tmp_path)) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("classes: [", "line 1: not valid YAML"),
        ("- a\n- b", "must be a mapping with fields such as classes"),
        ("klasses: [Person]", "klasses: extra inputs are not permitted"),
        ("classes: 7", "classes: input should be a valid tuple"),
        ("classes: [{name: ''}]", "classes.0.name"),
        ("classes: [" + "x" * 41 + "]", "at most 40 characters"),
        ("strict: perhaps", "strict: input should be a valid boolean"),
        ("examples: [{passage: x}]", "examples.0.statement: field required"),
        ("relations: [" + ", ".join(f"r{n}" for n in range(101)) + "]", "relations: "),
        ("instructions: " + "x" * MOST_BYTES, "at most 100,000 bytes"),
        ("a: &a [*a, *a]", "extraction file"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "extraction.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(Misconfigured, match=told):
        read_guide(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"nowhere\.yaml: no such file"):
        read_guide(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    "reply", [None, [], {"topics": 1}, {"topics": [1, {"statements": [1, {"entities": 3, "facts": [1]}]}]}]
)
def test_a_reply_of_another_shape_passes_as_it_is(file: Path, reply: Any) -> None:
    kept, _ = read_guide(file).within(reply)
    assert (kept is None) is (reply is None)


def test_a_guide_written_as_json_is_the_same_extractor(file: Path, tmp_path: Path) -> None:
    as_json = tmp_path / "extraction.json"
    as_json.write_text(read_guide(file).model_dump_json(), "utf-8")
    assert read_guide(as_json).fingerprint == read_guide(file).fingerprint
    as_json.write_text("{", "utf-8")
    with pytest.raises(Misconfigured, match=r"extraction\.json: not valid JSON"):
        read_guide(as_json)
