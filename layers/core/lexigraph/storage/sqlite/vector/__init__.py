"""The embedded vector store: exact search by numpy, full text by FTS5."""
