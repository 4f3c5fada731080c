"""Chat logs of other programs brought into a memory: as exchanges, each once, whatever else is in them."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ffai import MemoryScope
from ffai.core.memory import ImportResult
from ffai.core.memory.turn_page import StoredTurn
from ffai.core.scope_policy import ScopePolicy
from ffai.errors import ArgumentTypeError, InvalidArgumentError, ScopeValidationError
from tests.core.memory.conftest import Opener

ANN = MemoryScope(actor_id="ann", actor_type="user", actor_name="Ann")
MAY_7 = 1683417600.0


def user(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def assistant(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


KEY = [user("Where is the key?"), assistant("Under the mat.")]
CAR = [user("Who has the car?"), assistant("Anna.")]


def openai_file(path: Path, *conversations: Any) -> Path:
    lines = [one if isinstance(one, dict) else {"messages": one} for one in conversations]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def node(parent: str | None, role: str, *parts: Any, at: float | None = None, **more: Any) -> dict[str, Any]:
    """A message of ChatGPT's export."""
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    message = {"author": {"role": role, "name": None, "metadata": {}}, "create_time": at, "content": content}
    message |= {"status": "finished_successfully", "weight": 1.0, "metadata": {}, "recipient": "all", **more}
    return {"id": "-", "message": message, "parent": parent, "children": []}


def chat(mapping: dict[str, Any], shown: str | None, **more: Any) -> dict[str, Any]:
    """A conversation of ChatGPT's export."""
    root = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    about = {"title": "Lost things", "create_time": MAY_7, "update_time": MAY_7 + 99, "moderation_results": []}
    return {
        **about,
        "mapping": {**root, **mapping},
        "current_node": shown,
        "conversation_id": "c-1",
        "id": "c-1",
        **more,
    }


def chatgpt_file(path: Path, *conversations: Any) -> Path:
    path.write_text(json.dumps(list(conversations)), "utf-8")
    return path


LOST = chat(
    {
        "s": node("root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        "about": node(
            "s", "user", content={"content_type": "user_editable_context", "user_profile": "I am Ann."}, at=None
        ),
        "q1": node("about", "user", "Where is the key?", at=MAY_7 + 10.5),
        "think": node("q1", "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "Hm."}]}),
        "call": node(
            "think", "assistant", content={"content_type": "code", "language": "python", "text": "look()"},
            recipient="python",
        ),
        "gave": node("call", "tool", content={"content_type": "execution_output", "text": "mat"}),
        "recap": node("gave", "assistant", content={"content_type": "reasoning_recap", "content": "Thought for 7 s"}),
        "a1": node("recap", "assistant", "Under the mat.", at=MAY_7 + 20),
        "old": node("a1", "user", "Who has the bike?", at=MAY_7 + 30),
        "olda": node("old", "assistant", "Nobody.", at=MAY_7 + 31),
        "q2": node(
            "a1", "user", at=MAY_7 + 40,
            content={
                "content_type": "multimodal_text",
                "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file://x"}, "What is this?"],
            },
        ),
        "a2": node("q2", "assistant", "A key.", at=MAY_7 + 41),
    },
    "a2",
)  # fmt: skip


def turns(memory: Any) -> list[StoredTurn]:
    return list(memory.list(limit=1000).turns)


def whose(turn: StoredTurn) -> dict[str, Any]:
    """The scope of a turn, as it is stored."""
    scope: dict[str, Any] = turn.turn["metadata"]["ffai"].get("scope", {})
    return scope


def said(memory: Any) -> list[tuple[str | None, str | None]]:
    return [(turn.prompt, turn.response) for turn in turns(memory)]


def result(added: int = 0, known: int = 0) -> ImportResult:
    return ImportResult(added=added, known=known, expired=0, waiting=added)


# OpenAI's messages


