"""Turns taken out as lines of JSON, and brought in again: each once, whatever else is in the file."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ffai import MemoryScope
from ffai.core.embeddings.protocol import AbsentEmbedder
from ffai.core.memory import ImportResult, Memory, TurnVectorStore
from ffai.errors import ClosedError, InvalidArgumentError, StoreError
from ffai.testing import FakeEmbedder
from tests.core.memory.conftest import Opener
from tests.doubles.embedders import Letters, Table

ROOT = Path(__file__).parents[3]
LONG = "word " * 200 + "zebra " * 60


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def written(path: Path, *lines: Any) -> Path:
    """A file with these lines: bytes as they are, anything else as JSON."""
    path.write_bytes(
        b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    )
    return path


def entries(memory: Memory) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    return [(entry.text, entry.turn, entry.metadata) for entry in memory.store.iter_entries()]


def result(added: int = 0, known: int = 0, expired: int = 0, waiting: int = 0) -> ImportResult:
    return ImportResult(added=added, known=known, expired=expired, waiting=waiting)


def filled(memory: Memory) -> list[str]:
    """Give a memory three turns of different kinds; returns their ids."""
    ids = [
        memory.remember("Where is the key?", "Under the mat.", timestamp=30.25, metadata={"prompt_name": "key"}),
        memory.remember("Пример 🎉", "line\r\nline\u2028\0", timestamp=10, scope=MemoryScope.user("u1")),
        memory.remember("Only asked", "", timestamp=20.5, metadata={"a": [1, None, {"b": 0.1}], "": ""}),
    ]
    memory.flush()
    return ids


# The round trip


@pytest.mark.parametrize("vectors", [False, True])
def test_what_is_exported_comes_back_the_same_and_only_once(opened: Opener, tmp_path: Path, vectors: bool) -> None:
    memory, other = opened(tmp_path / "a"), opened(tmp_path / "b")
    ids = filled(memory)
    file = tmp_path / "turns.jsonl"
    assert memory.export_jsonl(file, vectors=vectors) == 3
    assert other.import_jsonl(file) == result(added=3, waiting=0 if vectors else 3)
    other.flush()
    first, second, third = entries(memory)
    assert entries(other) == [second, third, first]  # oldest first
    assert {hit.turn_id for hit in other.search("key")} == set(ids)
    assert [hit.prompt for hit in other.search("where is the key", top_k=1)] == ["Where is the key?"]
    assert other.import_jsonl(file) == memory.import_jsonl(file) == result(known=3)
    other.export_jsonl(again := tmp_path / "again.jsonl", vectors=vectors)
    assert again.read_bytes() == file.read_bytes()


def test_a_second_import_adds_nothing_after_the_memory_was_opened_anew(opened: Opener, tmp_path: Path) -> None:
    filled(memory := opened())
    memory.export_jsonl(file := tmp_path / "turns.jsonl")
    first = opened(tmp_path)
    first.import_jsonl(file)
    first.close()
    assert opened(tmp_path).import_jsonl(file) == result(known=3)


def test_a_line_is_an_object_with_what_belongs_to_a_turn(opened: Opener, tmp_path: Path) -> None:
    memory = opened(embedder=Letters())
    turn_id = memory.remember("a", "b", timestamp=5.0, metadata={"k": "v"})
    memory.flush()
    memory.export_jsonl(file := tmp_path / "new" / "turns.jsonl")
    (line,) = records(file)
    assert list(line) == ["turn_id", "text", "turn", "metadata"]
    assert (line["turn_id"], line["text"], line["metadata"]) == (turn_id, "a\nb", {"k": "v"})
    assert (line["turn"]["timestamp"], line["turn"]["metadata"]["ffai"]["turn_id"]) == (5.0, turn_id)
    memory.export_jsonl(file, vectors=True)
    (line,) = records(file)
    assert list(line) == ["turn_id", "text", "turn", "metadata", "model", "embedding"]
    assert line["embedding"] == Letters().embed(["a\nb"])[0]
    assert line["model"].endswith("Letters")


def test_nothing_is_an_empty_file(opened: Opener, tmp_path: Path) -> None:
    assert opened().export_jsonl(tmp_path / "turns.jsonl") == 0
    assert (tmp_path / "turns.jsonl").read_bytes() == b""
    assert opened().import_jsonl(tmp_path / "turns.jsonl") == result()


def test_turns_without_a_time_stay_with_their_neighbours(opened: Opener, tmp_path: Path) -> None:
    memory = opened()
    times: list[tuple[str, Any]] = [("b", 5), ("c", None), ("d", float("nan")), ("e", True), ("a", 1), ("z", 10**400)]
    for text, said in times:
        memory.index_turn_text(text, {"timestamp": said})
    memory.export_jsonl(tmp_path / "turns.jsonl")
    assert [line["text"] for line in records(tmp_path / "turns.jsonl")] == ["a", "z", "b", "c", "d", "e"]


async def test_both_can_be_awaited(opened: Opener, tmp_path: Path) -> None:
    filled(memory := opened())
    assert await memory.aexport_jsonl(tmp_path / "turns.jsonl", vectors=True) == 3
    assert await opened().aimport_jsonl(tmp_path / "turns.jsonl") == result(added=3)


class Thirds:
    """Makes vectors that single precision can't hold, and none of zeros."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[1 / 3, *(text.count(letter) / 3 for letter in "abc")] for text in texts]


