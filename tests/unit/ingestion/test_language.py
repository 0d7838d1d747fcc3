"""Which language documents and parts of them are in."""

import pytest

from lexigraph.ingestion.language import code_of, language_of, language_within, with_language

TEXTS = {
    "en": "The lighthouse was built in 1887 by an engineer of the town, and it is still in use.",
    "de": "Der Leuchtturm wurde im Jahr 1887 von einer Ingenieurin der Stadt gebaut und wird noch benutzt.",
    "fr": "Le phare a été construit en 1887 par une ingénieure de la ville et il sert toujours.",
    "es": "El faro fue construido en 1887 por una ingeniera de la ciudad y todavía se utiliza.",
    "it": "Il faro fu costruito nel 1887 da un ingegnere della città e viene ancora usato.",
    "nl": "De vuurtoren werd in 1887 gebouwd door een ingenieur van de stad en wordt nog gebruikt.",
    "pt": "O farol foi construído em 1887 por uma engenheira da cidade e ainda está em uso.",
    "sv": "Fyren byggdes år 1887 av en ingenjör från staden och den används fortfarande.",
    "pl": "Latarnia morska została zbudowana w 1887 roku przez inżyniera z miasta i nadal działa.",
    "tr": "Deniz feneri 1887 yılında şehirden bir mühendis tarafından yapıldı ve hâlâ kullanılıyor.",
    "ru": "Маяк построила в 1887 году городской инженер, и он работает до сих пор.",
    "uk": "Маяк збудувала у 1887 році міська інженерка, і він працює дотепер.",
    "ar": "بنيت المنارة في عام 1887 على يد مهندسة من المدينة وما زالت تعمل حتى اليوم.",
    "fa": "فانوس دریایی در سال ۱۸۸۷ به دست مهندسی از شهر ساخته شد و هنوز کار می‌کند.",
    "hi": "प्रकाशस्तंभ 1887 में नगर की एक इंजीनियर ने बनाया था और वह आज भी काम करता है।",
    "zh": "灯塔由市里的一位工程师于1887年建造，至今仍在使用。",
    "ja": "灯台は1887年に町の技師によって建てられ、今でも使われている。",
    "ko": "등대는 1887년에 도시의 기술자가 지었으며 지금도 사용되고 있다.",
    "el": "Ο φάρος χτίστηκε το 1887 από μια μηχανικό της πόλης και λειτουργεί ακόμα.",
    "th": "ประภาคารสร้างขึ้นในปี 1887 โดยวิศวกรของเมืองและยังคงใช้งานอยู่จนถึงทุกวันนี้",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_sentence_or_two_tell_the_language_of_a_document(language: str) -> None:
    assert language_of(TEXTS[language]) == language
    assert language_of(TEXTS[language] * 500) == language


@pytest.mark.parametrize(
    "text", ["", "Leuchtturm", "Der Spiegel", "灯台", "1887 1888 1889 " * 20, "x = f(y)\nif z: return 1\n" * 5]
)
def test_what_is_short_or_no_text_is_in_no_language(text: str) -> None:
    assert language_of(text) == ""


@pytest.mark.parametrize(
    ("text", "declared", "language"),
    [
        ("Leuchtturm", "de-AT", "de"),  # too short to tell
        (TEXTS["sv"], "SV", "sv"),
        (TEXTS["de"], "en", "de"),  # left over from a template
        (TEXTS["zh"], "en", "zh"),  # in another script
        (TEXTS["de"], "German", "de"),
        (TEXTS["en"], "xx", "en"),
    ],
)
def test_what_a_file_declares_is_believed_where_its_text_does_not_say_otherwise(
    text: str, declared: str, language: str
) -> None:
    assert language_of(text, declared) == language


@pytest.mark.parametrize(
    ("declared", "code"), [("de", "de"), ("pt_BR", "pt"), ("EN-us", "en"), ("python", ""), (7, ""), ("go", "")]
)
def test_a_code_of_a_language_is_one_of_iso_639_1(declared: object, code: str) -> None:
    assert code_of(declared) == code


def test_a_part_is_in_the_language_of_its_document_unless_it_is_in_another_script() -> None:
    assert language_within(TEXTS["de"], "de") == "de"
    assert language_within("灯台です", "en") == "ja"
    assert language_within("Маяк", "") == "ru"
    assert language_within("int main(void);", "ja") == "en"
    assert language_within("東京 2024", "ja") == "ja"
    assert language_within("The word маяк means lighthouse in Russian.", "en") == "en"
    assert language_within("–", "fr") == "fr"


def test_the_language_is_in_the_metadata_but_where_a_user_keeps_something_else() -> None:
    assert with_language({"a": 1}, TEXTS["fr"]) == {"a": 1, "language": "fr"}
    assert with_language({"language": "de-CH"}, TEXTS["de"]) == {"language": "de"}
    assert with_language({"language": "python"}, TEXTS["en"]) == {"language": "python"}
    assert with_language({}, "too short") == {}
