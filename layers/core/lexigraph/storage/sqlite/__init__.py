"""The embedded back end: graph, vectors, registry and cache in SQLite files of one folder."""
