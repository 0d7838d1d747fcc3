"""What ``lexigraph doctor`` looks at. Each check says what it found and, where something is wrong, what to do."""

import importlib.metadata
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.filesize import decimal

from lexigraph.cli.output import duration
from lexigraph.model.errors import InvalidInput, LexigraphError, ModelUnavailable, NotFound, StoreUnavailable
from lexigraph.model.numbers import counted
from lexigraph.model.secrets import SECRET_NAME
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.files.documents import FileDocumentStore

if TYPE_CHECKING:
    from lexigraph.ingestion.upkeep.repair import Finding
    from lexigraph.storage.sqlite.damage import Damage

_LITTLE_SPACE = 1_000_000_000
_NO_SPACE = 50_000_000
_REQUIRED = re.compile(r"^([\w.-]+)[^;]*;.*extra\s*==\s*['\"]([\w-]+)['\"]")
# laptop is the sum of others; model is heavy and seldom wanted
_KEYS = (
    "its keys, jobs and decisions about names were lost: `lexigraph keys create` makes new keys, which servers now ask for, "
    "or lexigraph restore"
)
_EXTRAS = ("aws", "cli", "files", "llama-index", "local", "mcp", "model")


@dataclass(frozen=True, slots=True)
class Check:
    """A finding; ``note`` is worth knowing but nothing is wrong. ``remedy`` is what to do, in one line."""

    area: str
    name: str
    status: Literal["ok", "note", "problem"]
    detail: str
    remedy: str = ""


def check_stores(settings: Settings) -> Iterator[Check]:
    """Open each store; tell the format of its file."""
    from lexigraph.ingestion.upkeep.repair import refuse_other_vectors
    from lexigraph.storage import factory

    connections = settings.connections
    vector_store = partial(factory.VectorStoreFactory.for_vector_store, embedding=settings.embedding)
    openers: dict[str, tuple[str, Callable[[str], Any]]] = {
        "graph": ("LEXIGRAPH_GRAPH_STORE", factory.GraphStoreFactory.for_graph_store),
        "vector": ("LEXIGRAPH_VECTOR_STORE", vector_store),
        "documents": ("LEXIGRAPH_DOCUMENT_STORE", factory.DocumentStoreFactory.for_document_store),
        "registry": ("LEXIGRAPH_REGISTRY", factory.RegistryFactory.for_registry),
        "cache": ("LEXIGRAPH_CACHE", factory.CacheFactory.for_cache),
    }
    for name, (variable, opened) in openers.items():
        try:
            store = opened(connections[name])
            if name == "vector":
                variable = "LEXIGRAPH_EMBEDDING_MODEL"
                refuse_other_vectors(store, Tenant(settings.tenant))
            if close := getattr(store, "close", None):
                close()
        except LexigraphError as error:
            yield Check("stores", name, "problem", str(error), _remedy(error, variable))
        else:
            detail = f"{without_secrets(connections[name])} opens{_format(connections[name], name)}"
            yield Check("stores", name, "ok", detail)


def _format(connection: str, name: str) -> str:
    """Return the format of an embedded store's file as text, empty when it has none."""
    if not connection.startswith("sqlite:///"):
        return ""
    from lexigraph.storage.common.folders import embedded_folder

    for path in sorted(embedded_folder(connection).glob(f"{name}*.sqlite")):
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
                return f", format {database.execute('PRAGMA user_version').fetchone()[0]}"
        except sqlite3.Error:
            break
    return ""


def check_models(settings: Settings, *, probe_llm: bool) -> Iterator[Check]:
    """Load and use the embedding model and the local extractor; ask the language model only with ``probe_llm``."""
    yield _attempt("embedding", "LEXIGRAPH_EMBEDDING_MODEL", lambda: _embed(settings))
    yield _attempt("language model", "LEXIGRAPH_LLM", lambda: _ask(settings, probe_llm))
    yield _attempt("extraction", "LEXIGRAPH_EXTRACTOR", lambda: _extract(settings))


def _attempt(name: str, variable: str, attempt: Callable[[], str]) -> Check:
    try:
        return Check("models", name, "ok", attempt())
    except LexigraphError as error:
        return Check("models", name, "problem", str(error), _remedy(error, variable))


def _embed(settings: Settings) -> str:
    from lexigraph.inference.factory import make_embedder

    embedder = make_embedder(settings)
    spent = [_timed(lambda: embedder.embed_questions(["Which model is this?"])) for _ in range(2)]
    return f"{embedder.label} responds: {duration(spent[0])} including loading, {duration(spent[1])} per text"


