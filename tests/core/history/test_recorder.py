import multiprocessing
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffai import MemoryScope
from ffai.chat.reply import TokenUsage, ToolCall
from ffai.core.history import HistoryRecorder, turn_text
from ffai.errors import ArgumentTypeError, ClosedError, InvalidArgumentError

TOOL = ToolCall("1", "weather", '{"city": "Paris"}')


class Journal:
    """A memory that only takes turns down."""

    def __init__(self):
        self.turns = []

    def remember(self, prompt, response, *, scope=None, timestamp=None, metadata=None):
        self.turns.append({"text": f"{prompt}\n{response}", "scope": scope, "at": timestamp, "metadata": metadata})
        return f"turn-{len(self.turns)}"


@pytest.fixture
def journal():
    return Journal()


@pytest.fixture
def recorder(journal):
    return HistoryRecorder(memory=journal)


def spoken(recorder):
    return [(turn["role"], turn_text(turn)) for turn in recorder.permanent.get_all_turns()]


def test_one_call_is_in_all_four_histories(recorder):
    reply = "<think>easy</think>Paris"
    call = recorder.record("Capital of France?", reply, "small", "capital", ["intro"], usage=TokenUsage(3, 1, 4))
    assert recorder.raw[0]["response"] == reply
    assert recorder.clean[0]["response"] == "Paris"
    assert recorder.ordered.get_interaction(1).response == "Paris"
    assert spoken(recorder) == [("user", "Capital of France?"), ("assistant", reply)]
    assert (call.sequence_number, call.history, call.usage.total_tokens) == (1, ("intro",), 4)


def test_a_record_has_the_keys_users_know(recorder):
    call = recorder.record("Q", "A", "m", "name", ["earlier"], timestamp=0.0, cost_usd=0.5, duration_ms=12.0)
    assert call.to_dict() == {
        "sequence_number": 1,
        "model": "m",
        "timestamp": 0.0,
        "datetime": "1970-01-01T00:00:00+00:00",
        "prompt_name": "name",
        "prompt": "Q",
        "resolved_prompt": None,
        "response": "A",
        "clean_response": "A",
        "history": ["earlier"],
        "status": "success",
        "error": None,
        "usage": None,
        "cost_usd": 0.5,
        "duration_ms": 12.0,
        "tool_calls": [],
        "turn_id": "turn-1",
        "scope": {"source_type": "api"},
        "agent_actor_id": None,
        "metadata": {"prompt_name": "name"},
    }
    with pytest.raises(FrozenInstanceError):
        call.response = "changed"


def test_what_is_remembered_is_what_was_said(recorder, journal):
    call = recorder.record(
        "Population of {{capital.response}}?",
        " 2 million\n",
        "m",
        "population",
        resolved_prompt="Population of Paris?",
        scope=MemoryScope.user("alice"),
        timestamp=5.0,
    )
    assert journal.turns == [
        {
            "text": "Population of Paris?\n 2 million\n",
            "scope": MemoryScope(actor_id="alice", actor_type="user", source_type="api"),
            "at": 5.0,
            "metadata": {"prompt_name": "population"},
        }
    ]
    assert call.turn_id == "turn-1"
    assert spoken(recorder)[0] == ("user", "Population of Paris?")
    assert recorder.raw[0]["prompt"] == "Population of {{capital.response}}?"


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        (None, None, {}),
        ("n", None, {"prompt_name": "n"}),
        ("n", {}, {}),
        ("n", {"tags": ("a",)}, {"tags": ("a",)}),
    ],
)
def test_metadata_is_exactly_the_callers(recorder, journal, name, given, kept):
    recorder.record("Q", "A", "m", name, metadata=given)
    assert journal.turns[0]["metadata"] == kept
    assert [turn["metadata"] for turn in recorder.permanent.get_all_turns()] == [kept, kept]
    assert recorder.raw[0]["metadata"] == kept


def test_metadata_is_copied_on_the_way_in_and_out(recorder, journal):
    mine = {"tags": ["a"]}
    recorder.record("Q", "A", "m", metadata=mine)
    mine["tags"].append("b")
    journal.turns[0]["metadata"]["tags"].append("c")
    recorder.raw[0]["metadata"]["tags"].append("d")
    assert recorder.raw[0]["metadata"] == {"tags": ["a"]}


@pytest.mark.parametrize(
    ("reply", "status", "tools", "reason"),
    [
        (None, "failed", (), "failed"),
        (None, "skipped", (), "skipped"),
        ("Half an ans", "aborted", (), "aborted"),
        (None, "success", (), "empty_reply"),
        ("", "success", (), "empty_reply"),
        (" \n", "success", (), "empty_reply"),
        ("", "success", (TOOL,), "tool_calls_only"),
    ],
)
def test_what_is_not_an_answer_is_recorded_and_not_remembered(recorder, journal, reply, status, tools, reason):
    call = recorder.record("Q", reply, "m", status=status, tool_calls=tools, error="why")
    assert journal.turns == []
    assert recorder.skipped == {reason: 1}
    assert (call.status, call.response, call.tool_calls, call.turn_id) == (status, reply, tools, None)
    assert recorder.raw[0]["error"] == "why"


