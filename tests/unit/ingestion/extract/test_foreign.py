"""Chunks in other languages than English: sentences by their script, names by their form, no fact but of rows."""

import pytest

from lexigraph.ingestion.extract.foreign import in_their_languages, names, read_foreign, sentences
from lexigraph.model.document import Block, ChunkText
from lexigraph.model.extraction import ExtractedFact, Extraction


def chunk(text: str, language: str, title: str = "", **more: object) -> ChunkText:
    return ChunkText(0, title, (), text, 0, len(text), language=language, **more)  # type: ignore[arg-type]


def cut(text: str, language: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text, 0, len(text), language)]


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("de", ["Am 3. Mai kam Dr. Brandt.", "Er blieb z. B. bis 1890.", "Wann ging er?"]),
        ("de", ["Seite 5 Abs. 2 gilt seit dem 19. Jahrhundert.", "Sonst nicht."]),
        ("fr", ["M. Dupont est né à Lyon.", "Il y vit, cf. la p. 12.", "« Pourquoi ? »"]),
        ("es", ["¿Quién lo pagó?", "La Sra. Vidal, que vive en Cádiz.", "¡Bien!"]),
        ("ru", ["Маяк построен в 1887 г.", "Он стоит далеко, т. е. за городом.", "Его видел И. С. Орлов."]),
        ("zh", ["灯塔建于1887年。", "“我不知道。”他说。", "谁知道？"]),
        ("ja", ["灯台は古い。", "「知らない。」と彼は言った。", "本当ですか？"]),
        ("ja", ["不良率は０．３５％で、去年より低い．", "灯台は１２．５メートルである．"]),
        ("ar", ["بنيت المنارة في عام 1887.", "من بناها؟", "لا أحد يعرف."]),
        ("ur", ["یہ مینار پرانا ہے۔", "اسے کس نے بنایا؟"]),
        ("hi", ["यह 1887 में बना था।", "किसने बनाया?", "पता नहीं।"]),
    ],
)
def test_sentences_end_where_their_script_ends_them(language: str, expected: list[str]) -> None:
    between = "" if language in ("zh", "ja") else " "
    assert cut(between.join(expected), language) == expected


def test_a_script_without_full_stops_is_cut_at_blanks_where_it_gets_too_long() -> None:
    text = " ".join(["ประภาคารอยู่บนเกาะและยังใช้งานอยู่"] * 40)
    assert all(len(part) <= 600 for part in cut(text, "th"))
    assert "".join(cut(text, "th")).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Die Stadt Kiel bezahlte den Bau, und der Architekt Hugo Dahl leitete ihn.", ["Kiel", "Hugo Dahl"]),
        ("de", "Der Leuchtturm am Hafen hat eine Lampe.", []),
        ("de", "Ende Mai zog die BSG in die Technische Universität Hamburg.", ["BSG", "Technische Universität Hamburg"]),
        ("de", "Otto von Marwitz und Frau Olsen kamen.", ["Otto von Marwitz", "Olsen"]),
        ("fr", "Le phare fut dessiné par l'architecte Jeanne Morel, de Brest.", ["Jeanne Morel", "Brest"]),
        ("fr", "Hier, « C'est beau », dit-elle.", []),
        ("es", "La obra de la Sra. Elena Vidal está en Cádiz.", ["Elena Vidal", "Cádiz"]),
        ("it", "La sede dell'Università di Pavia.", ["Università di Pavia"]),
        ("ru", "Роман «Белая ночь» написал И. С. Орлов.", ["Белая ночь", "И. С. Орлов"]),
        ("zh", "《白夜》是林海写的，由OpenSearch检索。", ["白夜", "OpenSearch"]),
        ("ja", "『白夜』の作者はエルサ・ブラントである。", ["白夜", "エルサ・ブラント"]),
        ("ar", "كتب رواية «الليلة البيضاء» في القاهرة.", ["الليلة البيضاء"]),
    ],
)
def test_a_name_is_what_is_written_as_one(language: str, text: str, expected: list[str]) -> None:
    assert names(text, language) == expected


