"""Tenants, which own all data, and views of them. A tenant is an argument of every call, never shared state."""

import json
import re
from hashlib import blake2b
from typing import Self

from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import Filter, plain_filter

_ALLOWED = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")


class Tenant(str):
    """A validated tenant name: 1 to 64 of ``a-z 0-9 . _ -``, starting and ending with a letter or digit."""

    __slots__ = ()

    def __new__(cls, name: str = "default") -> Self:
        """Validate a name; views are returned unchanged. Raise ``InvalidInput`` for an invalid name."""
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
    """A read-only view of a tenant for a filtered key: the documents that match its ``rights``, as if there were no others.

    It can be passed wherever a tenant is read. Its name cannot be that of a tenant, so code unaware of views finds nothing
    under it, and caches and sessions are separate. Views with the same rights are equal. Writes go to the ``whole`` tenant,
    after a check that they are allowed.
    """

    __slots__ = ("_whole", "rights")
    _whole: Tenant
    rights: Filter

    def __new__(cls, tenant: Tenant, rights: Filter) -> Self:
        """Create a view of the documents of a tenant that match the filters."""
        told = json.dumps(plain_filter(rights), sort_keys=True)
        self = str.__new__(cls, f"{tenant}?{blake2b(told.encode(), digest_size=16).hexdigest()}")
        self._whole, self.rights = tenant.whole, rights
        return self

    @property
    def whole(self) -> Tenant:
        return self._whole


DEFAULT_TENANT = Tenant("default")
