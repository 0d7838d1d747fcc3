"""The rules of connection strings, over all back ends that a rule holds for."""

from collections.abc import Callable
from typing import Any

import pytest

from lexigraph.ingestion.workflow.aws import Inbox
from lexigraph.model.errors import Misconfigured
from lexigraph.storage.common.connection import Endpoint, read_connection, read_endpoint, region_in
from lexigraph.storage.common.folders import embedded_folder
from lexigraph.storage.dynamodb.items import Table
from lexigraph.storage.files.documents import FileDocumentStore
from lexigraph.storage.neptune.address import NeptuneAddress
from lexigraph.storage.neptune.client import signing_session
from lexigraph.storage.opensearch.connection import parse_place
from lexigraph.storage.s3.documents import S3DocumentStore

Reader = Callable[[str], Any]
# what reads the string of a back end, and one without options
AWS: dict[str, tuple[Reader, str]] = {
    "s3": (lambda text: S3DocumentStore(text).place, "s3://bucket/a/prefix"),
    "inbox": (lambda text: Inbox(text).place, "s3://bucket"),
    "dynamodb": (lambda text: Table(text).place, "dynamodb://a.Table-1"),
    "neptune": (NeptuneAddress.parse, "neptune-db://host.example.org"),
    "opensearch": (parse_place, "aoss://https://host.example.org"),
}
FOLDERS: dict[str, tuple[Reader, str]] = {
    "sqlite": (embedded_folder, "sqlite"),
    "file": (lambda text: FileDocumentStore(text).folder, "file"),
}
WITH_ENDPOINT = ("s3", "inbox", "dynamodb")
# where a host may stand, with TLS or without
HOSTS: dict[str, Callable[[str, bool], Any]] = {
    "neptune": lambda host, tls: NeptuneAddress.parse(f"neptune-db://{host}{'' if tls else '?tls=off'}"),
    "neptune read": lambda host, tls: NeptuneAddress.parse(f"neptune-db://[::1]?read={host}{'' if tls else '&tls=off'}"),
    "opensearch": lambda host, tls: parse_place(f"aoss://http{'s' * tls}://{host}?region=eu-west-1"),
    "s3 endpoint": lambda host, tls: S3DocumentStore(f"s3://bucket?endpoint=http{'s' * tls}://{host}"),
    "dynamodb endpoint": lambda host, tls: Table(f"dynamodb://table?endpoint=http{'s' * tls}://{host}"),
}
ANY_HOST = ("neptune", "neptune read", "opensearch")


@pytest.fixture(autouse=True)
def no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


def refused(reader: Reader, text: str, expected: str) -> None:
    """Show that a string is refused with the name of its scheme and what is expected, and nothing else of it."""
    with pytest.raises(Misconfigured, match=expected) as caught:
        reader(text)
    assert f"{text.partition(':')[0]} connection: " in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", AWS)
@pytest.mark.parametrize(
    "region",
    ["eu-west-1", "us-gov-west-1", "us-isob-east-1", "eu-isoe-west-1", "mx-central-1", "cn-north-1", "eusc-de-east-1"],
)
def test_every_region_of_aws_is_one_for_every_back_end(name: str, region: str) -> None:
    reader, text = AWS[name]
    assert reader(f"{text}?region={region}").region == region


@pytest.mark.parametrize("name", AWS)
@pytest.mark.parametrize("region", ["mars", "Frankfurt", "secret", "eu-west-", "eu-west-1.evil.example", "EU-WEST-1"])
def test_what_is_no_region_is_refused(name: str, region: str) -> None:
    reader, text = AWS[name]
    refused(reader, f"{text}?region={region}", "connection: region must look like eu-west-1$")


@pytest.mark.parametrize("name", AWS)
@pytest.mark.parametrize(
    "query",
    ["region=eu-west-1&region=eu-west-2", "regoin=eu-west-1", "region=eu-west-1&token=secret", "region=", "secret"],
)
def test_each_option_is_known_given_once_and_not_empty(name: str, query: str) -> None:
    reader, text = AWS[name]
    refused(reader, f"{text}?{query}", r"connection: expected [a-z0-9-]+://.*\?region=REGION")


@pytest.mark.parametrize("name", AWS)
def test_a_user_a_fragment_and_another_scheme_are_refused(name: str) -> None:
    reader, text = AWS[name]
    scheme, _, rest = text.partition("://")
    for wrong in (f"user:secret@{rest}", f"{rest}#secret", f"{rest}?region=eu-west-1#secret", ""):
        refused(reader, f"{scheme}://{wrong}", "connection: expected")
    refused(reader, f"{scheme}:{rest}", "connection: expected")
    with pytest.raises(Misconfigured, match=f"^{scheme} connection: expected {scheme}://"):
        reader(f"secret://{rest}")


@pytest.mark.parametrize("name", AWS)
def test_a_path_is_refused_where_none_belongs(name: str) -> None:
    reader, text = AWS[name]
    reader(f"{text}/?region=eu-west-1")
    if name not in ("s3", "inbox"):
        refused(reader, f"{text}/more?region=eu-west-1", "connection: expected")


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "localhost", "localhost:8080", "[::1]", "[::1]:9"])
@pytest.mark.parametrize("tls", [True, False])
def test_a_server_on_this_machine_may_do_without_tls(host: str, address: str, tls: bool) -> None:
    HOSTS[host](address, tls)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "localhost.evil.example", "host", "[2001:db8::1]"])
