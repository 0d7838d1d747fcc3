"""Hybrid: vectors, BM25 and relations between chunks, with scores that explain themselves (E)."""