def test_a_closed_memory_costs_no_history(recorder, journal):
    def closed(*said, **kwargs):
        raise ClosedError("The memory is closed.")

    journal.remember = closed
    assert recorder.record("Q", "A", "m").turn_id is None
    assert recorder.skipped == {"memory_closed": 1}
    assert spoken(recorder) == [("user", "Q"), ("assistant", "A")]


def test_no_turn_is_empty(recorder):
    recorder.record("never asked", None, "m", status="skipped")
    recorder.record("asked in vain", None, "m", status="failed", error="timeout")
    recorder.record("tools", "", "m", tool_calls=[TOOL])
    recorder.record("cut off", "Half an", "m", status="aborted")
    assert spoken(recorder) == [
        ("user", "asked in vain"),
        ("user", "tools"),
        ("user", "cut off"),
        ("assistant", "Half an"),
    ]


def test_nothing_is_counted_as_skipped_where_there_is_no_memory():
    recorder = HistoryRecorder()
    assert recorder.record("Q", None, "m", status="failed").turn_id is None
    assert recorder.memory is None
    assert recorder.skipped == {}


def test_message_parts_are_remembered_as_their_text(recorder, journal):
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    recorder.record(["What is it?", picture], [{"type": "text", "text": "A cat."}], "m")
    assert journal.turns[0]["text"] == "What is it?\n[image_url]\nA cat."
    assert "base64" not in str(recorder.raw[0]) + str(recorder.permanent.get_all_turns())


@pytest.mark.parametrize("text", ["a\x00b", "half \ud83d", "\u202eright to left", "e\u0301", "x" * 1_000_000])
def test_any_text_is_kept_as_it_is(recorder, text):
    recorder.record(text, f"{text}.", "m", text, metadata={text: text})
    assert recorder.raw[0]["response"] == f"{text}."
    assert recorder.latest_response(text) == f"{text}."


def test_json_is_parsed_where_it_was_asked_for_and_kept_as_it_came(recorder, journal):
    recorder.record("City?", "```json\n{'city': 'Paris'}\n```", "m", "city", expects_json=True)
    assert recorder.raw[0]["response"] == "```json\n{'city': 'Paris'}\n```"
    assert recorder.clean[0]["response"] == {"city": "Paris"}
    assert recorder.latest_response("city") == '{"city": "Paris"}'
    assert journal.turns[0]["text"] == "City?\n```json\n{'city': 'Paris'}\n```"


def test_a_reference_stands_for_the_newest_success(recorder):
    recorder.record("Q", "first", "m", "n")
    recorder.record("Q", " second ", "m", "n")
    recorder.record("Q", None, "m", "n", status="failed")
    recorder.record("n", "unnamed", "m")
    assert recorder.latest_response("n") == "second"
    assert recorder.latest_response("Q") is None
    assert recorder.response_names() == ["n"]


def test_a_reference_to_a_success_without_text_is_empty(recorder):
    recorder.record("Q", "text", "m", "n")
    recorder.record("Q", None, "m", "n", tool_calls=[TOOL])
    assert recorder.latest_response("n") == ""


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"prompt": 7}, ArgumentTypeError, "prompt"),
        ({"response": object()}, ArgumentTypeError, "response"),
        ({"status": "done"}, InvalidArgumentError, "status"),
        ({"prompt_name": ["n"]}, ArgumentTypeError, "prompt_name"),
        ({"history": "earlier"}, ArgumentTypeError, "history"),
        ({"metadata": "m"}, ArgumentTypeError, "metadata"),
        ({"timestamp": float("nan")}, InvalidArgumentError, "timestamp"),
        ({"timestamp": "now"}, ArgumentTypeError, "timestamp"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_recorded(recorder, journal, arguments, error, told):
    with pytest.raises(error, match=told):
        recorder.record(**{"prompt": "Q", "response": "A", "model": "m"} | arguments)
    assert (len(recorder.raw), len(recorder.permanent), journal.turns) == (0, 0, [])


def test_a_memory_that_refuses_a_turn_leaves_no_half_of_it():
    class Refusing:
        def remember(self, prompt, response, **_):
            raise InvalidArgumentError("metadata['x'] can't be stored")

    recorder = HistoryRecorder(memory=Refusing())
    with pytest.raises(InvalidArgumentError):
        recorder.record("Q", "A", "m")
    assert (len(recorder.raw), len(recorder.permanent)) == (0, 0)


calls = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from(["success", "failed"]))


