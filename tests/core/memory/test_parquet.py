"""The memory file: what is in it, and which files are refused."""

from __future__ import annotations

import json
import math
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ffai.core.memory import Memory, TurnVectorStore, load_store, persist_store
from ffai.errors import DamagedFileError, SchemaVersionError, StoreFileNotFoundError
from tests.core.memory.conftest import Opener
from tests.doubles.embedders import Letters

DATA = Path(__file__).parents[2] / "data"
COLUMNS = {
    "text": pl.String,
    "embedding": pl.List(pl.Float64),
    "turn": pl.String,
    "metadata": pl.String,
    "_schema_version": pl.Int8,
}


def a_store(count: int = 3) -> TurnVectorStore:
    store = TurnVectorStore()
    for number in range(count):
        store.add(f"t{number}", [0.1, 1 / 3, float(number)], {"role": "user", "n": number}, {"n": number})
    return store


def a_frame(**columns: Any) -> pl.DataFrame:
    """Three rows as a memory file has them; columns given here replace theirs, ``None`` leaves one out."""
    whole: dict[str, Any] = {
        "text": ["a", "b", "c"],
        "embedding": pl.Series([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=pl.List(pl.Float64)),
        "turn": ["{}", '{"role": "user"}', "{}"],
        "metadata": ["{}", "{}", '{"n": 1}'],
        "_schema_version": pl.Series([1, 1, 1], dtype=pl.Int8),
    } | columns
    return pl.DataFrame({name: values for name, values in whole.items() if values is not None})


# Writing


def test_a_file_has_exactly_the_five_columns(tmp_path: Path) -> None:
    persist_store(a_store(), tmp_path / "turns.parquet")
    frame = pl.read_parquet(tmp_path / "turns.parquet")
    assert dict(frame.schema) == COLUMNS
    assert frame["text"].to_list() == ["t0", "t1", "t2"]
    assert frame["embedding"].to_list() == [[0.1, 1 / 3, float(number)] for number in range(3)]
    assert [json.loads(turn) for turn in frame["turn"]] == [{"role": "user", "n": number} for number in range(3)]
    assert [json.loads(data) for data in frame["metadata"]] == [{"n": number} for number in range(3)]
    assert frame["_schema_version"].to_list() == [1, 1, 1]


def test_an_empty_store_makes_a_file_of_no_rows(tmp_path: Path) -> None:
    persist_store(TurnVectorStore(), tmp_path / "turns.parquet")
    frame = pl.read_parquet(tmp_path / "turns.parquet")
    assert (dict(frame.schema), len(frame)) == (COLUMNS, 0)
    assert load_store(tmp_path / "turns.parquet").count() == 0


def test_the_file_of_a_collection_has_those_columns_too(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("a", "b", metadata={"prompt_name": "p"})
    memory.flush()
    memory.index_turn({"role": "user", "content": "plain"})
    memory.flush()
    frame = pl.read_parquet(tmp_path / "ffai_turns.parquet")
    assert dict(frame.schema) == COLUMNS
    assert frame["text"].to_list() == ["a\nb", "plain"]
    assert [json.loads(data) for data in frame["metadata"]] == [{"prompt_name": "p"}, {}]
    assert json.loads(frame["turn"][1]) == {"role": "user", "content": "plain"}


def test_what_a_file_says_of_itself_is_beside_the_rows(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.remember("a", "b")
    memory.flush()
    told = json.loads(pl.read_parquet_metadata(tmp_path / "ffai_turns.parquet")["ffai"])
    assert told["model"] == "fake/hashed-words"
    pl.read_parquet(tmp_path / "ffai_turns.parquet").write_parquet(tmp_path / "plain.parquet")
    assert list(load_store(tmp_path / "plain.parquet").iter_entries()) == list(memory.store.iter_entries())


def test_missing_folders_are_made_and_an_old_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "turns.parquet"
    persist_store(a_store(5), path)
    persist_store(a_store(2), str(path))
    assert load_store(path).count() == 2
    assert [found.name for found in path.parent.iterdir()] == ["turns.parquet"]


def test_a_file_that_can_not_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(OSError, match="file"):
        persist_store(a_store(), tmp_path / "file" / "turns.parquet")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(OSError, match="folder"):
        persist_store(a_store(), tmp_path / "folder.parquet")
    assert {path.name for path in tmp_path.iterdir()} == {"file", "folder.parquet"}


@pytest.mark.parametrize(
    "name",
    [
        *["with space", "ünïcødé-文件", "a[b]*?c", "key=value", "x" * 200, "per%20cent", "dot.dot", "a'b\"c"],
        pytest.param("not UTF-8 \udcff", marks=pytest.mark.skipif(sys.platform != "linux", reason="no such names")),
    ],
)
def test_a_path_is_only_a_path(opened: Opener, tmp_path: Path, name: str) -> None:
    persist_store(a_store(), tmp_path / name / f"{name}.parquet")
    assert list(load_store(tmp_path / name / f"{name}.parquet").iter_entries()) == list(a_store().iter_entries())
    memory = opened(tmp_path / name / "more", name=name)
    memory.remember("a", "b")
    memory.close()
    again = opened(tmp_path / name / "more", name=name)
    assert [entry.text for entry in again.store.iter_entries()] == ["a\nb"]


def test_several_threads_may_write_one_file(tmp_path: Path) -> None:
    path, failures = tmp_path / "turns.parquet", []

    def write(count: int) -> None:
        try:
            for _ in range(5):
                persist_store(a_store(count), path)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(count,)) for count in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert 1 <= load_store(path).count() <= 5
    assert [found.name for found in tmp_path.iterdir()] == ["turns.parquet"]


# Reading


def test_a_missing_file_is_said_as_the_source_document_says_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="Memory persistence file not found") as caught:
        load_store(tmp_path / "none.parquet")
    assert isinstance(caught.value, StoreFileNotFoundError)
    assert "none.parquet" in str(caught.value)


@pytest.mark.parametrize(
    ("versions", "told"),
    [([2, 2, 2], r"\[2\]"), ([1, 2, 3], r"\[2, 3\]"), ([None, 1, 1], r"None"), ([None, 2, 1], r"None")],
)
def test_a_file_of_another_version_is_refused_with_both_versions(
    tmp_path: Path, versions: list[Any], told: str
) -> None:
    a_frame(_schema_version=pl.Series(versions, dtype=pl.Int8)).write_parquet(tmp_path / "turns.parquet")
    with pytest.raises(
        ValueError, match=f"Unsupported memory persistence schema version.*{told}.*version 1 only"
    ) as caught:
        load_store(tmp_path / "turns.parquet")
    assert isinstance(caught.value, SchemaVersionError)


def test_a_file_of_no_rows_has_no_version_to_check(tmp_path: Path) -> None:
    a_frame().clear().write_parquet(tmp_path / "turns.parquet")
    assert load_store(tmp_path / "turns.parquet").count() == 0


@pytest.mark.parametrize("column", ["text", "embedding", "turn", "metadata", "_schema_version"])
def test_a_file_without_a_column_is_refused_by_its_name(tmp_path: Path, column: str) -> None:
    a_frame(**{column: None}).write_parquet(tmp_path / "turns.parquet")
    with pytest.raises(ValueError, match=f"missing '{column}'") as caught:
        load_store(tmp_path / "turns.parquet")
    assert isinstance(caught.value, DamagedFileError)


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", b"garbage" * 100, b"PAR1" + bytes(200) + b"PAR1"],
    ids=["empty", "head", "garbage", "hollow"],
)
def test_what_is_no_parquet_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "turns.parquet").write_bytes(content)
    with pytest.raises(DamagedFileError, match="turns"):
        load_store(tmp_path / "turns.parquet")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_file_is_refused(tmp_path: Path, part: float) -> None:
    persist_store(a_store(100), tmp_path / "turns.parquet")
    whole = (tmp_path / "turns.parquet").read_bytes()
    (tmp_path / "turns.parquet").write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(DamagedFileError):
        load_store(tmp_path / "turns.parquet")


