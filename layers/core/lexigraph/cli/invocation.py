"""One run of the command line: its global options, its consoles, and the stores and models it opens."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_origin

import typer
from rich.console import Console

from lexigraph.cli.output import consoles
from lexigraph.model.errors import InvalidInput, NotFound
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings, load_settings

if TYPE_CHECKING:
    from lexigraph.ingestion.pipeline import LexicalGraphIndex
    from lexigraph.storage.protocols import Stores


@dataclass(frozen=True)
class Invocation:
    """What a command gets: ``given`` are the settings named by global options."""

    given: Mapping[str, object] = field(default_factory=dict)
    verbose: bool = False
    consoles: tuple[Console, Console] = field(default_factory=consoles)

    @property
    def out(self) -> Console:
        """The console of results."""
        return self.consoles[0]

    @property
    def err(self) -> Console:
        """The console of progress, warnings and errors."""
        return self.consoles[1]

    def settings(self, **more: object) -> Settings:
        """Return the settings, ``more`` (None: not given) and global options first. Raise ``InvalidInput``."""
        settings = load_settings(**{**self.given, **{k: v for k, v in more.items() if v is not None}})
        Tenant(settings.tenant)
        return settings

    @contextmanager
    def stores(self, settings: Settings) -> Iterator["Stores"]:
        """Open the stores of an existing database. Raise ``NotFound`` when there is none."""
        from lexigraph.storage.factory import open_stores

        require_database(settings)
        with closing(open_stores(settings)) as stores:
            yield stores

    @contextmanager
    def index(self, settings: Settings, *, create: bool = False) -> Iterator["LexicalGraphIndex"]:
        """Open the index of a database, which has to exist unless ``create``."""
        from lexigraph.ingestion.pipeline import LexicalGraphIndex

        if not create:
            require_database(settings)
        new = create and not settings.data.expanduser().exists()
        try:
            with LexicalGraphIndex(settings=settings) as index:
                yield index
        finally:
            if new:
                _remove_unused(settings)

    def tell_if_empty(self, stores: "Stores", settings: Settings) -> None:
        """Say on stderr that there are no documents, where that is why nothing was found."""
        if not stores.registry.documents(Tenant(settings.tenant), limit=1):
            remedy = "run `lexigraph ingest PATH`, or choose another with --tenant"
            self.err.print(f"tenant {settings.tenant} has no documents yet: {remedy}", soft_wrap=True)


def current(context: typer.Context) -> Invocation:
    """Return what the global options said."""
    found = context.find_object(Invocation)
    return found or Invocation()


@contextmanager
def stores_of(context: typer.Context) -> Iterator[tuple[Invocation, "Stores", Tenant]]:
    """Open the stores of an existing database."""
    invocation = current(context)
    settings = invocation.settings()
    with invocation.stores(settings) as stores:
        yield invocation, stores, Tenant(settings.tenant)


@contextmanager
def index_of(context: typer.Context) -> Iterator[tuple[Invocation, "LexicalGraphIndex", str]]:
    """Open the index of an existing database."""
    invocation = current(context)
    settings = invocation.settings()
    with invocation.index(settings) as index:
        yield invocation, index, settings.tenant


def require_database(settings: Settings) -> None:
    """Raise ``NotFound`` when the graph is to be in a folder that does not exist: reading must not create it."""
    from lexigraph.storage.common.folders import embedded_folder

    graph = settings.connections["graph"]
    if graph.startswith("sqlite:///") and not (folder := embedded_folder(graph)).is_dir():
        raise NotFound(f"no database in {folder}: run `lexigraph ingest PATH` first, or choose another folder with --data")


def _remove_unused(settings: Settings) -> None:
    """Remove a database that was made for a first ingest which took nothing in."""
    from lexigraph.storage.sqlite.database import remove_unused

    with suppress(OSError):
        remove_unused(settings.data.expanduser().absolute())


def assignments(pairs: Sequence[str]) -> dict[str, object]:
    """Read ``NAME=VALUE`` pairs; objects and lists are given as JSON. Raise ``InvalidInput`` for a name of no setting."""
    found: dict[str, object] = {}
    for pair in pairs:
        name, equals, raw = pair.partition("=")
        name = name.strip().lower().removeprefix("lexigraph_")
        if not equals or name not in Settings.model_fields:
            raise InvalidInput(f"--set {pair[:80]!r}: expected NAME=VALUE with one of {', '.join(Settings.model_fields)}")
        value: Any = raw
        if get_origin(Settings.model_fields[name].annotation) in (dict, list):
            try:
                value = json.loads(raw)
            except ValueError as error:
                raise InvalidInput(f"--set {name}: not valid JSON: {error}") from None
        found[name] = value
    return found


def start_logging(console: Console, verbose: bool) -> None:
    """Log to stderr: warnings, or with ``verbose`` all that the package says."""
    from rich.logging import RichHandler

    handler: logging.Handler
    if console.is_terminal:  # through the console, so that a progress bar stays below
        handler = RichHandler(console=console, show_path=False, markup=False, highlighter=None)
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])
    logging.getLogger("lexigraph").setLevel(logging.DEBUG if verbose else logging.WARNING)
