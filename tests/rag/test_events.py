"""Events are told, and who is told can't break what is told about."""

from __future__ import annotations

import logging

import pytest

from ffai.errors import ArgumentTypeError
from ffai.rag import events
from ffai.rag.events import StreamEvent, check_on_event, emit


def test_the_labels_are_those_of_the_contract():
    assert [
        events.COMPACTION_START,
        events.COMPACTION_END,
        events.COMPACTION_ERROR,
        events.RETRIEVE,
        events.ANSWER,
    ] == [
        "ai:rag:compaction:start",
        "ai:rag:compaction:end",
        "ai:rag:compaction:error",
        "ai:rag:retrieve",
        "ai:rag:answer",
    ]


def test_an_event_arrives_with_its_facts():
    told: list[StreamEvent] = []
    emit(told.append, events.RETRIEVE, query="key", scores=[0.9])
    assert told == [StreamEvent("ai:rag:retrieve", {"query": "key", "scores": [0.9]})]


def test_a_callback_that_fails_is_logged_without_its_secrets_and_ignored(caplog):
    def fail(event: StreamEvent) -> None:
        raise RuntimeError("password=hunter2")

    with caplog.at_level(logging.WARNING):
        emit(fail, events.ANSWER)
    assert "ai:rag:answer" in caplog.text
    assert "hunter2" not in caplog.text
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_an_interrupt_passes():
    def interrupt(event: StreamEvent) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        emit(interrupt, events.ANSWER)


async def later(event: StreamEvent) -> None:
    """What nobody would await."""


@pytest.mark.parametrize("on_event", ["print", 5, later])
def test_what_could_never_be_told_is_refused(on_event):
    with pytest.raises(ArgumentTypeError, match="on_event"):
        check_on_event(on_event)
