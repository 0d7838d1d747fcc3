"""Semantic-guided search: statements by meaning and keywords, and a beam over the graph (G-07)."""
