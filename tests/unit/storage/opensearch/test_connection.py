"""Where a collection is: one form of connection string, everything else refused without showing secrets."""

from collections import Counter

import pytest

from lexigraph.model.errors import Misconfigured
from lexigraph.model.tenant import Tenant
from lexigraph.storage.opensearch.connection import Place, parse_place
from lexigraph.storage.opensearch.schema import Names, share_of

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
        (f"aoss://https://{HOST}?indexes=64", Place(HOST, 443, True, "eu-west-1", 64)),
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
        *((f"aoss://https://{HOST}?indexes={n}", "indexes must be 1 to 64") for n in ("0", "65", "-1", "8.0", "many")),
    ],
)
def test_anything_else_is_refused_and_no_secret_shown(connection: str, message: str) -> None:
    with pytest.raises(Misconfigured, match=message) as caught:
        parse_place(connection)
    assert "secret" not in str(caught.value)


def test_names_of_indexes_carry_the_embedding_where_there_are_vectors() -> None:
    assert Names("minilm-384", 384).of("chunk") == "lexigraph-chunk-minilm-384"
    assert Names("minilm", 384).of("chunk") == "lexigraph-chunk-minilm-384"
    assert Names("minilm-384", 384).of("entity") == "lexigraph-entity"
    assert len({Names(label, 8).of("topic") for label in ("a:b", "a/b", "a-b", "A-b")}) == 4


def test_tenants_are_divided_evenly_among_indexes_and_always_alike() -> None:
    # where records of a release before lie
    assert [share_of(Tenant(name), 8) for name in ("default", "a", "b")] == ["02-", "07-", "05-"]
    assert Names("minilm-384", 384, "02-").of("chunk") == "lexigraph-02-chunk-minilm-384"
    assert share_of(Tenant("default"), 1) == ""
    shares = Counter(share_of(Tenant(f"t{n}"), 8) for n in range(1_000))
    assert len(shares) == 8 and max(shares.values()) < 160
