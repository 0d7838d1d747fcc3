"""Traces of questions over HTTP: one tree for each request, complete, in the words of the conventions, and without text."""

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lexigraph import telemetry
from lexigraph.api.app import create_app
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.settings import Settings
from lexigraph.telemetry.export import provider
from tests.laptop import write_pages
from tests.models import SentenceExtractor
from tests.server import SECONDS, serving
from tests.standins.llm_server import Reply, ScriptedLLMServer, refused
from tests.standins.otlp_server import OtlpServer
from tests.waiting import eventually

PAGES = {
    "Tidewater": "Tidewater is owned by the Heron Team.\n\nTidewater runs on Neptune since 2019.",
    "Heron Team": "The Heron Team is led by Ines Calloway.\n\nIt has 12000 members.",
}
QUESTION = "Who leads the Heron Team?"
SAID = "Ines Calloway leads it [1]."
WORDS = ("Heron", "Calloway", "Tidewater", "Neptune", "12000", "leads")  # of documents, the question and the answer
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Exported(SimpleSpanProcessor):
    """It also knows which spans have not ended: a request ends after its client has read the reply."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        super().__init__(exporter)
        self.open: set[int] = set()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.open.add(span.get_span_context().span_id)

    def on_end(self, span: ReadableSpan) -> None:
        super().on_end(span)
        self.open.discard(span.get_span_context().span_id)


@dataclass
class Traced:
    """A served laptop with what it has exported."""

    client: httpx.Client
    processor: Exported
    exporter: InMemorySpanExporter
    llm: ScriptedLLMServer
    settings: Settings

    def ask(self, path: str = "/query", headers: dict[str, str] | None = None, **body: Any) -> httpx.Response:
        self.exporter.clear()
        return self.client.post(path, json={"question": QUESTION, "retriever": "traversal", **body}, headers=headers)

    def spans(self, requests: int = 1) -> list[ReadableSpan]:
        """Return the spans of so many requests, when they have ended: the last byte comes before the end."""

        def found() -> list[ReadableSpan]:
            done = list(self.exporter.get_finished_spans())
            return done if sum(s.name.startswith("POST ") for s in done) == requests else []

        return eventually(found, seconds=SECONDS)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    folder, exporter = tmp_path_factory.mktemp("traces"), InMemorySpanExporter()
    made = TracerProvider()
    processor = Exported(exporter)
    made.add_span_processor(processor)
    telemetry.use(made)
    try:
        with ScriptedLLMServer(SAID) as server:
            settings = Settings(
                data=folder / "data",
                llm="openai:test",
                llm_options={"base_url": server.base_url},
                model_attempts=1,
                api_auth="open",
                api_rate=0,
                relations=False,
            )
            write_pages(folder / "corpus", PAGES)
            with LexicalGraphIndex(extractor=SentenceExtractor(), settings=settings) as index:
                index.ingest([folder / "corpus"])
            app = create_app(settings)
            with serving(app) as url, httpx.Client(base_url=url, timeout=SECONDS, verify=False) as client:
                assert client.get("/health").status_code == 200
                yield Traced(client, processor, exporter, server, settings)
    finally:
        telemetry.use(None)


@pytest.fixture
def traced(served: Traced) -> Traced:
    """The model says the same to each test, whichever was before it, and no span of before ends in its midst."""
    served.llm.script = lambda _: SAID
    eventually(lambda: not served.processor.open, seconds=SECONDS)
    served.exporter.clear()
    return served


def named(spans: list[ReadableSpan], name: str) -> list[ReadableSpan]:
    return [span for span in spans if span.name == name]


def path(spans: list[ReadableSpan], span: ReadableSpan) -> list[str]:
    """Return the names from the root to a span."""
    by_id = {s.context.span_id: s for s in spans if s.context}
    names = [span.name]
    while span.parent and span.parent.span_id in by_id:
        span = by_id[span.parent.span_id]
        names.insert(0, span.name)
    return names


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def everything(spans: list[ReadableSpan]) -> str:
    return "".join(span.to_json() for span in spans)


def test_an_ingest_is_one_trace_with_its_stages_and_no_text(traced: Traced, tmp_path: Path) -> None:
    write_pages(tmp_path / "more", {"Kestrel": "Kestrel is owned by the Heron Team."})
    traced.exporter.clear()
    with LexicalGraphIndex(extractor=SentenceExtractor(), settings=traced.settings) as index:
        report = index.ingest([tmp_path / "more"])
    spans = list(traced.exporter.get_finished_spans())
    [job] = named(spans, "ingest")
    assert [s.name for s in spans if not s.parent] == ["ingest"]
    assert attributes(job)["lexigraph.job.id"] == report.job_id
    assert attributes(job)["lexigraph.ingest.documents_new"] == 1
    for stage in ("read", "chunk", "extract", "build", "finish"):
        assert path(spans, named(spans, stage)[0])[:2] == ["ingest", stage]
    [embedded] = [s for s in spans if s.name == "embeddings minilm"]
    assert path(spans, embedded) == ["ingest", "build", "embeddings minilm"]
    assert path(spans, named(spans, "graph.write")[0]) == ["ingest", "build", "graph.write"]
    [document] = attributes(named(spans, "build")[0])["lexigraph.document.ids"]
    assert attributes(named(spans, "chunk")[0])["lexigraph.document.id"] == document
    assert [word for word in (*WORDS, "Kestrel", str(tmp_path)) if word in everything(spans)] == []


def test_a_question_is_one_tree_of_stages_store_calls_and_model_calls(traced: Traced) -> None:
    reply = traced.ask(headers={"traceparent": CALLER})
    assert reply.json()["answer"] == SAID, reply.text
    spans = traced.spans()
    request = named(spans, "POST /query")[0]
    assert request.parent and f"{request.parent.span_id:016x}" == CALLER.split("-")[2]
    assert {f"{s.context.trace_id:032x}" for s in spans if s.context} == {CALLER.split("-")[1]}
    ids = {s.context.span_id for s in spans if s.context}
    assert [s.name for s in spans if s is not request and (not s.parent or s.parent.span_id not in ids)] == []
    assert attributes(request) == {
        "http.request.method": "POST",
        "http.route": "/query",
        "http.response.status_code": 200,
        "url.scheme": "http",
        "server.address": "127.0.0.1",
        "server.port": httpx.URL(traced.client.base_url).port,
        "network.protocol.version": "1.1",
        "lexigraph.request.id": reply.headers["x-request-id"],
    }
    found = {"/".join(path(spans, span)[1:]) for span in spans}
    retrieval = "retrieval TraversalBasedRetriever"
    assert {
        "chat test",
        retrieval,
        f"{retrieval}/embed/embeddings minilm",
        f"{retrieval}/find_anchors",
        f"{retrieval}/expansion",
        f"{retrieval}/rank/rerank/rerank tfidf",
        f"{retrieval}/rank/results",
    } <= found
    below = {p.rpartition("/")[2] for p in found if p.startswith(f"{retrieval}/find_anchors/")}
    assert {"vector.search_many", "graph.entities"} <= below
    assert any(p.startswith(f"{retrieval}/expansion/") and p.endswith("graph.evidence") for p in found)


def test_spans_speak_by_the_conventions(traced: Traced) -> None:
    traced.ask(question=f"{QUESTION} Tell me.")
    spans = traced.spans()
    keywords, chat = sorted((attributes(s) for s in named(spans, "chat test")), key=lambda told: told["gen_ai.output.type"])
    assert keywords["gen_ai.output.type"] == "json"
    assert chat == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "test",
        "gen_ai.request.max_tokens": 1024,
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.stream": True,
        "gen_ai.output.type": "text",
        "gen_ai.response.model": "test",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.response.time_to_first_chunk": chat["gen_ai.response.time_to_first_chunk"],
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 8,
    }
    search = attributes(named(spans, "vector.search_many")[0])
    assert search["db.system.name"] == "sqlite"
    assert (search["db.operation.name"], search["db.namespace"]) == ("search_many", "vector")
    assert search["db.response.returned_rows"] > 0
    embedded = attributes(named(spans, "embeddings minilm")[0])
    assert (embedded["gen_ai.provider.name"], embedded["gen_ai.embeddings.dimension.count"]) == ("lexigraph", 384)
    kinds = {s.name: s.kind.name for s in spans}
    assert (kinds["POST /query"], kinds["chat test"], kinds["graph.evidence"]) == ("SERVER", "CLIENT", "CLIENT")
    assert (kinds["embeddings minilm"], kinds["find_anchors"]) == ("INTERNAL", "INTERNAL")


def test_a_stream_ends_its_spans_when_it_ends(traced: Traced) -> None:
    traced.llm.script = lambda _: Reply(SAID, pause=0.02)
    traced.exporter.clear()
    with traced.client.stream("POST", "/query", json={"question": f"{QUESTION} ?", "stream": True}) as reply:
        lines = reply.iter_lines()
        next(line for line in lines if "token" in line)
        assert not [s for s in traced.exporter.get_finished_spans() if s.name in ("POST /query", "chat test")]
        for _ in lines:
            pass
    spans = traced.spans()
    [chat] = named(spans, "chat test")
    assert path(spans, chat) == ["POST /query", "chat test"]
    told = attributes(chat)
    assert told["gen_ai.usage.output_tokens"] == 8
    assert 0 < told["gen_ai.response.time_to_first_chunk"] < (chat.end_time - chat.start_time) / 1e9  # type: ignore[operator]


def test_a_client_that_leaves_ends_the_spans_of_its_stream(traced: Traced) -> None:
    traced.llm.script = lambda _: Reply(" ".join(["word"] * 200), pause=0.05)  # ten seconds
    traced.exporter.clear()
    with traced.client.stream("POST", "/query", json={"question": f"{QUESTION} !", "stream": True}) as reply:
        next(line for line in reply.iter_lines() if "token" in line)
    spans = traced.spans()
    eventually(lambda: named(list(traced.exporter.get_finished_spans()), "chat test"))
    [request] = named(spans, "POST /query")
    assert (request.end_time - request.start_time) / 1e9 < 5  # type: ignore[operator]


def test_an_error_is_told_by_its_class_alone(traced: Traced) -> None:
    traced.llm.script = lambda _: refused(400, f"cannot answer {QUESTION}")
    traced.ask(question=f"{QUESTION} Please.")
    spans = traced.spans()
    chat = named(spans, "chat test")[-1]
    assert attributes(chat)["error.type"] == "ModelUnavailable"
    assert chat.status.status_code.name == "ERROR"
    assert (chat.status.description, list(chat.events)) == (None, [])
    assert [word for word in WORDS if word in everything(spans)] == []
    refusal = traced.client.post("/retrieve/traversal", json={"question": ""})
    [request] = eventually(lambda: named(list(traced.exporter.get_finished_spans()), "POST /retrieve/{retriever}"))
    assert attributes(request)["http.response.status_code"] == refusal.status_code == 422


def test_requests_at_the_same_time_have_trees_of_their_own(traced: Traced) -> None:
    traced.exporter.clear()
    callers = [f"00-{n:032x}-{n:016x}-01" for n in range(1, 9)]

    def ask(caller: str) -> httpx.Response:
        body = {"question": f"{QUESTION} Number {caller[-5:]}"}
        return traced.client.post("/query", json=body, headers={"traceparent": caller})

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(ask, callers))
    spans = traced.spans(8)
    by_trace: dict[int, list[ReadableSpan]] = {}
    for span in spans:
        assert span.context
        by_trace.setdefault(span.context.trace_id, []).append(span)
    assert by_trace.keys() == set(range(1, 9))
    shapes = Counter(tuple(sorted("/".join(path(some, span)) for span in some)) for some in by_trace.values())
    assert len({frozenset(shape) for shape in shapes}) == 1, "every request has the same tree"
    ids = {number: reply.headers["x-request-id"] for number, reply in enumerate(replies, 1)}
    told = {n: attributes(named(some, "POST /query")[0])["lexigraph.request.id"] for n, some in by_trace.items()}
    assert told == ids


@pytest.mark.parametrize("allowed", [False, True])
def test_an_otlp_receiver_gets_no_text_unless_it_is_allowed(
    traced: Traced, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OtlpServer() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "search-of-a-team")
        made = provider("otlp")
        settings = traced.settings.model_copy(update={"telemetry_content": allowed})
        telemetry.use(made, content=allowed, tenant=allowed)
        try:
            app = create_app(settings)
            with serving(app) as url, httpx.Client(base_url=url, timeout=SECONDS, verify=False) as client:
                assert client.post("/query", json={"question": QUESTION, "retriever": "traversal"}).json()["answer"] == SAID
                assert client.get("/documents/Heron%20Calloway").status_code == 422
        finally:
            made.shutdown()
            telemetry.use(traced_provider(traced))
    names = {a.key: a.value.string_value for a in receiver.resources()[0].resource.attributes}
    assert names["service.name"] == "search-of-a-team"
    spans = receiver.spans()
    assert {"POST /query", "chat test", "find_anchors"} <= {span.name for span in spans}
    raw = b"".join(receiver.bodies)
    shown = [word for word in (*WORDS, "default") if word.encode() in raw]
    if not allowed:
        assert shown == []
        return
    asked = [{a.key: a.value.string_value for a in span.attributes} for span in spans if span.name == "chat test"]
    [told] = [one for one in asked if one["gen_ai.output.type"] == "text"]
    assert QUESTION in told["gen_ai.input.messages"]
    assert json.loads(told["gen_ai.output.messages"])[0]["parts"] == [{"type": "text", "content": SAID}]
    [retrieval] = [span for span in spans if span.name.startswith("retrieval ")]
    assert {a.key: a.value.string_value for a in retrieval.attributes}["lexigraph.tenant"] == "default"


def traced_provider(traced: Traced) -> TracerProvider:
    made = TracerProvider()
    made.add_span_processor(traced.processor)
    return made
