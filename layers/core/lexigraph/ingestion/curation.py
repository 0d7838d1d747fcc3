"""What people decide about names: merges, further names and splits, kept in the registry and told to the graph, and undone.

The graph gets merges and further names as synonyms, which belong to no document: they outlive every ingest, and questions
follow them. A split is applied to what its documents contribute, whenever they are built
(:mod:`lexigraph.ingestion.splits`). Each decision clears the tenant's caches in every process.
"""

import secrets
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from lexigraph.ingestion.versions import settle_entities
from lexigraph.model.batches import batched
from lexigraph.model.curation import Decision, Kind
from lexigraph.model.errors import Conflict, Contradiction, InvalidInput, NotFound
from lexigraph.model.ids import entity_id
from lexigraph.model.names import checked_name
from lexigraph.model.normalise import entity_key
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.records import now_text
from lexigraph.storage.protocols import DocumentRecord, EvidenceRequest, Stores

_LEASE = "curation"
_CHUNKS_AT_ONCE = 500
_FILE = "synonyms"  # the id under which the pairs of a synonyms file are kept
MOST_OTHERS, MOST_DOCUMENTS, LONGEST_NOTE = 50, 1_000, 500


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

    Raise ``InvalidInput`` for names that cannot be, ``NotFound`` for a merge of what no document names, ``Contradiction``
    when another decision says otherwise: undo that first. Raise ``Conflict`` when somebody else decides right now.
    """
    name, *others = _checked([name, *others], note)
    with _alone(stores, tenant):
        if kind == "merge":
            ids = {entity_id(tenant, one): one for one in (name, *others)}
            found = stores.graph.entities(tenant, list(ids)).found
            if missing := [one for id_, one in ids.items() if id_ not in found]:
                raise NotFound(f"no document contains the name {missing[0]!r}: to add a new name, use an alias")
        known = stores.registry.decisions(tenant)
        _no_conflict(known, kind, name, others)
        made = _made(kind, name, others, by, note)
        stores.registry.decide(tenant, made)
        _apply(stores, tenant, [*known, made])
    return made


def split(
    stores: Stores,
    tenant: Tenant,
    name: str,
    other: str,
    documents: Sequence[DocumentRecord],
    build: Callable[[], None],
    *,
    by: str = "",
    note: str = "",
) -> Decision:
    """Have a name mean another entity in some documents, which ``build`` then builds so.

    Raise ``InvalidInput`` for names that cannot be and a document that does not use the name, ``Contradiction``
    when another decision says otherwise.
    """
    name, other = _checked([name, other], note)
    if not documents or len(documents) > MOST_DOCUMENTS:
        raise InvalidInput(f"a split must have 1 to {MOST_DOCUMENTS:,} documents, got {len(documents):,}")
    where = tuple(sorted({(one.namespace, one.uri) for one in documents}))
    with _alone(stores, tenant):
        known = stores.registry.decisions(tenant)
        made = replace(_made("split", name, [other], by, note), documents=where)
        _no_other_split([*known, made])
        for record in documents:
            if not _uses(stores, tenant, record.source_id, name):
                raise InvalidInput(f"{record.uri} does not use the name {name!r}")
        stores.registry.decide(tenant, made)
        _apply(stores, tenant, [*known, made], build)
    return made


def undo(stores: Stores, tenant: Tenant, decision_id: str, build: Callable[[], None] | None = None) -> Decision:
    """End a decision; names mean again what they did without it. Raise ``NotFound``, ``Contradiction`` when it is undone.

    ``build`` builds documents as the decisions that hold want them; without it, undoing a split is a ``Contradiction``.
    """
    with _alone(stores, tenant):
        known = {one.id: one for one in stores.registry.decisions(tenant) if one.id != _FILE}
        if decision_id not in known:
            raise NotFound(f"no decision {decision_id[:80]!r}: `lexigraph entities history` lists them")
        if known[decision_id].undone_at:
            raise Contradiction(f"decision {decision_id} has already been undone")
        if known[decision_id].kind == "split" and build is None:
            raise Contradiction(f"decision {decision_id} is a split: run `lexigraph entities undo {decision_id}`")
        undone = replace(known[decision_id], undone_at=now_text())
        stores.registry.decide(tenant, undone)
        _apply(stores, tenant, stores.registry.decisions(tenant), build)
    return undone


def history(stores: Stores, tenant: Tenant) -> list[Decision]:
    """Return what people decided, undone decisions too, oldest first."""
    return [one for one in stores.registry.decisions(tenant) if one.id != _FILE]


def bring(stores: Stores, tenant: Tenant, brought: Sequence[Decision], build: Callable[[], None]) -> None:
    """Add decisions of another index, all or none. One that is there stays as it is, but is undone if either is.

    A split holds in the documents of both; ``build`` builds them so.

    Raise ``Contradiction`` when names would mean two things, ``Conflict`` when somebody else decides right now.
    """
    if not brought:
        return
    with _alone(stores, tenant):
        known = {one.id: one for one in stores.registry.decisions(tenant)}
        both = [_both(known[one.id], one) if one.id in known else one for one in brought]
        new = [one for one in both if known.get(one.id) != one]
        known |= {one.id: one for one in new}
        _one_meaning([*known.values()])
        _no_other_split([*known.values()])
        for one in new:
            stores.registry.decide(tenant, one)
        # also where none is new: an import that broke off after the registry is finished by the next one
        _apply(stores, tenant, [one for _, one in sorted(known.items())], build)


def tell_graph(stores: Stores, tenant: Tenant, decisions: Sequence[Decision]) -> None:
    """Let the graph know what names mean by decisions: all that hold."""
    pairs = [pair for one in decisions for pair in one.pairs]
    stores.graph.set_synonyms(tenant, pairs, [pair for one in decisions for pair in one.senses])


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
    tell_graph(stores, tenant, [*known.values()])


def _checked(names: Sequence[str], note: str) -> list[str]:
    names = [checked_name("name", one.strip()) for one in names]
    keys = [entity_key(one) for one in names]
    if not all(keys):
        raise InvalidInput("each name must contain a letter or digit")
    if len(names) < 2 or len(set(keys)) < len(keys):
        raise InvalidInput("pass at least one other name, and each name only once")
    if len(names) > MOST_OTHERS + 1:
        raise InvalidInput(f"a decision must have at most {MOST_OTHERS} other names, got {len(names) - 1}")
    if len(note) > LONGEST_NOTE:
        raise InvalidInput(f"note must have at most {LONGEST_NOTE} characters, got {len(note):,}")
    return names


def _made(kind: Kind, name: str, others: Sequence[str], by: str, note: str) -> Decision:
    now = now_text()
    return Decision(f"{now[:19].replace(':', '')}-{secrets.token_hex(2)}", kind, name, tuple(others), by, note, now)


def _both(mine: Decision, brought: Decision) -> Decision:
    """Return one decision as two indexes have it."""
    documents = tuple(sorted({*mine.documents, *brought.documents}))
    return replace(mine, documents=documents, undone_at=mine.undone_at or brought.undone_at)


def _apply(stores: Stores, tenant: Tenant, decisions: Sequence[Decision], build: Callable[[], None] | None = None) -> None:
    try:
        tell_graph(stores, tenant, decisions)
        if build:
            build()
        settle_entities(stores, tenant)
    finally:  # whatever was changed: no process may answer from memory what it remembers from before
        stores.registry.clear(tenant)


def _uses(stores: Stores, tenant: Tenant, source_id: str, name: str) -> bool:
    """Whether a document, as readers see it, names an entity."""
    id_, source = entity_id(tenant, name), stores.graph.sources(tenant, [source_id]).get(source_id)
    if source and id_ in {entity_id(tenant, one) for one in source.titled}:
        return True
    for chunks in batched(stores.graph.chunk_ids(tenant, source_id), _CHUNKS_AT_ONCE):
        asked = EvidenceRequest(chunks=tuple(chunks), neighbours=False)
        if any(id_ in (*row.entities, *(f.subject_id for f in row.facts)) for row in stores.graph.evidence(tenant, asked)):
            return True
    return False


def _undo_of(decision_id: str) -> str:
    return "change the synonyms file" if decision_id == _FILE else f"run `lexigraph entities undo {decision_id}`"


def _no_conflict(known: Sequence[Decision], kind: str, name: str, others: Sequence[str]) -> None:
    """Names have one meaning, and what is meant has no other: questions follow one step."""
    meant = {entity_key(other): (target, one.id) for one in known for other, target in one.pairs}
    targets = {entity_key(target): one.id for one in known for _, target in one.pairs}
    if found := meant.get(entity_key(name)):
        raise Contradiction(f"{name!r} already means {found[0]!r}: use that name, or first {_undo_of(found[1])}")
    apart = {entity_key(one): made.id for made in known for pair in made.senses for one in pair}
    for other in others:
        if by := apart.get(entity_key(other)):
            raise Contradiction(f"{other!r} was split: merge into {other!r}, or first {_undo_of(by)}")
        if found := meant.get(entity_key(other)):
            raise Contradiction(f"{other!r} already means {found[0]!r}: first {_undo_of(found[1])}")
        if by := targets.get(entity_key(other)):
            other_way = shlex.join(["lexigraph", "entities", kind, other, name])
            raise Contradiction(f"{other!r} already has other names: run `{other_way}`, or first {_undo_of(by)}")


def _one_meaning(decisions: Sequence[Decision]) -> None:
    """The same of decisions that were made apart: two may say the same."""
    meant: dict[str, tuple[str, str]] = {}
    for one in decisions:
        for other, name in one.pairs:
            before, by = meant.setdefault(entity_key(other), (name, one.id))
            if entity_key(before) != entity_key(name):
                raise Contradiction(
                    f"{other!r} means {before!r} in {by} but {name!r} in {one.id}: undo one of them, then import again"
                )
    for one in decisions:
        for _, name in one.pairs:
            if found := meant.get(entity_key(name)):
                raise Contradiction(
                    f"{name!r} has other names in {one.id} but means {found[0]!r} in {found[1]}: undo one of them"
                )


def _no_other_split(decisions: Sequence[Decision]) -> None:
    """A name means one thing in a document, what it means there is not split itself, and neither is another name."""
    meant = {entity_key(other): (name, one.id) for one in decisions for other, name in one.pairs}
    held = [(one, name, other) for one in decisions for name, other in one.senses]
    results = {entity_key(other): one.id for one, _, other in held}
    split_in: dict[tuple[str, tuple[str, str]], str] = {}
    for one, name, other in held:
        for said in (name, other):
            if found := meant.get(entity_key(said)):
                raise Contradiction(f"{said!r} already means {found[0]!r}: first {_undo_of(found[1])}")
        if by := results.get(entity_key(name)):
            raise Contradiction(f"{name!r} is the result of a split: split the original name, or first {_undo_of(by)}")
        for document in one.documents:
            by = split_in.setdefault((entity_key(name), document), one.id)
            if by != one.id:
                raise Contradiction(f"{name!r} is already split in {document[1]}: first {_undo_of(by)}")


@contextmanager
def _alone(stores: Stores, tenant: Tenant) -> Iterator[None]:
    """One decision a tenant at a time."""
    with stores.registry.lease(tenant, [_LEASE]) as mine:
        if not mine:
            raise Conflict("another decision about names of this tenant is in progress: try again")
        yield
