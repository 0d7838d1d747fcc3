"""The HTTP API: one FastAPI application, the same on a laptop and in Lambda. Routes are thin; the core does the work.

``app`` puts it together; ``routes`` has a module a contract, ``service`` what they share, ``access`` who may ask,
``jobs`` what outlives a request. Errors of the core and of the framework become a status in ``errors``: a 422 of
``InvalidInput`` and of a request that does not fit its schema. What the API itself refuses is raised as ``ApiError``.
"""
