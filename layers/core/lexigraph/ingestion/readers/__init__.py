"""Readers: the bytes of a file of one format become text with blocks. One module a family of formats.

A reader is ``read_FORMAT(data, settings) -> Parsed``; it raises ``InvalidInput`` for what it refuses and lets whatever its
library raises pass: :mod:`lexigraph.ingestion.load` makes one line of either.
"""
