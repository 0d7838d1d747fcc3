"""A file that takes too much processor time is given up, wherever its reader is; nothing else is."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexigraph.ingestion.limit_time import limit_time
from lexigraph.ingestion.load import Rejected, load, scan
from lexigraph.model.document import LoadedDocument
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import load_settings

# it may come up in a callback of the garbage collector, where it is told and lost; the next look lets it come up again
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def busy(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_a_file_that_takes_too_long_is_a_failure_with_the_limit_and_the_next_one_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,place\n" + "Ann,the lighthouse of Kelm\n" * 100_000)
    (tmp_path / "b.txt").write_text("Ann sat.\n")
    settings = load_settings(max_read_seconds=0.2)
    slow, read = (found for item in scan([tmp_path]) for found in load(item, settings))
    assert isinstance(slow, Rejected)
    assert slow.reason == ("takes more than 0.2 seconds of CPU time to read (max_read_seconds): split it or raise the limit")
    assert isinstance(read, LoadedDocument)


def test_it_is_given_up_although_its_parser_goes_on_after_every_error() -> None:
    def stubborn() -> Iterator[int]:
        end = time.thread_time() + 20
        while time.thread_time() < end:
            try:
                busy(20)
            except Exception:  # noqa: BLE001  # as parsers do
                continue
        yield 1

    began = time.thread_time()
    with pytest.raises(InvalidInput, match="max_read_seconds"):
        list(limit_time(stubborn(), 0.2))
    assert time.thread_time() - began < 5


def test_waiting_and_what_is_done_with_the_documents_do_not_count() -> None:
    def patient() -> Iterator[int]:
        for number in range(3):
            time.sleep(0.3)
            yield number

    seen = []
    for number in limit_time(patient(), 0.2):
        busy(0.3)
        seen.append(number)
    assert seen == [0, 1, 2]


def test_all_documents_of_a_file_share_its_time() -> None:
    def slow() -> Iterator[int]:
        for number in range(100):
            busy(0.05)
            yield number

    seen = []
    with pytest.raises(InvalidInput, match=r"more than 0\.3 seconds"):
        for number in limit_time(slow(), 0.3):
            seen.append(number)  # noqa: PERF402  # what came before is kept
    assert 2 <= len(seen) <= 30


def test_an_error_of_the_reader_is_its_own() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("of the reader")

    with pytest.raises(ValueError, match="of the reader"):
        list(limit_time(broken(), 60))
