"""The errors a caller can meet. Each says what was wrong, with which value, and what to do.

LexigraphError
├── InvalidInput       the caller can fix it: a value, a file, a limit
├── NotFound           no such document, job, namespace or index
├── Conflict           somebody else holds it, or it changed meanwhile: try again
├── StoreUnavailable   a database or disk cannot be reached, read or written
└── ModelUnavailable   an embedding or language model cannot be reached, or answered nonsense
"""


class LexigraphError(Exception):
    """Base of every error this package raises on purpose; ``code`` is stable and machine readable."""

    code = "error"


class InvalidInput(LexigraphError, ValueError):
    """The input breaks a rule; the message names the field, the limit and the remedy."""

    code = "invalid_input"


class NotFound(LexigraphError, LookupError):
    """What was asked for does not exist for this tenant."""

    code = "not_found"


class Conflict(LexigraphError):
    """Another writer holds the same document, or it changed meanwhile; safe to repeat."""

    code = "conflict"


class StoreUnavailable(LexigraphError):
    """A store cannot be opened, read or written."""

    code = "store_unavailable"


class ModelUnavailable(LexigraphError):
    """A model cannot be loaded or reached, or its reply cannot be used."""

    code = "model_unavailable"
