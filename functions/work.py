"""What the functions of an ingest work with, made when first needed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from functions.payloads import Failure, Run
from functions.runtime import logger, settings, told
from lexigraph import telemetry
from lexigraph.ingestion.workflow.aws import Inbox, Workflow
from lexigraph.ingestion.workflow.file_run import FileRun, Stale, Superseded
from lexigraph.ingestion.workflow.steps import Steps
from lexigraph.model import errors


class _Given:
    steps: Steps | None = None


def use(steps: Steps | None) -> None:
    """Let the functions of this process work with these steps, None: with those of the settings."""
    _Given.steps = steps


def steps() -> Steps:
    """Return the steps over the stores and models of the settings."""
    return _Given.steps or _of_settings()


@cache
def _of_settings() -> Steps:
    return Steps(settings())


@cache
def inbox() -> Inbox:
    """Return where files to take in lie."""
    return Inbox(settings().inbox)


@cache
def workflow() -> Workflow:
    """Return the state machine."""
    return Workflow(settings().workflow)


@contextmanager
def step(name: str, run: Run) -> Iterator[tuple[Steps, FileRun]]:
    """Do a step of a run: in the log under its job, its failure told to the job."""
    logger.append_keys(job_id=run.job_id, tenant=run.tenant, step=name)
    of_file, all_steps = run.file_run(), steps()
    noted = told(name, lambda error: all_steps.note(of_file, name, error), quiet=(Superseded, Stale))
    with telemetry.span(name) as span, noted:
        span.set({"lexigraph.job.id": run.job_id})
        yield all_steps, of_file


def reason_of(failure: Failure) -> str:
    """Return what may be told of a failure that the state machine caught: for errors of ours what they say."""
    try:
        cause = json.loads(failure.cause)
        kind, message = str(cause["errorType"]), str(cause["errorMessage"])
    except (ValueError, KeyError, TypeError):
        return failure.error
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, errors.LexigraphError):
        return errors.in_general(known(message))
    return message if kind == "StepFailed" else kind
