"""A question is looked up, then asked, then recorded: in this order, and only as far as each goes well."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from ffai import FFAI, Memory, MemoryScope
from ffai.chat.reply import TokenUsage
from ffai.errors import (
    ArgumentTypeError,
    ClosedError,
    InvalidArgumentError,
    MemoryDisabledError,
    ScopeValidationError,
    StoreError,
)
from ffai.rag import AgentMemory, ChatOptions, StreamEvent, Thread
from ffai.rag.prompts import ANSWER_SYSTEM, ANSWER_SYSTEM_WITH_HISTORY
from ffai.testing import FakeClient, FakeEmbedder
from tests.doubles.talker import SAID, Talker

QUESTION = "Where is the key?"
Call = Callable[..., Any]


def knowing(client: Any, **settings: Any) -> FFAI:
    """A memory with a turn that answers the question, one that nearly does, and one about something else."""
    ffai = FFAI(client, memory=Memory(FakeEmbedder()), **settings)
    assert ffai.memory is not None
    ffai.memory.remember("The key is under the mat", "Noted: the key is under the mat.")
    ffai.memory.remember("The spare key is at the neighbour's place", "Noted: where the spare key is.")
    ffai.memory.remember("Bread needs an hour in the oven", "Yes, at 220 degrees.")
    ffai.memory.flush()
    return ffai


def options_of(client: FakeClient) -> dict[str, Any]:
    return dict(client.calls[-1].options)


# What comes of it


def test_an_answer_tells_its_sources_in_the_order_of_the_lines_and_what_it_used(call: Call) -> None:
    client = FakeClient(["Under the mat."], usage=TokenUsage(9, 3, 12), cost_usd=0.5)
    ffai = knowing(client)
    ffai.rag.kb.learn("keys", "Where a key is: on the board in the hall.")
    result = call(ffai, "ask", QUESTION, min_score=0.2, framed=False)

    assert (result.answer, str(result), result["answer"], result.grounded) == (*["Under the mat."] * 3, True)
    assert (result.usage, result.cost_usd, result.model) == (TokenUsage(9, 3, 12), 0.5, "fake-model")
    assert result.duration_ms > 0
    lines = client.calls[0].prompt
    places = [lines.index(source.excerpt.splitlines()[0]) for source in result.sources]
    assert len(places) == 3
    assert places == sorted(places)
    assert [source.kind for source in result.sources] == ["turn", "turn", "kb"]
    assert result.prompt == lines
    assert json.loads(json.dumps(result.to_dict()))["sources"][2]["id"] == "keys"


def test_an_answer_is_read_like_a_dict_too() -> None:
    result = knowing(FakeClient(["Under the mat."])).ask(QUESTION)
    assert (result["grounded"], result["usage"], result["left_out"]) == (True, None, ())
    for wrong in ("nothing", "to_dict", "__class__", 0):
        with pytest.raises(KeyError, match=str(wrong)):
            result[wrong]  # type: ignore[index]


def test_a_question_that_has_nothing_to_do_with_memory_is_not_grounded(call: Call) -> None:
    client = FakeClient(["I do not know."])
    result = call(knowing(client), "ask", "Who painted Guernica?")
    assert (result.grounded, result.sources, client.calls[0].prompt) == (False, (), "Who painted Guernica?")


# Who is asked, and how


@pytest.mark.parametrize("said", ["", "Be brief."])
@pytest.mark.parametrize("way", ["system", "chat", "chat options"])
def test_a_system_prompt_of_the_caller_wins_also_an_empty_one(call: Call, said: str, way: str) -> None:
    client = FakeClient(system_instructions="You are a janitor.")
    given: dict[str, Any] = {
        "system": {"system": said},
        "chat": {"chat": {"system": said}},
        "chat options": {"chat": ChatOptions(system=said)},
    }[way]
    call(knowing(client), "ask", QUESTION, **given)
    assert options_of(client)["system_instructions"] == said


def test_the_clients_own_instructions_stay_in_front(call: Call) -> None:
    client = FakeClient(system_instructions="You are a janitor.")
    ffai = knowing(client)
    call(ffai, "ask", QUESTION)
    assert options_of(client)["system_instructions"] == f"You are a janitor.\n\n{ANSWER_SYSTEM}"
    thread = ffai.rag.thread("c1")
    thread.add("user", "Hello")
    call(thread, "ask", QUESTION)
    assert options_of(client)["system_instructions"] == f"You are a janitor.\n\n{ANSWER_SYSTEM_WITH_HISTORY}"


def test_what_was_recalled_stands_in_the_system_prompt_where_that_is_asked_for(call: Call) -> None:
    client = FakeClient(system_instructions="You are a janitor.")
    result = call(knowing(client), "ask", QUESTION, context_role="system")
    told = options_of(client)["system_instructions"]
    assert client.calls[0].prompt == result.prompt == QUESTION
    assert told.startswith(f"You are a janitor.\n\n{ANSWER_SYSTEM}\n\n## Memory\n")
    assert "[user]: The key is under the mat" in told
    assert result.grounded

    call(knowing(client), "ask", QUESTION, context_role="system", system="")
    assert options_of(client)["system_instructions"].startswith("\n\n## Memory\n")


def test_a_function_or_another_model_can_be_asked(call: Call) -> None:
    client, asked = FakeClient(["From the client."]), []

    def chat_fn(model: str | None, prompt: str, system: str | None) -> str:
        asked.append((model, prompt, system))
        return "From the function."

    ffai = knowing(client)
    result = call(ffai, "ask", QUESTION, chat={"chat_fn": chat_fn, "model": "large", "system": "Be brief."})
    assert result.answer == "From the function."
    assert asked == [("large", result.prompt, "Be brief.")]
    assert not client.calls
    assert call(ffai, "ask", QUESTION, chat={"model": "large"}).model == "large"
    assert options_of(client)["model"] == "large"


@pytest.mark.parametrize("remember", [False, True])
def test_the_conversation_of_the_client_hears_nothing_of_it(call: Call, remember: bool) -> None:
    client = FakeClient()
    client.set_conversation_history(SAID)
    call(knowing(client), "ask", QUESTION, remember=remember)
    assert client.get_conversation_history() == SAID
    talker = Talker()
    call(knowing(talker), "ask", QUESTION, remember=remember)
    assert (talker.heard, talker.messages) == ([0], SAID)


# Recording


def test_nothing_is_recorded_unless_it_is_asked_for(call: Call) -> None:
    ffai = knowing(FakeClient())
    result = call(ffai, "ask", QUESTION)
    assert (result.turn_id, len(ffai.history.raw), ffai.memory.count()) == (None, 0, 3)  # type: ignore[union-attr]


def test_question_and_answer_are_recorded_and_the_prompt_is_not(call: Call) -> None:
    client = FakeClient(["On the board."], usage=TokenUsage(9, 3, 12), cost_usd=0.5)
    ffai = knowing(client, agent_actor_id="janitor")
    alice = MemoryScope.user("alice", conversation="c1")
    result = call(ffai, "ask", QUESTION, remember=True, scope=alice)
    record = ffai.history.raw[-1]
    assert (record["prompt"], record["response"], record["turn_id"]) == (QUESTION, "On the board.", result.turn_id)
    assert (record["usage"], record["cost_usd"], record["model"]) == (TokenUsage(9, 3, 12), 0.5, "fake-model")
    assert record["duration_ms"] > 0
    ffai.flush()
    hit = ffai.history.search("Where is the key", top_k=1, scope=alice)[0]
    assert (hit.turn_id, hit.prompt, hit.response) == (result.turn_id, QUESTION, "On the board.")
    assert (hit.scope.actor_id, hit.external_conversation_id) == ("alice", "c1")
    assert ffai.history.search("key", scope={"participant_ids": ["janitor"]})[0].turn_id == result.turn_id


def test_a_memory_without_histories_remembers_too(call: Call) -> None:
    memory = Memory(FakeEmbedder())
    result = call(AgentMemory(FakeClient(["Under the mat."]), memory), "ask", QUESTION, remember=True)
    assert memory.get(result.turn_id).text == f"{QUESTION}\nUnder the mat."  # type: ignore[union-attr]


def test_a_thread_gets_question_and_answer_and_the_memory_does_not(call: Call) -> None:
    ffai = knowing(FakeClient(["Under the mat."]))
    thread = ffai.rag.thread("c1")
    call(thread, "ask", QUESTION, scope=MemoryScope.all())
    assert [(one.role, one.content) for one in thread.history()] == [
        ("user", QUESTION),
        ("assistant", "Under the mat."),
    ]
    assert (len(ffai.history.raw), ffai.memory.count()) == (0, 3)  # type: ignore[union-attr]


@pytest.mark.parametrize("reply", ["", "  \n", TimeoutError("too slow")])
def test_no_answer_leaves_thread_and_memory_as_they_were(call: Call, reply: Any) -> None:
    ffai = knowing(FakeClient([reply]))
    thread = ffai.rag.thread("c1", "alice")
    thread.add("user", "Hello")
    if isinstance(reply, str):
        assert call(thread, "ask", QUESTION, remember=True).turn_id is None
    else:
        with pytest.raises(TimeoutError, match="too slow"):
            call(thread, "ask", QUESTION, remember=True)
    assert [one.content for one in thread.history()] == ["Hello"]
    assert ffai.memory.count() == 3  # type: ignore[union-attr]


@pytest.mark.parametrize("way", ["remembered", "not remembered", "pasted", "quoted", "recent"])
def test_five_rounds_of_recall_and_answer_leave_one_row_with_the_fact(call: Call, way: str) -> None:
    ffai = FFAI(FakeClient(["I will have a look."] * 9), memory=Memory(FakeEmbedder()))
    assert ffai.memory is not None
    ffai.memory.remember("The key is under the mat", "Noted.")
    for number in range(5):
        question = f"Where is the key, please, for the {number}th time?"
        if way == "pasted":
            context = call(ffai.rag, "build_context", question, min_score=0.1)
            assert "under the mat" in context
            call(ffai, "generate_response", f"{context}\n\n{question}")
        elif way == "quoted":
            sources = call(ffai.rag, "context", question, min_score=0.1).sources
            quoted = "\n".join(f"- {source.excerpt}" for source in sources)
            assert "under the mat" in quoted
            call(ffai, "generate_response", f"This is known:\n{quoted}\n\n{question}")
        elif way == "recent":
            recent = call(ffai.rag, "recent_text", exclude_roles=["tool"])
            assert "under the mat" in recent
            call(ffai, "generate_response", f"{recent}\n{question}")
        else:
            result = call(ffai, "ask", question, min_score=0.1, remember=way == "remembered")
            assert "under the mat" in result.prompt
    ffai.flush()
    rows = [turn.text for turn in ffai.memory.list().turns]
    assert [row for row in rows if "under the mat" in row] == ["The key is under the mat\nNoted."]
    assert len(rows) == (1 if way == "not remembered" else 6)


@pytest.mark.parametrize("framed", [True, False])
def test_a_prompt_that_is_sent_again_elsewhere_is_remembered_as_its_question(framed: bool) -> None:
    ffai = knowing(FakeClient())
    prompt = ffai.ask(QUESTION, framed=framed).prompt
    ffai.generate_response(prompt)
    ffai.flush()
    assert ffai.memory.list().turns[-1].prompt == QUESTION  # type: ignore[union-attr]


# What fails


def broken() -> FFAI:
    def fail(text: str) -> Exception | None:
        return RuntimeError("no embedding just now") if text.startswith("Where") else None

    ffai = FFAI(FakeClient(["I do not know."]), memory=Memory(FakeEmbedder(fail=fail)))
    assert ffai.memory is not None
    ffai.memory.remember("The key is under the mat", "Noted.")
    ffai.memory.flush()
    return ffai


def test_a_memory_that_is_down_is_raised_or_left_out_as_the_caller_says(
    call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    ffai = broken()
    with pytest.raises(RuntimeError, match="no embedding"):
        call(ffai, "ask", QUESTION)
    assert not ffai.client.calls
    with caplog.at_level(logging.WARNING):
        result = call(ffai, "ask", QUESTION, on_context_error="ignore")
    assert (result.answer, result.grounded) == ("I do not know.", False)
    assert "no embedding" in result.context_error
    assert "no embedding" in caplog.text


class Unreadable(Thread):
    """A thread that can't be read, and is written all the same."""

    def history(self, limit: int | None = None) -> Any:
        raise StoreError("the disk is away")

    async def ahistory(self, limit: int | None = None) -> Any:
        raise StoreError("the disk is away")


