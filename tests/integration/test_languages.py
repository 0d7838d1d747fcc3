"""Documents in seven languages, from files to the statement that answers a question, with the models of a laptop."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from lexigraph.inference.minilm import MiniLM
from lexigraph.ingestion.extract.local import LocalExtractor
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResult
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.catalogue import RetrieverName, make_retriever
from lexigraph.settings import EmbeddingModel, Settings
from lexigraph.storage.factory import VectorStoreFactory
from tests.laptop import open_laptop

EMBEDDER = MiniLM()  # of English
# a lighthouse, a museum and a ferry in each language
PAGES = {
    "de": {
        "Der Leuchtturm von Sandholm": "Der Leuchtturm wurde 1887 von der Baumeisterin Elsa Brandt entworfen. Die Stadt "
        "Kiel bezahlte die Steine, z. B. den roten Granit.\n\nSeit 1950 wohnt niemand mehr in den Häusern der Wärter.",
        "Das Museum für Seefahrt": "Das Museum zeigt alte Schiffe und Karten. Es wurde am 3. Mai 1922 eröffnet.\n\n"
        "Die Sammlungen gehören dem Verein der Kapitäne.",
        "Die Fähre nach Sandholm": "Die Fähre fährt jeden Morgen vom Hafen ab. Ihre Maschinen wurden in Lübeck gebaut.",
    },
    "fr": {
        "Le phare de Sandholm": "Le phare a été dessiné en 1887 par l'architecte Jeanne Morel. La ville de Brest a payé les "
        "pierres.\n\nPersonne n'habite plus les maisons des gardiens depuis 1950.",
        "Le musée de la mer": "Le musée montre de vieux navires et des cartes. Il a été ouvert le 3 mai 1922.\n\n"
        "Les collections appartiennent à l'association des capitaines.",
        "Le bac de Sandholm": "Le bac quitte le port tous les matins. Ses moteurs ont été construits à Nantes.",
    },
    "ru": {
        "Маяк Сандхольм": "Маяк построила в 1887 г. инженер Анна Соколова. Город заплатил за камни.\n\n"
        "С 1950 года в домах смотрителей никто не живёт.",
        "Музей моря": "Музей показывает старые корабли и карты. Он был открыт в 1922 году.\n\n"
        "Коллекции принадлежат союзу капитанов.",
        "Паром на остров": "Паром отходит из гавани каждое утро. Его двигатели были сделаны на заводе в Туле.",
    },
    "zh": {
        "沙岛灯塔": "沙岛灯塔由建筑师林海于1887年设计。城市支付了石料的费用。\n\n自1950年以来，守塔人的房子里没有人居住。",
        "航海博物馆": "博物馆展出古老的船只和地图。它于1922年开放。\n\n藏品属于船长协会。",
        "沙岛渡轮": "渡轮每天早上离开港口。它的发动机是在上海制造的。",
    },
    "ja": {
        "砂島灯台": "砂島灯台は建築家のエルサ・ブラントが1887年に設計した。石の代金は町が払った。\n\n"
        "1950年から灯台守の家には誰も住んでいない。",
        "海の博物館": "博物館には古い船と地図が展示されている。1922年に開館した。\n\n収蔵品は船長の会のものである。",
        "砂島フェリー": "フェリーは毎朝港を出る。エンジンは長崎の工場で作られた。",
    },
    "ar": {
        "منارة الرمل": "صممت المهندسة ليلى حداد المنارة في عام 1887. دفعت المدينة ثمن الحجارة.\n\n"
        "لا يسكن أحد في بيوت الحراس منذ عام 1950.",
        "متحف البحر": "يعرض المتحف سفنا قديمة وخرائط. افتتح المتحف في عام 1922.\n\nتملك جمعية القباطنة المجموعات.",
        "عبارة الجزيرة": "تغادر العبارة الميناء كل صباح. صنعت محركاتها في الإسكندرية.",
    },
    "hi": {
        "रेत का प्रकाशस्तंभ": "प्रकाशस्तंभ को 1887 में वास्तुकार मीरा जोशी ने बनाया था। पत्थरों का दाम नगर ने दिया।\n\n"
        "1950 से रखवालों के घरों में कोई नहीं रहता।",
        "समुद्र का संग्रहालय": "संग्रहालय में पुराने जहाज़ और नक्शे दिखाए जाते हैं। यह 1922 में खुला था।\n\nसंग्रह कप्तानों के संघ का है।",
        "द्वीप की नाव": "नाव हर सुबह बंदरगाह से निकलती है। उसके इंजन कोलकाता में बने थे।",
    },
}
# language, question, what the statement holds that answers it
QUESTIONS = [
    ("de", "Wer hat den Leuchtturm entworfen?", "Elsa Brandt"),
    ("de", "Wer wohnt im Haus des Wärters?", "Seit 1950"),
    ("fr", "Qui a dessiné le phare de Sandholm ?", "Jeanne Morel"),
    ("fr", "À qui appartient la collection du musée ?", "l'association des capitaines"),
    ("ru", "Кто построил маяк?", "Анна Соколова"),
    ("ru", "Кому принадлежит коллекция музея?", "союзу капитанов"),
    ("zh", "谁设计了沙岛灯塔？", "林海"),
    ("zh", "渡轮的发动机是在哪里制造的？", "上海"),
    ("ja", "砂島灯台を設計したのは誰ですか？", "エルサ・ブラント"),
    ("ja", "フェリーのエンジンはどこで作られましたか？", "長崎"),
    ("ar", "من صمم المنارة؟", "ليلى حداد"),
    ("ar", "أين صنعت محركات العبارة؟", "الإسكندرية"),
    ("hi", "प्रकाशस्तंभ किसने बनाया था?", "मीरा जोशी"),
    ("hi", "नाव का इंजन कहाँ बना था?", "कोलकाता"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LexicalGraphIndex]:
    folder = tmp_path_factory.mktemp("languages")
    for language, pages in PAGES.items():
        for number, (title, text) in enumerate(pages.items()):
            (folder / f"{language}{number}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
    connection = f"sqlite:///{folder}/data"
    vectors = VectorStoreFactory.for_vector_store(
        connection, embedding=EmbeddingModel("minilm", MiniLM.dimension), create=True
    )
    stores = replace(open_laptop(folder / "data"), vectors=vectors)
    made = LexicalGraphIndex(stores, embedder=EMBEDDER, extractor=LocalExtractor(), settings=Settings(data=folder / "data"))
    made.ingest([folder])
    yield made
    stores.graph.close()
    stores.vectors.close()


def ask(index: LexicalGraphIndex, retriever: RetrieverName, question: Question) -> list[SearchResult]:
    asked = make_retriever(retriever, index.stores.graph, index.stores.vectors, embedder=EMBEDDER)
    return list(asked.retrieve(DEFAULT_TENANT, question).results)


def test_the_language_of_every_document_is_told_and_can_be_filtered_by(index: LexicalGraphIndex) -> None:
    told = {d.title: d.metadata.get("language") for d in index.documents()}
    assert told == {title: language for language, pages in PAGES.items() for title in pages}


@pytest.mark.parametrize("retriever", ["bm25", "traversal"])
@pytest.mark.parametrize(("language", "question", "expected"), QUESTIONS)
def test_a_question_finds_the_statement_that_answers_it(
    index: LexicalGraphIndex, retriever: RetrieverName, language: str, question: str, expected: str
) -> None:
    found = [s.text for result in ask(index, retriever, Question(question)) for s in result.statements]
    assert any(expected in statement for statement in found[:3]), found


def test_a_filter_by_language_leaves_documents_in_others_out(index: LexicalGraphIndex) -> None:
    found = ask(index, "bm25", Question("Sandholm", filters=MetadataFilter("language", "==", "fr")))
    assert {result.source.title for result in found} == {"Le phare de Sandholm", "Le bac de Sandholm"}


def test_a_sentence_is_a_statement_where_its_script_ends_it(index: LexicalGraphIndex) -> None:
    (found,) = [r for r in ask(index, "bm25", Question("Wann wurde das Museum eröffnet?")) if "Seefahrt" in r.source.title]
    assert {s.text for s in found.statements} == {
        "Das Museum zeigt alte Schiffe und Karten.",
        "Es wurde am 3. Mai 1922 eröffnet.",
        "Die Sammlungen gehören dem Verein der Kapitäne.",
    }
