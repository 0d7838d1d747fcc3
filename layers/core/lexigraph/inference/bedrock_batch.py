"""Batch inference of Amazon Bedrock: many prompts as lines of a file in S3, one job, the replies as lines of another.

About half the price of asking one by one, within a day or more. Records are in the format of Converse; tools are not to be
had there, so the schema stands in the prompt. Putting files into S3 and getting them is the caller's.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lexigraph.inference.bedrock import BedrockLLM
from lexigraph.inference.bedrock_client import BedrockClient
from lexigraph.inference.chat import with_schema
from lexigraph.inference.protocols import MalformedReply, Prompt

LEAST_RECORDS = 100  # a job; quotas of a model may say otherwise
_HOURS = 72


@dataclass(frozen=True, slots=True)
class BatchJob:
    """How a job stands: ``status`` in Bedrock's words, ``message`` why it failed."""

    arn: str
    status: str
    message: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.status in ("Completed", "PartiallyCompleted", "Failed", "Stopped", "Expired")


@dataclass(frozen=True, slots=True)
class BatchReply:
    """The reply to a record: its JSON data, or the ``error`` for which there is none."""

    record: str
    data: Any = None
    error: str = ""


def request_line(
    record: str, llm: BedrockLLM, prompt: Prompt, schema: Mapping[str, Any], *, temperature: bool = True
) -> str:
    """Return the line that asks for a reply of the shape ``schema``; its id is ``record``."""
    body = llm.body(with_schema(prompt, schema), temperature=temperature)
    return json.dumps({"recordId": record, "modelInput": body}, ensure_ascii=False) + "\n"


def read_line(line: bytes | str, llm: BedrockLLM) -> BatchReply | None:
    """Return what a line of the output says; None for one that is of no record."""
    try:
        told = json.loads(line)
        record = told["recordId"]
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(record, str):
        return None
    error = told.get("error")
    if error is not None:
        code = error.get("errorCode", "") if isinstance(error, dict) else ""
        return BatchReply(record, error=f"error {code}".strip())
    try:
        return BatchReply(record, llm.read(told["modelOutput"]))
    except MalformedReply as malformed:
        return BatchReply(record, error="cut off at its end" if malformed.truncated else "no JSON")
    except (KeyError, TypeError, AttributeError, StopIteration):
        return BatchReply(record, error="no reply in it")


class BedrockBatches:
    """Starts jobs of a model and asks for them. Raises ``ModelUnavailable`` as the models do."""

    def __init__(self, model: str, client: BedrockClient) -> None:
        self._model, self._client = model, client

    def start(self, name: str, role: str, source: str, target: str) -> str:
        """Start a job over a file ``s3://.../NAME.jsonl`` that writes below ``target``; return its ARN.

        ``role`` is the ARN of the role with which Bedrock reads and writes there. Of a file that was given before, under the
        same name and to the same target, the job is not started twice.
        """
        token = hashlib.blake2b("\n".join((name, source, target, self._model)).encode(), digest_size=16).hexdigest()
        request = {
            "jobName": name,
            "roleArn": role,
            "modelId": self._model,
            "clientRequestToken": token,
            "modelInvocationType": "Converse",
            "inputDataConfig": {"s3InputDataConfig": {"s3Uri": source, "s3InputFormat": "JSONL"}},
            "outputDataConfig": {"s3OutputDataConfig": {"s3Uri": target}},
            "timeoutDurationInHours": _HOURS,
        }
        return str(self._client.ask("bedrock", "create_model_invocation_job", request)["jobArn"])

    def job(self, arn: str) -> BatchJob:
        """Return how a job stands."""
        told = self._client.ask("bedrock", "get_model_invocation_job", {"jobIdentifier": arn})
        return BatchJob(arn, told["status"], told.get("message", ""))