any_text = st.text(st.characters(), max_size=30)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
times = st.floats(-6e10, 2.5e11) | st.integers(-(10**10), 10**11)
told = st.tuples(any_text, any_text, times, st.dictionaries(any_text, json_values, max_size=3))


@settings(deadline=None, max_examples=15, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(told, max_size=5), st.lists(any_text, max_size=3), st.booleans())
def test_any_turns_come_back_exactly(
    remembered: list[tuple[str, str, float, dict[str, Any]]], indexed: list[str], vectors: bool
) -> None:
    memory, other = Memory(Thirds()), Memory(Thirds())
    for prompt, response, said_at, metadata in remembered:
        memory.remember(prompt, response, timestamp=said_at, metadata=metadata)
    for text in indexed:  # turns without an id of their own, some of them equal
        memory.index_turn_text(text, {"role": "user"}, {})
    memory.flush()
    with tempfile.TemporaryDirectory() as folder:
        file, again = Path(folder, "turns.jsonl"), Path(folder, "again.jsonl")
        count = memory.export_jsonl(file, vectors=vectors)
        assert count == len(remembered) + len(indexed)
        assert other.import_jsonl(file).added == count
        assert other.import_jsonl(file) == memory.import_jsonl(file) == result(known=count)
        other.flush()
        assert other.export_jsonl(again, vectors=vectors) == count
        assert again.read_bytes() == file.read_bytes()
    assert sorted(map(repr, entries(other))) == sorted(map(repr, entries(memory)))
    memory.close()
    other.close()


# Vectors


def test_vectors_of_this_model_spare_the_embedding(opened: Opener, tmp_path: Path) -> None:
    embedder = FakeEmbedder(max_words=50)
    memory = opened(embedder=embedder)
    filled(memory)
    memory.remember(LONG, "")  # has vectors of its parts too
    memory.flush()
    memory.export_jsonl(file := tmp_path / "turns.jsonl", vectors=True)
    other = opened(tmp_path / "b", embedder=(other_embedder := FakeEmbedder(max_words=50)))
    assert other.import_jsonl(file) == result(added=4)
    assert other.count() == 4
    assert other_embedder.calls == []
    for query in ("key", "zebra"):
        assert [(hit.turn_id, hit.score) for hit in other.search(query, top_k=2)] == [
            (hit.turn_id, hit.score) for hit in memory.search(query, top_k=2)
        ]
    other.close()
    reopened = opened(tmp_path / "b", embedder=FakeEmbedder(max_words=50))
    assert reopened.search("zebra", top_k=1)[0].score > 0.9


