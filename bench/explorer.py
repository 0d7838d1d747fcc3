"""Measure the explorer: size of what a browser loads, time to the first answer shown, time of each view over a large index.

python -m bench.explorer --folder bench-indexes --statements 100000

A server is started over the made-up index of ``lexigraph bench speed``, which is kept in the folder, with the embedding of a
question given. It is filled up to 10,000 documents, one of 2 MB. Headless Chromium opens each view by its address in a new
profile, so that nothing is cached, and again. ``shown`` is from the navigation until the view shows what was asked for,
``after the API`` what of it came after the last reply that it needed, ``longest reply`` is one request of the page. The exit
code is 1 when a view took more than a second after the API. Needs ``make web``, and ``make .venv/browser`` and
``python -m tests.browser.install`` for the browser.
"""

import argparse
import gzip
import json
import random
import re
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from bench.api_load import Target, own_server
from lexigraph.api.access.keys import HEADER
from lexigraph.api.explorer import PAGE
from lexigraph.evaluation.build import TENANT, open_folder, write
from lexigraph.evaluation.generated import GeneratedCorpus
from lexigraph.evaluation.speed import generated_questions, measure_speed
from lexigraph.model.ids import source_id

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SECONDS = 60.0  # until a view is given up
AIM = 1000.0  # milliseconds after the API
DOCUMENTS = 10_000  # at least
LONG_CHUNKS = 2_600  # of the document of 2 MB
_FILLED = "filled.json"
_WIDE = {"width": 1920, "height": 1080}  # all that a view can show is open
_SHOWN = """([selector, words]) => {
  const found = document.querySelector(selector);
  if (!found || (words && !found.textContent.trim())) return false;
  const now = performance.now();
  const replies = performance.getEntriesByType("resource")
    .filter(e => e.initiatorType === "fetch" && e.responseEnd > 0 && e.responseEnd <= now);
  const last = replies.length ? Math.max(...replies.map(e => e.responseEnd)) : now;
  return [now, last, replies.length, Math.max(0, ...replies.map(e => e.duration))];
}"""


@dataclass(frozen=True, slots=True)
class Part:
    """Files that are loaded together, in bytes."""

    what: str
    files: int
    plain: int
    compressed: int


@dataclass(frozen=True, slots=True)
class View:
    """Milliseconds of a view: medians, and the longest ``shown``; ``after_api`` is None for an answer while it is streamed.

    ``reply`` is the longest of its ``replies``; ``elements`` and ``heap_mb`` are what the page holds then.
    """

    what: str
    shown: float
    longest: float
    replies: int
    reply: float
    after_api: float | None
    elements: int
    heap_mb: float


@dataclass(frozen=True, slots=True)
class Opened:
    """What was seen of a view once: milliseconds since the navigation, and what the page held."""

    shown: float
    api: float
    replies: int
    reply: float
    elements: int
    heap_mb: float


def sizes(page: Path = PAGE) -> list[Part]:
    """Return what is loaded first, and what comes with a graph and with a PDF."""
    named = re.findall(r'(?:src|href)="\./([^"]+)"', (page / "index.html").read_text("utf-8"))
    first = {page / name for name in ("index.html", *named)}
    later = set((page / "assets").iterdir()) - first
    pdf = {path for path in later if path.name.startswith("pdf")}
    return [_part("first load", first), _part("with a graph", later - pdf), _part("with a PDF", pdf)]


def _part(what: str, files: set[Path]) -> Part:
    read = [path.read_bytes() for path in files]
    return Part(what, len(read), sum(map(len, read)), sum(len(gzip.compress(data)) for data in read))


def fill(home: Path, corpus: GeneratedCorpus) -> None:
    """Add documents to an index until there are 10,000, and one of 2 MB, unless that was done."""
    if (home / _FILLED).exists():
        return
    last = max(len(corpus), DOCUMENTS - 1)
    short = (corpus.document(number, 2) for number in range(len(corpus), last))
    with closing(open_folder(home)) as stores:
        write(chain(short, [corpus.document(last, LONG_CHUNKS)]), stores, seed=corpus.seed)
        (home / _FILLED).write_text(json.dumps(stores.graph.stats(TENANT)), "utf-8")


def addresses(target: Target, corpus: GeneratedCorpus, questions: Iterator[str]) -> Iterator[tuple[str, str, str]]:
    """Yield views with their addresses, and the selector of what they show when they are there.

    Each takes a question of its own, as an answer is remembered.
    """
    with httpx.Client(base_url=target.url, headers={HEADER: target.key}, timeout=SECONDS) as client:

        def told(path: str, **params: str | int) -> Mapping[str, Any]:
            found: Mapping[str, Any] = client.get(path, params=params).raise_for_status().json()
            return found

        hub = told("/entities", q=corpus.hub, limit=1)["entities"][0]
        documents = told("/overview")["counts"]["documents"]
        title = corpus.names[max(len(corpus), DOCUMENTS - 1)]
        long = source_id(TENANT, "default", f"file:///bench/{max(len(corpus), DOCUMENTS - 1)}.md")
        size = told(f"/documents/{long}")["characters"]
        said = told(f"/documents/{long}/statements", start=size - 200)["statements"][-1]
    asked = (f"q={quote(question)}" for question in questions)
    yield "Ask, empty", "#/ask", "form textarea, form input"
    yield "Ask, first words of the answer", f"#/ask?{next(asked)}", ".answer .prose"
    yield "Ask, all of it", f"#/ask?{next(asked)}", ".answer[aria-busy=false] .prose"
    yield "Ask, two searches compared", f"#/ask?{next(asked)}&vs=traversal", ".differences"
    yield "Evidence graph", f"#/graph?{next(asked)}", "canvas"
    read = f"Document of {size:,} characters"
    yield f"{read}, at its beginning", f"#/document/{long}", ".block"
    yield f"{read}, at its end", f"#/document/{long}?at={said['start']}-{said['end']}", "mark"
    yield f"{read}, its outline", f"#/document/{long}", ".outline-row"
    yield f"{read}, statements beside its end", f"#/document/{long}?at={said['start']}-{said['end']}", ".cards .lit"
    yield f"Documents, of {documents:,}", "#/documents", ".document-row"
    yield f"Documents, one of {documents:,} found by its title", f"#/documents?find={quote(title)}", ".document-row"
    yield "Entities by a beginning", f"#/entities?q={quote(corpus.hub[:3])}", ".entity-list a"
    yield f"Entity, statements of {hub['documents']:,} documents", f"#/entity/{hub['id']}", ".said-source"
    yield f"Entity, neighbours, of {hub['facts']:,} facts", f"#/entity/{hub['id']}", ".neighbours li"
    yield "Graph around that entity", f"#/graph?around={hub['id']}", "canvas"
    yield "Overview", "#/overview", ".figures dd"
    yield "Ingest", "#/ingest", "main h1"


