"""Lexigraph beside two other GraphRAG systems over the same documents, extraction, embeddings and questions."""
