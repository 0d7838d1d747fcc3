"""The page is served as it was built, to everybody, under rules that let nothing in it run but itself."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from bench.explorer import sizes
from lexigraph.api.app import create_app
from lexigraph.api.startup import PAGE
from lexigraph.settings import Settings
from tests.server import LaptopService, serving

START = "<!doctype html><title>Explorer</title><script type=module src=/explorer/assets/main-4f2a.js></script>"
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server that asks for keys, with a page; the client has no key."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "assets").mkdir()
    (folder / "index.html").write_text(START, "utf-8")
    (folder / "icon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", "utf-8")
    (folder / "assets" / "main-4f2a.js").write_text("export {}", "utf-8")
    (folder.parent / "secret.txt").write_text("not of the page", "utf-8")
    with _served(folder, folder.parent, False) as client:
        yield client


@contextmanager
def _served(folder: Path, data: Path, open_: bool) -> Iterator[httpx.Client]:
    settings = Settings(data=data / "data", api_rate=0)
    service = LaptopService(settings)
    with (
        serving(create_app(settings, service, open_=open_, page=folder)) as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        yield client


def test_a_browser_comes_to_the_page_and_a_program_to_the_documentation(page: httpx.Client) -> None:
    # relative: a gateway may have the API below the path of a stage
    assert page.get("/", headers=BROWSER).headers["location"] == "explorer/"
    assert page.get("/").headers["location"] == "docs"
    assert page.get("/explorer").headers["location"] == "explorer/"
    assert page.get("/").headers["vary"] == "Accept"
    assert page.get("/explorer", follow_redirects=True).text == START


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ask?q=who+signs",
        "documents/source:3c067f04242ced37302a063b8b72672e",
        "entities/entity:3c067f04242ced37302a063b8b72672e",
        "assets.html",
        "..%2f..%2fsecret.txt",
        "%2e%2e/%2e%2e/secret.txt",
        "%00",
        "a" * 3_000,
        "%E2%80%AEgnp.exe",
        "<script>alert(1)</script>",
    ],
)
def test_every_address_of_the_page_begins_with_its_start(page: httpx.Client, address: str) -> None:
    reply = page.get(f"/explorer/{address}")
    assert (reply.status_code, reply.text) == (200, START)
    assert reply.headers["content-type"].startswith("text/html")
    assert reply.headers["cache-control"] == "no-cache"


def test_files_with_hashed_names_are_kept_for_ever_and_are_never_the_start(page: httpx.Client) -> None:
    found = page.get("/explorer/assets/main-4f2a.js")
    assert (found.status_code, found.text) == (200, "export {}")
    assert "javascript" in found.headers["content-type"]
    assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
    gone = page.get("/explorer/assets/main-0000.js")
    assert gone.status_code == 404
    assert "cache-control" not in gone.headers
    icon = page.get("/explorer/icon.svg")
    assert (icon.headers["content-type"], icon.headers["cache-control"]) == ("image/svg+xml", "no-cache")


@pytest.mark.parametrize("name", ["nope.js", "style.CSS", "documents/main-4f2a.js", "a" * 3_000 + ".js", "%00.js"])
def test_a_file_that_is_not_there_is_not_the_start(page: httpx.Client, name: str) -> None:
    # a browser would read the start as a script, and say something puzzling
    reply = page.get(f"/explorer/{name}")
    assert (reply.status_code, "no such file" in reply.text) == (404, True)
    assert "cache-control" not in reply.headers


def test_what_a_browser_has_is_not_sent_again(page: httpx.Client) -> None:
    first = page.get("/explorer/")
    again = page.get("/explorer/ask", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_another_build_is_sent_though_its_files_have_the_same_times_and_sizes(tmp_path: Path) -> None:
    """As in a layer, all of whose files have one time."""
    start = tmp_path / "index.html"
    with _served(tmp_path, tmp_path, False) as client:
        replies = []
        for build in (START, START.replace("4f2a", "77c1")):
            start.write_text(build, "utf-8")
            os.utime(start, (315_532_800, 315_532_800))
            had = {"If-None-Match": replies[-1].headers["etag"]} if replies else {}
            replies.append(client.get("/explorer/", headers=had))
    assert [(reply.status_code, reply.text) for reply in replies] == [(200, START), (200, build)]


@pytest.mark.parametrize("path", ["/explorer/", "/explorer/assets/main-4f2a.js", "/explorer/assets/none.js"])
def test_nothing_but_the_page_itself_may_run_in_it(page: httpx.Client, path: str) -> None:
    headers = page.get(path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data: blob:",
        "connect-src": "'self'",
        "worker-src": "'self'",
        "font-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_the_page_is_read_only(page: httpx.Client) -> None:
    for method in ("POST", "PUT", "DELETE"):
        reply = page.request(method, "/explorer/")
        assert (reply.status_code, reply.json()["error"]) == (405, "method_not_allowed")
    assert page.head("/explorer/").content == b""


def test_what_the_page_asks_for_needs_a_key(page: httpx.Client) -> None:
    assert page.get("/explorers").status_code == 401
    assert page.get("/documents").status_code == 401


def test_without_a_page_it_is_said_how_to_build_one(tmp_path: Path) -> None:
    with _served(tmp_path / "none", tmp_path, False) as client:
        for path in ("/explorer/", "/explorer/ask"):
            reply = client.get(path)
            assert reply.status_code == 404
            assert "make web" in reply.text
            assert "default-src 'none'" in reply.headers["content-security-policy"]


def test_the_first_load_stays_small_and_brings_neither_the_graph_nor_the_reader_of_pdfs() -> None:
    if not (PAGE / "index.html").is_file():
        pytest.skip("the explorer is not built: make web")
    first, graph, pdf = sizes()
    assert 10_000 < first.compressed < 60_000  # of the 150 kB that it may have
    assert (graph.files, pdf.files) == (1, 2)
    assert graph.compressed > 100_000 < pdf.compressed


def test_a_server_without_keys_shows_the_page_to_this_machine_only(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(START, "utf-8")
    with _served(tmp_path, tmp_path, True) as client:
        assert client.get("/explorer/", headers={"Sec-Fetch-Site": "cross-site"}).text == START  # a link leads here
        for name, value in (("Host", "rebound.example"), ("Origin", "https://elsewhere.example"), ("Via", "1.1 proxy")):
            reply = client.get("/explorer/", headers={name: value})
            assert (reply.status_code, reply.json()["error"]) == (403, "forbidden")
        own = {"Origin": str(client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
        assert client.get("/documents", headers=own).json() == {"documents": [], "next": None}
        assert client.get("/documents", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
