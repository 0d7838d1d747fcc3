"""The errors a caller can meet. Each says what was wrong, with which value, and what to do.

LexigraphError
├── InvalidInput       the caller can fix it: a value, a file, a limit
│   └── Misconfigured  who runs the system can fix it: settings, files, which model a store is for
├── NotFound           no such document, job, namespace or index
├── Conflict           somebody else holds it, or it changed meanwhile: try again
├── Cancelled          the job was told to stop: what it had finished stays
├── StoreUnavailable   a database or disk cannot be reached, read or written
│   └── StoreDamaged   what is stored is not what was written: waiting does not help
└── ModelUnavailable   an embedding or language model cannot be reached, or answered nonsense
"""


class LexigraphError(Exception):
    """Base of every error this package raises on purpose; ``code`` is stable and machine readable."""

    code = "error"


class InvalidInput(LexigraphError, ValueError):
    """The input breaks a rule; the message names the field, the limit and the remedy."""

    code = "invalid_input"


class Misconfigured(InvalidInput):
    """Settings and stores do not match each other. Whoever runs the system can fix it; the message may name its files."""


class NotFound(LexigraphError, LookupError):
    """What was asked for does not exist for this tenant."""

    code = "not_found"


class Conflict(LexigraphError):
    """Another writer holds the same document, or it changed meanwhile; safe to repeat."""

    code = "conflict"


class Cancelled(LexigraphError):
    """A job was told to stop. What it had finished stays; nothing else of it does."""

    code = "cancelled"


class StoreUnavailable(LexigraphError):
    """A store cannot be opened, read or written. ``passes`` says whether waiting may help."""

    code = "store_unavailable"

    def __init__(self, message: str = "", *, passes: bool = True) -> None:
        super().__init__(message)
        self.passes = passes


class StoreDamaged(StoreUnavailable):
    """What a store holds is lost, cut or altered. Trying again does not help; ``lexigraph doctor`` says what does."""

    code = "store_damaged"


class ModelUnavailable(LexigraphError):
    """A model cannot be loaded or reached, or its reply cannot be used.

    ``public`` is the kind of failure in words that name neither machine nor model: what callers of the HTTP API are told.
    """

    code = "model_unavailable"

    def __init__(self, message: str = "", *, public: str = "") -> None:
        super().__init__(message)
        self.public = public


_IN_GENERAL: dict[type[LexigraphError], str] = {
    Misconfigured: "the settings of this system do not match its stores",
    StoreDamaged: "a store is damaged",
    StoreUnavailable: "a store cannot be reached, read or written",
    ModelUnavailable: "a model cannot be loaded or reached, or returned an unusable reply",
}


def in_general(error: BaseException) -> str:
    """Return what may be told of an error to somebody on another machine: nothing of this one, nor of a document.

    The full message of what they cannot fix belongs into the log.
    """
    if isinstance(error, ModelUnavailable) and error.public:
        return error.public
    for kind, words in _IN_GENERAL.items():
        if isinstance(error, kind):
            return words
    return str(error) if isinstance(error, LexigraphError) else type(error).__name__


def code_of(error: BaseException) -> str:
    """Return the stable code of an error, ``internal_error`` for one that this package did not raise on purpose."""
    return error.code if isinstance(error, LexigraphError) else "internal_error"
