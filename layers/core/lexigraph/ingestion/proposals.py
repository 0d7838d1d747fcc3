"""Which entities may be one: pairs whose names resemble each other and that stand in the same company, with the evidence.

Nothing is merged here. A person accepts a proposal, and it becomes a decision (:mod:`lexigraph.ingestion.curation`).
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations

from lexigraph.ingestion import curation
from lexigraph.model.curation import Decision
from lexigraph.model.errors import NotFound
from lexigraph.model.graph import Entity, StatementRow
from lexigraph.model.normalise import entity_key
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import EvidenceRequest, Stores

_POOL = 2_000  # entities looked at: those that most documents name
_PAIRS = 150  # whose company is read
_PER_ENTITY = 30  # statements read
_BLOCK = 20  # more names than this under one key tell nothing
_SHOWN = 5  # shared names and documents of a proposal
_NEEDS_COMPANY = ("part of the name", "one letter apart", "initials of its words")
_SHORTENED = ("initials of its words", "initial and full first name", "part of the name")
_WEIGHTS = {
    "same letters": 1.0,
    "singular and plural": 0.9,
    "with and without title or legal form": 0.9,
    "initial and full first name": 0.8,
    "initials of its words": 0.7,
    "one letter apart": 0.6,
    "part of the name": 0.5,
}
_FORMS = frozenset("inc ltd llc corp corporation company co gmbh plc ag sa limited incorporated".split())
_TITLES = frozenset("mr mrs ms miss dr prof professor sir lady lord saint st captain capt king queen the".split())
_SMALL = frozenset("of and the for in on a an de la le du von van".split())


Pair = tuple[Entity, Entity, str]  # and how their names resemble each other


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two entities that may be one. ``name`` is what more documents say, ``other`` would become another name of it.

    ``score`` is 0 to 1; ``shared`` are names that stand beside both, ``documents`` titles of documents that have both, and
    ``statements`` one statement of each.
    """

    name: str
    other: str
    reason: str
    score: float = 0.0
    shared: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Return the id of the pair, whichever of the two is meant."""
        return blake2b("\n".join(sorted(map(entity_key, (self.name, self.other)))).encode(), digest_size=4).hexdigest()

    @property
    def evidence(self) -> str:
        """Return the evidence in one line."""
        beside = f"; beside both: {', '.join(self.shared)}" if self.shared else ""
        within = f"; both in: {', '.join(self.documents)}" if self.documents else ""
        return self.reason + beside + within


def propose(stores: Stores, tenant: Tenant, *, limit: int = 20, name: str = "") -> list[Proposal]:
    """Return pairs that may be one entity, the most likely first; only pairs of ``name`` if it is given.

    Looked at are the entities that most documents name. Four calls to the graph, whatever its size. Left out are names that
    mean the same already, and entities that have other names each, which no single decision can merge.
    """
    key = entity_key(name)
    made = _weighed(stores, tenant, lambda one, other: not name or key in (entity_key(one), entity_key(other)))
    return made[:limit]


def _weighed(stores: Stores, tenant: Tenant, wanted: Callable[[str, str], bool]) -> list[Proposal]:
    found = _decidable(stores.graph.leading(tenant, _POOL), curation.meanings(stores, tenant))
    found = [pair for pair in found if wanted(pair[0].value, pair[1].value)][:_PAIRS]
    if not found:
        return []
    ids = sorted({entity.id for a, b, _ in found for entity in (a, b)})
    aliases = stores.graph.entities(tenant, ids).aliases
    asked = EvidenceRequest(entities=tuple(ids), per_entity=_PER_ENTITY, neighbours=False)
    company = _Company(stores.graph.evidence(tenant, asked))
    names = stores.graph.entities(tenant, sorted({id_ for a, b, _ in found for id_ in company.beside(a, b)})).found
    known = {(id_, other.id) for id_, others in aliases.items() for other in others}  # a split leads one way only
    made = [company.weigh(a, b, reason, names) for a, b, reason in found if not {(a.id, b.id), (b.id, a.id)} & known]
    return sorted((one for one in made if one.score > 0), key=lambda one: (-one.score, one.name, one.other))


def _decidable(entities: Sequence[Entity], means: Mapping[str, str]) -> list[Pair]:
    """Return pairs that a decision may still merge: in the place of a name that means another one stands that one."""
    known = {entity_key(entity.value): entity for entity in entities}
    meant = {entity_key(name) for name in means.values()}
    found: dict[frozenset[str], Pair] = {}
    for *pair, reason in pairs_of(entities):
        keys = [entity_key(means.get(entity_key(entity.value), entity.value)) for entity in pair]
        if keys[0] == keys[1] or not known.keys() >= {*keys} or meant >= {*keys}:
            continue
        if keys[1] in meant:  # what has other names is what is meant
            keys.reverse()
        found.setdefault(frozenset(keys), (known[keys[0]], known[keys[1]], reason))
    return [*found.values()]


def accept(stores: Stores, tenant: Tenant, proposal_id: str, *, by: str = "") -> Decision:
    """Merge what a proposal names and keep its evidence in the note. Raise ``NotFound`` when it is proposed no longer."""
    for one in _weighed(stores, tenant, lambda a, b: Proposal(a, b, "").id == proposal_id):
        if one.score > 0:
            note = f"proposed: {one.evidence}"[: curation.LONGEST_NOTE]
            return curation.decide(stores, tenant, "merge", one.name, [one.other], by=by, note=note)
    raise NotFound(f"no proposal {proposal_id[:80]!r}: `lexigraph entities proposals` lists them")


def pairs_of(entities: Sequence[Entity]) -> list[Pair]:
    """Return pairs whose names resemble each other, with the strongest reason: those of most weight and documents first.

    The first of a pair is what more documents name, or as many: the full name, without title and plural. Names
    whose numbers differ never resemble each other.
    """
    blocks: dict[tuple[str, str], list[Entity]] = defaultdict(list)
    for entity in entities:
        for key in set(_keys(entity.value)):
            blocks[key].append(entity)
    found: dict[frozenset[str], Pair] = {}
    for (reason, _), same in blocks.items():
        if not 1 < len(same) <= _BLOCK:
            continue
        for pair in combinations(same, 2):
            longer = -1 if reason in _SHORTENED else 1
            a, b = sorted(pair, key=lambda e: (-e.df, longer * len(e.value), e.id))
            known = found.get(both := frozenset((a.id, b.id)))
            if _holds(reason, a, b, same) and (known is None or _WEIGHTS[reason] > _WEIGHTS[known[2]]):
                found[both] = (a, b, reason)
    return sorted(found.values(), key=lambda p: (-_WEIGHTS[p[2]] * math.log1p(p[1].df), p[0].id, p[1].id))


def _keys(name: str) -> Iterator[tuple[str, str]]:
    """Yield what a name has in common with those that may mean the same, by reason."""
    key = entity_key(name)
    words = re.findall(r"[^\W_]+", key)
    letters = "".join(words)
    if len(letters) < 2:
        return
    bare = [w for w in words if w not in _FORMS and w not in _TITLES] or words
    yield "same letters", letters
    if len(letters) > 3:
        yield "singular and plural", letters.removesuffix("s")
        yield "with and without title or legal form", "".join(bare)
    if len(words) > 1 and not any(w.isdigit() for w in words):
        content = [w for w in words if w not in _SMALL]
        if len(content) > 2:
            yield "initials of its words", "".join(w[0] for w in content)
        yield "initials of its words", "".join(w[0] for w in words)
    if len(words) == 1 and name.isupper() and 3 <= len(letters) <= 6:
        yield "initials of its words", letters
    if len(bare) == 2:
        yield "initial and full first name", f"{bare[0][0]} {bare[1]}"
    if len(bare) in (1, 2, 3) and len(bare[-1]) > 3:
        yield "part of the name", bare[-1]
    if all(w.isalpha() for w in key.split()):
        for at, word in enumerate(words):
            if len(word) > 6:  # of short words, and of identifiers, one letter makes another one
                rest = (*words[:at], "", *words[at + 1 :])
                yield from (("one letter apart", f"{rest} {word[:i]}{word[i + 1 :]}") for i in range(len(word)))
                yield "one letter apart", f"{rest} {word}"


def _holds(reason: str, a: Entity, b: Entity, same: Sequence[Entity]) -> bool:
    """Return whether a reason holds of a pair under one key."""
    one, two = entity_key(a.value), entity_key(b.value)
    if re.findall(r"\d+", one) != re.findall(r"\d+", two):
        return False
    words = [one.split(), two.split()]
    short, long = sorted(words, key=len)
    if reason == "initials of its words":
        return len(short) == 1 < len(long)
    if reason == "initial and full first name":
        firsts = sorted((words[0][0].strip("."), words[1][0].strip(".")), key=len)
        return len(firsts[0]) == 1 < len(firsts[1])
    if reason == "part of the name":  # of one name only: a surname of two persons is neither's
        longer = [e for e in same if len(entity_key(e.value).split()) > 1]
        surname, full = sorted((a.value, b.value), key=lambda value: len(value.split()))
        # commands, identifiers and shouted prose share words without sharing what they mean
        named = surname.istitle() and not any(w.isupper() and w.isalpha() and len(w) > 1 for w in full.split())
        return named and len(short) == 1 < len(long) and len(longer) == 1
    if reason == "one letter apart":  # slips of the pen spare the first letter
        return one[0] == two[0] and one.removesuffix("s") != two.removesuffix("s")
    return True


class _Company:
    """What stands beside entities: in which statements and documents, and beside which other names."""

    def __init__(self, rows: Iterable[StatementRow]) -> None:
        self._rows: dict[str, list[StatementRow]] = defaultdict(list)
        self._beside: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            for id_ in row.entities:
                self._rows[id_].append(row)
                self._beside[id_].update(other for other in row.entities if other != id_)

    def beside(self, a: Entity, b: Entity) -> set[str]:
        """Return who stands beside both entities."""
        return (self._beside[a.id] & self._beside[b.id]) - {a.id, b.id}

    def weigh(self, a: Entity, b: Entity, reason: str, names: Mapping[str, Entity]) -> Proposal:
        """Return the pair as a proposal; its score is 0 where names alone do not do and nothing else speaks for it."""
        # whoever stands beside all tells nothing
        known = sorted((names[id_] for id_ in self.beside(a, b) if id_ in names), key=lambda e: (e.df, e.id))
        rarity = sum(1 / math.log2(2 + e.df) for e in known)
        titles = {row.source.id: row.source.title or row.source.uri for row in self._rows[a.id]}
        within = sorted({titles[row.source.id] for row in self._rows[b.id] if row.source.id in titles})
        together = any(b.id in row.entities for row in self._rows[a.id])
        company = min(1.0, rarity / 2 + (0.3 if within else 0.0))
        if reason == "initials of its words":  # "Simple Storage Service (S3)": who defines it, names both
            company = max(company, 0.6 * together)
        elif together:  # whoever names both in one sentence means two
            company *= 0.5
        score = _WEIGHTS[reason] * (0.4 + 0.6 * company)
        if a.class_ and b.class_ and a.class_ != b.class_:
            score *= 0.8
        alone = not known and not (together and reason == "initials of its words")
        if (reason in _NEEDS_COMPANY and alone) or (reason == "one letter apart" and together):
            score = 0.0
        said = tuple(row.value for id_ in (a.id, b.id) for row in self._rows[id_][:1])
        made = Proposal(a.value, b.value, reason, round(score, 3), statements=said)
        return replace(made, shared=tuple(e.value for e in known[:_SHOWN]), documents=tuple(within[:_SHOWN]))
