"""Connection strings of Neptune: what they name beside what those of all back ends do."""

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
    ("connection", "expected"),
    [
        ("neptune-graph://host", "expected neptune-db://HOST"),
        ("neptune-db://host?read=a&read=b", "each option at most once"),
        ("neptune-db://host?tls=on", "tls accepts only tls=off"),
        ("neptune-db://host?tls=off", "this machine only"),
        ("neptune-db://127.0.0.1?tls=off&read=host", "this machine only"),
        ("neptune-db://host?gremlin=on", "gremlin accepts only gremlin=off"),
    ],
)
def test_any_other_connection_string_is_refused(connection, expected):
    with pytest.raises(Misconfigured, match=rf"neptune-db connection: .*{expected}"):
        NeptuneAddress.parse(connection)


def test_walks_go_by_gremlin_unless_it_is_off():
    assert NeptuneAddress.parse("neptune-db://host").walks
    assert not NeptuneAddress.parse("neptune-db://host?gremlin=off").walks
