"""Compare the words that we read of the sources of manual pages with those that ``man`` prints of them.

python -m bench.manuals /usr/share/man/man[1-8]/*.gz --pages 500
"""

import argparse
import gzip
import os
import random
import re
import subprocess
from collections import Counter
from pathlib import Path

from lexigraph.ingestion.readers.manual.reader import read_manual
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_WORD = re.compile(r"[^\W\d_]{3,}")
_SHOWN = 10
# one line a paragraph, so that no word is hyphenated
_ENVIRONMENT = {**os.environ, "MANWIDTH": "3000", "LC_ALL": "C.UTF-8"}


def main() -> None:
    """Parse the command line, compare, print the means and the pages that differ most."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", help="sources of manual pages, also as .gz")
    parser.add_argument("--pages", type=int, default=500, help="as many of them, chosen by --seed (default 500)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    files = sorted(file for file in given.files if not file.is_symlink())
    random.Random(given.seed).shuffle(files)
    compared = []
    for file in files:
        if len(compared) == given.pages:
            break
        if found := _compared(file):
            compared.append((file.name, *found))
    for told, at in (("printed and not read", 1), ("read and not printed", 2)):
        mean = sum(row[at][0] for row in compared) / len(compared)
        print(f"{told}: {100 * mean:.2f} % of the words of a page on average, {len(compared)} pages")
        for row in sorted(compared, key=lambda row: -row[at][0])[:_SHOWN]:
            if row[at][0]:
                print(f"  {100 * row[at][0]:5.1f} % {row[0]}: {', '.join(row[at][1])}")


def _compared(file: Path) -> tuple[tuple[float, list[str]], tuple[float, list[str]]] | None:
    """Return what share of words only ``man`` has, and only we, with the most frequent; None for a mere reference."""
    data = file.read_bytes()
    try:
        read = _words(read_manual(gzip.decompress(data) if file.suffix == ".gz" else data, Settings()).text)
    except InvalidInput:
        return None
    page = subprocess.run(["man", "-l", file], env=_ENVIRONMENT, capture_output=True, check=True).stdout.decode()
    head, *lines, _ = re.sub(".\b", "", page).strip().split("\n")
    printed = _words("\n".join(lines))
    whole = max(1, printed.total())
    rest, more = printed - read, read - printed - _words(head)
    return tuple((left.total() / whole, [word for word, _ in left.most_common(_SHOWN)]) for left in (rest, more))


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


if __name__ == "__main__":
    main()
