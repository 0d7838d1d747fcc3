"""Who owns the data. A tenant is an argument of every call, never state on a shared object."""

import re
from typing import Self

from lexigraph.model.errors import InvalidInput

_ALLOWED = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")


class Tenant(str):
    """A checked tenant name: 1 to 64 of ``a-z 0-9 . _ -``, starting and ending with a letter or digit."""

    __slots__ = ()

    def __new__(cls, name: str = "default") -> Self:
        """Raise ``InvalidInput`` for a name that is not allowed."""
        if not isinstance(name, str) or not _ALLOWED.fullmatch(name):
            raise InvalidInput(
                f"tenant {str(name)[:80]!r} is not allowed: use 1 to 64 lower-case letters, digits, '.', '_' or '-', "
                "starting and ending with a letter or digit"
            )
        return super().__new__(cls, name)


DEFAULT_TENANT = Tenant("default")
