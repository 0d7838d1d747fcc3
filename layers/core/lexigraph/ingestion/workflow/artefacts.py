"""What the steps of an ingest hand on to each other: JSON files of one run, in a document store of their own."""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple
from typing import Any

from pydantic import TypeAdapter

from lexigraph.ingestion.models import Entries
from lexigraph.ingestion.versions import Written
from lexigraph.model.document import Block, ChunkText
from lexigraph.model.errors import NotFound
from lexigraph.model.ids import content_hash
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import DocumentStore


class Artefacts:
    """The files of one run. What is put twice under one name is the same: a step that is repeated makes it anew."""

    def __init__(self, store: DocumentStore, tenant: Tenant, job_id: str) -> None:
        self._store, self._tenant = store, tenant
        self.folder = f"source:{content_hash(job_id)[:32]}"  # the store files by source

    def put(self, name: str, value: Any) -> None:
        """Write a file."""
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        self._store.put(self._tenant, self.folder, f"{name}.json", data.encode("utf-8", "surrogatepass"))

    def get(self, name: str) -> Any:
        """Return what a file holds, None when there is none."""
        try:
            data = self._store.get(self._tenant, self.folder, f"{name}.json")
        except NotFound:
            return None
        return json.loads(data.decode("utf-8", "surrogatepass"))

    def read(self, name: str) -> Any:
        """Return what a file holds. Raise ``NotFound``: the step that makes it has not run, or the run is over."""
        found = self.get(name)
        if found is None:
            raise NotFound(f"{name} does not exist: run the step that creates it")
        return found

    def names(self, prefix: str) -> list[str]:
        """Return the names of the files that begin so, sorted."""
        found = (name.removesuffix(".json") for name in self._store.names(self._tenant, self.folder))
        return [name for name in found if name.startswith(prefix)]

    def clear(self) -> None:
        """Delete all."""
        self._store.delete(self._tenant, self.folder)


class RunCache:
    """The results of models that a run has: its own, and what it found in a cache below.

    ``entries`` are all that were found or put, by kind and key: what the next step is handed. A run that asks the models
    ``anew`` looks for nothing below, and renews what is there.
    """

    def __init__(self, below: Entries, *, anew: bool = False) -> None:
        self._below, self._anew = below, anew
        self.entries: dict[str, dict[str, bytes]] = {}

    def get_many(self, tenant: Tenant, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the entries that exist."""
        own = self.entries.get(kind, {})
        missing = [key for key in keys if key not in own]
        if missing and not self._anew:
            self.add(kind, self._below.get_many(tenant, kind, missing))
            own = self.entries[kind]
        return {key: own[key] for key in keys if key in own}

    def put_many(self, tenant: Tenant, kind: str, entries: Mapping[str, bytes]) -> None:
        """Add or replace entries, also in the cache below."""
        self.add(kind, entries)
        self._below.put_many(tenant, kind, entries)

    def add(self, kind: str, entries: Mapping[str, bytes]) -> None:
        """Add or replace entries of the run alone."""
        self.entries.setdefault(kind, {}).update(entries)

    def dump(self) -> dict[str, dict[str, str]]:
        """Return the entries as plain data."""
        return {kind: {k: base64.b64encode(v).decode() for k, v in own.items()} for kind, own in self.entries.items()}

    def load(self, dumped: Mapping[str, Mapping[str, str]]) -> None:
        """Add what another step dumped."""
        for kind, entries in dumped.items():
            self.add(kind, {key: base64.b64decode(value) for key, value in entries.items()})


# ---------------------------------------------------------------- values as plain data


def plain_chunk(chunk: ChunkText) -> dict[str, Any]:
    """Return a chunk as plain data."""
    return {**asdict(chunk), "blocks": [astuple(b) for b in chunk.blocks]}


def read_chunk(raw: Mapping[str, Any]) -> ChunkText:
    """Read what :func:`plain_chunk` made."""
    blocks = tuple(Block(start, end, tuple(h), role) for start, end, h, role in raw["blocks"])
    return ChunkText(**{**raw, "headings": tuple(raw["headings"]), "blocks": blocks})


def read_written(raw: Iterable[Mapping[str, Any]]) -> list[Written]:
    """Read versions that ``dataclasses.asdict`` made plain."""
    return TypeAdapter(list[Written]).validate_python(raw)
