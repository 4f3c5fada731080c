import pytest

from ffai.core.history import HistoryRecorder, OrderedPromptHistory


@pytest.fixture
def ordered():
    ordered = OrderedPromptHistory()
    ordered.add_interaction("small", "Capital of France?", "Paris", prompt_name="capital")
    ordered.add_interaction("large", "And of Spain?", "Madrid", prompt_name="capital")
    ordered.add_interaction("small", "Thanks", "<think>polite</think> You're welcome.")
    return ordered


def test_calls_are_numbered_in_order(ordered):
    assert [call.sequence_number for call in ordered.get_all_interactions()] == [1, 2, 3]
    assert ordered.get_interaction(2).response == "Madrid"
    assert ordered.get_interaction(0) is None
    assert ordered.get_interaction(4) is None


def test_calls_are_found_by_name_and_without_one_by_prompt(ordered):
    assert ordered.get_all_prompt_names() == ["capital", "Thanks"]
    assert ordered.get_prompt_name_usage_stats() == {"capital": 2, "Thanks": 1}
    assert [call.response for call in ordered.get_interactions_by_prompt_name("capital")] == ["Paris", "Madrid"]
    assert ordered.get_interaction_by_prompt("Thanks").prompt_name == "Thanks"
    assert ordered.get_interaction_by_prompt("Capital of France?") is None
    assert ordered.get_latest_interaction_by_prompt_name("capital").response == "Madrid"
    assert ordered.get_latest_interaction_by_prompt_name("unknown") is None
    assert ordered.get_interactions_by_prompt_name("unknown") == []


def test_calls_are_found_by_model(ordered):
    assert [call.sequence_number for call in ordered.get_interactions_by_model("small")] == [1, 3]
    assert len(ordered.get_interactions_by_model_and_prompt_name("large", "capital")) == 1


def test_responses_are_cleaned_text(ordered):
    assert ordered.get_interaction(3).response == "You're welcome."


def test_code_in_a_response_keeps_its_blanks():
    ordered = OrderedPromptHistory()
    code = "```python\nif x:\n    y()\n\n\nz()\n```"
    assert ordered.add_interaction("m", "Show it", code).response == code


def test_everything_as_a_dict_is_grouped_by_name(ordered):
    grouped = ordered.to_dict()
    assert [call["response"] for call in grouped["capital"]] == ["Paris", "Madrid"]
    assert len(ordered) == 3


def test_the_newest_answers_are_given_by_name(ordered):
    ordered.add_interaction("small", "Silence", "", prompt_name="silent")
    assert ordered.get_latest_responses_by_prompt_names(["capital", "silent", "unknown"]) == {
        "capital": {"prompt": "And of Spain?", "response": "Madrid"}
    }


def test_a_failure_does_not_hide_the_answer_before_it():
    recorder = HistoryRecorder()
    recorder.record("Capital of {{country.response}}?", "Paris", "m", "capital", resolved_prompt="Capital of France?")
    recorder.record("Capital of France?", None, "m", "capital", status="failed", error="timeout")
    assert recorder.ordered.get_latest_responses_by_prompt_names(["capital"]) == {
        "capital": {"prompt": "Capital of France?", "response": "Paris"}
    }
    assert recorder.ordered.get_latest_interaction_by_prompt_name("capital").status == "failed"


def test_formatted_answers_come_after_those_they_build_on():
    ordered = OrderedPromptHistory()
    ordered.add_interaction("m", "B?", "b", prompt_name="b", history=["a"])
    ordered.add_interaction("m", "A?", "a", prompt_name="a", history=["b", "unknown"])
    ordered.add_interaction("m", "C?", "c", prompt_name="c", history=["a", "b"])
    assert ordered.get_formatted_responses(["c", "a"]).splitlines() == [
        "<prompt:B?>b</prompt:B?>",
        "<prompt:A?>a</prompt:A?>",
        "<prompt:C?>c</prompt:C?>",
    ]


def test_a_chain_longer_than_the_stack_is_formatted():
    ordered = OrderedPromptHistory()
    for number in range(3_000):
        ordered.add_interaction("m", f"{number}?", str(number), f"step{number}", [f"step{number - 1}"])
    assert len(ordered.get_formatted_responses(["step2999"]).splitlines()) == 3_000


def test_what_is_handed_out_is_a_copy():
    recorder = HistoryRecorder()
    recorder.record("Q", '{"a": 1}', "m", metadata={"tags": []}, expects_json=True)
    call = recorder.ordered.get_interaction(1)
    call.metadata["tags"].append("changed")
    call.clean_response["a"] = 2
    assert recorder.ordered.get_interaction(1).metadata == {"tags": []}
    assert recorder.ordered.get_interaction(1).response == '{"a": 1}'
