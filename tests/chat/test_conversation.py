"""The messages of a conversation are copies, whole turns, and shared safely."""

from __future__ import annotations

import threading

import pytest

from ffai.chat import ChatReply, Conversation
from ffai.errors import ArgumentTypeError


def test_changing_what_was_given_or_got_changes_nothing() -> None:
    given = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    conversation = Conversation(given)
    given[0]["content"][0]["text"] = "changed"  # type: ignore[index]
    conversation.messages()[0]["content"][0]["text"] = "changed"
    assert conversation.messages() == [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]


@pytest.mark.parametrize("wrong", ["text", {"content": "no role"}, {"role": None}, ("user", "Hi")])
def test_a_wrong_message_is_refused_and_nothing_changes(wrong: object) -> None:
    conversation = Conversation([{"role": "user", "content": "Hi"}])
    with pytest.raises(ArgumentTypeError, match='dict with a "role"'):
        conversation.replace([{"role": "user", "content": "other"}, wrong])  # type: ignore[list-item]
    assert conversation.messages() == [{"role": "user", "content": "Hi"}]


def test_turns_of_many_threads_never_interleave() -> None:
    conversation = Conversation()

    def talk(name: str) -> None:
        for number in range(200):
            conversation.add_turn(f"{name} {number}", ChatReply(text=f"{name} {number}"))

    threads = [threading.Thread(target=talk, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    messages = conversation.messages()
    assert len(messages) == 1600
    assert all(q["content"] == a["content"] for q, a in zip(messages[::2], messages[1::2], strict=True))
