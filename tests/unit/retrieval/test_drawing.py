"""Evidence is drawn of the result alone: every statement shown hangs on what led to it, and stands in its source."""

from lexigraph.model.graph import Source
from lexigraph.model.results import ScoredStatement, SearchResult, SearchResults
from lexigraph.retrieval.drawing import QUESTION, Counts, Drawing, draw


def _statement(at: int, reason: str = "chunk", path: tuple[tuple[str, str], ...] = ()) -> ScoredStatement:
    names, ids = tuple(name for name, _ in path), tuple(id_ for _, id_ in path)
    return ScoredStatement(
        f"statement:{at}", f"Text {at}.", 1 - at / 100, reason, f"chunk:{at}", 0, 7, path=names, path_ids=ids
    )


def _found(*statements: ScoredStatement) -> SearchResults:
    source = Source("source:1", "file:///flow.md", title="Flow")
    return SearchResults("Who signs?", (SearchResult(source, "Topic", statements, 1.0),))


def _edges(drawing: Drawing) -> set[tuple[str, str, str, str]]:
    return {(e.start, e.end, e.kind, e.reason) for e in drawing.edges}


def test_a_statement_that_a_search_found_hangs_on_its_chunk() -> None:
    drawing = draw(_found(_statement(1, "vector")), citations={"statement:1": "S1"})
    assert _edges(drawing) == {
        (QUESTION, "chunk:1", "anchor", "vector"),
        ("chunk:1", "statement:1", "says", "vector"),
        ("statement:1", "source:1", "from", "vector"),
    }
    told = [(n.kind, n.layer, n.label, n.citation, n.document_id) for n in drawing.nodes.values()]
    assert told == [
        ("question", 0, "Who signs?", "", ""),
        ("chunk", 1, "Flow", "", "source:1"),
        ("statement", 3, "Text 1.", "S1", "source:1"),
        ("source", 4, "Flow", "", ""),
    ]


def test_a_statement_that_a_link_led_to_hangs_on_the_way() -> None:
    way = (("Approval", "chunk:9"), ("Mira Holm", "entity:1"))
    drawing = draw(_found(_statement(1, "link", way)))
    assert _edges(drawing) == {
        (QUESTION, "chunk:9", "anchor", "link"),
        ("chunk:9", "entity:1", "leads_to", "link"),
        ("entity:1", "statement:1", "leads_to", "link"),
        ("statement:1", "source:1", "from", "link"),
    }
    assert drawing.nodes["entity:1"].layer == 2


def test_what_was_found_and_reached_hangs_on_both() -> None:
    edges = _edges(draw(_found(_statement(1, "vector", (("Mira Holm", "entity:1"),)))))
    assert {("chunk:1", "statement:1", "says", "vector"), ("entity:1", "statement:1", "leads_to", "vector")} <= edges


def test_of_more_than_there_is_room_for_the_best_are_shown_and_all_are_counted() -> None:
    found = _found(*(_statement(at) for at in range(40)))
    drawing = draw(found, most=20)
    assert drawing.totals == Counts(82, 120, 40)
    assert drawing.shown == Counts(20, 27, 9)
    assert [n.id for n in drawing.nodes.values() if n.kind == "statement"] == [f"statement:{at}" for at in range(9)]
    ends = {end for e in drawing.edges for end in (e.start, e.end)}
    assert ends == drawing.nodes.keys()


def test_a_node_has_the_score_of_the_best_statement_over_it() -> None:
    way = (("Mira Holm", "entity:1"),)
    drawing = draw(_found(_statement(5, "link", way), _statement(2, "link", way)))
    assert drawing.nodes["entity:1"].score == drawing.nodes["source:1"].score == 0.98


def test_nothing_found_is_a_question_alone() -> None:
    drawing = draw(SearchResults("Who?", ()))
    assert (list(drawing.nodes), drawing.shown, drawing.totals) == ([QUESTION], Counts(1, 0, 0), Counts(1, 0, 0))
