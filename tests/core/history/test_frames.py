import multiprocessing
import os
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffai.chat.reply import TokenUsage, ToolCall
from ffai.core.history import HistoryRecorder
from ffai.core.history_manager import HistoryManager
from ffai.errors import InvalidArgumentError, StoreError

FRAMES = ["history_to_dataframe", "clean_history_to_dataframe", "ordered_history_to_dataframe"]
FILES = ["talk_clean_history.parquet", "talk_history.parquet", "talk_ordered.parquet"]


@pytest.fixture
def recorder():
    return HistoryRecorder()


@pytest.fixture
def history(recorder, tmp_path):
    return HistoryManager(recorder, persist_dir=tmp_path / "data", persist_name="talk")


@pytest.fixture
def talk(recorder):
    recorder.record("What is Python?", "A language.", "small", "python", usage=TokenUsage(4, 3, 7), timestamp=0.0)
    recorder.record("As JSON", "<think>hm</think>[1, 2]", "large", "list", ["python"], expects_json=True, timestamp=9e8)
    recorder.record("Thanks", None, "small", status="failed", error="timeout", timestamp=9e8 + 86_400)
    return recorder


@pytest.mark.parametrize("frame", FRAMES)
def test_an_empty_frame_has_the_columns_of_a_full_one(history, recorder, frame):
    empty = getattr(history, frame)()
    recorder.record("Q", "A", "m")
    full = getattr(history, frame)()
    assert empty.is_empty()
    assert full.height == 1
    assert empty.schema == full.schema


def test_each_history_has_its_own_responses(history, talk):
    assert history.history_to_dataframe()["response"].to_list() == ["A language.", "<think>hm</think>[1, 2]", None]
    assert history.clean_history_to_dataframe()["response"].to_list() == ["A language.", "[1, 2]", None]
    assert history.ordered_history_to_dataframe()["response"].to_list() == ["A language.", "[1, 2]", None]
    assert history.ordered_history_to_dataframe()["prompt_name"].to_list() == ["python", "list", "Thanks"]
    assert history.history_to_dataframe()["prompt_name"].to_list() == ["python", "list", None]


def test_times_are_instants_in_utc(history, talk):
    frame = history.history_to_dataframe()
    assert frame.schema["datetime"] == pl.Datetime("us", "UTC")
    assert frame["datetime"][0] == datetime(1970, 1, 1, tzinfo=UTC)


def test_tokens_and_names_are_columns(history, talk):
    row = history.history_to_dataframe().row(0, named=True)
    assert (row["input_tokens"], row["output_tokens"], row["total_tokens"]) == (4, 3, 7)
    assert row["usage"] == '{"input_tokens": 4, "output_tokens": 3, "total_tokens": 7}'
    assert history.history_to_dataframe()["history"].to_list() == [None, ["python"], None]
    assert history.history_to_dataframe()["total_tokens"].to_list() == [7, None, None]


def test_odd_values_are_told_as_text(history, recorder):
    metadata = {"at": datetime(2026, 1, 1), "tags": {"a"}, "path": Path("x"), ("a", 1): "odd key"}
    recorder.record("Q", "A", "m", metadata=metadata, usage={"tokens": 3}, tool_calls=[ToolCall("1", "f", "{}")])
    recorder.record("Q", "A", "m", metadata={"at": datetime(2026, 1, 1), "tags": {"a"}, "path": Path("x")})
    odd, plain = history.history_to_dataframe().iter_rows(named=True)
    assert "odd key" in odd["metadata"]
    assert plain["metadata"] == '{"at": "2026-01-01 00:00:00", "tags": ["a"], "path": "x"}'
    assert odd["usage"] == '{"tokens": 3}'
    assert odd["tool_calls"] == '[{"id": "1", "name": "f", "arguments": "{}"}]'


@settings(deadline=None, max_examples=50)
@given(st.text(), st.text())
def test_any_text_survives_a_frame(prompt, response):
    recorder = HistoryRecorder()
    recorder.record(prompt, response, "m")
    row = HistoryManager(recorder).history_to_dataframe().row(0, named=True)
    assert (row["prompt"], row["response"]) == (prompt, response)


