"""Write one table of all sets, budgets and retrievers, in Markdown, out of what was measured of each set.

lexigraph bench quality ... --retriever all --budgets 300,1000,2000 --json > 2wiki.json
lexigraph bench answers ... --json > medical.json
python -m bench.rooms 2wiki.json medical.json
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

MEASURES = {"budgets": "gold passages", "answer words found": "answer words", "expected texts found": "expected texts"}
LEGEND = (
    "Percent; `+` and `-`: above and below the best of `vector`, `bm25` and `fused` (of `traversal` also `semantic-guided`) "
    "beyond the 95 % interval of the paired difference."
)


def main() -> None:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measured", type=Path, nargs="+", metavar="FILE", help="JSON of a set, which is named by the file")
    given = parser.parse_args()
    try:
        found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in given.measured}
        lines = list(table(found))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        parser.error(f"no JSON of `bench quality --budgets` or `bench answers`: {error!r}")
    print("\n".join([*lines, "", LEGEND]))


def table(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table: ``found`` is what was measured by set."""
    names = list(dict.fromkeys(name for measured in found.values() for name in measured["retrievers"]))
    yield _row(["set", "what is found", "questions", "tokens", *names])
    yield _row(["---"] * (4 + len(names)))
    for set_, measured in found.items():
        for key, what in MEASURES.items():
            of = {name: figures[key] for name, figures in measured["retrievers"].items() if key in figures}
            for budget in next(iter(of.values()), {}):
                cells = [_cell(of[name][budget]) if name in of else "" for name in names]
                asked = next(iter(of.values()))[budget]["by_type"].values()
                yield _row([set_, what, f"{sum(kind['questions'] for kind in asked):,}", f"{int(budget):,}", *cells])


def _cell(one: Mapping[str, Any]) -> str:
    difference, mean = one["differences"].get(one["rival"]), f"{100 * one['mean']['mean']:.1f}"
    if difference and (difference["low"] > 0 or difference["high"] < 0):
        return f"{mean} {'+' if difference['low'] > 0 else '-'}"
    return mean


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
