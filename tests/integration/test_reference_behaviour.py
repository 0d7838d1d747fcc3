"""What the reference pages say beside fields and parameters: rebuilding, errors, licence, and notes for readers."""

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from lexigraph.api.app import create_app
from lexigraph.inference.factory import make_llm
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.extraction import Extraction
from lexigraph.retrieval.hybrid.args import HybridArgs
from lexigraph.settings import Settings
from tests.files import section
from tests.integration.api.routes.test_ingest import events
from tests.laptop import open_laptop, write_pages
from tests.models import SentenceExtractor, WordEmbedder
from tests.server import Api, LaptopService, laptop_api, serving
from tests.standins.llm_server import ScriptedLLMServer

ROOT = Path(__file__).parents[2]
PAGES = {f"Page {n}": f"Page {n} tells of the Great Mill. The Great Mill is {n} years old." for n in range(4)}


class Failing(SentenceExtractor):
    """An extractor whose model goes away after ``left`` chunks; None: it stays."""

    left: int | None = None
    fault: Exception = ModelUnavailable("the model of /home/ada/models is gone")

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        for chunk in chunks:
            if self.left == 0:
                raise self.fault
            self.left = None if self.left is None else self.left - 1
            yield from super().extract([chunk])


class Served(LaptopService):
    """A service whose extractor can fail."""

    def __init__(self, settings: Settings, **parts: Any) -> None:
        super().__init__(settings, **parts)
        self.extractor = Failing()

    def _make_index(self) -> LexicalGraphIndex:
        return LexicalGraphIndex(self.stores, embedder=WordEmbedder(), extractor=self.extractor, settings=self.settings)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Api, Failing]]:
    write_pages(tmp_path / "corpus", PAGES)
    stores = open_laptop(tmp_path / "data")
    settings = Settings(
        data=tmp_path / "data",
        ingest_roots={"default": tmp_path},
        api_rate=0,
        ingest_in="thread",
        batch_documents=1,
        cache="none",
    )
    service = Served(settings, stores=stores, embedder=WordEmbedder())
    with serving(create_app(settings, service)) as url:
        api = Api(url, stores)
        yield api, service.extractor
        api.close()
    stores.close()


def extracted(api: Api, told: dict[str, Any]) -> int:
    """How many chunks were extracted by the job of an ingest."""
    return int(api.client().get(told["status_url"]).json()["result"]["extracted"])


@pytest.mark.requirement("E-06")
def test_refresh_extracts_chunks_anew_that_were_taken_in_before(served: tuple[Api, Failing]) -> None:
    api, _ = served
    client = api.client()
    first = client.post("/ingest", json={"path": "corpus"}).json()
    skipped = client.post("/ingest", params={"incremental": True}, json={"path": "corpus"}).json()
    anew = client.post("/ingest", params={"incremental": True, "refresh": True}, json={"path": "corpus"}).json()

    assert extracted(api, first) == first["chunks_new"] == 4
    assert (extracted(api, skipped), skipped["chunks_skipped"]) == (0, 4)
    assert extracted(api, anew) == 4
    chunks, statements = (client.get("/diagnostics").json()["graph"]["detail"][kind] for kind in ("chunks", "statements"))
    assert (chunks, statements) == (4, 8), "the same graph"


@pytest.mark.requirement("E-06", "E-07")
def test_refresh_asks_for_relations_anew_unless_told_not_to(tmp_path: Path) -> None:
    parts = "\n".join(section(f"Part {n}", f"The part about {n} comes here.") for n in range(3))
    (tmp_path / "steps.md").write_text(f"# Steps\n\n{parts}\n", encoding="utf-8")
    relation = {"type": "CAUSES", "direction": "forward", "confidence": 0.8, "evidence": ""}
    asked = []
    with ScriptedLLMServer({"relations": [relation]}) as server:
        settings = Settings(llm="openai:test", llm_options={"base_url": server.base_url}, model_attempts=1)
        with laptop_api(tmp_path, llm=make_llm(settings)) as api:
            for query in ({}, {"refresh": True, "refresh_relations": False}, {"refresh": True}):
                reply = api.client().post("/ingest", params=query, json={"path": "steps.md"})
                assert reply.status_code == 200, reply.text
                asked.append(len(server.requests))
    first, without, again = asked
    assert first > 0
    assert (without, again) == (first, 2 * first)


@pytest.mark.requirement("E-32", "E-33")
@pytest.mark.parametrize(
    ("query", "again"), [({}, 2), ({"checkpoint": True}, 2), ({"checkpoint": False}, 4), ({"refresh": True}, 4)]
)
def test_an_interrupted_run_goes_on_unless_a_rebuild_is_forced(
    served: tuple[Api, Failing], query: dict[str, bool], again: int
) -> None:
    api, extractor = served
    client = api.client()
    extractor.left = 2
    broken = events(client.get("/ingest/stream", params={"path": "corpus"}))
    assert broken[-1][1]["stage"] == "error"
    extractor.left = None

    done = events(client.get("/ingest/stream", params={"path": "corpus", **query}))
    assert done[-1][1] == {"stage": "done"}
    assert extracted(api, done[-2][1]["result"]) == again
    assert len(client.get("/documents").json()["documents"]) == 4