def _ask(settings: Settings, probe: bool) -> str:
    from lexigraph.inference.factory import make_llm
    from lexigraph.inference.protocols import Prompt, ReplyCut

    llm = make_llm(settings)
    if llm is None:
        return "none: answers quote the sources"
    if not probe:
        return f"{llm.name} is configured; not called, since it may cost money: --probe-llm sends a one-word request"

    def ask() -> None:
        with suppress(ReplyCut):  # it says more than it was asked for
            llm.complete(Prompt("Reply with the word yes.", max_tokens=16))

    return f"{llm.name} answers: {duration(_timed(ask))}"


def _extract(settings: Settings) -> str:
    from lexigraph.inference.factory import make_llm
    from lexigraph.ingestion.extract import make_extractor
    from lexigraph.model.document import ChunkText

    if settings.extraction == "llm":
        if settings.llm == "none":
            raise InvalidInput("extractor llm needs a language model, and LEXIGRAPH_LLM is none")
        return "llm: by the language model above"
    extractor = make_extractor(settings, make_llm(settings))
    text = "Ada Lovelace worked in London."
    chunk = ChunkText(seq=0, title="", headings=(), text=text, start=0, end=len(text))
    return f"local: spaCy works: {duration(_timed(lambda: list(extractor.extract([chunk]))))} including loading"


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)


def check_extras() -> Iterator[Check]:
    """Tell which optional parts are installed."""
    wanted: dict[str, list[str]] = {name: [] for name in _EXTRAS}
    for line in importlib.metadata.requires("lexigraph") or ():
        if (match := _REQUIRED.match(line)) and match[2] in wanted:
            wanted[match[2]].append(match[1])
    for extra, packages in wanted.items():
        missing = [name for name in dict.fromkeys(packages) if not _installed(name)]
        if missing:
            detail = f"not installed: {', '.join(missing)}"
            yield Check("packages", extra, "note", detail, f'optional: pip install "lexigraph[{extra}]"')
        else:
            yield Check("packages", extra, "ok", "installed")


def _installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def check_disk(settings: Settings) -> Iterator[Check]:
    """Look at the folders of embedded stores: can they be written, is there room."""
    for folder in sorted(local_folders(settings)):
        existing = next(p for p in (folder, *folder.parents) if p.exists())
        try:
            if not existing.is_dir():
                raise NotADirectoryError(20, "is a file, not a folder")
            with tempfile.TemporaryFile(dir=existing):
                free = shutil.disk_usage(existing).free
        except OSError as error:
            remedy = "give write permission to it, or choose another folder with --data"
            read = existing == folder and folder.is_dir()  # as of a copy that is only asked
            detail = f"cannot be written: {error.strerror}{'; questions are answered' if read else ''}"
            yield Check("disk", str(existing), "note" if read else "problem", detail, remedy)
            continue
        detail = f"can be written, {decimal(free)} free"
        if free < _NO_SPACE:
            yield Check("disk", str(existing), "problem", detail, "free up disk space: writes will soon fail")
        elif free < _LITTLE_SPACE:
            yield Check("disk", str(existing), "note", detail, "a large ingest may need more")
        else:
            yield Check("disk", str(existing), "ok", detail)


def local_folders(settings: Settings) -> set[Path]:
    """Return the folders of the embedded stores."""
    from lexigraph.storage.common.folders import embedded_folder

    folders = set()
    for connection in settings.connections.values():
        for scheme in ("sqlite", "file"):
            if connection.startswith(f"{scheme}:///"):
                folders.add(embedded_folder(connection, scheme))
    return {f for f in folders if not any(f != other and f.is_relative_to(other) for other in folders)}


def check_files(settings: Settings, *, repair: bool) -> Iterator[Check]:
    """Read the files of embedded stores whole, and compare what they hold with what was written.

    With ``repair`` put what is damaged aside, and build it again from the texts and what models said before.
    """
    from lexigraph.storage.sqlite.damage import FILES, examine, set_aside
    from lexigraph.storage.sqlite.database import EVIDENCE

    for folder, used in sorted(database_files(settings).items()):
        found = list(examine(folder, used))
        moved = set_aside(found) if repair else {}
        for damage in found:
            if not repair:
                remedy = "lexigraph doctor --repair, or lexigraph restore"
                yield Check("files", str(damage.path), "problem", damage.problem, remedy)
            else:
                to = f"; put aside in {moved[damage.path].parent.name}" if damage.path in moved else ""
                yield Check("files", str(damage.path), "note", f"{damage.problem}{to}", _KEYS if _has_keys(damage) else "")
        if any(path.name in EVIDENCE for path in moved):
            yield from _built_again(settings, keys_lost=any(map(_has_keys, found)))
        if not found:
            size = sum(path.stat().st_size for name in FILES if (path := folder / name).is_file())
            yield Check("files", str(folder), "ok", f"{decimal(size)} intact")


_AGAIN = "ingest it again"