@settings(deadline=None)
@given(st.lists(calls, max_size=30), st.integers(1, 5))
def test_a_bounded_history_holds_the_newest_calls_and_nothing_else(made, bound):
    recorder, all_calls = HistoryRecorder(max_turns=bound), []
    for number, (name, status) in enumerate(made, 1):
        reply = f"answer {number}" if status == "success" else None
        recorder.record(f"question {number % 3}", reply, "m", name, status=status)
        all_calls.append((number, name, reply))
    kept = all_calls[-bound:]
    assert [(r["sequence_number"], r["prompt_name"], r["response"]) for r in recorder.raw] == kept
    for name in ("a", "b"):
        answers = [reply for _, known_as, reply in kept if known_as == name and reply]
        assert recorder.latest_response(name) == (answers[-1] if answers else None)
        numbers = [number for number, known_as, _ in kept if known_as == name]
        assert [c.sequence_number for c in recorder.ordered.get_interactions_by_prompt_name(name)] == numbers
    assert recorder.ordered.get_interaction(len(made) - bound) is None
    assert sum(recorder.ordered.get_prompt_name_usage_stats().values()) == len(kept)
    assert len(recorder.permanent) <= 2 * bound


def test_many_threads_record_without_a_gap_or_a_mix(recorder, journal):
    def talk(speaker):
        for number in range(100):
            recorder.record(f"q {speaker} {number}", f"a {speaker} {number}", "m", f"speaker{speaker}")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(talk, range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert [record["sequence_number"] for record in recorder.raw] == list(range(1, 801))
    turns = spoken(recorder)
    assert [role for role, _ in turns] == ["user", "assistant"] * 800
    asked = [question for _, question in turns[::2]]
    assert [answer for _, answer in turns[1::2]] == [f"a{question[1:]}" for question in asked]
    assert [record["prompt"] for record in recorder.raw] == asked
    assert [turn["text"].partition("\n")[0] for turn in journal.turns] == asked
    times = [record["timestamp"] for record in recorder.raw]
    assert times == sorted(times)


def test_histories_can_be_read_while_the_journal_is_waited_for():
    entered, leave = threading.Event(), threading.Event()

    class Stuck:
        def remember(self, prompt, response, **_):
            entered.set()
            assert leave.wait(30)
            return "id"

    recorder = HistoryRecorder(memory=Stuck())
    thread = threading.Thread(target=recorder.record, args=("Q", "A", "m"))
    thread.start()
    assert entered.wait(30)
    assert len(list(recorder.raw)) == len(recorder.permanent.get_all_turns()) == 0
    leave.set()
    thread.join()
    assert len(list(recorder.raw)) == 1


def test_histories_can_be_read_while_others_write(recorder):
    done = threading.Event()

    def write():
        for number in range(2_000):
            recorder.record("Q", str(number), "m", f"name{number}")
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not done.is_set():
        for records in (recorder.raw, recorder.clean):
            numbers = [record["sequence_number"] for record in records]
            assert numbers == list(range(1, len(numbers) + 1))
        assert len(recorder.permanent.get_all_turns()) % 2 == 0
        recorder.ordered.get_prompt_name_usage_stats()
        recorder.response_names()
    thread.join()


def _steps(work):
    """Count the function calls that some work makes: the same on every machine."""
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_the_ten_thousandth_call_costs_what_the_first_ones_do(recorder):
    def call():
        recorder.record("Capital of France?", "Paris", "m", "capital")

    def reference():
        recorder.latest_response("capital")

    call()
    first = _steps(call), _steps(reference)
    for _ in range(10_000):
        call()
    tracemalloc.start()
    try:
        assert (_steps(call), _steps(reference)) == first
        assert tracemalloc.get_traced_memory()[1] < 16_000  # a copy of the list of calls alone has 80,000 bytes
    finally:
        tracemalloc.stop()


def _record_in_child(recorder):
    number = recorder.raw[-1]["sequence_number"]
    recorder.record("in the child", "yes", "m")
    assert recorder.raw[-1]["sequence_number"] == number + 1
    turns = spoken(recorder)
    assert [role for role, _ in turns] == ["user", "assistant"] * (len(turns) // 2)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_can_record_though_threads_were_recording():
    recorder, stop = HistoryRecorder(memory=Journal(), max_turns=20), threading.Event()

    def talk():
        while not stop.is_set():
            recorder.record("Q", "A", "m")

    threads = [threading.Thread(target=talk) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            child = multiprocessing.get_context("fork").Process(target=_record_in_child, args=(recorder,))
            child.start()
            child.join(30)
            hung = child.exitcode is None
            child.kill()
            assert not hung
            assert child.exitcode == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_history_is_a_sequence(recorder):
    for number in range(5):
        recorder.record(f"q{number}", f"a{number}", "m")
    raw = recorder.raw
    assert [record["prompt"] for record in raw[1:3]] == ["q1", "q2"]
    assert raw[-1]["prompt"] == "q4"
    assert [record["prompt"] for record in reversed(raw)] == ["q4", "q3", "q2", "q1", "q0"]
    assert raw[0] in raw
    assert repr(raw) == "<5 calls>"
    with pytest.raises(IndexError):
        raw[5]
