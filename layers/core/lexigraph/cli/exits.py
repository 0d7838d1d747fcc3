"""What the exit code of a command says, in one place."""

from enum import IntEnum
from typing import Self

from lexigraph.model.errors import (
    Cancelled,
    Conflict,
    Contradiction,
    InvalidInput,
    LexigraphError,
    ModelUnavailable,
    NotFound,
    StoreUnavailable,
)


class ExitCode(IntEnum):
    """Stable: scripts may rely on them."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> Self:
        """Return the code of a number, with what it means."""
        code = int.__new__(cls, value)
        code._value_, code.meaning = value, meaning
        return code

    OK = 0, "done"
    UNEXPECTED = 1, "an unexpected error"
    INVALID = 2, "wrong usage or invalid input"
    NOT_FOUND = 3, "no such document or database"
    PARTLY = 4, "some documents failed, the rest succeeded"
    STORE = 5, "a store cannot be opened, read or written"
    MODEL = 6, "a model cannot be loaded or reached"
    CONFLICT = 7, "locked by another process; try again"
    NOTHING = 8, "every document failed"
    UNHEALTHY = 9, "doctor found a problem"
    INTERRUPTED = 130, "interrupted; run again to resume"


_OF_ERRORS: tuple[tuple[type[LexigraphError], ExitCode], ...] = (
    (InvalidInput, ExitCode.INVALID),
    (NotFound, ExitCode.NOT_FOUND),
    (StoreUnavailable, ExitCode.STORE),
    (ModelUnavailable, ExitCode.MODEL),
    (Contradiction, ExitCode.INVALID),
    (Conflict, ExitCode.CONFLICT),
    (Cancelled, ExitCode.INTERRUPTED),
)


def exit_code_of(error: LexigraphError) -> ExitCode:
    """Return the exit code for an error of this package."""
    return next((code for kind, code in _OF_ERRORS if isinstance(error, kind)), ExitCode.UNEXPECTED)
