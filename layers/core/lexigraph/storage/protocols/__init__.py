"""Protocols of the stores. Backends implement them and do not repeat this documentation.

Every method takes the tenant first and never touches another tenant's data. All methods raise ``StoreUnavailable`` if the
store cannot be reached, read or written. Writes are idempotent: repeating a call changes nothing. Objects are thread-safe.
Each method call is one round trip, whatever its size.

Write order keeps readers consistent: the graph first (a version that is not live is invisible), then vectors, then
:meth:`GraphStore.publish` makes the version live. Removal runs in reverse: hide, delete vectors, delete from the graph. So
every vector has its graph node, and an interrupted write can be completed from the graph alone.
"""

from dataclasses import dataclass

from lexigraph.storage.protocols.cache import ContentCache
from lexigraph.storage.protocols.documents import DocumentStore
from lexigraph.storage.protocols.graph import (
    MOST_MENTIONS,
    MOST_NAMED,
    Adjacency,
    ChunkAt,
    ChunkEdge,
    ChunkPlace,
    Companion,
    Companions,
    Derived,
    Doomed,
    EntityLookup,
    EntityProfile,
    EvidenceRequest,
    GraphEdge,
    GraphNode,
    GraphStore,
    Matches,
    Neighbourhood,
    RelatedRequest,
    Relation,
    SourceVersion,
    Surroundings,
    TextPattern,
    TopicSpan,
)
from lexigraph.storage.protocols.registry import (
    SCOPES,
    ApiKey,
    Claim,
    DocumentRecord,
    DocumentState,
    Freshness,
    JobEvent,
    JobRecord,
    JobStatus,
    LateWriter,
    Registry,
    Scope,
    Session,
    seen_at,
)
from lexigraph.storage.protocols.vectors import (
    VECTOR_INDEXES,
    FloatArray,
    Hit,
    IndexName,
    SearchRequest,
    VectorRecord,
    VectorStore,
)

__all__ = [
    "MOST_MENTIONS",
    "MOST_NAMED",
    "SCOPES",
    "VECTOR_INDEXES",
    "Adjacency",
    "ApiKey",
    "ChunkAt",
    "ChunkEdge",
    "ChunkPlace",
    "Claim",
    "Companion",
    "Companions",
    "ContentCache",
    "Derived",
    "DocumentRecord",
    "DocumentState",
    "DocumentStore",
    "Doomed",
    "EntityLookup",
    "EntityProfile",
    "EvidenceRequest",
    "FloatArray",
    "Freshness",
    "GraphEdge",
    "GraphNode",
    "GraphStore",
    "Hit",
    "IndexName",
    "JobEvent",
    "JobRecord",
    "JobStatus",
    "LateWriter",
    "Matches",
    "Neighbourhood",
    "Registry",
    "RelatedRequest",
    "Relation",
    "Scope",
    "SearchRequest",
    "Session",
    "SourceVersion",
    "Stores",
    "Surroundings",
    "TextPattern",
    "TopicSpan",
    "VectorRecord",
    "VectorStore",
    "seen_at",
]


@dataclass(frozen=True, slots=True)
class Stores:
    """The five stores of one deployment."""

    graph: GraphStore
    vectors: VectorStore
    documents: DocumentStore
    registry: Registry
    cache: ContentCache

    def close(self) -> None:
        """Close all stores."""
        for store in (self.graph, self.vectors, self.registry, self.cache):
            store.close()
