"""Spans that are recorded. Only imported once telemetry is on."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self, TypeVar

from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from lexigraph.telemetry.xray import parent_of

T = TypeVar("T")
_KEY = context.create_key("lexigraph-span")
_KINDS = {"internal": trace.SpanKind.INTERNAL, "client": trace.SpanKind.CLIENT, "server": trace.SpanKind.SERVER}
_W3C = TraceContextTextMapPropagator()
_END = object()
_FLUSH_SECONDS = 5.0


class Span:
    """A span of OpenTelemetry. ``of`` is the store or model that it is a call of; ``price`` dollars a million tokens."""

    def __init__(self, tracer: trace.Tracer, name: str, kind: str) -> None:
        self._tracer, self._name, self._kind = tracer, name, _KINDS[kind]
        self.of: object = None
        self.price: tuple[float, float] | None = None
        self._read = self._written = 0
        self._lock = Lock()

    def __enter__(self) -> Self:
        self._begin()
        self._token = self._attach()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        context.detach(self._token)
        if error is not None:
            self.fail(error)
        self._span.end()

    def set(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes; those that are None or empty text are left out."""
        self._span.set_attributes({name: value for name, value in attributes.items() if value not in (None, "")})

    def rename(self, name: str) -> None:
        """Give the span another name."""
        self._span.update_name(name)

    def fail(self, error: BaseException | str) -> None:
        """Mark the span as failed, by the class of the error alone."""
        self._span.set_attribute("error.type", error if isinstance(error, str) else type(error).__name__)
        self._span.set_status(trace.StatusCode.ERROR)

    def around(self, items: Iterable[T], first: Callable[[float], None] = lambda _: None) -> Iterator[T]:
        """Yield items. The span is current while one is made, and ends with the last one or when it is closed.

        ``first`` is told the seconds until the first one.
        """
        self._begin()
        began, told = time.perf_counter(), False
        coming = iter(items)
        try:
            while True:
                token = self._attach()
                try:
                    item: Any = next(coming, _END)
                finally:
                    context.detach(token)
                if item is _END:
                    return
                if not told:
                    first(time.perf_counter() - began)
                    told = True
                yield item
        except GeneratorExit:
            raise
        except BaseException as error:
            self.fail(error)
            raise
        finally:
            if close := getattr(coming, "close", None):
                close()
            self._span.end()

    def use(self, read: int | None, written: int | None, finish: str, model: str) -> None:
        """Add what a model call took."""
        with self._lock:
            self._read, self._written = self._read + (read or 0), self._written + (written or 0)
            total = self._read, self._written
        self.set(
            {
                "gen_ai.usage.input_tokens": total[0] if read is not None else None,
                "gen_ai.usage.output_tokens": total[1] if written is not None else None,
                "gen_ai.response.model": model,
            }
        )
        if finish:
            self._span.set_attribute("gen_ai.response.finish_reasons", [finish])
        if self.price and (read is not None or written is not None):
            usd = sum(tokens * price for tokens, price in zip(total, self.price, strict=True)) / 1e6
            self._span.set_attribute("lexigraph.cost.usd", round(usd, 9))

    def _begin(self) -> None:
        # errors are recorded by `fail`: what OpenTelemetry records of them holds their text
        self._span = self._tracer.start_span(
            self._name, kind=self._kind, record_exception=False, set_status_on_exception=False
        )

    def _attach(self) -> Any:
        return context.attach(context.set_value(_KEY, self, trace.set_span_in_context(self._span)))


class Live:
    """What is recorded in this process: with which provider, and what of it may hold text and tenants."""

    def __init__(self, provider: TracerProvider, *, content: bool, tenant: bool) -> None:
        self.content, self.tenant = content, tenant
        self._provider = provider
        self._tracer = provider.get_tracer("lexigraph", import_module("lexigraph").__version__)

    def span(self, name: str, kind: str = "internal") -> Span:
        """Return a span that has not begun."""
        return Span(self._tracer, name, kind)

    def carried(self, work: Callable[..., T]) -> Callable[..., T]:
        """Return a function that runs in the context of now."""
        here = context.get_current()

        @wraps(work)
        def run(*args: Any, **options: Any) -> T:
            token = context.attach(here)
            try:
                return work(*args, **options)
            finally:
                context.detach(token)

        return run

    @contextmanager
    def joined(self, parents: Mapping[str, str]) -> Iterator[None]:
        """Continue the trace of a caller; inside of one that goes on already nothing changes."""
        found = context.get_current()
        if not trace.get_current_span().get_span_context().is_valid:
            found = _W3C.extract(parents, found)
            if not trace.get_current_span(found).get_span_context().is_valid and (
                parent := parent_of(parents.get("x-amzn-trace-id", ""))
            ):
                found = trace.set_span_in_context(trace.NonRecordingSpan(parent), found)
        token = context.attach(found)
        try:
            yield
        finally:
            context.detach(token)

    def parents(self) -> dict[str, str]:
        """Return the headers that name the current span."""
        headers: dict[str, str] = {}
        _W3C.inject(headers)
        return headers

    def flush(self) -> None:
        """Send what has ended."""
        # in a thread: batches of OpenTelemetry take no notice of a timeout
        sending = Thread(target=self._provider.force_flush, daemon=True)
        sending.start()
        sending.join(_FLUSH_SECONDS)

    def usage(self, read: int | None, written: int | None, finish: str, model: str) -> None:
        """Add to the current span, if it is that of a model call."""
        if isinstance(span := context.get_value(_KEY), Span) and span.of is not None:
            span.use(read, written, finish, model)


def inside(of: object) -> bool:
    """Return whether the current span is a call of this store or model: what it does then is part of that call."""
    return isinstance(span := context.get_value(_KEY), Span) and span.of is of
