"""Answers and search results as a reader sees them."""

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.text import Text

from lexigraph.answering.judgement import SURE
from lexigraph.answering.response import QueryResponse
from lexigraph.cli.output import block, duration, one_line, printable, prose, short_path
from lexigraph.model.numbers import counted
from lexigraph.model.results import LEFT_OUT, Citation, Notice, ScoredStatement, SearchResult, SearchResults

_QUOTE = 400
_QUIET = ("unused_sources",)  # an answer need not use all that it was offered


def print_answer(console: Console, response: str) -> None:
    """Print the text of an answer."""
    prose(console, Text(printable(response), style="bold"))


def print_sources(console: Console, response: QueryResponse) -> None:
    """Print what the labels of an answer stand for: where it is, and the words unless the answer consists of them."""
    if response.citations:
        console.print("\nSources")
    for c in response.citations:
        place = f"{short_path(c.uri)}, characters {c.start}-{c.end}" if c.uri else "given with the question"
        title = ", ".join([one_line(c.title), *_written(c)])
        console.print(Text.assemble((f"[{c.label}] ", "cyan"), f"{title}  ", (place, "dim")), soft_wrap=True)
        if not response.extractive:
            _print_quote(console, c)


def _written(c: Citation) -> list[str]:
    """Return who wrote a message and on which day: many of them have one subject."""
    written = [str(c.metadata.get(name, "")) for name in ("author", "date")]
    return [one_line(written[0]), written[1][:10]] if all(written) else []


def print_unsupported(console: Console, response: QueryResponse, *, left_out: bool) -> None:
    """Print which sentences of a model, and which of its citations, the statements cited do not bear out."""
    if response.unsupported:
        console.print("\nLeft out, as its citations do not support it" if left_out else "\nNot supported by its citations")
    for u in response.unsupported:
        prose(console, Text.assemble(("- ", "yellow"), one_line(u.sentence, _QUOTE), (f"  ({one_line(u.reason)})", "dim")))


def _print_quote(console: Console, quoted: Citation) -> None:
    if quoted.kind == "prose":
        prose(console, f'     "{one_line(quoted.text, _QUOTE)}"')
    else:
        console.print(block(quoted.text, 5), soft_wrap=True)


def print_timings(console: Console, timings: Mapping[str, float]) -> None:
    """Print how long an answer took."""
    console.print(Text("\n" + ", ".join(f"{name} {duration(ms)}" for name, ms in timings.items()), style="dim"))


def print_warnings(console: Console, warnings: Iterable[Notice]) -> None:
    """Print what went less well than it should; of two that tell of one fault, the one that says more."""
    details = dict.fromkeys(w.detail for w in warnings if w.type not in _QUIET)
    for detail in details:
        if not any(detail in other for other in details if other != detail):
            console.print(Text(one_line(f"warning: {detail}"), style="yellow"), soft_wrap=True)


def print_doubt(console: Console, response: QueryResponse) -> None:
    """Print that an answer may be none, as its passages are near the question and perhaps beside it."""
    if response.answerable and response.confidence < SURE:
        told = f"confidence {response.confidence:.2f}: the passages are related to the question, but may not answer it"
        console.print(Text(told, style="yellow"), soft_wrap=True)


def print_results(console: Console, found: SearchResults, *, explain: bool) -> None:
    """Print results, best first: document and topic, then its statements with score and reason."""
    for number, result in enumerate(found.results, 1):
        _print_result(console, number, result, explain)
    if not found.results:
        console.print("nothing relevant enough" if any(w.type == LEFT_OUT for w in found.warnings) else "nothing found")
    if explain:
        for name, values in (("keywords", found.keywords), ("entities", found.entities)):
            console.print(f"{name}: {one_line(', '.join(values)) or 'none'}", soft_wrap=True)
        calls = ", ".join(f"{store} {count}" for store, count in found.calls.items())
        console.print(f"store calls: {calls or 'none'}", soft_wrap=True)
    times = ", ".join(f"{name} {duration(ms)}" for name, ms in found.timings.items())
    counts = f"{counted(len(found.results), 'result')}, {counted(len(found.statements), 'statement')}"
    console.print(Text(f"{counts}; {times}", style="dim"), soft_wrap=True)


def _print_result(console: Console, number: int, result: SearchResult, explain: bool) -> None:
    place = short_path(result.source.uri)
    head = Text.assemble((f"{number}. ", "cyan"), f"{result.score:.3f}  {one_line(result.source.title)}  ", (place, "dim"))
    console.print(head, soft_wrap=True)
    if result.topic:
        console.print(f"   {one_line(result.topic)}", soft_wrap=True)
    for statement in result.statements:
        told = one_line(statement.text) if statement.kind == "prose" else statement.kind
        console.print(Text.assemble((f"   {statement.score:.3f} {statement.reason:<8}", "dim"), f" {told}"), soft_wrap=True)
        if statement.kind != "prose":
            console.print(block(statement.text, 9), soft_wrap=True)
        if explain:
            _print_reasons(console, statement)


def _print_reasons(console: Console, statement: ScoredStatement) -> None:
    lines = {
        "original": one_line(statement.original) if statement.kind == "prose" else "",
        "path": " > ".join(one_line(name) for name in statement.path),
        "parts": ", ".join(f"{name} {value:.3f}" for name, value in statement.parts.items()),
        "facts": "; ".join(one_line(fact) for fact in statement.facts),
        "place": f"characters {statement.start}-{statement.end}, {statement.chunk_id}",
    }
    for name, value in lines.items():
        if value:
            console.print(Text(f"         {name}: {value}", style="dim"), soft_wrap=True)
