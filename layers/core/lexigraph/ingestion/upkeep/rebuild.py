"""Documents built again from what is kept of them: for stores that were lost or damaged."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from lexigraph.ingestion.files import document_of, hash_of, parsed_name, read_file, text_name
from lexigraph.model.document import LoadedDocument
from lexigraph.model.errors import LexigraphError
from lexigraph.model.ids import source_id as make_source_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import DocumentRecord, Stores


def kept_document(stores: Stores, tenant: Tenant, record: DocumentRecord) -> tuple[str, LoadedDocument] | None:
    """Return the namespace and the document of a record as it was parsed; None when its files are not whole."""
    try:
        text, parsed = (
            read_file(stores.documents, tenant, record, name(record.version)) for name in (text_name, parsed_name)
        )
        namespace, document = document_of(text, parsed)
    except (LexigraphError, ValueError, KeyError, TypeError):
        return None
    same = make_source_id(tenant, namespace, document.uri) == record.source_id
    return (namespace, document) if same else None


def kept_documents(
    stores: Stores, tenant: Tenant, source_ids: Sequence[str]
) -> Iterator[tuple[str, Iterator[LoadedDocument]]]:
    """Yield the documents of records by namespace; those whose files are not whole are left out."""
    records = stores.registry.records(tenant, source_ids)
    by_namespace = sorted(records.values(), key=lambda record: record.namespace)
    for namespace, same in groupby(by_namespace, key=lambda record: record.namespace):
        yield namespace, (kept[1] for record in same if (kept := kept_document(stores, tenant, record)))


def adopt(stores: Stores, tenant: Tenant) -> None:
    """Enter the documents that have files into a registry that was lost. They are not built by this."""
    found = [record for source_id in stores.documents.sources(tenant) if (record := _record(stores, tenant, source_id))]
    if found:
        stores.registry.save(tenant, found)


def _record(stores: Stores, tenant: Tenant, source_id: str) -> DocumentRecord | None:
    names = set(stores.documents.names(tenant, source_id))
    versions = sorted(int(number) for name in names if (number := name.removeprefix("parsed.")).isdecimal())
    for version in reversed(versions):
        record = DocumentRecord(source_id, "", "", "", "READY", version)
        if text_name(version) in names and (kept := kept_document(stores, tenant, record)):
            namespace, document = kept
            files = (text_name(version), parsed_name(version))
            hashes = {name: hash_of(stores.documents.get(tenant, source_id, name)) for name in files}
            return DocumentRecord(source_id, document.uri, namespace, document.title, "READY", version, files=hashes)
    return None
