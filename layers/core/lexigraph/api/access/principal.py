"""Who asks."""

from dataclasses import dataclass

from lexigraph.model.tenant import Tenant


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks, and what they may. ``databases`` are the labels they may name, any when empty."""

    tenant: Tenant
    scopes: frozenset[str]
    key_id: str = ""
    databases: tuple[str, ...] = ()
    rate: int = 0
