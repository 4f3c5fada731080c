"""Answers from a conversation with a real chat model and real embeddings: what they rest on is right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ffai import FFAI
from ffai.clients import LiteLLMClient
from ffai.rag import AgentMemory, AskResult
from ffai.testing import FakeClient
from tests.doubles.chat_server import ChatServer

pytestmark = pytest.mark.live

CONVERSATION = {
    "hello": ("Hi, I am planning the opening of my bakery.", "How exciting! What would you like to start with?"),
    "place": ("The shop is at the old harbour, next to the lighthouse.", "A lovely spot, with many people passing by."),
    "opening": ("We moved the opening from May 2 to May 16, because the oven comes late.", "Noted: May 16."),
    "oven": ("The oven is a Miwe with three decks.", "Three decks bake about sixty loaves at a time."),
    "staff": ("Tomas bakes, and Ines stands at the counter.", "Then there is somebody for both."),
    "bread": ("Why does my sourdough stay flat?", "Feed the starter twice a day, and let the dough double."),
    "flour": ("We buy flour from the mill in Alberton.", "Short ways are good for the price."),
    "budget": (
        "The budget for advertising is 1200 euros.",
        "Posters and a small newspaper advertisement fit into that.",
    ),
    "logo": ("The logo is a lighthouse made of wheat.", "That says both where you are and what you do."),
    "music": ("Should there be music in the shop?", "Quiet jazz suits a bakery in the morning."),
    "coffee": ("Ines is allergic to hazelnuts, so no nut syrup for the coffee.", "Vanilla and caramel it is."),
    "thanks": ("Thank you, that is all for today.", "Good luck with the bakery!"),
}
QUESTIONS = {
    "On which day does the bakery open?": "opening",
    "Who is allergic to nuts?": "coffee",
    "How much money can we spend on advertising?": "budget",
    "Where do we get our flour?": "flour",
}


@pytest.fixture(scope="module")
def ffai(chat_server: ChatServer, minilm_folder: Path) -> Iterator[FFAI]:
    """A conversation of a dozen turns, about to be asked by a real model."""
    talk = FakeClient([reply for _, reply in CONVERSATION.values()])
    with FFAI(talk, memory_enabled=True, memory_embeddings=f"local/{minilm_folder}") as ffai:
        for name, (prompt, _) in CONVERSATION.items():
            ffai.generate_response(prompt, prompt_name=name)
        ffai.flush()
        ffai.set_client(
            LiteLLMClient(
                chat_server.model,
                api_base=chat_server.api_base,
                api_key=chat_server.api_key,
                temperature=0,
                max_tokens=24,
            )
        )
        yield ffai


def named(ffai: FFAI, result: AskResult) -> list[str]:
    names = {record["turn_id"]: record["prompt_name"] for record in ffai.history.raw if record["prompt_name"]}
    return [names[source.id] for source in result.sources if source.id in names]


@pytest.mark.parametrize(("question", "expected"), QUESTIONS.items())
def test_the_sources_of_an_answer_hold_the_turn_with_the_fact(ffai: FFAI, question: str, expected: str) -> None:
    result = ffai.ask(question)
    assert result.answer.strip()
    assert result.grounded
    assert expected in named(ffai, result)
    assert CONVERSATION[expected][0] in result.prompt
    assert result.usage is not None
    assert result.usage.total_tokens


@pytest.mark.parametrize("question", ["Who painted the Mona Lisa?", "What is the boiling point of nitrogen?"])
def test_a_question_about_something_else_rests_on_nothing(ffai: FFAI, question: str) -> None:
    result = ffai.ask(question)
    assert (result.grounded, result.sources, result.prompt) == (False, (), question)
    assert result.answer.strip()


async def test_awaited_and_in_pieces_it_is_the_same_answer(ffai: FFAI) -> None:
    question = "On which day does the bakery open?"
    waiting, awaited = ffai.ask(question, framed=False), await ffai.aask(question, framed=False)
    pieces = ffai.rag.stream_ask(question, framed=False)
    assert "".join(pieces) == pieces.result.answer == waiting.answer == awaited.answer
    assert waiting.sources == awaited.sources == pieces.result.sources


def test_five_rounds_of_recall_and_answer_leave_one_turn_with_the_fact(ffai: FFAI) -> None:
    view = ffai.scoped({"actor_id": "ines", "actor_type": "user"})
    assert view.memory is not None
    fact = "Tomas has the key of the cellar behind the seventh barrel."
    view.memory.remember(fact, "I see.")
    view.flush()
    for _ in range(5):
        result = view.ask("Who has the key of the cellar, and where?", remember=True)
        assert fact in result.prompt
    view.flush()
    assert [turn.prompt for turn in view.memory.list().turns].count(fact) == 1
    assert [turn.text for turn in view.memory.list().turns if fact in (turn.prompt or "")] == [f"{fact}\nI see."]


def test_a_thread_understands_what_it_refers_to_and_a_window_becomes_a_capsule(ffai: FFAI) -> None:
    rag: AgentMemory = ffai.rag
    thread = rag.thread("planning", "tomas")
    first = thread.ask("On which day does the bakery open?")
    second = thread.ask("Why was that day changed?")
    assert f"assistant: {first.answer}".splitlines()[0] in second.prompt
    assert [message.role.value for message in thread.history()] == ["user", "assistant"] * 2
    capsule = rag.compact_window(limit=6, id="today")
    assert capsule.summary.strip()
    assert "Ines is allergic to hazelnuts" in rag.recent_text()
    assert rag.kb.capsules() == [capsule]
