"""What the exit code of a command says, in one place."""

from enum import IntEnum

from lexigraph.model.errors import Conflict, InvalidInput, LexigraphError, ModelUnavailable, NotFound, StoreUnavailable


class ExitCode(IntEnum):
    """Stable: scripts may rely on them."""

    OK = 0
    UNEXPECTED = 1
    INVALID = 2
    NOT_FOUND = 3
    PARTLY = 4
    STORE = 5
    MODEL = 6
    CONFLICT = 7
    NOTHING = 8
    UNHEALTHY = 9
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "done",
    ExitCode.UNEXPECTED: "an unexpected error",
    ExitCode.INVALID: "wrong usage, or input that is not allowed",
    ExitCode.NOT_FOUND: "no such document or database",
    ExitCode.PARTLY: "some documents failed, the rest was done",
    ExitCode.STORE: "a store cannot be opened, read or written",
    ExitCode.MODEL: "a model cannot be loaded or reached",
    ExitCode.CONFLICT: "another process holds it; try again",
    ExitCode.NOTHING: "every document failed: nothing was taken in",
    ExitCode.UNHEALTHY: "doctor found a problem",
    ExitCode.INTERRUPTED: "interrupted; run it again and it goes on",
}

_OF_ERRORS: tuple[tuple[type[LexigraphError], ExitCode], ...] = (
    (InvalidInput, ExitCode.INVALID),
    (NotFound, ExitCode.NOT_FOUND),
    (StoreUnavailable, ExitCode.STORE),
    (ModelUnavailable, ExitCode.MODEL),
    (Conflict, ExitCode.CONFLICT),
)


def exit_code_of(error: LexigraphError) -> ExitCode:
    """Return the exit code for an error of this package."""
    return next((code for kind, code in _OF_ERRORS if isinstance(error, kind)), ExitCode.UNEXPECTED)