@pytest.mark.parametrize(
    ("text", "stored"),
    [("half \ud83d emoji", "half \ufffd emoji"), ("\ud83d\ude00", "😀"), ("a\x00b", "a\x00b"), ("\u202eא", "\u202eא")],
)
def test_text_that_cannot_be_encoded_is_replaced_in_files_too(history, recorder, tmp_path, text, stored):
    recorder.record(text, text, text, text, [text], metadata={text: text}, error=text)
    assert history.persist_all_histories()
    row = pl.read_parquet(tmp_path / "data" / "talk_history.parquet").row(0, named=True)
    assert [row[column] for column in ("prompt", "response", "model", "prompt_name", "error")] == [stored] * 5
    assert row["history"] == [stored]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, [1, 2, 3]),
        ({"text": "PYTHON"}, [1]),
        ({"text": "language."}, [1]),
        ({"text": "l.ng"}, []),
        ({"prompt_name": "list"}, [2]),
        ({"model": "small"}, [1, 3]),
        ({"model": "small", "text": "thanks"}, [3]),
        ({"start_time": 9e8}, [2, 3]),
        ({"end_time": 9e8}, [1, 2]),
        ({"start_time": 9e8, "end_time": 9e8}, [2]),
    ],
)
def test_history_is_searched_by_all_filters_together(history, talk, filters, found):
    assert history.search_history(**filters)["sequence_number"].to_list() == found


def test_what_was_really_asked_is_searched_too(history, recorder):
    recorder.record("Capital of {{country.response}}?", "Paris", "m", resolved_prompt="Capital of FRANCE?")
    assert history.search_history(text="france").height == 1


def test_statistics_are_frames(history, talk):
    assert history.get_model_stats_df().rows() == [("small", 2), ("large", 1)]
    assert history.get_prompt_name_stats_df().rows() == [("python", 1), ("list", 1), ("Thanks", 1)]
    assert history.get_response_length_stats().rows() == [("list", 23.0, 23, 23, 1), ("python", 11.0, 11, 11, 1)]
    assert history.interaction_counts_by_date().rows() == [
        (date(1970, 1, 1), 1),
        (date(1998, 7, 9), 1),
        (date(1998, 7, 10), 1),
    ]


@pytest.mark.parametrize(
    ("frame", "columns"),
    [
        ("get_model_stats_df", ["model", "count"]),
        ("get_prompt_name_stats_df", ["prompt_name", "count"]),
        ("get_response_length_stats", ["prompt_name", "mean_length", "min_length", "max_length", "count"]),
        ("interaction_counts_by_date", ["date", "len"]),
    ],
)
def test_statistics_of_nothing_keep_their_columns_and_types(history, recorder, frame, columns):
    empty = getattr(history, frame)()
    recorder.record("Q", "A", "m")
    assert empty.columns == columns
    assert empty.schema == getattr(history, frame)().schema


def test_files_are_written_on_request_and_the_folder_only_then(history, talk, tmp_path):
    history.history_to_dataframe()
    assert list(tmp_path.iterdir()) == []
    assert history.persist_all_histories() is True
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == FILES
    assert pl.read_parquet(tmp_path / "data" / FILES[1]).equals(history.history_to_dataframe())


def test_an_empty_history_needs_no_file(history, tmp_path):
    assert history.persist_all_histories() is True
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("frame", "file"), list(zip(FRAMES, ("history", "clean_history", "ordered"), strict=True)))
def test_a_frame_writes_its_file_where_that_is_wanted(recorder, talk, tmp_path, frame, file):
    history = HistoryManager(recorder, persist_dir=tmp_path, persist_name="talk", auto_persist=True)
    getattr(history, frame)()
    assert [path.name for path in tmp_path.iterdir()] == [f"talk_{file}.parquet"]


def test_without_a_name_nothing_is_written_and_it_is_said(recorder, talk, tmp_path, caplog):
    history = HistoryManager(recorder, persist_dir=tmp_path, auto_persist=True)
    assert history.persist_all_histories() is False
    assert "persist_name" in caplog.text
    assert history.history_to_dataframe().height == 3
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told_and_breaks_nothing(recorder, talk, tmp_path, caplog):
    (tmp_path / "file").write_text("not a folder")
    history = HistoryManager(recorder, persist_dir=tmp_path / "file", persist_name="talk", auto_persist=True)
    assert history.persist_all_histories() is False
    assert history.history_to_dataframe().height == 3
    assert "talk_history.parquet" in caplog.text


@pytest.mark.parametrize("name", ["", " ", "a/b", "..\\b", "a\x00b"])
def test_a_name_that_is_no_files_name_is_refused(recorder, name):
    with pytest.raises(InvalidArgumentError, match="persist_name"):
        HistoryManager(recorder, persist_dir=".", persist_name=name)


def _in_child(history):
    with pytest.raises(StoreError, match="fork"):
        history.history_to_dataframe()
    assert history.persist_all_histories() is False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_is_told_instead_of_hanging(history, talk):
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(history,))
    child.start()
    child.join(30)
    hung = child.exitcode is None
    child.kill()
    assert not hung
    assert child.exitcode == 0
