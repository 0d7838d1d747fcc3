"""``lexigraph reembed`` from the first run to the last record of the old model, against Bedrock's wire format."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexigraph.cli.exits import ExitCode
from tests.e2e.commandline import Outcome, here
from tests.laptop import write_pages
from tests.standins.bedrock_server import BedrockServer

TITAN = "bedrock:amazon.titan-embed-text-v2:0"
LABEL = "bedrock-amazon-titan-embed-text-v2-0-256"
NEW = {"LEXIGRAPH_EMBEDDING_MODEL": TITAN, "LEXIGRAPH_EMBEDDING_DIMENSION": "256"}
PAGES = {"Harbour": "The Harbour Office runs Lighthouse.", "Granite": "Granite lies in the cellar of the Harbour Office."}


def titan(operation: str, model: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Count letters: enough to tell texts apart."""
    assert (operation, model, asked["dimensions"]) == ("invoke", "amazon.titan-embed-text-v2:0", 256)
    vector = np.bincount(np.frombuffer(asked["inputText"].encode(), np.uint8), minlength=256).astype(float)
    return {"embedding": (vector / np.linalg.norm(vector)).tolist(), "inputTextTokenCount": 1}


@pytest.fixture
def bedrock(monkeypatch: pytest.MonkeyPatch) -> Iterator[BedrockServer]:
    with BedrockServer(titan) as server:
        for name, value in {
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.url,
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
        }.items():
            monkeypatch.setenv(name, value)
        yield server


def test_a_database_moves_from_one_model_to_another(tmp_path: Path, bedrock: BedrockServer) -> None:
    pages = write_pages(tmp_path / "pages", PAGES)

    def run(*arguments: str | Path, **env: str) -> Outcome:
        return here(*arguments, "--data", tmp_path / "data", env=env)

    assert run("ingest", pages).code == ExitCode.OK
    refused = run("query", "Who runs Lighthouse?", **NEW)
    assert refused.code == ExitCode.INVALID and "run `lexigraph reembed`" in refused.err

    before = len(bedrock.requests)
    begun = run("reembed", "--embedding-model", TITAN, "--embedding-dimension", "256", "--json")
    assert begun.code == ExitCode.OK, begun.err
    assert (begun.code, begun.json["documents"], begun.json["missing"]) == (ExitCode.OK, 2, 0)
    assert (begun.json["source"], begun.json["target"]) == ("minilm-384", LABEL)
    asked = len(bedrock.requests)
    assert asked - before == begun.json["embedded"] > 0
    again = run("reembed", "--embedding-model", TITAN, "--embedding-dimension", "256")
    assert again.code == ExitCode.OK and "0 of them new, 0 texts embedded" in again.out
    assert "next        set LEXIGRAPH_EMBEDDING_MODEL" in again.out

    too_early = run("reembed", "--embedding-model", TITAN, "--embedding-dimension", "256", "--drop-old")
    assert too_early.code == ExitCode.INVALID and "the settings still use minilm-384" in too_early.err

    assert run("ingest", pages, "--json", **NEW).json["documents_unchanged"] == 2
    assert len(bedrock.requests) == asked
    assert "Harbour Office" in run("query", "Who runs Lighthouse?", **NEW).out
    dropped = run("reembed", "--from", "minilm-384", "--drop-old", **NEW)
    assert dropped.code == ExitCode.OK and "all records of minilm-384 are deleted" in dropped.out
    assert "holds vectors of bedrock" in run("query", "Who runs Lighthouse?").err
    assert "Harbour Office" in run("query", "Who runs Lighthouse?", **NEW).out


def test_what_cannot_be_meant_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    write_pages(tmp_path / "pages", PAGES)
    data = ("--data", tmp_path / "data")
    assert here("reembed", "--embedding-model", TITAN, *data).code == ExitCode.NOT_FOUND
    assert not (tmp_path / "data").exists()
    assert here("ingest", tmp_path / "pages", *data).code == ExitCode.OK
    for arguments, said in (
        ((), "minilm-384: is already in use"),
        (("--embedding-dimension", "256"), "need --embedding-model"),
        (("--from", "minilm"), "label must end with the dimension"),
        (("--embedding-model", "bedrock:unknown"), "LEXIGRAPH_EMBEDDING_DIMENSION"),
        (("--embedding-model", TITAN, "--embedding-options", "[1]"), "must be a JSON object"),
    ):
        refused = here("reembed", *arguments, *data)
        assert refused.code == ExitCode.INVALID and said in refused.err, refused.err
