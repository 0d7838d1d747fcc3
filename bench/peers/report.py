"""What was measured: a row a system and retriever, out of the results of its steps; as a table and as JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, quantiles
from typing import Any

from bench.peers.given import Asked
from bench.peers.score import kept

BUDGETS = (1_000, 2_000, 4_000)
_NUMBERS = ("seconds", "processor_seconds")
_OF_STEP = {
    "build": (*_NUMBERS, "peak_mb", "disk_mb"),
    "build-only": (*_NUMBERS, "peak_mb", "disk_mb"),
    "ask": (*_NUMBERS, "embedding_calls", "first_answer_seconds", "resident_mb", "servers_mb"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """What a driver measured of one step: figures by name; of ``ask`` also contexts, times and calls of stores."""

    version: str
    figures: Mapping[str, float]
    contexts: Mapping[str, str]
    milliseconds: tuple[float, ...]
    calls: Mapping[str, float]


def read_step(text: str) -> Step:
    """Read what a driver wrote. Raise ``ValueError`` for anything else."""
    try:
        told = json.loads(text)
        step, found = told["job"]["step"], told["found"]
        figures = {name: float(found[name]) for name in _OF_STEP[step]}
        contexts, milliseconds, calls = (
            ({}, [], {}) if step != "ask" else (found[k] for k in ("contexts", "milliseconds", "calls"))
        )
        if not all(isinstance(context, str) for context in contexts.values()) or len(contexts) != len(milliseconds):
            raise ValueError("contexts and times do not match")
        return Step(
            str(found["version"]),
            figures,
            dict(contexts),
            tuple(map(float, milliseconds)),
            {str(kind): float(count) for kind, count in calls.items()},
        )
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"not the result of a driver: {error!r}") from None


@dataclass(frozen=True, slots=True)
class Row:
    """A system asked through one retriever.

    ``kept`` are shares of the evidence by budget in characters, ``whole`` that of everything returned, by type of question
    ``by_type`` of the largest budget. Times are milliseconds a question or seconds a build; ``_processor`` is what
    processors worked, which other work on the machine changes less.
    """

    system: str
    version: str
    retriever: str
    p50: float
    p95: float
    a_second: float
    processor: float
    calls: Mapping[str, float]
    embedding_calls: float
    kept: Mapping[int, float]
    by_type: Mapping[str, float]
    whole: float
    characters: float
    build: float
    build_processor: float
    build_only: float
    build_only_processor: float
    first_answer: float
    resident: float
    servers: float
    disk: float


def row(system: str, retriever: str, questions: Sequence[Asked], build: Step, build_only: Step, ask: Step) -> Row:
    """Return the row of three steps. Raise ``ValueError`` when a question has no context."""
    if missing := [q.id for q in questions if q.id not in ask.contexts]:
        raise ValueError(f"{len(missing)} questions have no context, the first is {missing[0]}")
    of_budget = {b: [kept(q.evidence, ask.contexts[q.id], b) for q in questions] for b in (*BUDGETS, None)}
    types = dict.fromkeys(sorted(q.type for q in questions))
    largest = list(zip(questions, of_budget[BUDGETS[-1]], strict=True))
    times, figures = ask.milliseconds, ask.figures
    return Row(
        system=system,
        version=ask.version,
        retriever=retriever,
        p50=percentile(times, 50),
        p95=percentile(times, 95),
        a_second=len(times) / figures["seconds"],
        processor=1_000 * figures["processor_seconds"] / len(times),
        calls=ask.calls,
        embedding_calls=figures["embedding_calls"],
        kept={b: mean(of_budget[b]) for b in BUDGETS},
        by_type={t: mean(share for q, share in largest if q.type == t) for t in types},
        whole=mean(of_budget[None]),
        characters=mean(len(ask.contexts[q.id]) for q in questions),
        build=build.figures["seconds"],
        build_processor=build.figures["processor_seconds"],
        build_only=build_only.figures["seconds"],
        build_only_processor=build_only.figures["processor_seconds"],
        first_answer=figures["first_answer_seconds"],
        resident=figures["resident_mb"],
        servers=figures["servers_mb"],
        disk=build.figures["disk_mb"],
    )


def percentile(values: Sequence[float], at: int) -> float:
    """Return a percentile, between values where it falls between two."""
    return values[0] if len(values) == 1 else quantiles(values, n=100, method="inclusive")[at - 1]


def tables(rows: Sequence[Row], absent: Mapping[str, str]) -> str:
    """Return three tables in Markdown: questions, evidence, builds; below them what could not be measured."""
    parts = [_table(_questions(rows)), _table(_evidence(rows)), _table(_builds(rows))]
    parts += [f"{name} was not measured: {why}" for name, why in absent.items()]
    return "\n\n".join(parts)


def as_json(rows: Sequence[Row], absent: Mapping[str, str], about: Mapping[str, Any]) -> str:
    """Return everything that was measured."""
    return json.dumps({"about": about, "rows": [asdict(r) for r in rows], "absent": absent}, indent=2, ensure_ascii=False)


def _questions(rows: Sequence[Row]) -> Iterator[list[str]]:
    yield [
        "system",
        "retriever",
        "p50, ms",
        "p95, ms",
        "processor, ms",
        "questions/s",
        "store calls",
        "embedding calls",
        "first answer, s",
    ]
    for r in rows:
        counted = ", ".join(f"{count:.1f} {kind}" for kind, count in r.calls.items()) or "not counted"
        times = [f"{r.p50:,.0f}", f"{r.p95:,.0f}", f"{r.processor:,.0f}", f"{r.a_second:.1f}"]
        yield [_name(r), r.retriever, *times, counted, f"{r.embedding_calls:.1f}", f"{r.first_answer:.1f}"]


def _evidence(rows: Sequence[Row]) -> Iterator[list[str]]:
    types = list(rows[0].by_type) if rows else []
    yield [
        "system",
        "retriever",
        *(f"{b:,}" for b in BUDGETS),
        *(f"{t} at {BUDGETS[-1]:,}" for t in types),
        "in all",
        "characters in all",
    ]
    for r in rows:
        shares = [*r.kept.values(), *r.by_type.values(), r.whole]
        yield [_name(r), r.retriever, *(f"{100 * share:.1f}" for share in shares), f"{r.characters:,.0f}"]


def _builds(rows: Sequence[Row]) -> Iterator[list[str]]:
    yield [
        "system",
        "build, s",
        "processor, s",
        "without embedding, s",
        "processor, s",
        "resident, MB",
        "servers, MB",
        "disk, MB",
    ]
    first = {r.system: r for r in reversed(rows)}  # a build serves all retrievers of a system
    for r in (first[name] for name in dict.fromkeys(r.system for r in rows)):
        times = (r.build, r.build_processor, r.build_only, r.build_only_processor)
        sizes = (f"{r.resident:,.0f}", f"{r.servers:,.0f}" if r.servers else "none", f"{r.disk:,.1f}")
        yield [_name(r), *(f"{t:,.1f}" for t in times), *sizes]


def _name(r: Row) -> str:
    return f"{r.system} {r.version}".strip()


def _table(lines: Iterator[list[str]]) -> str:
    head, *rest = lines
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rest))
