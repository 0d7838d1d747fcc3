"""What people decide about names: merges and further names, kept in the registry and told to the graph, and undone.

The graph gets them as synonyms, which belong to no document: they outlive every ingest, and questions follow them. Each
decision clears the tenant's caches in every process.
"""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from lexigraph.ingestion.versions import settle_entities
from lexigraph.model.curation import Decision
from lexigraph.model.errors import Conflict, InvalidInput, NotFound
from lexigraph.model.ids import entity_id
from lexigraph.model.names import checked_name
from lexigraph.model.normalise import entity_key
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.records import now_text
from lexigraph.storage.protocols import Stores

_LEASE = "curation"
_FILE = "synonyms"  # the id under which the pairs of a synonyms file are kept
MOST_OTHERS, LONGEST_NOTE = 50, 500


def decide(
    stores: Stores,
    tenant: Tenant,
    kind: Literal["merge", "alias"],
    name: str,
    others: Sequence[str],
    *,
    by: str = "",
    note: str = "",
) -> Decision:
    """Have names mean an entity from now on: those of entities that documents name (``merge``), or any (``alias``).

    Raise ``InvalidInput`` for names that cannot be, ``NotFound`` for a merge of what no document names, ``Conflict`` when
    another decision says otherwise: undo that first.
    """
    name, *others = (checked_name("name", one.strip()) for one in (name, *others))
    keys = [entity_key(one) for one in (name, *others)]
    if not all(keys):
        raise InvalidInput("each name must contain a letter or digit")
    if not others or len(set(keys)) < len(keys):
        raise InvalidInput("pass at least one other name, and each name only once")
    if len(others) > MOST_OTHERS:
        raise InvalidInput(f"a decision must have at most {MOST_OTHERS} other names, got {len(others)}")
    if len(note) > LONGEST_NOTE:
        raise InvalidInput(f"note must have at most {LONGEST_NOTE} characters, got {len(note):,}")
    with _alone(stores, tenant):
        known = stores.registry.decisions(tenant)
        _no_conflict(known, name, others)
        if kind == "merge":
            ids = {entity_id(tenant, one): one for one in (name, *others)}
            found = stores.graph.entities(tenant, list(ids)).found
            if missing := [one for id_, one in ids.items() if id_ not in found]:
                raise NotFound(f"no document contains the name {missing[0]!r}: to add a new name, use an alias")
        now = now_text()
        made = Decision(f"{now[:19].replace(':', '')}-{secrets.token_hex(2)}", kind, name, tuple(others), by, note, now)
        stores.registry.decide(tenant, made)
        _apply(stores, tenant, [*known, made])
    return made


def undo(stores: Stores, tenant: Tenant, decision_id: str) -> Decision:
    """End a decision; names mean again what they did without it. Raise ``NotFound``, ``Conflict`` when it is undone."""
    with _alone(stores, tenant):
        known = {one.id: one for one in stores.registry.decisions(tenant) if one.id != _FILE}
        if decision_id not in known:
            raise NotFound(f"no decision {decision_id[:80]!r}: `lexigraph entities history` lists them")
        if known[decision_id].undone_at:
            raise Conflict(f"decision {decision_id} has already been undone")
        undone = replace(known[decision_id], undone_at=now_text())
        stores.registry.decide(tenant, undone)
        _apply(stores, tenant, stores.registry.decisions(tenant))
    return undone


def history(stores: Stores, tenant: Tenant) -> list[Decision]:
    """Return what people decided, undone decisions too, oldest first."""
    return [one for one in stores.registry.decisions(tenant) if one.id != _FILE]


