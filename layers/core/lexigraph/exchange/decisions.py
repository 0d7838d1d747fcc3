"""What curators decided about names, as lines of an export. Decisions name entities by their names, so that they mean the
same in another index, and are a tenant's: an export of one namespace has none.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

from lexigraph.ingestion.versions import settle_entities
from lexigraph.model.curation import Decision, Kind
from lexigraph.model.errors import Conflict
from lexigraph.model.names import checked_name
from lexigraph.model.normalise import entity_key
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.records import decision_json, decision_of
from lexigraph.storage.protocols import Stores

_LEASE = "curation"  # that of whoever decides: one at a time


def told(stores: Stores, tenant: Tenant) -> Iterator[dict[str, Any]]:
    """Yield the decisions of a tenant as JSON objects, undone ones too, by id."""
    for one in stores.registry.decisions(tenant):
        yield json.loads(decision_json(one))


def read(given: Mapping[str, Any]) -> Decision:
    """Read what :func:`told` gave. Raise ``TypeError`` or ``ValueError`` saying what is wrong."""
    decision = decision_of(json.dumps(given))
    if not isinstance(given["others"], list):
        raise TypeError("others must be a list of names")
    for name, value in asdict(decision).items():
        if not all(isinstance(text, str) for text in (value if isinstance(value, tuple) else (value,))):
            raise TypeError(f"{name} must be text")
    if decision.kind not in get_args(Kind):
        raise ValueError(f"kind must be one of {', '.join(get_args(Kind))}")
    checked_name("id", decision.id)
    for other, name in decision.pairs:
        if not entity_key(checked_name("name", other)) or not entity_key(checked_name("name", name)):
            raise ValueError("names must have a letter or a digit")
    return decision


def take(stores: Stores, tenant: Tenant, brought: Sequence[Decision]) -> None:
    """Add decisions to those of a tenant, all or none. One that is there stays as it is, but is undone if either is.

    Raise ``Conflict`` when names would mean two things, or somebody else decides right now.
    """
    if not brought:
        return
    with stores.registry.lease(tenant, [_LEASE]) as held:
        if not held:
            raise Conflict("somebody else decides about names of this tenant right now: import again")
        known = {one.id: one for one in stores.registry.decisions(tenant)}
        new = [one for one in brought if one.id not in known or (one.undone_at and not known[one.id].undone_at)]
        all_ = {**known, **{one.id: one for one in new}}
        _one_meaning(list(all_.values()))
        for one in new:
            stores.registry.decide(tenant, one)
        # also where none is new: an import that broke off after the registry is finished by the next one
        stores.graph.set_synonyms(tenant, [pair for _, one in sorted(all_.items()) for pair in one.pairs])
        settle_entities(stores, tenant)


def _one_meaning(decisions: Sequence[Decision]) -> None:
    """What is meant has no other name for it: questions follow one step."""
    meant: dict[str, tuple[str, str]] = {}
    for one in decisions:
        for other, name in one.pairs:
            before, by = meant.setdefault(entity_key(other), (name, one.id))
            if entity_key(before) != entity_key(name):
                raise Conflict(f"{other!r} means {before!r} by {by} and {name!r} by {one.id}: undo one, then import again")
    for one in decisions:
        for _, name in one.pairs:
            if found := meant.get(entity_key(name)):
                raise Conflict(f"{name!r} has other names by {one.id}, and means {found[0]!r} by {found[1]}: undo one")
