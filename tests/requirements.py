"""The table of requirements and the tests that show each: ``make requirements`` prints it.

The ids are those of the five reference systems: G querying the graph, H multi-hop, E explained retrieval, M memory, W
several documents; U are those of the deployment. A test says with ``@pytest.mark.requirement("H-06")`` which of them it
shows.
"""

import re
import sys
from collections import defaultdict

import pytest

ROWS = {"G": 38, "H": 32, "E": 75, "M": 23, "W": 26, "U": 6}
IDS = tuple(f"{prefix}-{number:02}" for prefix, count in ROWS.items() for number in range(1, count + 1))


class Table:
    """Collects the names of tests by requirement."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = defaultdict(list)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for marker in item.iter_markers("requirement"):
                for requirement in marker.args:
                    name = re.sub(r"\[.*\]$", "", item.nodeid)
                    if name not in self.tests[requirement]:
                        self.tests[requirement].append(name)


def main() -> int:
    table = Table()
    code = pytest.main(["-o", "addopts=--import-mode=importlib", "--collect-only", "-p", "no:terminal"], plugins=[table])
    if code != pytest.ExitCode.OK:
        print("the tests cannot be collected: run pytest --collect-only", file=sys.stderr)
        return 1
    for requirement in IDS:
        print(f"{requirement}  {', '.join(table.tests.get(requirement, [])) or 'MISSING'}")
    unknown = sorted(set(table.tests) - set(IDS))
    for requirement in unknown:
        print(f"{requirement}  is no requirement: {', '.join(table.tests[requirement])}")
    missing = [requirement for requirement in IDS if not table.tests.get(requirement)]
    print(f"requirements: {len(IDS) - len(missing)} covered, {len(missing)} missing")
    return 1 if missing or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
