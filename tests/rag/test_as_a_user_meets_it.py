"""What somebody who follows the guide runs into: roles, closing, scopes that can't be stored, reports."""

from __future__ import annotations

import pytest

from ffai import FFAI, Memory, MemoryScope
from ffai.errors import ClosedError, ScopeValidationError
from ffai.testing import FakeClient, FakeEmbedder

ALICE = MemoryScope.user("alice", name="Alice")


@pytest.fixture
def client() -> FakeClient:
    return FakeClient(["Under the mat."])


@pytest.fixture
def ffai(client: FakeClient) -> FFAI:
    ffai = FFAI(client, memory=Memory(FakeEmbedder()))
    ffai.generate_response("Where is the key?", scope=ALICE)
    return ffai


def test_a_source_quotes_only_the_messages_of_the_roles_that_were_asked_for(ffai: FFAI) -> None:
    found = ffai.rag.context("the key", include_roles=["user"])
    assert [source.excerpt for source in found.sources] == ["Where is the key?"]
    assert "mat" not in ffai.rag.build_hybrid_context("the key", include_roles=["user"]).text
    both = ffai.rag.context("the key")
    assert [source.excerpt for source in both.sources] == ["Where is the key?\nUnder the mat."]


@pytest.mark.parametrize("is_recorded_in_histories", [True, False])
def test_an_answer_that_could_not_be_recorded_is_not_asked_for(
    client: FakeClient, ffai: FFAI, is_recorded_in_histories: bool
) -> None:
    from ffai.rag import AgentMemory

    asking = ffai.rag if is_recorded_in_histories else AgentMemory(client, ffai.memory)
    nobodys = {"conversation_id": "trip"}
    calls = len(client.calls)
    with pytest.raises(ScopeValidationError, match="needs an actor"):
        asking.ask("Where is the key?", scope=nobodys, remember=True)
    with pytest.raises(ScopeValidationError, match="needs an actor"):
        asking.stream_ask("Where is the key?", scope=nobodys, remember=True)
    assert len(client.calls) == calls
    assert asking.ask("Where is the key?", scope=nobodys).grounded is False


def test_after_the_end_no_model_is_asked_for_a_summary_either(client: FakeClient, ffai: FFAI) -> None:
    ffai.close()
    calls = len(client.calls)
    for ask in (ffai.rag.summarize, ffai.rag.asummarize, ffai.rag.compact_window, ffai.rag.compact_window_safe):
        with pytest.raises(ClosedError):
            ask(scope=ALICE)
    assert len(client.calls) == calls


def test_a_report_has_one_line_for_each_entry_and_says_what_it_is(ffai: FFAI) -> None:
    ffai.rag.kb.learn("spare", "The spare key\nis at Bob's.")
    lines = str(ffai.rag.explain("Where is the key?")).splitlines()
    assert len(lines) == 4
    assert "among turns" in lines[2]
    assert lines[2].endswith("Where is the key? Under the mat.")
    assert "among knowledge" in lines[3]


def test_what_could_not_be_extracted_is_told_in_words_of_the_reference(client: FakeClient, ffai: FFAI) -> None:
    client.add_replies("The key is under the mat.", "no", "no")
    capsule = ffai.rag.compact_window(scope=ALICE, extract=True)
    assert "The model's reply is no Extracted:" in str(capsule.metadata["extraction_error"])


def test_an_outage_of_the_embedder_is_what_a_report_tells() -> None:
    embedder = FakeEmbedder()
    ffai = FFAI(FakeClient(["Under the mat."]), memory=Memory(embedder))
    turn_id = ffai.memory.remember("Where is the key?", "Under the mat.")  # type: ignore[union-attr]
    ffai.flush()
    embedder.fail = lambda text: RuntimeError("the model is gone")
    for expected, states in ((None, []), (turn_id, []), ("nobody's", ["unknown"])):
        told = ffai.rag.explain("Where is the key?", expected)
        assert (told.stored, told.found, [entry.state for entry in told.missed]) == (1, (), states)
        assert "Problem: Nothing can be looked up just now: RuntimeError: the model is gone" in str(told)


def test_a_report_is_of_what_an_answer_is_made_of_and_not_of_the_graph(ffai: FFAI) -> None:
    ffai.rag.kb.learn("spare", "The spare key is at Bob's.")
    ffai.rag.kb.add_node("thing", "the key")
    assert [entry.id for entry in ffai.rag.explain("the key").found if entry.kind != "turn"] == ["spare"]
    assert "[KB] the key" not in ffai.rag.build_context("the key")
