import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffai.core.history import HistoryRecorder, turn_text
from ffai.errors import ArgumentTypeError


class Journal:
    """A memory that only counts turns: turn-1, turn-2 …"""

    def __init__(self):
        self.turns = 0

    def remember(self, prompt, response, *, scope=None, timestamp=None, metadata=None):
        self.turns += 1
        return f"turn-{self.turns}"


@pytest.fixture
def recorder():
    return HistoryRecorder(memory=Journal())


def everything(recorder):
    """All that the histories say."""
    ordered = recorder.ordered
    return repr(
        [
            list(recorder.raw),
            list(recorder.clean),
            ordered.get_all_interactions(),
            ordered.to_dict(),
            ordered.get_prompt_name_usage_stats(),
            ordered.get_formatted_responses(ordered.get_all_prompt_names()),
            recorder.permanent.get_all_turns(),
            recorder.permanent.get_turns_since(0.0),
            [(name, recorder.latest_response(name)) for name in recorder.response_names()],
        ]
    )


def test_a_forgotten_turn_is_in_no_history(recorder):
    recorder.record("Where is the key?", "Under the MARKER.", "m", "key")
    recorder.record("And the cat?", "On the roof.", "m", "cat")
    assert recorder.forget(["turn-1"]) == {"history_calls": 1, "permanent_turns": 2}
    assert "MARKER" not in everything(recorder)
    assert "key" not in everything(recorder)
    assert [call["prompt"] for call in recorder.raw] == ["And the cat?"]
    assert [turn_text(turn) for turn in recorder.permanent.get_all_turns()] == ["And the cat?", "On the roof."]


def test_the_other_calls_keep_their_numbers_and_the_next_one_goes_on(recorder):
    for number in range(1, 6):
        recorder.record(f"Q{number}", "A", "m")
    recorder.forget(["turn-2", "turn-5"])
    recorder.record("Q6", "A", "m")
    assert [call["sequence_number"] for call in recorder.raw] == [1, 3, 4, 6]
    found = [recorder.ordered.get_interaction(number) for number in range(8)]
    assert [call and call.prompt for call in found] == [None, "Q1", None, "Q3", "Q4", None, "Q6", None]


def test_a_reference_stands_for_the_answer_before_the_one_that_is_forgotten(recorder):
    recorder.record("Capital of France?", "Paris", "m", "capital")
    recorder.record("Capital of Spain?", "Madrid", "m", "capital")
    recorder.record("Capital of Italy?", None, "m", "capital", status="failed")
    recorder.forget(["turn-2"])
    assert recorder.latest_response("capital") == "Paris"
    recorder.forget(["turn-1"])
    assert recorder.latest_response("capital") is None
    assert recorder.response_names() == []
    assert recorder.ordered.get_prompt_name_usage_stats() == {"capital": 1}


def test_a_prompt_that_reads_like_a_name_is_no_answer_to_it(recorder):
    recorder.record("capital", "London", "m")
    recorder.record("Capital of France?", "Paris", "m", "capital")
    recorder.forget(["turn-2"])
    assert recorder.latest_response("capital") is None


def test_forgetting_again_or_something_unknown_drops_nothing(recorder):
    recorder.record("Q", "A", "m")
    assert recorder.forget(turn_id for turn_id in ["turn-1", "turn-1", "turn-9"])["history_calls"] == 1
    recorder.record("Failed", None, "m", status="failed")
    before = everything(recorder)
    for turn_ids in ([], ["turn-1"], {"turn-9"}, ("",)):
        assert recorder.forget(turn_ids) == {"history_calls": 0, "permanent_turns": 0}
    assert everything(recorder) == before


def test_what_was_given_out_before_is_the_callers(recorder):
    recorder.record("Q", "A", "m")
    record, turns = recorder.raw[0], recorder.permanent.get_all_turns()
    recorder.forget(["turn-1"])
    assert record["response"] == "A"
    assert len(turns) == 2


def test_a_turn_says_nothing_of_its_id(recorder):
    recorder.record("Q", "A", "m")
    for turn in recorder.permanent.get_all_turns():
        assert set(turn) == {"role", "content", "timestamp", "metadata"}
        assert turn["metadata"] == {}


def test_what_the_user_adds_does_not_join_a_turn_that_may_be_forgotten(recorder):
    recorder.permanent.add_turn_user("Where is the key?", turn_id="turn-1")
    recorder.permanent.add_turn_user("And the cat?")
    recorder.forget(["turn-1"])
    assert [turn_text(turn) for turn in recorder.permanent.get_all_turns()] == ["And the cat?"]


