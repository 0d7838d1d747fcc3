"""How long the embedded cache keeps what nobody owns."""

from pathlib import Path

from lexigraph.model.tenant import Tenant
from lexigraph.storage.sqlite.cache import SqliteContentCache

A, B = Tenant("a"), Tenant("b")
KIND = "embedding:minilm-384"


def test_entries_that_waited_too_long_for_an_owner_go_and_owned_ones_stay(tmp_path: Path) -> None:
    patient = SqliteContentCache(f"sqlite:///{tmp_path}")
    patient.put_many(A, KIND, {"owned": b"1", "waiting": b"2"})
    patient.put_many(B, KIND, {"of another tenant": b"3"})
    patient.own(A, {"one": [(KIND, "owned")]})
    assert patient.stats(A) == {KIND: 2}
    patient.close()

    impatient = SqliteContentCache(f"sqlite:///{tmp_path}", unowned_seconds=0)
    impatient.own(A, {"two": [(KIND, "owned")]})
    assert impatient.get_many(A, KIND, ["owned", "waiting"]) == {"owned": b"1"}
    impatient.put_many(A, KIND, {"waiting": b"2"})
    impatient.disown(A, ["one"])
    assert impatient.get_many(A, KIND, ["owned", "waiting"]) == {"owned": b"1"}
    assert impatient.stats(B) == {KIND: 1}
    impatient.close()


def test_putting_an_owned_entry_again_does_not_make_it_wait(tmp_path: Path) -> None:
    cache = SqliteContentCache(f"sqlite:///{tmp_path}", unowned_seconds=0)
    cache.put_many(A, KIND, {"a": b"1"})
    cache.own(A, {"one": [(KIND, "a")]})
    cache.put_many(A, KIND, {"a": b"2"})
    cache.own(A, {"two": []})
    assert cache.get_many(A, KIND, ["a"]) == {"a": b"2"}
    cache.close()
