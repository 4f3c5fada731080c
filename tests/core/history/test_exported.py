import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffai import FFAI, Memory
from ffai.core.history import HistoryRecorder
from ffai.core.history_manager import HistoryManager
from ffai.testing import FakeClient, FakeEmbedder

MARKER = "xyzzy-7f3a"
NOTHING = {"history_calls": 0, "permanent_turns": 0, "exported_rows": 0, "export_files_left": 0}


def talking(folder, replies=(), name="talk", **keywords):
    return FFAI(FakeClient(replies), memory=Memory(FakeEmbedder()), persist_dir=folder, persist_name=name, **keywords)


def told(folder):
    """All that the files of a folder say, as it is written and as it is read."""
    said = b""
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
        said += path.name.encode() + path.read_bytes()
        if path.suffix == ".parquet":
            with path.open("rb") as file:
                said += repr(pl.read_parquet(file).to_dicts()).encode()
    return said.decode("latin-1")


def frames(folder):
    return {path.name: pl.read_parquet(path) for path in Path(folder).glob("*.parquet")}


@pytest.fixture
def ffai(tmp_path):
    ffai = talking(tmp_path, [f"It is {MARKER}.", "On the roof."])
    ffai.generate_response(f"What is {MARKER}?", prompt_name="secret")
    ffai.generate_response("And the cat?")
    assert ffai.history.persist_all_histories()
    return ffai


def test_a_forgotten_turn_is_in_no_exported_file(ffai, tmp_path):
    assert MARKER in told(tmp_path)
    before = frames(tmp_path)
    counts = ffai.history.forget([ffai.history.raw[0]["turn_id"]])
    assert counts == {"history_calls": 1, "permanent_turns": 2, "exported_rows": 3, "export_files_left": 0}
    assert MARKER not in told(tmp_path)
    assert "secret" not in told(tmp_path)
    assert frames(tmp_path).keys() == before.keys()
    for name, frame in frames(tmp_path).items():
        assert frame.equals(before[name][1:])
        assert frame.schema == before[name].schema


def test_files_of_earlier_runs_are_reached_whatever_they_were_called(ffai, tmp_path):
    turn_id = ffai.history.raw[0]["turn_id"]
    for other in ("another [run]", None):
        later = talking(tmp_path, name=other)
        later.generate_response("Hello?")
        assert later.history.forget([turn_id]) == {**NOTHING, "exported_rows": 3 if other else 0}
    assert MARKER not in told(tmp_path)
    assert len(ffai.history.raw) == 2  # another conversation's: its own FFAI forgets it


def test_names_with_signs_that_stand_for_others_are_names(tmp_path):
    folder = tmp_path / "[a]=*b?"
    ffai = talking(folder, name="[ab]* {c}")
    ffai.generate_response(MARKER)
    ffai.history.persist_all_histories()
    assert ffai.history.forget([ffai.history.raw[0]["turn_id"]])["exported_rows"] == 3
    assert MARKER not in told(tmp_path)


def test_a_file_without_the_turn_is_not_touched(ffai, tmp_path):
    files = {path: (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) for path in tmp_path.iterdir()}
    assert ffai.history.forget(["somebody-elses"]) == NOTHING
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) for path in files} == files
    assert set(tmp_path.iterdir()) == set(files)


def test_nothing_exported_needs_no_folder(tmp_path):
    ffai = talking(tmp_path / "data")
    ffai.generate_response("Q")
    assert ffai.history.forget([ffai.history.raw[0]["turn_id"]])["exported_rows"] == 0
    assert not (tmp_path / "data").exists()
    recorder = HistoryRecorder()
    assert HistoryManager(recorder).forget(["a"]) == NOTHING


def test_a_folder_that_is_a_file_holds_no_exports(tmp_path):
    (tmp_path / "data").write_text("not a folder")
    assert HistoryManager(HistoryRecorder(), persist_dir=tmp_path / "data").forget(["a"]) == NOTHING


def test_what_others_put_into_a_file_stays(ffai, tmp_path):
    path = tmp_path / "talk_history.parquet"
    frame = pl.read_parquet(path).with_columns(
        stars=pl.Series([1, 5], dtype=pl.UInt8),
        mood=pl.Series(["sad", "glad"], dtype=pl.Categorical),
        price=pl.Series(["1.10", None]).cast(pl.Decimal(10, 2)),
    )
    frame.write_parquet(path, metadata={"owner": "somebody"})
    ffai.history.forget([ffai.history.raw[0]["turn_id"]])
    left = pl.read_parquet(path)
    assert left.schema == frame.schema
    assert left.equals(frame[1:])
    assert pl.read_parquet_metadata(path)["owner"] == "somebody"


def test_other_peoples_files_are_left_alone(ffai, tmp_path):
    pl.DataFrame({"price": [1.0]}).write_parquet(tmp_path / "price_history.parquet")
    (tmp_path / "notes.parquet").write_text(MARKER)
    (tmp_path / ".notes.parquet.1.1.tmp").write_text(MARKER)
    assert ffai.history.forget([ffai.history.raw[0]["turn_id"]])["export_files_left"] == 0
    assert (tmp_path / "notes.parquet").read_text() == (tmp_path / ".notes.parquet.1.1.tmp").read_text() == MARKER


def test_a_file_that_does_not_say_whose_its_rows_are_is_told(ffai, tmp_path, caplog):
    pl.DataFrame({"prompt": [MARKER], "response": ["x"]}).write_parquet(tmp_path / "old_history.parquet")
    (tmp_path / "cut_ordered.parquet").write_bytes(b"PAR1 and no end")
    (tmp_path / "a_folder_history.parquet").mkdir()
    counts = ffai.history.forget([ffai.history.raw[0]["turn_id"]])
    assert (counts["exported_rows"], counts["export_files_left"]) == (3, 3)
    for name in ("old_history.parquet", "cut_ordered.parquet", "a_folder_history.parquet"):
        assert name in caplog.text
    assert "turn_id" in caplog.text


