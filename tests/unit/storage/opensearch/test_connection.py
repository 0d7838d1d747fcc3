"""Where a collection is: one form of connection string, everything else refused without showing secrets."""

import pytest

from lexigraph.model.errors import Misconfigured
from lexigraph.storage.opensearch.connection import Place, parse_place
from lexigraph.storage.opensearch.schema import index_name

HOST = "abc123.eu-west-1.aoss.amazonaws.com"
NEXT = "abc123.aoss.eu-west-1.on.aws"  # of the next generation


@pytest.fixture(autouse=True)
def no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("connection", "place"),
    [
        (f"aoss://https://{HOST}", Place(HOST, 443, True, "eu-west-1")),
        (f"aoss://https://{NEXT}", Place(NEXT, 443, True, "eu-west-1")),
        (f"aoss://https://{HOST}/?region=us-east-1", Place(HOST, 443, True, "us-east-1")),
        (f"aoss://https://{HOST}:8443", Place(HOST, 8443, True, "eu-west-1")),
        ("aoss://http://127.0.0.1:9?region=eu-west-1", Place("127.0.0.1", 9, False, "eu-west-1")),
        ("aoss://http://[::1]:9200?region=eu-west-1", Place("::1", 9200, False, "eu-west-1")),
        ("aoss://http://localhost?region=eu-west-1", Place("localhost", 80, False, "eu-west-1")),
    ],
)  # fmt: skip
def test_a_connection_tells_host_and_region(connection: str, place: Place) -> None:
    assert parse_place(connection) == place


def test_the_region_is_that_of_the_environment_where_the_host_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "ap-southeast-2")
    assert parse_place("aoss://https://search.example.com").region == "ap-southeast-2"
    monkeypatch.setenv("AWS_REGION", "mars")
    with pytest.raises(Misconfigured, match=r"add .region="):
        parse_place("aoss://https://search.example.com")


@pytest.mark.parametrize(
    ("connection", "message"),
    [
        (f"aoss://{HOST}", "expected https://HOST"),
        (f"aoss://ftp://{HOST}", "expected https://HOST"),
        (f"aoss://https://{HOST}?region=eu-west-1&region=us-east-1", "each option at most once"),
        (f"aoss://https://{HOST}?mode=server&registry=secret", "expected aoss://"),
        ("aoss://https://search.example.com", "add .region="),
    ],
)
def test_anything_else_is_refused_and_no_secret_shown(connection: str, message: str) -> None:
    with pytest.raises(Misconfigured, match=message) as caught:
        parse_place(connection)
    assert "secret" not in str(caught.value)


def test_names_of_indexes_carry_the_embedding_where_there_are_vectors() -> None:
    assert index_name("chunk", "minilm-384", 384) == "lexigraph-chunk-minilm-384"
    assert index_name("chunk", "minilm", 384) == "lexigraph-chunk-minilm-384"
    assert index_name("entity", "minilm-384", 384) == "lexigraph-entity"
    assert len({index_name("topic", label, 8) for label in ("a:b", "a/b", "a-b", "A-b")}) == 4
