"""Where a Neptune cluster is: its connection string, and the endpoints that follow from it."""

from dataclasses import dataclass

from lexigraph.model.errors import Misconfigured
from lexigraph.storage.common.connection import read_connection, read_endpoint, region_in

DEFAULT_PORT = 8182
FORM = "neptune-db://HOST[:PORT][?region=REGION&read=HOST[:PORT]&gremlin=off&tls=off]"
_WHAT = "neptune-db connection"


@dataclass(frozen=True, slots=True)
class NeptuneAddress:
    """The endpoints of a cluster, ``https://HOST:PORT`` each; ``region`` None is that of the AWS configuration.

    ``walks`` says whether Gremlin may be used.
    """

    endpoint: str
    read_endpoint: str
    region: str | None = None
    walks: bool = True

    @classmethod
    def parse(cls, connection: str) -> "NeptuneAddress":
        """Read a connection string; without ``read`` the writer is read from, too.

        ``gremlin=off`` has walks done by openCypher, where no web socket can be opened; ``tls=off`` is for a server on this
        machine. Raise ``Misconfigured`` for anything else, without repeating what was given.
        """
        where, options = read_connection(connection, FORM)
        for name in ("gremlin", "tls"):
            if options.get(name, "off") != "off":
                raise Misconfigured(f"{_WHAT}: {name} accepts only {name}=off; it is on by default")
        protocol = "http" if "tls" in options else "https"
        writer = read_endpoint(f"{protocol}://{where}", _WHAT, DEFAULT_PORT)
        reader = read_endpoint(f"{protocol}://{options.get('read', where)}", f"read of the {_WHAT}", DEFAULT_PORT)
        region = options.get("region") or region_in(writer.host)
        return cls(writer.url, reader.url, region, walks="gremlin" not in options)

    @property
    def gremlin(self) -> str:
        """The web socket of the readers."""
        return self.read_endpoint.replace("http", "ws", 1) + "/gremlin"
