"""A walk over every public call with a marker in the secret fields: it gets out nowhere."""

from __future__ import annotations

import inspect
import logging
from typing import Any

import pytest

from ffai.chat.reply import ChatReply, ToolCall
from ffai.objects import AIRecord, AsyncCollection, AsyncStore, Collection, Store
from ffai.objects.awaited_record import AwaitedRecord
from ffai.testing import FakeClient, FakeEmbedder
from tests.contract.objects.world import World, added

MARKER = "marker-5f1dfa"

ON_RECORD: dict[str, list[tuple[Any, ...]]] = {
    "is_": [("about money",), ("about money", {"call_tools": "all"})],
    "satisfies": [("about money",)],
    "do": [("Sum it up",)],
    "describe": [()],
    "generate_embeddings": [(), ({"fields": ["source_token"]},), ({"force": True},)],
    "has_stale_embeddings": [()],
    "get_embedding": [("title",), ("source_token",)],
    "remember": [("s", "k", 1)],
    "recall": [("s", "k")],
    "recall_entry": [("s", "k")],
    "recall_all": [()],
    "entries": [()],
    "forget": [("s", "k")],
    "forget_scope": [("s",)],
    "clear_embeddings": [()],
}
ON_COLLECTION: dict[str, list[tuple[Any, ...]]] = {
    "values": [(["id", "title"],), (["source_token"],), (["id"], {"where": {"source_token": MARKER}})],
    "semantic_search": [
        ("refunds",),
        ("refunds", {"where": {"source_token": MARKER}}),
        ("refunds", {"where": {"source_token__like": MARKER}}),
        ("refunds", {"field": "source_token"}),
    ],
    "search": [("refunds",)],
    "find_similar": [("a-1", {"exclude_self": False}), ("a-1", {"where": {"source_token__ne": MARKER}})],
    "find_similar_to_vector": [([1.0] * 64,), ([1.0],)],
    "generate_missing_embeddings": [()],
    "backfill": [()],
    "remember": [("s", "k", 1)],
    "recall": [("s", "k")],
    "recall_entry": [("s", "k")],
    "recall_all": [()],
    "entries": [()],
    "forget": [("s", "k")],
    "forget_scope": [("s",)],
}
ON_STORE: dict[str, list[tuple[Any, ...]]] = {"drain": [()], "retry_failed": [()], "purge_expired": [()]}
ELSEWHERE = {
    # what gives the user's own records, settings or parts, and is_many, which is walked with records below
    AIRecord: {"learning"},
    Collection: {"get", "list", "bind", "learning", "is_many"},
    Store: {
        *("create_all", "session", "attach", "status", "reindex", "build_index", "close"),
        *("run", "with_vectors", "noted", "memory_in", "owned"),  # what the parts of a store call
    },
}


@pytest.fixture
def client() -> FakeClient:
    asks = ChatReply(tool_calls=(ToolCall("c", "word_count", "{}"), ToolCall("d", "leak", "{}")))
    return FakeClient([asks, *['{"result": true}'] * 99])


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def store(world: World, client: FakeClient, embedder: FakeEmbedder) -> Any:
    store = world.open(llm=client, embedder=embedder)

    def add(session: Any) -> None:
        author = world.Author(id="u-1", name="Ada", password=MARKER)
        session.add(world.Article(id="a-1", title="Refunds", body="five days", source_token=MARKER, author=author))

    world.within(store, add)
    world.call(store, "drain")
    return store


def told(error: BaseException) -> str:
    """Return what an error says, with the errors behind it."""
    seen: list[str] = []
    current: BaseException | None = error
    while current is not None:
        seen.append(f"{current!r} {current} {current.args}")
        current = current.__cause__ or current.__context__
    return "\n".join(seen)


def shown(answer: Any) -> str:
    if isinstance(answer, list):
        return "\n".join(map(shown, answer))
    if hasattr(answer, "public"):
        return f"{answer.public()} {answer.similarity} {vars(answer.record)}"
    return repr(answer)


def test_no_secret_gets_out_of_any_call(
    world: World, store: Any, client: FakeClient, embedder: FakeEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="ffai")
    record = world.call(store[world.Article], "get", "a-1")
    out: list[str] = []
    walks = ((record, ON_RECORD), (store[world.Article], ON_COLLECTION), (store, ON_STORE))
    for owner, calls in walks:
        for name, each in calls.items():
            for given in each:
                options = given[-1] if given and isinstance(given[-1], dict) else {}
                args = given[:-1] if options else given
                try:
                    out.append(shown(world.call(owner, name, *args, **options)))
                except (ValueError, TypeError, RuntimeError) as error:
                    out.append(told(error))
    out.append(shown(world.call(store[world.Article], "is_many", [record], "about money")))
    out.append(shown(world.call(store, "status", world.Article)))
    out += [f"{call.prompt} {call.conversation} {call.options}" for call in client.calls]
    out += [text for call in embedder.calls for text in call]
    out += [f"{line.getMessage()} {line.exc_text}" for line in caplog.records if line.name.startswith("ffai")]
    assert client.calls
    assert embedder.calls
    assert MARKER not in "\n".join(out)


def test_the_walk_knows_every_public_call() -> None:
    walked = {AIRecord: ON_RECORD, Collection: ON_COLLECTION, Store: ON_STORE}
    twins = {AIRecord: AwaitedRecord, Collection: AsyncCollection, Store: AsyncStore}
    for kind, calls in walked.items():
        assert public(kind) == set(calls) | ELSEWHERE[kind], kind
        assert public(twins[kind]) == public(kind), kind


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def test_an_embedder_that_fails_tells_no_secret(world: World, caplog: pytest.LogCaptureFixture) -> None:
    store = world.open(embedder=FakeEmbedder(fail=lambda text: ValueError(f"can't embed {text}")))
    added(world, store, {"id": "a-1", "title": "Refunds", "source_token": MARKER})
    status = world.call(store, "status", world.Article)
    assert "Refunds" in str(status.errors)
    assert MARKER not in str(status) + caplog.text
