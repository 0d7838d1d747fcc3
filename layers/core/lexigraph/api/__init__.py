"""The HTTP API: one FastAPI application, the same on a laptop and in Lambda. Routes are thin; the core does the work."""