def test_a_conversation_of_messages_becomes_exchanges(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    talk = [
        {"role": "system", "content": "Be brief."},
        assistant("Hello!"),
        user("Where is the key?"),
        user("The big one."),
        assistant(None, tool_calls=[{"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]),
        {"role": "tool", "tool_call_id": "t1", "content": "mat"},
        assistant("Under the mat."),
        assistant("Or in the car."),
        user([{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:..."}}]),
        {"role": "developer", "content": "Go on."},
        assistant("A key."),
        user("Thanks."),
    ]
    assert memory.import_jsonl(openai_file(tmp_path / "chat.jsonl", talk)) == result(added=2)
    assert said(memory) == [
        ("Where is the key?\nThe big one.", "Under the mat.\nOr in the car."),
        ("What is this?\n[image_url]", "A key."),
    ]


def test_what_was_imported_can_be_found(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    memory.import_jsonl(openai_file(tmp_path / "chat.jsonl", KEY, CAR))
    memory.flush()
    assert memory.search("Where is the key?", top_k=1)[0].response == "Under the mat."


def test_importing_again_adds_nothing(tmp_path: Path, opened: Opener) -> None:
    memory = opened(tmp_path / "kept")
    file = openai_file(tmp_path / "chat.jsonl", KEY, [*CAR, *CAR])
    assert memory.import_jsonl(file) == result(added=3)
    assert memory.import_jsonl(file) == result(known=3)
    memory.flush()
    memory.close()
    assert opened(tmp_path / "kept").import_jsonl(file) == result(known=3)


def test_a_log_that_grew_adds_what_is_new(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    assert memory.import_jsonl(openai_file(tmp_path / "chat.jsonl", KEY, [user("Who?")])) == result(added=1)
    grown = openai_file(tmp_path / "chat.jsonl", [*KEY, *CAR], [user("Who?"), assistant("Anna.")], CAR)
    assert memory.import_jsonl(grown) == result(added=3, known=1)
    conversations = [turn.metadata["conversation_id"] for turn in turns(memory)]
    assert conversations[0] == conversations[1]  # the grown one
    assert len(set(conversations)) == 3


def test_a_log_with_all_that_was_said_so_far_in_each_line_adds_each_exchange_once(
    tmp_path: Path, opened: Opener
) -> None:
    memory = opened()
    file = openai_file(tmp_path / "requests.jsonl", KEY, [*KEY, *CAR], [*KEY, *CAR, *KEY])
    assert memory.import_jsonl(file) == result(added=3, known=3)
    assert said(memory) == [
        ("Where is the key?", "Under the mat."),
        ("Who has the car?", "Anna."),
        ("Where is the key?", "Under the mat."),
    ]


def test_the_same_words_in_two_conversations_are_two_turns(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    file = openai_file(tmp_path / "chat.jsonl", {"id": "a", "messages": KEY}, {"id": "b", "messages": KEY})
    assert memory.import_jsonl(file) == result(added=2)
    assert [turn.metadata["conversation_id"] for turn in turns(memory)] == ["a", "b"]


def test_times_and_what_else_a_line_says_are_kept(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    line = {
        "id": 7,
        "title": "Lost things",
        "created": MAY_7,
        "metadata": {"app": "kiosk"},
        "messages": [user("One?", timestamp="2023-05-08T00:00:00Z"), assistant("Yes."), user("Two?"), assistant("No.")],
        "tools": [],
    }
    memory.import_jsonl(openai_file(tmp_path / "chat.jsonl", line))
    assert [(turn.prompt, turn.timestamp) for turn in turns(memory)] == [("Two?", MAY_7), ("One?", MAY_7 + 86400)]
    assert turns(memory)[0].metadata == {"app": "kiosk", "conversation_id": "7", "title": "Lost things"}
    assert "conversation_id" not in whose(turns(memory)[0])


# ChatGPT's export


def test_an_export_becomes_the_exchanges_that_were_shown(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    assert memory.import_jsonl(chatgpt_file(tmp_path / "conversations.json", LOST)) == result(added=2)
    assert said(memory) == [("Where is the key?", "Under the mat."), ("[image]\nWhat is this?", "A key.")]
    assert [turn.timestamp for turn in turns(memory)] == [MAY_7 + 10.5, MAY_7 + 40]
    assert [turn.metadata for turn in turns(memory)] == [{"conversation_id": "c-1", "title": "Lost things"}] * 2


def test_an_export_that_grew_adds_what_is_new(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    memory.import_jsonl(chatgpt_file(tmp_path / "conversations.json", LOST))
    more = {"q3": node("a2", "user", "And now?", at=MAY_7 + 90), "a3": node("q3", "assistant", "Now I know.")}
    grown = chat({**LOST["mapping"], **more}, "a3", title="Things that were lost")
    other = chat({"q": node("root", "user", "Hi"), "a": node("q", "assistant", "Hello")}, "a", conversation_id="c-2")
    file = chatgpt_file(tmp_path / "conversations.json", other, grown)
    assert memory.import_jsonl(file) == result(added=2, known=2)
    assert memory.import_jsonl(file) == result(known=4)


def test_voice_is_what_was_heard(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    heard = {
        "content_type": "multimodal_text",
        "parts": [
            {"content_type": "audio_transcription", "text": "Where is the key?", "direction": "in"},
            {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {}},
        ],
    }
    talk = chat({"q": node("root", "user", content=heard), "a": node("q", "assistant", "Here.")}, "a")
    memory.import_jsonl(chatgpt_file(tmp_path / "conversations.json", talk))
    assert said(memory) == [("Where is the key?", "Here.")]
    assert turns(memory)[0].timestamp == MAY_7  # the conversation's, because no message tells


def test_a_conversation_without_a_shown_message_is_read_from_its_last(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    talk = chat({"q": node("root", "user", "Hi"), "a": node("q", "assistant", "Hello")}, None)
    memory.import_jsonl(chatgpt_file(tmp_path / "conversations.json", talk, chat({}, None)))
    assert said(memory) == [("Hi", "Hello")]


# Whose it is


@pytest.mark.parametrize("wanted", [None, "openai"])
def test_a_scope_gets_the_conversation(tmp_path: Path, opened: Opener, wanted: Any) -> None:
    memory = opened()
    file = openai_file(tmp_path / "chat.jsonl", {"id": "a", "messages": KEY}, {"id": "b" * 65, "messages": CAR})
    memory.import_jsonl(file, format=wanted, scope=ANN)
    first, second = turns(memory)
    assert whose(first) == {
        "actor_id": "ann", "actor_type": "user", "actor_name": "Ann", "conversation_id": "a",
        "source_type": "conversation",
    }  # fmt: skip
    assert len(whose(second)["conversation_id"]) <= 64
    assert second.metadata["conversation_id"] == "b" * 65
    memory.flush()
    assert [hit.prompt for hit in memory.search("key", scope={"conversation_id": "a"})] == ["Where is the key?"]


def test_the_same_log_of_two_people_is_two_logs(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    file = openai_file(tmp_path / "chat.jsonl", KEY)
    bob = MemoryScope(actor_id="bob", actor_type="user", conversation_id="mine", participant_ids=("bob",))
    assert memory.import_jsonl(file, scope=ANN) == result(added=1)
    assert memory.import_jsonl(file, scope=bob) == result(added=1)
    assert memory.import_jsonl(file, scope=bob) == result(known=1)
    page = memory.list(scope={"actor_id": "bob", "actor_type": "user"})
    assert [whose(turn)["conversation_id"] for turn in page.turns] == ["mine"]
    assert "participant_ids" not in whose(page.turns[0])


def test_an_id_that_looks_like_an_internal_one_gets_another(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    memory.import_jsonl(openai_file(tmp_path / "chat.jsonl", {"id": "cnv_1", "messages": KEY}), scope=ANN)
    assert not whose(turns(memory)[0])["conversation_id"].startswith("cnv_")
    assert turns(memory)[0].metadata["conversation_id"] == "cnv_1"


def test_a_scope_must_say_whose_log_it_is(tmp_path: Path, opened: Opener) -> None:
    memory, file = opened(), openai_file(tmp_path / "chat.jsonl", KEY)
    for half in ({"actor_id": "ann"}, MemoryScope(actor_type="user"), MemoryScope(conversation_id="mine")):
        with pytest.raises(ScopeValidationError):
            memory.import_jsonl(file, scope=half)
    with pytest.raises(InvalidArgumentError, match="actor_id and actor_type"):
        memory.import_jsonl(file, scope=MemoryScope())
    with pytest.raises(ArgumentTypeError, match="MemoryScope"):
        memory.import_jsonl(file, scope="ann")  # type: ignore[arg-type]
    ours = tmp_path / "ours.jsonl"
    ours.write_text('{"prompt": "Hi", "response": "Hello"}\n')
    with pytest.raises(InvalidArgumentError, match="scope is for chat logs"):
        memory.import_jsonl(ours, scope=ANN)
    assert turns(memory) == []


def test_a_log_that_a_scoped_memory_takes_in_is_of_its_scope(tmp_path: Path, opened: Opener) -> None:
    memory, file = opened(), openai_file(tmp_path / "chat.jsonl", {"id": "a", "messages": KEY})
    assert memory.scoped(ANN).import_jsonl(file) == result(added=1)
    assert memory.import_jsonl(file, scope={"actor_id": "ann", "actor_type": "user", "actor_name": "Ann"}) == result(
        known=1
    )
    assert said(memory.scoped(MemoryScope.user("bob"))) == []
    assert whose(turns(memory.scoped(ANN))[0])["conversation_id"] == "a"


def test_a_log_of_nobody_belongs_to_no_conversation(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    memory.import_jsonl(openai_file(tmp_path / "chat.jsonl", {"id": "a", "messages": KEY}))
    assert whose(turns(memory)[0]) == {"source_type": "conversation"}


def test_where_a_scope_is_required_a_log_needs_one(tmp_path: Path, opened: Opener) -> None:
    memory, file = opened().under(ScopePolicy(is_required=True)), openai_file(tmp_path / "chat.jsonl", KEY)
    with pytest.raises(ScopeValidationError, match="a scope is required"):
        memory.import_jsonl(file)
    assert memory.import_jsonl(file, scope=MemoryScope.all()) == result(added=1)
    assert memory.import_jsonl(file, scope=ANN) == result(added=1)


# Which format


@pytest.mark.parametrize("before", ["", "\ufeff", " \n\n"])
def test_the_format_is_seen_in_the_file(tmp_path: Path, opened: Opener, before: str) -> None:
    files = {
        "ours": '{"prompt": "Hi", "response": "Hello"}',
        "messages": json.dumps({"metadata": {"mapping": {}}, "messages": [user("Hi"), assistant("Hello")]}),
        "array of messages": json.dumps([{"messages": [user("Hi"), assistant("Hello")]}]),
        "export": json.dumps([chat({"q": node("root", "user", "Hi"), "a": node("q", "assistant", "Hello")}, "a")]),
        "one conversation": json.dumps(
            chat({"q": node("root", "user", "Hi"), "a": node("q", "assistant", "Hello")}, "a"), indent=2
        ),
    }
    for text in files.values():
        memory, file = opened(), tmp_path / "log"
        file.write_text(before + text, "utf-8")
        memory.import_jsonl(file)
        assert said(memory) == [("Hi", "Hello")]


def test_a_format_that_there_is_not_is_refused(tmp_path: Path, opened: Opener) -> None:
    with pytest.raises(InvalidArgumentError, match=r"'chatgpt'\), not 'slack'"):
        opened().import_jsonl(tmp_path / "no file", format="slack")  # type: ignore[arg-type]


def test_an_empty_export_has_nothing(tmp_path: Path, opened: Opener) -> None:
    for text in ("[]", " [ ] \n"):
        (tmp_path / "conversations.json").write_text(text)
        assert opened().import_jsonl(tmp_path / "conversations.json", scope=ANN) == result()
    (tmp_path / "empty.jsonl").write_text("\n")
    assert opened().import_jsonl(tmp_path / "empty.jsonl", format="openai") == result()


async def test_the_async_twin_does_the_same(tmp_path: Path, opened: Opener) -> None:
    memory, file = opened(), openai_file(tmp_path / "chat.jsonl", KEY)
    assert await memory.aimport_jsonl(file, format="openai", scope=ANN) == result(added=1)
    assert whose(turns(memory)[0])["actor_id"] == "ann"


# What can't be used


BAD_OPENAI = {
    "line 2, conversation 2: it has no list of 'messages'": {"id": "x"},
    "line 2, conversation 2: the conversation must be a dict": 7,
    "line 2, conversation 2: message 1: role must be 'user'": {"messages": [{"role": "robot", "content": "Hi"}]},
    "line 2, conversation 2: message 2: content must be text": {"messages": [user("Hi"), assistant(5)]},
    "line 2, conversation 2: message 1: it must be a dict": {"messages": ["Hi"]},
    "line 2, conversation 2: message 1: timestamp can't be read": {"messages": [user("Hi", timestamp="then")]},
    r"line 2, conversation 2 \('Lost'\): metadata must be a dict": {"title": "Lost", "messages": KEY, "metadata": []},
    "line 2, conversation 2: id must be text": {"id": [], "messages": KEY},
}


@pytest.mark.parametrize(("problem", "line"), BAD_OPENAI.items())
def test_a_conversation_that_cant_be_used_is_named_and_nothing_is_taken_in(
    tmp_path: Path, opened: Opener, problem: str, line: Any
) -> None:
    memory, file = opened(), tmp_path / "chat.jsonl"
    file.write_text(json.dumps({"messages": KEY}) + "\n" + json.dumps(line) + "\n")
    with pytest.raises(InvalidArgumentError, match=rf"'.*chat\.jsonl', {problem}"):
        memory.import_jsonl(file, format="openai")
    assert turns(memory) == []


BAD_CHATGPT = {
    "it has no 'mapping'": {**chat({}, None), "mapping": []},
    "message 'a' comes after itself": chat({"q": node("a", "user", "Hi"), "a": node("q", "assistant", "Hello")}, "a"),
    "message 'q' is no object": chat({"q": 7}, "q"),
    "message 'q': author must be a dict": chat({"q": node("root", "user", "Hi", author="me")}, "q"),
    "message 'q': parts must be a list": chat(
        {"q": node("root", "user", content={"content_type": "text", "parts": "Hi"})}, "q"
    ),
    "message 'q': create_time must be": chat({"q": node("root", "user", "Hi", at=1e99)}, "q"),
    "title must be text": chat({}, None, title=7),
}


@pytest.mark.parametrize(("problem", "conversation"), BAD_CHATGPT.items())
def test_an_export_that_cant_be_used_is_named_and_nothing_is_taken_in(
    tmp_path: Path, opened: Opener, problem: str, conversation: Any
) -> None:
    memory, file = opened(), chatgpt_file(tmp_path / "conversations.json", LOST, conversation)
    with pytest.raises(InvalidArgumentError, match=f"line 1, conversation 2.*: {problem}"):
        memory.import_jsonl(file)
    assert turns(memory) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[{"mapping": {}},\n{"mapping": {}', r"line 2: it is not JSON"),
        ('[{"mapping": {}}\n', r"line 2: its array does not end"),
        ('[{"mapping": {}} {"mapping": {}}]', r"line 1: there is no comma"),
        ('[{"mapping": {}}] more', r"line 1: something comes after"),
        ('[{"mapping": {}},\n\n{"mapping": {"a": NaN}}]', r"line 3: it is not JSON: NaN"),
        ('[{"mapping": {}},\n]', r"line 2: it is not JSON"),
        ('{"messages": []}\n{"messages": [}\n' + '{"messages": []}\n' * 9, r"line 2: it is not JSON"),
        ("[" * 100_000, r"line 1: it is nested too deeply"),
        ('{"messages": "\ud800"}', r"line 1: it is not UTF-8"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, opened: Opener, text: str, problem: str) -> None:
    file = tmp_path / "log"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InvalidArgumentError, match=problem):
        opened().import_jsonl(file, format="openai" if "messages" in text else "chatgpt")


def test_half_characters_do_no_harm(tmp_path: Path, opened: Opener) -> None:
    memory, file = opened(), tmp_path / "chat.jsonl"
    file.write_text(r'{"messages": [{"role": "user", "content": "a \ud83d"}, {"role": "assistant", "content": "b"}]}')
    assert memory.import_jsonl(file) == result(added=1)
    assert memory.import_jsonl(file) == result(known=1)
    assert said(memory) == [("a \ufffd", "b")]


def test_secrets_in_a_log_are_redacted(tmp_path: Path, opened: Opener) -> None:
    memory = opened()
    memory.redact = lambda text: text.replace("7431", "[redacted]")
    file = openai_file(tmp_path / "chat.jsonl", {"title": "7431", "messages": [user("My code?"), assistant("7431.")]})
    assert memory.import_jsonl(file) == result(added=1)
    assert memory.import_jsonl(file) == result(known=1)
    assert said(memory) == [("My code?", "[redacted].")]
    assert turns(memory)[0].metadata["title"] == "[redacted]"


# Big files


def test_a_big_export_is_never_in_memory_as_a_whole(tmp_path: Path, opened: Opener) -> None:
    memory, file = opened(), tmp_path / "conversations.json"
    talk = json.dumps(chat({"q": node("root", "user", "Hi " * 300_000), "a": node("q", "system", "")}, "a"))
    with file.open("w") as out:
        out.write("[" + ", ".join([talk] * 60) + "]")  # 54 MB without an exchange
    tracemalloc.start()
    try:
        assert memory.import_jsonl(file) == result()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30e6


texts = st.text(st.characters(codec="utf-8"), max_size=20)
talks = st.lists(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "system", "tool"]), texts), max_size=8), max_size=4
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(talks)
def test_every_log_is_taken_in_once_and_whole(tmp_path: Path, opened: Opener, talk: list[Any]) -> None:
    file = openai_file(
        tmp_path / "chat.jsonl", *[[{"role": role, "content": text} for role, text in one] for one in talk]
    )
    memory = opened()
    first, again = memory.import_jsonl(file, format="openai"), memory.import_jsonl(file, format="openai")
    assert (again.added, again.known) == (0, first.added + first.known)
    prompts = "\n".join(turn.prompt or "" for turn in turns(memory))
    for one in talk:
        spoken = [(role, text) for role, text in one if role in ("user", "assistant") and text.strip()]
        for asked, answered in pairwise(spoken):
            if (asked[0], answered[0]) == ("user", "assistant"):
                assert asked[1] in prompts


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(texts, texts, max_size=3), max_size=5), st.sampled_from([None, 1]))
def test_objects_are_read_however_they_are_laid_out(
    tmp_path: Path, opened: Opener, objects: list[Any], indent: int | None
) -> None:
    from ffai.core.memory.json_objects import read_objects

    file = tmp_path / "objects"
    lines = "\n".join(json.dumps(one, indent=indent) for one in objects)
    for text in (lines, json.dumps(objects, indent=indent, ensure_ascii=False)):
        file.write_text(text, "utf-8", newline="")
        with file.open("rb") as opened_file:
            found = list(read_objects(opened_file))
        assert [one.value for one in found] == objects
        assert [one.number for one in found] == list(range(1, len(objects) + 1))