def test_a_thread_that_cannot_be_read_is_raised_or_left_out_as_the_caller_says(call: Call) -> None:
    ffai = knowing(FakeClient(["Under the mat."]))
    assert ffai.memory is not None
    thread = Unreadable(ffai.rag, ffai.memory.threads, MemoryScope(conversation_id="c1"))
    with pytest.raises(StoreError, match="disk"):
        call(ffai, "ask", QUESTION, thread=thread, scope=MemoryScope.all())
    assert not ffai.client.calls
    result = call(ffai, "ask", QUESTION, thread=thread, scope=MemoryScope.all(), on_context_error="ignore")
    assert result.answer == "Under the mat."
    assert result.grounded
    assert "disk" in result.context_error


@pytest.mark.parametrize("has_histories", [True, False])
def test_a_memory_that_somebody_else_has_closed_does_not_cost_the_answer(
    call: Call, has_histories: bool, caplog: pytest.LogCaptureFixture
) -> None:
    memory = Memory(FakeEmbedder())
    client = FakeClient(["Under the mat."])
    rag = FFAI(client, memory=memory).rag if has_histories else AgentMemory(client, memory)
    thread = rag.thread("c1", "alice")
    memory.close()
    result = call(thread, "ask", QUESTION, remember=True)
    assert (result.answer, result.turn_id) == ("Under the mat.", None)
    assert "closed" in caplog.text


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"limt": 3}, TypeError, "limt"),
    ({"limit": -1}, InvalidArgumentError, "limit"),
    ({"min_score": 2.0}, InvalidArgumentError, "min_score"),
    ({"max_tokens": 1.5}, ArgumentTypeError, "max_tokens"),
    ({"mode": "telepathy"}, InvalidArgumentError, "mode"),
    ({"system": 3}, ArgumentTypeError, "system"),
    ({"chat": {"modell": "x"}}, InvalidArgumentError, "modell"),
    ({"scope": {"actor_id": "alice"}}, ScopeValidationError, "actor_type"),
    ({"scope": "alice"}, ArgumentTypeError, "alice"),
    ({"thread": "c1"}, ArgumentTypeError, "thread"),
    ({"on_event": 3}, ArgumentTypeError, "on_event"),
    ({"include_roles": 3}, ArgumentTypeError, "include_roles"),
    ({"wait": -1.0}, InvalidArgumentError, "wait"),
    ({"remember": "false"}, ArgumentTypeError, "remember"),
    ({"framed": None}, ArgumentTypeError, "framed"),
    ({"flatten": 1}, ArgumentTypeError, "flatten"),
    ({"speaker_rewrite": "no"}, ArgumentTypeError, "speaker_rewrite"),
    ({"half_life": 0}, InvalidArgumentError, "half_life"),
    ({"speaker_actor_id": "a" * 65}, InvalidArgumentError, "speaker_actor_id"),
    ({"as_of": "today"}, ArgumentTypeError, "as_of"),
]


