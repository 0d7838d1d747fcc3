"""Who owns the data. A tenant is an argument of every call, never state on a shared object."""

import json
import re
from hashlib import blake2b
from typing import Self

from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import Filter, plain_filter

_ALLOWED = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")


class Tenant(str):
    """A checked tenant name: 1 to 64 of ``a-z 0-9 . _ -``, starting and ending with a letter or digit."""

    __slots__ = ()

    def __new__(cls, name: str = "default") -> Self:
        """Raise ``InvalidInput`` for a name that is not allowed. A view stays one."""
        if isinstance(name, cls):
            return name
        if not isinstance(name, str) or not _ALLOWED.fullmatch(name):
            raise InvalidInput(
                f"tenant {str(name)[:80]!r} is not allowed: use 1 to 64 lower-case letters, digits, '.', '_' or '-', "
                "starting and ending with a letter or digit"
            )
        return super().__new__(cls, name)

    @property
    def whole(self) -> "Tenant":
        """The tenant that owns the data."""
        return self


class View(Tenant):
    """What a key with filters sees of a tenant: the documents that pass its ``rights``, as if there were no others.

    It goes wherever a tenant goes that is read from. Its name is one that no tenant has, so that whatever knows nothing of
    views finds nothing under it, and what is remembered, or noted of a session, is its own. Views of the same rights are
    equal. Nothing can be written under it: that is done for the ``whole`` tenant, once it is checked that it may be.
    """

    __slots__ = ("_whole", "rights")
    _whole: Tenant
    rights: Filter

    def __new__(cls, tenant: Tenant, rights: Filter) -> Self:
        """Return what passes the filters of a tenant."""
        told = json.dumps(plain_filter(rights), sort_keys=True)
        self = str.__new__(cls, f"{tenant}?{blake2b(told.encode(), digest_size=16).hexdigest()}")
        self._whole, self.rights = tenant.whole, rights
        return self

    @property
    def whole(self) -> Tenant:
        return self._whole


DEFAULT_TENANT = Tenant("default")