def test_the_numbers_of_vectors_are_exact(opened: Opener, tmp_path: Path) -> None:
    numbers = [0.1, 1 / 3, -0.0, 5e-324, 1.7976931348623157e308, 1e16 + 2]
    memory = opened(embedder=Table({}, model="m"))
    memory.store.add("a", numbers, {})
    memory.export_jsonl(tmp_path / "turns.jsonl", vectors=True)
    other = opened(embedder=Table({}, model="m"))
    other.import_jsonl(tmp_path / "turns.jsonl")
    found = next(other.store.iter_entries()).embedding
    assert np.array(found).tobytes() == np.array(numbers).tobytes()


@pytest.mark.parametrize("other", [FakeEmbedder(model="fake/other"), FakeEmbedder(32)], ids=["name", "size"])
def test_vectors_of_another_model_are_made_anew(opened: Opener, tmp_path: Path, other: FakeEmbedder) -> None:
    filled(memory := opened())
    memory.export_jsonl(file := tmp_path / "turns.jsonl", vectors=True)
    memory = opened(embedder=other)
    assert memory.import_jsonl(file) == result(added=3, waiting=3)
    assert memory.flush().indexed == 3
    assert sum(map(len, other.calls)) == 3


def test_vectors_whose_size_turns_out_to_be_wrong_are_made_anew(opened: Opener, tmp_path: Path) -> None:
    text = {"text": "a", "turn": {}, "model": "m"}
    file = written(tmp_path / "turns.jsonl", text | {"embedding": [1, 0, 0]}, text | {"embedding": [1, 0], "text": "b"})
    memory = opened(embedder=Table({"a": [1.0, 2.0], "b": [1.0, 0.0]}, model="m"))  # it does not tell its size
    assert memory.import_jsonl(file) == result(added=2, waiting=1)
    memory.flush()
    assert {hit.text for hit in memory.search("a")} == {"a", "b"}


def test_a_vector_of_zeros_is_made_anew(opened: Opener, tmp_path: Path) -> None:
    memory = opened(embedder=Table({"a": [1.0, 2.0]}, model="m"))
    line = {"text": "a", "turn": {}, "model": "m", "embedding": [0, 0]}
    assert memory.import_jsonl(written(tmp_path / "turns.jsonl", line)) == result(added=1, waiting=1)
    assert memory.flush().indexed == 1


# Turns that are not embedded


def test_turns_that_wait_and_turns_that_failed_are_exported_too(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path, FakeEmbedder(fail=lambda text: ValueError("no") if "bad" in text else None))
    memory.remember("good", "", timestamp=2.0)
    memory.remember("bad", "", timestamp=1.0)
    memory.flush()
    memory.embeddings.gate.clear()
    memory.remember("waiting", "", timestamp=3.0)
    file = tmp_path / "turns.jsonl"
    assert memory.export_jsonl(file, vectors=True) == 3
    lines = records(file)
    assert [(line["text"], "embedding" in line) for line in lines] == [
        ("bad", False),
        ("good", True),
        ("waiting", False),
    ]
    assert memory.import_jsonl(file) == result(known=3)
    assert opened().import_jsonl(file) == result(added=3, waiting=2)


def test_turns_are_taken_in_without_an_embedder(opened: Opener, tmp_path: Path) -> None:
    filled(memory := opened())
    memory.export_jsonl(plain := tmp_path / "plain.jsonl")
    memory.export_jsonl(whole := tmp_path / "whole.jsonl", vectors=True)
    absent = AbsentEmbedder(FakeEmbedder().model, "no network")
    waiting = opened(tmp_path / "a", absent)
    assert waiting.import_jsonl(plain) == result(added=3, waiting=3)
    assert waiting.import_jsonl(whole) == result(known=3)
    assert waiting.export_jsonl(tmp_path / "again.jsonl") == 3
    waiting.close()
    assert opened(tmp_path / "a").flush().indexed == 3
    embedded = opened(tmp_path / "b", absent)
    assert embedded.import_jsonl(whole) == result(added=3)
    embedded.close()
    assert {hit.prompt for hit in opened(tmp_path / "b").search("key")} > {"Where is the key?"}


