"""Who signs with IAM (SigV4): how AWS names a caller, by what a registry knows it, and the key that stands for it.

A gateway that asks for AWS_IAM checks the signature and says whose it is; nothing that a client sends can. An operator
names the role or user beforehand: each by its whole name, as whoever may make roles would otherwise choose whom they become.
"""

import hashlib
import re
import time
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from lexigraph.api.access.keys import new_key
from lexigraph.model.errors import Conflict, InvalidInput
from lexigraph.storage.protocols import ApiKey, Registry

KEPT_SECONDS = 60.0  # as long as a gateway remembers what an authorizer said of a key
_MOST = 1_000
_NAMED = re.compile(r"arn:(aws[a-z-]*):iam::(\d{12}):(role|user)/(?:[\x21-\x7e]+/)?([\w+=,.@-]{1,64})", re.ASCII)
_SESSION = re.compile(r"arn:(aws[a-z-]*):sts::(\d{12}):(assumed-role)/([\w+=,.@-]{1,64})/[\w+=,.@-]{2,64}", re.ASCII)


def signer_of(arn: str) -> str:
    """Return whose ARN it is: the role of a session, and role or user without the path, which no other of the account has.

    Raise ``InvalidInput`` for one of anything else, such as a whole account.
    """
    found = _NAMED.fullmatch(arn) or _SESSION.fullmatch(arn)
    if found is None:
        raise InvalidInput(
            f"principal {arn[:100]!r}: give the ARN of a role or a user, as arn:aws:iam::123456789012:role/NAME"
        )
    partition, account, kind, name = found.groups()
    return f"arn:{partition}:iam::{account}:{'user' if kind == 'user' else 'role'}/{name}"


def signer_digest(signer: str) -> str:
    """Return by what a registry knows a signer; no key that somebody sends has such a digest."""
    return f"iam#{hashlib.sha256(signer.encode()).hexdigest()}"


def signer_key(tenant: str, scopes: Iterable[str], *, arn: str, **limits: Any) -> ApiKey:
    """Return the key to keep for a role or a user, whose name it has. It has no secret: the signature is one.

    Raise ``InvalidInput`` as :func:`signer_of` and :func:`lexigraph.api.access.keys.new_key` do.
    """
    signer = signer_of(arn)
    _, key = new_key(tenant, scopes, name=signer, **limits)
    fields = {name: getattr(key, name) for name in ("id", "tenant", "scopes", "name", *limits)}
    return ApiKey(**fields, digest=f"{signer_digest(signer)}#{key.id}")


def add_signer(registry: Registry, key: ApiKey) -> None:
    """Keep the key of a signer. Raise ``Conflict`` while there is another one, whoever's tenant it is."""
    if held := registry.signer(signer_digest(key.name)):
        raise Conflict(f"{key.name} already has the key {held.id} of tenant {held.tenant}: revoke that first")
    registry.add_key(key)


class Signers:
    """Finds the keys of who signs; one that was found is remembered for a minute."""

    def __init__(self, registry: Callable[[], Registry], clock: Callable[[], float] = time.monotonic) -> None:
        self._registry, self._clock = registry, clock
        self._kept: dict[str, tuple[float, ApiKey]] = {}
        self._lock = Lock()

    def find(self, arn: str) -> ApiKey | None:
        """Return the key that stands for a caller, by the ARN that AWS gives; None when it may nothing."""
        try:
            digest = signer_digest(signer_of(arn))
        except InvalidInput:
            return None  # a root user, a federated one
        with self._lock:
            until, key = self._kept.get(digest, (0.0, None))
        if key and self._clock() < until:
            return key
        found = self._registry().signer(digest)
        with self._lock:
            if len(self._kept) >= _MOST:
                self._kept.clear()
            if found:
                self._kept[digest] = (self._clock() + KEPT_SECONDS, found)
            else:
                self._kept.pop(digest, None)
        return found
