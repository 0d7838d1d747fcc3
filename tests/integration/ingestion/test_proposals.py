"""Entities that may be one: proposed by name and company, with the evidence, and accepted one by one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lexigraph.ingestion import curation
from lexigraph.ingestion.proposals import accept, pairs_of, propose
from lexigraph.model.errors import NotFound
from lexigraph.model.graph import Entity
from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Stores
from tests.laptop import laptop_with

OWNER = Tenant("default")
PAGES = {
    "Ferry": "The Sable Ferry was built by Quill Shipping Ltd. Quill Shipping Ltd lies in Kolby.",
    "Ships": "Quill Shipping runs the Sable Ferry from Kolby. Quill Shipping was founded by Tove Lund.",
    "Town": "Tove Lund lives in Kolby. Mats Lund lives in Vardo.",
}


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with laptop_with(tmp_path, PAGES) as opened:
        yield opened


def reasons(*names: str) -> dict[tuple[str, str], str]:
    """The pairs among names, with the first named by more documents."""
    entities = [Entity(entity_id(OWNER, n), n, "", df=len(names) - at) for at, n in enumerate(names)]
    return {(a.value, b.value): why for a, b, why in pairs_of(entities)}


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("OpenSearch", "Open Search", "same letters"),
        ("SHA256", "SHA-256", "same letters"),
        ("Public Licence", "Public Licences", "singular and plural"),
        ("Quill Shipping", "Quill Shipping Ltd", "with and without title or legal form"),
        ("Tove Lund", "Dr. Tove Lund", "with and without title or legal form"),
        ("Tove Lund", "T. Lund", "initial and full first name"),
        ("Simple Storage Service", "SSS", "initials of its words"),
        ("Bureau of Sable Mines", "BSM", "initials of its words"),
        ("Merchantability", "Merchantibility", "one letter apart"),
        ("Tove Lund", "Lund", "part of the name"),
    ],
)
def test_names_resemble_each_other_for_a_reason(one: str, other: str, reason: str) -> None:
    assert reasons(one, other) == {(one, other): reason}


@pytest.mark.parametrize(
    "names",
    [
        ("Python 2", "Python 3"),
        ("strcpy(3)", "stpcpy(3)"),
        ("letter nu", "letter mu"),
        ("Tove Lund", "Mats Lund", "Lund"),
        ("Kolby", "Vardo"),
        ("ALTER DOMAIN", "Domain"),
        ("STRICT LIABILITY", "LIABILITY"),
        ("sys.audit()", "PySys_Audit()"),
        ("LIABILITY", "INABILITY"),
    ],
)
def test_names_of_different_things_do_not(names: tuple[str, ...]) -> None:
    assert reasons(*names) == {}


def test_a_proposal_has_its_evidence_and_is_accepted_once(stores: Stores) -> None:
    first, *_ = propose(stores, OWNER)
    assert {first.name, first.other} == {"Quill Shipping", "Quill Shipping Ltd"}
    assert first.reason == "with and without title or legal form"
    assert {"Sable Ferry", "Kolby"} & set(first.shared)
    assert all("Quill Shipping" in statement for statement in first.statements) and len(first.statements) == 2
    made = accept(stores, OWNER, first.id, by="ada")
    assert (made.name, made.others, made.by) == (first.name, (first.other,), "ada")
    assert first.reason in made.note
    assert first.id not in {one.id for one in propose(stores, OWNER)}
    with pytest.raises(NotFound, match="entities proposals"):
        accept(stores, OWNER, first.id)
    curation.undo(stores, OWNER, made.id)
    assert propose(stores, OWNER)[0] == first, "what was undone may be proposed again"


def test_proposals_of_three_forms_of_a_name_are_accepted_one_after_another(tmp_path: Path) -> None:
    """What has other names stays what is meant, so that the next proposal contradicts no decision."""
    pages = {
        n: f"{n} runs the Sable Ferry. {n} lies in Kolby."
        for n in ("Quill Shipping", "Quill Shippings", "The Quill Shipping")
    }
    with laptop_with(tmp_path, pages) as stores:
        made = []
        while found := [one for one in propose(stores, OWNER, limit=100) if "Quill" in one.name and "Quill" in one.other]:
            made.append(accept(stores, OWNER, found[0].id))
        assert len(made) == 2 and len({one.name for one in made}) == 1
        for name in pages:
            id_ = entity_id(OWNER, name)
            same = {other.value for other in stores.graph.entities(OWNER, [id_]).aliases[id_]}
            assert same == pages.keys() - {name}


def test_what_is_proposed_of_a_name_is_accepted_by_its_id(stores: Stores) -> None:
    for one in propose(stores, OWNER, name="quill shipping"):
        assert accept(stores, OWNER, one.id).others == (one.other,)


def test_two_persons_of_one_surname_are_not_proposed(stores: Stores) -> None:
    assert not any({"Tove Lund", "Mats Lund"} == {one.name, one.other} for one in propose(stores, OWNER, limit=100))


def test_only_pairs_with_a_name_are_proposed_when_one_is_given(stores: Stores) -> None:
    assert [one.other for one in propose(stores, OWNER, name="quill shipping")]
    assert propose(stores, OWNER, name="Vardo") == []