@pytest.mark.parametrize("vectors", [False, True])
def test_turns_are_durable_when_the_import_returns(opened: Opener, tmp_path: Path, vectors: bool) -> None:
    filled(memory := opened())
    memory.export_jsonl(tmp_path / "turns.jsonl", vectors=vectors)
    program = (
        "import os, sys; from ffai import Memory; from ffai.testing import FakeEmbedder\n"
        "embedder = FakeEmbedder(); embedder.gate.clear()\n"
        "memory = Memory(embedder); memory.persist_to(sys.argv[1])\n"
        "memory.import_jsonl(sys.argv[1] + '/turns.jsonl'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, check=True, timeout=60)
    after = opened(tmp_path)
    assert after.flush().indexed == 3
    assert after.import_jsonl(tmp_path / "turns.jsonl") == result(known=3)


# Ids


def test_equal_turns_without_an_id_are_as_many_as_they_were(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path / "a")
    for text in ("again", "again", "other"):
        memory.index_turn_text(text, {"role": "user"})
    memory.export_jsonl(file := tmp_path / "turns.jsonl")
    assert memory.import_jsonl(file) == result(known=3)
    other = opened(tmp_path / "b")
    other.index_turn_text("again", {"role": "user"})
    assert other.import_jsonl(file) == result(added=2, known=1, waiting=2)
    other.close()
    other = opened(tmp_path / "b")
    assert other.import_jsonl(file) == result(known=3)
    assert sorted(entry.text for entry in other.store.iter_entries()) == ["again", "again", "other"]


def test_an_id_that_only_the_line_tells_is_kept(opened: Opener, tmp_path: Path) -> None:
    file = written(tmp_path / "turns.jsonl", {"turn_id": "mine", "text": "a", "turn": {"metadata": {"k": 1}}})
    memory = opened(tmp_path)
    assert memory.import_jsonl(file).added == 1
    memory.close()
    memory = opened(tmp_path)
    (hit,) = memory.search("a")
    assert (hit.turn_id, hit.turn["metadata"]["k"]) == ("mine", 1)
    assert memory.import_jsonl(file) == result(known=1)


def test_turns_that_hold_numbers_which_json_lacks_are_known_too(opened: Opener, tmp_path: Path) -> None:
    store = TurnVectorStore()
    store.add("a", [1.0, 0.0], {"role": "user", "metadata": None}, {"x": float("nan")})
    memory = opened(store=store)
    memory.export_jsonl(file := tmp_path / "turns.jsonl")
    assert memory.import_jsonl(file) == result(known=1)


def test_two_files_together_are_as_one_after_the_other(opened: Opener, tmp_path: Path) -> None:
    memory = opened()
    filled(memory)
    memory.export_jsonl(first := tmp_path / "1.jsonl")
    memory.remember("a fourth", "")
    memory.export_jsonl(second := tmp_path / "2.jsonl")
    (both := tmp_path / "both.jsonl").write_bytes(first.read_bytes() + second.read_bytes())
    assert opened().import_jsonl(both) == result(added=4, known=3, waiting=4)


def test_two_who_import_the_same_file_at_once_add_each_turn_once(opened: Opener, tmp_path: Path) -> None:
    lines = [{"prompt": f"question {number % 900}", "response": "yes"} for number in range(1000)]
    file = written(tmp_path / "turns.jsonl", *lines)
    memories = [opened(tmp_path / "a"), opened(tmp_path / "a")]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda memory: memory.import_jsonl(file), memories))
    assert sum(one.added for one in results) == 900
    assert sum(one.known for one in results) == 1100
    assert memories[0].flush(60).indexed == 900


# Turns from elsewhere


