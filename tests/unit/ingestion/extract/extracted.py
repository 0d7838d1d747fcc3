"""What an extraction holds, whatever the topic."""

from lexigraph.model.extraction import ExtractedStatement, Extraction


def statements(extraction: Extraction) -> list[ExtractedStatement]:
    return [s for topic in extraction.topics for s in topic.statements]


def values(extraction: Extraction) -> list[str]:
    return [s.value for s in statements(extraction)]


def facts(extraction: Extraction) -> set[tuple[str, str, str]]:
    return {(f.subject, f.predicate, f.object) for s in statements(extraction) for f in s.facts}
