"""How good and how fast retrieval is, measured through the public retrievers over a built graph."""
