"""IAM's evaluation of policies, as far as ours use it: actions, resources, conditions, explicit denials before all else.

What it does not know it refuses (:class:`Unknown`), so that no policy is taken for less than it says. One thing is stricter
than IAM's text: ``*`` in place of a whole part of an ARN stands for at least one character, since AWS does not say that it
matches an empty region.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.rights.needs import Need

LEADING = "dynamodb:LeadingKeys"


class Unknown(Exception):
    """Something in a policy that is not evaluated here."""


@cache
def _pattern(text: str) -> re.Pattern[str]:
    made = re.escape(text).replace(r"\?", ".")
    return re.compile(re.sub(r"(?<=:)\\\*(?=:)", "[^:]+", made).replace(r"\*", ".*"), re.DOTALL)


def like(pattern: str, text: str) -> bool:
    """Whether a text is of a pattern with ``*`` and ``?``."""
    return _pattern(pattern).fullmatch(text) is not None


_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "StringEquals": lambda wanted, given: wanted == given,
    "StringLike": like,
    "ArnEquals": like,
    "ArnLike": like,
    "Bool": lambda wanted, given: wanted.lower() == given.lower(),
}
_NEGATED = {
    "StringNotEquals": "StringEquals",
    "StringNotLike": "StringLike",
    "ArnNotEquals": "ArnLike",
    "ArnNotLike": "ArnLike",
}


@dataclass(frozen=True)
class Statement:
    """A statement of a policy; ``where`` says of which, ``at`` is its place there."""

    where: str
    at: int
    effect: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: Mapping[str, Mapping[str, Any]]

    @staticmethod
    def of(where: str, at: int, raw: Mapping[str, Any]) -> "Statement":
        """Read one. Raise :class:`Unknown` for what is not evaluated."""
        if odd := raw.keys() & {"NotAction", "NotResource", "NotPrincipal"}:
            raise Unknown(f"{where}: {', '.join(odd)}")
        conditions = raw.get("Condition", {})
        for operator in conditions:
            name = operator.removeprefix("ForAllValues:").removeprefix("ForAnyValue:").removesuffix("IfExists")
            if name not in (*_OPERATORS, *_NEGATED, "Null"):
                raise Unknown(f"{where}: condition {operator}")
        return Statement(where, at, raw["Effect"], many(raw["Action"]), many(raw.get("Resource", "*")), conditions)

    @property
    def keys(self) -> tuple[str, ...]:
        """The partition keys that it is held to."""
        return many(self.conditions.get("ForAllValues:StringLike", {}).get(LEADING, ()))

    def matching(self, need: Need) -> list[tuple[str, str]]:
        """Return the pairs of its actions and resources that a need is of, whatever the conditions."""
        actions = [a for a in self.actions if like(a.lower(), need.action.lower())]
        return [(a, r) for a in actions for r in self.resources if like(r, need.resource)]

    def fails(self, need: Need) -> str:
        """Return the condition that does not hold, empty when all do."""
        given = dict(need.context)
        for operator, tests in self.conditions.items():
            for name, wanted in tests.items():
                if not _holds(operator, many(wanted), given.get(name)):
                    return f"{operator} {name} {', '.join(many(wanted))}, and it is {given.get(name, 'not given')}"
        return ""


def _holds(operator: str, wanted: Sequence[str], given: str | None) -> bool:
    of_all, optional = operator.startswith("ForAllValues:"), operator.endswith("IfExists")
    name = operator.removeprefix("ForAllValues:").removeprefix("ForAnyValue:").removesuffix("IfExists")
    if name == "Null":
        return (given is None) == (wanted[0].lower() == "true")
    if given is None:
        return of_all or optional or name in _NEGATED
    found = any(_OPERATORS[_NEGATED.get(name, name)](one, given) for one in wanted)
    return found != (name in _NEGATED)


def many(given: Any) -> tuple[str, ...]:
    """Return what a policy says once or several times, as a tuple."""
    return (str(given).lower() if isinstance(given, bool) else given,) if isinstance(given, (str, bool)) else tuple(given)


def allowing(statements: Sequence[Statement], need: Need) -> Iterator[tuple[Statement, str, str]]:
    """Yield the statements that allow a need, each with its action and resource that do."""
    for statement in statements:
        if statement.effect == "Allow" and not statement.fails(need):
            yield from ((statement, *pair) for pair in statement.matching(need))


def denial(statements: Sequence[Statement], need: Need) -> str:
    """Return which statement denies a need, empty: none."""
    for statement in statements:
        if statement.effect == "Deny" and statement.matching(need) and not statement.fails(need):
            return f"denied by {statement.where}"
    return ""


def because(statements: Sequence[Statement], need: Need) -> str:
    """Return why no statement allows a need: by that which comes nearest."""
    said = [s for s in statements if s.effect == "Allow"]
    failing = [s.fails(need) for s in said if s.matching(need)]
    if failing:
        return f"the condition does not hold: {failing[0]}"
    places = sorted({r for s in said for a in s.actions if like(a.lower(), need.action.lower()) for r in s.resources})
    return f"the action is allowed on {', '.join(places)} alone" if places else "no statement allows the action"
