"""A back end of traces, which takes OTLP over HTTP."""

from http.server import BaseHTTPRequestHandler

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from tests.standins.loopback import LoopbackServer, send


class OtlpServer(LoopbackServer):
    """Takes ``POST /v1/traces``, as every OTLP back end does. ``bodies`` are what it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[bytes] = []

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        assert (request.path, request.headers["Content-Type"]) == ("/v1/traces", "application/x-protobuf")
        self.bodies.append(body)
        send(request, 200, b"", "application/x-protobuf")

    def resources(self) -> list[ResourceSpans]:
        """Return what was sent, by the process it is of."""
        return [one for body in self.bodies for one in ExportTraceServiceRequest.FromString(body).resource_spans]

    def spans(self) -> list[Span]:
        """Return all spans."""
        return [span for one in self.resources() for scope in one.scope_spans for span in scope.spans]