@pytest.mark.parametrize("is_on", [True, False], ids=["memory on", "memory off"])
@pytest.mark.parametrize(("wrong", "error", "named"), WRONG, ids=lambda value: str(value)[:30])
def test_a_wrong_option_is_named_at_once_and_nobody_is_asked(
    wrong: dict[str, Any], error: type[Exception], named: str, is_on: bool
) -> None:
    ffai = knowing(FakeClient()) if is_on else FFAI(FakeClient(), memory_enabled=False)
    with pytest.raises(error, match=named):
        ffai.ask(QUESTION, on_context_error="ignore", **wrong)
    with pytest.raises(error, match=named):
        ffai.aask(QUESTION, on_context_error="ignore", **wrong)  # raises when it is called, not when it is awaited
    assert not ffai.client.calls


@pytest.mark.parametrize("question", ["", "  \n"])
def test_a_blank_question_is_refused(call: Call, question: str) -> None:
    ffai = knowing(FakeClient())
    with pytest.raises(InvalidArgumentError, match="question"):
        call(ffai, "ask", question)


def test_a_scope_that_nothing_can_be_stored_with_asks_no_model(call: Call) -> None:
    client = FakeClient()
    ffai = FFAI(client, memory=Memory(FakeEmbedder()), require_scope=True)
    with pytest.raises(ScopeValidationError):
        call(ffai, "ask", QUESTION, scope={"conversation_id": "c1"}, remember=True)
    assert not client.calls


