import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffai.core.history.permanent import PermanentHistory
from ffai.core.turn import turn_text
from ffai.errors import ArgumentTypeError, InvalidArgumentError


def texts(turns):
    return [(turn["role"], turn_text(turn)) for turn in turns]


def test_turns_have_the_promised_shape():
    permanent = PermanentHistory()
    permanent.add_turn_user("Hi", {"prompt_name": "greeting"}, timestamp=12.5)
    assert permanent.get_all_turns() == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Hi"}],
            "timestamp": 12.5,
            "metadata": {"prompt_name": "greeting"},
        }
    ]


def test_two_user_turns_in_a_row_become_one():
    permanent = PermanentHistory()
    permanent.add_turn_user("Hi", timestamp=1.0)
    permanent.add_turn_user("Are you there?", timestamp=2.0)
    (turn,) = permanent.get_all_turns()
    assert turn["content"] == [{"type": "text", "text": "Hi\nAre you there?"}]
    assert turn["timestamp"] == 2.0


@pytest.mark.parametrize(("first", "second"), [({}, {}), (None, {}), ({"a": 1}, None), (None, {"a": 1})])
def test_metadata_keeps_two_user_turns_apart(first, second):
    permanent = PermanentHistory()
    permanent.add_turn_user("Hi", first)
    permanent.add_turn_user("Are you there?", second)
    assert len(permanent.get_all_turns()) == 2


def test_assistant_turns_are_never_joined():
    permanent = PermanentHistory()
    permanent.add_turn_assistant("One.")
    permanent.add_turn_assistant("Two.")
    assert texts(permanent.get_all_turns()) == [("assistant", "One."), ("assistant", "Two.")]


def test_parts_are_kept_in_place_when_user_turns_are_joined():
    permanent = PermanentHistory()
    permanent.add_turn_user(["Look:", {"type": "image_url"}])
    permanent.add_turn_user("What is it?")
    permanent.add_turn_user("Well?")
    assert permanent.get_all_turns()[0]["content"] == [
        {"type": "text", "text": "Look:"},
        {"type": "image_url"},
        {"type": "text", "text": "What is it?\nWell?"},
    ]


def test_what_is_handed_out_and_what_was_handed_in_are_copies():
    permanent, metadata = PermanentHistory(), {"tags": ["a"]}
    permanent.add_turn_user("Hi", metadata)
    metadata["tags"].append("later")
    for turns in (permanent.get_all_turns(), permanent.get_turns_since(0)):
        turns[0]["content"][0]["text"] = "changed"
        turns[0]["metadata"]["tags"].append("changed")
    (turn,) = permanent.get_all_turns()
    assert (turn_text(turn), turn["metadata"]) == ("Hi", {"tags": ["a"]})


@given(st.lists(st.integers(0, 5)), st.integers(-1, 6))
def test_turns_since_are_exactly_the_strictly_later_ones(timestamps, since):
    permanent = PermanentHistory()
    for number, timestamp in enumerate(timestamps):
        permanent.add_turn_assistant(str(number), timestamp=float(timestamp))
    assert permanent.get_turns_since(since) == [turn for turn in permanent.get_all_turns() if turn["timestamp"] > since]


def test_the_oldest_turns_go_first_and_an_answer_goes_with_its_question():
    permanent = PermanentHistory(max_turns=3)
    for question, answer in (("one?", "1"), ("two?", "2")):
        permanent.add_turn_user(question)
        permanent.add_turn_assistant(answer)
    assert texts(permanent.get_all_turns()) == [("user", "two?"), ("assistant", "2")]


@pytest.mark.parametrize(
    ("bound", "error"), [(0, InvalidArgumentError), (True, ArgumentTypeError), (1.5, ArgumentTypeError)]
)
def test_a_bound_that_is_no_count_is_refused(bound, error):
    with pytest.raises(error, match="max_turns"):
        PermanentHistory(max_turns=bound)


@pytest.mark.parametrize("timestamp", [float("nan"), float("inf"), 1e18, "now", True])
def test_a_time_that_no_calendar_has_is_refused_and_nothing_is_added(timestamp):
    permanent = PermanentHistory()
    permanent.add_turn_user("Hi")
    with pytest.raises((InvalidArgumentError, ArgumentTypeError), match="timestamp"):
        permanent.add_turn_user("Hi", timestamp=timestamp)
    assert texts(permanent.get_all_turns()) == [("user", "Hi")]
