"""What `bench reading` tells of a folder."""

from pathlib import Path

import pytest

from lexigraph.evaluation.reading import Reading, measure
from lexigraph.ingestion.extract.local import LocalExtractor
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import load_settings
from tests.e2e.commandline import here

GUIDE = """# Ferry guide

## Harbour

The harbour of Ostmark opens at six. Boats leave for Lindholm every hour. Mira Holm sells tickets for coins only.

```sh
ferry --to lindholm
```

## Lindholm

Lindholm is an island. The village of Dahl stands on Lindholm. Mira Holm sells tickets for coins only.
"""


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "guide.md").write_text(GUIDE)
    (tmp_path / "note.txt").write_text("Coins are sold at the kiosk.")
    (tmp_path / "empty.txt").write_text("")
    return tmp_path


def read(folder: Path, seed: int = 1) -> Reading:
    return measure([folder], load_settings(), LocalExtractor(), seed=seed, samples=3)


def test_it_counts_documents_chunks_topics_and_statements(folder: Path) -> None:
    found = read(folder)
    assert (found.documents, found.chunks) == (2, 2)
    assert [reason.partition(": ")[2] for reason in found.rejected] == ["is empty"]
    assert found.chunk_tokens[0] <= found.chunk_tokens[2] <= found.chunk_tokens[4] <= 256
    assert found.topics == 3
    assert sum(found.kinds.values()) == pytest.approx(1)
    assert (found.large_topics, found.unclosed) == (0, 0)


def test_a_document_of_a_few_words_is_no_small_chunk(folder: Path) -> None:
    assert read(folder).small == 0


def test_a_statement_that_says_what_another_one_says_is_duplicated(folder: Path) -> None:
    assert read(folder).duplicated == 1


def test_samples_follow_from_the_seed_and_come_with_their_passages(folder: Path) -> None:
    first, again, other = read(folder, 1).samples, read(folder, 1).samples, read(folder, 2).samples
    assert first == again != other
    assert set(first) == {"statements", "facts", "topics"}
    for sample in first["statements"]:
        assert sample.document in ("guide.md", "note.txt")
        assert sample.read in " ".join(sample.passage.split())


def test_what_a_topic_says_twice_counts_once_for_its_length(tmp_path: Path) -> None:
    (tmp_path / "refrain.md").write_text("# Song of the pier\n\n" + "Ferries leave at six.\n\n" * 60)
    found = read(tmp_path)
    assert (found.longest_topic[2], found.large_topics) == (1, 0)


def test_the_passage_of_a_topic_is_the_stretch_of_its_own_statements(folder: Path) -> None:
    passages = {sample.read: sample.passage for sample in read(folder).samples["topics"]}
    assert passages["Ferry guide > Harbour"].startswith("The harbour of Ostmark")
    assert passages["Ferry guide > Lindholm"].startswith("Lindholm is an island")
    assert "Lindholm is an island" not in passages["Ferry guide > Harbour"]


def test_nothing_to_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(InvalidInput, match=r"nothing to read: .*empty\.txt: is empty"):
        read(tmp_path)


def test_the_command_prints_figures_and_samples(folder: Path) -> None:
    told = here("bench", "reading", str(folder), "--samples", "2", cwd=folder)
    assert told.code == 0
    assert "tokens of a chunk" in told.out
    assert "2 statements" in told.out
