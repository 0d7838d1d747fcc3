"""Write a made-up corpus with direct, multi and bridge questions, in the format that ``lexigraph bench quality`` reads.

python -m bench.questions --documents 500 --seed 1 --out DIR
"""

import argparse
from pathlib import Path

from bench.made.corpus import make_corpus
from lexigraph.model.errors import InvalidInput


def main() -> None:
    """Parse the command line and write ``corpus.jsonl`` and ``questions.jsonl``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=500, help="documents, 50 to 3,000 (default 500)")
    parser.add_argument("--questions", type=int, default=100, help="questions of each type (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same world (default 1)")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to; its two files are replaced")
    given = parser.parse_args()
    try:
        written = make_corpus(given.documents, given.seed, given.questions).save(given.out)
    except (InvalidInput, OSError) as error:
        parser.error(str(error))
    for path in written:
        print(path)


if __name__ == "__main__":
    main()
