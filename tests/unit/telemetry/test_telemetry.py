"""Telemetry off costs nothing; on, spans follow into threads, count tokens and money, and reach X-Ray's daemon."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lexigraph import telemetry
from lexigraph.inference.factory import make_embedder, make_llm
from lexigraph.inference.openai_compatible import OpenAICompatible, Server
from lexigraph.inference.protocols import Prompt
from lexigraph.inference.traced import traced
from lexigraph.ingestion.pace import repeating
from lexigraph.settings import MODEL_PRICES, Settings
from lexigraph.storage.factory import open_stores
from lexigraph.telemetry.xray import XRayExporter
from tests.standins.llm_server import ScriptedLLMServer


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    found, made = InMemorySpanExporter(), TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(found))
    telemetry.use(made)
    yield found
    telemetry.use(None)


def told(exporter: InMemorySpanExporter, name: str) -> dict[str, Any]:
    [span] = [span for span in exporter.get_finished_spans() if span.name == name]
    return dict(span.attributes or {})


def test_off_is_one_object_and_stores_and_models_are_what_they_are(tmp_path: Path) -> None:
    first = telemetry.span("a")
    assert first is telemetry.span("b")
    assert not first
    work, items = (lambda: None), [1, 2]
    assert telemetry.carried(work) is work
    assert telemetry.each("read", items) is items
    settings = Settings(data=tmp_path, llm="openai:any")
    stores = open_stores(settings, create=True)
    names = {type(x).__name__ for x in (stores.graph, stores.vectors, make_embedder(settings), make_llm(settings))}
    stores.close()
    assert names == {"SqliteGraphStore", "SqliteVectorStore", "MiniLM", "OpenAICompatible"}


@pytest.mark.slow
def test_off_a_whole_question_imports_nothing_of_opentelemetry(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.retrieval import TraversalBasedRetriever
from lexigraph.settings import Settings
from lexigraph.storage.factory import open_stores
settings = Settings(data=Path(sys.argv[1]), embedding_model="minilm")
stores = open_stores(settings, create=True)
TraversalBasedRetriever(stores.graph, stores.vectors, settings=settings).retrieve("default", "Who leads?")
print(sorted(m for m in sys.modules if m.startswith("opentelemetry") or m == "lexigraph.telemetry.live"))
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"


def test_spans_follow_into_threads_and_errors_are_told_by_class(exporter: InMemorySpanExporter) -> None:
    def work(number: int) -> None:
        with telemetry.span(f"work {number}"):
            pass

    with pytest.raises(ValueError, match="secret"), telemetry.span("outer"):
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(telemetry.carried(work), range(4)))
        raise ValueError("secret words")
    *inner, outer = exporter.get_finished_spans()
    assert outer.context
    assert {span.parent.span_id for span in inner if span.parent} == {outer.context.span_id}
    assert len(inner) == 4
    assert (dict(outer.attributes or {}), outer.status.description) == ({"error.type": "ValueError"}, None)
    assert "secret" not in outer.to_json()


def test_what_is_told_every_second_belongs_to_the_span_that_began_it(exporter: InMemorySpanExporter) -> None:
    ticked = Event()

    def tick() -> None:
        with telemetry.span("tick"):
            pass
        ticked.set()

    with telemetry.span("outer"), repeating(tick):
        assert ticked.wait(10)
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert spans["tick"].parent == spans["outer"].context


@pytest.mark.nightly
def test_a_back_end_that_does_not_answer_is_waited_for_5_seconds() -> None:
    given_up = Event()

    class Silent(SpanProcessor):
        def force_flush(self, timeout_millis: int = 30_000) -> bool:  # as the batches of OpenTelemetry, without a timeout
            return given_up.wait(60)

    made = TracerProvider()
    made.add_span_processor(Silent())
    telemetry.use(made)
    began = time.monotonic()
    try:
        telemetry.flush()
    finally:
        telemetry.use(None)
        given_up.set()
    assert 4.9 < time.monotonic() - began < 20


def test_a_model_whose_price_is_known_has_a_cost(exporter: InMemorySpanExporter) -> None:
    """The same server is asked as a model of the price list, and as one that is not in it."""
    listed, (input_, output) = next((spec, price) for spec, price in MODEL_PRICES.items() if price[1])
    with ScriptedLLMServer("yes") as server:
        for spec in (listed, "openai:other"):
            made = traced(OpenAICompatible("any", Server(server.base_url)), spec)
            assert made.complete(Prompt("Is it?")) == "yes"
    priced = told(exporter, f"chat {listed.partition(':')[2]}")
    assert priced["lexigraph.cost.usd"] == pytest.approx((120 * input_ + 8 * output) / 1e6)
    assert "lexigraph.cost.usd" not in told(exporter, "chat other")


def test_spans_reach_the_daemon_of_x_ray_below_the_call_of_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(10)
        made = TracerProvider()
        monkeypatch.setenv("AWS_XRAY_DAEMON_ADDRESS", f"127.0.0.1:{daemon.getsockname()[1]}")
        made.add_span_processor(SimpleSpanProcessor(XRayExporter()))
        telemetry.use(made)
        begun = f"{int(time.time()):08x}"
        try:
            header = f"Root=1-{begun}-aaaaaaaaaaaaaaaaaaaaaaaa;Parent=bbbbbbbbbbbbbbbb"
            with telemetry.joined({"x-amzn-trace-id": f"{header};Sampled=0"}), telemetry.span("not sampled"):
                pass
            with telemetry.span("no trace of X-Ray"):
                pass
            with (
                telemetry.joined({"x-amzn-trace-id": f"{header};Sampled=1"}),
                pytest.raises(ValueError, match="secret"),
                telemetry.span("GET /documents/{id}", "client") as span,
            ):
                span.set({"db.system.name": "aws.neptune"})
                raise ValueError("secret")
        finally:
            telemetry.use(None)
        first, document = daemon.recv(65_535).split(b"\n", 1)
    sent = json.loads(document)
    assert json.loads(first) == {"format": "json", "version": 1}
    assert sent.pop("end_time") >= sent.pop("start_time")
    assert len(sent.pop("id")) == 16
    assert sent == {
        "name": "GET /documents/id",
        "trace_id": f"1-{begun}-aaaaaaaaaaaaaaaaaaaaaaaa",
        "parent_id": "bbbbbbbbbbbbbbbb",
        "type": "subsegment",
        "namespace": "remote",
        "fault": True,
        "metadata": {"lexigraph": {"db.system.name": "aws.neptune", "error.type": "ValueError"}},
    }
