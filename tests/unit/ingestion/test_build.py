"""What becomes of an extraction in the graph: what is searched of a statement, and what is quoted."""

from lexigraph.ingestion.build import chunk_graph, identify
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import ExtractedStatement, ExtractedTopic, Extraction
from lexigraph.model.graph import StatementNode

CODE = """\
while read -r line; do
    echo "$line"
done
"""


def statements(*said: ExtractedStatement) -> tuple[StatementNode, ...]:
    chunk = ChunkText(0, "Shells", ("Loops",), "any", 0, 3)
    extraction = Extraction((ExtractedTopic("Loops", said),))
    return chunk_graph("a", "source:1", identify("a", "source:1", [chunk], {})[0], extraction).statements


def test_code_and_tables_keep_their_lines_where_prose_is_one_line():
    table = "name | size \nlog  |  12"
    code, rows, prose = statements(
        ExtractedStatement(CODE, 0, 50, kind="code"),
        ExtractedStatement(table, 50, 70, kind="table"),
        ExtractedStatement("It reads\n  line by line.", 70, 90),
    )
    assert (code.kind, code.value) == ("code", 'while read -r line; do\n    echo "$line"\ndone')
    assert (rows.kind, rows.value) == ("table", "name | size\nlog  |  12")
    assert (prose.kind, prose.value) == ("prose", "It reads line by line.")
    assert {s.original for s in (code, rows, prose)} == {""}


def test_a_statement_that_names_what_its_pronoun_means_keeps_the_sentence_of_the_text():
    (statement,) = statements(ExtractedStatement("The loop ends\nat a blank.", 0, 20, original="It ends\nat a blank."))
    assert (statement.value, statement.original) == ("The loop ends at a blank.", "It ends at a blank.")


def test_code_is_quoted_without_the_sentence_that_leads_to_it():
    (statement,) = statements(ExtractedStatement(f"Print each line:\n{CODE}", 0, 70, kind="code", original=CODE))
    assert statement.value == f"Print each line:\n{CODE}".rstrip()
    assert statement.original == CODE.rstrip()


def test_the_characters_of_the_text_are_quoted_where_texts_are_compared_by_others():
    (statement,) = statements(ExtractedStatement("A block has 10² bytes.", 0, 22))
    assert (statement.value, statement.original) == ("A block has 102 bytes.", "A block has 10² bytes.")


def test_a_sentence_and_code_of_the_same_words_are_two_statements():
    prose, code = statements(ExtractedStatement("exit 1", 0, 6), ExtractedStatement("exit 1", 9, 15, kind="code"))
    assert prose.id != code.id
    assert (prose.kind, code.kind) == ("prose", "code")
