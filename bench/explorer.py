"""Measure the explorer: size of what a browser loads, time to the first answer shown, time of each view over a large index.

python -m bench.explorer --folder bench-indexes --statements 100000

A server is started over the made-up index of ``lexigraph bench speed``, which is kept in the folder, with the embedding of a
question given; headless Chromium opens each view by its address in a new profile, so that nothing is cached, and again.
``shown`` is from the navigation until the view shows what was asked for, ``after the API`` what of it came after the last
reply that it needed. Needs ``make web``, and ``make .venv/browser`` and ``python -m tests.browser.install`` for the browser.
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from bench.api_load import Target, own_server
from lexigraph.api.access.keys import HEADER
from lexigraph.api.explorer import PAGE
from lexigraph.evaluation.generated import GeneratedCorpus
from lexigraph.evaluation.speed import generated_questions, measure_speed

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SECONDS = 60.0  # until a view is given up
_SHOWN = """([selector, words]) => {
  const found = document.querySelector(selector);
  if (!found || (words && !found.textContent.trim())) return false;
  const now = performance.now();
  const ends = performance.getEntriesByType("resource")
    .filter(e => e.initiatorType === "fetch" && e.responseEnd > 0 && e.responseEnd <= now).map(e => e.responseEnd);
  return [now, ends.length ? Math.max(...ends) : now];
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
    """Milliseconds of a view: medians, and the longest ``shown``; ``after_api`` is None for answers, which are streamed."""

    what: str
    shown: float
    longest: float
    after_api: float | None


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


def addresses(target: Target, corpus: GeneratedCorpus, questions: Iterator[str]) -> Iterator[tuple[str, str, str]]:
    """Yield views with their addresses, and the selector of what they show when they are there.

    Each takes a question of its own, as an answer is remembered.
    """
    with httpx.Client(base_url=target.url, headers={HEADER: target.key}, timeout=SECONDS) as client:

        def told(path: str, **params: str | int) -> Mapping[str, Any]:
            found: Mapping[str, Any] = client.get(path, params=params).raise_for_status().json()
            return found

        hub = told("/entities", q=corpus.hub, limit=1)["entities"][0]
        document = max(told("/documents", limit=1_000)["documents"], key=lambda d: d["characters"])
        said = told(f"/documents/{document['id']}/statements")["statements"][-1]
    asked = (f"q={quote(question)}" for question in questions)
    yield "Ask, empty", "#/ask", "form textarea, form input"
    yield "Ask, first words of the answer", f"#/ask?{next(asked)}", ".answer .prose"
    yield "Ask, all of it", f"#/ask?{next(asked)}", ".answer[aria-busy=false] .prose"
    yield "Ask, two searches compared", f"#/ask?{next(asked)}&vs=traversal", ".differences"
    yield "Evidence graph", f"#/graph?{next(asked)}", "canvas"
    yield (
        f"Document of {document['characters']:,} characters, at its end",
        (f"#/document/{document['id']}?at={said['start']}-{said['end']}"),
        "mark",
    )
    yield "Documents", "#/documents", ".document-row"
    yield "Entities by a beginning", f"#/entities?q={quote(corpus.hub[:3])}", ".entity-list a"
    yield f"Entity, statements of {hub['documents']:,} documents", f"#/entity/{hub['id']}", ".said-source"
    yield f"Entity, neighbours, of {hub['facts']:,} facts", f"#/entity/{hub['id']}", ".neighbours li"
    yield "Graph around that entity", f"#/graph?around={hub['id']}", "canvas"
    yield "Overview", "#/overview", ".figures dd"
    yield "Ingest", "#/ingest", "main h1"


def measure(browser: "Browser", target: Target, corpus: GeneratedCorpus, rounds: int) -> list[View]:
    """Open every view once unmeasured, then as many times as asked, each time in a new profile."""
    took: dict[str, list[tuple[float, float]]] = defaultdict(list)
    made = [text for _, text in generated_questions(corpus, rounds + 1, corpus.seed)]  # four kinds: as many as views ask
    random.Random(corpus.seed).shuffle(made)
    questions = iter(made)
    for number in range(rounds + 1):
        for what, address, selector in addresses(target, corpus, questions):
            shown = _open(browser, target, address, selector)
            if number:
                took[what].append(shown)
    return [
        View(
            what,
            _median(shown for shown, _ in each),
            round(max(shown for shown, _ in each), 1),
            None if what.startswith("Ask") else _median(shown - api for shown, api in each),
        )
        for what, each in took.items()
    ]


def _median(values: Iterable[float]) -> float:
    return round(statistics.median(values), 1)


def _open(browser: "Browser", target: Target, address: str, selector: str) -> tuple[float, float]:
    """Return when a view was shown, and when the last reply before that was there; milliseconds."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    try:
        page = context.new_page()
        page.add_init_script(f"sessionStorage.setItem('lexigraph-key', {json.dumps(target.key)})")
        page.goto(f"{target.url}/explorer/{address}", wait_until="commit")
        words = not selector.startswith(("canvas", "form"))
        got = page.wait_for_function(_SHOWN, arg=[selector, words], polling="raf", timeout=1000 * SECONDS)
        shown, api = got.json_value()
        return float(shown), float(api)
    finally:
        context.close()


def show(parts: list[Part], views: list[View]) -> None:
    """Print two tables in Markdown."""
    print("| loaded | files | kB | kB gzip |\n|---|---|---|---|")
    for part in parts:
        print(f"| {part.what} | {part.files} | {part.plain / 1000:,.1f} | {part.compressed / 1000:,.1f} |")
    print("\n| view | shown, ms | longest, ms | after the API, ms |\n|---|---|---|---|")
    for view in views:
        after = "" if view.after_api is None else f"{view.after_api:,.0f}"
        print(f"| {view.what} | {view.shown:,.0f} | {view.longest:,.0f} | {after} |")


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
        with own_server(home, given.seed, Path(temporary), 1) as target, running_browser() as browser:
            views = measure(browser, target, corpus, given.rounds)
    parts = sizes()
    if given.json:
        print(json.dumps({"sizes": [asdict(part) for part in parts], "views": [asdict(view) for view in views]}))
    else:
        show(parts, views)
    return 0


if __name__ == "__main__":
    sys.exit(main())
