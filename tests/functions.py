"""The functions as they are deployed, in this process: environment, events and light models, over stores on loopback."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from functions import runtime, work
from functions.invoke import EVENTS as EVENTS
from functions.invoke import invoke as called
from functions.start import once
from infra.state_machine import FUNCTIONS
from lexigraph.ingestion.workflow.steps import Steps
from lexigraph.settings import load_settings
from lexigraph.storage.factory import open_stores
from lexigraph.storage.protocols import Stores
from tests.laptop import open_laptop
from tests.models import SentenceExtractor, WordEmbedder
from tests.standins.aws_server import ENVIRONMENT, REGION
from tests.standins.cloud import Cloud
from tests.standins.lambda_runtime import payload

INBOX = "lexigraph-inbox"  # as the payloads name it
KEY = "default/default/harbour.md"
ALL = (*FUNCTIONS, "start", "authorize", "query", "manage", "curate")


def invoke(name: str, event: Any) -> Any:
    """Call a function as Lambda does, which takes no larger event and hands on no larger reply than 6 MB."""
    return payload(called(name, payload(event)))


def event(name: str, **replaced: Any) -> dict[str, Any]:
    """Return a payload of ``events/``, with values replaced wherever they stand under these names."""
    return _replaced(json.loads((EVENTS / f"{name}.json").read_text().replace(INBOX, inbox())), replaced)


def message(name: str, **replaced: Any) -> dict[str, Any]:
    """Return a queue's payload with values replaced in the event inside."""
    found = event(name)
    for record in found["Records"]:
        record["body"] = json.dumps(_replaced(json.loads(record["body"]), replaced))
    return found


def inbox() -> str:
    """Return the bucket of the deployment."""
    return work.inbox().place.name


def _replaced(value: Any, replaced: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {k: replaced.get(k.replace("-", "_"), _replaced(v, replaced)) for k, v in value.items()}
    return [_replaced(v, replaced) for v in value] if isinstance(value, list) else value


@dataclass
class Deployed:
    """What a deployment consists of: ``arn`` is that of its state machine."""

    cloud: Cloud
    stores: Stores
    steps: Steps
    arn: str

    def put(self, text: str, key: str = KEY, **options: Any) -> str:
        """Put a file into the inbox; return its version."""
        told = self.cloud.client("s3").put_object(Bucket=inbox(), Key=key, Body=text.encode(), **options)
        return str(told["VersionId"])

    def delete(self, key: str = KEY) -> None:
        """Delete a file from the inbox."""
        self.cloud.client("s3").delete_object(Bucket=inbox(), Key=key)

    def started(self) -> list[dict[str, Any]]:
        """Return the inputs of the executions that were started, oldest first."""
        return self.cloud.started(self.arn)


@contextmanager
def deployed(
    folder: Path, *, aws: bool = False, carried_out: bool = False, words: bool = False, **environment: str
) -> Iterator[Deployed]:
    """Deploy the functions into this process: over embedded stores, or with registry, cache and files on ``aws``.

    The extractor is a light one, the embedder that of the settings, or with ``words`` a light one, too. ``carried_out``
    lets the state machine run.
    """
    from infra.state_machine import definition

    handlers = {name: lambda payload, name=name: invoke(name, payload) for name in ALL}
    with patch.dict(os.environ), Cloud(handlers) as cloud:
        name = f"{INBOX}-{cloud.port}"  # moto keeps buckets and tables for the whole process
        there = cloud.s3(name)
        cloud.client("s3").put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
        os.environ |= {
            **ENVIRONMENT,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": cloud.url,
            "POWERTOOLS_LOG_LEVEL": "CRITICAL",
            "LEXIGRAPH_DATA": str(folder),
            "LEXIGRAPH_INBOX": there,
            "LEXIGRAPH_ARTEFACT_STORE": cloud.s3(f"artefacts-{cloud.port}", "work"),
            **environment,
        }
        if aws:
            os.environ |= cloud.stores()
        arns = {name: cloud.arn(name) for name in FUNCTIONS}
        with cloud.state_machine(definition(arns), carried_out=carried_out) as arn:
            os.environ["LEXIGRAPH_WORKFLOW"] = arn
            forget()
            stores = open_laptop(folder) if words else open_stores(load_settings(), create=True)
            light = WordEmbedder() if words else None
            steps = Steps(load_settings(), stores=stores, embedder=light, extractor=SentenceExtractor())
            work.use(steps)
            try:
                yield Deployed(cloud, stores, steps, arn)
            finally:
                work.use(None)
                stores.close()
                forget()


def forget() -> None:
    for made in (runtime.settings, runtime.registry, work.inbox, work.workflow, once._kept):
        made.cache_clear()
    for name in ("query", "manage", "curate"):  # which make their application when they are loaded
        sys.modules.pop(f"functions.{name}.handler", None)
