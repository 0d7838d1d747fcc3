"""What traces cost: a span while they are off and on, and a question. ``python -m bench.telemetry``."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lexigraph import telemetry
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.retrieval import TraversalBasedRetriever
from lexigraph.settings import Settings
from lexigraph.storage.factory import open_stores

_CORPUS = Path(__file__).parent.parent / "examples" / "corpus"


def main() -> None:
    """Print microseconds a span and milliseconds a question, off and on."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), threads=1)
        with LexicalGraphIndex(settings=settings) as index:
            index.ingest([_CORPUS])
        for name in ("off", "on", "off", "on"):
            provider = TracerProvider()
            provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
            telemetry.use(provider if name == "on" else None)
            stores = open_stores(settings)
            retriever = TraversalBasedRetriever(stores.graph, stores.vectors, settings=settings)
            span = _seconds(_span, 20_000) * 1e6
            question = _seconds(lambda asked=retriever: asked.retrieve("default", "Who runs Tidewater?"), 100) * 1e3
            print(f"{name:3}  {span:6.2f} us a span  {question:6.2f} ms a question")
            stores.close()
            provider.shutdown()


def _span() -> None:
    with telemetry.span("step"):
        pass


def _seconds(work: Callable[[], object], times: int) -> float:
    """Return the median of five."""
    found = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times // 5):
            work()
        found.append((time.perf_counter() - began) / (times // 5))
    return median(found)


if __name__ == "__main__":
    main()