def test_questions_and_answers_from_elsewhere_become_turns(opened: Opener, tmp_path: Path) -> None:
    line = {"prompt": "Where is the key?", "response": "Under the mat."}
    first, second = ({"actor_id": name, "actor_type": "user"} for name in ("u1", "u2"))
    file = written(
        tmp_path / "turns.jsonl",
        line,
        line | {"timestamp": 5, "metadata": {"from": "elsewhere"}, "scope": first | {"actor_name": None}},
        line | {"timestamp": "2026-05-01T12:00:00Z"},
        line | {"scope": second | {"participant_ids": ["u1", "u2"]}, "timestamp": "2026-05-01T12:00:00"},
        line,
        line | {"metadata": None, "scope": {}, "timestamp": None},
    )
    memory = opened(tmp_path)
    before = time.time()
    assert memory.import_jsonl(file) == result(added=4, known=2, waiting=4)
    memory.flush()
    hits = sorted(memory.search("key", top_k=9), key=lambda hit: hit.turn["timestamp"])
    assert [hit.turn["timestamp"] for hit in hits[:3]] == [5.0, 1777636800.0, 1777636800.0]
    assert before <= hits[3].turn["timestamp"] <= time.time()
    assert {(hit.prompt, hit.response) for hit in hits} == {("Where is the key?", "Under the mat.")}
    assert hits[0].metadata == {"from": "elsewhere"}
    assert [hit.scope.actor_id for hit in hits] == ["u1", None, "u2", None]
    assert hits[2].scope == MemoryScope(**second, source_type="api")  # participants are not stored
    memory.close()
    memory = opened(tmp_path)
    assert memory.import_jsonl(file) == result(known=6)
    memory.export_jsonl(tmp_path / "ours.jsonl")
    assert memory.import_jsonl(tmp_path / "ours.jsonl") == result(known=4)


# What has expired


def test_a_turn_that_has_expired_is_not_taken_in(opened: Opener, tmp_path: Path) -> None:
    def line(text: str, expires_at: Any) -> dict[str, Any]:
        return {"text": text, "turn": {"metadata": {"ffai": {"turn_id": text, "expires_at": expires_at}}}}

    later = time.time() + 1000
    file = written(
        tmp_path / "turns.jsonl", line("past", 1.5), line("later", later), line("never", None), line("odd", "soon")
    )
    memory = opened()
    assert memory.import_jsonl(file) == result(added=3, expired=1, waiting=3)
    memory.flush()
    found = {hit.text: hit.turn["metadata"]["ffai"]["expires_at"] for hit in memory.search("later")}
    assert found == {"later": later, "never": None, "odd": "soon"}
    memory.export_jsonl(again := tmp_path / "again.jsonl")
    assert {line["turn_id"] for line in records(again)} == {"later", "never", "odd"}


# Odd files


def test_bom_blank_lines_and_other_ends_of_lines_are_no_matter(opened: Opener, tmp_path: Path) -> None:
    line = '{"prompt": "%s", "response": "b"}'
    lines = [
        "",
        "\ufeff" + line % "one",
        "  \t",
        line % "two\\u0000\\ud83d\\ud83d\\ude00",
        "\ufeff " + line % "ü\u2028\u0085",
    ]
    (file := tmp_path / "turns.jsonl").write_bytes("\r\n".join(lines).encode())
    memory = opened(tmp_path)
    assert memory.import_jsonl(file).added == 3
    memory.close()
    found = {entry.text for entry in opened(tmp_path).store.iter_entries()}
    assert found == {"one\nb", "two\0\ufffd😀\nb", "ü\u2028\u0085\nb"}


def test_halves_of_a_character_are_replaced_wherever_they_are(opened: Opener, tmp_path: Path) -> None:
    content = rb'{"turn_id": "\ud83d", "text": "\ud83d", "turn": {"\udc00": "\ud83d"}, "metadata": {"a": ["\udc00"]}}'
    file = written(tmp_path / "turns.jsonl", content)
    memory = opened(tmp_path)
    memory.import_jsonl(file)
    memory.close()
    memory = opened(tmp_path)
    (hit,) = memory.search("a")
    assert (hit.turn_id, hit.text, hit.turn["\ufffd"], hit.metadata) == (
        "\ufffd",
        "\ufffd",
        "\ufffd",
        {"a": ["\ufffd"]},
    )
    assert memory.import_jsonl(file) == result(known=1)


