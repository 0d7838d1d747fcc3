"""The real HTTP API on a free port of 127.0.0.1, in a thread, for the time of a ``with`` block."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from lexigraph.api.access.auth import Openness
from lexigraph.api.access.keys import HEADER, new_key
from lexigraph.api.app import create_app
from lexigraph.api.service import Service
from lexigraph.cli.serve import listening
from lexigraph.inference.protocols import LanguageModel
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Stores
from tests.laptop import open_laptop, write_pages
from tests.models import SentenceExtractor, WordEmbedder

SECONDS = 30.0


class LaptopService(Service):
    """A service with the light models of tests/models.py."""

    def _make_index(self) -> LexicalGraphIndex:
        return LexicalGraphIndex(
            self.stores, embedder=WordEmbedder(), extractor=SentenceExtractor(), llm=self.llm, settings=self.settings
        )


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Serve an application; the value is its address."""
    with listening("127.0.0.1", 0) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False, timeout_graceful_shutdown=2))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(SECONDS)
            assert not thread.is_alive(), "the server did not end"


def send(client: httpx.Client, name: str, text: str) -> str:
    """Send a document, and return its id."""
    reply = client.post("/documents", files={"file": (name, text.encode())})
    assert reply.status_code == 200, reply.text
    return str(reply.json()["document"]["id"])


class Api:
    """A served laptop: ``url``, the ``stores`` behind it, and clients by tenant and scopes."""

    def __init__(self, url: str, stores: Stores) -> None:
        self.url, self.stores = url, stores
        self._clients: list[httpx.Client] = []

    def key(self, tenant: str = "default", *scopes: str, **limits: Any) -> str:
        """Make a key; with every scope unless some are named."""
        secret, key = new_key(tenant, scopes or ("read", "ingest", "admin"), **limits)
        self.stores.registry.add_key(key)
        return secret

    def client(self, tenant: str = "default", *scopes: str, **limits: Any) -> httpx.Client:
        """Return a client with a key of its own."""
        return self.with_headers({HEADER: self.key(tenant, *scopes, **limits)})

    def with_headers(self, headers: dict[str, str]) -> httpx.Client:
        """Return a client that sends these headers."""
        # making a context for TLS takes longer than most tests, and nothing here uses it
        client = httpx.Client(base_url=self.url, headers=headers, timeout=SECONDS, verify=False)
        self._clients.append(client)
        return client

    def close(self) -> None:
        """Close the clients."""
        for client in self._clients:
            client.close()


@contextmanager
def laptop_api(
    folder: Path,
    *,
    pages: Mapping[str, str] | None = None,
    stores: Stores | None = None,
    llm: LanguageModel | None = None,
    open_: Openness = False,
    **settings: Any,
) -> Iterator[Api]:
    """Serve a laptop in a folder, which is the root of the default tenant unless ``ingest_roots`` is given.

    ``pages`` are written to its ``corpus``, and ingested.
    """
    made = Settings(
        **{"data": folder / "data", "ingest_roots": {"default": folder}, "ingest_in": "thread", "api_rate": 0, **settings}
    )
    opened = stores or open_laptop(folder / "data")
    service = LaptopService(made, stores=opened, embedder=WordEmbedder(), llm=llm)
    with serving(create_app(made, service, open_=open_)) as url:
        api = Api(url, opened)
        if pages:
            write_pages(folder / "corpus", pages)
            assert api.client().post("/ingest", json={"path": "corpus"}).status_code == 200
        yield api
        api.close()
    if stores is None:
        opened.close()
