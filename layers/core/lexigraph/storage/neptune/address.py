"""Where a Neptune cluster is: the connection string, read strictly, and the endpoints that follow from it."""

import re
from dataclasses import dataclass, replace
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlsplit

from lexigraph.model.errors import Misconfigured

SCHEME = "neptune-db"
DEFAULT_PORT = 8182
FORM = "neptune-db://HOST[:PORT][?region=REGION&read=HOST[:PORT]]"
_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*", re.IGNORECASE)
_REGION = re.compile(r"[a-z]{2,8}(-[a-z]+)+-\d{1,2}")
# CLUSTER.cluster-ID.REGION.neptune.amazonaws.com, in China with .cn at the end
_REGION_IN_HOST = re.compile(r"\.(?P<region>[a-z0-9-]+)\.neptune\.amazonaws\.com(\.cn)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NeptuneAddress:
    """The endpoints of a cluster, ``https://HOST:PORT`` each; ``region`` None is that of the AWS configuration.

    ``http://`` is for a server on this machine only: elsewhere queries would travel readable by others. ``walks`` says
    whether Gremlin may be used.
    """

    endpoint: str
    read_endpoint: str
    region: str | None = None
    walks: bool = True

    @classmethod
    def parse(cls, connection: str) -> "NeptuneAddress":
        """Read ``neptune-db://HOST[:PORT][?region=REGION&read=HOST[:PORT]]``; ``tls=off`` may be added for loopback.

        ``gremlin=off`` has walks done by openCypher, where no web socket can be opened.

        Raise ``Misconfigured`` for anything else, without repeating what was given.
        """
        try:
            parts = urlsplit(connection)
            options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise Misconfigured(f"graph connection: expected {FORM}") from None
        named = dict(options)
        if parts.scheme != SCHEME or not parts.netloc or parts.path not in ("", "/") or parts.fragment:
            raise Misconfigured(f"graph connection: expected {FORM}")
        if len(named) != len(options) or named.keys() - {"region", "read", "gremlin", "tls"}:
            raise Misconfigured(f"graph connection: options are region, read, gremlin and tls, each once: {FORM}")
        if named.get("gremlin", "off") != "off":
            raise Misconfigured("graph connection: Gremlin is on unless gremlin=off is given")
        if named.get("tls", "off") != "off":
            raise Misconfigured("graph connection: tls is on unless tls=off is given, which loopback alone may")
        protocol = "http" if "tls" in named else "https"
        read = f"{protocol}://{named['read']}" if "read" in named else None
        address = cls.of(f"{protocol}://{parts.netloc}", read, named.get("region"))
        return replace(address, walks="gremlin" not in named)

    @classmethod
    def of(cls, endpoint: str, read_endpoint: str | None = None, region: str | None = None) -> "NeptuneAddress":
        """Return the address of ``https://HOST[:PORT]``; without ``read_endpoint`` the writer is read from, too."""
        writer = _checked("endpoint", endpoint)
        reader = writer if read_endpoint is None else _checked("read endpoint", read_endpoint)
        if region is None and (found := _REGION_IN_HOST.search(urlsplit(writer).hostname or "")):
            region = found["region"]
        if region is not None and not _REGION.fullmatch(region):
            raise Misconfigured("graph connection: region must look like eu-central-1")
        return cls(writer, reader, region)

    @property
    def gremlin(self) -> str:
        """The web socket of the readers."""
        return self.read_endpoint.replace("http", "ws", 1) + "/gremlin"


def _checked(name: str, endpoint: str) -> str:
    """Return ``SCHEME://HOST:PORT`` of an endpoint that names nothing else."""
    try:
        parts = urlsplit(endpoint)
        port = DEFAULT_PORT if parts.port is None else parts.port
    except ValueError:
        raise Misconfigured(f"graph connection: the port of the {name} must be 1 to 65535") from None
    host = parts.hostname or ""
    if (
        parts.scheme not in ("https", "http")
        or "@" in parts.netloc
        or parts.path.strip("/")
        or parts.query
        or parts.fragment
    ):
        raise Misconfigured(f"graph connection: the {name} must be HOST[:PORT], without a user, a path or options")
    if not port or not (_HOST.fullmatch(host) or _is_address(host)):
        raise Misconfigured(f"graph connection: the {name} must be HOST[:PORT], a host name or an address and 1 to 65535")
    if parts.scheme == "http" and not _is_loopback(host):
        raise Misconfigured(f"graph connection: the {name} may do without TLS on loopback only")
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)