def test_a_closed_ffai_asks_nobody(call: Call) -> None:
    client = FakeClient()
    ffai = knowing(client)
    ffai.close()
    for name, given in (("ask", QUESTION), ("stream_ask", QUESTION)):
        with pytest.raises(ClosedError):
            call(ffai.rag, name, given)
    for name in ("summarize", "compact_window", "compact_window_safe"):
        with pytest.raises(ClosedError):
            call(ffai.rag, name)
    assert not client.calls
    assert "under the mat" in call(ffai.rag, "build_context", QUESTION)


def test_without_memory_answers_rest_on_nothing(call: Call) -> None:
    ffai = FFAI(FakeClient(["I do not know."] * 3), memory_enabled=False)
    result = call(ffai, "ask", QUESTION, remember=True)
    assert (result.answer, result.grounded, result.context_error, result.turn_id) == (
        "I do not know.", False, None, None,
    )  # fmt: skip
    assert ffai.history.raw[-1]["response"] == "I do not know."
    for name in ("build_context", "build_context_safe"):
        assert call(ffai.rag, name, QUESTION) == ""
    assert call(ffai.rag, "recent_text") == ""
    assert call(ffai.rag, "build_hybrid_context", QUESTION).text == ""
    assert "off" in str(call(ffai.rag, "explain", QUESTION))
    for name in ("compact_window", "summarize"):
        with pytest.raises(MemoryDisabledError):
            call(ffai.rag, name)
    failed = call(ffai.rag, "compact_window_safe")
    assert (failed.ok, failed.capsule) == (False, None)
    assert "Memory is off" in failed.error
    with pytest.raises(MemoryDisabledError):
        ffai.rag.thread("c1")
    with pytest.raises(MemoryDisabledError):
        _ = ffai.rag.kb
    assert call(ffai.rag, "build_hybrid_context", QUESTION, ["a"]).text == ""