@pytest.mark.requirement("E-10")
@pytest.mark.parametrize(
    ("fault", "status", "code", "told"),
    [
        (RuntimeError("a fault in /home/ada/models"), 500, "ingest_failed", "RuntimeError"),
        (ModelUnavailable("the model of /home/ada/models is gone"), 503, "model_unavailable", "model"),
    ],
)
def test_an_ingest_that_fails_is_told_in_the_one_shape_without_a_trace(
    served: tuple[Api, Failing], fault: Exception, status: int, code: str, told: str
) -> None:
    api, extractor = served
    extractor.left, extractor.fault = 0, fault
    reply = api.client().post("/ingest", json={"path": "corpus"})
    assert reply.status_code == status
    assert reply.json().keys() - {"hint"} == {"error", "message", "request_id"}
    assert reply.json()["error"] == code
    assert told in reply.json()["message"]
    assert not [word for word in ("Traceback", "/home/ada", ".py", str(ROOT)) if word in reply.text]


class Surprising(WordEmbedder):
    """An embedding model with a fault that nobody expects."""

    def embed_questions(self, texts: Sequence[str]) -> Any:
        raise RuntimeError(f"a fault in /home/ada/models at {texts[0]}")


@pytest.mark.requirement("E-47")
def test_a_question_that_fails_is_told_by_error_and_message_and_never_with_a_trace(tmp_path: Path) -> None:
    stores = open_laptop(tmp_path / "data")
    settings = Settings(data=tmp_path / "data", api_rate=0, ingest_in="thread")
    with serving(create_app(settings, LaptopService(settings, stores=stores, embedder=Surprising()))) as url:
        api = Api(url, stores)
        reply = api.client().post("/query", json={"question": "What is in the secret memo?"})
        api.close()
    stores.close()
    assert reply.status_code == 500
    assert reply.json().keys() - {"hint"} == {"error", "message", "request_id"}
    assert reply.json()["request_id"] == reply.headers["x-request-id"]
    assert not [word for word in ("Traceback", "trace", "/home/ada", "secret", "RuntimeError") if word in reply.text]


@pytest.mark.requirement("E-72")
def test_clients_are_told_to_pass_over_new_fields_and_no_schema_of_a_reply_forbids_them(served: tuple[Api, Failing]) -> None:
    api, _ = served
    document = api.client().get("/openapi.json").json()
    assert "ignore unknown fields" in document["info"]["description"]
    schemas = document["components"]["schemas"]
    waiting = [
        content["schema"]
        for methods in document["paths"].values()
        for operation in methods.values()
        for reply in operation["responses"].values()
        for content in reply.get("content", {}).values()
        if "schema" in content
    ]
    seen: set[str] = set()
    while waiting:
        schema = waiting.pop()
        assert schema.get("additionalProperties", True) is not False, schema.get("title")
        names = set(re.findall(r"#/components/schemas/(\w+)", str(schema))) - seen
        seen |= names
        waiting += [schemas[name] for name in names]
    assert {"QueryReply", "IngestReply", "Diagnostics", "RecallReply", "MultihopReply"} <= seen


@pytest.mark.requirement("E-75")
def test_the_licence_is_named_and_why_it_is_not_that_of_the_reference() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    licence = (ROOT / "LICENSE").read_text("utf-8")
    assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert "Apache License" in licence
    assert "Version 2.0, January 2004" in licence
    assert "Apache-2.0" in note("compatibility.md", "E-75")


def note(page: str, requirement: str) -> str:
    """What a page of the documentation says where it names a requirement."""
    lines = (ROOT / "docs" / page).read_text("utf-8").splitlines()
    (found,) = [line for line in lines if requirement in line]
    return found


@pytest.mark.requirement("H-30")
def test_the_page_for_users_says_when_to_take_more_hops() -> None:
    told = note("api.md", "H-30")
    assert "`num_hops`" in told
    assert "long" in told


@pytest.mark.requirement("H-31")
def test_the_page_for_users_says_what_to_do_when_nothing_is_found() -> None:
    told = note("api.md", "H-31")
    for parameter in ("`top_k_per_hop`", "`use_symbolic`", "`hop_decay`"):
        assert parameter in told


def test_the_page_for_users_names_every_parameter_of_the_hybrid_search_with_its_default() -> None:
    rows = (ROOT / "docs" / "api.md").read_text("utf-8").splitlines()
    for field in fields(HybridArgs):
        default = field.default if isinstance(field.default, str) else json.dumps(field.default).removesuffix(".0")
        assert [row for row in rows if row.startswith(f"| `{field.name}` |") and row.endswith(f" {default} |")], field.name
