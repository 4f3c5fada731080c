"""What messages hold is taken from a model's reply: with patience, as a whole, and with ids that stay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ffai.chat.flow import arun, run
from ffai.errors import ArgumentTypeError, InvalidArgumentError, StructuredReplyError
from ffai.rag.asker import Asker, ChatRequest
from ffai.rag.extraction import EXTRACTION_SYSTEM, Extracted, extraction
from ffai.testing import FakeClient

LINES = "[alice]: launch moved to Friday\n[bob]: budget is 10k"
FACT = {"subject": "the launch", "predicate": "is on", "object": "Friday"}


def extracted(*replies: Any) -> Extracted:
    left = iter(reply if isinstance(reply, str) else json.dumps(reply) for reply in replies)
    return run(extraction(LINES), lambda prompt: next(left))


def test_everything_that_a_model_notes_is_taken() -> None:
    found = extracted(
        {
            "facts": [{**FACT, "confidence": 0.9}],
            "decisions": [{"decision": "Move it.", "owner": "alice", "rationale": "Rain.", "decided_at": "Monday"}],
            "tasks": [{"title": "Tell the press", "owner": "bob", "due_at": "Thursday", "status": "open"}],
            "open_questions": ["Who pays?"],
        }
    )
    (fact,), (decision,), (task,) = found.facts, found.decisions, found.tasks
    assert (fact.subject, fact.object, fact.confidence) == ("the launch", "Friday", 0.9)
    assert (decision.decision, decision.owner, decision.rationale) == ("Move it.", "alice", "Rain.")
    assert decision.decided_at == "Monday"
    assert (task.title, task.owner, task.due_at, task.status) == ("Tell the press", "bob", "Thursday", "open")
    assert found.open_questions == ["Who pays?"]


def test_the_model_sees_the_messages_and_the_lists_to_fill() -> None:
    client = FakeClient(['{"facts": []}'])
    asker = Asker(client)
    found = run(extraction(LINES), lambda prompt: asker.ask(ChatRequest(prompt, EXTRACTION_SYSTEM)).text)
    prompt = client.calls[0].prompt
    assert found == Extracted()
    assert LINES in prompt
    assert all(f'"{name}"' in prompt for name in ("facts", "decisions", "tasks", "open_questions", "subject", "title"))
    assert '"id"' not in prompt
    assert client.calls[0].options["system_instructions"] == EXTRACTION_SYSTEM


async def test_the_same_is_awaited() -> None:
    asker = Asker(FakeClient(["nothing", json.dumps({"facts": [FACT]})]))

    async def take(prompt: str) -> str:
        return (await asker.aask(ChatRequest(prompt))).text

    assert (await arun(extraction(LINES), take)).facts[0].object == "Friday"


def test_ids_are_made_from_what_is_said_and_stay() -> None:
    first, second = extracted({"facts": [FACT]}), extracted({"facts": [{**FACT, "confidence": 0.2}]})
    other = extracted({"facts": [{**FACT, "object": "Monday"}]})
    assert first.facts[0].id == second.facts[0].id != other.facts[0].id
    assert first.facts[0].id.startswith("fact:")


def test_ids_that_the_model_gives_are_kept_where_they_tell_entries_apart() -> None:
    found = extracted(
        {"facts": [{**FACT, "id": "f"}, {**FACT, "object": "Monday", "id": "f"}], "tasks": [{"title": "x", "id": 7}]}
    )
    assert found.facts[0].id == "f"
    assert found.facts[1].id.startswith("fact:")
    assert found.tasks[0].id == "7"


def test_the_same_entry_twice_is_kept_once() -> None:
    found = extracted({"facts": [FACT, {**FACT, "id": "f"}, FACT], "open_questions": ["Who?", "Who?"]})
    assert (len(found.facts), found.open_questions) == (1, ["Who?"])


@pytest.mark.parametrize(
    ("given", "known"),
    [
        (0, 0.0),
        (1, 1.0),
        ("0.5", 0.5),
        (95, None),
        (-0.1, None),
        ("high", None),
        (None, None),
        (True, None),
        ([1], None),
    ],
)
def test_a_confidence_that_is_none_is_unknown(given: Any, known: float | None) -> None:
    assert extracted({"facts": [{**FACT, "confidence": given}]}).facts[0].confidence == known


def test_forms_that_models_like_are_understood() -> None:
    found = extracted(
        {
            "facts": {**FACT, "object": 42, "source": "alice"},
            "decisions": ["Move it."],
            "tasks": [" Tell the press "],
            "open_questions": [{"question": "Who pays?"}],
            "summary": "not asked for",
        }
    )
    assert found.facts[0].object == "42"
    assert found.decisions[0].decision == "Move it."
    assert found.tasks[0].title == "Tell the press"
    assert found.open_questions == ["Who pays?"]
    assert extracted({"facts": None, "tasks": ""}) == Extracted()
    assert extracted({"tasks": [{"title": "x", "owner": "", "due_at": None}]}).tasks[0].owner is None


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "{}",
        "[]",
        '{"answer": "none"}',
        {"facts": [FACT, {"subject": "x"}]},
        {"facts": [{**FACT, "object": ""}]},
        {"facts": ["the launch is on Friday"]},
        {"facts": "none"},
        {"open_questions": [["Who?"]]},
    ],
)
def test_a_reply_that_can_only_be_used_in_part_is_asked_for_again_and_then_an_error(reply: Any) -> None:
    assert extracted(reply, {"facts": [FACT]}).facts[0].object == "Friday"
    with pytest.raises(StructuredReplyError):
        extracted(reply, reply)


@pytest.mark.parametrize(
    ("lines", "error"), [("", InvalidArgumentError), ("\n ", InvalidArgumentError), (None, ArgumentTypeError)]
)
def test_there_must_be_lines(lines: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="lines"):
        extraction(lines)