def measure(browser: "Browser", target: Target, corpus: GeneratedCorpus, rounds: int) -> list[View]:
    """Open every view once unmeasured, then as many times as asked, each time in a new profile."""
    took: dict[str, list[Opened]] = defaultdict(list)
    made = [text for _, text in generated_questions(corpus, rounds + 1, corpus.seed)]  # four kinds: as many as views ask
    random.Random(corpus.seed).shuffle(made)
    questions = iter(made)
    for number in range(rounds + 1):
        for what, address, selector in addresses(target, corpus, questions):
            opened = _open(browser, target, address, selector)
            if number:
                took[what].append(opened)
    return [
        View(
            what,
            _median(o.shown for o in each),
            round(max(o.shown for o in each), 1),
            max(o.replies for o in each),
            _median(o.reply for o in each),
            None if "first words" in what else _median(o.shown - o.api for o in each),
            max(o.elements for o in each),
            _median(o.heap_mb for o in each),
        )
        for what, each in took.items()
    ]


def _median(values: Iterable[float]) -> float:
    return round(statistics.median(values), 1)


def _open(browser: "Browser", target: Target, address: str, selector: str) -> Opened:
    """Open a view in a new profile and wait until it shows what was asked for."""
    context = browser.new_context(viewport=_WIDE, reduced_motion="reduce")
    try:
        page = context.new_page()
        page.add_init_script(f"sessionStorage.setItem('lexigraph-key', {json.dumps(target.key)})")
        page.goto(f"{target.url}/explorer/{address}", wait_until="commit")
        words = not selector.startswith(("canvas", "form"))
        got = page.wait_for_function(_SHOWN, arg=[selector, words], polling="raf", timeout=1000 * SECONDS)
        shown, api, replies, reply = got.json_value()
        elements = page.evaluate("document.querySelectorAll('*').length")
        session = context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        heap = session.send("Runtime.getHeapUsage")["usedSize"]
        return Opened(float(shown), float(api), int(replies), float(reply), int(elements), round(heap / 1e6, 1))
    finally:
        context.close()


def show(parts: list[Part], views: list[View]) -> None:
    """Print two tables in Markdown."""
    print("| loaded | files | kB | kB gzip |\n|---|---|---|---|")
    for part in parts:
        print(f"| {part.what} | {part.files} | {part.plain / 1000:,.1f} | {part.compressed / 1000:,.1f} |")
    print("\n| view | shown, ms | longest, ms | replies | longest reply, ms | after the API, ms | elements | heap, MB |")
    print("|---|---|---|---|---|---|---|---|")
    for view in views:
        after = "" if view.after_api is None else f"{view.after_api:,.0f}"
        print(
            f"| {view.what} | {view.shown:,.0f} | {view.longest:,.0f} | {view.replies} | {view.reply:,.0f} | {after} | "
            f"{view.elements:,} | {view.heap_mb:.0f} |"
        )


def main() -> int:
    """Parse the command line, measure, print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="where the index is built, kept and found again (default temporary)")
    parser.add_argument("--statements", type=int, default=100_000, help="about how many the index holds")
    parser.add_argument("--seed", type=int, default=1, help="of the made-up corpus")
    parser.add_argument("--rounds", type=int, default=5, help="times that each view is opened")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    try:
        from tests.browser.explorer import missing, running_browser
    except ModuleNotFoundError as error:
        parser.error(f"{error.name} is not installed: make .venv/browser")
    if why := missing():
        parser.error(why)
    with tempfile.TemporaryDirectory(prefix="lexigraph-explorer-") as temporary:
        folder = given.folder or Path(temporary)
        measure_speed(folder, given.statements, (), 1, seed=given.seed)  # builds the index unless it is there
        corpus = GeneratedCorpus(given.statements, given.seed)
        home = folder / f"{given.statements}-{given.seed}"
        fill(home, corpus)
        with own_server(home, given.seed, Path(temporary), 1) as target, running_browser() as browser:
            views = measure(browser, target, corpus, given.rounds)
    parts = sizes()
    if given.json:
        print(json.dumps({"sizes": [asdict(part) for part in parts], "views": [asdict(view) for view in views]}))
    else:
        show(parts, views)
    slow = [view.what for view in views if (view.after_api or 0) > AIM]
    for what in slow:
        print(f"more than {AIM:,.0f} ms after the API: {what}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