# Events


def test_it_tells_what_was_found_and_what_was_answered(call: Call) -> None:
    events: list[StreamEvent] = []
    scope = MemoryScope.user("alice")
    ffai = knowing(FakeClient(["Under the mat."]))
    call(ffai, "ask", QUESTION, on_event=events.append)
    assert [event.label for event in events] == ["ai:rag:retrieve", "ai:rag:answer"]
    found, answered = (event.payload for event in events)
    assert (found["query"], len(found["results"]), found["scope"]) == (QUESTION, len(found["scores"]), {})
    assert (answered["query"], answered["answer"], answered["sources"]) == (
        QUESTION,
        "Under the mat.",
        found["results"],
    )
    events.clear()
    call(ffai, "ask", QUESTION, on_event=events.append, scope=scope)
    assert events[0].payload["scope"] == scope.as_dict()


def test_a_callback_that_raises_changes_nothing(call: Call, caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: StreamEvent) -> None:
        raise RuntimeError(f"no {event.label}")

    ffai = knowing(FakeClient(["Under the mat."] * 2))
    with caplog.at_level(logging.WARNING):
        told = call(ffai, "ask", QUESTION, on_event=fail)
    untold = call(ffai, "ask", QUESTION)
    assert (told.answer, told.sources) == (untold.answer, untold.sources)
    assert "no ai:rag:retrieve" in caplog.text


