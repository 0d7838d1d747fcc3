# ruff: noqa: E402, T201
# The code of the reference page "Querying the Graph": only the package name and the connection strings are changed.
from lexigraph import LexicalGraphQueryEngine
from lexigraph.storage import GraphStoreFactory
from lexigraph.storage import VectorStoreFactory

import nest_asyncio
nest_asyncio.apply()

graph_store = GraphStoreFactory.for_graph_store(
    'sqlite:///data'
)

vector_store = VectorStoreFactory.for_vector_store(
    'sqlite:///data'
)

query_engine = LexicalGraphQueryEngine.for_traversal_based_search(
    graph_store, 
    vector_store
)

response = query_engine.query("What are the differences between Neptune Database and Neptune Analytics?")

print(response.response)

# "To configure the TraversalBasedRetriever with one or other of these subretrievers"
from lexigraph.retrieval.retrievers import ChunkBasedSearch

query_engine = LexicalGraphQueryEngine.for_traversal_based_search(
    graph_store, 
    vector_store,
    retrievers=[ChunkBasedSearch]
)

chunk_based = query_engine.query("What are the differences between Neptune Database and Neptune Analytics?")

# "how to configure the TraversalBasedRetriever to return ten results"
query_engine = LexicalGraphQueryEngine.for_traversal_based_search(
    graph_store, 
    vector_store,
    max_search_results=10
)

ten = query_engine.query("What are the differences between Neptune Database and Neptune Analytics?")