def test_no_other_server_may(host: str, address: str) -> None:
    with pytest.raises(Misconfigured, match=r"connection: .*this machine only"):
        HOSTS[host](address, False)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    "wrong",
    [
        "ho st",
        "-host",
        "host-",
        "ho_st",
        "a..b",
        "x" * 64,
        "host:0",
        "host:99999",
        "host:secret",
        "[::1",
        ":8182",
        "host/secret",
    ],
)
def test_a_host_is_a_name_or_an_address_with_a_port(host: str, wrong: str) -> None:
    with pytest.raises(Misconfigured, match=r"connection: ") as caught:
        HOSTS[host](wrong, True)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("host", ANY_HOST)
@pytest.mark.parametrize("name", ["db", "DB.Example.org:443", "192.0.2.1", "[2001:db8::1]:1", "x" * 63])
def test_graph_and_vectors_may_have_a_name_of_ones_own(host: str, name: str) -> None:
    HOSTS[host](name, True)


@pytest.mark.parametrize("name", WITH_ENDPOINT)
@pytest.mark.parametrize(
    "endpoint",
    [
        "http://localhost:4566",
        "http://127.0.0.1:1",
        "https://[::1]",
        "https://dynamodb.eu-west-1.amazonaws.com",
        "https://bucket.vpce-1a2b.s3.cn-north-1.vpce.amazonaws.com.cn/",
        "https://dynamodb.eusc-de-east-1.amazonaws.eu",
        "https://dynamodb.eusc-de-east-1.api.amazonwebservices.eu",
        "https://dynamodb.eu-west-1.api.aws",
    ],
)
def test_an_endpoint_is_of_aws_or_on_this_machine(name: str, endpoint: str) -> None:
    reader, text = AWS[name]
    assert reader(f"{text}?endpoint={endpoint}").endpoint == endpoint


@pytest.mark.parametrize("name", WITH_ENDPOINT)
@pytest.mark.parametrize(
    "endpoint",
    [
        "http://evil.example",
        "https://evil.example",
        "https://evil.example/.amazonaws.com",
        "https://amazonaws.com.evil.example",
        "https://secret.lambda-url.eu-west-1.on.aws",
        "http://dynamodb.eu-west-1.amazonaws.com",
        "https://user@dynamodb.eu-west-1.amazonaws.com",
        "https://dynamodb.eu-west-1.amazonaws.com/secret",
        "https://dynamodb.eu-west-1.amazonaws.com?secret=1",
        "ftp://127.0.0.1",
        "127.0.0.1",
    ],
)
def test_credentials_and_documents_go_to_no_other_endpoint(name: str, endpoint: str) -> None:
    reader, text = AWS[name]
    refused(reader, f"{text}?endpoint={endpoint}", "endpoint")


@pytest.mark.parametrize("name", ["s3", "inbox"])
def test_the_names_of_buckets_and_prefixes_follow_the_rules_of_s3(name: str) -> None:
    reader, _ = AWS[name]
    for rest in ("Bucket/x", "b/x", "bucket/../x y", "bucket/a//b", "bucket/" + "x" * 301):
        refused(reader, f"s3://{rest}", "expected s3://BUCKET/PREFIX|the prefix may have 300 letters")
    assert reader("s3://my.bucket-1/a/b/").path == "a/b"


def test_the_names_of_tables_follow_the_rules_of_dynamodb() -> None:
    for rest in ("ab", "x" * 256, "ta ble", "täble"):
        refused(Table, f"dynamodb://{rest}", "expected dynamodb://TABLE")


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("folder", ["/srv/C#/data", "/srv/who?me=1", "/srv/a@b", "/srv/50%"])
def test_a_folder_may_have_any_name(name: str, folder: str) -> None:
    reader, scheme = FOLDERS[name]
    assert str(reader(f"{scheme}:///{folder}")) == folder


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("rest", ["", "/", "//", "//secret", ":secret", "///a\x00secret"])
def test_a_string_without_a_folder_is_refused(name: str, rest: str) -> None:
    reader, scheme = FOLDERS[name]
    refused(reader, f"{scheme}:{rest}", f"^{scheme} connection: expected {scheme}:///FOLDER")


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("c.cluster-1.eu-west-3.neptune.amazonaws.com", "eu-west-3"),
        ("c.cluster-1.cn-north-1.neptune.amazonaws.com.cn", "cn-north-1"),
        ("us-east-1.cluster-1.eu-west-3.neptune.amazonaws.com", "eu-west-3"),
        ("abc.us-gov-west-1.aoss.amazonaws.com", "us-gov-west-1"),
        ("abc.aoss.mx-central-1.on.aws", "mx-central-1"),
        ("c.cluster-1.eusc-de-east-1.neptune.amazonaws.eu", "eusc-de-east-1"),
        ("abc.aoss.eusc-de-east-1.on.amazonwebservices.eu", "eusc-de-east-1"),
        ("eu-west-1.example.org", None),
        ("127.0.0.1", None),
        ("::1", None),
    ],
)
def test_the_host_names_of_aws_tell_their_region(host: str, region: str | None) -> None:
    assert region_in(host) == region


def test_an_option_s_value_may_be_percent_encoded() -> None:
    where, options = read_connection("s3://a/b?endpoint=http%3A%2F%2F%5B%3A%3A1%5D%3A9", "s3://A/B[?endpoint=URL&more=X]")
    assert (where, options) == ("a/b", {"endpoint": "http://[::1]:9"})


def test_an_endpoint_is_told_with_its_port() -> None:
    assert read_endpoint("https://Host.example", "it") == Endpoint("https", "host.example", 443)
    assert read_endpoint("https://host.example", "it", 8182).url == "https://host.example:8182"
    assert read_endpoint("http://[::1]/", "it").url == "http://[::1]:80"


def test_aws_region_holds_where_a_connection_names_no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "ap-southeast-2")
    assert signing_session(None).region_name == "ap-southeast-2"
    assert signing_session("eu-west-1").region_name == "eu-west-1"