def test_a_file_that_cannot_be_replaced_is_told_and_dropped_from_the_next_time(ffai, tmp_path, caplog):
    path, turn_id = tmp_path / "talk_ordered.parquet", ffai.history.raw[0]["turn_id"]
    in_the_way = tmp_path / f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp"
    in_the_way.mkdir()
    before = path.read_bytes()
    counts = ffai.history.forget([turn_id])
    assert (counts["exported_rows"], counts["export_files_left"]) == (2, 2)
    assert path.name in caplog.text
    assert path.read_bytes() == before
    in_the_way.rmdir()
    assert ffai.history.forget([turn_id]) == {**NOTHING, "exported_rows": 1}
    assert MARKER not in told(tmp_path)


def test_what_a_killed_process_left_of_an_export_is_removed(ffai, tmp_path):
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait()
    for process in (killed.pid, os.getpid()):
        for history in ("history", "clean_history", "ordered"):
            (tmp_path / f".talk_{history}.parquet.{process}.140001.tmp").write_text(MARKER)
    assert ffai.history.forget([ffai.history.raw[0]["turn_id"]])["export_files_left"] == 0
    assert MARKER not in told(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_what_another_process_is_just_writing_is_told(ffai, tmp_path, caplog):
    unfinished = tmp_path / f".talk_history.parquet.{os.getppid()}.140001.tmp"
    unfinished.write_text(MARKER)
    assert ffai.history.forget([ffai.history.raw[0]["turn_id"]])["export_files_left"] == 1
    assert unfinished.exists()
    assert unfinished.name in caplog.text


def test_an_export_that_runs_meanwhile_brings_nothing_back(tmp_path):
    ffai = talking(tmp_path, auto_persist=True)
    stop = threading.Event()

    def export():
        while not stop.is_set():
            ffai.history.history_to_dataframe()
            ffai.history.persist_all_histories()

    threads = [threading.Thread(target=export) for _ in range(2)]
    ffai.generate_response("The first")
    for thread in threads:
        thread.start()
    try:
        for number in range(30):
            ffai.generate_response(f"{MARKER} {number}")
            ffai.history.ordered_history_to_dataframe()
            ffai.history.forget([ffai.history.raw[-1]["turn_id"]])
            assert not any(MARKER in repr(frame.to_dicts()) for frame in frames(tmp_path).values())
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert MARKER not in told(tmp_path)
    assert [frame["prompt"].to_list() for frame in frames(tmp_path).values()] == [["The first"]] * 3


def test_a_file_that_another_writes_meanwhile_is_the_others(tmp_path):
    """Two with files of the same name: what one exports last is there, whatever the other one drops."""
    one, other = talking(tmp_path), talking(tmp_path)
    for number in range(20):
        one.generate_response(f"{MARKER} {number}")
        one.history.persist_all_histories()
        other.generate_response(f"kept {number}")
        turn_id = one.history.raw[-1]["turn_id"]
        threads = [
            threading.Thread(target=one.history.forget, args=([turn_id],)),
            threading.Thread(target=other.history.persist_all_histories),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert MARKER not in told(tmp_path)
        assert all(frame["prompt"].to_list()[-1] == f"kept {number}" for frame in frames(tmp_path).values())


turns = st.lists(
    st.tuples(st.text(max_size=20), st.text(max_size=20), st.sampled_from(["a", None]), st.booleans()), max_size=8
)


@settings(deadline=None, max_examples=40)
@given(turns)
def test_every_other_row_is_as_it_was(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("data")
    recorder = HistoryRecorder(memory=Memory(FakeEmbedder()))
    history = HistoryManager(recorder, persist_dir=folder, persist_name="talk")
    forgotten = set()
    for prompt, reply, name, is_forgotten in made:
        call = recorder.record(prompt, reply, "m", name, usage={"n": 1}, metadata={"k": [prompt]})
        if is_forgotten and call.turn_id is not None:
            forgotten.add(call.turn_id)
    assert history.persist_all_histories()
    before = frames(folder)
    counts = history.forget(forgotten)
    for name, frame in before.items():
        assert frames(folder)[name].equals(frame.filter(~pl.col("turn_id").is_in(forgotten).fill_null(False)))
    assert counts["exported_rows"] == len(before) * len(forgotten)
    if before:
        assert history.history_to_dataframe().equals(frames(folder)["talk_history.parquet"])


def _forget_in_child(ffai, turn_id):
    counts = ffai.history.forget([turn_id])
    assert counts == {"history_calls": 1, "permanent_turns": 2, "exported_rows": 3, "export_files_left": 0}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_forgets_too(ffai, tmp_path):
    turn_id = ffai.history.raw[0]["turn_id"]
    child = multiprocessing.get_context("fork").Process(target=_forget_in_child, args=(ffai, turn_id))
    child.start()
    child.join(60)
    hung = child.exitcode is None
    child.kill()
    assert not hung
    assert child.exitcode == 0
    assert MARKER not in told(tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_forks_at_once_while_a_thread_exports(ffai, caplog):
    stop = threading.Event()

    def export():
        while not stop.is_set():
            ffai.history.persist_all_histories()

    thread = threading.Thread(target=export)
    thread.start()
    try:
        for _ in range(20):
            child = multiprocessing.get_context("fork").Process(target=ffai.generate_response, args=("In the child",))
            child.start()
            child.join(60)
            hung = child.exitcode is None
            child.kill()
            assert not hung
            assert child.exitcode == 0
    finally:
        stop.set()
        thread.join()
    assert "half done" not in caplog.text
