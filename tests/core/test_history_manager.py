import inspect
import math

import pytest

from ffai.core.history import HistoryRecorder
from ffai.core.history_manager import HistoryManager
from ffai.core.memory import FlushResult, Memory
from ffai.core.scope import MemoryScope
from ffai.errors import ArgumentTypeError, InvalidArgumentError
from ffai.testing import FakeEmbedder


@pytest.fixture
def recorder():
    return HistoryRecorder(memory=Memory(FakeEmbedder()))


@pytest.fixture
def history(recorder):
    return HistoryManager(recorder)


@pytest.fixture
def talk(recorder):
    recorder.record("Capital of France?", "<think>easy</think>Paris", "small", "capital", timestamp=10.0)
    recorder.record("Capital of {{x.response}}?", "Madrid", "large", "capital", resolved_prompt="Capital of Spain?")
    recorder.record("Thanks", None, "small", status="failed", error="timeout")
    return recorder


def test_an_empty_history_has_nothing(history):
    assert history.get_latest_interaction() is None
    assert history.get_interaction(1) is None
    assert history.get_latest_interaction_by_prompt_name("x") is None
    assert history.get_last_n_interactions(3) == history.get_all_interactions() == []
    assert history.get_prompt_history() == history.get_response_history() == []
    assert history.get_model_usage_stats() == history.get_prompt_dict() == {}
    assert history.get_formatted_responses(["x"]) == ""


def test_calls_are_found_by_number_name_and_model(history, talk):
    assert [call["sequence_number"] for call in history.get_model_interactions("small")] == [1, 3]
    assert [call["response"] for call in history.get_interactions_by_prompt_name("capital")] == ["Paris", "Madrid"]
    assert history.get_interaction(1)["datetime"] == "1970-01-01T00:00:10+00:00"
    assert history.get_latest_interaction()["status"] == "failed"
    assert list(history.get_prompt_dict()) == ["capital", "Thanks"]
    assert history.get_model_usage_stats() == {"small": 2, "large": 1}
    assert history.get_prompt_name_usage_stats() == {"capital": 2, "Thanks": 1}
    assert [call.sequence_number for call in history.get_all_interactions()] == [1, 2, 3]


def test_a_named_call_is_given_with_what_came_back(history, talk):
    talk.record("Again?", "<think>hm</think>Rome", "small", "capital")
    assert history.get_latest_interaction_by_prompt_name("capital")["response"] == "<think>hm</think>Rome"
    assert history.get_latest_interaction_by_prompt_name("Thanks") is None


def test_lists_of_prompts_and_responses_run_side_by_side(history, talk):
    assert history.get_prompt_history() == ["Capital of France?", "Capital of {{x.response}}?", "Thanks"]
    assert history.get_response_history() == ["Paris", "Madrid", ""]


def test_the_histories_are_given_whole(history, talk):
    assert [call["response"] for call in history.get_interaction_history()] == [
        "<think>easy</think>Paris",
        "Madrid",
        None,
    ]
    assert [call["response"] for call in history.get_clean_interaction_history()] == ["Paris", "Madrid", None]
    assert len(history.permanent.get_all_turns()) == 5
    assert len(history.ordered) == len(history.raw) == len(history.clean) == 3


def test_answers_are_given_by_name(history, talk):
    answer = {"prompt": "Capital of Spain?", "response": "Madrid"}
    assert history.get_latest_responses_by_prompt_names(["capital", "Thanks"]) == {"capital": answer}
    assert history.get_formatted_responses(["capital"]) == "<prompt:Capital of Spain?>Madrid</prompt:Capital of Spain?>"


@pytest.mark.parametrize(("n", "numbers"), [(0, []), (1, [3]), (2, [2, 3]), (9, [1, 2, 3])])
def test_the_last_n_calls_are_n_calls(history, talk, n, numbers):
    assert [call["sequence_number"] for call in history.get_last_n_interactions(n)] == numbers


@pytest.mark.parametrize(
    ("n", "error"), [(-1, InvalidArgumentError), ("2", ArgumentTypeError), (True, ArgumentTypeError)]
)
def test_a_count_that_is_none_is_refused(history, n, error):
    with pytest.raises(error, match="n must be"):
        history.get_last_n_interactions(n)


def test_a_finished_turn_is_found(history, talk):
    hits = history.search("the capital of spain?", top_k=1)
    assert [hit.text for hit in hits] == ["Capital of Spain?\nMadrid"]
    assert hits[0].metadata == {"prompt_name": "capital"}


async def test_exact_repeats_count_once_and_the_result_is_still_full(history, recorder):
    for _ in range(10):
        recorder.record("is the build red", "no", "m")
    recorder.record("is the build red", "no", "m", scope=MemoryScope(actor_id="bob", actor_type="user"))
    recorder.record("is the door red", "yes", "m")
    texts = ["is the build red\nno", "is the build red\nno", "is the door red\nyes"]
    assert [hit.text for hit in history.search("is the build red", top_k=3)] == texts
    assert [hit.text for hit in await history.asearch("is the build red", top_k=3)] == texts


def test_a_search_embeds_its_query_once_however_many_repeats_there_are(history, recorder):
    for _ in range(10):
        recorder.record("is the build red", "no", "m")
    history.flush()
    before = len(history.memory.embeddings.calls)
    history.search("is the build red", top_k=3)
    assert len(history.memory.embeddings.calls) == before + 1


wrong_searches = pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({"query": ""}, InvalidArgumentError, "query"),
        ({"query": " \n"}, InvalidArgumentError, "query"),
        ({"query": None}, ArgumentTypeError, "query"),
        ({"top_k": 2.0}, ArgumentTypeError, "top_k"),
        ({"top_k": True}, ArgumentTypeError, "top_k"),
        ({"top_k": "3"}, ArgumentTypeError, "top_k"),
        ({"threshold": math.nan}, InvalidArgumentError, "threshold"),
        ({"threshold": "high"}, ArgumentTypeError, "threshold"),
        ({"wait": -1}, InvalidArgumentError, "wait"),
        ({"wait": math.nan}, InvalidArgumentError, "wait"),
        ({"wait": "long"}, ArgumentTypeError, "wait"),
    ],
)


@wrong_searches
@pytest.mark.parametrize("memory", [None, Memory(FakeEmbedder())])
async def test_a_wrong_search_is_refused_by_name_with_memory_or_without(memory, arguments, error, named):
    history = HistoryManager(HistoryRecorder(memory=memory))
    with pytest.raises(error, match=named):
        history.search(**{"query": "q"} | arguments)
    with pytest.raises(error, match=named):
        await history.asearch(**{"query": "q"} | arguments)


async def test_without_memory_there_is_nothing_to_find_or_wait_for():
    history = HistoryManager(HistoryRecorder())
    assert history.memory is None
    assert history.search("anything") == await history.asearch("anything") == []
    assert history.flush() is await history.aflush(1.0) is None


async def test_flush_is_the_memorys(history, talk):
    assert history.flush(2.0) == await history.aflush() == FlushResult(indexed=2, pending=0, failed=0)


@pytest.mark.parametrize("name", ["search", "flush"])
def test_each_waiting_method_has_its_async_twin(name):
    sync, twin = getattr(HistoryManager, name), getattr(HistoryManager, f"a{name}")
    assert inspect.iscoroutinefunction(inspect.unwrap(twin))
    assert inspect.signature(sync) == inspect.signature(twin)
