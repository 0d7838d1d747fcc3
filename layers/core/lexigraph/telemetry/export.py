"""Where spans go: an OTLP endpoint, the error output, or X-Ray."""

import sys
from importlib import import_module
from typing import Any, Literal

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor


def provider(to: Literal["otlp", "console", "xray"]) -> Any:
    """Return a provider that exports; with ``otlp`` that of the process, where the application has set one up.

    Resource, sampler, limits, endpoint and headers are those of the ``OTEL_*`` variables. What is left is sent at exit.
    """
    if to == "otlp" and isinstance(there := trace.get_tracer_provider(), TracerProvider):
        return there
    made = TracerProvider(resource=_resource())
    made.add_span_processor(_processor(to))
    return made


def _resource() -> Resource:
    found = Resource.create({"service.version": import_module("lexigraph").__version__})
    unnamed = str(found.attributes.get("service.name", "")).startswith("unknown_service")
    return found.merge(Resource({"service.name": "lexigraph"})) if unnamed else found


def _processor(to: str) -> SpanProcessor:
    if to == "console":
        return SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr))
    if to == "xray":  # a function is frozen between calls, and a datagram is not waited for
        from lexigraph.telemetry.xray import XRayExporter

        return SimpleSpanProcessor(XRayExporter())
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return BatchSpanProcessor(OTLPSpanExporter())
