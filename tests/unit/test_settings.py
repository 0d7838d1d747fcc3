"""What is told of a setting that cannot be read."""

import json
from pathlib import Path

import pytest

from lexigraph.cli.invocation import assignments
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import load_settings


def refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> str:
    monkeypatch.setenv(f"LEXIGRAPH_{name.upper()}", value)
    with pytest.raises(InvalidInput) as error:
        load_settings()
    return str(error.value)


def test_a_value_out_of_its_limits_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    told = refused(monkeypatch, "threads", "many")
    assert told.startswith("setting threads (LEXIGRAPH_THREADS): ")
    assert told.endswith("got 'many'")


@pytest.mark.parametrize("name", ["llm_options", "embedding_options", "usage_keys"])
@pytest.mark.parametrize("value", ["sk-heron", '["sk-heron"]', json.dumps({"api_key": ["sk-heron"]})])
def test_no_message_repeats_what_may_be_a_key(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    told = refused(monkeypatch, name, value)
    assert name in told
    assert "heron" not in told


@pytest.mark.parametrize("name", ["llm_options", "embedding_options", "usage_keys"])
def test_settings_that_are_printed_tell_no_key(name: str) -> None:
    settings = load_settings(**{name: {"api_key": "sk-heron"}})
    assert "heron" not in f"{settings} {settings!r}"


def test_another_key_is_no_other_embedding_model_and_another_option_is() -> None:
    def label(**options: str) -> str:
        given = {"embedding_model": "llama-index:a.B", "embedding_dimension": 8, "embedding_options": options}
        return load_settings(**given).embedding.label

    assert label(api_key="sk-heron") == label(api_key="sk-tern") == label() == "llama-index-a-b-8"
    assert label(api_key="sk-heron", model="a") == label(model="a") != label(model="b")


@pytest.mark.parametrize("name", ["llm_options", "ingest_roots"])
def test_a_value_that_is_no_json_is_refused_as_that(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert refused(monkeypatch, name, "{") == (
        f'settings: error parsing value for field "{name}" from source "EnvSettingsSource"; the value must be valid JSON'
    )


def test_objects_and_lists_are_given_on_the_command_line_as_json_and_text_as_it_is() -> None:
    given = assignments(['llm_options={"top_p": 0.5}', 'ingest_roots={"acme": "a"}', "data={1}"])
    settings = load_settings(**given)
    assert settings.llm_options == {"top_p": 0.5}
    assert settings.ingest_roots == {"acme": Path("a")}
    assert settings.data == Path("{1}")