@pytest.mark.parametrize(
    "columns",
    [
        {"embedding": ["x", "y", "z"]},
        {"embedding": [1.0, 2.0, 3.0]},
        {"embedding": pl.Series([["x"], ["y"], ["z"]])},
        {"text": [1, 2, 3]},
        {"text": [b"a", b"b", b"\xff"]},
        {"turn": ["{}", "not json", "{}"]},
        {"turn": ["{}", "[]", "{}"]},
        {"turn": [{"role": "user"}, {"role": "user"}, {"role": "user"}]},
        {"metadata": ["{}", "{", "{}"]},
        {"metadata": ["{}", "5", "{}"]},
        {"metadata": [1, 2, 3]},
    ],
)
def test_columns_that_hold_something_else_are_refused(opened: Opener, tmp_path: Path, columns: dict[str, Any]) -> None:
    path = tmp_path / "ffai_turns.parquet"
    a_frame(**columns).write_parquet(path)
    with pytest.raises(DamagedFileError, match="ffai_turns"):
        load_store(path)
    memory = opened(tmp_path)
    assert memory.count() == 0
    memory.remember("a", "b")
    memory.flush()
    assert [entry.text for entry in memory.store.iter_entries()] == ["a\nb"]


@pytest.mark.parametrize(
    "embedding",
    [
        pl.Series([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=pl.List(pl.Float32)),
        pl.Series([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=pl.Array(pl.Float64, 2)),
        pl.Series([[1, 0], [0, 1], [1, 1]], dtype=pl.List(pl.Int64)),
    ],
)
def test_vectors_of_another_kind_of_number_are_read(tmp_path: Path, embedding: pl.Series) -> None:
    a_frame(embedding=embedding).write_parquet(tmp_path / "turns.parquet")
    store = load_store(tmp_path / "turns.parquet")
    assert [entry.embedding for entry in store.iter_entries()] == [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


def test_more_columns_in_any_order_do_no_harm(tmp_path: Path) -> None:
    frame = a_frame(another=[1, 2, 3])
    frame.select(reversed(frame.columns)).write_parquet(tmp_path / "turns.parquet")
    assert [entry.text for entry in load_store(tmp_path / "turns.parquet").iter_entries()] == ["a", "b", "c"]


def test_a_missing_text_or_dict_is_an_empty_one(tmp_path: Path) -> None:
    a_frame(text=["a", None, "c"], turn=[None, "{}", "{}"], metadata=["{}", None, "{}"]).write_parquet(
        tmp_path / "t.parquet"
    )
    assert [(e.text, e.turn, e.metadata) for e in load_store(tmp_path / "t.parquet").iter_entries()] == [
        ("a", {}, {}),
        ("", {}, {}),
        ("c", {}, {}),
    ]


@pytest.mark.parametrize("bad", [[0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], [1.0], [1.0, 2.0, 3.0], [], None])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_bad_vector_costs_no_other_turn_its_own(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, bad: Any, place: int
) -> None:
    vectors: list[Any] = [[1.0, 0.0]] * 3
    vectors[place] = bad
    a_frame(embedding=pl.Series(vectors, dtype=pl.List(pl.Float64))).write_parquet(tmp_path / "turns.parquet")
    store = load_store(tmp_path / "turns.parquet")
    scores = {hit.turn_index: hit.score for hit in store.search([1.0, 0.0])}
    assert scores == {row: 0.0 if row == place else 1.0 for row in range(3)}
    assert len(caplog.records) == (bad != [0.0, 0.0]), "a vector that is lost is said, once"


def test_vectors_are_found_among_many_turns_that_have_none(tmp_path: Path) -> None:
    vectors = pl.Series([None, [1.0, 0.0], []], dtype=pl.List(pl.Float64))
    a_frame(embedding=vectors).write_parquet(tmp_path / "turns.parquet")
    assert load_store(tmp_path / "turns.parquet").search([1.0, 0.0])[0].text == "b"
    a_frame(embedding=pl.Series([None] * 3, dtype=pl.List(pl.Float64))).write_parquet(tmp_path / "turns.parquet")
    assert load_store(tmp_path / "turns.parquet").count() == 3


# The other library's files


def the_old_file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "ffai-0.1.8.json").read_text("utf-8"))
    return found


def test_a_file_of_ffai_0_1_8_has_equal_texts_vectors_turns_and_metadata() -> None:
    found = [list(entry) for entry in load_store(DATA / "ffai-0.1.8.parquet").iter_entries()]
    assert repr(found) == repr(the_old_file()["entries"]), "by repr, for NaN equals nothing"


def test_a_file_of_ffai_0_1_8_gives_equal_scores_in_equal_order() -> None:
    store = load_store(DATA / "ffai-0.1.8.parquet")
    for query, right in the_old_file()["searches"].items():
        hits = store.search(Letters().embed([query])[0], top_k=20)
        assert [hit.turn_index for hit in hits] == [place for place, _ in right]
        assert [hit.score for hit in hits] == pytest.approx([score for _, score in right], abs=1e-12)


def test_a_collection_goes_on_with_a_file_of_ffai_0_1_8(opened: Opener, tmp_path: Path) -> None:
    old = [list(entry) for entry in load_store(DATA / "ffai-0.1.8.parquet").iter_entries()]
    (tmp_path / "ffai_turns.parquet").write_bytes((DATA / "ffai-0.1.8.parquet").read_bytes())
    for number in range(3):
        memory = opened(tmp_path, Letters())
        assert memory.count() == len(old) + number
        memory.remember(f"a bad cab {number}", "yes")
        memory.close()
    frame = pl.read_parquet(tmp_path / "ffai_turns.parquet")
    assert (dict(frame.schema), len(frame)) == (COLUMNS, len(old) + 3)
    new = [list(entry) for entry in load_store(tmp_path / "ffai_turns.parquet").iter_entries()]
    assert repr(new[: len(old)]) == repr(old)


def test_a_file_rewritten_by_ffai_0_1_8_loses_nothing(opened: Opener, tmp_path: Path) -> None:
    """It writes the same rows without what our file says of itself, beside our journal and our backup."""
    path = tmp_path / "ffai_turns.parquet"
    for number in range(3):
        memory = opened(tmp_path, Letters())
        memory.remember(f"ours {number}", "abc")
        memory.close()
        theirs = load_store(path)
        theirs.add(f"theirs {number}", [1.0] * 8, {"role": "user"}, {})
        persist_store(theirs, path)
        pl.read_parquet(path).write_parquet(path)
    again = opened(tmp_path, Letters())
    assert sorted(entry.text for entry in again.store.iter_entries()) == [
        *(f"ours {number}\nabc" for number in range(3)),
        *(f"theirs {number}" for number in range(3)),
    ]


def test_an_ids_turn_is_the_same_before_and_after_a_file(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, Letters())
    memory.remember("a", "b")
    memory.index_turn({"role": "user", "content": "cab"}, {"z": 1, "a": 2})
    before = [hit.turn_id for hit in memory.search("abc")]
    memory.close()
    again = opened(tmp_path, Letters())
    assert [hit.turn_id for hit in again.search("abc")] == before
    assert isinstance(Memory(Letters(), load_store(tmp_path / "ffai_turns.parquet")).search("abc")[0].turn_id, str)
