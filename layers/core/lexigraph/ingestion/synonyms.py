"""The synonyms file: lines ``name = other name, other name``; ``#`` begins a comment."""

from pathlib import Path

from lexigraph.model.errors import Misconfigured
from lexigraph.model.normalise import entity_key

_MAX_LINES = 100_000


def read_synonyms(path: Path) -> list[tuple[str, str]]:
    """Return (other name, name) pairs. Raise ``InvalidInput`` naming the line that is wrong."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"synonyms file {path}: {error}") from None
    if len(lines) > _MAX_LINES:
        raise Misconfigured(f"synonyms file {path}: {len(lines):,} lines; at most {_MAX_LINES:,} are allowed")
    pairs = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0] if line.lstrip().startswith("#") else line
        if not text.strip():
            continue
        name, equals, others = text.partition("=")
        names = [name.strip(), *(other.strip() for other in others.split(","))]
        if not equals or not all(entity_key(n) for n in names):
            raise Misconfigured(f"synonyms file {path}, line {number}: expected 'name = other name, other name'")
        pairs += [(other, names[0]) for other in names[1:]]
    return pairs
