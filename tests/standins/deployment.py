"""A deployment of profile dev on loopback, with documents: Neptune, OpenSearch Serverless, DynamoDB, S3 and Bedrock."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.settings import load_settings
from tests.laptop import write_pages
from tests.models import SentenceExtractor, WordEmbedder
from tests.standins.aws_server import ENVIRONMENT, REGION, AwsServer
from tests.standins.bedrock_server import BedrockServer, message, streamed
from tests.standins.neptune import NeptuneStandIn
from tests.standins.opensearch import OpenSearchServer

PAGES = {
    "Tidewater": "Tidewater is owned by the Heron Team.\n\nTidewater runs on Neptune since 2019.",
    "Heron Team": "The Heron Team is led by Ines Calloway.",
}
ANSWER = "The Heron Team is led by Ines Calloway [S1]."
DIMENSION = 1_024  # of Titan


@contextmanager
def aws_deployment(**settings: str) -> Iterator[dict[str, str]]:
    """Make it, and take :data:`PAGES` in; the value is the environment of its functions, with ``settings`` added."""
    with ExitStack() as stack:
        neptune = stack.enter_context(NeptuneStandIn())
        vectors = stack.enter_context(OpenSearchServer())
        aws = stack.enter_context(AwsServer())
        bedrock = stack.enter_context(BedrockServer(_model))
        environment = {
            **ENVIRONMENT,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock.url,
            "LEXIGRAPH_GRAPH_STORE": neptune.connection,
            "LEXIGRAPH_VECTOR_STORE": vectors.connection,
            **aws.stores(),
            "LEXIGRAPH_EMBEDDING_MODEL": "bedrock:amazon.titan-embed-text-v2:0",
            "LEXIGRAPH_LLM": "bedrock:global.anthropic.claude-haiku-4-5-20251001-v1:0",
            "LEXIGRAPH_RELATIONS": "false",
            **settings,
        }
        stack.enter_context(patch.dict(os.environ, environment))
        folder = Path(stack.enter_context(TemporaryDirectory()))
        with LexicalGraphIndex(extractor=SentenceExtractor(), settings=load_settings()) as index:
            assert not index.ingest([write_pages(folder, PAGES)]).failures
        yield environment


def _model(operation: str, _: str, asked: dict[str, Any]) -> Any:
    if operation == "invoke":
        words = WordEmbedder().embed_passages([asked["inputText"]])[0].tolist()
        return {"embedding": words + [0.0] * (DIMENSION - len(words)), "inputTextTokenCount": 1}
    return message(ANSWER) if operation == "converse" else streamed(ANSWER.split(" "))
