"""One name that documents use for two things becomes two entities: found, kept, finished after a stop, undone exactly."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lexigraph import LexicalGraphIndex
from lexigraph.exchange import portable
from lexigraph.ingestion import curation
from lexigraph.ingestion.proposals import propose
from lexigraph.model.curation import Decision
from lexigraph.model.errors import Contradiction, InvalidInput, NotFound
from lexigraph.model.ids import entity_id
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.traversal.retriever import TraversalBasedRetriever
from lexigraph.storage.factory import GraphStoreFactory
from lexigraph.storage.protocols import EvidenceRequest
from tests.e2e.commandline import here
from tests.laptop import content, laptop, open_laptop, write_pages
from tests.models import WordEmbedder
from tests.standins.neptune import NeptuneStandIn
from tests.stepping import begun, drive, steps_over

OWNER = Tenant("default")
PLAIN, PLANET = "Mercury", "Mercury (planet)"
METAL = "Mercury fills the thermometers of Vardo."
ORBIT = "Mercury circles the Sun."
PAGES = {"Metals": METAL, "Orbits": f"{ORBIT} Venus follows Mercury. The Moon is small.", "Towns": "Vardo lies at the Nare."}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LexicalGraphIndex]:
    made = laptop(tmp_path / "data")
    made.ingest([write_pages(tmp_path / "pages", PAGES)])
    yield made
    made.stores.close()


def said(index: LexicalGraphIndex, name: str) -> set[str]:
    asked = EvidenceRequest(entities=(entity_id(OWNER, name),), neighbours=False)
    return {row.value for row in index.stores.graph.evidence(OWNER, asked)}


def around(index: LexicalGraphIndex, name: str) -> set[str]:
    """Return the names of the entities in an entity's egonet."""
    found = index.stores.graph.egonet(OWNER, entity_id(OWNER, name), depth=3)
    return {node["label"] for node in found["nodes"] if node["type"] == "entity"} - {name}


def asked(index: LexicalGraphIndex, question: str) -> list[str]:
    """Return the statements that the entities of a question lead to, without searches for its words or meaning."""
    stores = index.stores.graph, index.stores.vectors
    retriever = TraversalBasedRetriever(*stores, retrievers=["EntityBasedSearch"], embedder=WordEmbedder())
    return [s.text for s in retriever.retrieve(OWNER, Question(question)).statements]


def everything(index: LexicalGraphIndex) -> dict[str, Any]:
    """Return all that is stored, but for the times and versions of documents."""
    return content(index.stores)


def test_a_split_parts_statements_facts_and_egonets_and_changes_nothing_else(index: LexicalGraphIndex) -> None:
    before = everything(index)["graph"]
    asked_of_models = index.models.extractor.extracted  # type: ignore[attr-defined]
    made = index.split(PLAIN, PLANET, ["Orbits.md"], by="ada", note="two things")
    assert index.models.extractor.extracted == asked_of_models, "no model is asked"  # type: ignore[attr-defined]
    assert said(index, PLAIN) == {METAL}
    assert said(index, PLANET) == {ORBIT, "Venus follows Mercury."}
    assert around(index, PLAIN) == {"Vardo"}
    assert around(index, PLANET) >= {"Sun", "Venus"} and not around(index, PLANET) & {"Vardo", PLAIN}
    after = everything(index)["graph"]
    for unchanged in ("statement", "topic", "source"):
        assert after[unchanged] == before[unchanged]
    facts = {tuple(row[1:4]) for row in after["fact"]}
    assert ("Mercury (planet)", "circles the", "Sun") in facts and ("Mercury", "fills the thermometers of", "Vardo") in facts
    assert {row for row in before["chunk"] if row in after["chunk"]}, "chunks without the name stay"
    assert [(one.id, one.kind, one.by, one.note) for one in curation.history(index.stores, OWNER)] == [
        (made.id, "split", "ada", "two things")
    ]


