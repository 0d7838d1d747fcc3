"""The embedded graph store: one SQLite file, safe between threads and processes."""

from functools import partial

from lexigraph.storage.common.folders import embedded_path
from lexigraph.storage.sqlite.database import Create, Database
from lexigraph.storage.sqlite.graph.adjacent import SqliteAdjacent
from lexigraph.storage.sqlite.graph.collect import SqliteCollect
from lexigraph.storage.sqlite.graph.derive import SqliteDerive
from lexigraph.storage.sqlite.graph.egonet import SqliteEgonet
from lexigraph.storage.sqlite.graph.explore import SqliteExplore
from lexigraph.storage.sqlite.graph.links import SqliteLinks
from lexigraph.storage.sqlite.graph.migrations import MIGRATIONS
from lexigraph.storage.sqlite.graph.publish import SqlitePublish
from lexigraph.storage.sqlite.graph.read import SqliteRead
from lexigraph.storage.sqlite.graph.related import SqliteRelated
from lexigraph.storage.sqlite.graph.relations import SqliteRelations
from lexigraph.storage.sqlite.graph.schema import SCHEMA, VERSION
from lexigraph.storage.sqlite.graph.views import Seen
from lexigraph.storage.sqlite.graph.walks import SqliteWalks
from lexigraph.storage.sqlite.graph.write import SqliteWrite
from lexigraph.storage.sqlite.names import Names


class SqliteGraphStore(
    SqliteWrite,
    SqlitePublish,
    SqliteCollect,
    SqliteDerive,
    SqliteRelations,
    SqliteRead,
    SqliteLinks,
    SqliteRelated,
    SqliteAdjacent,  # and with it SqliteInspect
    SqliteWalks,
    SqliteEgonet,
    SqliteExplore,
):
    """:class:`~lexigraph.storage.protocols.GraphStore` in ``FOLDER/graph.sqlite`` of ``sqlite:///FOLDER``."""

    def __init__(self, connection: str, *, create: Create = True) -> None:
        path = embedded_path(connection, "graph.sqlite")
        opening = partial(Database, path, SCHEMA, version=VERSION, migrations=MIGRATIONS, create=create)
        self._database, self._seen = opening(), Seen(lambda narrow: opening(opened=narrow))
        self._names = Names()

    def close(self) -> None:
        self._seen.close()
        self._database.close()
