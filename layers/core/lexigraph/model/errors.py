"""Errors raised by this package. Each message names the problem, the value and the remedy.

LexigraphError
├── InvalidInput       a value, a file or a limit that the caller can fix
│   └── Misconfigured  settings or stores that the operator can fix
├── NotFound           no such document, job, namespace or index
├── Conflict           another writer holds it, or it has changed: try again
│   └── Contradiction  what was decided before says otherwise; retrying does not help
├── Cancelled          the job was cancelled; finished documents are kept
├── StoreUnavailable   a database or disk cannot be reached, read or written
│   └── StoreDamaged   stored data are lost or altered; retrying does not help
└── ModelUnavailable   an embedding or language model cannot be reached, or its reply cannot be used
"""


class LexigraphError(Exception):
    """Base class of the errors raised by this package; ``code`` is stable and machine-readable."""

    code = "error"


class InvalidInput(LexigraphError, ValueError):
    """The input breaks a rule; the message names the field, the limit and the remedy."""

    code = "invalid_input"


class Misconfigured(InvalidInput):
    """Settings and stores do not match each other. Whoever runs the system can fix it; the message may name its files."""


class NotFound(LexigraphError, LookupError):
    """The requested object does not exist for this tenant."""

    code = "not_found"


class Conflict(LexigraphError):
    """Another writer holds the document, or it has changed; safe to retry."""

    code = "conflict"


class Contradiction(Conflict):
    """What was decided before says otherwise. Retrying does not help; the message names what to undo."""


class Cancelled(LexigraphError):
    """A job was cancelled. Finished documents are kept, unfinished ones discarded."""

    code = "cancelled"


class StoreUnavailable(LexigraphError):
    """A store cannot be opened, read or written. ``passes`` says whether retrying later may help."""

    code = "store_unavailable"

    def __init__(self, message: str = "", *, passes: bool = True) -> None:
        super().__init__(message)
        self.passes = passes


class StoreDamaged(StoreUnavailable):
    """Stored data are lost, truncated or altered. Retrying does not help; run ``lexigraph doctor``."""

    code = "store_damaged"


class ModelUnavailable(LexigraphError):
    """A model cannot be loaded or reached, or its reply cannot be used.

    ``public`` is the message for callers of the HTTP API, which names neither machine nor model.
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
    """Return a message that is safe to send to clients: without details of this machine or of documents.

    Log the full message of errors that clients cannot fix.
    """
    if isinstance(error, ModelUnavailable) and error.public:
        return error.public
    for kind, words in _IN_GENERAL.items():
        if isinstance(error, kind):
            return words
    return str(error) if isinstance(error, LexigraphError) else type(error).__name__


def code_of(error: BaseException) -> str:
    """Return the stable code of an error; ``internal_error`` if it is not a ``LexigraphError``."""
    return error.code if isinstance(error, LexigraphError) else "internal_error"


def reason_of(error: OSError) -> str:
    """Return why the system refused: ``permission denied``."""
    return (error.strerror or type(error).__name__).lower()
