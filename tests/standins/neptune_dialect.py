"""From Neptune's openCypher to FalkorDB's, and back: what differs is rewritten, what Neptune lacks is refused.

Nothing here knows the queries of the product: a query is taken apart into tokens and put together again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from falkordb import Edge, Node, Path

from tests.standins.neptune_refused import CLAUSES, UPDATES, Token, Unsupported, is_member, refuse, tokens, writes

NATIVE, ID, PROPERTIES = "Native", "native_id", "native_properties"
_LISTED = "typeOf({}) IN ['List', 'Map']"
_HINT = re.compile(r"\s*USING\s+QUERY\s*:\s*TIMEOUTMILLISECONDS\s+(\d+)\s", re.IGNORECASE)


@dataclass(frozen=True)
class Translated:
    """A query for FalkorDB. ``names`` are pieces of it and what they were in the query that was asked."""

    text: str
    milliseconds: int | None
    writes: bool
    names: dict[str, str] = field(default_factory=dict)


def translate(query: str) -> Translated:
    """Return the query for FalkorDB. Raise ``Unsupported`` for what Neptune does not know."""
    hint = _HINT.match(query)
    if hint is None:
        return _translated(query)
    return replace(_translated(query[hint.end() :]), milliseconds=int(hint.group(1)))


@lru_cache(maxsize=512)  # a long query takes 13 ms, and stores ask the same ones again and again
def _translated(query: str) -> Translated:
    solid = tokens(query)
    refuse(solid)
    names: dict[str, str] = {}
    text = "".join(_rewritten(solid, names))
    return Translated(text, None, writes(solid), names)


def _rewritten(solid: list[Token], names: dict[str, str], clause: str = "") -> Iterator[str]:
    """Yield the tokens for FalkorDB, spaced as they were: columns without an alias are named by that."""
    edges = {solid[at + 2] for at in range(len(solid) - 2) if solid[at] == "-" and solid[at + 1] == "["}
    by_id = {solid[at + 2] for at in range(len(solid) - 3) if solid[at].lower() == "id" and solid[at + 1] == "("}
    depth, at = 0, 0
    opened: list[tuple[str, int]] = []
    while at < len(solid):
        token = solid[at]
        upper = token.upper()
        member = is_member(solid, at)
        if upper in CLAUSES and not member and not depth and solid[at - 1].upper() not in ("STARTS", "ENDS"):
            clause = upper
            if opened and upper in UPDATES:
                raise Unsupported("an update inside CALL {} is not supported", "UnsupportedOperationException")
            if upper == "DELETE" and solid[at - 1].upper() != "DETACH":
                yield _lonely(solid, at + 1, edges)
        if token == "{" and solid[at - 1].upper() == "CALL":
            _check_import(solid, at + 1)
            opened.append((clause, depth))
            clause, depth = "", 0
        elif token in "([{":
            if token == "(" and clause in ("MATCH", "CREATE", "MERGE") and depth == 0:
                end, pattern = _node(solid, at, clause, by_id, names)
                yield token.blank + pattern
                at = end
                continue
            depth += 1
        elif token in ")]}":
            if token == "}" and depth == 0 and opened:
                clause, depth = opened.pop()
            else:
                depth -= 1
        following = solid[at + 1] if at + 1 < len(solid) else ""
        assigned = clause == "SET" and not depth and token in ("=", "+=")
        held = (
            clause in ("CREATE", "MERGE") and depth and token == ":" and solid[at - 2] in "{," and solid[at - 1] != "`~id`"
        )
        if assigned or held:
            end = _value_end(solid, at + 1)
            value = "".join(_rewritten(solid[at + 1 : end], names)).strip()
            yield f"{token.blank}{token} {_scalar(value, whole=token == '+=')}"
            at = end
            continue
        if following == "(" and not member and token.lower() in ("id", "keys", "labels", "properties"):
            end = _closing(solid, at + 1)
            inner = solid[at + 2 : end - 1]
            new = _function(token.lower(), "".join(_rewritten(inner, names)).strip(), inner[0] in edges)
            names[new] = "".join(part.blank + part for part in solid[at:end]).strip()
            yield token.blank + new
            at = end
            continue
        if token == "`~id`":
            names[ID] = token
        yield token.blank + (ID if token == "`~id`" else token)
        at += 1


def _function(name: str, inner: str, edge: bool) -> str:
    if name == "labels":
        return f"[label IN labels({inner}) WHERE label <> '{NATIVE}' | label]"
    if name == "keys":
        return f"[key IN keys({inner}) WHERE key <> '{ID}' | key]"
    if name == "properties":
        return f"{{{PROPERTIES}: properties({inner})}}"
    return f"coalesce({inner}.{ID}, 'edge-' + toString(id({inner})))" if edge else f"{inner}.{ID}"


def _check_import(solid: list[Token], begin: int) -> None:
    """Refuse a first WITH of a subquery that does more than name variables."""
    if begin < len(solid) and solid[begin].upper() == "WITH":
        end = next((at for at in range(begin + 1, len(solid)) if solid[at].upper() in CLAUSES | {"OPTIONAL"}), len(solid))
        plain = all(token == "," or re.fullmatch(r"[A-Za-z_]\w*|`[^`]*`", token) for token in solid[begin + 1 : end])
        words = {token.upper() for token in solid[begin + 1 : end + 1]}
        if not plain or words & {"AS", "DISTINCT", "ORDER", "SKIP", "LIMIT", "WHERE"}:
            raise Unsupported("the first WITH of a subquery can only name variables")


def _lonely(solid: list[Token], begin: int, edges: set[Token]) -> str:
    """Return a clause that fails when a node to be deleted has relationships; none when relationships are deleted, too."""
    given = [token for token in solid[begin : _value_end(solid, begin, among="")] if token != ","]
    nodes = {after for before, after in pairwise(solid) if before == "("} - edges
    tests = [f"size(({name})--()) > 0" for name in given if name in nodes]
    alone = tests and not edges & set(given)
    return f" WITH *, abs(CASE WHEN {' OR '.join(tests)} THEN {{}} ELSE 1 END) AS native_alone" if alone else ""


def _value_end(solid: list[Token], begin: int, among: str = ",") -> int:
    """Return where the value ends that begins here, in a list of assignments or in a map; without ``among``, the list."""
    depth = 0
    for at in range(begin, len(solid)):
        clause = (
            solid[at].upper() in CLAUSES and not is_member(solid, at) and solid[at - 1].upper() not in ("STARTS", "ENDS")
        )
        if not depth and (solid[at] in (among, ")", "]", "}") or clause):
            return at
        depth += (solid[at] in "([{") - (solid[at] in ")]}")
    return len(solid)


def _scalar(value: str, *, whole: bool = False) -> str:
    """Return an expression for a value that fails when it is a list or a map; a ``whole`` map may be one, but hold none.

    FalkorDB evaluates every branch of a CASE, so that the failing one must depend on the value.
    """
    bad = f"any(key IN keys({value}) WHERE typeOf({value}[key]) IN ['List', 'Map'])" if whole else _LISTED.format(value)
    return f"CASE abs(CASE WHEN {bad} THEN [] ELSE 1 END) WHEN 1 THEN {value} END"


def _node(solid: list[Token], begin: int, clause: str, by_id: set[str], names: dict[str, str]) -> tuple[int, str]:
    """Return where a node pattern ends and what it becomes: with the label that all nodes have, where an id is used."""
    end = _closing(solid, begin)
    inner = solid[begin + 1 : end - 1]
    variable = inner[0] if inner and re.fullmatch(r"[A-Za-z_]\w*|`[^`]*`", inner[0]) else ""
    at = 1 if variable else 0
    labels: list[str] = []
    while at + 1 < len(inner) and inner[at] == ":":
        labels.append(inner[at + 1])
        at += 2
    rest = inner[at:]
    if rest and rest[0] == "|":
        raise Unsupported("label alternatives are not supported")
    has_id = "`~id`" in rest
    if clause != "MATCH" and (labels or rest or variable not in solid[:begin]):
        if not labels:
            raise Unsupported("a node needs a label", "UnsupportedOperationException")
        if not has_id:
            raise Unsupported("the stand-in creates no node without `~id`", "UnsupportedOperationException")
    if has_id or (clause == "MATCH" and variable in by_id):
        labels.append(NATIVE)
    properties = "".join(_rewritten(rest, names, clause))
    return end, f"({variable}{''.join(':' + label for label in labels)}{properties})"


def _closing(solid: list[Token], begin: int) -> int:
    depth = 0
    for at in range(begin, len(solid)):
        depth += (solid[at] in "([{") - (solid[at] in ")]}")
        if not depth:
            return at + 1
    raise Unsupported("a bracket is not closed")


def literal(value: Any) -> str:
    """Return a parameter as FalkorDB reads it, with ``~id`` as a key under its other name."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ",".join(map(literal, value)) + "]"
    return "{" + ",".join(f"`{ID if key == '~id' else key}`:{literal(item)}" for key, item in value.items()) + "}"


