"""The graph store in Amazon Neptune: openCypher over the HTTPS data API, and walks by Gremlin.

It is safe between threads and processes.
"""

from collections.abc import Callable
from time import monotonic
from typing import Any

from lexigraph.storage.neptune.adjacent import NeptuneAdjacent
from lexigraph.storage.neptune.client import READ_SECONDS, NeptuneClient
from lexigraph.storage.neptune.collect import NeptuneCollect
from lexigraph.storage.neptune.derive import NeptuneDerive
from lexigraph.storage.neptune.egonet import NeptuneEgonet
from lexigraph.storage.neptune.explore import NeptuneExplore
from lexigraph.storage.neptune.gremlin.connection import GremlinWalks
from lexigraph.storage.neptune.inspect import NeptuneInspect
from lexigraph.storage.neptune.links import NeptuneLinks
from lexigraph.storage.neptune.publish import NeptunePublish
from lexigraph.storage.neptune.read import NeptuneRead
from lexigraph.storage.neptune.related import NeptuneRelated
from lexigraph.storage.neptune.relations import NeptuneRelations
from lexigraph.storage.neptune.walks import NeptuneWalks
from lexigraph.storage.neptune.write import NeptuneWrite
from lexigraph.storage.sqlite.names import Names


class NeptuneGraphStore(
    NeptuneWrite,
    NeptunePublish,
    NeptuneCollect,
    NeptuneDerive,
    NeptuneRelations,
    NeptuneInspect,
    NeptuneRead,
    NeptuneLinks,
    NeptuneRelated,
    NeptuneAdjacent,
    NeptuneWalks,
    NeptuneEgonet,
    NeptuneExplore,
):
    """:class:`~lexigraph.storage.protocols.GraphStore` in the cluster of ``neptune-db://HOST[:PORT]``.

    ``options`` are those of :class:`~lexigraph.storage.neptune.client.NeptuneClient`. What a method writes in more
    than one query is written so that it may end between any two of them (see the modules that write). Egonets and
    distances are walked by Gremlin; with ``?gremlin=off`` in the connection, or where no web socket can be opened, by
    openCypher.
    """

    def __init__(self, connection: str, *, clock: Callable[[], float] = monotonic, **options: Any) -> None:
        self._client, self._names = NeptuneClient.connect(connection, **options), Names()
        address = self._client.address
        seconds = options.get("read_seconds", READ_SECONDS)
        self._gremlin = GremlinWalks(address, seconds=seconds) if address.walks else None
        self._clock = clock

    def close(self) -> None:
        self._client.close()
        if self._gremlin:
            self._gremlin.close()