def test_the_plain_name_still_finds_both_and_the_new_one_its_own(index: LexicalGraphIndex) -> None:
    index.split(PLAIN, PLANET, ["Orbits.md"])
    found = index.stores.graph.entities(OWNER, [entity_id(OWNER, PLAIN), entity_id(OWNER, PLANET)])
    assert {e.value for e in found.aliases[entity_id(OWNER, PLAIN)]} == {PLANET}
    assert entity_id(OWNER, PLANET) not in found.aliases
    assert {METAL, ORBIT} <= {*asked(index, "What does Mercury do?")}
    assert asked(index, "What does the Mercury planet circle?")[0] == ORBIT
    assert asked(index, "What does Mercury fill?")[0] == METAL


def test_a_title_that_is_the_name_is_about_what_it_means(index: LexicalGraphIndex, tmp_path: Path) -> None:
    index.ingest([write_pages(tmp_path / "more", {"Mercury": "Venus lies beside Mercury."})])
    index.split(PLAIN, PLANET, ["Mercury.md"])
    titles = {row[1] for row in everything(index)["graph"]["about"] if row[2] in (PLAIN, PLANET)}
    assert titles == {entity_id(OWNER, PLANET).partition(":")[2]}


def test_undoing_leaves_everything_as_it_was(index: LexicalGraphIndex) -> None:
    before = everything(index)
    made = index.split(PLAIN, PLANET, ["Orbits.md"])
    assert everything(index) != before
    undone = index.undo(made.id)
    assert undone.undone_at and everything(index) == before
    with pytest.raises(Contradiction, match="already been undone"):
        index.undo(made.id)


def test_documents_stay_split_when_they_change_and_new_ones_keep_the_plain_name(
    index: LexicalGraphIndex, tmp_path: Path
) -> None:
    index.split(PLAIN, PLANET, ["Orbits.md"])
    split = everything(index)
    assert index.ingest([tmp_path / "pages"]).documents_unchanged == 3
    index.ingest([tmp_path / "pages"], refresh=True)
    assert everything(index)["graph"] == split["graph"]
    pages = {"Orbits": "Mercury has no moon.", "Lamps": "Mercury lights lamps."}
    index.ingest([write_pages(tmp_path / "pages", pages)])
    assert said(index, PLANET) == {"Mercury has no moon."}
    assert said(index, PLAIN) == {METAL, "Mercury lights lamps."}
    record = index.document("Orbits.md")
    index.remove([record.source_id])
    assert said(index, PLANET) == set()
    index.ingest([tmp_path / "pages"])
    assert said(index, PLANET) == {"Mercury has no moon."}


def test_an_export_takes_the_split_along(index: LexicalGraphIndex, tmp_path: Path) -> None:
    made = index.split(PLAIN, PLANET, ["Orbits.md"])
    lines = [line for line, _ in portable.lines(index.stores, OWNER, index.models.extractor, index.settings)]
    lines += portable.decided(index.stores, OWNER)
    other = laptop(tmp_path / "two")
    portable.take(other, lines)
    assert everything(other) == everything(index)
    assert curation.history(other.stores, OWNER) == [made]
    third = laptop(tmp_path / "three")
    portable.take(third, lines, namespace="archive")
    assert said(third, PLANET) == {ORBIT, "Venus follows Mercury."}
    assert said(third, PLAIN) == {METAL}
    for opened in (other, third):
        opened.stores.close()


class _Stopped(BaseException):
    """Stands for a kill: nothing catches it."""


@pytest.mark.parametrize("goes_on", ["an ingest", "the next decision"])
@pytest.mark.parametrize("ends", [False, True])
def test_who_was_stopped_before_the_documents_were_built_is_finished_by(
    index: LexicalGraphIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes_on: str, ends: bool
) -> None:
    joined = everything(index)
    made = index.split(PLAIN, PLANET, ["Orbits.md"])
    apart = everything(index)
    if not ends:
        index.undo(made.id)

    def stop(*_: object) -> None:
        raise _Stopped

    with monkeypatch.context() as patched:
        patched.setattr("lexigraph.ingestion.curation.tell_graph", stop)
        with pytest.raises(_Stopped):
            index.undo(made.id) if ends else index.split(PLAIN, PLANET, ["Orbits.md"])
    assert everything(index)["graph"] == (apart if ends else joined)["graph"]
    if goes_on == "an ingest":
        index.ingest([tmp_path / "pages" / "Towns.md"])
    else:
        other = index.split("Vardo", "Vardo (ship)", ["Towns.md"])
        index.undo(other.id)
    assert everything(index) == (joined if ends else apart)


