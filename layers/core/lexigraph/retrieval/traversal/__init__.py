"""Traversal: from chunks and entities over the links between documents (G-06)."""