async def test_a_call_that_is_cancelled_records_nothing() -> None:
    ffai = knowing(FakeClient(delay=30.0))
    thread = ffai.rag.thread("c1", "alice")
    task = asyncio.create_task(ffai.aask(QUESTION, thread=thread, remember=True, on_context_error="ignore"))
    while not ffai.client.calls:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (thread.history(), len(ffai.history.raw)) == ([], 0)


# Both ways


async def test_waiting_and_awaited_give_the_same() -> None:
    ffai = knowing(FakeClient(["Under the mat."] * 9))
    rag = ffai.rag
    left, right = rag.ask(QUESTION, framed=False), await rag.aask(QUESTION, framed=False)
    assert (left.to_dict(), left.prompt) == (right.to_dict(), right.prompt)
    assert rag.context(QUESTION) == await rag.acontext(QUESTION)
    assert rag.build_hybrid_context(QUESTION) == await rag.abuild_hybrid_context(QUESTION)
    assert rag.recent_text() == await rag.arecent_text()
    assert rag.summarize() == await rag.asummarize()
    assert str(rag.explain(QUESTION)) == str(await rag.aexplain(QUESTION))
    assert [entry.key for entry in rag.kb.search("key")] == [entry.key for entry in await rag.kb.asearch("key")]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("aask", (QUESTION,)),
        ("acontext", (QUESTION,)),
        ("abuild_context", (QUESTION,)),
        ("abuild_context_safe", (QUESTION,)),
        ("abuild_hybrid_context", (QUESTION,)),
        ("aexplain", (QUESTION,)),
        ("arecent_text", ()),
        ("asummarize", ()),
        ("acompact_window", ()),
        ("acompact_window_safe", ()),
    ],
)
async def test_a_scope_that_changes_before_the_call_begins_changes_nothing(name: str, given: tuple[str, ...]) -> None:
    client = FakeClient(["One thing was said."])
    ffai = FFAI(client, memory=Memory(FakeEmbedder()))
    assert ffai.memory is not None
    ffai.memory.remember("The key is under the doormat", "Noted.", scope=MemoryScope.user("alice"))
    ffai.memory.remember("The key is in the safe", "Noted.", scope=MemoryScope.user("bob"))
    scope = {"actor_id": "bob", "actor_type": "user"}
    awaited = getattr(ffai.rag, name)(*given, scope=scope)
    scope["actor_id"] = "alice"
    seen = f"{await awaited} {[one.prompt for one in client.calls]}"
    assert "safe" in seen
    assert "doormat" not in seen


def test_a_memory_that_answers_cannot_be_made_from_is_refused_by_name() -> None:
    class Notes:
        def remember(self, *_: object, **__: object) -> str:
            return "noted"

    with pytest.raises(TypeError, match="has no method retrieve"):
        AgentMemory(FakeClient(), Notes())  # type: ignore[arg-type]


def test_a_code_in_a_long_text_among_short_ones_is_found_by_its_words() -> None:
    memory = Memory(FakeEmbedder())
    for number in range(50):
        memory.remember(f"short question {number}", "Short answer.")
    report = " ".join(f"detail{number}" for number in range(200))
    expected = memory.remember("The report, please", f"{report} the part ZX4417 broke {report}")
    result = AgentMemory(FakeClient(["It broke."]), memory).ask("What about ZX4417?")
    assert [source.id for source in result.sources] == [expected]
    assert result.sources[0].score < 0.5