def test_a_huge_line_is_a_turn_like_any_other(opened: Opener, tmp_path: Path) -> None:
    text = "x" * 3_000_000
    file = written(tmp_path / "turns.jsonl", b" " * 100_000, {"prompt": text, "response": ""})
    memory = opened(tmp_path, AbsentEmbedder("m", "none"))
    assert memory.import_jsonl(file).added == 1
    assert memory.export_jsonl(tmp_path / "out.jsonl") == 1
    assert records(tmp_path / "out.jsonl")[0]["text"] == text


OURS = {"text": "a", "turn": {}}
OTHER = {"prompt": "a", "response": "b"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"prompt": "a", "resp', "not JSON"),
        (b'{"prompt": "a", "response": "b"} {}', "Extra data"),
        (b'{"prompt": "\xff", "response": "b"}', "not UTF-8"),
        ('{"prompt": "a"}'.encode("utf-16"), "in UTF-8"),
        (b'[{"prompt": "a", "response": "b"}]', "one JSON object"),
        (b"[" + b'{"prompt": "a", "response": "b"},' * 4000 + b"{}]", "one JSON object"),
        (b'"text"', "one JSON object"),
        (b'{"text": "a", "turn": {"x": NaN}}', "NaN is no number of JSON"),
        (b'{"prompt": "a", "response": "b", "metadata": {"x": -Infinity}}', "-Infinity is no number"),
        (b'{"text": "a", "turn": {"x": 1e999}}', "turn can't be stored"),
        (b'{"prompt": "a", "response": "b", "metadata": {"x": 1e999}}', "metadata can't be stored"),
        (b'{"text": "a", "turn": ' + b'{"a":' * 100_000 + b"}" * 100_001, "nested too deeply"),
        (b'{"text": "a", "turn": {"x": ' + b"9" * 5000 + b"}}", "digits"),
        ({}, "neither 'text' and 'turn' nor 'prompt' and 'response'"),
        ({"text": "a"}, "turn must be a dict"),
        ({"text": 5, "turn": {}}, "text must be text"),
        ({"text": "a", "turn": []}, "turn must be a dict"),
        (OURS | {"metadata": "m"}, "metadata must be a dict"),
        (OURS | {"turn_id": 5}, "turn_id must be text"),
        (OURS | {"turn_id": " "}, "turn_id is blank"),
        (OURS | {"turn_id": "b", "turn": {"metadata": {"ffai": {"turn_id": "a"}}}}, "'b', and its turn says 'a'"),
        (OURS | {"model": 5}, "model must be text"),
        (OURS | {"embedding": "no"}, "embedding must be a list of numbers"),
        (OURS | {"embedding": [1, "2"]}, "embedding can't be used"),
        (OURS | {"embedding": [1, None]}, "embedding can't be used"),
        (OURS | {"embedding": []}, "embedding can't be used"),
        (b'{"text": "a", "turn": {}, "embedding": [1e999]}', "embedding can't be used"),
        (OURS | {"embedding": [1, 2], "parts": {}}, "parts must be a list"),
        (OURS | {"embedding": [1, 2], "parts": [[1, 2], [3]]}, "parts[1] has 1 numbers, embedding has 2"),
        (OURS | {"metdata": {}}, "it has 'metdata'"),
        (OTHER | {"user": "u1"}, "it has 'user'"),
        ({"prompt": "a"}, "response must be text"),
        ({"prompt": None, "response": "b"}, "prompt must be text"),
        (OTHER | {"timestamp": "yesterday"}, "timestamp can't be read"),
        (OTHER | {"timestamp": True}, "timestamp must be a number"),
        (OTHER | {"timestamp": 1777636800000}, "timestamp must be seconds"),
        (OTHER | {"timestamp": 10**400}, "timestamp can't be read"),
        (OTHER | {"metadata": []}, "metadata must be a dict"),
        (OTHER | {"scope": "u1"}, "scope must be a dict"),
        (OTHER | {"scope": {"user": "u1"}}, "no field 'user'"),
        (OTHER | {"scope": {"actor_id": 5}}, "actor_id must be text"),
        (OTHER | {"scope": {"participant_ids": "u1"}}, "participant_ids must be a list of ids"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_and_nothing_is_taken_in(
    opened: Opener, tmp_path: Path, line: Any, told: str
) -> None:
    good = [{"prompt": f"good {number}", "response": ""} for number in range(300)]
    file = written(tmp_path / "turns.jsonl", *good, line, OTHER)
    memory = opened(tmp_path)
    with pytest.raises(InvalidArgumentError) as caught:
        memory.import_jsonl(file)
    message = str(caught.value)
    assert message.startswith(f"{str(file)!r}, line 301: ")
    assert told in message
    assert len(message) < len(str(file)) + 400
    assert memory.flush() == opened().flush()


# Files that can't be written or read


def test_the_exported_file_is_replaced_whole_or_not_at_all(opened: Opener, tmp_path: Path) -> None:
    memory = opened()
    memory.remember("first", "")
    memory.export_jsonl(file := tmp_path / "turns.jsonl")
    before = file.read_bytes()
    memory.remember("x" * 100_000, "")
    memory.flush()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))  # a disk with no more room
    try:
        with pytest.raises(OSError, match="large"):
            memory.export_jsonl(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["turns.jsonl"]
    assert memory.export_jsonl(file) == 2


def test_an_import_that_the_disk_breaks_off_can_be_done_again(opened: Opener, tmp_path: Path) -> None:
    lines = [{"prompt": f"question {number} " + "x" * 10_000, "response": ""} for number in range(600)]
    file = written(tmp_path / "turns.jsonl", *lines)
    memory = opened(tmp_path / "a", AbsentEmbedder("m", "none"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, limits[1]))  # less than two batches need
    try:
        with pytest.raises(StoreError, match="Only a part was imported"):
            memory.import_jsonl(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    again = memory.import_jsonl(file)
    assert again.known + again.added == 600
    assert again.known > 0
    memory.close()
    memory = opened(tmp_path / "a", AbsentEmbedder("m", "none"))
    assert memory.import_jsonl(file) == result(known=600)
    assert memory.export_jsonl(tmp_path / "out.jsonl") == 600


def test_an_export_is_of_one_moment_while_turns_are_added(opened: Opener, tmp_path: Path) -> None:
    memory, stop = opened(tmp_path / "a"), threading.Event()
    accepted: list[str] = []

    def talk() -> None:
        while not stop.is_set() and len(accepted) < 1000:
            accepted.append(memory.remember(f"question {len(accepted)}", "answer"))

    talker = threading.Thread(target=talk)
    talker.start()
    try:
        for _ in range(10):
            before = set(accepted)
            count = memory.export_jsonl(tmp_path / "turns.jsonl", vectors=True)
            after = {*accepted}
            ids = [line["turn_id"] for line in records(tmp_path / "turns.jsonl")]
            assert len(ids) == len(set(ids)) == count
            assert before <= set(ids)
            assert len(set(ids) - after) <= 1  # one may have been accepted and not yet noted here
    finally:
        stop.set()
        talker.join()
    assert memory.flush(60).failed == 0


def test_a_memory_never_writes_over_its_own_files(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path)
    filled(memory)
    for name in ("ffai_turns.parquet", "ffai_turns.sqlite3", "ffai_turns.bak", "ffai_turns.lock"):
        with pytest.raises(InvalidArgumentError, match="a file of the memory itself"):
            memory.export_jsonl(tmp_path / name)


@pytest.mark.parametrize("path", ["", ".", "a\0b", 5, b"turns.jsonl"])
def test_a_path_that_is_none_is_refused(opened: Opener, path: Any) -> None:
    with pytest.raises((InvalidArgumentError, TypeError), match="path"):
        opened().export_jsonl(path)


def test_a_file_that_cannot_be_read_is_an_error(opened: Opener, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        opened().import_jsonl(tmp_path / "none.jsonl")
    with pytest.raises(OSError, match="directory"):
        opened().import_jsonl(tmp_path)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no file for a pipe")
def test_a_pipe_is_refused_because_it_is_read_twice(opened: Opener) -> None:
    reader, writer = os.pipe()
    os.close(writer)
    with pytest.raises(InvalidArgumentError, match="twice"):
        opened().import_jsonl(f"/dev/fd/{reader}")
    os.close(reader)


def test_a_large_file_is_not_read_into_memory(opened: Opener, tmp_path: Path) -> None:
    with (file := tmp_path / "turns.jsonl").open("w") as lines:
        for number in range(60):
            lines.write(json.dumps({"prompt": f"{number} " + "y" * 1_000_000, "response": ""}) + "\n")
    memory = opened(tmp_path, AbsentEmbedder("m", "none"))
    tracemalloc.start()
    try:
        assert memory.import_jsonl(file).added == 60
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


def test_nothing_is_taken_in_while_the_journal_cannot_be_written(opened: Opener, tmp_path: Path) -> None:
    file = written(tmp_path / "turns.jsonl", OTHER)
    memory = opened(tmp_path, AbsentEmbedder("m", "none"))
    memory.remember("waits", "")
    with sqlite3.connect(tmp_path / "ffai_turns.sqlite3", isolation_level=None) as lock:
        lock.execute("BEGIN IMMEDIATE")
        memory.remember("kept in memory", "")
        with pytest.raises(StoreError, match="Nothing was imported"):
            memory.import_jsonl(file)
        with pytest.raises(StoreError, match="can't be read just now"):
            memory.export_jsonl(tmp_path / "out.jsonl")
        lock.execute("ROLLBACK")
    lock.close()
    assert memory.import_jsonl(file).added == 1
    assert memory.export_jsonl(tmp_path / "out.jsonl") == 3


def test_a_closed_memory_is_exported_where_no_turn_waits(opened: Opener, tmp_path: Path) -> None:
    memory = opened(tmp_path / "a")
    filled(memory)
    memory.close()
    assert memory.export_jsonl(tmp_path / "turns.jsonl", vectors=True) == 3
    with pytest.raises(ClosedError):
        memory.import_jsonl(tmp_path / "turns.jsonl")
    waiting = opened(tmp_path / "b", AbsentEmbedder("m", "none"))
    waiting.remember("a", "b")
    waiting.close()
    with pytest.raises(ClosedError, match="1 of its turns"):
        waiting.export_jsonl(tmp_path / "turns.jsonl")


def test_a_memory_that_redacts_takes_in_no_secrets(opened: Opener, tmp_path: Path) -> None:
    plain = opened()
    plain.remember("My login?", "It is password=hunter2 as ever.", metadata={"note": "password=hunter2"})
    plain.index_turn_text("the password=hunter2 again", {"role": "user"})
    plain.flush()
    plain.export_jsonl(tmp_path / "plain.jsonl", vectors=True)
    memory = Memory(FakeEmbedder(), redact=True)
    memory.persist_to(tmp_path / "memory")
    assert memory.import_jsonl(tmp_path / "plain.jsonl").added == 2
    assert memory.import_jsonl(tmp_path / "plain.jsonl").added == 0
    memory.flush()
    hit = memory.search("login", top_k=1)[0]
    assert hit.response == "It is password=[redacted: password] as ever."
    memory.close()
    assert not any(b"hunter2" in path.read_bytes() for path in (tmp_path / "memory").iterdir())
    again = opened(tmp_path / "memory")
    assert again.import_jsonl(tmp_path / "plain.jsonl").added == 1, "it does not redact: one without an id is new to it"