def _has_keys(damage: "Damage") -> bool:
    return damage.path.name == "registry.sqlite"


def _built_again(settings: Settings, *, keys_lost: bool) -> Iterator[Check]:
    """Build the documents of all tenants again. Servers that lost their keys go on asking for one."""
    from lexigraph.api.access.keys import new_key
    from lexigraph.ingestion.pipeline import LexicalGraphIndex
    from lexigraph.ingestion.upkeep.rebuild import adopt
    from lexigraph.storage.factory import open_stores

    with closing(open_stores(settings, create="again")) as stores:
        if keys_lost:  # none was ever made, as far as the new registry knows: that would open a server on loopback
            _, key = new_key(settings.tenant, ("read",), name="instead of the lost ones")
            stores.registry.add_key(key)
            stores.registry.revoke_key(Tenant(key.tenant), key.id)
        index = LexicalGraphIndex(stores, settings=settings)
        for tenant in tenants_of(settings):
            if not stores.registry.revision(tenant):
                adopt(stores, tenant)
            ids = [document.source_id for document in index.documents(tenant=tenant)]
            built = index.rebuild(ids, tenant=tenant)
            detail = f"{len(built):,} of {len(ids):,} documents built again from their texts"
            lost = len(built) < len(ids)
            remedy = "lexigraph doctor names the others: ingest them again, or lexigraph restore" if lost else ""
            yield Check("files", f"tenant {tenant}", "problem" if lost else "note", detail, remedy)


def tenants_of(settings: Settings) -> list[Tenant]:
    """Return the tenants whose documents lie on this machine, that of the settings first."""
    from lexigraph.storage.factory import DocumentStoreFactory

    store = DocumentStoreFactory.for_document_store(settings.connections["documents"])
    found = store.tenants() if isinstance(store, FileDocumentStore) else []
    return list(dict.fromkeys([Tenant(settings.tenant), *found]))


def database_files(settings: Settings) -> dict[Path, set[str]]:
    """Return the names of the files that embedded databases keep, by folder."""
    from lexigraph.storage.common.folders import embedded_folder

    found: dict[Path, set[str]] = {}
    for store, connection in settings.connections.items():
        if connection.startswith("sqlite:///"):
            name = "vectors" if store == "vector" else store
            found.setdefault(embedded_folder(connection), set()).add(f"{name}.sqlite")
    return found


def check_documents(settings: Settings, *, repair: bool) -> Iterator[Check]:
    """Compare the stores; with ``repair`` put right what an interrupted run left."""
    from lexigraph.ingestion.pipeline import LexicalGraphIndex

    for tenant in tenants_of(settings):
        try:
            with LexicalGraphIndex(settings=settings) as index:
                findings = index.repair(tenant=tenant, dry_run=not repair)
                again = repair and any(found.remedy.endswith(_AGAIN) for found in findings)
                left = {found.source_id for found in index.repair(tenant=tenant, dry_run=True)} if again else set[str]()
                count = len(index.documents(tenant=tenant))
        except LexigraphError as error:
            yield Check("documents", "comparison", "problem", str(error), "fix the stores first")
            return
        yield from (_document_check(found, whole=found.source_id not in left) for found in findings)
        if not findings:
            of = "" if tenant == settings.tenant else f" of tenant {tenant}"
            yield Check("documents", "comparison", "ok", f"{counted(count, 'document')}{of}, consistent in all stores")


def _document_check(found: "Finding", *, whole: bool) -> Check:
    if found.repaired and not whole:  # what was lost comes back with the next ingest only
        return Check("documents", found.uri, "problem", found.problem, f"now {_AGAIN}")
    if found.repaired:
        after = f"now {_AGAIN}" if found.remedy.endswith(_AGAIN) else "put right"
        return Check("documents", found.uri, "note", f"{found.problem}: {after}")
    # without a document it is no matter of one that repair could see to
    remedy = f"lexigraph doctor --repair, then: {found.remedy}" if found.uri else found.remedy
    return Check("documents", found.uri, "problem", found.problem, remedy)


def without_secrets(text: str) -> str:
    """Return a connection string or address without user name, password and options that are secret by their names."""
    text = re.sub(r"//[^/@\s]*@", "//***@", text)
    return re.sub(
        r"([?&])([^?=&\s]{1,40})=[^&\s]*", lambda m: f"{m[1]}{m[2]}=***" if SECRET_NAME.search(m[2]) else m[0], text
    )


def _remedy(error: LexigraphError, variable: str) -> str:
    match error:
        case StoreUnavailable():
            return f"see that it can be reached and written, or change {variable}"
        case ModelUnavailable():
            return f"install or start the model, or change {variable}"
        case NotFound():
            return "lexigraph ingest PATH"
        case _:
            return f"change {variable}"