@pytest.mark.parametrize("turn_ids", [b"turn-1", None, 5, [5], ["turn-1", None]])
def test_what_is_no_list_of_ids_is_refused_and_nothing_is_dropped(recorder, turn_ids):
    recorder.record("Q", "A", "m")
    with pytest.raises(ArgumentTypeError, match="turn_ids"):
        recorder.forget(turn_ids)
    assert len(recorder.raw) == 1


calls = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from(["success", "failed"]), st.booleans()), max_size=25
)


@settings(deadline=None)
@given(calls)
def test_forgetting_leaves_what_there_would_be_without_those_calls(made):
    recorder, other = HistoryRecorder(memory=Journal()), HistoryRecorder(memory=Journal())
    forgotten = set()
    for number, (name, status, is_forgotten) in enumerate(made):
        arguments = f"question {number % 3}", f"answer {number}" if status == "success" else None, "m", name
        call = recorder.record(*arguments, status=status, timestamp=float(number))
        if is_forgotten and call.turn_id is not None:
            forgotten.add(call.turn_id)
        else:
            other.record(*arguments, status=status, timestamp=float(number))
    numbered = {call["timestamp"]: call for call in recorder.raw}
    turns = recorder.permanent.get_all_turns()
    recorder.forget(forgotten)

    def without_numbers(records):
        return [{key: record[key] for key in record if key not in ("sequence_number", "turn_id")} for record in records]

    assert without_numbers(recorder.raw) == without_numbers(other.raw)
    assert without_numbers(recorder.clean) == without_numbers(other.clean)
    assert recorder.permanent.get_all_turns() == other.permanent.get_all_turns()
    assert list(recorder.raw) == [numbered[call["timestamp"]] for call in other.raw]
    assert [turn for turn in turns if turn in other.permanent.get_all_turns()] == recorder.permanent.get_all_turns()
    assert {name: recorder.latest_response(name) for name in recorder.response_names()} == {
        name: other.latest_response(name) for name in other.response_names()
    }
    assert recorder.ordered.get_prompt_name_usage_stats() == other.ordered.get_prompt_name_usage_stats()


@settings(deadline=None)
@given(calls, st.integers(1, 4))
def test_a_bounded_history_goes_on_after_forgetting(made, bound):
    recorder, numbers = HistoryRecorder(memory=Journal(), max_turns=bound), []
    for name, status, is_forgotten in made:
        reply = "answer" if status == "success" else None
        call = recorder.record("question", reply, "m", name, status=status)
        numbers = [*numbers, (call.sequence_number, name, reply)][-bound:]
        if is_forgotten and call.turn_id is not None:
            recorder.forget([call.turn_id])
            numbers.pop()
    assert [(call["sequence_number"], call["prompt_name"], call["response"]) for call in recorder.raw] == numbers
    for name in ("a", "b"):
        assert (recorder.latest_response(name) is None) == (not any(n == name and r for _, n, r in numbers))
    assert sum(recorder.ordered.get_prompt_name_usage_stats().values()) == len(numbers)


def test_a_turn_that_is_just_being_recorded_is_forgotten_too():
    entered, leave = threading.Event(), threading.Event()

    class Slow:
        def remember(self, prompt, response, **_):
            entered.set()
            assert leave.wait(30)
            return "turn-1"

    recorder = HistoryRecorder(memory=Slow())
    recording = threading.Thread(target=recorder.record, args=("Q", "A", "m"))
    forgetting = threading.Thread(target=recorder.forget, args=(["turn-1"],))
    recording.start()
    assert entered.wait(30)
    forgetting.start()
    forgetting.join(0.1)
    leave.set()
    recording.join()
    forgetting.join()
    assert len(recorder.raw) == len(recorder.permanent) == 0


def test_threads_may_record_and_read_while_others_forget(recorder):
    def talk():
        for _ in range(300):
            recorder.record("Q", "A", "m", "name")

    threads = [threading.Thread(target=talk) for _ in range(3)]
    for thread in threads:
        thread.start()
    forgotten = 0
    while any(thread.is_alive() for thread in threads):
        ids = [call["turn_id"] for call in recorder.raw][::2]
        forgotten += recorder.forget(ids)["history_calls"]
        assert not set(ids) & {call["turn_id"] for call in recorder.raw}
        assert len(recorder.permanent.get_all_turns()) % 2 == 0
    assert len(recorder.raw) == 900 - forgotten
    assert recorder.ordered.get_prompt_name_usage_stats().get("name", 0) == 900 - forgotten
    assert len(recorder.permanent) == 2 * (900 - forgotten)
