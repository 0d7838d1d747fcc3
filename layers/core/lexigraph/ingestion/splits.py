"""Documents in which names are split, built so from what is kept of them: their text, and what was extracted from it.

Each document of a split tells by its record which splits it was built with (:func:`~lexigraph.ingestion.senses.made_by`).
So whoever was stopped between a decision and its documents leaves nothing that the next one does not find.
"""

from collections.abc import Callable, Sequence

from lexigraph.ingestion import curation, remove, senses
from lexigraph.ingestion.events import Event, Listener
from lexigraph.ingestion.run import Run
from lexigraph.ingestion.upkeep.rebuild import kept_documents
from lexigraph.model.curation import Decision
from lexigraph.model.errors import InvalidInput
from lexigraph.model.ids import source_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import DocumentRecord, Stores

Runs = Callable[[str], Run]  # a run for a namespace


def build(stores: Stores, tenant: Tenant, run_of: Runs) -> None:
    """Build the documents that are not as the decisions say. Raise ``Conflict`` when others hold them for too long."""
    until, due = remove.deadline(), _due(stores, tenant)
    while due:
        built = _build(stores, tenant, run_of, due)
        due = [one for one in _due(stores, tenant) if one.source_id in built]
        if due:
            remove.pause(until)


def catch_up(stores: Stores, tenant: Tenant, run_of: Runs, extractor: str, tell: Listener) -> None:
    """Build those that somebody left, who was stopped after a decision; they are others' work while others hold them.

    A document that was extracted otherwise than this run extracts is left as it is, with a warning.
    """
    if due := _due(stores, tenant):
        alike = [one for one in due if senses.without_splits(one.extractor) == extractor]
        for one in due:
            if one not in alike:
                tell(Event("warning", {"path": one.uri, "reason": "a split is not applied to it yet: ingest it again"}))
        curation.tell_graph(stores, tenant, stores.registry.decisions(tenant))
        _build(stores, tenant, run_of, alike)
        stores.registry.clear(tenant)


def refuse_other_extractor(documents: Sequence[DocumentRecord], extractor: str) -> None:
    """Raise ``InvalidInput`` for a document whose extraction another extractor made: it would be extracted anew."""
    for one in documents:
        if (made_by := senses.without_splits(one.extractor)) != extractor:
            raise InvalidInput(f"{one.uri} was extracted by {made_by}: use the settings of its ingest, or ingest it again")


def documents_of(stores: Stores, tenant: Tenant, decisions: Sequence[Decision]) -> list[DocumentRecord]:
    """Return the documents of splits that are there."""
    ids = {source_id(tenant, *document) for one in decisions for document in one.documents}
    return [*stores.registry.records(tenant, sorted(ids)).values()] if ids else []


def _due(stores: Stores, tenant: Tenant) -> list[DocumentRecord]:
    decisions = stores.registry.decisions(tenant)
    means = senses.by_document(tenant, decisions)
    return [
        one
        for one in documents_of(stores, tenant, decisions)
        if one.state != "REMOVING"
        and one.extractor != senses.made_by(senses.without_splits(one.extractor), means.get(one.source_id, {}))
    ]


def _build(stores: Stores, tenant: Tenant, run_of: Runs, due: Sequence[DocumentRecord]) -> set[str]:
    """Build documents; return those whose text is there."""
    whole: set[str] = set()
    for namespace, documents in kept_documents(stores, tenant, [one.source_id for one in due]):
        kept = list(documents)
        whole |= {source_id(tenant, namespace, document.uri) for document in kept}
        run_of(namespace).build_again(kept)
    return whole