def column(name: str, names: dict[str, str]) -> str:
    """Return the name of a result column as the query that was asked spells it."""
    for new in sorted(names, key=len, reverse=True):
        name = name.replace(new, names[new])
    return name


class Answer:
    """Values of a result as Neptune's JSON has them. ``node_ids`` leads from FalkorDB's numbers to ``~id``."""

    def __init__(self, node_ids: dict[int, str]) -> None:
        self.node_ids = node_ids

    def value(self, value: Any) -> Any:
        if isinstance(value, Node):
            return self._node(value)
        if isinstance(value, Edge):
            return self._edge(value)
        if isinstance(value, Path):
            return self._path(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            if set(value) == {PROPERTIES}:
                return _without_id(value[PROPERTIES])
            return {"~id" if key == ID else key: self.value(item) for key, item in value.items()}
        return value

    def _node(self, node: Node) -> dict[str, Any]:
        return {
            "~id": node.properties.get(ID),
            "~entityType": "node",
            "~labels": [label for label in node.labels or [] if label != NATIVE],
            "~properties": _without_id(node.properties),
        }

    def _edge(self, edge: Edge) -> dict[str, Any]:
        return {
            "~id": edge.properties.get(ID, f"edge-{edge.id}"),
            "~entityType": "relationship",
            "~start": self.node_ids.get(edge.src_node),
            "~end": self.node_ids.get(edge.dest_node),
            "~type": edge.relation,
            "~properties": _without_id(edge.properties),
        }

    def _path(self, path: Path) -> list[Any]:
        nodes, edges = path.nodes(), path.edges()
        steps = [self._node(nodes[0])]
        for edge, node in zip(edges, nodes[1:], strict=True):
            steps += [self._edge(edge), self._node(node)]
        return steps


def _without_id(properties: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if properties is None else {key: value for key, value in properties.items() if key != ID}


def edge_ends(value: Any) -> Iterator[int]:
    """Yield FalkorDB's numbers of the nodes at the ends of all edges in a value."""
    if isinstance(value, Edge):
        yield from (value.src_node, value.dest_node)
    elif isinstance(value, Path):
        for edge in value.edges():
            yield from edge_ends(edge)
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from edge_ends(item)