def test_a_stop_in_the_middle_of_building_is_finished_by_the_next_ingest(
    index: LexicalGraphIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = index.split(PLAIN, PLANET, ["Orbits.md"])
    apart = everything(index)
    index.undo(made.id)

    def stop(*_: object) -> None:
        raise _Stopped

    with monkeypatch.context() as patched:
        patched.setattr("lexigraph.ingestion.versions.show", stop)
        with pytest.raises(_Stopped):
            index.split(PLAIN, PLANET, ["Orbits.md"])
    index.ingest([tmp_path / "pages" / "Towns.md"])
    assert everything(index) == apart


def test_an_ingest_that_began_before_the_decision_does_not_take_it_back(
    index: LexicalGraphIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = laptop(tmp_path / "data", open_laptop(tmp_path / "data"))
    begun = other._runs(OWNER)("default")  # it has read what was decided until now
    index.split(PLAIN, PLANET, ["Orbits.md"])
    apart = everything(index)
    begun.take_in([tmp_path / "pages"])
    assert everything(index) == apart
    other.stores.close()


@pytest.mark.parametrize(
    ("name", "other", "documents", "error", "told"),
    [
        (PLAIN, PLANET, ["Towns.md"], InvalidInput, "Towns.md does not use the name 'Mercury'"),
        (PLAIN, PLANET, ["None.md"], NotFound, "None.md"),
        (PLAIN, PLANET, [], InvalidInput, "1 to 1,000 documents"),
        (PLAIN, "MERCURY", ["Metals.md"], InvalidInput, "each name only once"),
        (PLAIN, "...", ["Metals.md"], InvalidInput, "a letter or digit"),
        (PLAIN, "Mercury (star)", ["Orbits.md"], Contradiction, "already split in .*Orbits.md: .*undo {split}"),
        (PLANET, "Mercury (star)", ["Orbits.md"], Contradiction, "is the result of a split: .*undo {split}"),
        ("Vardo", "Vardo (ship)", ["Towns.md"], Contradiction, "'Vardo' already means 'Nare': .*undo {merge}"),
        (PLAIN, "Vardo", ["Metals.md"], Contradiction, "'Vardo' already means 'Nare': .*undo {merge}"),
    ],
)
def test_what_cannot_be_or_contradicts_is_refused_and_changes_nothing(
    index: LexicalGraphIndex, name: str, other: str, documents: list[str], error: type[Exception], told: str
) -> None:
    made = {"split": index.split(PLAIN, PLANET, ["Orbits.md"]), "merge": merged(index, "Nare", "Vardo")}
    before = everything(index)
    with pytest.raises(error, match=told.format(**{kind: one.id for kind, one in made.items()})):
        index.split(name, other, documents)
    assert everything(index) == before
    assert len(curation.history(index.stores, OWNER)) == 2


def merged(index: LexicalGraphIndex, name: str, other: str) -> Decision:
    return curation.decide(index.stores, OWNER, "merge", name, [other])


def test_what_was_split_is_not_merged_again(index: LexicalGraphIndex) -> None:
    made = index.split(PLAIN, PLANET, ["Orbits.md"])
    for name, other in ((PLAIN, PLANET), (PLANET, PLAIN), ("Venus", PLAIN)):
        with pytest.raises(Contradiction, match=f"was split: .*undo {made.id}"):
            merged(index, name, other)
    curation.decide(index.stores, OWNER, "alias", PLANET, ["Merkur"])
    assert said(index, "Merkur") == {ORBIT, "Venus follows Mercury."}


def test_what_was_split_is_not_proposed_as_one(index: LexicalGraphIndex, tmp_path: Path) -> None:
    index.ingest([write_pages(tmp_path / "more", {"Moons": "Venus and Mercury have no moon, says Vardo."})])
    index.split(PLAIN, PLANET, ["Orbits.md"])
    pairs = [{one.name, one.other} for one in propose(index.stores, OWNER, limit=100)]
    assert {PLAIN, PLANET} not in pairs


def test_the_workflow_of_a_deployment_builds_documents_split(index: LexicalGraphIndex, tmp_path: Path) -> None:
    index.split(PLAIN, PLANET, ["Orbits.md"])
    write_pages(tmp_path / "pages", {"Orbits": "Mercury has no moon. The Sun is far."})
    path = tmp_path / "pages" / "Orbits.md"
    steps = steps_over(tmp_path / "data", index.stores)
    changed, same = (drive(steps, begun(steps, path, order), path) for order in "12")
    assert (changed["documents_updated"], same["documents_unchanged"], same["extracted"]) == (1, 1, 0)
    assert said(index, PLANET) == {"Mercury has no moon."}
    by_steps = everything(index)
    index.ingest([tmp_path / "pages"], incremental=False)
    assert everything(index) == by_steps


@pytest.mark.slow
def test_neptune_holds_the_same_split_and_undone(index: LexicalGraphIndex, tmp_path: Path) -> None:
    with NeptuneStandIn() as cluster:
        stores = open_laptop(tmp_path / "other")
        stores.graph.close()
        other = laptop(tmp_path / "other", replace(stores, graph=GraphStoreFactory.for_graph_store(cluster.connection)))
        other.ingest([tmp_path / "pages"])
        made = {one: one.split(PLAIN, PLANET, ["Orbits.md"]) for one in (index, other)}
        assert everything(other)["graph"] == everything(index)["graph"]
        assert asked(other, "What does Mercury do?") == asked(index, "What does Mercury do?")
        for one in (index, other):
            one.undo(made[one].id)
        assert everything(other)["graph"] == everything(index)["graph"]
        other.stores.close()


def test_the_command_line_splits_lists_and_undoes(index: LexicalGraphIndex, tmp_path: Path) -> None:
    data = tmp_path / "real"
    lexigraph = partial(here, "--data", data)
    assert lexigraph("ingest", tmp_path / "pages").code == 0
    made = lexigraph("entities", "split", PLAIN, PLANET, tmp_path / "pages" / "Orbits.md", "--note", "two things", "--json")
    assert (made.code, made.json["kind"], made.json["others"]) == (0, "split", [PLANET])
    listed = lexigraph("entities", "list", PLAIN, "--json").json["entities"]
    assert {one["name"]: one["means_the_same"] for one in listed} == {PLAIN: [PLANET], PLANET: []}
    (line,) = lexigraph("entities", "history").out.splitlines()
    assert f"split  {PLAIN} = {PLANET} in file://" in line and "(two things)" in line
    refused = lexigraph("entities", "split", PLAIN, PLANET, "Towns.md")
    assert refused.code != 0 and "Towns.md does not use the name" in refused.err
    assert lexigraph("entities", "undo", made.json["id"]).code == 0
    assert [one["name"] for one in lexigraph("entities", "list", PLAIN, "--json").json["entities"]] == [PLAIN]


def test_documents_of_another_extractor_are_not_extracted_anew(index: LexicalGraphIndex, tmp_path: Path) -> None:
    made = index.split(PLAIN, PLANET, ["Orbits.md"])
    index.models.extractor.name = "sentences-2"  # type: ignore[misc]
    for decide in (lambda: index.split("Vardo", "Vardo (ship)", ["Towns.md"]), lambda: index.undo(made.id)):
        with pytest.raises(InvalidInput, match="was extracted by sentences-1"):
            decide()
    index.stores.registry.decide(OWNER, replace(made, undone_at="2026-11-28T00:00:00+00:00"))
    heard: list[str] = []
    index.ingest([tmp_path / "pages" / "Towns.md"], on_event=lambda e: heard.append(str(e.detail.get("reason", ""))))
    assert any("ingest it again" in reason for reason in heard)
    index.ingest([tmp_path / "pages"])
    assert said(index, PLANET) == set()
