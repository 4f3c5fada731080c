"""Configuration: which place wins, what is ours, and what an error says."""

from __future__ import annotations

import json
import logging
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ffai import FFAI
from ffai.clients import RetryPolicy
from ffai.config import ClientTypeSettings, Config, Setting, explain
from ffai.errors import ArgumentTypeError, ConfigError
from ffai.testing import FakeClient
from tests.doubles.openai_server import Answer

ROOT = Path(__file__).parent.parent
FILES = ["main.yaml", "clients.yaml", "model_defaults.yaml", "logging.yaml"]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test starts in an empty folder, without variables of ours."""
    for name in os.environ:
        if "__" in name or name == "FFAI_CONFIG":
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, text: str) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def origin(key: str, source: Any = None) -> str:
    return next(setting.origin for setting in explain(source) if setting.key == key)


def problem(source: Any = None) -> str:
    with pytest.raises(ConfigError) as caught:
        Config.load(source)
    return str(caught.value)


# which place wins


def test_without_files_and_variables_everything_is_the_default():
    assert Config.load() == Config()
    assert {setting.origin for setting in explain()} == {"default"}


def test_the_defaults_are_those_of_the_source_document():
    memory = Config.load().memory
    assert (memory.enabled, memory.embedding_model, memory.store_backend, memory.store_config) == (
        False,
        None,
        "memory",
        {},
    )
    assert (memory.persist_dir, memory.collection_name, memory.persist) == ("./ffai_data/memory", "ffai_turns", False)


def test_one_setting_from_each_place_and_each_keeps_its_own(monkeypatch):
    write("config/main.yaml", "memory: {enabled: false, persist: true, collection_name: from_file}")
    monkeypatch.setenv("MEMORY__COLLECTION_NAME", "from_variable")
    monkeypatch.setenv("MEMORY__PERSIST_DIR", "from_variable")
    config = Config.load().with_values(memory={"enabled": True, "persist_dir": None})
    assert config.memory.enabled  # the keyword
    assert config.memory.collection_name == "from_variable"  # over the file
    assert config.memory.persist_dir == "from_variable"  # alone
    assert config.memory.persist  # the file
    assert config.memory.durability == "process"  # nobody


@given(st.sets(st.sampled_from(["keyword", "variable", "file"])))
def test_the_first_place_that_names_a_setting_wins(places):
    with pytest.MonkeyPatch.context() as patch:
        if "variable" in places:
            patch.setenv("MEMORY__COLLECTION_NAME", "variable")
        source = {"memory": {"collection_name": "file"} if "file" in places else {}}
        config = Config.load(source)
        if "keyword" in places:
            config = config.with_values(memory={"collection_name": "keyword"})
    expected = next((place for place in ("keyword", "variable", "file") if place in places), "ffai_turns")
    assert config.memory.collection_name == expected


def test_mappings_inside_a_section_are_merged_key_by_key(monkeypatch):
    monkeypatch.setenv("MODEL_DEFAULTS__GENERIC__TEMPERATURE", "0.5")
    config = Config.load({"model_defaults": {"generic": {"temperature": 1, "max_tokens": 9}}})
    assert config.model_defaults.generic == {"temperature": 0.5, "max_tokens": 9}


def test_a_config_is_returned_as_it_is(monkeypatch):
    config = Config.load({"history": {"max_turns": 3}})
    monkeypatch.setenv("HISTORY__MAX_TURNS", "4")
    assert Config.load(config) is config


def test_nothing_is_remembered_between_two_loads(monkeypatch):
    write("config/main.yaml", "memory: {enabled: true}")
    assert Config.load().memory.enabled
    write("config/main.yaml", "memory: {enabled: false}")
    assert not Config.load().memory.enabled


def test_a_configuration_can_not_be_changed():
    config = Config()
    with pytest.raises(ValueError, match="frozen"):
        config.memory.enabled = True
    with pytest.raises(ValueError, match="frozen"):
        config.memory = config.memory


def test_reading_makes_no_folder_and_no_file(empty_folder):
    Config.load({"memory": {"persist": True}, "paths": {"ffai_data": "data"}})
    assert list(empty_folder.iterdir()) == []


# files


def test_a_folder_holds_its_sections_in_four_files():
    write("settings/main.yaml", "history: {max_turns: 2}")
    write("settings/clients.yaml", "clients: {client_types: {small: {default_model: m}}}")
    write("settings/model_defaults.yaml", "model_defaults: {generic: {top_p: 1}}")
    write("settings/logging.yaml", "logging: {level: debug}")
    config = Config.load("settings")
    assert config.history.max_turns == 2
    assert config.clients.client_types == {"small": ClientTypeSettings(default_model="m")}
    assert config.model_defaults.generic == {"top_p": 1}
    assert config.logging.level == "DEBUG"


def test_main_yaml_wins_over_its_siblings():
    write("config/main.yaml", "logging: {level: error}")
    write("config/logging.yaml", "logging: {level: debug, file: ffai.log}")
    assert Config.load().logging.level == "ERROR"
    assert Config.load().logging.file == "ffai.log"


def test_a_sibling_is_read_where_there_is_no_main_yaml():
    write("config/logging.yaml", "logging: {level: debug}")
    assert Config.load().logging.level == "DEBUG"


def test_ffai_config_comes_before_the_folder_config(monkeypatch):
    write("config/main.yaml", "history: {max_turns: 1}")
    write("elsewhere.yaml", "memory: {persist: true}")
    monkeypatch.setenv("FFAI_CONFIG", "elsewhere.yaml")
    assert Config.load().memory.persist
    assert Config.load().history.max_turns is None


def test_what_is_passed_comes_before_ffai_config(monkeypatch):
    monkeypatch.setenv("FFAI_CONFIG", "missing.yaml")
    assert not Config.load({}).memory.enabled


@pytest.mark.parametrize("text", ["", "# nothing\n", "memory:\n", "---\n", "other: {tool: 1}\nlist: [1]\n"])
def test_a_file_that_sets_nothing_of_ours_is_fine(text):
    assert Config.load(write("some.yaml", text)) == Config()


def test_a_file_with_a_byte_order_mark_is_read():
    Path("bom.yaml").write_bytes("\ufeffmemory: {enabled: true}".encode())
    assert Config.load("bom.yaml").memory.enabled


def test_home_is_understood_in_paths(monkeypatch, empty_folder):
    monkeypatch.setenv("HOME", str(empty_folder))
    write("mine.yaml", "memory: {persist_dir: ~/memory}")
    assert Config.load("~/mine.yaml").memory.persist_dir == str(empty_folder / "memory")


def test_paths_may_be_path_objects():
    assert Config.load({"paths": {"ffai_data": Path("a") / "b"}}).paths.ffai_data == str(Path("a/b"))


# variables


@pytest.mark.parametrize("name", ["MEMORY__ENABLED", "memory__enabled", "Memory__Enabled"])
def test_upper_and_lower_case_are_the_same(monkeypatch, name):
    monkeypatch.setenv(name, "true")
    assert Config.load().memory.enabled
    assert origin("memory.enabled").lower() == "environment memory__enabled"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMORY", "512Mi"),
        ("MEMORY", '{"enabled": true}'),
        ("PATHS", "/usr/bin"),
        ("LOGGING", "debug"),
        ("HISTORY", "["),
        ("RETRY", "3"),
        ("CLIENTS", "none"),
        ("MODEL_DEFAULTS", "x"),
        ("ENABLED", "true"),
        ("ENABLED", "maybe"),
        ("PERSIST", "1"),
        ("PERSIST_DIR", "/nowhere"),
        ("LEVEL", "debug"),
        ("EMBEDDING_MODEL", "openai/x"),
        ("MAX_TURNS", "1"),
        ("Logging__LogLevel__Default", "Information"),
        ("PATHS__CACHE", "x"),
        ("OTHER__TOOL", "1"),
        ("MEMORY__ENABLED", ""),
        ("FFAI_CONFIG", " "),
    ],
)
def test_a_variable_of_another_program_changes_nothing(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert Config.load() == Config() == Config.load({})
    assert Config().memory.enabled is False
    assert {setting.origin for setting in explain()} == {"default"}


def test_lists_and_mappings_are_json_in_variables(monkeypatch):
    monkeypatch.setenv("RETRY__RETRY_ON_STATUS_CODES", "[500, 429]")
    monkeypatch.setenv("MEMORY__STORE_CONFIG", '{"url": "x"}')
    monkeypatch.setenv("MEMORY__STORE_CONFIG__SIZE", "4")
    config = Config.load()
    assert config.retry.retry_on_status_codes == (500, 429)
    assert config.memory.store_config == {"url": "x", "size": 4}


def test_null_in_a_variable_takes_a_value_away(monkeypatch):
    monkeypatch.setenv("HISTORY__MAX_TURNS", "null")
    assert Config.load({"history": {"max_turns": 5}}).history.max_turns is None


def test_the_constructor_reads_variables_under_its_keywords(monkeypatch):
    monkeypatch.setenv("HISTORY__MAX_TURNS", "5")
    assert Config().history.max_turns == 5
    assert Config(history={"max_turns": 6}).history.max_turns == 6


# errors name file, key, value and what was expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("memory: {enabeld: true}", "memory.enabeld: is not a setting. Did you mean 'enabled'?"),
        ("history: {zzz: 1}", "history.zzz: is not a setting. Known: max_turns."),
        ("memory: {persist: maybe}", "memory.persist: got 'maybe'; expected true or false"),
        ("memory: {persist: null}", "memory.persist: got None; expected true or false"),
        ("memory: {persist_dir: 5}", "memory.persist_dir: got 5; expected text"),
        ("memory: {store_config: [1]}", "memory.store_config: got [1]; expected a mapping"),
        ("memory: {store_backend: qdrant}", "memory.store_backend: got 'qdrant'; expected 'memory'"),
        ("memory: {durability: disk}", "memory.durability: got 'disk'; expected 'process' or 'power'"),
        ("memory: {1: 2}", "memory.1: got 1; expected text as a name"),
        ("memory: 512Mi", "memory: got '512Mi'; expected a mapping of settings"),
        ("history: {max_turns: many}", "history.max_turns: got 'many'; expected a whole number"),
        ("history: {max_turns: 0}", "history.max_turns: got 0; expected greater than or equal to 1"),
        ("history: {max_turns: true}", "history.max_turns: got True; expected a number, not true or false"),
        ("retry: {min_wait_seconds: -1}", "retry.min_wait_seconds: got -1; expected greater than or equal to 0"),
        ("retry: {max_wait_seconds: .inf}", "retry.max_wait_seconds: got inf; expected a finite number"),
        ("retry: {min_wait_seconds: 90}", "retry: expected min_wait_seconds of at most max_wait_seconds"),
        ("retry: {retry_on_status_codes: 429}", "retry.retry_on_status_codes: got 429; expected a list"),
        ("clients: {client_types: {a: 5}}", "clients.client_types.a: got 5; expected a mapping of settings"),
        (
            "clients: {client_types: {a: {fallback: []}}}",
            "clients.client_types.a.fallback: is not a setting. Did you mean 'fallbacks'?",
        ),
        ("clients: {default_client: b}", "clients: expected a default_client that is in client_types, not 'b'"),
        ("memory: {persist_dir: ''}", "memory.persist_dir: got ''; expected text that is not empty"),
        ("logging: {level: loud}", "logging.level: got 'LOUD'; expected 'DEBUG', 'INFO', 'WARNING'"),
        ("memory:\n  enabled: [1\n", "line 3: is not YAML: expected ',' or ']'"),
        ("a: b: c", "line 1: is not YAML: mapping values are not allowed here"),
        ("when: 2024-13-01", "file: is not YAML: month must be in 1..12"),
        ("- a\n- b", "top level: is a list; expected sections like 'memory:'"),
        ("just text", "top level: is a str; expected sections like 'memory:'"),
    ],
)
def test_what_is_wrong_in_a_named_file_is_an_error(text, said):
    write("mine.yaml", text)
    assert problem("mine.yaml").startswith(f"mine.yaml: {said}")


@pytest.mark.parametrize(
    "name", ["a/b", "a\\b", "..", ".hidden", "", " ", "a\0b", "a:b", "x" * 201, "é" * 101, "\ud83d", "/abs"]
)
def test_the_collection_is_named_by_a_plain_file_name(name):
    assert "expected a plain file name" in problem({"memory": {"collection_name": name}})


def test_a_collection_may_have_a_name_in_any_language():
    assert (
        Config.load({"memory": {"collection_name": "erinnerung für 李"}}).memory.collection_name == "erinnerung für 李"
    )


def test_a_wrong_variable_is_named(monkeypatch):
    monkeypatch.setenv("Memory__Persist", "maybe")
    assert problem().startswith("environment Memory__Persist: memory.persist: got 'maybe'; expected true or false")


def test_an_unknown_variable_of_our_section_is_named(monkeypatch):
    monkeypatch.setenv("MEMORY__ENABELD", "1")
    assert problem() == "environment MEMORY__ENABELD: memory.enabeld: is not a setting. Did you mean 'enabled'?"


def test_a_list_that_is_not_json_is_named(monkeypatch):
    monkeypatch.setenv("RETRY__RETRY_ON_STATUS_CODES", "429,503")
    assert problem().startswith(
        "environment RETRY__RETRY_ON_STATUS_CODES: retry.retry_on_status_codes: got '429,503'; expected a list"
    )


def test_the_file_is_named_that_holds_the_mistake(monkeypatch):
    write("config/main.yaml", "memory: {enabled: true}")
    write("config/logging.yaml", "logging: {lvl: 1}")
    monkeypatch.setenv("MEMORY__PERSIST", "true")
    assert problem().startswith(f"{Path('config/logging.yaml')}: logging.lvl: is not a setting.")


def test_a_long_value_is_cut_in_the_message():
    assert len(problem({"memory": {"persist": "x" * 10_000}})) < 200


def test_a_wrong_keyword_is_an_error():
    with pytest.raises(ConfigError, match=r"^keyword: memory\.persist: got 'x'; expected true or false"):
        Config().with_values(memory={"persist": "x"})
    with pytest.raises(ConfigError, match=r"^keyword: memori: is not a section"):
        Config().with_values(memori={"persist": True})


@pytest.mark.parametrize("source", [5, ["a.yaml"], True, b"x"])
def test_a_source_of_another_type_is_an_error(source):
    with pytest.raises(ArgumentTypeError, match="config is a Config, a mapping or a path"):
        Config.load(source)


def test_a_missing_file_is_an_error_that_says_who_named_it(monkeypatch):
    assert problem("none.yaml") == "config=: none.yaml: there is no such file or folder"
    monkeypatch.setenv("FFAI_CONFIG", "none.yaml")
    assert problem() == "environment FFAI_CONFIG: none.yaml: there is no such file or folder"


def test_a_named_folder_without_our_files_is_an_error(empty_folder):
    Path("empty").mkdir()
    assert "the folder holds none of main.yaml" in problem("empty")


def test_a_file_that_is_not_text_is_an_error():
    Path("mine.yaml").write_bytes(b"memory: \xff\xfe")
    assert problem("mine.yaml") == "mine.yaml: byte 8: is not UTF-8 text"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_error():
    write("mine.yaml", "memory: {}").chmod(0)
    assert "can't be read: Permission denied" in problem("mine.yaml")


# a file that was found may be another program's


@pytest.mark.parametrize("text", ["- hosts: all\n- tasks: []\n", "just text", "42"])
def test_a_found_file_without_sections_is_ignored(text):
    write("config/main.yaml", text)
    assert Config.load() == Config()


@pytest.mark.parametrize("text", ["memory: 512Mi", "memory: 4", "logging: [console]", "memory: true"])
def test_a_found_section_that_is_no_mapping_is_ignored_and_said(text, caplog):
    write("config/main.yaml", f"{text}\nhistory: {{max_turns: 3}}\n")
    assert Config.load().memory == Config().memory
    assert Config.load().history.max_turns == 3
    assert "Ignored" in caplog.text
    assert str(Path("config/main.yaml")) in caplog.text


def test_a_mistake_inside_a_found_section_is_an_error():
    write("config/main.yaml", "memory: {limit: 512Mi}")
    assert problem().startswith(f"{Path('config/main.yaml')}: memory.limit: is not a setting.")


def test_a_found_file_that_is_not_yaml_is_an_error_that_says_the_way_out():
    write("config/main.yaml", "memory: {{ values }}\n  x: [")
    assert "pass config= or set FFAI_CONFIG" in problem()


def test_a_section_name_with_a_typing_mistake_is_said(caplog):
    with caplog.at_level(logging.WARNING, "ffai"):
        Config.load({"memmory": {"enabled": True}})
    assert "Did you mean 'memory'?" in caplog.text


def test_a_folder_above_is_not_looked_at(monkeypatch):
    write("config/main.yaml", "memory: {enabled: true}")
    Path("inner").mkdir()
    monkeypatch.chdir("inner")
    assert not Config.load().memory.enabled


# origins


def test_every_value_tells_where_it_comes_from(monkeypatch):
    write("config/main.yaml", "memory: {enabled: true, persist: true}\nmodel_defaults: {generic: {top_p: 1}}")
    write("config/clients.yaml", "clients: {client_types: {small: {default_model: m}}}")
    monkeypatch.setenv("MEMORY__PERSIST", "false")
    assert Setting("memory.enabled", True, str(Path("config/main.yaml"))) in explain()
    assert Setting("memory.persist", False, "environment MEMORY__PERSIST") in explain()
    assert Setting("memory.persist_dir", "./ffai_data/memory", "default") in explain()
    assert Setting("model_defaults.generic", {"top_p": 1}, str(Path("config/main.yaml"))) in explain()
    assert Setting("clients.client_types.small.default_model", "m", str(Path("config/clients.yaml"))) in explain()
    assert origin("clients.client_types.small.api_base") == "default"
    assert origin("memory.enabled", {"memory": {"enabled": True}}) == "config="


# what is written about it


def test_the_files_of_the_source_code_show_every_setting_with_its_default():
    shown: dict[str, Any] = {}
    for name in FILES:
        shown |= yaml.safe_load((ROOT / "config" / name).read_text("utf-8"))
    assert shown == json.loads(Config().model_dump_json())
    assert Config.load(ROOT / "config") == Config()


def test_the_guide_names_every_setting_with_its_default_and_what_it_does():
    guide = (ROOT / "docs/guides/configuration.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w.]+)` \| (.*?) \| (.*) \|$", guide, re.MULTILINE)
    told = {key: (default.strip("`"), text) for key, default, text in rows if "." in key}
    assert told.keys() == {setting.key for setting in explain({})}
    for setting in explain({}):
        section, name = setting.key.split(".")
        field = type(getattr(Config(), section)).model_fields[name]
        default, text = told[setting.key]
        assert default == (setting.value if isinstance(setting.value, str) else json.dumps(setting.value)), setting.key
        assert text.startswith(field.description or "?"), setting.key
    entry = {key: text for key, _, text in rows if "." not in key}
    assert entry == {name: field.description for name, field in ClientTypeSettings.model_fields.items()}


# clients from settings


def test_retry_waits_by_default_as_the_clients_do():
    policy = {name: getattr(RetryPolicy(), name) for name in Config().retry.model_dump()}
    assert policy == Config().retry.model_dump()


def test_a_client_is_made_from_its_entry_with_its_fallback_retry_and_defaults(openai_server):
    openai_server.script(Answer(status=401), Answer(text="Lisbon."))
    config = Config.load(
        {
            "clients": {
                "default_client": "first",
                "client_types": {
                    "first": {
                        "provider_prefix": "openai",
                        "default_model": "one",
                        "api_base": openai_server.api_base,
                        "api_key_env": "FIRST_KEY",
                        "fallbacks": ["second"],
                    },
                    "second": {
                        "default_model": "openai/two",
                        "api_base": openai_server.api_base,
                        "api_key_env": "KEY_2",
                    },
                },
            },
            "retry": {"max_attempts": 1},
            "model_defaults": {"generic": {"temperature": 0.25}},
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FIRST_KEY", "key-one")
        patch.setenv("KEY_2", "key-two")
        reply = config.client().generate_response("Where?")
    assert reply.text == "Lisbon."
    assert [request.key for request in openai_server.requests] == ["key-one", "key-two"]
    assert [request.body["model"] for request in openai_server.requests] == ["one", "two"]
    assert openai_server.requests[0].body["temperature"] == 0.25


def test_a_client_without_an_entry_is_an_error():
    with pytest.raises(ConfigError, match=r"client_types: has no entry 'big'. Known: \['small'\]"):
        Config.load({"clients": {"client_types": {"small": {"default_model": "m"}}}}).client("big")
    with pytest.raises(ConfigError, match="has no entry None"):
        Config().client()


# through the wrapper


def test_ffai_takes_keyword_over_environment_over_yaml_over_default(monkeypatch, empty_folder):
    write("config/main.yaml", "memory: {enabled: true, persist: true}\npaths: {ffai_data: from_file}")
    monkeypatch.setenv("MEMORY__PERSIST", "false")
    monkeypatch.setenv("HISTORY__MAX_TURNS", "7")
    with FFAI(FakeClient(["hi"]), memory_enabled=False, persist_dir="from_keyword") as ffai:
        assert not ffai.config.memory.enabled
        assert not ffai.config.memory.persist
        assert ffai.config.history.max_turns == 7
        assert ffai.config.paths.ffai_data == "from_keyword"
        assert ffai.config.retry.max_attempts == 3
    assert [path.name for path in empty_folder.iterdir()] == ["config"]


def test_ffai_starts_where_other_programs_have_their_files_and_variables(monkeypatch):
    write("config/main.yaml", "- hosts: all\n")
    for name, value in {"MEMORY": "512Mi", "PATHS": "x", "LOGGING": "debug", "ENABLED": "true", "PERSIST": "1"}.items():
        monkeypatch.setenv(name, value)
    with FFAI(FakeClient(["hi"])) as ffai:
        assert ffai.memory is None
        assert ffai.generate_response("hello").response == "hi"


def test_ffai_names_a_wrong_setting():
    with pytest.raises(ConfigError, match=r"^config=: memory\.store_backend: got 'qdrant'; expected 'memory'$"):
        FFAI(FakeClient(["hi"]), config={"memory": {"store_backend": "qdrant"}})


def test_a_folder_that_can_not_be_written_does_not_matter_while_nothing_is_saved(monkeypatch, empty_folder):
    monkeypatch.setenv("PATHS__FFAI_DATA", str(empty_folder / "a file" / "data"))
    write("a file", "")
    with FFAI(FakeClient(["hi"])) as ffai:
        assert ffai.generate_response("hello").response == "hi"
