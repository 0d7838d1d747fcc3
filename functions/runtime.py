"""What the functions share: logger, tracer, metrics, and what they work with, made once an environment from the settings.

A function gets its event checked by a model; ``{"warmup": true}`` it answers without doing anything, ``{"probe": ...}`` by
trying what it depends on (``functions/probes/run.py``).
"""

import os
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.parser import parse

from functions.settings import settings as settings
from lexigraph import telemetry
from lexigraph.model.errors import Conflict, LexigraphError, Misconfigured, ModelUnavailable, StoreUnavailable
from lexigraph.storage.factory import RegistryFactory
from lexigraph.storage.protocols import Registry

E = TypeVar("E")
Handler = Callable[[dict[str, Any], Any], Any]
# opensearch-py without its asynchronous half, which loads aiohttp: a fifth of what a cold start takes
for _half in ("opensearchpy._async.client", "opensearchpy.connection.http_async"):
    sys.modules.setdefault(_half, None)  # type: ignore[arg-type]  # with None an import fails, which the package expects
with suppress(ImportError):  # it comes with the runtime client, which `stream` has not
    from snapshot_restore_py import register_after_restore  # type: ignore[import-untyped]  # has no types

    register_after_restore(random.seed)  # otherwise all environments of a snapshot would pause alike between tries

invocation: ContextVar[Any] = ContextVar("invocation")  # what Lambda says of the call under way

logger = Logger(service="lexigraph")
tracer = Tracer(service="lexigraph")
metrics = Metrics(namespace="Lexigraph", service="lexigraph")


class StepFailed(LexigraphError):
    """A step met an error that nobody foresaw: its kind is told, its message, which may quote a document, is not."""

    code = "step_failed"


@cache
def registry() -> Registry:
    """Return the registry."""
    return RegistryFactory.for_registry(settings().connections["registry"])


def function(model: type[E]) -> Callable[[Callable[[E], Any]], Handler]:
    """Make a handler out of a function of an event that is checked by a model; ``dict[str, Any]`` takes all."""

    def decorate(work: Callable[[E], Any]) -> Handler:
        @logger.inject_lambda_context(clear_state=True)
        @tracer.capture_lambda_handler(capture_response=False, capture_error=False)
        @metrics.log_metrics(capture_cold_start_metric=True)
        def handler(event: dict[str, Any], context: Any) -> Any:
            invocation.set(context)
            if event.get("warmup"):
                metrics.add_metric(name="WarmUps", unit=MetricUnit.Count, value=1)
                return {"warm": True}
            if "probe" in event:
                from functions.probes.run import run  # what it loads, no other call needs

                metrics.add_metric(name="Probes", unit=MetricUnit.Count, value=1)
                return run(event["probe"])
            metrics.add_metric(name="Calls", unit=MetricUnit.Count, value=1)
            telemetry.start(settings())
            with telemetry.joined({"x-amzn-trace-id": os.environ.get("_X_AMZN_TRACE_ID", "")}):
                return work(parse(event=event, model=model))

        made: Handler = handler
        return made

    return decorate


@contextmanager
def told(
    step: str, note: Callable[[BaseException], None] = lambda _: None, *, quiet: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Count a step, and have its failure noted and logged; what is not ours goes on as :class:`StepFailed`."""
    passed: tuple[type[Exception], ...] = (Conflict, *quiet)
    try:
        yield
        metrics.add_metric(name=f"{step.capitalize()}Done", unit=MetricUnit.Count, value=1)
    except passed:
        raise
    except LexigraphError as error:
        failed(step, error)
        note(error)
        raise
    except Exception as error:  # noqa: BLE001  # whatever it is, its text stays here
        failed(step, error)
        note(error)
        raise StepFailed(f"{step}: {type(error).__name__}") from None


def failed(step: str, error: BaseException, **of: str) -> None:
    """Count and log a failure; what it says only where whoever runs this can mend it: any other may quote a document."""
    frames = [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
    reason = {"reason": str(error)} if isinstance(error, (StoreUnavailable, ModelUnavailable, Misconfigured)) else {}
    told = {"step": step, "error": type(error).__name__, **reason, "frames": frames[-8:], **of}
    logger.error("step failed", extra=told)
    metrics.add_metric(name=f"{step.capitalize()}Failed", unit=MetricUnit.Count, value=1)
