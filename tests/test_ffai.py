"""FFAI: asking, referring, recording, remembering, ending."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from ffai import FFAI, Memory, ResponseOptions
from ffai.chat.reply import ChatReply, TokenUsage, ToolCall
from ffai.errors import ArgumentTypeError, ClosedError, InvalidArgumentError, UnknownReferenceError
from ffai.testing import FakeClient, FakeEmbedder


def remembering(client: Any, **keywords: Any) -> FFAI:
    return FFAI(client, memory=Memory(FakeEmbedder()), **keywords)


def remembered(ffai: FFAI) -> list[str]:
    ffai.flush()
    assert ffai.memory is not None
    return [entry.text for entry in ffai.memory.store.iter_entries()]


# Remembering


def test_a_finished_turn_can_be_recalled() -> None:
    with remembering(FakeClient(["Under the mat."])) as ffai:
        ffai.generate_response("Where is the key?", prompt_name="key")

        hit = ffai.history.search("key", top_k=1)[0]

        assert (hit.prompt, hit.response) == ("Where is the key?", "Under the mat.")
        assert hit.text == "Where is the key?\nUnder the mat."
        assert hit.metadata == {"prompt_name": "key"}


def test_the_result_names_the_turn_it_became() -> None:
    with remembering(FakeClient(["Under the mat."])) as ffai:
        result = ffai.generate_response("Where is the key?")

        assert ffai.history.search("key", top_k=1)[0].turn_id == result.turn_id


def test_generate_response_is_on_the_workflow_too() -> None:
    with remembering(FakeClient(["Under the mat."])) as ffai:
        ffai.workflow.generate_response("Where is the key?")

        assert remembered(ffai) == ["Where is the key?\nUnder the mat."]


def test_what_is_remembered_is_what_was_said_not_the_template_nor_the_injected_history() -> None:
    with remembering(FakeClient(["Paris", "In France.", "Seine"])) as ffai:
        ffai.generate_response("A capital?", prompt_name="capital")
        ffai.generate_response("Where is {{capital.response}}?", prompt_name="where")
        ffai.generate_response("Which river?", history=["capital"])

        assert remembered(ffai) == ["A capital?\nParis", "Where is Paris?\nIn France.", "Which river?\nSeine"]


def test_a_failed_call_is_raised_recorded_and_not_remembered() -> None:
    with remembering(FakeClient([TimeoutError("too slow")])) as ffai:
        with pytest.raises(TimeoutError, match="too slow"):
            ffai.generate_response("Where is the key?", prompt_name="key")

        assert remembered(ffai) == []
        record = ffai.history.raw[-1]
        assert (record["status"], record["error"], record["response"]) == ("failed", "TimeoutError: too slow", None)


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "",
        "  \n",
        ChatReply(tool_calls=(ToolCall("1", "add", "{}"),)),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "add", "arguments": ""}}],
        },
    ],
    ids=["None", "empty", "blank", "tool calls", "message with tool calls"],
)
def test_a_reply_without_text_is_recorded_and_not_remembered(reply: Any) -> None:
    with remembering(FakeClient([reply])) as ffai:
        result = ffai.generate_response("Where is the key?")

        assert result.turn_id is None
        assert remembered(ffai) == []
        assert len(ffai.history.raw) == 1


def test_no_object_address_ever_gets_into_memory() -> None:
    parts = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "data:abc"}}]
    with remembering(FakeClient([parts, {"city": "Paris"}])) as ffai:
        ffai.generate_response(parts)
        ffai.generate_response("Where?")

        texts = remembered(ffai)
        assert texts == ["Look:\n[image_url]\nLook:\n[image_url]", 'Where?\n{"city": "Paris"}']


def test_the_text_of_a_part_is_remembered_whatever_its_provider_calls_it() -> None:
    with remembering(FakeClient(["Under the mat."])) as ffai:
        ffai.generate_response([{"type": "input_text", "text": "Where is the key?"}, {"type": "input_image"}])
        assert remembered(ffai) == ["Where is the key?\n[input_image]\nUnder the mat."]


def test_with_memory_off_a_search_finds_nothing() -> None:
    with FFAI(FakeClient()) as ffai:
        ffai.generate_response("Where is the key?")

        assert ffai.memory is None
        assert ffai.history.search("key") == []
        assert ffai.flush() is None


def test_a_given_memory_is_the_one_that_is_used() -> None:
    memory = Memory(FakeEmbedder())

    assert FFAI(FakeClient(), memory=memory, memory_enabled=False).history.memory is memory


def test_nothing_is_written_unless_something_is_to_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with remembering(FakeClient()) as ffai:
        ffai.generate_response("Where is the key?")

    assert list(tmp_path.iterdir()) == []


def test_turns_are_there_after_a_restart(tmp_path: Path) -> None:
    config = {"memory": {"persist_dir": str(tmp_path)}}
    with remembering(FakeClient(["Under the mat."]), memory_persist=True, config=config) as ffai:
        ffai.generate_response("Where is the key?")

    with remembering(FakeClient(), memory_persist=True, config=config) as ffai:
        assert ffai.history.search("key", top_k=1)[0].response == "Under the mat."


def test_two_objects_on_one_folder_share_their_turns(tmp_path: Path) -> None:
    config = {"memory": {"persist_dir": str(tmp_path)}}
    with (
        remembering(FakeClient(), memory_persist=True, config=config) as one,
        remembering(FakeClient(), memory_persist=True, config=config) as two,
    ):
        one.generate_response("Where is the key?")
        two.generate_response("Where is the cat?")

        assert len(remembered(one)) == len(remembered(two)) == 2


# References and history


def test_a_reference_becomes_the_latest_response_of_that_name() -> None:
    client = FakeClient(["Rome", "Paris", "ok"])
    ffai = FFAI(client)
    ffai.generate_response("A capital?", prompt_name="my-capital")
    ffai.generate_response("Another?", prompt_name="my-capital")

    result = ffai.generate_response("Where is {{my-capital.response}}?")

    assert client.calls[-1].prompt == result.resolved_prompt == "Where is Paris?"


def test_a_reference_can_follow_a_path_into_json() -> None:
    client = FakeClient(['Here: {"city": {"names": ["Paris", "Lutetia"]}}', "ok"])
    ffai = FFAI(client)
    ffai.generate_response("A city?", prompt_name="city")

    ffai.generate_response("Why {{city.response.city.names.1}}{{city.response.city.none}}?")

    assert client.calls[-1].prompt == "Why Lutetia?"


def test_a_reference_inside_a_response_is_not_replaced() -> None:
    client = FakeClient(["secret", "see {{a.response}}", "ok"])
    ffai = FFAI(client)
    ffai.generate_response("a", prompt_name="a")
    ffai.generate_response("b", prompt_name="b")

    ffai.generate_response("say {{b.response}}")

    assert client.calls[-1].prompt == "say see {{a.response}}"


def test_an_unknown_reference_becomes_empty_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    client = FakeClient()
    FFAI(client).generate_response("Why{{nobody.response}}?")

    assert client.calls[-1].prompt == "Why?"
    assert "'nobody'" in caplog.text


def test_in_strict_mode_an_unknown_reference_is_refused_before_any_call() -> None:
    client = FakeClient(["Paris"])
    ffai = FFAI(client)
    ffai.generate_response("A capital?", prompt_name="capital")

    with pytest.raises(UnknownReferenceError, match=r"'nobody'.*'capital'"):
        ffai.generate_response("Why {{nobody.response}}?", options=ResponseOptions(strict=True))
    with pytest.raises(UnknownReferenceError, match="'nobody'"):
        ffai.generate_response("Why?", history=["nobody"], options={"strict": True})
    assert len(client.calls) == 1


def test_a_failed_call_is_not_what_a_name_refers_to() -> None:
    client = FakeClient(["Paris", TimeoutError(), "ok"])
    ffai = FFAI(client)
    ffai.generate_response("A capital?", prompt_name="capital")
    with pytest.raises(TimeoutError):
        ffai.generate_response("A capital?", prompt_name="capital")

    ffai.generate_response("{{capital.response}}")

    assert client.calls[-1].prompt == "Paris"


def test_history_puts_earlier_turns_in_front_of_the_prompt() -> None:
    client = FakeClient(["Paris", "ok"])
    ffai = FFAI(client)
    ffai.generate_response("A capital?", prompt_name="capital")

    ffai.generate_response("Which river?", history=["capital"])

    sent = client.calls[-1].prompt
    assert "<interaction prompt_name='capital'>\nUSER: A capital?\nSYSTEM: Paris\n" in sent
    assert sent.endswith("Based on the conversation history above, please answer: Which river?")


def test_a_prompt_that_brings_its_own_history_leaves_the_clients_conversation_as_it_was() -> None:
    client = FakeClient(["Paris", "Seine"])
    ffai = FFAI(client)
    ffai.generate_response("A capital?", prompt_name="capital")
    before = client.get_conversation_history()

    ffai.generate_response("River of {{capital.response}}?")

    after = client.get_conversation_history()
    assert after[: len(before)] == before
    assert [message["content"] for message in after[len(before) :]] == ["River of Paris?", "Seine"]


# Arguments


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({"prompt": ""}, InvalidArgumentError, "prompt"),
        ({"prompt": " \n"}, InvalidArgumentError, "prompt"),
        ({"prompt": 5}, ArgumentTypeError, "prompt"),
        ({"prompt": []}, ArgumentTypeError, "prompt"),
        ({"prompt": [5]}, ArgumentTypeError, "prompt"),
        ({"prompt": "a", "prompt_name": 5}, ArgumentTypeError, "prompt_name"),
        ({"prompt": "a", "prompt_name": " "}, InvalidArgumentError, "prompt_name"),
        ({"prompt": "a", "history": "b"}, ArgumentTypeError, "history"),
        ({"prompt": "a", "history": [5]}, ArgumentTypeError, "history"),
        ({"prompt": "a", "options": "b"}, ArgumentTypeError, "options"),
        ({"prompt": "a", "options": {"modle": "b"}}, InvalidArgumentError, "modle"),
    ],
)
def test_bad_arguments_are_refused_by_name_before_any_call(
    arguments: dict[str, Any], error: type[Exception], named: str
) -> None:
    client = FakeClient()
    ffai = FFAI(client)

    with pytest.raises(error, match=named):
        ffai.generate_response(**arguments)
    with pytest.raises(error, match=named):
        ffai.stream_response(**arguments)
    with pytest.raises(error, match=named):
        ffai.astream_response(**arguments)
    assert client.calls == []
    assert len(ffai.history.raw) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({"query": " "}, InvalidArgumentError, "query"),
        ({"query": None}, ArgumentTypeError, "query"),
        ({"query": "a", "top_k": 1.5}, ArgumentTypeError, "top_k"),
        ({"query": "a", "top_k": True}, ArgumentTypeError, "top_k"),
        ({"query": "a", "threshold": float("nan")}, InvalidArgumentError, "threshold"),
        ({"query": "a", "threshold": "b"}, ArgumentTypeError, "threshold"),
        ({"query": "a", "wait": -1}, InvalidArgumentError, "wait"),
    ],
)
def test_a_search_refuses_bad_arguments_by_name(arguments: dict[str, Any], error: type[Exception], named: str) -> None:
    for ffai in (FFAI(FakeClient()), remembering(FakeClient())):
        with pytest.raises(error, match=named):
            ffai.history.search(**arguments)


def test_a_client_needs_generate_response() -> None:
    with pytest.raises(ArgumentTypeError, match="generate_response"):
        FFAI("mistral/mistral-small-latest")
    with pytest.raises(ArgumentTypeError, match="generate_response"):
        FFAI(FakeClient()).set_client(object())


def test_a_memory_must_be_one() -> None:
    with pytest.raises(ArgumentTypeError, match="memory"):
        FFAI(FakeClient(), memory="memory.parquet")  # type: ignore[arg-type]


def test_options_reach_the_client_and_win_over_keywords() -> None:
    client = FakeClient()
    options = ResponseOptions(model="other", system_instructions="Be short.")

    result = FFAI(client).generate_response("a", options=options, model="ignored", temperature=0.5)

    assert client.calls[-1].options == {"model": "other", "system_instructions": "Be short.", "temperature": 0.5}
    assert result.model == "other"


def test_a_client_that_takes_nothing_but_a_prompt_works() -> None:
    class Plain:
        model = "plain"

        def generate_response(self, prompt: str) -> str:
            return prompt.upper()

    assert FFAI(Plain()).generate_response("hello").response == "HELLO"


def test_set_client_goes_on_with_another_client_and_the_same_histories() -> None:
    ffai = FFAI(FakeClient(["Paris"]))
    ffai.generate_response("A capital?", prompt_name="capital")
    other = FakeClient(["Seine"])

    ffai.set_client(other)
    ffai.generate_response("River of {{capital.response}}?")

    assert ffai.client is other
    assert other.calls[-1].prompt == "River of Paris?"


# Results


def test_usage_and_cost_are_what_the_client_says_and_none_where_it_says_nothing() -> None:
    usage = TokenUsage(7, 5, 12)
    known = FFAI(FakeClient(["Paris"], usage=usage, cost_usd=0.01)).generate_response("A capital?")
    unknown = FFAI(FakeClient(["Paris"])).generate_response("A capital?")

    assert (known.usage, known.cost_usd) == (usage, 0.01)
    assert (unknown.usage, unknown.cost_usd) == (None, None)


def test_an_answer_with_code_comes_back_whole() -> None:
    answer = "Try this:\n```python\nprint(1)\n```\n[1] According to the manual."
    ffai = remembering(FakeClient([answer]))

    assert ffai.generate_response("How?").response == answer
    assert remembered(ffai) == [f"How?\n{answer}"]
    assert ffai.history.clean[-1]["response"] == answer


def test_json_is_parsed_in_the_clean_history_only_where_it_was_asked_for() -> None:
    ffai = FFAI(FakeClient(['{"a": 1}', '{"a": 1}']))
    asked = ffai.generate_response("JSON?", response_format={"type": "json_object"})
    ffai.generate_response("Text?")

    assert asked.response == '{"a": 1}'
    assert [record["response"] for record in ffai.history.clean] == [{"a": 1}, '{"a": 1}']
    assert [record["response"] for record in ffai.history.raw] == ['{"a": 1}', '{"a": 1}']


# Streams


def test_a_stream_is_recorded_once_when_it_is_complete() -> None:
    with remembering(FakeClient(["Under the mat."])) as ffai:
        pieces = ffai.stream_response("Where is the key?")
        first = next(pieces)
        assert len(ffai.history.raw) == 0

        assert first + "".join(pieces) == "Under the mat."
        assert [record["status"] for record in ffai.history.raw] == ["success"]
        assert remembered(ffai) == ["Where is the key?\nUnder the mat."]


def test_an_abandoned_stream_is_recorded_as_aborted_and_not_remembered() -> None:
    with remembering(FakeClient(["Under the mat."])) as ffai:
        pieces = ffai.stream_response("Where is the key?")
        next(pieces)
        pieces.close()

        assert [(record["status"], record["response"]) for record in ffai.history.raw] == [("aborted", "Under ")]
        assert remembered(ffai) == []


def test_a_stream_that_breaks_is_recorded_as_failed() -> None:
    def breaking() -> Any:
        yield "Under "
        raise ConnectionError("gone")

    with remembering(FakeClient([breaking()])) as ffai:
        with pytest.raises(ConnectionError, match="gone"):
            list(ffai.stream_response("Where is the key?"))

        assert [(record["status"], record["response"]) for record in ffai.history.raw] == [("failed", "Under ")]
        assert remembered(ffai) == []


def test_a_stream_that_can_not_be_opened_is_recorded_as_failed() -> None:
    class Eager:
        """Asks its server when the stream is asked for, not with the first piece."""

        model = "eager"

        def generate_response(self, prompt: Any, **options: Any) -> str:
            return "Yes."

        def stream_response(self, prompt: Any, **options: Any) -> Any:
            raise ConnectionError("nobody listens")

    ffai = FFAI(Eager())
    with pytest.raises(ConnectionError, match="nobody listens"):
        list(ffai.stream_response("Where is the key?"))
    assert [(record["status"], record["response"]) for record in ffai.history.raw] == [("failed", None)]


def test_a_stream_that_can_not_be_closed_is_recorded_all_the_same() -> None:
    class Stubborn:
        def __init__(self) -> None:
            self.pieces = iter(["Under ", "the mat."])

        def __iter__(self) -> Stubborn:
            return self

        def __next__(self) -> str:
            return next(self.pieces)

        def close(self) -> None:
            raise ConnectionError("already gone")

    client = FakeClient()
    client.stream_response = lambda prompt, **options: Stubborn()  # type: ignore[method-assign,assignment]
    ffai = FFAI(client)
    pieces = ffai.stream_response("Where is the key?")
    next(pieces)
    with pytest.raises(ConnectionError):
        pieces.close()
    assert [(record["status"], record["response"]) for record in ffai.history.raw] == [("failed", "Under ")]


def test_a_stream_that_nobody_reads_calls_nobody() -> None:
    client = FakeClient()
    ffai = FFAI(client)
    ffai.stream_response("Where is the key?")

    assert client.calls == []
    assert len(ffai.history.raw) == 0


async def test_an_async_stream_is_the_same() -> None:
    async with remembering(FakeClient(["Under the mat.", "On the table."])) as ffai:
        pieces = [piece async for piece in ffai.astream_response("Where is the key?")]
        abandoned = ffai.astream_response("And the cat?")
        await anext(abandoned)
        await abandoned.aclose()

        assert "".join(pieces) == "Under the mat."
        assert [record["status"] for record in ffai.history.raw] == ["success", "aborted"]
        await ffai.aflush()
        assert remembered(ffai) == ["Where is the key?\nUnder the mat."]


# Async


async def test_the_async_twin_answers_records_and_remembers() -> None:
    async with remembering(FakeClient(["Under the mat."])) as ffai:
        result = await ffai.agenerate_response("Where is the key?", prompt_name="key")
        hits = await ffai.history.asearch("key", top_k=1)

        assert result.response == hits[0].response == "Under the mat."


async def test_a_cancelled_call_is_recorded_as_aborted() -> None:
    ffai = FFAI(FakeClient(delay=60))
    call = asyncio.ensure_future(ffai.agenerate_response("Where is the key?"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert [record["status"] for record in ffai.history.raw] == ["aborted"]


def test_a_coroutine_client_in_a_sync_call_is_refused_with_the_async_name() -> None:
    class Async:
        model = "async"

        async def generate_response(self, prompt: str, **kwargs: Any) -> str:
            return "Paris"

    ffai = FFAI(Async())
    with pytest.raises(TypeError, match="agenerate_response"):
        ffai.generate_response("A capital?")
    assert asyncio.run(ffai.agenerate_response("A capital?")).response == "Paris"


def test_a_sync_client_does_not_block_the_event_loop() -> None:
    asked, answer = threading.Event(), threading.Event()

    class Slow:
        model = "slow"

        def generate_response(self, prompt: str, **kwargs: Any) -> str:
            asked.set()
            assert answer.wait(10)
            return "Paris"

    async def main() -> str:
        call = asyncio.ensure_future(FFAI(Slow()).agenerate_response("A capital?"))
        await asyncio.to_thread(asked.wait, 10)
        answer.set()
        return (await call).response

    assert asyncio.run(main()) == "Paris"


# Ending


def test_after_close_asking_is_an_error_and_reading_is_not() -> None:
    ffai = remembering(FakeClient(["Under the mat."]))
    ffai.generate_response("Where is the key?")
    ffai.close()
    ffai.close()

    with pytest.raises(ClosedError):
        ffai.generate_response("Where is the cat?")
    with pytest.raises(ClosedError):
        ffai.stream_response("Where is the cat?")
    assert ffai.history.search("key", top_k=1)[0].response == "Under the mat."


def test_a_memory_that_was_closed_by_another_user_does_not_stop_the_chat(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = Memory(FakeEmbedder())
    settings = {"memory": memory, "memory_persist": True, "config": {"memory": {"persist_dir": str(tmp_path)}}}
    first, second = FFAI(FakeClient(), **settings), FFAI(FakeClient(), **settings)
    first.generate_response("Where is the key?")
    first.close()
    for prompt in ("And the cat?", "And the dog?"):
        assert second.generate_response(prompt).turn_id is None
    assert [record["status"] for record in second.history.raw] == ["success", "success"]
    assert caplog.text.count("memory is closed") == 1
    assert remembered(second) == ["Where is the key?\nReply to: Where is the key?"]
    second.close()


def test_close_says_what_was_embedded_and_what_was_not(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    config = {"memory": {"persist_dir": str(tmp_path)}}
    ffai = FFAI(FakeClient(), memory=Memory(embedder), memory_persist=True, config=config)
    ffai.generate_response("Where is the key?")
    ffai.flush()
    embedder.gate.clear()
    ffai.generate_response("Where is the cat?")

    result = ffai.close(timeout=0.2)
    embedder.gate.set()

    assert (result.indexed, result.pending, result.failed) == (1, 1, 0)


def test_eight_threads_asking_at_once_leave_one_record_a_call() -> None:
    ffai = remembering(FakeClient())

    def ask(thread: int) -> None:
        for number in range(50):
            ffai.generate_response(f"question {thread} {number}")

    threads = [threading.Thread(target=ask, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    numbers = [record["sequence_number"] for record in ffai.history.raw]
    assert numbers == list(range(1, 401))
    assert len(set(remembered(ffai))) == 400
