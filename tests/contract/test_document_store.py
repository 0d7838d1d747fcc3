"""What every document store promises (storage/protocols.py)."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from lexigraph.model.errors import InvalidInput, NotFound
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import DocumentStore

A, B = Tenant("a"), Tenant("b")
# the first two share their first two digits
ONE, TWO, THREE = "source:" + "0" * 32, "source:00" + "f" * 30, "source:" + "a" * 32


def test_a_document_store_has_all_methods_of_the_protocol(document_store: DocumentStore) -> None:
    assert isinstance(document_store, DocumentStore)


@pytest.mark.parametrize("data", [b"", "Grüße\r\n".encode(), bytes(range(256)) * 1_000])
def test_a_file_comes_back_byte_by_byte(document_store: DocumentStore, data: bytes) -> None:
    document_store.put(A, ONE, "text-1.txt", data)
    assert document_store.get(A, ONE, "text-1.txt") == data


def test_putting_again_replaces_the_file(document_store: DocumentStore) -> None:
    document_store.put(A, ONE, "text-1.txt", b"a longer old text")
    document_store.put(A, ONE, "text-1.txt", b"new")
    assert document_store.get(A, ONE, "text-1.txt") == b"new"
    assert document_store.names(A, ONE) == ["text-1.txt"]


def test_a_file_that_does_not_exist_is_not_found(document_store: DocumentStore) -> None:
    document_store.put(A, ONE, "text-1.txt", b"1")
    with pytest.raises(NotFound, match=r"text-2\.txt"):
        document_store.get(A, ONE, "text-2.txt")
    with pytest.raises(NotFound):
        document_store.get(A, TWO, "text-1.txt")


def test_names_are_sorted_and_those_of_one_source(document_store: DocumentStore) -> None:
    for name in ("text-2.txt", "Übersicht 2026 (final).pdf", "original", "a..b"):
        document_store.put(A, ONE, name, b"1")
    document_store.put(A, TWO, "other", b"1")
    assert document_store.names(A, ONE) == ["a..b", "original", "text-2.txt", "Übersicht 2026 (final).pdf"]
    assert document_store.names(A, THREE) == []


def test_deleting_a_source_takes_all_its_files_and_no_others(document_store: DocumentStore) -> None:
    document_store.put(A, ONE, "text-1.txt", b"1")
    document_store.put(A, ONE, "text-2.txt", b"2")
    document_store.put(A, TWO, "text-1.txt", b"3")
    document_store.delete(A, ONE)
    assert document_store.names(A, ONE) == []
    assert document_store.get(A, TWO, "text-1.txt") == b"3"
    assert document_store.sources(A) == [TWO]


def test_deleting_keeps_what_is_to_be_kept(document_store: DocumentStore) -> None:
    for name in ("text-1.txt", "text-2.txt", "text-3.txt"):
        document_store.put(A, ONE, name, b"1")
    document_store.delete(A, ONE, keep=["text-2.txt", "unknown"])
    assert document_store.names(A, ONE) == ["text-2.txt"]


def test_deleting_an_unknown_source_does_nothing(document_store: DocumentStore) -> None:
    document_store.delete(A, ONE)
    document_store.put(A, TWO, "text-1.txt", b"1")
    document_store.delete(A, ONE)
    assert document_store.sources(A) == [TWO]


def test_sources_with_files_are_listed_in_order(document_store: DocumentStore) -> None:
    assert document_store.sources(A) == []
    for source in (THREE, TWO, ONE):
        document_store.put(A, source, "text-1.txt", b"1")
    assert document_store.sources(A) == [ONE, TWO, THREE]


def test_sources_are_listed_page_by_page(document_store: DocumentStore) -> None:
    for source in (THREE, TWO, ONE):
        for name in ("text-1.txt", "text-2.txt"):
            document_store.put(A, source, name, b"1")
    first, second, third = sorted([ONE, TWO, THREE])
    assert document_store.sources(A, limit=2) == [first, second]
    assert document_store.sources(A, after=first, limit=1) == [second]
    assert document_store.sources(A, after=second, limit=2) == [third]
    assert document_store.sources(A, after=third, limit=2) == []


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "a\x00b", "a\nb", ".hidden", "x" * 201, "é" * 101, "\ud800"],
)
def test_names_that_lead_elsewhere_are_refused(document_store: DocumentStore, name: str) -> None:
    with pytest.raises(InvalidInput, match="file name"):
        document_store.put(A, ONE, name, b"1")
    with pytest.raises(InvalidInput, match="file name"):
        document_store.get(A, ONE, name)
    assert document_store.sources(A) == []


@pytest.mark.parametrize(
    "source", ["", "source:", "source:../../x", "source:" + "0" * 31, "source:" + "A" * 32, "0" * 32, ONE + "\n"]
)
def test_what_is_no_source_id_is_refused(document_store: DocumentStore, source: str) -> None:
    with pytest.raises(InvalidInput, match="source id"):
        document_store.put(A, source, "text-1.txt", b"1")
    with pytest.raises(InvalidInput, match="source id"):
        document_store.delete(A, source)


def test_the_longest_name_is_allowed(document_store: DocumentStore) -> None:
    document_store.put(A, ONE, "é" * 100, b"1")
    assert document_store.names(A, ONE) == ["é" * 100]


def test_two_tenants_share_nothing(document_store: DocumentStore) -> None:
    document_store.put(A, ONE, "text-1.txt", b"mine")
    assert document_store.sources(B) == []
    assert document_store.names(B, ONE) == []
    with pytest.raises(NotFound):
        document_store.get(B, ONE, "text-1.txt")
    document_store.put(B, ONE, "text-1.txt", b"theirs")
    document_store.delete(B, ONE)
    assert document_store.get(A, ONE, "text-1.txt") == b"mine"


def test_who_has_files_is_listed(document_store: DocumentStore) -> None:
    assert document_store.tenants() == []
    for tenant in (B, A):
        document_store.put(tenant, ONE, "text-1.txt", b"1")
    assert document_store.tenants() == [A, B]
    document_store.delete(A, ONE)
    assert document_store.tenants() == [B]


def test_readers_see_the_old_bytes_or_the_new(document_store: DocumentStore) -> None:
    texts = [b"a" * 300_000, b"b" * 200_000]
    document_store.put(A, ONE, "text-1.txt", texts[0])
    over = Event()

    def read() -> set[bytes]:
        seen = set()
        while not over.is_set():
            seen.add(document_store.get(A, ONE, "text-1.txt"))
        return seen

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for n in range(100):
                document_store.put(A, ONE, "text-1.txt", texts[n % 2])
        finally:
            over.set()
        assert all(reader.result(60) <= set(texts) for reader in readers)
    assert document_store.names(A, ONE) == ["text-1.txt"]


def test_writing_one_source_while_its_neighbour_is_deleted_loses_nothing(document_store: DocumentStore) -> None:
    def work(source: str) -> None:
        for n in range(150):
            document_store.put(A, source, f"text-{n}.txt", b"1")
            assert document_store.names(A, source) == [f"text-{n}.txt"]
            document_store.delete(A, source)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, [ONE, TWO]))
    assert document_store.sources(A) == []
