"""Traces by OpenTelemetry. While they are off nothing of it is imported, and a span is one shared object.

``LEXIGRAPH_TELEMETRY`` switches them on; the ``OTEL_*`` variables of OpenTelemetry apply. An application that has its own
tracer provider hands it to :func:`use`.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from lexigraph.model.errors import Misconfigured
from lexigraph.settings import Settings

if TYPE_CHECKING:
    from lexigraph.telemetry.live import Live, Span

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Kind = Literal["internal", "client", "server"]
_live: "Live | None" = None


class Off:
    """The span that is not recorded. It is false, so that attributes are only collected for those that are."""

    __slots__ = ()

    def __bool__(self) -> Literal[False]:
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def set(self, attributes: Mapping[str, Any]) -> None:
        """Do nothing."""


_OFF = Off()


def start(settings: Settings) -> None:
    """Begin to record spans, where the settings ask for it; once a process.

    Raise ``Misconfigured`` when the packages of ``lexigraph[otel]`` are missing.
    """
    if settings.telemetry == "off" or _live is not None:
        return
    needed = "opentelemetry.exporter.otlp.proto.http" if settings.telemetry == "otlp" else "opentelemetry.sdk.trace"
    try:
        there = find_spec(needed) is not None
    except ModuleNotFoundError:
        there = False
    if not there:
        raise Misconfigured(
            f'LEXIGRAPH_TELEMETRY={settings.telemetry} needs OpenTelemetry; run: pip install "lexigraph[otel]"'
        )
    from lexigraph.telemetry.export import provider

    use(provider(settings.telemetry), content=settings.telemetry_content, tenant=settings.telemetry_tenant)


def use(provider: Any, *, content: bool = False, tenant: bool = False) -> None:
    """Record spans with an OpenTelemetry ``TracerProvider``; None stops recording.

    It applies to stores and models that are opened afterwards. ``content`` allows questions, prompts and answers as
    attributes, ``tenant`` the names of tenants.
    """
    global _live  # what is recorded is a matter of the process
    if provider is None:
        _live = None
        return
    from lexigraph.telemetry.live import Live

    _live = Live(provider, content=content, tenant=tenant)


def on() -> bool:
    """Return whether spans are recorded."""
    return _live is not None


def content() -> bool:
    """Return whether questions, prompts and answers may be recorded."""
    return _live is not None and _live.content


def span(name: str, kind: Kind = "internal") -> "Span | Off":
    """Return a span to be entered: a child of the current one, and current as long as its block lasts.

    An error that leaves the block is recorded by the name of its class; its message may quote a document.
    """
    return _OFF if _live is None else _live.span(name, kind)


def each(name: str, items: Iterable[T]) -> Iterable[T]:
    """Return the items; a span lasts from the first to the last, and is current only while one is made."""
    return items if _live is None else _live.span(name).around(items)


def carried(work: F) -> F:
    """Return a function that records its spans below the current one, in whatever thread it is called."""
    return work if _live is None else _live.carried(work)  # type: ignore[return-value]  # has the same signature


def joined(parents: Mapping[str, str]) -> AbstractContextManager[Any]:
    """Continue a caller's trace as long as the block lasts.

    ``parents`` are headers by lower-case name: ``traceparent`` of W3C, or ``x-amzn-trace-id`` of X-Ray.
    """
    return _OFF if _live is None else _live.joined(parents)


def parents() -> dict[str, str]:
    """Return the headers by which :func:`joined` continues the current trace elsewhere; none while off or outside a span."""
    return {} if _live is None else _live.parents()


def flush() -> None:
    """Send the spans that have ended, for up to 5 seconds: a process that is killed sends no more."""
    if _live is not None:
        _live.flush()


def owned(span: "Span | Off", tenant: str) -> None:
    """Note the tenant of a span, where the settings allow that."""
    if _live is not None and _live.tenant:
        span.set({"lexigraph.tenant": tenant})


def usage(read: int | None, written: int | None = None, finish: str = "", model: str = "") -> None:
    """Add the tokens of a model call to its span, with why it ended and which model answered, where that is known."""
    if _live is not None:
        _live.usage(read, written, finish, model)
