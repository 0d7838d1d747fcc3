"""The HTTP API: one FastAPI application, the same on a laptop and in Lambda. Routes are thin; the core does the work.

``app`` puts it together; ``routes`` has a module a contract, ``service`` what they share, ``access`` who may ask,
``jobs`` what outlives a request. A refusal is raised as ``InvalidInput`` by the core, by a field of the request's schema
or by ``limits``, and becomes a status, such as 422, in ``errors`` alone.
"""
