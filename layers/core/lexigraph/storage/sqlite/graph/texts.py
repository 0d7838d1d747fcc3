"""Which nodes of the embedded graph a pattern is found in: of those that hold its fragments each is looked at."""

from collections.abc import Iterator

from lexigraph.storage.common.texts import LOOKED_AT, Look
from lexigraph.storage.protocols import TextPattern
from lexigraph.storage.sqlite.graph.gate import PLACED, Gate
from lexigraph.storage.sqlite.graph.read import TITLED

# The text of a node `n` of each kind, and where readers see it
_KINDS = {
    "entity": (
        "n.value",
        f"""n.tenant = ? AND (EXISTS (SELECT 1 FROM mentions x {PLACED} WHERE x.entity = n.k AND {{seen}})
        OR EXISTS (SELECT 1 FROM about a {TITLED} WHERE a.entity = n.k AND {{seen}}))""",
    ),
    "statement": (
        "n.value || char(10) || n.details",
        f"EXISTS (SELECT 1 FROM said_in x {PLACED} WHERE x.statement = n.k AND {{seen}})",
    ),
    "topic": ("n.value", f"EXISTS (SELECT 1 FROM topic_in x {PLACED} WHERE x.topic = n.k AND {{seen}})"),
}
# LIKE folds ASCII only, and the letters that others are folded to (the sign for Kelvin, the long s) may be any here
_ANY = str.maketrans(dict.fromkeys("kKsS", "_") | {c: f"\\{c}" for c in "%_\\"})

Key = tuple[str, int]  # kind, integer key


def matching_keys(gate: Gate, pattern: TextPattern, most: int) -> tuple[set[Key], bool]:
    """Return the nodes that readers see and a pattern is found in, ``most`` of a kind, and whether these are all."""
    look = Look(pattern, most)
    keys = {(kind, k) for kind in _KINDS for k in look.best(_texts(gate, kind, pattern.fragments))}
    return keys, look.complete


def _texts(gate: Gate, kind: str, fragments: tuple[str, ...]) -> Iterator[tuple[int, bytes, str]]:
    text, seen = _KINDS[kind]
    holds = " OR ".join([f"{text} LIKE ? ESCAPE '\\'"] * len(fragments)) or "1"
    query = f"SELECT n.k, n.id, {text} FROM {kind} n WHERE ({holds}) AND {seen.format(seen=gate.sql)} LIMIT {LOOKED_AT + 1}"
    wanted = [f"%{fragment.translate(_ANY)}%" for fragment in fragments]
    owner = [gate.tenant] if kind == "entity" else []
    return iter(gate.connection.execute(query, [*wanted, *owner, *gate.parameters * seen.count("{seen}")]))
