"""Connection strings of Neptune: what they name, and that anything else is refused."""

import pytest

from lexigraph.model.errors import Misconfigured
from lexigraph.storage.neptune.address import NeptuneAddress


@pytest.mark.parametrize(
    ("connection", "endpoint", "read", "region"),
    [
        ("neptune-db://db.example.org", "https://db.example.org:8182", None, None),
        ("neptune-db://db.example.org:443/", "https://db.example.org:443", None, None),
        ("neptune-db://db?region=us-gov-west-1&read=ro:1", "https://db:8182", "https://ro:1", "us-gov-west-1"),
        ("neptune-db://c.cluster-1.eu-west-3.neptune.amazonaws.com", None, None, "eu-west-3"),
        ("neptune-db://c.cluster-1.cn-north-1.neptune.amazonaws.com.cn", None, None, "cn-north-1"),
        ("neptune-db://127.0.0.1:9?tls=off", "http://127.0.0.1:9", None, None),
        ("neptune-db://[::1]:9?tls=off", "http://[::1]:9", None, None),
    ],
)
def test_a_connection_string_names_host_port_region_and_reader(connection, endpoint, read, region):
    address = NeptuneAddress.parse(connection)
    assert endpoint in (None, address.endpoint)
    assert address.read_endpoint == (read or address.endpoint)
    assert address.region == region
    assert address.gremlin == address.read_endpoint.replace("http", "ws", 1) + "/gremlin"


@pytest.mark.parametrize(
    "connection",
    [
        "neptune-db://",
        "neptune-db:host",
        "neptune-graph://host",
        "neptune-db://user:pass@host",
        "neptune-db://host:0",
        "neptune-db://host:99999",
        "neptune-db://host/graph",
        "neptune-db://host#part",
        "neptune-db://ho st",
        "neptune-db://host?region=",
        "neptune-db://host?region=Frankfurt",
        "neptune-db://host?regoin=eu-west-1",
        "neptune-db://host?read=a&read=b",
        "neptune-db://host?read=other/path",
        "neptune-db://host?tls=on",
        "neptune-db://host?tls=off",
        "neptune-db://127.0.0.1?tls=off&read=host",
        "neptune-db://host?gremlin=on",
    ],
)
def test_any_other_connection_string_is_refused_without_being_repeated(connection):
    with pytest.raises(Misconfigured, match=r"^graph connection: ") as caught:
        NeptuneAddress.parse(connection)
    assert "pass" not in str(caught.value)


def test_walks_go_by_gremlin_unless_it_is_off():
    assert NeptuneAddress.parse("neptune-db://host").walks
    assert not NeptuneAddress.parse("neptune-db://host?gremlin=off").walks