def bring(stores: Stores, tenant: Tenant, brought: Sequence[Decision]) -> None:
    """Add decisions of another index, all or none. One that is there stays as it is, but is undone if either is.

    Raise ``Conflict`` when names would mean two things, or somebody else decides right now.
    """
    if not brought:
        return
    with _alone(stores, tenant):
        known = {one.id: one for one in stores.registry.decisions(tenant)}
        new = [one for one in brought if one.id not in known or (one.undone_at and not known[one.id].undone_at)]
        known |= {one.id: one for one in new}
        _one_meaning([*known.values()])
        for one in new:
            stores.registry.decide(tenant, one)
        # also where none is new: an import that broke off after the registry is finished by the next one
        _apply(stores, tenant, [one for _, one in sorted(known.items())])


def meanings(stores: Stores, tenant: Tenant) -> dict[str, str]:
    """Return the name that other names mean, each by its key, as decided or said by a synonyms file."""
    return {entity_key(other): name for one in stores.registry.decisions(tenant) for other, name in one.pairs}


def keep_synonyms(stores: Stores, tenant: Tenant, pairs: Sequence[tuple[str, str]]) -> None:
    """Make these (other name, name) pairs all that a synonyms file says, beside what people decided."""
    others = tuple(f"{other}\t{name}" for other, name in pairs)
    known = {one.id: one for one in stores.registry.decisions(tenant)}
    if (others or known) and (_FILE not in known or known[_FILE].others != others):
        known[_FILE] = Decision(_FILE, "synonyms", "", others, made_at=now_text())
        stores.registry.decide(tenant, known[_FILE])
    decided = [pair for one in known.values() if one.id != _FILE for pair in one.pairs]
    stores.graph.set_synonyms(tenant, [*pairs, *decided])


def _apply(stores: Stores, tenant: Tenant, decisions: Sequence[Decision]) -> None:
    try:
        stores.graph.set_synonyms(tenant, [pair for one in decisions for pair in one.pairs])
        settle_entities(stores, tenant)
    finally:  # whatever was changed: no process may answer from memory what it remembers from before
        stores.registry.clear(tenant)


def _no_conflict(known: Sequence[Decision], name: str, others: Sequence[str]) -> None:
    """Names have one meaning, and what is meant has no other: questions follow one step."""
    meant = {entity_key(other): (target, one.id) for one in known for other, target in one.pairs}
    targets = {entity_key(target): one.id for one in known for _, target in one.pairs}
    if found := meant.get(entity_key(name)):
        raise Conflict(
            f"{name!r} already means {found[0]!r} (decision {found[1]}): use that name or undo the decision first"
        )
    for other in others:
        if found := meant.get(entity_key(other)):
            raise Conflict(f"{other!r} already means {found[0]!r} (decision {found[1]}): undo the decision first")
        if by := targets.get(entity_key(other)):
            raise Conflict(f"{other!r} already has other names (decision {by}): undo the decision or merge into {other!r}")


def _one_meaning(decisions: Sequence[Decision]) -> None:
    """The same of decisions that were made apart: two may say the same."""
    meant: dict[str, tuple[str, str]] = {}
    for one in decisions:
        for other, name in one.pairs:
            before, by = meant.setdefault(entity_key(other), (name, one.id))
            if entity_key(before) != entity_key(name):
                raise Conflict(
                    f"{other!r} means {before!r} in {by} but {name!r} in {one.id}: undo one of them, then import again"
                )
    for one in decisions:
        for _, name in one.pairs:
            if found := meant.get(entity_key(name)):
                raise Conflict(
                    f"{name!r} has other names in {one.id} but means {found[0]!r} in {found[1]}: undo one of them"
                )


class _alone:  # noqa: N801  # reads as a block
    """One decision a tenant at a time."""

    def __init__(self, stores: Stores, tenant: Tenant) -> None:
        self._lease = stores.registry.lease(tenant, [_LEASE])

    def __enter__(self) -> None:
        if not self._lease.__enter__():
            self._lease.__exit__(None, None, None)
            raise Conflict("another decision about names of this tenant is in progress: try again")

    def __exit__(self, *error: object) -> None:
        self._lease.__exit__(*error)  # type: ignore[arg-type]