def test_a_word_that_begins_a_sentence_is_a_name_only_if_it_is_one_elsewhere() -> None:
    text = "Cádiz pagó el faro. Ayer fue una fiesta en Cádiz."
    said = read_foreign(chunk(text, "es"), "es").topics[0].statements
    assert [[e.name for e in s.entities] for s in said] == [["Cádiz"], ["Cádiz"]]


def test_the_title_is_a_name_of_the_statements_that_say_it() -> None:
    text = "沙岛灯塔由林海设计。城市支付了费用。"
    (topic,) = read_foreign(chunk(text, "zh", "沙岛灯塔"), "zh").topics
    assert topic.title == "沙岛灯塔"
    assert [[e.name for e in s.entities] for s in topic.statements] == [["沙岛灯塔"], []]


def test_statements_point_at_their_place_and_lines_wrapped_inside_a_word_are_joined() -> None:
    text = "灯台は町の技\n師が建てた。 今も使われている。"
    said = read_foreign(chunk(text, "ja"), "ja").topics[0].statements
    assert [s.value for s in said] == ["灯台は町の技師が建てた。", "今も使われている。"]
    assert [text[s.start : s.end].strip() for s in said] == ["灯台は町の技\n師が建てた。", "今も使われている。"]


def test_facts_are_read_off_rows_alone_and_code_is_shown_whole() -> None:
    row, code, said = "Stadt: Kiel; Einwohner: 247.000", "leuchten(1)\nleuchten(2)", "Der Maler Jan Voss malte die Stadt."
    text = f"{row}\n\n{said}\n\n{code}"
    at = len(row) + 2
    blocks = (
        Block(0, len(row), (), "row"),
        Block(at, at + len(said)),
        Block(at + len(said) + 2, len(text), (), "code"),
    )
    made = read_foreign(chunk(text, "de", "Kiel", blocks=blocks), "de")
    facts = [fact for topic in made.topics for s in topic.statements for fact in s.facts]
    assert facts == [ExtractedFact("Kiel", "einwohner", "247.000", 0.9)]
    assert [(s.kind, text[s.start : s.end]) for t in made.topics for s in t.statements if s.kind == "code"] == [
        ("code", code)
    ]


def test_each_chunk_is_read_in_its_language_and_the_order_stays() -> None:
    read: list[ChunkText] = []

    def english(chunks: object) -> list[Extraction]:
        read.extend(chunks)  # type: ignore[arg-type]
        return [Extraction(dropped=("english",)) for _ in read]

    chunks = [chunk("Das ist ein Haus.", "de"), chunk("A house.", ""), chunk("灯台です。", "en"), chunk("A door.", "en")]
    made = list(in_their_languages(chunks, english))
    assert [c.text for c in read] == ["A house.", "A door."]
    assert [e.dropped for e in made] == [(), ("english",), (), ("english",)]


@pytest.mark.requirement("E-45")
def test_a_chinese_term_that_comes_again_between_others_is_a_name() -> None:
    text = "审批流程由财务部门启动。王芳负责审批每一份申请。李明在三天内签字。审批完成后归档。审批记录保存十年。"
    said = read_foreign(chunk(text, "zh"), "zh").topics[0].statements
    named = [[e.name for e in s.entities] for s in said]
    assert named == [["审批"], ["审批"], [], ["审批"], ["审批"]]
    longer = "沙岛灯塔很高。我们爱沙岛灯塔。去看沙岛灯塔吧。"
    assert names(longer, "zh") == ["沙岛灯塔"], "the whole of it, not its parts"
    assert names("他买电话机。我有电话机吗。电话机很贵。", "zh") == ["电话机"], (
        "what is always followed by the same is a part"
    )
    assert names("今天去，明天去。", "zh") == [], "twice may be chance"
