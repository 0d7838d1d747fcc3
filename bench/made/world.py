"""A made-up world: things of eight kinds with ambiguous names, and what is true of them. Pure, of a seeded generator."""

import random
from collections import Counter
from dataclasses import dataclass, field, replace

from bench.made import names, words
from bench.made.words import Relation

_HOMONYMS = {"person": 0.04, "product": 0.12}  # share that bears the name of another thing
_SKEW = 1.6  # above 1, a few things are the object of many facts
_MAKERS = ("founder", "designer", "author")
_BORN = (1920, 1970)
_TRIES = 200


@dataclass(frozen=True, slots=True)
class Thing:
    """Something with a name. ``word`` says what it is (``potter``, ``town``); ``shared``: another thing has its name."""

    kind: str
    name: str
    word: str
    woman: bool = False
    shared: bool = False

    @property
    def asked(self) -> str:
        """The name that means this thing and no other."""
        return f"the {self.word} {self.name}" if self.shared else self.name

    @property
    def key(self) -> str:
        """The name with what it is, unique in its world."""
        return f"{self.name} ({self.word})"


@dataclass(frozen=True, slots=True)
class Fact:
    """One property of one thing: its object is another thing, or a value as text."""

    subject: Thing
    relation: Relation
    object: Thing | str

    @property
    def answer(self) -> str:
        """The object as a text says it."""
        return self.object.asked if isinstance(self.object, Thing) else self.object


@dataclass(slots=True)
class World:
    """All things by kind, and what is true of each: at most one fact a relation."""

    things: dict[str, list[Thing]] = field(default_factory=dict)
    facts: dict[Thing, dict[str, Fact]] = field(default_factory=dict)

    @property
    def all_facts(self) -> list[Fact]:
        """Every fact, in the order it was made."""
        return [fact for of_thing in self.facts.values() for fact in of_thing.values()]


def make_world(count: int, rng: random.Random) -> World:
    """Return a world of ``count`` things."""
    world = World(_things(count, rng))
    facts = _Facts(world, rng)
    for relation in words.RELATIONS:
        for thing in world.things[relation.kind]:
            if rng.random() < relation.share:
                facts.add(thing, relation)
    return world


class _Facts:
    """Adds facts that fit what is there: no teacher younger than the pupil, no company founded before its founder is 24."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self.world, self.rng = world, rng
        self.born = {person: rng.randint(*_BORN) for person in world.things["person"]}
        self.place = {thing: at for of_kind in world.things.values() for at, thing in enumerate(of_kind)}
        self.paired: set[tuple[str, Thing]] = set()

    def add(self, thing: Thing, relation: Relation) -> None:
        value: Thing | str | None
        match relation.target:
            case "year":
                value = str(self._year(thing))
            case "count":
                value = str(self.rng.randint(12, 980))
            case "thousands":
                value = f"{self.rng.randint(1_100, 98_900):,}"
            case target if target in words.VALUES:
                value = self.rng.choice(words.VALUES[target])
            case _:
                value = self._object(thing, relation)
        if value is not None:
            self.world.facts.setdefault(thing, {})[relation.name] = Fact(thing, relation, value)

    def _year(self, thing: Thing) -> int:
        if thing in self.born:
            return self.born[thing]
        if thing.kind == "school":
            return self.rng.randint(1830, 1925)
        facts = self.world.facts.get(thing, {})
        made_by = next((facts[name].object for name in _MAKERS if name in facts), None)
        born = self.born[made_by] if isinstance(made_by, Thing) else self.rng.randint(*_BORN)
        return born + self.rng.randint(24, 44)

    def _object(self, thing: Thing, relation: Relation) -> Thing | None:
        among = self.world.things[relation.target]
        for _ in range(_TRIES):
            other = among[int(len(among) * self.rng.random() ** _SKEW)]
            if other != thing and self._fits(thing, relation.name, other):
                if relation.name in ("spouse", "twin"):
                    self.paired |= {(relation.name, thing), (relation.name, other)}
                return other
        return None

    def _fits(self, thing: Thing, relation: str, other: Thing) -> bool:
        match relation:
            case "spouse" | "twin":
                free = not {(relation, thing), (relation, other)} & self.paired
                return free and abs(self.born.get(thing, 0) - self.born.get(other, 0)) <= 12
            case "teacher":
                return self.born[other] + 8 <= self.born[thing]
            case "owner":
                return self.place[other] < self.place[thing]
        return True


# ---------------------------------------------------------------- names


def _things(count: int, rng: random.Random) -> dict[str, list[Thing]]:
    """Name things, towns first, since others may be called after them. What the shares leave over are people."""
    share = {kind: max(3, round(share * count)) for kind, (share, _) in words.KINDS.items()}
    share["person"] += count - sum(share.values())
    taken: set[tuple[str, str]] = set()
    things: dict[str, list[Thing]] = {}
    for kind in sorted(words.KINDS, key=lambda k: (k != "town", k)):
        things[kind] = []
        while len(things[kind]) < share[kind]:
            thing = _thing(kind, rng, things)
            if (thing.name, thing.word) not in taken:
                taken.add((thing.name, thing.word))
                things[kind].append(thing)
    bearers = Counter(t.name for of_kind in things.values() for t in of_kind)
    return {kind: [replace(t, shared=bearers[t.name] > 1) for t in of_kind] for kind, of_kind in things.items()}


def _thing(kind: str, rng: random.Random, things: dict[str, list[Thing]]) -> Thing:
    word, woman = rng.choice(words.KINDS[kind][1].split("|")), rng.random() < 0.5
    if kind == "person":
        word = rng.choice(words.PROFESSIONS)
        if things["person"] and rng.random() < _HOMONYMS["person"]:
            other = rng.choice(things["person"])
            return Thing(kind, other.name, word, other.woman)
        return Thing(kind, f"{rng.choice(names.WOMEN if woman else names.MEN)} {_surname(rng)}", word, woman)
    return Thing(kind, _name(kind, rng, [t.name for t in things.get("town", [])]), word)


def _name(kind: str, rng: random.Random, towns: list[str]) -> str:
    image = f"{rng.choice(names.ADJECTIVES)} {rng.choice(names.NOUNS)}"
    match kind:
        case "town":
            return rng.choice(names.TOWN_STEMS) + rng.choice(names.TOWN_ENDS) + rng.choice(names.TOWN_SECONDS)
        case "region":
            return rng.choice(names.TOWN_STEMS) + rng.choice(names.REGION_ENDS)
        case "company":
            partners = f"{_surname(rng)} & {_surname(rng)}"
            return rng.choice((partners, f"{_surname(rng)} Works", f"{_surname(rng)} Brothers", f"{image} Company"))
        case "school":
            return rng.choice((f"{rng.choice(towns)} College", f"{_surname(rng)} Institute", f"{image} Academy"))
        case "festival":
            return rng.choice((f"{rng.choice(towns)} {rng.choice(names.NOUNS)} Fair", f"{image} Festival"))
        case "book":
            return f"The {image}"
    if rng.random() < _HOMONYMS["product"]:
        return rng.choice(towns)
    return f"{rng.choice(names.NOUNS)} {rng.randint(1, 99)}"


def _surname(rng: random.Random) -> str:
    # the stems are drawn with a skew, so that families are large
    stem = names.SURNAME_STEMS[int(len(names.SURNAME_STEMS) * rng.random() ** 1.5)]
    return stem + names.SURNAME_ENDS[int(len(names.SURNAME_ENDS) * rng.random() ** 1.5)]
