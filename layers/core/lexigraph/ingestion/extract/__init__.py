"""Extractors: what topics, statements, facts and entities a chunk holds."""
