"""Spans as subsegments of AWS X-Ray, handed by UDP to the daemon that runs beside every Lambda function.

https://docs.aws.amazon.com/xray/latest/devguide/xray-api-segmentdocuments.html
"""

import json
import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

_HEADER = b'{"format": "json", "version": 1}\n'
_ROOT = re.compile(r"1-([0-9a-f]{8})-([0-9a-f]{24})")
_NOT_IN_NAMES = re.compile(r"[^\w\s.:/%&#=+\\@-]")
_MOST_BYTES = 63_000  # of a datagram
_KEPT_SECONDS = 28 * 86_400  # X-Ray takes no trace that began 30 days ago


def parent_of(header: str) -> trace.SpanContext | None:
    """Return the span that ``Root=1-...;Parent=...;Sampled=1`` names, None where it names none."""
    given = dict(part.strip().partition("=")[::2] for part in header.split(";"))
    root, parent = _ROOT.fullmatch(given.get("Root", "")), given.get("Parent", "")
    if not root or not re.fullmatch("[0-9a-f]{16}", parent):
        return None
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED if given.get("Sampled") == "1" else trace.TraceFlags.DEFAULT)
    return trace.SpanContext(int(root[1] + root[2], 16), int(parent, 16), is_remote=True, trace_flags=flags)


class XRayExporter(SpanExporter):
    """Sends each span by itself to the daemon of ``AWS_XRAY_DAEMON_ADDRESS``.

    A trace that was not begun by X-Ray is left out: its id is none of X-Ray's.
    """

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        # looked up and opened each time: a function may go on from a snapshot of another host
        host, _, port = os.environ.get("AWS_XRAY_DAEMON_ADDRESS", "127.0.0.1:2000").rpartition(":")
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
                daemon.setblocking(False)
                for document in filter(None, map(subsegment, spans)):
                    data = _HEADER + json.dumps(document, separators=(",", ":")).encode()
                    if len(data) <= _MOST_BYTES:
                        daemon.sendto(data, (host, int(port)))
        except (OSError, ValueError):
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS


def subsegment(span: ReadableSpan) -> dict[str, Any] | None:
    """Return a span as X-Ray takes it, None for one that it would refuse."""
    found, parent = span.context, span.parent
    if found is None or parent is None or span.start_time is None or span.end_time is None:
        return None
    number = f"{found.trace_id:032x}"
    if abs(int(number[:8], 16) - time.time()) > _KEPT_SECONDS:
        return None
    attributes: Mapping[str, Any] = span.attributes or {}
    document: dict[str, Any] = {
        "name": _NOT_IN_NAMES.sub("", span.name)[:200],
        "id": f"{found.span_id:016x}",
        "trace_id": f"1-{number[:8]}-{number[8:]}",
        "parent_id": f"{parent.span_id:016x}",
        "type": "subsegment",
        "start_time": span.start_time / 1e9,
        "end_time": span.end_time / 1e9,
        "metadata": {"lexigraph": dict(attributes)},
    }
    if span.kind is trace.SpanKind.CLIENT:
        document["namespace"] = "remote"
    # what traces are searched by
    names = {"job_id": "lexigraph.job.id", "request_id": "lexigraph.request.id"}
    if told := {name: attributes[key] for name, key in names.items() if key in attributes}:
        document["annotations"] = told
    if span.status.status_code is trace.StatusCode.ERROR:
        document["fault"] = True
    return document
