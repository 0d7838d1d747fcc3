"""A worker of :class:`~lexigraph.ingestion.extract.workers.Workers`: reads chunks from its input, writes extractions.

Both are pickled; first come the settings. It ends when its input does, or nobody reads what it says.
"""

import os
import pickle
import sys

from lexigraph.ingestion.extract import make_extractor
from lexigraph.model.errors import LexigraphError
from lexigraph.model.extraction import Extraction


def main() -> None:
    """Answer until the input ends."""
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else is printed must not mix with answers
    try:
        extractor = make_extractor(pickle.load(asked))  # noqa: S301  # of the process that started this one
        while True:
            chunks = pickle.load(asked)  # noqa: S301
            answer: list[Extraction] | LexigraphError
            try:
                answer = list(extractor.extract(chunks))
            except LexigraphError as error:
                answer = error
            pickle.dump(answer, answers)
            answers.flush()
    except (EOFError, BrokenPipeError):
        os._exit(0)  # there is nobody left to flush to


if __name__ == "__main__":
    main()
