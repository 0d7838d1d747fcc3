"""What is kept of a version of a document, in files of the document store: its text, and all else that was parsed.

With them the document can be built again without the file that it came from. The registry has their hashes.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from hashlib import blake2b
from typing import Any

from lexigraph.model.document import Block, LoadedDocument
from lexigraph.model.errors import NotFound, StoreDamaged
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import DocumentRecord, DocumentStore, Stores


def text_name(version: int) -> str:
    """Return the name under which the parsed text of a version is kept."""
    return f"text.{version}"


def parsed_name(version: int) -> str:
    """Return the name under which all else is kept that was parsed of a version: title, blocks, metadata."""
    return f"parsed.{version}"


def files_of(document: LoadedDocument, source: Source) -> dict[str, bytes]:
    """Return the files of a version of a document: with them all else of it can be made again."""
    (parsed,) = plain_documents([replace(document, text="")])
    rest = json.dumps({"namespace": source.namespace, **parsed}, ensure_ascii=False, separators=(",", ":"))
    texts = {text_name(source.version): document.text, parsed_name(source.version): rest}
    return {name: text.encode("utf-8") for name, text in texts.items()}


def document_of(text: bytes, parsed: bytes) -> tuple[str, LoadedDocument]:
    """Return the namespace and the document of two files that :func:`files_of` made."""
    rest = json.loads(parsed)
    namespace = str(rest.pop("namespace"))
    (document,) = read_documents([{**rest, "text": text.decode("utf-8")}])
    return namespace, document


def read_file(documents: DocumentStore, tenant: Tenant, record: DocumentRecord, name: str) -> bytes:
    """Return a file of a document. Raise ``StoreDamaged`` when it is not what was written, ``NotFound`` without one."""
    data = documents.get(tenant, record.source_id, name)
    if record.files.get(name, known := hash_of(data)) != known:
        raise StoreDamaged(
            f"{record.uri}: its file {name} is damaged. Run `lexigraph doctor --repair`, then ingest it again"
        )
    return data


def read_text(stores: Stores, tenant: Tenant, record: DocumentRecord) -> str:
    """Return the text of a document that readers see. Raise as :func:`read_file`."""
    return read_file(stores.documents, tenant, record, text_name(record.version)).decode("utf-8")


def read_blocks(stores: Stores, tenant: Tenant, record: DocumentRecord) -> tuple[Block, ...]:
    """Return the blocks of a document that readers see; none of one of which only the text was kept. Raise as above."""
    name = parsed_name(record.version)
    try:
        parsed = read_file(stores.documents, tenant, record, name)
    except NotFound:
        if name in record.files:
            raise
        return ()
    (document,) = read_documents([{name: value for name, value in json.loads(parsed).items() if name != "namespace"}])
    return document.blocks


def hash_of(data: bytes) -> str:
    """Return the hash of a file as the registry keeps it."""
    return blake2b(data, digest_size=16).hexdigest()


def plain_documents(documents: Iterable[LoadedDocument]) -> list[dict[str, Any]]:
    """Return documents as plain data."""
    names = [f.name for f in fields(LoadedDocument)]
    return [
        {
            **{name: getattr(document, name) for name in names},
            "blocks": [(b.start, b.end, b.headings, b.role) for b in document.blocks],
        }
        for document in documents
    ]


def read_documents(raw: Iterable[Mapping[str, Any]]) -> list[LoadedDocument]:
    """Read what :func:`plain_documents` made."""
    return [
        LoadedDocument(**{**d, "blocks": tuple(Block(start, end, tuple(h), role) for start, end, h, role in d["blocks"])})
        for d in raw
    ]
